package repair

import (
	"fmt"
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
	// Brokers are the brokers that are registered, with the ids of their log directories; none before Apache Kafka 3.7.
	Brokers map[int32][]record.UUID
	// Voters are the controllers, with the ids of their metadata directories; zero: not known.
	Voters map[int32]record.UUID
}

// Topic is a topic that exists.
type Topic struct {
	Name string
	ID   record.UUID
	// Compacted: its cleanup.policy has compact, so that its oldest segments hold the only copy of what is current.
	Compacted bool
	// Partitions are the replicas of each, by number.
	Partitions [][]Replica
}

// Replica is where a replica of a partition lies.
type Replica struct {
	Node int32
	// Dir is the id of the log directory; reserved: not known.
	Dir record.UUID
}

// metadataTopicID is the id that every cluster's metadata log has.
func metadataTopicID() record.UUID { return record.UUID{15: 1} }

// known is Metadata by name and id, and whose directory this is: checkpoint.NoNodeID and zero when it does not tell.
type known struct {
	*Metadata
	byName map[string]*Topic
	byID   map[record.UUID]*Topic
	node   int32
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
	if meta, err := verify.ReadMeta(p.o.FS, p.o.Dir); err == nil {
		p.known.node, p.known.dir = meta.NodeID, meta.DirectoryID
	}
	return nil
}

const metadataDir = "__cluster_metadata-0"

func (m *Metadata) index() *known {
	k := &known{Metadata: m, node: checkpoint.NoNodeID, byName: map[string]*Topic{}, byID: map[record.UUID]*Topic{}}
	for i := range m.Topics {
		k.byName[m.Topics[i].Name], k.byID[m.Topics[i].ID] = &m.Topics[i], &m.Topics[i]
	}
	return k
}

func (p *planner) tell(f verify.Finding) { p.plan.Findings = append(p.plan.Findings, f) }

// belongs reports whether partition n of a topic has its replica in this directory.
func (k *known) belongs(t *Topic, n int32) bool {
	dir, ok := t.at(n, k.node)
	return ok && dir == k.dir && !k.dir.IsZero()
}

// at is the directory in which a node has partition n of the topic, if it has it.
func (t *Topic) at(n, node int32) (record.UUID, bool) {
	if n < 0 || int(n) >= len(t.Partitions) {
		return record.UUID{}, false
	}
	for _, r := range t.Partitions[n] {
		if r.Node == node {
			return r.Dir, true
		}
	}
	return record.UUID{}, false
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
