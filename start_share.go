package samsa

import (
	"strconv"

	"github.com/samsalog/samsa/internal/config"
	"github.com/samsalog/samsa/internal/metadata"
	sharestate "github.com/samsalog/samsa/internal/share/coordinator"
	"github.com/samsalog/samsa/record"
)

// startShareState makes the coordinator that keeps the state of share partitions.
func (s *starting) startShareState() {
	b := s.b
	b.shareState = sharestate.NewService(sharestate.Options{
		Config:      func() sharestate.Settings { return shareStateSettings(s.current()) },
		Topic:       func() (sharestate.Topic, bool) { return shareStateTopic(b.store.Image()) },
		CreateTopic: s.createShareStateTopic,
		Exists: func(topic record.UUID, partition int32) bool {
			t := b.store.Image().Topics.ByID(topic)
			return t != nil && partition >= 0 && int(partition) < len(t.Partitions)
		},
		DeleteRecords:   b.deleteShareRecords,
		CommitTimeout:   s.current().Duration("share.coordinator.write.timeout.ms"),
		LoadBufferBytes: s.current().Int("share.coordinator.load.buffer.size"),
		AppendError:     coordinatorError, Logger: s.room("share"),
	})
	s.undos = append(s.undos, b.shareState.Close)
}

// deleteShareRecords raises the log start of a partition of the state topic.
func (b *Broker) deleteShareRecords(partition int32, before record.Offset) error {
	p, err := b.replicas.Partition(sharestate.StateTopic, partition)
	if err != nil {
		return err
	}
	_, err = p.DeleteRecords(before)
	return err
}

func shareStateSettings(l config.Layers) sharestate.Settings {
	return sharestate.Settings{
		UpdatesPerSnapshot: l.Int("share.coordinator.snapshot.update.records.per.snapshot"),
		ColdInterval:       l.Duration("share.coordinator.cold.partition.snapshot.interval.ms"),
		PruneInterval:      l.Duration("share.coordinator.state.topic.prune.interval.ms"),
		Codec:              record.Codec(l.Int("share.coordinator.state.topic.compression.codec")),
	}
}

func shareStateTopic(i *metadata.Image) (sharestate.Topic, bool) {
	t := i.Topics.ByName(sharestate.StateTopic)
	if t == nil {
		return sharestate.Topic{}, false
	}
	return sharestate.Topic{ID: t.ID, Partitions: int32(len(t.Partitions))}, true
}

// createShareStateTopic makes the topic that share groups keep their state in, with the settings that Kafka gives it.
func (s *starting) createShareStateTopic() error {
	l := s.current()
	_, err := s.ctl.CreateTopic(sharestate.StateTopic, int32(l.Int("share.coordinator.state.topic.num.partitions")), int16(l.Int("share.coordinator.state.topic.replication.factor")), map[string]string{
		"cleanup.policy":      "delete",
		"compression.type":    "producer",
		"min.insync.replicas": strconv.Itoa(l.Int("share.coordinator.state.topic.min.isr")),
		"retention.ms":        "-1",
		"segment.bytes":       strconv.Itoa(l.Int("share.coordinator.state.topic.segment.bytes")),
	})
	return err
}

// shareObserver tells the share coordinator of topics that are no more.
type shareObserver struct{ b *Broker }

// Publish implements metadata.Publisher.
func (o shareObserver) Publish(d *metadata.Delta, _ *metadata.Image) {
	if len(d.DeletedTopics) == 0 {
		return
	}
	ids := make([]record.UUID, len(d.DeletedTopics))
	for i, t := range d.DeletedTopics {
		ids[i] = t.ID
	}
	o.b.shareState.TopicsDeleted(ids)
}
