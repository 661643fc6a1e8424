package scrub

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/samsalog/samsa/inspect/internal/testdir"
	"github.com/samsalog/samsa/inspect/verify"
	"github.com/samsalog/samsa/vfs"
)

// seen is a file system that notes which logs are opened and what is changed.
type seen struct {
	vfs.FS
	mu            sync.Mutex
	logs, changes []string
}

func watch(fsys vfs.FS) *seen {
	s := &seen{}
	s.FS = vfs.NewFault(fsys, func(o vfs.Op) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case o.Kind == vfs.OpOpen && filepath.Ext(o.Path) == ".log":
			s.logs = append(s.logs, strings.TrimPrefix(o.Path, "/data/"))
		case o.Kind.Changes():
			s.changes = append(s.changes, o.String())
		}
		return nil
	})
	return s
}

// take returns the logs that were opened since.
func (s *seen) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := strings.Join(s.logs, " ")
	s.logs = nil
	return all
}

func options(fsys vfs.FS) Options {
	return Options{FS: fsys, Dirs: func() []string { return []string{"/data"} }, BytesPerSecond: 1 << 20, Interval: time.Hour, Delay: time.Minute}
}

// names are the paths of segments as take returns them.
func names(partition string, segments ...int) (all []string) {
	for _, i := range segments {
		all = append(all, strings.TrimPrefix(path("/data", partition, i), "/data/"))
	}
	return all
}

// Every sealed segment is read once a pass, from the delay on; the active one is not. Nothing but the place is written (SCR-1).
func TestPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys := watch(directory(t))
		s := Start(options(fsys))
		defer s.Close()
		time.Sleep(59 * time.Second)
		synctest.Wait()
		if got := fsys.take(); got != "" {
			t.Errorf("before its time: %s", got)
		}
		want := strings.Join(append(names("a-0", 0, 1, 2), names("b-0", 0, 1, 2)...), " ")
		for pass := range int64(3) {
			time.Sleep(10 * time.Minute)
			synctest.Wait()
			if got := fsys.take(); got != want {
				t.Errorf("pass %d read %s", pass, got)
			}
			st := s.Status()
			p := st.Dirs["/data"]
			if st.Passes != pass+1 || st.Segments != 6*(pass+1) || st.Bytes != p.Last.Bytes*(pass+1) || p.Last.Segments != 6 || p.Current != nil || p.Ended.IsZero() || p.Last.Bytes == 0 {
				t.Errorf("%+v", st)
			}
			time.Sleep(50 * time.Minute)
		}
		for _, c := range fsys.changes {
			if !strings.Contains(c, "/data/"+File) && !strings.HasSuffix(c, " syncdir /data") {
				t.Errorf("changed: %s", c)
			}
		}
	})
}

// A flipped bit is told with its bytes and offsets, once a pass, and shows in the status until a pass does not meet it.
func TestFindings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys := directory(t)
		whole := testdir.Get(t, fsys, path("/data", "b-0", 1))
		size := int64(len(whole) / perSegment)
		testdir.Edit(t, fsys, path("/data", "b-0", 1), testdir.Flip(int(4*size)+100))
		testdir.Edit(t, fsys, path("/data", "b-0", 3), testdir.Flip(100)) // active
		var found []verify.Finding
		var passed []Pass
		o := options(fsys)
		o.Found = func(f verify.Finding) { found = append(found, f) }
		o.Passed = func(_ string, p Pass) { passed = append(passed, p) }
		s := Start(o)
		defer s.Close()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if len(found) != 1 || found[0].Rule != verify.BatchChecksum || found[0].Position != 4*size || found[0].FirstOffset != 14 || len(passed) != 1 || passed[0].Errors != 1 {
			t.Fatalf("%v %v", found, passed)
		}
		if _, errs := s.Status().Dirs["/data"].Findings(); errs != 1 {
			t.Errorf("%d errors", errs)
		}
		testdir.Put(t, fsys, path("/data", "b-0", 1), whole)
		time.Sleep(time.Hour)
		synctest.Wait()
		if _, errs := s.Status().Dirs["/data"].Findings(); errs != 0 || len(found) != 1 || len(passed) != 2 {
			t.Errorf("after the repair: %d errors, %v", errs, found)
		}
	})
}

