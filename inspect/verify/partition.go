package verify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/samsalog/samsa/inspect/logfile"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/epoch"
	"github.com/samsalog/samsa/storage/producer"
	"github.com/samsalog/samsa/storage/segment"
	"github.com/samsalog/samsa/vfs"
)

// Facts are what the directory around a partition tells of it. The zero value with offsets of -1 knows nothing.
type Facts struct {
	// Clean: the broker was stopped in order, so the next start trusts every file.
	Clean bool
	// RecoveryPoint is the offset below which the next start trusts the files; -1 unknown, which counts as all of them.
	RecoveryPoint int64
	// HighWatermark and LogStart come from the checkpoints; -1: no entry.
	HighWatermark, LogStart int64
	// Compacted: the cleaner has been here.
	Compacted bool
	// Raft: it is the metadata log.
	Raft bool
	// Deleting: the directory is being removed, so little matters.
	Deleting bool
}

// UnknownFacts are those of a partition by itself.
func UnknownFacts() Facts { return Facts{RecoveryPoint: -1, HighWatermark: -1, LogStart: -1} }

// Damage is a range of a `.log` that holds no batch that could be relied on.
type Damage struct {
	Position, Length int64
	// First and Last are the offsets that are missing because of it; Last is before First when nobody can tell.
	First, Last int64
	// Tail: nothing valid follows in the segment.
	Tail bool
	// Zeros: all bytes are zero.
	Zeros bool
}

// Patch is a field of a batch's header that no checksum covers and that is wrong in a batch that is whole otherwise.
type Patch struct {
	// Position is that of the first byte to change.
	Position int64
	Old, New []byte
}

// SegmentState is what verification learns of one segment.
type SegmentState struct {
	logfile.Segment
	Sealed bool
	Damage []Damage
	// Patches make headers right that contradict what is around them.
	Patches []Patch
	// Next is the offset after the last valid batch; the base if there is none.
	Next int64
	// End is where the last valid batch ends.
	End int64
	// BadIndex, BadTime, BadTxn: the index is missing or wrong.
	BadIndex, BadTime, BadTxn bool
}

// State is what verification learns of a partition.
type State struct {
	List     *logfile.Partition
	Facts    Facts
	Segments []SegmentState
	// LogEnd is the offset after the last valid batch.
	LogEnd int64
	// Hole: offsets are missing, or will be when damage is taken out, and records follow.
	Hole bool
	// Epochs are the leader epochs as the batches tell them.
	Epochs []epoch.Entry
	// BadEpochs, BadMetadata: the file is missing or wrong. BadSnapshots are names of snapshots that are wrong.
	BadEpochs, BadMetadata bool
	BadSnapshots           []string
	// BadCheckpoints are names of metadata snapshots that are wrong. BadQuorum: quorum-state is.
	BadCheckpoints []string
	BadQuorum      bool
	// Batches and Bytes count what is valid.
	Batches, Bytes int64
}

// checker looks at one partition once.
type checker struct {
	ctx   context.Context
	o     *Options
	fs    vfs.FS
	out   func(Finding)
	list  *logfile.Partition
	facts Facts
	state *State

	replay    *producer.State
	exact     bool // the replay knows every producer: it began at the beginning, and nothing is missing
	gaps      bool // offsets are missing that compaction may have removed
	next      int64
	first     bool
	epoch     record.LeaderEpoch
	epochs    []epoch.Entry // of the file
	rise      rise
	snapshots []logfile.Snapshot
	pending   []Finding // gaps, until it is known whether the log was compacted
	compacted bool
	held      []Finding       // damage, until the batch behind it is known
	starts    map[int64]int64 // where the data of each producer's open transaction begins in what was read
}

func newChecker(ctx context.Context, o *Options, list *logfile.Partition, facts Facts, out func(Finding)) *checker {
	if tell := out; facts.Deleting {
		out = func(f Finding) { f.Severity = Note; tell(f) } // nobody will miss it
	}
	return &checker{ctx: ctx, o: o, fs: o.FS, out: out, list: list, facts: facts, first: true, epoch: record.NoLeaderEpoch,
		snapshots: list.Snapshots, compacted: facts.Compacted, starts: map[int64]int64{}, state: &State{List: list, Facts: facts}}
}

// partition looks at a partition directory once.
func partition(ctx context.Context, o *Options, dir string, facts Facts, out func(Finding)) (*State, error) {
	list, err := logfile.List(o.FS, dir)
	if err != nil {
		return nil, err
	}
	c := newChecker(ctx, o, list, facts, out)
	c.smallFiles()
	c.begin()
	for i := range list.Segments {
		if err := c.segment(i); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				continue // retention or compaction took it; the second look sees the new list
			}
			return nil, err
		}
	}
	c.end()
	return c.state, nil
}

