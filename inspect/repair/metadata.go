package repair

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/samsalog/samsa/inspect/verify"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/storage/logdir"
	"github.com/samsalog/samsa/storage/segment"
)

// Metadata is what the metadata log says, as far as a repair asks.
type Metadata struct {
	Topics []Topic
}

// Topic is a topic that exists.
type Topic struct {
	Name string
	ID   record.UUID
	// Compacted: its cleanup.policy has compact, so that its oldest segments hold the only copy of what is current.
	Compacted bool
	// Partitions by number.
	Partitions []Placement
}

// Placement is where a partition's replica of this node lies.
type Placement struct {
	// Here: this node has one.
	Here bool
	// Dir is the id of its log directory; reserved: not known.
	Dir record.UUID
}

// metadataTopicID is the id that every cluster's metadata log has.
func metadataTopicID() record.UUID { return record.UUID{15: 1} }

// known is Metadata by name and id, and whose directory this is.
type known struct {
	byName map[string]*Topic
	byID   map[record.UUID]*Topic
	dir    record.UUID
}

// ask asks what the metadata log says.
func (p *planner) ask() error {
	if p.o.Metadata == nil {
		return nil
	}
	m, err := p.o.Metadata()
	if err != nil {
		p.tell(verify.Unread(filepath.Join(p.o.Dir, metadataDir), fmt.Errorf("topics cannot be looked up: %w", err)))
		return nil
	}
	if m == nil {
		return nil
	}
	p.known = m.index()
	meta, err := checkpoint.ReadMetaProperties(p.o.FS, filepath.Join(p.o.Dir, checkpoint.MetaPropertiesFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil // verify tells
	}
	p.known.dir = meta.DirectoryID
	return nil
}

const metadataDir = "__cluster_metadata-0"

func (m *Metadata) index() *known {
	k := &known{byName: map[string]*Topic{}, byID: map[record.UUID]*Topic{}}
	for i := range m.Topics {
		k.byName[m.Topics[i].Name], k.byID[m.Topics[i].ID] = &m.Topics[i], &m.Topics[i]
	}
	return k
}

func (p *planner) tell(f verify.Finding) { p.plan.Findings = append(p.plan.Findings, f) }

// belongs reports whether partition n of a topic has its replica in this directory.
func (k *known) belongs(t *Topic, n int32) bool {
	if n < 0 || int(n) >= len(t.Partitions) || !t.Partitions[n].Here {
		return false
	}
	return t.Partitions[n].Dir == k.dir && !k.dir.IsZero()
}

// idOf is the id of the topic of a partition directory: what the metadata log says, or else what the directories of other
// partitions of the topic do.
func (p *planner) idOf(n logdir.Name) (id record.UUID, from string) {
	if n.TopicPartition.Topic+"-0" == metadataDir {
		return metadataTopicID(), "which is the same everywhere"
	}
	if p.known != nil {
		if t := p.known.byName[n.TopicPartition.Topic]; t != nil {
			return t.ID, "as the metadata log says"
		}
		return record.UUID{}, ""
	}
	for _, s := range p.states {
		other, err := logdir.ParseName(filepath.Base(s.List.Dir))
		if err != nil || other.Kind != logdir.Current || other.TopicPartition.Topic != n.TopicPartition.Topic || s.BadMetadata {
			continue
		}
		have, err := checkpoint.ReadPartitionMetadata(p.o.FS, filepath.Join(s.List.Dir, segment.PartitionMetadataFile))
		if err != nil || !id.IsZero() && have != id {
			return record.UUID{}, ""
		}
		id = have
	}
	return id, "as in the other partitions of the topic"
}

// identity gives a partition its topic id again.
func (p *planner) identity(s *verify.State) {
	n, err := logdir.ParseName(filepath.Base(absolute(s.List.Dir)))
	if !s.BadMetadata || err != nil || n.Kind != logdir.Current || p.cleared[s.List.Dir] {
		return
	}
	if id, from := p.idOf(n); !id.IsZero() {
		p.setID(s.List.Dir, id, from)
	}
}

func (p *planner) setID(dir string, id record.UUID, from string) {
	path := filepath.Join(dir, segment.PartitionMetadataFile)
	p.mended[path] = true
	p.add("replace", path, -1, -1, fmt.Sprintf("the topic id is %v, %s", id, from), func(j *journal) error {
		return j.replace(path, "topic id", checkpoint.PartitionMetadata(id))
	})
}
