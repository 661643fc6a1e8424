package metadata

import (
	"slices"

	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

func (f *fold) topic(m *stored.TopicRecord) error {
	if other := f.img.Topics.ByName(m.Name); other != nil {
		return invalid(m, "topic %q exists with id %s, and now with %s", m.Name, other.ID, m.TopicID)
	}
	if other := f.img.Topics.ByID(m.TopicID); other != nil {
		return invalid(m, "topics %q and %q have the same id %s", other.Name, m.Name, m.TopicID)
	}
	t := &Topic{Name: m.Name, ID: m.TopicID}
	f.owned[t.ID] = t
	f.img.Topics = f.img.Topics.with(t, f.edit)
	// Kafka leaves the configs of deleted topics in its snapshots; a new topic does not inherit them.
	f.setConfig(ConfigResource{TopicResource, m.Name}, nil)
	f.touchTopic(t)
	return nil
}

func (f *fold) touchTopic(t *Topic) {
	if f.touched != nil {
		f.touched.topics = append(f.touched.topics, t.ID)
		f.touched.configs = append(f.touched.configs, ConfigResource{TopicResource, t.Name})
	}
}

func (f *fold) touchPartition(t *Topic, partition int32) {
	if f.touched != nil {
		f.touched.partitions = append(f.touched.partitions, partitionKey{t.ID, partition})
	}
}

// own returns the topic of an id for changing, nil when there is none (META-2).
func (f *fold) own(id record.UUID) *Topic {
	if t := f.owned[id]; t != nil {
		return t
	}
	t := f.img.Topics.ByID(id)
	if t == nil {
		return nil
	}
	mine := &Topic{Name: t.Name, ID: t.ID, Partitions: slices.Clone(t.Partitions)}
	f.owned[id] = mine
	f.img.Topics = f.img.Topics.with(mine, f.edit)
	return mine
}

func (f *fold) removeTopic(m *stored.RemoveTopicRecord) error {
	t := f.img.Topics.ByID(m.TopicID)
	if t == nil {
		return invalid(m, "no topic has the id %s", m.TopicID)
	}
	delete(f.owned, t.ID)
	delete(f.early, t.ID)
	f.img.Topics = f.img.Topics.without(t, f.edit)
	f.setConfig(ConfigResource{TopicResource, t.Name}, nil)
	f.touchTopic(t)
	return nil
}

func (f *fold) partition(m *stored.PartitionRecord) error {
	t := f.own(m.TopicID)
	if t == nil {
		return invalid(m, "no topic has the id %s", m.TopicID)
	}
	p := &Partition{
		Replicas: m.Replicas, ISR: m.ISR, Removing: m.RemovingReplicas, Adding: m.AddingReplicas,
		ELR: m.EligibleLeaderReplicas, LastKnownELR: m.LastKnownELR, Directories: m.Directories,
		Leader: m.Leader, LeaderEpoch: record.LeaderEpoch(m.LeaderEpoch), PartitionEpoch: m.PartitionEpoch,
		LeaderRecoveryState: m.LeaderRecoveryState,
	}
	switch n := m.PartitionID; {
	case n < 0:
		return invalid(m, "partition %d of topic %s", n, t.Name)
	case len(p.Directories) != 0 && len(p.Directories) != len(p.Replicas):
		return invalid(m, "partition %s-%d has %d replicas and %d directories", t.Name, n, len(p.Replicas), len(p.Directories))
	case int(n) < len(t.Partitions):
		t.Partitions[n] = p
	case int(n) > len(t.Partitions):
		if f.early[t.ID] == nil {
			f.early[t.ID] = map[int32]*Partition{}
		}
		f.early[t.ID][n] = p
	default:
		t.Partitions = append(t.Partitions, p)
		f.catchUp(t)
	}
	p.defineDirectories()
	f.touchPartition(t, m.PartitionID)
	return nil
}

// defineDirectories gives a replica list that was written without directories the id for "not known".
func (p *Partition) defineDirectories() {
	if len(p.Directories) == 0 && len(p.Replicas) > 0 {
		p.Directories = make([]record.UUID, len(p.Replicas)) // MigratingDirID, as Kafka fills it
	}
}

// catchUp appends the partitions that came early and now follow.
func (f *fold) catchUp(t *Topic) {
	early := f.early[t.ID]
	for {
		n := int32(len(t.Partitions))
		p := early[n]
		if p == nil {
			break
		}
		t.Partitions = append(t.Partitions, p)
		delete(early, n)
	}
	if len(early) == 0 {
		delete(f.early, t.ID)
	}
}

func (f *fold) partitionChange(m *stored.PartitionChangeRecord) error {
	t := f.own(m.TopicID)
	if t == nil {
		return invalid(m, "no topic has the id %s", m.TopicID)
	}
	if m.PartitionID < 0 || int(m.PartitionID) >= len(t.Partitions) {
		return invalid(m, "topic %s has no partition %d", t.Name, m.PartitionID)
	}
	p, err := t.Partitions[m.PartitionID].merge(m)
	if err != nil {
		return err
	}
	t.Partitions[m.PartitionID] = p
	f.touchPartition(t, m.PartitionID)
	return nil
}

// merge returns p after a change: a leader that is named, even the same, begins a new leader epoch; every change
// begins a new partition epoch (PartitionRegistration.merge).
func (p *Partition) merge(m *stored.PartitionChangeRecord) (*Partition, error) {
	next := *p
	next.PartitionEpoch++
	if m.Leader != stored.NoLeaderChange {
		next.Leader = m.Leader
		next.LeaderEpoch++
	}
	if m.LeaderRecoveryState != stored.NoRecoveryChange {
		next.LeaderRecoveryState = m.LeaderRecoveryState
	}
	for _, c := range []struct{ from, to *[]int32 }{
		{&m.ISR, &next.ISR}, {&m.RemovingReplicas, &next.Removing}, {&m.AddingReplicas, &next.Adding},
		{&m.EligibleLeaderReplicas, &next.ELR}, {&m.LastKnownELR, &next.LastKnownELR},
	} {
		if *c.from != nil {
			*c.to = *c.from
		}
	}
	if m.Replicas != nil {
		next.Replicas = m.Replicas
		next.Directories = p.directoriesOf(m.Replicas)
	}
	if m.Directories != nil {
		if len(m.Directories) != len(next.Replicas) {
			return nil, invalid(m, "%d replicas and %d directories", len(next.Replicas), len(m.Directories))
		}
		next.Directories = m.Directories
	}
	return &next, nil
}

// directoriesOf returns the directories of a new replica list: known ones stay, new replicas are unassigned.
func (p *Partition) directoriesOf(replicas []int32) []record.UUID {
	out := make([]record.UUID, len(replicas))
	for i, r := range replicas {
		out[i] = record.UnassignedDirID
		if at := slices.Index(p.Replicas, r); at >= 0 && at < len(p.Directories) {
			out[i] = p.Directories[at]
		}
	}
	return out
}

// clearELR forgets the eligible leaders of a topic's partitions, of all topics when none is named.
func (f *fold) clearELR(m *stored.ClearElrRecord) error {
	if m.TopicName != "" {
		t := f.img.Topics.ByName(m.TopicName)
		if t == nil {
			return invalid(m, "no topic is called %q", m.TopicName)
		}
		return f.clearTopicELR(t)
	}
	for _, t := range slices.Collect(f.img.Topics.All()) {
		if err := f.clearTopicELR(t); err != nil {
			return err
		}
	}
	return nil
}

func (f *fold) clearTopicELR(t *Topic) error {
	for n, p := range t.Partitions {
		if len(p.ELR) == 0 && len(p.LastKnownELR) == 0 {
			continue
		}
		change := stored.NewPartitionChangeRecord()
		change.PartitionID, change.TopicID = int32(n), t.ID
		change.EligibleLeaderReplicas, change.LastKnownELR = []int32{}, []int32{}
		if err := f.partitionChange(&change); err != nil {
			return err
		}
	}
	return nil
}
