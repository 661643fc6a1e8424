package verify

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/samsalog/samsa/inspect/logfile"
	"github.com/samsalog/samsa/storage/producer"
	"github.com/samsalog/samsa/storage/segment"
	"github.com/samsalog/samsa/vfs"
)

// Segment verifies one sealed segment by itself, list.Segments[i]: its batches, and the indexes beside it. A broker may be
// using the partition: what is found with the list as it was is looked at again with a new one. A segment that is gone, or
// was merged into another, is fs.ErrNotExist. Offsets without a batch are not told: one segment does not tell whether the log
// was compacted. o keeps what it owes to BytesPerSecond between calls.
func Segment(ctx context.Context, o *Options, list *logfile.Partition, i int, out func(Finding)) (*SegmentState, error) {
	o.complete(ctx)
	dir, base := list.Dir, list.Segments[i].Base
	found := false
	state, err := sealed(ctx, o, list, i, func(f Finding) { found = found || f.Severity > Note })
	if err != nil || !found {
		return state, err
	}
	err = o.settled(func() string { return segmentSignature(o.FS, list, base) }, func(out func(Finding)) error {
		again, err := logfile.List(o.FS, dir)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(again.Segments, func(s logfile.Segment) bool { return s.Base == base })
		if i < 0 || i+1 == len(again.Segments) {
			return fmt.Errorf("segment %d of %s: %w", base, dir, fs.ErrNotExist)
		}
		state, err = sealed(ctx, o, again, i, out)
		return err
	}, out)
	return state, err
}

// sealed looks at one segment once.
func sealed(ctx context.Context, o *Options, list *logfile.Partition, i int, out func(Finding)) (*SegmentState, error) {
	name := filepath.Base(list.Dir)
	facts := readFacts(o.FS, filepath.Dir(filepath.Clean(list.Dir)), func(Finding) {}).of(name)
	c := newChecker(ctx, o, list, facts, func(Finding) {})
	c.readEpochs() // that the file can be read is not this segment's affair
	c.out, c.snapshots = out, nil
	c.replay, c.next = producer.New(producer.Fixed(forever)), list.Segments[i].Base
	if err := c.segment(i); err != nil {
		return nil, err
	}
	c.release(c.next)
	return &c.state.Segments[0], nil
}

// segmentSignature changes when a file of the segment does, or another takes its place.
func segmentSignature(fsys vfs.FS, list *logfile.Partition, base int64) (s string) {
	for _, suffix := range []string{segment.LogSuffix, segment.OffsetIndexSuffix, segment.TimeIndexSuffix, segment.TxnIndexSuffix} {
		if info, err := fsys.Stat(list.Path(base, suffix)); err == nil {
			s += fmt.Sprintf("%s %d %d\n", suffix, info.Size(), info.ModTime().UnixNano())
		}
	}
	return s
}
