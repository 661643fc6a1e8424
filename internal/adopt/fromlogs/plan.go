package fromlogs

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// What keeps directories from being given metadata. Compare with errors.Is.
var (
	// ErrHasMetadata: there is a metadata log already.
	ErrHasMetadata = errors.New("the directories have cluster metadata")
	// ErrDisagree: the directories, or the partitions of one topic, contradict each other.
	ErrDisagree = errors.New("the directories contradict each other")
)

// Options say what to make metadata of, and what the files do not tell.
type Options struct {
	// FS is the file system; nil: the host's.
	FS vfs.FS
	// Dirs are all log directories of the node. The metadata goes to MetadataDir, the first of them if it is "".
	Dirs        []string
	MetadataDir string
	// NodeID is -1 for the one that meta.properties tells, or 1. ClusterID is "" for the one that it tells, or a random one.
	NodeID    int32
	ClusterID string
	// Controller is where an Apache Kafka that is started on the directories finds its controller.
	Controller metadata.Endpoint
	// Configs are settings of topics that go before what is found, by topic; those of "*" are for all topics that are
	// not internal. An empty value takes a setting away.
	Configs map[string]map[string]string
	// Partitions are numbers of partitions, by topic, where more are wanted than are there.
	Partitions map[string]int32
	// Retention is what the broker's settings keep (log.retention.ms); 0: Kafka's 7 days; negative: everything.
	Retention time.Duration
	Now       func() time.Time
	Rand      io.Reader
}

func (o *Options) setDefaults() {
	if o.FS == nil {
		o.FS = vfs.NewOS()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Retention == 0 {
		o.Retention = 7 * 24 * time.Hour
	}
	if o.MetadataDir == "" && len(o.Dirs) > 0 {
		o.MetadataDir = o.Dirs[0]
	}
}

// Plan is what Apply will do.
type Plan struct {
	ClusterID string `json:"clusterId"`
	NodeID    int32  `json:"nodeId"`
	// MetadataDir gets the metadata log.
	MetadataDir string      `json:"metadataDir"`
	Directories []Directory `json:"directories"`
	Topics      []*Topic    `json:"topics"`
	// NextProducerID is above all ids of producers that were found.
	NextProducerID record.ProducerID `json:"nextProducerId"`
	// Notes are what somebody should know before he says yes.
	Notes []string `json:"notes"`

	o Options
}

// Directory is one log directory.
type Directory struct {
	Path string `json:"path"`
	// ID is the directory's id, NewID: it has none yet.
	ID    record.UUID `json:"id"`
	NewID bool        `json:"newId"`
	// Era is zookeeper, kraft, or none without meta.properties.
	Era string `json:"era"`
	// Aside are partition directories that stay what they are: deleted, stray, moving.
	Aside []string `json:"aside"`
}

// Topic is a topic that the metadata will have.
type Topic struct {
	Name string      `json:"name"`
	ID   record.UUID `json:"id"`
	// NewID: no partition tells it.
	NewID      bool         `json:"newId"`
	Partitions []*Partition `json:"partitions"`
	Settings   []Setting    `json:"settings"`
}

// Partition is one that the metadata will have.
type Partition struct {
	Number int32 `json:"partition"`
	// Dir is where it is, "" if it has no directory and begins empty.
	Dir string `json:"dir"`
	// LeaderEpoch is above all that the log has.
	LeaderEpoch record.LeaderEpoch `json:"leaderEpoch"`
	// HasID: partition.metadata is there.
	HasID bool `json:"hasId"`

	root int // index of its log directory
	id   record.UUID
	sample
}

// Setting is a setting of a topic and where it comes from.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	Why   string `json:"why"`
}

// Make looks at the directories and plans. Nothing is changed (FLG-1).
func Make(ctx context.Context, o Options) (*Plan, error) {
	o.setDefaults()
	p := &Plan{o: o, MetadataDir: o.MetadataDir}
	if err := p.directories(); err != nil {
		return nil, err
	}
	if err := p.find(ctx); err != nil {
		return nil, err
	}
	for _, t := range p.Topics {
		if err := p.identify(t); err != nil {
			return nil, err
		}
		p.complete(t)
		p.settle(t)
	}
	if err := p.override(); err != nil {
		return nil, err
	}
	p.tell()
	return p, nil
}