// begin starts the replay of producers at the first segment.
func (c *checker) begin() {
	c.replay = producer.New(producer.Fixed(forever))
	if len(c.list.Segments) == 0 {
		return
	}
	base := c.list.Segments[0].Base
	c.next, c.exact = base, base == 0
	for len(c.snapshots) > 0 && c.snapshots[0].Offset <= base {
		s := c.snapshots[0]
		entries, err := c.readSnapshot(s)
		if err == nil && s.Offset == base {
			c.replay.Load(record.Offset(base), entries, 0)
			c.exact = true
		}
		c.snapshots = c.snapshots[1:]
	}
	if c.facts.LogStart > base {
		c.exact = false // what lies below the log start may have been left out of a snapshot
	}
}

// end looks at what can be said only when all batches were seen.
func (c *checker) end() {
	c.release(c.next)
	c.snapshotsUpTo(c.next, true)
	for _, s := range c.snapshots {
		if _, err := c.readSnapshot(s); err == nil && len(c.list.Segments) > 0 {
			c.badSnapshot(s, Warning, fmt.Sprintf("it stands for offset %d, the log ends at %d", s.Offset, c.next),
				"The log has lost records, or the file is from elsewhere. A broker removes it at the next start")
		}
	}
	c.state.LogEnd = c.next
	if !c.compacted {
		c.state.Hole = len(c.pending) > 0
		for _, f := range c.pending {
			c.out(f)
		}
	}
	for _, s := range c.state.Segments {
		c.state.Hole = c.state.Hole || slices.ContainsFunc(s.Damage, func(d Damage) bool { return s.Sealed || !d.Tail })
	}
	c.epochHistory()
	c.watermarks()
}

// watermarks holds the checkpoints' offsets against the end of the log.
func (c *checker) watermarks() {
	if c.facts.Deleting || len(c.list.Segments) == 0 {
		return
	}
	last := c.list.Path(c.list.Segments[len(c.list.Segments)-1].Base, segment.LogSuffix)
	if hw := c.facts.HighWatermark; hw > c.next {
		c.out(about(CheckpointRange, Error, last, fmt.Sprintf("the log ends at offset %d, the high watermark in the checkpoint is %d", c.next, hw),
			"Committed records are missing here").offsets(c.next, hw-1))
	} else if rp := c.facts.RecoveryPoint; rp > c.next {
		c.out(about(CheckpointRange, Error, last, fmt.Sprintf("the log ends at offset %d, but up to %d it was flushed to disk once", c.next, rp),
			"Records that were safe on disk are missing here").offsets(c.next, rp-1))
	}
	if start := c.facts.LogStart; start > c.next {
		c.out(about(CheckpointRange, Error, last, fmt.Sprintf("the log start in the checkpoint is %d, the log ends at offset %d", start, c.next),
			"A broker removes all segments of the partition at the next start"))
	}
}

// smallFiles looks at everything that holds no batches.
func (c *checker) smallFiles() {
	p := c.list
	for _, name := range p.Leftovers {
		c.note(Leftover, name, "left by a deletion, compaction or write that was not finished", "The next start of a broker finishes or removes it")
	}
	for _, name := range p.Unknown {
		c.note(UnknownFile, name, "no name of Kafka's", "Brokers leave it alone")
	}
	for _, name := range p.Orphans {
		c.out(about(Orphan, Warning, filepath.Join(p.Dir, name), "an index without its .log", "A broker removes it at the next start; if the .log should be there, its records are missing"))
	}
	for _, name := range p.Checkpoints {
		c.metadataSnapshot(name)
	}
	if p.Quorum {
		c.quorumState()
	}
	c.topicID()
	c.readEpochs()
	if len(p.Segments) == 0 && !c.facts.Deleting && !(c.facts.Raft && len(p.Checkpoints) > 0) {
		c.out(about(OffsetGap, Error, p.Dir, "there is no segment", "A broker begins an empty log here; the records are missing"))
	}
}

func (c *checker) note(rule Rule, name, what, means string) {
	c.out(about(rule, Note, filepath.Join(c.list.Dir, name), what, means))
}

// trusted reports whether the next start of a broker takes a segment's files as they are.
func (c *checker) trusted(i int) bool {
	if c.facts.Raft {
		return false // the metadata log is always read wholly
	}
	if c.facts.Clean || c.facts.RecoveryPoint < 0 {
		return true
	}
	return i+1 < len(c.list.Segments) && c.list.Segments[i+1].Base <= c.facts.RecoveryPoint
}

// severity of something wrong with an index of segment i.
func (c *checker) indexSeverity(i int) Severity {
	if c.trusted(i) {
		return Error
	}
	return Warning
}
