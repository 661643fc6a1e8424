package interop

import (
	"context"
	"os"
	"testing"

	"github.com/IBM/sarama"
)

// TestSaramaPinnedVersions (V-02) pins sarama to each protocol version that it knows: produce, consume and
// commit in a group must work. Apache Kafka 4 serves clients from 2.1 on, Samsa those from 0.11 on, the first
// with today's record batches.
func TestSaramaPinnedVersions(t *testing.T) {
	addr := sharedBroker(t)
	oldest := sarama.V2_1_0_0
	if os.Getenv(ownBroker) != "" {
		oldest = sarama.V0_11_0_0
	}
	for _, version := range sarama.SupportedVersions {
		if !version.IsAtLeast(oldest) {
			continue
		}
		t.Run(version.String(), func(t *testing.T) {
			t.Parallel()
			saramaRoundTrip(t, addr, version)
		})
	}
}

// saramaRoundTrip writes, reads back, and reads once more in a group, all with requests of one version.
func saramaRoundTrip(t *testing.T, addr string, version sarama.KafkaVersion) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	const partitions = 2
	topic := createTopic(t, addr, "sarama-"+version.String(), partitions)
	want := numbered(0, 50, partitions)
	if err := saramaProduce(saramaConfig(version), addr, topic, want); err != nil {
		t.Fatalf("produce: %v", err)
	}
	got, err := saramaConsume(ctx, saramaConfig(version), addr, topic, partitions, len(want))
	if err != nil {
		t.Fatalf("consume: %v", err)
	}
	compareMessages(t, want, got)
	seen := newCollector()
	m, err := saramaJoin(saramaConfig(version), addr, topic, topic, seen.in)
	if err != nil {
		t.Fatalf("join: %v", err)
	}
	eventually(t, "the group's member gets everything", func() bool { return seen.distinct() == len(want) })
	if err := m.stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	seen.close()
}
