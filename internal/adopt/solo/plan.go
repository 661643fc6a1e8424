package solo

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// What keeps directories from being made a cluster of their own. Compare with errors.Is.
var (
	// ErrAlone: they are one already.
	ErrAlone = errors.New("the directories are those of a cluster of one node")
	// ErrNoMetadata: there is no metadata log in them.
	ErrNoMetadata = errors.New("the directories have no cluster metadata")
	// ErrNoBroker: the node has only been a controller, so no partition is here.
	ErrNoBroker = errors.New("the node never was a broker")
)

// Options say whose directories.
type Options struct {
	// FS is the file system; nil: the host's.
	FS vfs.FS
	// Dirs are all log directories of the node; MetadataDir has the metadata log, "": the one in which it is.
	Dirs        []string
	MetadataDir string
	// Controller is where an Apache Kafka that is started on the directories finds its controller, if the node was none.
	Controller metadata.Endpoint
	Now        func() time.Time
	Rand       io.Reader
}

// Plan is what Apply will do.
type Plan struct {
	ClusterID   string `json:"clusterId"`
	NodeID      int32  `json:"nodeId"`
	MetadataDir string `json:"metadataDir"`
	// Voters are those of the controller quorum, Brokers the other brokers, which are forgotten.
	Voters  []int32 `json:"voters"`
	Brokers []int32 `json:"brokers"`
	// Whole partitions have every committed record here. Behind ones were not in sync: what the leader had got after
	// their end is lost. Empty ones are not here and begin anew.
	Whole  []Partition `json:"whole"`
	Behind []Partition `json:"behind"`
	Empty  []Partition `json:"empty"`
	// Removed are topics of which nothing is here.
	Removed []string `json:"removed"`
	// MinInsync are topics whose min.insync.replicas is lowered to 1; "" stands for the cluster's default.
	MinInsync []string `json:"minInsync"`
	Notes     []string `json:"notes"`

	o           Options
	directories map[string]record.UUID // by path
	versions    map[string]int         // of meta.properties
	rewrite     map[string]bool
	gone        map[string]bool
	here        map[record.TopicPartition][]replica
	places      map[record.TopicPartition]string // log directories
}

// Partition is one partition as it is here.
type Partition struct {
	Topic     string  `json:"topic"`
	Partition int32   `json:"partition"`
	Replicas  []int32 `json:"replicas"`
	// LogEnd is the next offset here, HighWatermark what was known to be on all in-sync replicas; -1: not known.
	LogEnd        int64 `json:"logEnd"`
	HighWatermark int64 `json:"highWatermark"`
}

// Make looks at the directories and plans. Nothing is changed (SOL-1).
func Make(ctx context.Context, o Options) (*Plan, error) {
	if o.FS == nil {
		o.FS = vfs.NewOS()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	o.Dirs = slices.Clone(o.Dirs)
	for i, dir := range o.Dirs {
		o.Dirs[i] = filepath.Clean(dir)
	}
	if o.MetadataDir != "" {
		o.MetadataDir = filepath.Clean(o.MetadataDir)
	}
	p := &Plan{o: o, MetadataDir: o.MetadataDir, directories: map[string]record.UUID{}, versions: map[string]int{}, rewrite: map[string]bool{},
		gone: map[string]bool{}, here: map[record.TopicPartition][]replica{}, places: map[record.TopicPartition]string{}}
	if err := p.survey(ctx); err != nil {
		return nil, err
	}
	found, err := metadata.Look(o.FS, p.MetadataDir, p.ClusterID)
	if err != nil {
		return nil, err
	}
	return p, p.judge(found)
}

// judge sorts the partitions by what is here of them.
func (p *Plan) judge(found *metadata.Found) error {
	image := found.Image
	switch {
	case found.New:
		return ErrNoMetadata
	case len(image.Brokers) > 0 && image.Brokers[p.NodeID] == nil:
		return ErrNoBroker
	}
	p.Voters = found.Voters
	for id := range image.Brokers {
		if id != p.NodeID {
			p.Brokers = append(p.Brokers, id)
		}
	}
	slices.Sort(p.Brokers)
	for _, t := range slices.SortedFunc(image.Topics.All(), func(a, b *metadata.Topic) int { return cmp.Compare(a.Name, b.Name) }) {
		if err := p.topic(t); err != nil {
			return err
		}
	}
	alone := found.Check(p.NodeID, p.directories[p.MetadataDir]) == nil && len(p.Brokers) == 0
	if alone && !slices.ContainsFunc(slices.Concat(p.Whole, p.Behind, p.Empty), p.elsewhere) && len(p.Removed) == 0 {
		if p.versions[p.MetadataDir] == 0 {
			return ErrNoMetadata // such as adopt --from-logs leaves it when it is interrupted
		}
		return ErrAlone
	}
	p.minInsync(image)
	p.note("the last records of the metadata may not have been committed by the old controllers; they count here")
	p.note("the old cluster must not see this directory again: its other members know nothing of what changes here")
	return nil
}

func (p *Plan) elsewhere(x Partition) bool { return !slices.Equal(x.Replicas, []int32{p.NodeID}) }

// topic sorts the partitions of one topic. One of which nothing is here is removed.
func (p *Plan) topic(t *metadata.Topic) error {
	var whole, behind, empty []Partition
	assigned := false
	for n, x := range t.Partitions {
		tp := record.TopicPartition{Topic: t.Name, Partition: int32(n)}
		out := Partition{Topic: t.Name, Partition: int32(n), Replicas: x.Replicas, LogEnd: -1, HighWatermark: -1}
		mine := slices.Contains(x.Replicas, p.NodeID)
		assigned = assigned || mine
		place := p.find(tp, t.ID)
		if place == nil || !mine {
			empty = append(empty, out)
			continue
		}
		p.places[tp] = place.root
		end, err := p.logEnd(place)
		if err != nil {
			return err
		}
		out.LogEnd, out.HighWatermark = end, place.highWatermark
		if slices.Contains(x.ISR, p.NodeID) || slices.Contains(x.ELR, p.NodeID) {
			whole = append(whole, out)
		} else {
			behind = append(behind, out)
		}
	}
	if !assigned {
		p.Removed, p.gone[t.Name] = append(p.Removed, t.Name), true
		return nil
	}
	p.Whole, p.Behind, p.Empty = append(p.Whole, whole...), append(p.Behind, behind...), append(p.Empty, empty...)
	return nil
}

// minInsync finds where more in-sync replicas are asked for than there will be.
func (p *Plan) minInsync(image *metadata.Image) {
	const key = "min.insync.replicas"
	for r := range image.ConfigResources() {
		n, err := strconv.Atoi(image.Config(r)[key])
		switch {
		case err != nil || n <= 1:
		case r.Type == metadata.TopicResource && !p.gone[r.Name], r.Type == metadata.BrokerResource && r.Name == "":
			p.MinInsync = append(p.MinInsync, r.Name)
		}
	}
	slices.SortFunc(p.MinInsync, cmp.Compare[string])
	if len(p.MinInsync) > 0 {
		p.note("server.properties must not ask for more than one in-sync replica either (min.insync.replicas, offsets.topic.replication.factor and the like)")
	}
}

func (p *Plan) note(format string, args ...any) {
	p.Notes = append(p.Notes, fmt.Sprintf(format, args...))
}

// ids are all nodes that the metadata may know besides this one.
func (p *Plan) ids() []int32 {
	all := map[int32]bool{}
	for _, id := range slices.Concat(p.Voters, p.Brokers) {
		if id != p.NodeID {
			all[id] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}
