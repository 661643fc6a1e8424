package controller

import (
	"slices"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

// elect returns the change that makes this node the leader of a partition, in a new leader epoch; nil when it may
// not lead: then committed records could be missing here.
func (c *Controller) elect(i *metadata.Image, t *metadata.Topic, n int32, dirs []record.UUID) *stored.PartitionChangeRecord {
	return c.electFor(i, t, n, dirs, c.uncleanElection(i, t))
}

// electFor is elect; unclean says whether records may be lost.
func (c *Controller) electFor(i *metadata.Image, t *metadata.Topic, n int32, dirs []record.UUID, unclean bool) *stored.PartitionChangeRecord {
	p, node := t.Partitions[n], c.o.NodeID
	isr := []int32{node}
	if !slices.Contains(p.ISR, node) && !slices.Contains(p.ELR, node) {
		last := len(p.ISR) == 0 && slices.Contains(p.LastKnownELR, node)
		if !last && !unclean {
			return nil
		}
	}
	m := stored.NewPartitionChangeRecord()
	m.PartitionID, m.TopicID, m.Leader = n, t.ID, node
	if !slices.Equal(p.ISR, isr) {
		m.ISR = isr
	}
	if slices.Contains(p.ELR, node) {
		m.EligibleLeaderReplicas = slices.DeleteFunc(slices.Clone(p.ELR), func(id int32) bool { return id == node })
	}
	if len(p.LastKnownELR) > 0 {
		m.LastKnownELR = []int32{}
	}
	if p.LeaderRecoveryState != 0 {
		m.LeaderRecoveryState = 0 // whatever the last leader had to recover is done: its log is loaded
	}
	m.Directories = learnedDirectory(i, p, node, dirs)
	return &m
}

// uncleanElection reports whether a topic would rather lose records than be without a leader.
func (c *Controller) uncleanElection(i *metadata.Image, t *metadata.Topic) bool {
	overrides := i.Config(metadata.ConfigResource{Type: metadata.TopicResource, Name: t.Name})
	return c.o.Config.Layers().TopicConfig(overrides).UncleanLeaderElection
}

// learnedDirectory returns the directories of a partition whose replica here has none yet and can only be in
// the one that there is; nil: no change.
func learnedDirectory(i *metadata.Image, p *metadata.Partition, node int32, dirs []record.UUID) []record.UUID {
	at := slices.Index(p.Replicas, node)
	if len(dirs) != 1 || i.MetadataVersion() < metadata.DirectoriesVersion || at >= len(p.Directories) || !p.Directories[at].IsReserved() {
		return nil
	}
	out := slices.Clone(p.Directories)
	out[at] = dirs[0]
	return out
}

// Placement is a replica of this node and the directory that holds it.
type Placement struct {
	TopicID   record.UUID
	Partition int32
	Directory record.UUID
}

// AssignDirectories records where replicas of this node are. What is known already, or gone, is left out.
func (c *Controller) AssignDirectories(placed []Placement) error {
	for len(placed) > 0 {
		n := min(len(placed), maxRecordsPerOperation)
		_, err := c.o.Store.Update(func(i *metadata.Image, _ record.Offset) ([]stored.Message, error) {
			return c.assignments(i, placed[:n]), nil
		})
		if err != nil {
			return err
		}
		placed = placed[n:]
	}
	return nil
}

func (c *Controller) assignments(i *metadata.Image, placed []Placement) []stored.Message {
	if i.MetadataVersion() < metadata.DirectoriesVersion {
		return nil
	}
	var out []stored.Message
	for _, w := range placed {
		t := i.Topics.ByID(w.TopicID)
		if t == nil || int(w.Partition) >= len(t.Partitions) {
			continue
		}
		p := t.Partitions[w.Partition]
		at := slices.Index(p.Replicas, c.o.NodeID)
		if at < 0 || at >= len(p.Directories) || p.Directories[at] == w.Directory {
			continue
		}
		m := stored.NewPartitionChangeRecord()
		m.PartitionID, m.TopicID, m.Directories = w.Partition, w.TopicID, slices.Clone(p.Directories)
		m.Directories[at] = w.Directory
		out = append(out, &m)
	}
	return out
}
