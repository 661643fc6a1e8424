package metadata

import (
	"fmt"
	"maps"
	"slices"

	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

// fold applies records to an image. It owns what it has changed since the last seal (META-2).
type fold struct {
	img   Image
	edit  *edit
	owned map[record.UUID]*Topic
	// early holds partitions that came before one with a lower number, as snapshots of Kafka may have them.
	early map[record.UUID]map[int32]*Partition
	// touched is nil while nobody is interested in what changes.
	touched *touched
}

// touched names what records may have changed, in order; what it lists may be equal again in the end.
type touched struct {
	topics            []record.UUID
	partitions        []partitionKey
	configs           []ConfigResource
	features, brokers bool
}

type partitionKey struct {
	topic     record.UUID
	partition int32
}

func newFold(base *Image) *fold {
	f := &fold{}
	f.reset(base)
	return f
}

// reset forgets all changes since base.
func (f *fold) reset(base *Image) {
	f.img = *base
	f.edit, f.owned, f.early = new(edit), map[record.UUID]*Topic{}, map[record.UUID]map[int32]*Partition{}
}

// seal returns the image as it is now. Later changes copy.
func (f *fold) seal() (*Image, error) {
	for id, parts := range f.early {
		topic := f.img.Topics.ByID(id)
		return nil, fmt.Errorf("%w: topic %s has %d partitions in order and others above a gap: %v",
			ErrInvalidRecord, topic.Name, len(topic.Partitions), slices.Sorted(maps.Keys(parts)))
	}
	img := f.img
	f.edit, f.owned = new(edit), map[record.UUID]*Topic{}
	return &img, nil
}

func invalid(m stored.Message, format string, args ...any) error {
	return fmt.Errorf("%w: %s: "+format, append([]any{ErrInvalidRecord, m.RecordName()}, args...)...)
}

// apply applies one record. Transactions are the caller's business.
func (f *fold) apply(m stored.Message) error {
	switch m := m.(type) {
	case *stored.TopicRecord:
		return f.topic(m)
	case *stored.PartitionRecord:
		return f.partition(m)
	case *stored.PartitionChangeRecord:
		return f.partitionChange(m)
	case *stored.RemoveTopicRecord:
		return f.removeTopic(m)
	case *stored.ClearElrRecord:
		return f.clearELR(m)
	case *stored.ConfigRecord:
		f.config(m)
	case *stored.FeatureLevelRecord:
		f.feature(m)
	case *stored.ProducerIdsRecord:
		f.img.NextProducerID = record.ProducerID(m.NextProducerID)
	case *stored.NoOpRecord, *stored.ZkMigrationStateRecord:
		// The state of a migration from ZooKeeper means nothing since Kafka 4.0; snapshots leave it out.
	default:
		if known, err := f.node(m); known {
			return err
		}
		if !f.security(m) {
			return invalid(m, "cannot stand here")
		}
	}
	return nil
}

func (f *fold) config(m *stored.ConfigRecord) {
	r := ConfigResource{m.ResourceType, m.ResourceName}
	if f.touched != nil {
		f.touched.configs = append(f.touched.configs, r)
	}
	values := maps.Clone(f.img.Config(r))
	if m.Value == nil {
		delete(values, m.Name)
	} else {
		if values == nil {
			values = map[string]string{}
		}
		values[m.Name] = *m.Value
	}
	f.setConfig(r, values)
}

func (f *fold) setConfig(r ConfigResource, values map[string]string) {
	if len(values) == 0 {
		f.img.configs = f.img.configs.without(r, f.edit)
	} else {
		f.img.configs = f.img.configs.with(r, values, f.edit)
	}
}

func (f *fold) feature(m *stored.FeatureLevelRecord) {
	if f.touched != nil {
		f.touched.features = true
	}
	levels := maps.Clone(f.img.Features)
	if levels == nil {
		levels = map[string]int16{}
	}
	if m.FeatureLevel == 0 {
		delete(levels, m.Name)
	} else {
		levels[m.Name] = m.FeatureLevel
	}
	f.img.Features = levels
}
