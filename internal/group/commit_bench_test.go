package group

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/record"
)

// BenchmarkOffsetCommit commits ten offsets a request, from as many goroutines as -cpu says: the more there
// are, the more requests share a batch.
func BenchmarkOffsetCommit(b *testing.B) {
	h := newHost(b, nil)
	h.topics.add("topic", 10)
	var n atomic.Int64
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		r := kmsg.NewPtrOffsetCommitRequest()
		r.Version, r.Group, r.Generation = 9, fmt.Sprint("g", n.Add(1)), -1
		t := kmsg.NewOffsetCommitRequestTopic()
		t.Topic = "topic"
		for p := range int32(10) {
			x := kmsg.NewOffsetCommitRequestTopicPartition()
			x.Partition, x.Offset = p, 1000
			t.Partitions = append(t.Partitions, x)
		}
		r.Topics = append(r.Topics, t)
		for pb.Next() {
			if got := h.OffsetCommit(context.Background(), Caller{}, r); got.Topics[0].Partitions[0].ErrorCode != 0 {
				b.Error(codeName(got.Topics[0].Partitions[0].ErrorCode))
			}
		}
	})
	b.StopTimer()
	batches := 0
	for _, p := range h.parts {
		for at := p.log.LogStartOffset(); at < p.log.LogEndOffset(); {
			eachBatchFrom(h, p, at, func(x record.Batch) { batches++; at = x.Header().NextOffset() })
		}
	}
	b.ReportMetric(float64(b.N)/float64(batches), "requests/batch")
}

// BenchmarkHeartbeat is what a member costs every few seconds.
func BenchmarkHeartbeat(b *testing.B) {
	h := newHost(b, nil)
	c := h.client("c")
	r := c.enter("g", nil)
	c.sync("g", r.MemberID, 1, nil)
	b.ReportAllocs()
	for b.Loop() {
		if got := c.beat("g", r.MemberID, 1); got != 0 {
			b.Fatal(codeName(got))
		}
	}
}
