package repair

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/samsalog/samsa/inspect/logfile"
	"github.com/samsalog/samsa/inspect/verify"
	"github.com/samsalog/samsa/storage/segment"
	"github.com/samsalog/samsa/vfs"
)

const forever = time.Duration(math.MaxInt64)

// Options say what is to be repaired.
type Options struct {
	// FS is the file system; nil stands for the host's.
	FS vfs.FS
	// Dir is a log directory, or a partition directory.
	Dir string
	// Others are the other log directories of the node. They, ClusterID and NodeID, where somebody gives them ("" and nil:
	// nobody does), help to tell whose directory this is when its meta.properties does not.
	Others    []string
	ClusterID string
	NodeID    *int32
	// Leftovers takes files away that a deletion, compaction or write has left.
	Leftovers bool
	// Metadata tells what the metadata log of the cluster says, whenever a plan is made; nil, or a nil result: it is not known.
	Metadata func() (*Metadata, error)
	// Free, if set, makes room and does nothing else.
	Free *Free
	// Now stamps the journal; nil stands for time.Now.
	Now func() time.Time
}

func (o *Options) complete() {
	if o.FS == nil {
		o.FS = vfs.NewOS()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Dir = filepath.Clean(o.Dir)
}

// Action is one thing to do.
type Action struct {
	// Kind is patch, quarantine, cut, rebuild, replace, move, rename, rmdir or aside.
	Kind string `json:"kind"`
	Path string `json:"path"`
	// Position and Length are the bytes concerned; -1: the whole file.
	Position int64 `json:"position"`
	Length   int64 `json:"length"`
	// Why, and what it means for the data.
	Why string `json:"why"`

	do func(j *journal) error
}

// String is one line.
func (a Action) String() string {
	where := ""
	if a.Position >= 0 {
		where = fmt.Sprintf(" at byte %d+%d", a.Position, a.Length)
	}
	return fmt.Sprintf("%s %s%s: %s", a.Kind, a.Path, where, a.Why)
}

// Plan is what would be done.
type Plan struct {
	Actions []Action
	// Findings are what cannot be repaired here, such as records that are missing.
	Findings []verify.Finding
	// Short is how many bytes less than Free asks for there will be.
	Short int64
}

// planner turns what verify learns into actions.
type planner struct {
	o    *Options
	plan *Plan
	ends map[string]int64 // by partition directory, after the repair
	// states are the partitions by the name of their directory, in the order of names.
	states []*verify.State
	// known is what the metadata log says, nil: nothing.
	known *known
	// mended are files that verify has found wrong and an action makes right.
	mended map[string]bool
	// raised are partitions whose recovery point is lifted.
	raised []*verify.State
	// cleared are directories that go.
	cleared map[string]bool
}

// MakePlan looks at the directory and says what would be done. It changes nothing.
func MakePlan(ctx context.Context, o Options) (*Plan, error) {
	o.complete()
	if o.Free != nil {
		return o.freePlan(ctx)
	}
	p := &planner{o: &o, plan: &Plan{}, ends: map[string]int64{}, mended: map[string]bool{}, cleared: map[string]bool{}}
	v := verify.Options{FS: o.FS, Path: o.Dir, Notes: true}
	v.Partition = p.partition
	_, err := verify.Run(ctx, v, p.finding)
	if err != nil {
		return nil, err
	}
	if err := p.ask(); err != nil {
		return nil, err
	}
	p.whose()
	for _, s := range p.states {
		p.stray(s)
	}
	for _, s := range p.states {
		p.identity(s)
	}
	if err := p.checkpoints(); err != nil {
		return nil, err
	}
	p.plan.Findings = slices.DeleteFunc(p.plan.Findings, func(f verify.Finding) bool { return p.mended[f.File] })
	return p.plan, nil
}

// finding keeps what no action will mend.
func (p *planner) finding(f verify.Finding) {
	switch f.Rule {
	case verify.OffsetGap, verify.MetaSnapshot, verify.QuorumState, verify.MetaProperties, verify.DirectoryName, verify.Unreadable, verify.PartitionMeta:
		p.plan.Findings = append(p.plan.Findings, f)
	}
}

func (p *planner) add(kind, path string, position, length int64, why string, do func(j *journal) error) {
	p.plan.Actions = append(p.plan.Actions, Action{Kind: kind, Path: path, Position: position, Length: length, Why: why, do: do})
}

// partition plans for one partition.
func (p *planner) partition(dir string, s *verify.State) {
	if s.Facts.Deleting {
		return
	}
	p.ends[filepath.Base(dir)] = s.LogEnd
	p.states = append(p.states, s)
	txns := false
	for i := range s.Segments {
		p.segment(s, &s.Segments[i])
		txns = txns || s.Segments[i].BadTxn || len(s.Segments[i].Damage) > 0
	}
	if txns {
		p.add("rebuild", filepath.Join(dir, "*"+segment.TxnIndexSuffix), -1, -1, "transaction indexes are made anew from the markers", func(j *journal) error { return j.txnIndexes(dir) })
	}
	for _, name := range s.List.Orphans {
		path := filepath.Join(dir, name)
		p.add("move", path, -1, -1, "an index without its log", func(j *journal) error { return j.move(path, "index without log") })
	}
	for _, name := range s.BadSnapshots {
		path := filepath.Join(dir, name)
		p.add("move", path, -1, -1, "a producer snapshot that is wrong; a broker takes an older one and reads the log from there", func(j *journal) error { return j.move(path, "wrong snapshot") })
	}
	if s.BadEpochs {
		path := filepath.Join(dir, segment.LeaderEpochFile)
		var b strings.Builder
		fmt.Fprintf(&b, "0\n%d\n", len(s.Epochs))
		for _, e := range s.Epochs {
			fmt.Fprintf(&b, "%d %d\n", e.Epoch, e.StartOffset)
		}
		p.add("replace", path, -1, -1, "the leader epochs are taken from the batches", func(j *journal) error { return j.replace(path, "leader epochs from the batches", []byte(b.String())) })
	}
	p.raft(s)
	if p.o.Leftovers {
		for _, path := range leftovers(s.List) {
			p.add("move", path, -1, -1, "a leftover", func(j *journal) error { return j.move(path, "leftover") })
		}
	}
}

// leftovers are files that a broker would remove at its next start. While compaction's output is being swapped in, what was
// there before is needed to finish it.
func leftovers(list *logfile.Partition) (paths []string) {
	for _, name := range list.Leftovers {
		if filepath.Ext(name) == segment.SwapSuffix {
			return nil
		}
		paths = append(paths, filepath.Join(list.Dir, name))
	}
	return paths
}

// segment plans for one segment: headers first, then what is no batch, then the indexes.
func (p *planner) segment(s *verify.State, g *verify.SegmentState) {
	path := s.List.Path(g.Base, segment.LogSuffix)
	for _, x := range g.Patches {
		p.add("patch", path, x.Position, int64(len(x.New)), "a header field that no checksum covers is set to what the batches around say", func(j *journal) error {
			return j.patch(path, "header field", x.Position, x.Old, x.New)
		})
	}
	if n := len(g.Damage); n == 1 && g.Damage[0].Tail {
		d := g.Damage[0]
		p.add("cut", path, d.Position, d.Length, "what lies behind the last whole batch is saved and cut off", func(j *journal) error { return j.cut(path, "tail", d.Position) })
	} else if n > 0 {
		var ranges []span
		total := int64(0)
		for _, d := range g.Damage {
			ranges = append(ranges, span{d.Position, d.Length})
			total += d.Length
		}
		why := "a damaged range is saved and taken out; batches before and behind stay"
		if n > 1 {
			why = fmt.Sprintf("%d damaged ranges are saved and taken out; batches before and behind stay", n)
		}
		p.add("quarantine", path, ranges[0].Position, total, why, func(j *journal) error {
			return j.splice(path, "damage", ranges)
		})
	}
	if g.BadIndex || g.BadTime || len(g.Damage) > 0 || len(g.Patches) > 0 {
		p.add("rebuild", strings.TrimSuffix(path, segment.LogSuffix)+".{index,timeindex}", -1, -1, "the indexes are made anew from the log; no records are touched", func(j *journal) error {
			return j.indexes(s.List.Dir, g.Base)
		})
	}
}