// The reading keeps to its rate over many small segments together (SCR-2), and a stop in between is remembered (SCR-3).
func TestRateAndPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := directory(t)
		size := int64(len(testdir.Get(t, mem, path("/data", "a-0", 0))))
		fsys := watch(mem)
		o := options(fsys)
		o.Delay, o.BytesPerSecond = 0, size/10 // ten seconds a segment
		s := Start(o)
		time.Sleep(25 * time.Second)
		synctest.Wait()
		if got := fsys.take(); got != strings.Join(names("a-0", 0, 1, 2), " ") {
			t.Errorf("after 25 s: %s", got)
		}
		began := s.Status().Dirs["/data"].Began
		s.Close()
		s.Close()
		changes := len(fsys.changes)
		time.Sleep(10 * time.Minute)
		if got := fsys.take(); got != "" || len(fsys.changes) != changes {
			t.Errorf("after Close: %s", got) // SCR-4
		}
		s = Start(o)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if got := fsys.take(); got != strings.Join(append(names("a-0", 2), names("b-0", 0, 1, 2)...), " ") {
			t.Errorf("the pass went on with %s", got)
		}
		p := s.Status().Dirs["/data"]
		if !p.Began.Equal(began) || p.Last.Segments != 6 || p.Last.Bytes != 6*size {
			t.Errorf("%+v", p)
		}
		s.Close()
	})
}

// Killed without a word, the pass goes on at the place that was saved last.
func TestPlaceIsSavedOnTheWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := directory(t)
		size := int64(len(testdir.Get(t, mem, path("/data", "a-0", 0))))
		o := options(mem)
		o.Delay, o.BytesPerSecond = 0, size/50
		s := Start(o)
		time.Sleep(130 * time.Second)
		synctest.Wait()
		left := watch(mem.Crash())
		s.Close()
		o.FS, o.BytesPerSecond = left, 1<<20
		s = Start(o)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := left.take(); got != strings.Join(append(names("a-0", 2), names("b-0", 0, 1, 2)...), " ") {
			t.Errorf("the pass went on with %s", got)
		}
		s.Close()
	})
}

// What cannot be read is a finding, and the pass goes on; so does one whose place cannot be saved, or was overwritten.
func TestGoesOnBesideErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := directory(t)
		testdir.Put(t, mem, "/data/"+File, []byte(`{"began":"2999-01-01T00:00:00Z","current":{`))
		bad := path("/data", "a-0", 1)
		var found []verify.Finding
		failed := 0
		o := options(vfs.NewFault(mem, func(op vfs.Op) error {
			if op.Kind == vfs.OpRead && op.Path == bad || op.Kind.Changes() {
				return errors.New("input/output error")
			}
			return nil
		}))
		o.Found = func(f verify.Finding) { found = append(found, f) }
		o.Failed = func(string, error) { failed++ }
		s := Start(o)
		defer s.Close()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if len(found) != 1 || found[0].Rule != verify.Unreadable || found[0].File != bad || failed == 0 || s.Status().Segments != 5 {
			t.Errorf("%v, %d failures, %+v", found, failed, s.Status())
		}
	})
}

// A clock that was set back does not put the next pass off for years.
func TestClockSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := directory(t)
		testdir.Put(t, mem, "/data/"+File, []byte(`{"began":"2999-01-01T00:00:00Z"}`))
		s := Start(options(mem))
		defer s.Close()
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		if s.Status().Passes != 1 {
			t.Errorf("%+v", s.Status())
		}
	})
}

// A directory that fails in the midst of its pass is let alone; others go on. What is being deleted, copied or was set aside
// is not looked at.
func TestLeavesAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := directory(t)
		for _, name := range []string{"c-0.0123456789abcdef0123456789abcdef-delete", "c-1.0123456789abcdef0123456789abcdef-stray", "c-2.0123456789abcdef0123456789abcdef-future"} {
			for i := range 2 {
				testdir.Put(t, mem, path("/data", name, i), batches(i*perSegment, perSegment))
			}
		}
		for i := range 2 {
			testdir.Put(t, mem, path("/other", "d-0", i), nil)
		}
		testdir.Complete(t, mem, "/other")
		fsys := watch(mem)
		var mu sync.Mutex
		dirs := []string{"/data", "/other"}
		o := options(vfs.NewFault(fsys, func(op vfs.Op) error {
			if op.Path == path("/data", "a-0", 2) {
				mu.Lock()
				defer mu.Unlock()
				dirs = []string{"/other"}
			}
			return nil
		}))
		o.Dirs = func() []string {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(dirs)
		}
		s := Start(o)
		defer s.Close()
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		want := fmt.Sprint(strings.Join(names("a-0", 0, 1, 2), " "), " ", path("/other", "d-0", 0))
		if got := fsys.take(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}
