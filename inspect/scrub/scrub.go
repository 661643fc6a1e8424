package scrub

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/samsalog/samsa/inspect/logfile"
	"github.com/samsalog/samsa/inspect/verify"
	"github.com/samsalog/samsa/storage/segment"
	"github.com/samsalog/samsa/vfs"
)

// Options say what is scrubbed, and how fast.
type Options struct {
	// FS is the file system; nil stands for the host's.
	FS vfs.FS
	// Dirs tells which log directories are in use now. It is asked before each of their passes, and within.
	Dirs func() []string
	// BytesPerSecond bounds the reading of logs; at least 1.
	BytesPerSecond int64
	// Interval is the time from the begin of one pass over a directory to that of the next; a pass that takes longer is
	// followed by the next at once.
	Interval time.Duration
	// Delay passes before anything is read, so that it does not compete with the start of a broker.
	Delay time.Duration
	// Now is the clock that stamps passes; nil: time.Now.
	Now func() time.Time
	// Found hears of everything that is wrong, on the Scrubber's goroutine.
	Found func(verify.Finding)
	// Passed hears of each pass that has ended.
	Passed func(dir string, p Pass)
	// Failed hears when the place in a pass could not be saved; it goes on.
	Failed func(dir string, err error)
}

// Scrubber is a running scrub.
type Scrubber struct {
	o      Options
	verify verify.Options
	cancel context.CancelFunc
	done   chan struct{}

	mu     sync.Mutex
	status Status
}

// Status is what a Scrubber has done since it was started, and where each directory stands.
type Status struct {
	// Bytes of logs, Segments and Passes count what was read since the start.
	Bytes, Segments, Passes int64
	// Dirs are those that were looked at, by path.
	Dirs map[string]Place
}

// Start begins; Close ends it.
func Start(o Options) *Scrubber {
	if o.FS == nil {
		o.FS = vfs.NewOS()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Scrubber{o: o, cancel: cancel, done: make(chan struct{}), status: Status{Dirs: map[string]Place{}}}
	s.verify = verify.Options{FS: o.FS, BytesPerSecond: max(1, o.BytesPerSecond), Progress: s.read}
	go s.run(ctx)
	return s
}

// Close stops within moments and waits for that; the place in the pass is saved (SCR-4).
func (s *Scrubber) Close() {
	s.cancel()
	<-s.done
}

// Status tells how far it is.
func (s *Scrubber) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.status
	out.Dirs = make(map[string]Place, len(s.status.Dirs))
	for dir, p := range s.status.Dirs {
		out.Dirs[dir] = p
	}
	return out
}

func (s *Scrubber) read(bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.Bytes += bytes
}

// rest is how long it waits at least between two looks at what is due.
const rest = time.Minute

func (s *Scrubber) run(ctx context.Context) {
	defer close(s.done)
	for pause := s.o.Delay; wait(ctx, pause); {
		next, ok := s.round(ctx)
		if !ok {
			return
		}
		pause = max(rest, next.Sub(s.o.Now()))
	}
}

// round begins or goes on with the passes that are due, and returns when the next one is; false: ctx has ended.
func (s *Scrubber) round(ctx context.Context) (next time.Time, ok bool) {
	next = s.o.Now().Add(s.o.Interval)
	for _, dir := range s.o.Dirs() {
		p := s.load(dir)
		due := p.Began.Add(s.o.Interval)
		if p.Current == nil && s.o.Now().Before(due) {
			next = earlier(next, due)
			continue
		}
		if p.Current == nil {
			p.Current, p.Began = &Pass{}, s.o.Now()
		}
		if !s.pass(ctx, dir, p) {
			return next, false
		}
		next = earlier(next, p.Began.Add(s.o.Interval))
	}
	return next, true
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// wait returns false when ctx ends.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return ctx.Err() == nil
	}
}

// pass goes on with the pass over a directory to its end; false: ctx has ended.
func (s *Scrubber) pass(ctx context.Context, dir string, p Place) bool {
	entries, err := s.o.FS.ReadDir(dir)
	if err != nil {
		return true // the broker tells of directories that fail
	}
	w := &walk{Scrubber: s, dir: dir, place: p, saved: s.o.Now()}
	for _, name := range verify.Partitions(entries) {
		if name < p.Current.Partition || !current(name) {
			continue
		}
		if !slices.Contains(s.o.Dirs(), dir) {
			return true // it has failed meanwhile
		}
		if !w.partition(ctx, name) {
			s.save(dir, w.place)
			return false
		}
	}
	w.end()
	return ctx.Err() == nil
}

// walk is a pass on its way.
type walk struct {
	*Scrubber
	dir   string
	place Place
	saved time.Time
}

// partition looks at the segments of a partition that come next; false: ctx has ended.
func (w *walk) partition(ctx context.Context, name string) bool {
	at := w.place.Current
	if name > at.Partition {
		at.Partition, at.Base = name, nothing
	}
	list, err := logfile.List(w.o.FS, filepath.Join(w.dir, name))
	if err != nil {
		return true // deleted meanwhile
	}
	for i := range len(list.Segments) - 1 {
		if list.Segments[i].Base <= at.Base {
			continue
		}
		if !w.segment(ctx, list, i) {
			return false
		}
		at.Base = list.Segments[i].Base
		w.show(w.dir, w.place)
		if now := w.o.Now(); now.Sub(w.saved) >= saveEvery {
			w.save(w.dir, w.place)
			w.saved = now
		}
	}
	return true
}

// end closes the pass.
func (w *walk) end() {
	p := &w.place
	p.Current.Partition, p.Current.Base = "", 0
	p.Last, p.Ended, p.Current = *p.Current, w.o.Now(), nil
	w.mu.Lock()
	w.status.Passes++
	w.mu.Unlock()
	w.show(w.dir, *p)
	w.save(w.dir, *p)
	if w.o.Passed != nil {
		w.o.Passed(w.dir, p.Last)
	}
}

// saveEvery bounds what a kill makes the pass read twice.
const saveEvery = time.Minute

// segment looks at one segment; false: ctx has ended before all of it was read.
func (w *walk) segment(ctx context.Context, list *logfile.Partition, i int) bool {
	at := w.place.Current
	found := func(f verify.Finding) {
		switch f.Severity {
		case verify.Note:
			return
		case verify.Warning:
			at.Warnings++
		default:
			at.Errors++
		}
		if w.o.Found != nil {
			w.o.Found(f)
		}
	}
	state, err := verify.Segment(ctx, &w.verify, list, i, found)
	switch {
	case ctx.Err() != nil:
		return false
	case errors.Is(err, fs.ErrNotExist): // retention or compaction was here
	case err != nil:
		found(verify.Unread(list.Path(list.Segments[i].Base, segment.LogSuffix), err))
	default:
		at.Segments++
		at.Bytes += state.Log
		w.mu.Lock()
		w.status.Segments++
		w.mu.Unlock()
	}
	return true
}
