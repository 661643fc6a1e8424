package view

import (
	"testing"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/record"
)

// The values are those of hash4j 0.22, which Kafka hashes with.
func TestXXH3(t *testing.T) {
	for _, c := range []struct {
		size int
		want uint64
	}{
		{0, 0x2d06800538d394c2}, {1, 0x13e608bc156defed}, {3, 0xa9088dda485b481c}, {4, 0x6d9253b16c8b1ed3},
		{8, 0x60539db630471163}, {9, 0xfeff668361d723a8}, {16, 0xb8c859b0f030b585}, {17, 0x714a04408e79b80f},
		{40, 0x5fe78a29955db15a}, {128, 0x67425a03650261bf}, {129, 0xc664bf3311c6abc4}, {200, 0x746cd0025327bf5b},
		{240, 0x64556dc6b462a6cf}, {241, 0x8beadd3a8874fe17}, {512, 0xf58202b8d9019d1d}, {1024, 0x9b81661c641c72b1},
		{1025, 0x806c2072ed713576}, {1100, 0x8e7ec0c060bbe423}, {3000, 0xc89178bb873c6b3d},
	} {
		b := make([]byte, c.size)
		for i := range b {
			b[i] = byte(i*7 + 3)
		}
		if got := xxh3(b); got != c.want {
			t.Errorf("%d bytes: %#x, want %#x", c.size, got, c.want)
		}
	}
}

// The hash that Kafka 4.4.0 stored for a topic of one partition (fixture group new-group) and of two.
func TestMetadataHash(t *testing.T) {
	for _, c := range []struct {
		name, id   string
		partitions int
		want       int64
	}{
		{"rolled", "_j6rm_xGTGWZBeaBkeVuAQ", 1, -1038424957265211884},
		{"ans-cg", "j4r7vDrnTWCxzebaBW2oDQ", 2, -1737341734144244496},
	} {
		id, err := record.ParseUUID(c.id)
		if err != nil {
			t.Fatal(err)
		}
		v := View{Topics: tableOf(&metadata.Topic{Name: c.name, ID: id, Partitions: make([]*metadata.Partition, c.partitions)})}
		if got := Hash(v, map[string]struct{}{c.name: {}, "does not exist": {}}); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	if got := Hash(View{}, map[string]struct{}{"x": {}}); got != 0 {
		t.Errorf("no topic: %d, want 0", got)
	}
}