// identify gives a topic the id that its partitions tell, or a new one (FLG-4).
func (p *Plan) identify(t *Topic) (err error) {
	for _, x := range t.Partitions {
		switch {
		case x.id.IsZero():
		case t.ID.IsZero():
			t.ID = x.id
		case t.ID != x.id:
			return fmt.Errorf("%w: partitions of topic %s have the ids %s and %s (%s); move away what is left of the older one", ErrDisagree, t.Name, t.ID, x.id, x.Dir)
		}
	}
	if t.ID.IsZero() {
		t.NewID = true
		t.ID, err = record.NewUUID(p.o.Rand)
	}
	return err
}

// complete adds the partitions that have no directory: numbers have no gaps.
func (p *Plan) complete(t *Topic) {
	count := t.Partitions[len(t.Partitions)-1].Number + 1
	count = max(count, p.counted(t, count), p.o.Partitions[t.Name])
	have := map[int32]*Partition{}
	for _, x := range t.Partitions {
		have[x.Number] = x
	}
	t.Partitions = nil
	var missing []int32
	for n := range count {
		x := have[n]
		if x == nil {
			x = &Partition{Number: n}
			missing = append(missing, n)
		}
		t.Partitions = append(t.Partitions, x)
	}
	if len(missing) > 0 {
		p.note("%s: %s not here and will begin empty", t.Name, partitionsText(missing))
	}
}

func partitionsText(numbers []int32) string {
	if len(numbers) == 1 {
		return fmt.Sprintf("partition %d is", numbers[0])
	}
	if len(numbers) > 8 {
		return fmt.Sprintf("%d partitions (%d to %d) are", len(numbers), numbers[0], numbers[len(numbers)-1])
	}
	return fmt.Sprintf("partitions %v are", numbers)
}

func (p *Plan) note(format string, args ...any) {
	p.Notes = append(p.Notes, fmt.Sprintf(format, args...))
}

// override applies what was given.
func (p *Plan) override() error {
	known := map[string]bool{"*": true}
	for _, t := range p.Topics {
		known[t.Name] = true
		if !internal(t.Name) {
			t.set(p.o.Configs["*"], "given for all topics")
		}
		t.set(p.o.Configs[t.Name], "given")
	}
	for name := range p.o.Configs {
		if !known[name] {
			return fmt.Errorf("settings are given for topic %s, of which no partition is here", name)
		}
	}
	for name := range p.o.Partitions {
		if !known[name] {
			return fmt.Errorf("a number of partitions is given for topic %s, of which none is here", name)
		}
	}
	return nil
}

// set puts settings in place of what was found.
func (t *Topic) set(values map[string]string, why string) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		t.Settings = slices.DeleteFunc(t.Settings, func(s Setting) bool { return s.Key == key })
		if values[key] != "" {
			t.Settings = append(t.Settings, Setting{key, values[key], why})
		}
	}
	slices.SortFunc(t.Settings, func(a, b Setting) int { return cmp.Compare(a.Key, b.Key) })
}

// tell adds what holds for the directories as a whole.
func (p *Plan) tell() {
	for _, d := range p.Directories {
		if d.Era == "zookeeper" {
			p.note("what only ZooKeeper knew is not in the directories and is lost: ACLs, SCRAM users, quotas, and settings of topics that leave no trace in their logs; set them again")
			break
		}
	}
	for _, d := range p.Directories {
		for _, path := range d.Aside {
			p.note("%s stays what it is: a deleted, stray or moving partition", path)
		}
	}
	old := 0
	for _, t := range p.Topics {
		for _, x := range t.Partitions {
			if x.oldest >= 0 && x.oldest < 2 {
				old++
			}
		}
	}
	if old > 0 {
		p.note("%d partitions hold messages of formats before 0.11 (magic 0 or 1): they are served as they are, and compaction rewrites them", old)
	}
}
