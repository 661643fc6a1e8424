package deadletter

import (
	"errors"
	"fmt"
	"strings"

	"github.com/samsalog/samsa/internal/replica"
	"github.com/samsalog/samsa/storage"
)

// Queue is where letters of a group go.
type Queue struct {
	// Topic is errors.deadletterqueue.topic.name; "" for none.
	Topic string
	// Copy says that letters have key and value of the record (errors.deadletterqueue.copy.record.enable).
	Copy bool
	// Prefix is what names of queues must begin with (errors.deadletterqueue.topic.name.prefix), Create whether one that does
	// not exist is created (errors.deadletterqueue.auto.create.topics.enable).
	Prefix string
	Create bool
}

// Topic is what there is to know of a topic.
type Topic struct {
	Partitions int32
	// Enabled is errors.deadletterqueue.group.enable.
	Enabled bool
}

// CreatedConfigs are the settings of queues that are created, where they are not the cluster's.
func CreatedConfigs() map[string]string {
	return map[string]string{"errors.deadletterqueue.group.enable": "true", "message.timestamp.type": "CreateTime"}
}

// ErrQueue means that the settings do not let letters into the queue.
var ErrQueue = errors.New("the dead-letter queue cannot be used")

// innerPrefix begins the names of topics that brokers keep for themselves.
const innerPrefix = "__"

// open finds the queue of a group and the partition of it for a source partition. The order of the checks is Kafka's.
func (w *Writer) open(group string, source int32) (Queue, *replica.Partition, error) {
	q := w.o.Queue(group)
	if q.Topic == "" {
		return q, nil, fmt.Errorf("%w: the group has none", ErrQueue)
	}
	t, exists := w.o.Topic(q.Topic)
	switch {
	case strings.HasPrefix(q.Topic, innerPrefix):
		return q, nil, fmt.Errorf("%w: the name of topic %s begins with %s", ErrQueue, q.Topic, innerPrefix)
	case exists && !t.Enabled:
		return q, nil, fmt.Errorf("%w: topic %s has not errors.deadletterqueue.group.enable=true", ErrQueue, q.Topic)
	case !strings.HasPrefix(q.Topic, q.Prefix):
		return q, nil, fmt.Errorf("%w: the name of topic %s does not begin with errors.deadletterqueue.topic.name.prefix=%s", ErrQueue, q.Topic, q.Prefix)
	case !exists && !q.Create:
		return q, nil, fmt.Errorf("%w: there is no topic %s, and errors.deadletterqueue.auto.create.topics.enable=false", ErrQueue, q.Topic)
	}
	if !exists {
		if err := w.o.Create(q.Topic); err != nil {
			return q, nil, fmt.Errorf("creating topic %s: %w", q.Topic, err)
		}
		if t, exists = w.o.Topic(q.Topic); !exists {
			return q, nil, fmt.Errorf("topic %s: %w", q.Topic, replica.ErrUnknownPartition)
		}
	}
	p, err := w.o.Partition(q.Topic, source%t.Partitions)
	if err == nil {
		err = p.CheckInSync()
	}
	if err != nil {
		return q, nil, fmt.Errorf("topic %s: %w", q.Topic, err)
	}
	return q, p, nil
}

// passing reports whether what failed may work later: a leader that is not there yet, a disk without room. Kafka tries
// again only for the first of these.
func passing(err error) bool {
	for _, e := range []error{replica.ErrNotLeader, replica.ErrUnknownPartition, replica.ErrOffline, replica.ErrNotEnoughReplicas, storage.ErrStorage} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
