package adopt

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/samsalog/samsa/vfs"
)

// Options say what to look at.
type Options struct {
	// FS is the file system; nil stands for the host's.
	FS vfs.FS
	// Dirs are all log directories of one node.
	Dirs []string
	// MetadataDir is where the metadata log is, which may be none of Dirs; "": in the one of Dirs that has it.
	MetadataDir string
	// Locked: the caller holds the locks, so no broker does.
	Locked bool
	// Now is the clock; nil stands for time.Now.
	Now func() time.Time
}

// Report is what Look has seen. Times are milliseconds since the epoch, sizes bytes, -1 stands for unknown.
type Report struct {
	Directories []*Directory `json:"directories"`
	// Era is kraft, zookeeper, or none for directories without meta.properties.
	Era       string `json:"era"`
	ClusterID string `json:"clusterId"`
	NodeID    int32  `json:"nodeId"`
	Writer    Writer `json:"writer"`
	// Metadata is nil where there is no metadata log.
	Metadata *Metadata `json:"metadata"`
	Topics   []*Topic  `json:"topics"`
	// Aside are partition directories that belong to no partition: deleted, stray, future, or unknown to the metadata.
	Aside        []Aside       `json:"aside"`
	Groups       []*Group      `json:"groups"`
	Transactions []Transaction `json:"transactions"`
	// Unread is what could not be read.
	Unread []string `json:"unread"`
	Serve  Verdict  `json:"serve"`
}

// Writer is who has written the directories last, as far as it shows.
type Writer struct {
	// Program is kafka, samsa, or unknown.
	Program string `json:"program"`
	// Version is a range of releases such as 4.4; "": not known.
	Version string `json:"version"`
	// Evidence says where that comes from.
	Evidence []string `json:"evidence"`
}

// Verdict says what serve would do.
type Verdict struct {
	Takes bool `json:"takes"`
	// Refusals are the reasons against it; Notes what somebody who serves should know.
	Refusals []string `json:"refusals"`
	Notes    []string `json:"notes"`
	// Changes are what would become different on disk, Stays what would not.
	Changes []string `json:"changes"`
	Stays   []string `json:"stays"`
}

// ErrNothing: no directory was named.
var ErrNothing = errors.New("no log directory")

// looker is a Report on its way.
type looker struct {
	Options
	r *Report
	// partitions are those found on disk, by name of topic and partition.
	partitions map[string][]*Partition
}

// Look looks at directories and changes nothing (ADO-1). The error is about what kept it from looking at all.
func Look(ctx context.Context, o Options) (*Report, error) {
	if o.FS == nil {
		o.FS = vfs.NewOS()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if len(o.Dirs) == 0 {
		return nil, ErrNothing
	}
	if o.MetadataDir != "" && !slices.Contains(o.Dirs, o.MetadataDir) { // a directory of its own
		o.Dirs = append(slices.Clone(o.Dirs), o.MetadataDir)
	}
	l := &looker{Options: o, r: &Report{NodeID: -1}, partitions: map[string][]*Partition{}}
	for _, step := range []func(context.Context) error{l.directories, l.metadata, l.topics, l.groups, l.transactions} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	l.writer()
	l.verdict()
	return l.r, nil
}

// unread notes what could not be read (ADO-3).
func (l *looker) unread(err error) { l.r.Unread = append(l.r.Unread, err.Error()) }
