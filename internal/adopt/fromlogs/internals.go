package fromlogs

import (
	"github.com/samsalog/samsa/inspect/logfile"
	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/segment"
)

// Topics in which brokers keep state, with Kafka's numbers of partitions for new ones.
const (
	offsetsTopic = "__consumer_offsets"
	txnTopic     = "__transaction_state"
	shareTopic   = "__share_group_state"

	usualCount   = 50
	mostCounts   = 10000
	internalScan = 16 << 20 // bytes of each partition that are read for names
)

func internal(topic string) bool { return internalSettings(topic) != nil }

// internalSettings are what Kafka creates an internal topic with, nil for another topic.
func internalSettings(topic string) map[string]string {
	const segmentBytes = "104857600"
	switch topic {
	case offsetsTopic:
		return map[string]string{"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": segmentBytes}
	case txnTopic:
		return map[string]string{
			"cleanup.policy": "compact", "compression.type": "uncompressed", "min.insync.replicas": "1",
			"segment.bytes": segmentBytes, "unclean.leader.election.enable": "false",
		}
	case shareTopic:
		return map[string]string{
			"cleanup.policy": "delete", "compression.type": "producer", "min.insync.replicas": "1", "retention.ms": "-1",
			"segment.bytes": segmentBytes,
		}
	}
	return nil
}

// counted works out how many partitions an internal topic had, of which at least found must have been there: which one a
// group or a transactional id belongs to follows from its name and the number, so the names in the partitions tell it.
func (p *Plan) counted(t *Topic, found int32) int32 {
	nameOf := namesOf(t.Name)
	if nameOf == nil {
		return found
	}
	type placed struct {
		name      string
		partition int32
	}
	var names []placed
	for _, x := range t.Partitions {
		err := p.names(x, nameOf, func(name string) { names = append(names, placed{name, x.Number}) })
		if err != nil {
			p.note("%s: %v", x.Dir, err)
		}
	}
	fits := func(n int32) bool {
		for _, x := range names {
			if coord.PartitionFor(x.name, n) != x.partition {
				return false
			}
		}
		return true
	}
	if len(names) == 0 || fits(found) {
		return found
	}
	if found <= usualCount && fits(usualCount) {
		return usualCount
	}
	for n := found; n <= mostCounts; n++ {
		if fits(n) {
			return n
		}
	}
	p.note("%s: no number of partitions puts all names where they are; some groups or transactions will not be found", t.Name)
	return found
}

// nameOf finds the name in a record of an internal topic ("": there is none), and the largest producer id in it.
type nameOf func(r record.Record) (string, record.ProducerID)

// namesOf returns the reader of a topic, nil for other topics.
func namesOf(topic string) nameOf {
	switch topic {
	case offsetsTopic:
		return func(r record.Record) (string, record.ProducerID) { return groupName(r.Key), record.NoProducerID }
	case txnTopic:
		return txnName
	}
	return nil
}

func txnName(r record.Record) (string, record.ProducerID) {
	k, err := stored.DecodeKey(r.Key, stored.NewTxnKey)
	m, ok := k.(*stored.TransactionLogKey)
	if err != nil || !ok {
		return "", record.NoProducerID
	}
	v, _, err := stored.DecodeValue(r.Value, k.APIKey(), stored.NewTxnValue)
	if t, ok := v.(*stored.TransactionLogValue); ok && err == nil {
		return m.TransactionalID, record.ProducerID(max(t.ProducerID, t.PreviousProducerID, t.NextProducerID))
	}
	return m.TransactionalID, record.NoProducerID
}

func groupName(key []byte) string {
	k, err := stored.DecodeKey(key, stored.NewGroupKey)
	if err != nil {
		return ""
	}
	switch m := k.(type) {
	case *stored.LegacyOffsetCommitKey:
		return m.Group
	case *stored.OffsetCommitKey:
		return m.Group
	case *stored.GroupMetadataKey:
		return m.Group
	case *stored.ConsumerGroupMetadataKey:
		return m.GroupID
	}
	return ""
}

// names visits the names in the records of a partition, each once, as far as internalScan goes.
func (p *Plan) names(x *Partition, nameOf nameOf, visit func(string)) error {
	list, err := logfile.List(p.o.FS, x.Dir)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	left := int64(internalScan)
	for _, g := range list.Segments {
		f, err := logfile.Open(p.o.FS, list.Path(g.Base, segment.LogSuffix))
		if err != nil {
			return err
		}
		eachRecord(f, min(f.SizeInBytes, left), func(r record.Record) {
			name, id := nameOf(r)
			x.maxProducer = max(x.maxProducer, id)
			if name != "" && !seen[name] {
				seen[name] = true
				visit(name)
			}
		})
		left -= f.SizeInBytes
		if err := f.Close(); err != nil || left <= 0 {
			return err
		}
	}
	return nil
}

// maxRecord bounds a record that a broker keeps for itself.
const maxRecord = 64 << 20

// eachRecord visits the data records of a file up to a byte, or up to where it cannot be read.
func eachRecord(f *logfile.File, end int64, visit func(record.Record)) {
	r := logfile.NewReader(f, 0, end)
	defer r.Close()
	r.Depth = logfile.Records
	for r.Next() && r.Valid() {
		if r.Header().IsControl() {
			continue
		}
		rs := r.Records(maxRecord)
		for rs.Next() {
			visit(rs.Record())
		}
		rs.Close()
	}
}
