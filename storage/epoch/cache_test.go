package epoch

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/vfs"
)

func open(t testing.TB, fsys vfs.FS) *Cache {
	t.Helper()
	c, err := Open(fsys, "/"+File)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func content(t testing.TB, fsys vfs.FS, path string) string {
	t.Helper()
	f, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	size, err := f.Size()
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, size)
	if _, err := f.ReadAt(buf, 0); err != nil && err != io.EOF {
		t.Fatal(err)
	}
	return string(buf)
}

func put(t testing.TB, fsys vfs.FS, path, text string) {
	t.Helper()
	f, err := fsys.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte(text), 0); err != nil {
		t.Fatal(err)
	}
}

// assigned returns a cache with the given (epoch, start) pairs.
func assigned(t testing.TB, pairs ...[2]int64) *Cache {
	t.Helper()
	c := open(t, vfs.NewMem())
	for _, p := range pairs {
		if err := c.Assign(record.LeaderEpoch(p[0]), record.Offset(p[1])); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func TestFileBytes(t *testing.T) {
	m := vfs.NewMem()
	c := open(t, m)
	if got := content(t, m, "/"+File); got != "" {
		t.Errorf("new: %q", got)
	}
	steps := []struct {
		do   func() error
		want string
	}{
		{func() error { return c.Assign(0, 0) }, "0\n1\n0 0\n"},
		{func() error { return c.Assign(5, 1180) }, "0\n2\n0 0\n5 1180\n"},
		{func() error { return c.Assign(5, 2000) }, "0\n2\n0 0\n5 1180\n"},
		{func() error { return c.TruncateFromStart(7) }, "0\n2\n0 7\n5 1180\n"},
		{func() error { return c.TruncateFromEnd(1180) }, "0\n1\n0 7\n"},
		{c.Clear, "0\n0\n"},
	}
	for i, s := range steps {
		if err := s.do(); err != nil {
			t.Fatal(err)
		}
		if got := content(t, m, "/"+File); got != s.want {
			t.Errorf("step %d: %q, want %q", i, got, s.want)
		}
	}
}

func TestAssign(t *testing.T) {
	for name, c := range map[string]struct {
		have [][2]int64
		add  [2]int64
		want [][2]int64
	}{
		"first":                       {nil, [2]int64{3, 9}, [][2]int64{{3, 9}}},
		"follows":                     {[][2]int64{{0, 0}}, [2]int64{2, 10}, [][2]int64{{0, 0}, {2, 10}}},
		"the same epoch, later":       {[][2]int64{{0, 0}, {2, 10}}, [2]int64{2, 20}, [][2]int64{{0, 0}, {2, 10}}},
		"the same epoch, earlier":     {[][2]int64{{0, 0}, {2, 10}}, [2]int64{2, 5}, [][2]int64{{0, 0}, {2, 5}}},
		"no records in between":       {[][2]int64{{0, 0}, {2, 10}}, [2]int64{3, 10}, [][2]int64{{0, 0}, {3, 10}}},
		"an earlier start":            {[][2]int64{{0, 0}, {2, 10}, {4, 20}}, [2]int64{5, 10}, [][2]int64{{0, 0}, {5, 10}}},
		"an earlier epoch":            {[][2]int64{{0, 0}, {2, 10}, {4, 20}}, [2]int64{3, 30}, [][2]int64{{0, 0}, {2, 10}, {3, 30}}},
		"an earlier epoch that is in": {[][2]int64{{0, 0}, {2, 10}, {4, 20}}, [2]int64{2, 30}, [][2]int64{{0, 0}, {2, 30}}},
		"before all":                  {[][2]int64{{1, 5}, {2, 10}}, [2]int64{0, 0}, [][2]int64{{0, 0}}},
	} {
		cache := assigned(t, append(c.have, c.add)...)
		var got [][2]int64
		for _, e := range cache.Entries() {
			got = append(got, [2]int64{int64(e.Epoch), int64(e.StartOffset)})
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	cache := assigned(t)
	if cache.Assign(-1, 0) == nil || cache.Assign(0, -1) == nil {
		t.Error("negative numbers were accepted")
	}
}

func TestEndOffsetFor(t *testing.T) {
	const leo = 100
	c := assigned(t, [2]int64{2, 10}, [2]int64{5, 30}, [2]int64{7, 60})
	for requested, want := range map[record.LeaderEpoch]Entry{
		-1: {-1, -1}, 0: {0, 10}, 1: {1, 10}, 2: {2, 30}, 3: {2, 30}, 4: {2, 30}, 5: {5, 60}, 6: {5, 60}, 7: {7, leo}, 8: {-1, -1},
	} {
		if e, end := c.EndOffsetFor(requested, leo); (Entry{e, end}) != want {
			t.Errorf("epoch %d: (%d, %d), want %v", requested, e, end, want)
		}
	}
	if e, end := assigned(t).EndOffsetFor(0, leo); e != -1 || end != -1 {
		t.Errorf("empty cache: (%d, %d)", e, end)
	}
}

func TestEpochFor(t *testing.T) {
	c := assigned(t, [2]int64{2, 10}, [2]int64{5, 30})
	for offset, want := range map[record.Offset]record.LeaderEpoch{9: -1, 10: 2, 29: 2, 30: 5, 1 << 40: 5} {
		if e, ok := c.EpochFor(offset); e != want || ok != (want >= 0) {
			t.Errorf("offset %d: %d %v, want %d", offset, e, ok, want)
		}
	}
	if e, ok := c.Latest(); !ok || e != (Entry{5, 30}) {
		t.Errorf("latest %v %v", e, ok)
	}
	if e, ok := c.Earliest(); !ok || e != (Entry{2, 10}) {
		t.Errorf("earliest %v %v", e, ok)
	}
	empty := assigned(t)
	_, latest := empty.Latest()
	_, earliest := empty.Earliest()
	if latest || earliest {
		t.Error("an empty cache has entries")
	}
}

func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"1\n0\n": "line 1", "0\n1\n0\n": "line 3: 1 fields", "0\n1\n-1 0\n": "line 3", "0\n1\n0 -1\n": "line 3", "0\n1\n0 x\n": "line 3",
		"0\n1\n2147483648 0\n": "line 3", "0\n2\n0 0\n": "1 entries",
	} {
		m := vfs.NewMem()
		put(t, m, "/"+File, text)
		if _, err := Open(m, "/"+File); !errors.Is(err, checkpoint.ErrFormat) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	m := vfs.NewMem()
	put(t, m, "/"+File, "0\n4\n0 0\n3 20\n2 10\n2 15\n") // lines that contradict each other: the later ones win
	if got := open(t, m).Entries(); !slices.Equal(got, []Entry{{0, 0}, {2, 10}}) {
		t.Errorf("out of order: %v", got)
	}
	if _, err := Open(vfs.NewMem(), "/missing/"+File); err == nil {
		t.Error("a missing directory was accepted")
	}
}

// TestModel compares random operations with what they mean on a plain list, and what a crash at any time leaves with
// what the methods that had returned said (EPO-2).
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := vfs.NewMem()
		c, err := Open(m, "/"+File)
		if err != nil {
			t.Fatal(err)
		}
		var want []Entry
		offset := rapid.Int64Range(0, 60)
		t.Repeat(map[string]func(*rapid.T){
			"assign": func(t *rapid.T) {
				e := Entry{record.LeaderEpoch(rapid.Int32Range(0, 20).Draw(t, "epoch")), record.Offset(offset.Draw(t, "start"))}
				if err := c.Assign(e.Epoch, e.StartOffset); err != nil {
					t.Fatal(err)
				}
				if n := len(want); n > 0 && want[n-1].Epoch == e.Epoch && want[n-1].StartOffset <= e.StartOffset {
					return
				}
				for n := len(want); n > 0 && (want[n-1].Epoch >= e.Epoch || want[n-1].StartOffset >= e.StartOffset); n = len(want) {
					want = want[:n-1]
				}
				want = append(slices.Clone(want), e)
			},
			"truncate from end": func(t *rapid.T) {
				off := record.Offset(offset.Draw(t, "offset"))
				if err := c.TruncateFromEnd(off); err != nil {
					t.Fatal(err)
				}
				want = slices.DeleteFunc(slices.Clone(want), func(e Entry) bool { return e.StartOffset >= off })
			},
			"truncate from start": func(t *rapid.T) {
				off := record.Offset(offset.Draw(t, "offset"))
				if err := c.TruncateFromStart(off); err != nil {
					t.Fatal(err)
				}
				var removed []Entry
				rest := slices.DeleteFunc(slices.Clone(want), func(e Entry) bool {
					if e.StartOffset <= off {
						removed = append(removed, e)
					}
					return e.StartOffset <= off
				})
				if n := len(removed); n > 0 {
					rest = append([]Entry{{removed[n-1].Epoch, off}}, rest...)
				}
				want = rest
			},
			"crash": func(t *rapid.T) {
				if err := m.SyncDir("/"); err != nil { // the file was created without
					t.Fatal(err)
				}
				m = m.CrashKeeping(rapid.Uint64().Draw(t, "seed"))
				if c, err = Open(m, "/"+File); err != nil {
					t.Fatal(err)
				}
			},
			"": func(t *rapid.T) {
				if !slices.Equal(c.Entries(), want) {
					t.Fatalf("%v, want %v", c.Entries(), want)
				}
				onDisk, err := Read(m, "/"+File)
				if err != nil || !slices.Equal(onDisk, want) {
					t.Fatalf("on disk %v %v, want %v", onDisk, err, want)
				}
			},
		})
	})
}

