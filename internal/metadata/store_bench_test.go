package metadata

import (
	"fmt"
	"testing"

	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

// The cost of a change must not depend on how many topics there are.
func BenchmarkChangeAmongTopics(b *testing.B) {
	for _, topics := range []int{1000, 100000} {
		b.Run(fmt.Sprint(topics), func(b *testing.B) {
			f := newFold(emptyImage(""))
			id := func(n int) (u record.UUID) {
				return record.UUID{0: 1, 12: byte(n >> 24), 13: byte(n >> 16), 14: byte(n >> 8), 15: byte(n)}
			}
			for n := range topics {
				p := stored.NewPartitionRecord()
				p.PartitionID, p.TopicID, p.Replicas, p.ISR = 0, id(n), []int32{1}, []int32{1}
				for _, m := range []stored.Message{&stored.TopicRecord{Name: fmt.Sprint("t", n), TopicID: id(n)}, &p} {
					if err := f.apply(m); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				c := stored.NewPartitionChangeRecord()
				c.PartitionID, c.TopicID, c.Leader = 0, id(n%topics), 1
				if err := f.apply(&c); err != nil {
					b.Fatal(err)
				}
				if _, err := f.seal(); err != nil {
					b.Fatal(err)
				}
				n += 7919
			}
		})
	}
}
