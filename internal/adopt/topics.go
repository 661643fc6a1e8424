package adopt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/storage/logdir"
)

// Topic is a topic of the metadata, or without a metadata log what the directories' names tell.
type Topic struct {
	Name string `json:"name"`
	// ID is "" where no partition tells it.
	ID         string            `json:"id"`
	Configs    map[string]string `json:"configs"`
	Partitions []*Partition      `json:"partitions"`
	// Records is how many offsets there are between start and end, Bytes those of the segments.
	Records int64 `json:"records"`
	Bytes   int64 `json:"bytes"`
}

// Aside is a partition directory that is no partition of the metadata.
type Aside struct {
	Path string `json:"path"`
	// Kind is delete, stray, future, unknown (the metadata has no such topic), another id or twice.
	Kind  string `json:"kind"`
	Bytes int64  `json:"bytes"`
	// What becomes of it when the directory is served.
	Fate string `json:"fate"`
}

// topics reads every partition directory and holds it against the metadata.
func (l *looker) topics(ctx context.Context) error {
	for _, d := range l.r.Directories {
		for _, name := range d.names {
			if err := ctx.Err(); err != nil {
				return err
			}
			n, err := logdir.ParseName(name)
			if err != nil {
				return err
			}
			p, err := l.partition(d, name, n.TopicPartition)
			if err != nil {
				l.unread(err)
				continue
			}
			d.Bytes += p.Bytes
			if n.Kind != logdir.Current {
				l.r.Aside = append(l.r.Aside, aside(p, n.Kind))
				continue
			}
			l.partitions[n.TopicPartition.String()] = append(l.partitions[n.TopicPartition.String()], p)
		}
	}
	if l.r.Metadata == nil || l.r.Metadata.image == nil || l.r.Metadata.found.New {
		l.topicsOfNames()
	} else {
		l.topicsOfImage(l.r.Metadata.image)
	}
	for _, t := range l.r.Topics {
		for _, p := range t.Partitions {
			t.Bytes += p.Bytes
			t.Records += max(0, p.LogEnd-p.LogStart)
		}
	}
	slices.SortFunc(l.r.Topics, func(a, b *Topic) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(l.r.Aside, func(a, b Aside) int { return cmp.Compare(a.Path, b.Path) })
	return nil
}

func aside(p *Partition, kind logdir.Kind) Aside {
	fates := map[logdir.Kind]string{
		logdir.Deleted: "removed after file.delete.delay.ms",
		logdir.Stray:   "left where it is",
		logdir.Future:  "its move to this directory goes on, or it is removed when the partition is here already",
	}
	return Aside{Path: p.Dir, Kind: kind.String()[1:], Bytes: p.Bytes, Fate: fates[kind]}
}

// topicsOfImage takes the topics from the metadata. What it does not claim is set aside.
func (l *looker) topicsOfImage(image *metadata.Image) {
	claimed := map[*Partition]bool{}
	for t := range image.Topics.All() {
		out := &Topic{Name: t.Name, ID: t.ID.String(), Configs: image.Config(metadata.ConfigResource{Type: metadata.TopicResource, Name: t.Name})}
		for n, m := range t.Partitions {
			tp := record.TopicPartition{Topic: t.Name, Partition: int32(n)}
			p := l.claim(tp, t.ID, claimed)
			p.Replicas, p.ISR, p.Leader, p.LeaderEpoch = m.Replicas, m.ISR, m.Leader, int32(m.LeaderEpoch)
			out.Partitions = append(out.Partitions, p)
		}
		l.r.Topics = append(l.r.Topics, out)
	}
	for name, found := range l.partitions {
		for _, p := range found {
			if claimed[p] {
				continue
			}
			kind := "unknown"
			switch t := image.Topics.ByName(p.topic); {
			case t != nil && int(p.Partition) < len(t.Partitions) && p.id == t.ID:
				kind = "twice"
			case t != nil && p.id != t.ID:
				kind = "another id"
			}
			l.r.Aside = append(l.r.Aside, Aside{Path: p.Dir, Kind: kind, Bytes: p.Bytes, Fate: "renamed to " + name + ".…-stray and left there"})
		}
	}
}

// claim finds the directory of a partition: one with the topic's id. Without one it is missing.
func (l *looker) claim(tp record.TopicPartition, id record.UUID, claimed map[*Partition]bool) *Partition {
	for _, p := range l.partitions[tp.String()] {
		if p.id == id {
			claimed[p] = true
			return p
		}
	}
	return &Partition{Partition: tp.Partition, Missing: true, Magic: -1, LogStart: -1, LogEnd: -1, HighWatermark: -1, RecoveryPoint: -1, LeaderEpoch: -1, Leader: -1, topic: tp.Topic}
}

// topicsOfNames takes topics from the names of directories.
func (l *looker) topicsOfNames() {
	topics := map[string]*Topic{}
	for _, found := range l.partitions {
		for _, p := range found {
			t := topics[p.topic]
			if t == nil {
				t = &Topic{Name: p.topic}
				topics[p.topic] = t
				l.r.Topics = append(l.r.Topics, t)
			}
			if !p.id.IsZero() {
				t.ID = p.id.String()
			}
			t.Partitions = append(t.Partitions, p)
		}
	}
	for _, t := range topics {
		slices.SortFunc(t.Partitions, func(a, b *Partition) int { return cmp.Compare(a.Partition, b.Partition) })
	}
}

// topicID reads partition.metadata; zero without it.
func (l *looker) topicID(dir string) record.UUID {
	id, err := checkpoint.ReadPartitionMetadata(l.FS, filepath.Join(dir, checkpoint.PartitionMetadataFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.unread(fmt.Errorf("topic id: %w", err))
	}
	return id
}
