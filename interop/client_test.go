package interop

import (
	"context"
	"testing"
)

// client is one family of clients.
type client interface {
	name() string
	// sees is what the client makes of messages when it reads them.
	sees(messages []message) []message
	// produce writes messages in order with one codec and returns when all are acknowledged.
	produce(ctx context.Context, addr, topic, codec string, messages []message) error
	// consume reads n messages of all partitions from the beginning.
	consume(ctx context.Context, addr, topic string, partitions int32, n int) ([]message, error)
	// join enters a group. Records go to out, which the caller drains until the member has stopped.
	join(addr, group, topic string, out chan<- message) (member, error)
}

// member is one consumer of a group.
type member interface {
	// assigned is how many partitions the member has now.
	assigned() int
	// stop commits what was delivered and leaves the group.
	stop() error
}

func clients() []client {
	return []client{franzClient{}, saramaClient{}, segmentioClient{}, confluentClient{}}
}

func codecs() []string { return []string{"none", "gzip", "snappy", "lz4", "zstd"} }

// TestProduceWithOneConsumeWithAnother writes the table of records with each client and codec, and reads
// each of those topics with each client.
func TestProduceWithOneConsumeWithAnother(t *testing.T) {
	addr := sharedBroker(t)
	const partitions = 3
	for _, producer := range clients() {
		for _, codec := range codecs() {
			t.Run(producer.name()+"/"+codec, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				defer cancel()
				topic := createTopic(t, addr, "pair-"+producer.name()+"-"+codec, partitions)
				want := tableOfMessages(partitions)
				if err := producer.produce(ctx, addr, topic, codec, want); err != nil {
					t.Fatalf("produce: %v", err)
				}
				for _, consumer := range clients() {
					t.Run("to-"+consumer.name(), func(t *testing.T) {
						got, err := consumer.consume(ctx, addr, topic, partitions, len(want))
						if err != nil {
							t.Fatalf("consume: %v after %d of %d records", err, len(got), len(want))
						}
						compareMessages(t, consumer.sees(want), got)
					})
				}
			})
		}
	}
}
