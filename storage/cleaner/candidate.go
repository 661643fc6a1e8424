package cleaner

import (
	"math"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/segment"
)

// candidate is a log with what there is to do in it (LogCleanerManager, LogToClean).
type candidate struct {
	log  *storage.Log
	view *storage.Cleaning
	// firstDirty is where compaction goes on, firstUncleanable where it must end: the base of a segment.
	firstDirty, firstUncleanable record.Offset
	// moved: firstDirty is not what the checkpoint says, which is to be rewritten.
	moved bool
	// cut is the truncation that firstDirty takes into account, if wasCut.
	cut    record.Offset
	wasCut bool
	// The sizes of the segments before firstDirty, from there to firstUncleanable, and behind it.
	cleanBytes, cleanableBytes, uncleanableBytes int64
	// ratio is the dirty share of what could be clean. mustClean: a record is older than max.compaction.lag.ms.
	ratio     float64
	mustClean bool
}

// examine looks at a log. saved is its cleaner checkpoint, if it has one.
func examine(l *storage.Log, saved record.Offset, hasSaved bool, nowMs int64) (*candidate, error) {
	c := &candidate{log: l, view: l.Cleaning()}
	c.setFirstDirty(saved, hasSaved)
	if err := c.setFirstUncleanable(nowMs); err != nil {
		return nil, err
	}
	c.uncleanableBytes = l.SizeInBytes()
	for _, s := range c.view.Sealed {
		if s.Base() < c.firstDirty {
			c.cleanBytes += s.Size()
		}
		if s.Base() < c.firstUncleanable {
			c.uncleanableBytes -= s.Size()
		}
	}
	for _, s := range c.dirty() {
		c.cleanableBytes += s.Size()
	}
	if total := c.cleanBytes + c.cleanableBytes; total > 0 {
		c.ratio = float64(c.cleanableBytes) / float64(total)
	}
	return c, c.setMustClean(nowMs)
}

func (c *candidate) setFirstDirty(saved record.Offset, hasSaved bool) {
	o := c.view.Offsets
	c.firstDirty = o.LogStartOffset
	if hasSaved {
		c.firstDirty = saved
	}
	if c.cut, c.wasCut = c.log.TruncatedTo(); c.wasCut && c.cut < c.firstDirty {
		c.firstDirty = c.cut
	}
	if c.firstDirty < o.LogStartOffset || c.firstDirty > o.LogEndOffset {
		c.firstDirty = o.LogStartOffset
	}
	c.moved = hasSaved && c.firstDirty != saved
}

// setFirstUncleanable finds the smallest of: what is not decided, the active segment, and the first segment with a record
// that is younger than min.compaction.lag.ms; rounded down to the begin of a segment.
func (c *candidate) setFirstUncleanable(nowMs int64) error {
	end := min(c.view.Offsets.LastStableOffset, c.view.ActiveBase)
	if lag := c.view.Config.MinCompactionLagMs; lag > 0 {
		for _, s := range c.from(c.firstDirty) {
			ts, err := s.LargestTimestamp()
			if err != nil {
				return err
			}
			if ts > nowMs-lag {
				end = min(end, s.Base())
				break
			}
		}
	}
	end = max(end, c.firstDirty)
	if list := c.from(end); len(list) > 0 {
		c.firstUncleanable = list[0].Base()
	} else {
		c.firstUncleanable = c.view.ActiveBase
	}
	return nil
}

// from returns the sealed segments from the one that holds o on.
func (c *candidate) from(o record.Offset) []*segment.Segment {
	list := c.view.Sealed
	if o >= c.view.ActiveBase {
		return nil
	}
	i := len(list)
	for i > 0 && list[i-1].Base() > o {
		i--
	}
	return list[max(0, i-1):]
}

// dirty returns the segments that are to be cleaned for the first time, whole or in part.
func (c *candidate) dirty() []*segment.Segment {
	list := c.from(min(c.firstDirty, c.firstUncleanable))
	for i, s := range list {
		if s.Base() >= c.firstUncleanable {
			return list[:i]
		}
	}
	return list
}

// setMustClean compares the first batches of the dirty segments with max.compaction.lag.ms (KIP-354).
func (c *candidate) setMustClean(nowMs int64) error {
	lag := max(c.view.Config.MaxCompactionLagMs, 0)
	if lag == math.MaxInt64 {
		return nil
	}
	for _, s := range c.from(c.firstDirty) {
		ts, err := s.FirstTimestamp()
		if err != nil {
			return err
		}
		if ts > 0 && ts < nowMs-lag {
			c.mustClean = true
			break
		}
	}
	return nil
}

// eligible reports whether there is enough to do.
func (c *candidate) eligible() bool {
	if c.cleanBytes+c.cleanableBytes == 0 {
		return false
	}
	return c.ratio > c.view.Config.MinCleanableDirtyRatio || c.mustClean && c.cleanableBytes > 0
}
