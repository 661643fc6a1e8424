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

	"github.com/samsalog/samsa/internal/longtest"
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
	start := func(off record.Offset) func() error {
		return func() error { c.TruncateFromStart(off); return nil }
	}
	steps := []struct {
		do   func() error
		want string
	}{
		{func() error { return c.Assign(0, 0) }, ""},
		{func() error { return c.Save(0) }, ""},
		{func() error { return c.Save(1) }, "0\n1\n0 0\n"},
		{func() error { return c.Assign(3, 1180) }, "0\n1\n0 0\n"},
		{func() error { return c.Save(1180) }, "0\n1\n0 0\n"}, // an epoch without records below the offset
		{func() error { return c.Assign(5, 1180) }, "0\n1\n0 0\n"},
		{func() error { return c.Save(1181) }, "0\n2\n0 0\n5 1180\n"},
		{func() error { return c.Assign(5, 2000) }, "0\n2\n0 0\n5 1180\n"},
		{start(7), "0\n2\n0 0\n5 1180\n"},
		{func() error { return c.TruncateFromEnd(1180) }, "0\n1\n0 7\n"},
		{func() error { return c.TruncateFromEnd(7) }, "0\n0\n"},
		{func() error { return c.Assign(6, 8) }, "0\n0\n"},
		{func() error { return c.TruncateFromEnd(8) }, "0\n0\n"}, // the file never had it
		{func() error { return errors.Join(c.Assign(6, 8), c.Save(9)) }, "0\n1\n6 8\n"},
		{c.Clear, "0\n0\n"},
		{func() error { return errors.Join(c.Assign(6, 8), c.Clear(), c.Save(9)) }, "0\n0\n"},
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

// TestRelearn: what recovery finds in the log corrects a file that is older or newer than the log (EPO-3).
func TestRelearn(t *testing.T) {
	for name, c := range map[string]struct {
		file, batches, want [][2]int64
	}{
		"the file is behind":                    {[][2]int64{{1, 0}}, [][2]int64{{1, 5}, {4, 10}, {4, 20}}, [][2]int64{{1, 0}, {4, 10}}},
		"nothing new":                           {[][2]int64{{1, 0}, {4, 10}, {7, 30}}, [][2]int64{{4, 10}, {4, 20}}, [][2]int64{{1, 0}, {4, 10}, {7, 30}}},
		"an epoch that got no record":           {[][2]int64{{1, 0}, {4, 10}}, [][2]int64{{6, 10}}, [][2]int64{{1, 0}, {6, 10}}},
		"an older leader's records there":       {[][2]int64{{1, 0}, {4, 10}}, [][2]int64{{3, 10}, {3, 20}}, [][2]int64{{1, 0}, {3, 10}}},
		"truncated, and the same epoch goes on": {[][2]int64{{1, 0}, {4, 15}}, [][2]int64{{1, 10}, {1, 15}, {7, 20}}, [][2]int64{{1, 0}, {7, 20}}},
		"no file":                               {nil, [][2]int64{{2, 0}, {2, 5}, {3, 9}}, [][2]int64{{2, 0}, {3, 9}}},
		"one batch with a flipped bit":          {[][2]int64{{1, 0}}, [][2]int64{{1, 5}, {65, 10}, {1, 20}, {2, 30}}, [][2]int64{{1, 20}, {2, 30}}},
	} {
		cache := assigned(t, c.file...)
		for _, b := range c.batches {
			cache.Relearn(record.LeaderEpoch(b[0]), record.Offset(b[1]))
		}
		var got [][2]int64
		for _, e := range cache.Entries() {
			got = append(got, [2]int64{int64(e.Epoch), int64(e.StartOffset)})
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// model is what a Cache should hold in memory and in its file.
type model struct{ mem, disk []Entry }

func cut(list []Entry, off record.Offset) []Entry {
	return slices.DeleteFunc(slices.Clone(list), func(e Entry) bool { return e.StartOffset >= off })
}

func (m *model) assign(e Entry) {
	if n := len(m.mem); n > 0 && m.mem[n-1].Epoch == e.Epoch && m.mem[n-1].StartOffset <= e.StartOffset {
		return
	}
	list := slices.Clone(m.mem)
	for n := len(list); n > 0 && (list[n-1].Epoch >= e.Epoch || list[n-1].StartOffset >= e.StartOffset); n = len(list) {
		list = list[:n-1]
	}
	m.mem = append(list, e)
}

func (m *model) truncateFromEnd(off record.Offset) {
	m.mem = cut(m.mem, off)
	if !slices.Equal(cut(m.disk, off), m.disk) {
		m.disk = m.mem
	}
}

func (m *model) truncateFromStart(off record.Offset) {
	rest := slices.Clone(m.mem)
	last := record.NoLeaderEpoch
	for len(rest) > 0 && rest[0].StartOffset <= off {
		last, rest = rest[0].Epoch, rest[1:]
	}
	if last >= 0 {
		rest = append([]Entry{{last, off}}, rest...)
	}
	m.mem = rest
}

func (m *model) save(end record.Offset) {
	if !slices.Equal(cut(m.mem, end), cut(m.disk, end)) {
		m.disk = m.mem
	}
}

// TestModel compares random operations with what they mean on plain lists, and what a crash at any time leaves with
// what the methods that had returned said (EPO-2, EPO-3).
func TestModel(t *testing.T) {
	longtest.Check(t, 100, 5000, func(t *rapid.T) {
		m := vfs.NewMem()
		c, err := Open(m, "/"+File)
		if err != nil {
			t.Fatal(err)
		}
		var want model
		offset := func(t *rapid.T) record.Offset { return record.Offset(rapid.Int64Range(0, 60).Draw(t, "offset")) }
		entry := func(t *rapid.T) Entry {
			return Entry{record.LeaderEpoch(rapid.Int32Range(0, 20).Draw(t, "epoch")), offset(t)}
		}
		check := func(t *rapid.T, err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"assign": func(t *rapid.T) {
				e := entry(t)
				check(t, c.Assign(e.Epoch, e.StartOffset))
				want.assign(e)
			},
			"relearn": func(t *rapid.T) {
				e := entry(t)
				known, ok := c.EpochFor(e.StartOffset)
				c.Relearn(e.Epoch, e.StartOffset)
				if !ok || known != e.Epoch {
					want.mem = cut(want.mem, e.StartOffset)
					want.assign(e)
				}
			},
			"truncate from end":   func(t *rapid.T) { o := offset(t); check(t, c.TruncateFromEnd(o)); want.truncateFromEnd(o) },
			"forget":              func(t *rapid.T) { o := offset(t); c.ForgetFrom(o); want.mem = cut(want.mem, o) },
			"truncate from start": func(t *rapid.T) { o := offset(t); c.TruncateFromStart(o); want.truncateFromStart(o) },
			"save":                func(t *rapid.T) { o := offset(t); check(t, c.Save(o)); want.save(o) },
			"crash": func(t *rapid.T) {
				check(t, m.SyncDir("/")) // the file was created without
				m = m.CrashKeeping(rapid.Uint64().Draw(t, "seed"))
				c, err = Open(m, "/"+File)
				check(t, err)
				want.mem = want.disk
			},
			"": func(t *rapid.T) {
				if !slices.Equal(c.Entries(), want.mem) {
					t.Fatalf("%v, want %v", c.Entries(), want.mem)
				}
				onDisk, err := Read(m, "/"+File)
				if err != nil || !slices.Equal(onDisk, want.disk) {
					t.Fatalf("on disk %v %v, want %v", onDisk, err, want.disk)
				}
			},
		})
	})
}

// TestFailedWriteChangesNothing lets each operation of a write fail: memory stays what it was, and saving can be tried
// again.
func TestFailedWriteChangesNothing(t *testing.T) {
	errTest := errors.New("test error")
	for n := int64(1); n <= 6; n++ {
		armed := false
		inject := vfs.FailNth(n, func(vfs.Op) bool { return armed }, errTest)
		fsys := vfs.NewFault(vfs.NewMem(), inject)
		c := open(t, fsys)
		if err := errors.Join(c.Assign(1, 10), c.Save(11), c.Assign(2, 20)); err != nil {
			t.Fatal(err)
		}
		want := []Entry{{1, 10}, {2, 20}}
		armed = true
		if err := c.Save(21); !errors.Is(err, errTest) {
			t.Errorf("operation %d: %v", n, err)
		}
		if got := c.Entries(); !slices.Equal(got, want) {
			t.Errorf("operation %d: %v", n, got)
		}
		if err := c.Save(21); err != nil {
			t.Errorf("operation %d, again: %v", n, err)
		}
		if got, err := Read(fsys, "/"+File); err != nil || !slices.Equal(got, want) {
			t.Errorf("operation %d: on disk %v %v", n, got, err)
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
	if err := errors.Join(c.Assign(1, 2), c.Save(3)); err != nil {
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
		c.TruncateFromStart(i)
		if err := errors.Join(c.Assign(record.LeaderEpoch(i), 2*i), c.Save(i), c.TruncateFromEnd(3*i)); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
}
