package repair

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/samsalog/samsa/inspect/logfile"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/storage/logdir"
	"github.com/samsalog/samsa/storage/segment"
	"github.com/samsalog/samsa/vfs"
)

// Free is room that is to be made on a full disk: what a broker would remove anyhow goes first, then the oldest sealed segments
// of topics that are not compacted. Everything goes to Aside, and Undo brings it back.
type Free struct {
	// Bytes is how much is to be usable at the end.
	Bytes int64
	// Aside is an existing directory on another file system. The journal lies there too: the disk may have no room for it.
	Aside string
}

// What keeps room from being made.
var (
	// ErrSameDisk: the directory aside is on the same file system.
	ErrSameDisk = errors.New("it lies on the same file system, so nothing would be freed")
	// ErrNoRoomAside: what would be moved does not fit.
	ErrNoRoomAside = errors.New("there is not enough room")
	// ErrBegun: another repair was interrupted.
	ErrBegun = errors.New("a repair was interrupted; undo it first, since what it was about may be moved")
)

// ready refuses where room cannot be made safely.
func (f *Free) ready(fsys vfs.FS, dir string) error {
	j, err := Journals(fsys, dir)
	if err != nil || len(j) == 0 {
		return err
	}
	last, ops, err := openJournal(fsys, j[len(j)-1])
	if err != nil {
		return err
	}
	if len(ops) > 0 && ops[len(ops)-1].Op != "end" {
		return closing(last, fmt.Errorf("%s: %w", j[len(j)-1], ErrBegun))
	}
	return last.close()
}

// sameWithin: two directories on file systems of one size lie on one if their free space differs by less. Others write meanwhile.
const sameWithin = 64 << 20

// movable is files that go together.
type movable struct {
	files []string
	bytes int64
	// dir is removed when the files are gone; "": none.
	dir string
	why string
}

// queue is the sealed segments of one partition, oldest first.
type queue struct {
	segments []movable
	stamps   []int64 // largest timestamps, in ms
}

