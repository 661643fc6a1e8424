package samsa

import (
	"errors"
	"strconv"
	"time"

	"github.com/samsalog/samsa/internal/config"
	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/internal/group"
	"github.com/samsalog/samsa/internal/replica"
	"github.com/samsalog/samsa/record"
)

// offsetsObserver makes this node the coordinator of the groups whose partition it leads.
type offsetsObserver struct{ groups *group.Service }

// Elected implements replica.Observer.
func (o offsetsObserver) Elected(p *replica.Partition) {
	if tp := p.TopicPartition(); tp.Topic == group.OffsetsTopic {
		o.groups.Elected(tp.Partition, p)
	}
}

// Resigned implements replica.Observer.
func (o offsetsObserver) Resigned(tp record.TopicPartition) {
	if tp.Topic == group.OffsetsTopic {
		o.groups.Resigned(tp.Partition)
	}
}

// coordinatorError says what an error of a partition means to a coordinator's client (CoordinatorRuntime).
func coordinatorError(err error) error {
	switch {
	case errors.Is(err, replica.ErrNotEnoughReplicas), errors.Is(err, replica.ErrUnknownPartition):
		return coord.ErrNotAvailable
	default:
		return nil
	}
}

func groupSettings(l config.Layers) group.Settings {
	return group.Settings{
		MinSessionTimeout:             l.Duration("group.min.session.timeout.ms"),
		MaxSessionTimeout:             l.Duration("group.max.session.timeout.ms"),
		InitialRebalanceDelay:         l.Duration("group.initial.rebalance.delay.ms"),
		MaxSize:                       l.Int("group.max.size"),
		OffsetsRetention:              time.Duration(l.Int("offsets.retention.minutes")) * time.Minute,
		OffsetsRetentionCheckInterval: l.Duration("offsets.retention.check.interval.ms"),
		OffsetMetadataMaxBytes:        l.Int("offset.metadata.max.bytes"),
		Codec:                         record.Codec(l.Int("offsets.topic.compression.codec")),
	}
}

// createOffsetsTopic makes the topic that groups keep their state in, with the settings that Kafka gives it.
func (s *starting) createOffsetsTopic() error {
	l := s.current()
	_, err := s.ctl.CreateTopic(group.OffsetsTopic, int32(l.Int("offsets.topic.num.partitions")), int16(l.Int("offsets.topic.replication.factor")), map[string]string{
		"cleanup.policy":   "compact",
		"compression.type": "producer",
		"segment.bytes":    strconv.Itoa(l.Int("offsets.topic.segment.bytes")),
	})
	return err
}
