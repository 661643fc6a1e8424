package metadata

import "maps"

// Delta is what lies between two images, in the order in which the records came. A topic that was deleted and
// created again under the same name is in both lists: the deletion comes first.
type Delta struct {
	CreatedTopics []*Topic
	DeletedTopics []*Topic
	// ChangedPartitions are new and changed partitions of topics that exist in both images.
	ChangedPartitions []ChangedPartition
	ChangedConfigs    []ConfigResource
	Features, Brokers bool
}

// ChangedPartition names a partition of a topic in the newer image.
type ChangedPartition struct {
	Topic     string
	Partition int32
}

// Publisher follows the images. Publish is called in the order of the records, for one change at a time, from
// the goroutine of an Append or Update, which waits for it: it must not append itself.
type Publisher interface {
	Publish(d *Delta, i *Image)
}

// between looks up in both images what t names.
func (t *touched) between(before, after *Image) *Delta {
	d := &Delta{Features: t.features, Brokers: t.brokers}
	topics := map[partitionKey]bool{}
	for _, id := range t.topics {
		key := partitionKey{id, -1}
		if topics[key] {
			continue
		}
		topics[key] = true
		old, now := before.Topics.ByID(id), after.Topics.ByID(id)
		switch {
		case old == nil && now != nil:
			d.CreatedTopics = append(d.CreatedTopics, now)
		case old != nil && now == nil:
			d.DeletedTopics = append(d.DeletedTopics, old)
		}
	}
	for _, key := range t.partitions {
		old, now := before.Topics.ByID(key.topic), after.Topics.ByID(key.topic)
		if topics[key] || old == nil || now == nil {
			continue
		}
		topics[key] = true
		if int(key.partition) >= len(old.Partitions) || old.Partitions[key.partition] != now.Partitions[key.partition] {
			d.ChangedPartitions = append(d.ChangedPartitions, ChangedPartition{now.Name, key.partition})
		}
	}
	configs := map[ConfigResource]bool{}
	for _, r := range t.configs {
		if !configs[r] && !maps.Equal(before.Config(r), after.Config(r)) {
			d.ChangedConfigs = append(d.ChangedConfigs, r)
		}
		configs[r] = true
	}
	return d
}