// freePlan says what goes so that enough is usable.
func (o *Options) freePlan(ctx context.Context) (*Plan, error) {
	total, usable, err := o.FS.Usage(o.Dir)
	if err != nil {
		return nil, err
	}
	asideTotal, asideUsable, err := o.FS.Usage(o.Free.Aside)
	if err != nil {
		return nil, err
	}
	if total == asideTotal && max(usable, asideUsable)-min(usable, asideUsable) < sameWithin {
		return nil, fmt.Errorf("%s: %w", o.Free.Aside, ErrSameDisk)
	}
	need := o.Free.Bytes - int64(usable)
	plan := &Plan{}
	first, queues, err := o.candidates(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range first {
		if need > 0 {
			plan.take(m)
			need -= m.bytes
		}
	}
	for need > 0 {
		oldest := -1
		for i, q := range queues {
			if len(q.segments) > 0 && (oldest < 0 || q.stamps[0] < queues[oldest].stamps[0]) {
				oldest = i
			}
		}
		if oldest < 0 {
			break // all that may go goes; the caller sees how much that is
		}
		q := &queues[oldest]
		plan.take(q.segments[0])
		need -= q.segments[0].bytes
		q.segments, q.stamps = q.segments[1:], q.stamps[1:]
	}
	moved := int64(0)
	for _, a := range plan.Actions {
		moved += max(0, a.Length)
	}
	if uint64(moved) > asideUsable {
		return nil, fmt.Errorf("%s: %w: %d bytes would be moved, %d are free", o.Free.Aside, ErrNoRoomAside, moved, asideUsable)
	}
	plan.Short = max(0, need)
	return plan, nil
}

// take plans moving files that go together.
func (p *Plan) take(m movable) {
	p.Actions = append(p.Actions, Action{Kind: "aside", Path: m.files[0], Position: 0, Length: m.bytes, Why: m.why, do: func(j *journal) error {
		for _, path := range m.files {
			if err := j.aside(path, m.why); err != nil {
				return err
			}
		}
		if m.dir == "" {
			return nil
		}
		return j.rmdir(m.dir, m.why)
	}})
}

// candidates are what may go: first leftovers and partitions that are being deleted, then segments.
func (o *Options) candidates(ctx context.Context) (first []movable, queues []queue, err error) {
	entries, err := o.FS.ReadDir(o.Dir)
	if err != nil {
		return nil, nil, err
	}
	keep, err := o.keepers()
	if err != nil {
		return nil, nil, err
	}
	marks, _ := checkpoint.ReadOffsets(o.FS, filepath.Join(o.Dir, checkpoint.HighWatermarkFile)) // one that cannot be read bounds nothing
	for _, e := range entries {
		n, err := logdir.ParseName(e.Name())
		if err != nil || !e.IsDir() || e.Name() == metadataDir {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		list, err := logfile.List(o.FS, filepath.Join(o.Dir, e.Name()))
		if err != nil {
			return nil, nil, err
		}
		switch n.Kind {
		case logdir.Deleted:
			if m, ok := o.whole(list); ok {
				first = append(first, m)
			}
		case logdir.Current:
			if paths := leftovers(list); len(paths) > 0 {
				first = append(first, o.movable(paths, "files that a broker would remove at its next start"))
			}
			if !keep(n.TopicPartition) {
				mark, known := marks[n.TopicPartition]
				queues = append(queues, o.sealed(list, mark, known))
			}
		}
	}
	return first, queues, nil
}

// keepers tells which partitions keep all their segments: those of compacted and internal topics, and those of which nobody
// knows whether they are compacted.
func (o *Options) keepers() (func(record.TopicPartition) bool, error) {
	cleaned, err := checkpoint.ReadOffsets(o.FS, filepath.Join(o.Dir, checkpoint.CleanerOffsetsFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var k *known
	if o.Metadata != nil {
		m, err := o.Metadata()
		if err != nil {
			return nil, err
		}
		if m != nil {
			k = m.index()
		}
	}
	return func(tp record.TopicPartition) bool {
		if _, ok := cleaned[tp]; ok || strings.HasPrefix(tp.Topic, "__") {
			return true
		}
		if k == nil {
			return true
		}
		t := k.byName[tp.Topic]
		return t == nil || t.Compacted
	}, nil
}

// movable sums files up. Indexes do not count: they are small, but where they were preallocated for a segment to come, and then
// most of them is a hole that takes no room.
func (o *Options) movable(paths []string, why string) movable {
	m := movable{files: paths, why: why}
	for _, path := range paths {
		info, err := o.FS.Stat(path)
		if ext := filepath.Ext(path); err == nil && ext != segment.OffsetIndexSuffix && ext != segment.TimeIndexSuffix {
			m.bytes += info.Size()
		}
	}
	return m
}

// whole is a directory with all its files.
func (o *Options) whole(list *logfile.Partition) (movable, bool) {
	entries, err := o.FS.ReadDir(list.Dir)
	if err != nil || len(entries) == 0 || slices.ContainsFunc(entries, fs.DirEntry.IsDir) {
		return movable{}, false
	}
	var paths []string
	for _, e := range entries {
		paths = append(paths, filepath.Join(list.Dir, e.Name()))
	}
	m := o.movable(paths, "a partition that is being deleted")
	m.dir = list.Dir
	return m, true
}

// sealed are the segments that retention could take: sealed ones below the high watermark.
func (o *Options) sealed(list *logfile.Partition, mark record.Offset, known bool) (q queue) {
	for i, s := range list.Segments {
		if i+1 == len(list.Segments) || known && list.Segments[i+1].Base > int64(mark) {
			break
		}
		paths := []string{list.Path(s.Base, segment.LogSuffix)}
		for suffix, size := range map[string]int64{segment.OffsetIndexSuffix: s.Index, segment.TimeIndexSuffix: s.Time, segment.TxnIndexSuffix: s.Txn} {
			if size >= 0 {
				paths = append(paths, list.Path(s.Base, suffix))
			}
		}
		slices.Sort(paths[1:])
		for _, snap := range list.Snapshots {
			if snap.Offset == s.Base {
				paths = append(paths, filepath.Join(list.Dir, snap.Name))
			}
		}
		stamp := o.stamp(list, s)
		why := fmt.Sprintf("offsets %d to %d, the oldest that is left, of %s; consumers that are behind go on at %d", s.Base, list.Segments[i+1].Base-1,
			time.UnixMilli(stamp).UTC().Format(time.DateTime), list.Segments[i+1].Base)
		q.segments, q.stamps = append(q.segments, o.movable(paths, why)), append(q.stamps, stamp)
	}
	return q
}

// stamp is the largest timestamp of a segment as its time index has it, else the file's time, in ms.
func (o *Options) stamp(list *logfile.Partition, s logfile.Segment) int64 {
	if s.Time >= logfile.TimeEntrySize {
		f, err := logfile.Open(o.FS, list.Path(s.Base, segment.TimeIndexSuffix))
		if err == nil {
			defer f.Close()
			raw := make([]byte, logfile.TimeEntrySize)
			last := s.Time/logfile.TimeEntrySize*logfile.TimeEntrySize - logfile.TimeEntrySize
			if _, err := f.ReadAt(raw, last); err == nil {
				if e := logfile.ParseTimeEntry(s.Base, raw); e.Timestamp > 0 {
					return e.Timestamp
				}
			}
		}
	}
	info, err := o.FS.Stat(list.Path(s.Base, segment.LogSuffix))
	if err != nil {
		return 0
	}
	return info.ModTime().UnixMilli()
}