// TestFailedWriteChangesNothing lets each operation of a change fail: memory stays what it was (EPO-2).
func TestFailedWriteChangesNothing(t *testing.T) {
	errTest := errors.New("test error")
	for n := int64(1); n <= 6; n++ {
		armed := false
		inject := vfs.FailNth(n, func(vfs.Op) bool { return armed }, errTest)
		c := open(t, vfs.NewFault(vfs.NewMem(), inject))
		if err := c.Assign(1, 10); err != nil {
			t.Fatal(err)
		}
		armed = true
		if err := c.Assign(2, 20); !errors.Is(err, errTest) {
			t.Errorf("operation %d: %v", n, err)
		}
		if got := c.Entries(); !slices.Equal(got, []Entry{{1, 10}}) {
			t.Errorf("operation %d: %v", n, got)
		}
	}
}

func TestRenamed(t *testing.T) {
	m := vfs.NewMem()
	if err := m.MkdirAll("/a", 0o755); err != nil {
		t.Fatal(err)
	}
	c, err := Open(m, "/a/"+File)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Rename("/a", "/b"); err != nil {
		t.Fatal(err)
	}
	c.Renamed("/b/" + File)
	if err := c.Assign(1, 2); err != nil {
		t.Fatal(err)
	}
	if got := content(t, m, "/b/"+File); got != "0\n1\n1 2\n" {
		t.Errorf("%q", got)
	}
}

// TestReadersDuringChanges is meaningful under the race detector.
func TestReadersDuringChanges(t *testing.T) {
	c := assigned(t)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for range 2000 {
				list := c.Entries()
				for i := 1; i < len(list); i++ {
					if list[i].Epoch <= list[i-1].Epoch || list[i].StartOffset <= list[i-1].StartOffset {
						t.Errorf("out of order: %v", list)
					}
				}
				c.EndOffsetFor(3, 100)
				c.EpochFor(20)
			}
		})
	}
	for i := range record.Offset(200) {
		if err := errors.Join(c.Assign(record.LeaderEpoch(i), 2*i), c.TruncateFromStart(i), c.TruncateFromEnd(3*i)); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
}
