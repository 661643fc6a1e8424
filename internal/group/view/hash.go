package view

import (
	"encoding/binary"
	"maps"
	"slices"
	"unicode/utf16"

	"github.com/samsalog/samsa/internal/metadata"
)

// topicHashMagic is the version of the hash over a topic.
const topicHashMagic = 0

// Hash is over the topics of the given names that exist, 0 for none (Utils.computeGroupHash of Kafka): the XXH3 of
// the topics' hashes, int64 little endian, in the order of their names. It is stored, so it is Kafka's to the bit:
// else a group that changes hosts would be assigned anew.
func Hash(v View, subscribed map[string]struct{}) int64 {
	var b []byte
	for _, name := range slices.SortedFunc(maps.Keys(subscribed), compareUTF16) {
		if t := v.Topic(name); t != nil {
			b = binary.LittleEndian.AppendUint64(b, topicHash(v, t))
		}
	}
	if len(b) == 0 {
		return 0
	}
	return int64(xxh3(b))
}

// topicHash is over a topic: magic, both halves of its id, name, number of partitions, and for each partition its
// number and the racks of its replicas in order, each with its length. A string is its UTF-16 units and their
// number, as hash4j writes it.
func topicHash(v View, t *metadata.Topic) uint64 {
	b := []byte{topicHashMagic}
	b = binary.LittleEndian.AppendUint64(b, binary.BigEndian.Uint64(t.ID[:8]))
	b = binary.LittleEndian.AppendUint64(b, binary.BigEndian.Uint64(t.ID[8:]))
	b = appendUTF16(b, t.Name)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(t.Partitions)))
	for i, p := range t.Partitions {
		b = binary.LittleEndian.AppendUint32(b, uint32(i))
		for _, rack := range racks(v, p) {
			b = binary.LittleEndian.AppendUint32(b, uint32(len(utf16.Encode([]rune(rack)))))
			b = appendUTF16(b, rack)
		}
	}
	return xxh3(b)
}

func racks(v View, p *metadata.Partition) []string {
	if p == nil || v.Rack == nil {
		return nil
	}
	var out []string
	for _, broker := range p.Replicas {
		if r := v.Rack(broker); r != nil {
			out = append(out, *r)
		}
	}
	slices.SortFunc(out, compareUTF16)
	return out
}

func appendUTF16(b []byte, s string) []byte {
	units := utf16.Encode([]rune(s))
	for _, u := range units {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return binary.LittleEndian.AppendUint32(b, uint32(len(units)))
}

// compareUTF16 orders strings as Java does.
func compareUTF16(a, b string) int {
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}
