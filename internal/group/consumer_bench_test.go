package group

import (
	"context"
	"testing"
)

// A heartbeat of a settled group: what 1,000 groups of 5 members send 1,000 times a second.
func BenchmarkConsumerHeartbeat(b *testing.B) {
	h := newHost(b, nil)
	h.topics.add("topic", 6)
	m := h.modern("g", "a", "topic")
	for range 3 {
		wantCode(b, "heartbeat", m.beat848(), nil)
	}
	r := m.request()
	r.RebalanceTimeoutMillis, r.SubscribedTopicNames, r.SubscribedTopicRegex, r.Topics = -1, nil, nil, nil
	b.ReportAllocs()
	for b.Loop() {
		if got := h.ConsumerGroupHeartbeat(context.Background(), m.caller, r); got.ErrorCode != 0 {
			b.Fatal(codeName(got.ErrorCode))
		}
	}
}
