package cleaner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"slices"

	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/vfs"
)

// claimed is a log that is this thread's until release is called.
type claimed struct {
	*candidate
	ctx     context.Context
	release func()
}

// claimDirtiest looks at all compacted logs and takes the dirtiest that is dirty enough and free; nil: there is none.
func (c *Cleaner) claimDirtiest() *claimed {
	var list []*candidate
	for _, l := range c.o.Logs() {
		if c.ctx.Err() != nil {
			return nil
		}
		if !l.Config().CleanupCompact || l.Err() != nil {
			continue
		}
		x := c.look(l)
		if x == nil {
			continue
		}
		if x.moved || x.wasCut {
			c.settle(x)
		}
		if x.eligible() {
			list = append(list, x)
		}
	}
	slices.SortStableFunc(list, func(a, b *candidate) int { return cmp.Compare(b.ratio, a.ratio) })
	for _, x := range list {
		ctx, release, ok := c.claim(x.log, true)
		if !ok {
			continue
		}
		// Whoever had it before may have compacted it, or changed it: look again.
		if again := c.look(x.log); again != nil && again.eligible() {
			return &claimed{again, ctx, release}
		}
		release()
	}
	return nil
}

// look examines a log and keeps the result; nil if that fails, which fails no other.
func (c *Cleaner) look(l *storage.Log) *candidate {
	var x *candidate
	err := protect(func() (err error) {
		saved, ok := c.o.FirstDirty(l)
		x, err = examine(l, saved, ok, c.o.Now().UnixMilli())
		return err
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.partLocked(l)
	p.seen = true
	if err != nil {
		c.noteErrorLocked(p, err)
		return nil
	}
	s := &p.status
	s.CleanBytes, s.CleanableBytes, s.UncleanableBytes = x.cleanBytes, x.cleanableBytes, x.uncleanableBytes
	s.DirtyRatio, s.FirstDirty, s.FirstUncleanable = x.ratio, x.firstDirty, x.firstUncleanable
	if p.uncleanable {
		return nil
	}
	return x
}

func (c *Cleaner) noteErrorLocked(p *part, err error) {
	if errors.Is(err, storage.ErrClosed) || errors.Is(err, fs.ErrClosed) {
		return // it is being closed or deleted
	}
	p.status.LastError, p.status.LastErrorAt = err, c.o.Now()
}

// clean compacts a log and keeps how it went; true if it came to its end.
func (c *Cleaner) clean(x *claimed, s Settings) bool {
	began := c.o.Now()
	r := &run{candidate: x.candidate, ctx: x.ctx, settings: s, throttle: c.throttle, nowMs: began.UnixMilli()}
	err := protect(func() error { return c.cleanAndSave(r) })
	r.stats.Took = c.o.Now().Sub(began)
	e := Event{Kind: Cleaned, TopicPartition: x.log.TopicPartition(), Stats: r.stats, Err: err}
	c.mu.Lock()
	p := c.partLocked(x.log)
	tell := true
	switch {
	case err == nil:
		p.status.Runs++
		p.status.LastRun, p.status.Last = began.Add(r.stats.Took), r.stats
		p.status.FirstDirty = r.stats.To
	case harmless(r, err):
		tell = false
	case errors.Is(err, storage.ErrShortage), vfs.IsShortage(err):
		e.Kind = Postponed
		c.noteErrorLocked(p, err)
	default:
		e.Kind = Failed
		p.uncleanable = true
		c.noteErrorLocked(p, err)
	}
	c.mu.Unlock()
	x.release()
	if tell {
		c.o.Observe(e)
	}
	return err == nil
}

// settle saves a first dirty offset that is not what the checkpoint says: the log start has passed that, or the log was
// truncated below it, which must not be forgotten while the log grows again.
func (c *Cleaner) settle(x *candidate) {
	_, release, ok := c.claim(x.log, false)
	if !ok {
		return
	}
	defer release()
	if x.moved && c.o.SaveFirstDirty(x.log, x.firstDirty) != nil {
		return
	}
	if x.wasCut {
		x.log.SettleTruncation(x.cut)
	}
}

// errSaving: the cleaner checkpoint could not be written. Its directory has failed.
var errSaving = errors.New("cleaner checkpoint could not be written")

func (c *Cleaner) cleanAndSave(r *run) error {
	if err := r.do(); err != nil {
		return err
	}
	if err := c.o.SaveFirstDirty(r.log, r.stats.To); err != nil {
		return fmt.Errorf("%w: %w", errSaving, err)
	}
	return nil
}

// harmless reports whether a run ended early for a reason that says nothing about the log's content: it was asked to,
// the log was changed or closed under it, or its disk has failed, which is told elsewhere.
func harmless(r *run, err error) bool {
	return errors.Is(err, errAborted) || errors.Is(err, errSaving) || errors.Is(err, storage.ErrCleaningOutdated) || errors.Is(err, storage.ErrClosed) ||
		r.view.Err() != nil || r.ctx.Err() != nil
}

// retain deletes old segments of compacted logs, which no run is compacting meanwhile.
func (c *Cleaner) retain() {
	for _, l := range c.o.Logs() {
		if c.ctx.Err() != nil {
			return
		}
		if !l.Config().CleanupCompact || l.Err() != nil {
			continue
		}
		_, release, ok := c.claim(l, false)
		if !ok {
			continue
		}
		err := protect(func() error { _, err := l.DeleteOldSegments(); return err })
		release()
		if err != nil && !errors.Is(err, storage.ErrClosed) && l.Err() == nil {
			c.noteError(l, err)
			c.o.Observe(Event{Kind: RetentionFailed, TopicPartition: l.TopicPartition(), Err: err})
		}
	}
}

func (c *Cleaner) noteError(l *storage.Log, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.noteErrorLocked(c.partLocked(l), err)
}

// protect turns a panic into an error, so that a bug that one log brings to light does not end the work on the others.
func protect(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("bug: %v\n%s", r, debug.Stack())
		}
	}()
	return f()
}
