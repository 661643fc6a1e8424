package overlay

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/samsalog/samsa/internal/longtest"
	"github.com/samsalog/samsa/vfs"
)

// inode is what the model knows of a file's content.
type inode struct {
	content string
	synced  string
	// since are the contents after each write since the last sync; cut: there was a truncation among them.
	since []string
	cut   bool
}

// model does every operation on an overlay and on a plain file system that began with the same files.
type model struct {
	t       *rapid.T
	base    *vfs.Mem
	scratch *vfs.Mem
	over    *FS
	plain   *vfs.Mem
	open    []pair
	// names are the files by path as of now (directories are nil), history the same after each change of names.
	names   map[string]*inode
	history []map[string]*inode
	// floor is the first state that a crash may go back to.
	floor int
}

// pair is one file, open on both.
type pair struct {
	over, plain vfs.File
	ino         *inode
}

var dirs = []string{"/d", "/d/x", "/d/y", "/d/y/z"}

func paths() []string {
	var out []string
	for _, d := range dirs {
		out = append(out, d, d+"/a", d+"/b", d+"/c")
	}
	return out
}

func newModel(t *rapid.T) *model {
	m := &model{t: t, base: vfs.NewMem(), scratch: vfs.NewMem(), plain: vfs.NewMem(), names: map[string]*inode{}}
	for _, fsys := range []*vfs.Mem{m.base, m.plain} {
		for _, d := range []string{"/d", "/d/x"} {
			if err := fsys.MkdirAll(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	m.names["/d"], m.names["/d/x"] = nil, nil
	for _, p := range []string{"/d/a", "/d/x/a", "/d/x/b"} {
		text := strings.Repeat(p, rapid.IntRange(0, 40).Draw(t, "length"))
		for _, fsys := range []*vfs.Mem{m.base, m.plain} {
			write(t, fsys, p, text)
		}
		m.names[p] = &inode{content: text, synced: text}
	}
	m.reopen(m.scratch)
	m.remember()
	return m
}

func (m *model) reopen(scratch *vfs.Mem) {
	var err error
	m.scratch = scratch
	m.over, err = Open(Options{Base: frozen(m.t, m.base), Scratch: scratch, Dir: "/scratch", Roots: []string{"/d"}})
	if err != nil {
		m.t.Fatal(err)
	}
}

// remember keeps the names as they are now.
func (m *model) remember() { m.history = append(m.history, maps.Clone(m.names)) }

// both compares the results of one operation.
func (m *model) both(what string, over, plain error) bool {
	if kind(over) != kind(plain) {
		m.t.Fatalf("%s: %v, a plain file system says %v", what, over, plain)
	}
	return plain == nil
}

func (m *model) step() {
	p := rapid.SampledFrom(paths()).Draw(m.t, "path")
	switch rapid.SampledFrom([]string{"open", "open", "write", "write", "truncate", "close", "sync", "syncdir", "mkdir", "remove", "all", "rename", "rename", "reopen"}).Draw(m.t, "do") {
	case "open":
		m.openFile(p)
	case "write":
		m.writeFile()
	case "truncate":
		m.truncateFile()
	case "close":
		m.closeFile()
	case "sync":
		m.syncFile()
	case "syncdir":
		if m.both("syncdir "+p, m.over.SyncDir(p), m.plain.SyncDir(p)) {
			m.floor = len(m.history) - 1
		}
	case "mkdir":
		if m.both("mkdir "+p, m.over.MkdirAll(p, 0o755), m.plain.MkdirAll(p, 0o755)) {
			for _, d := range prefixes(p) {
				if _, ok := m.names[d]; !ok {
					m.names[d] = nil
					m.remember()
				}
			}
		}
	case "remove":
		if m.both("remove "+p, m.over.Remove(p), m.plain.Remove(p)) {
			delete(m.names, p)
			m.remember()
		}
	case "all":
		if p != "/d" && m.both("removeall "+p, m.over.RemoveAll(p), m.plain.RemoveAll(p)) {
			maps.DeleteFunc(m.names, func(name string, _ *inode) bool { return within(name, p) })
			m.remember()
		}
	case "rename":
		m.rename(p, rapid.SampledFrom(paths()).Draw(m.t, "to"))
	case "reopen":
		m.closeAll()
		if err := m.over.Close(); err != nil {
			m.t.Fatal(err)
		}
		m.reopen(m.scratch)
		m.floor = len(m.history) - 1
	}
}

func (m *model) openFile(p string) {
	flag := rapid.SampledFrom([]int{os.O_RDWR, os.O_RDWR | os.O_CREATE, os.O_RDWR | os.O_CREATE | os.O_TRUNC, os.O_RDWR | os.O_CREATE | os.O_EXCL}).Draw(m.t, "flag")
	over, err1 := m.over.OpenFile(p, flag, 0o644)
	plain, err2 := m.plain.OpenFile(p, flag, 0o644)
	if !m.both("open "+p, err1, err2) {
		return
	}
	if m.names[p] == nil {
		m.names[p] = &inode{}
		m.remember()
	}
	if ino := m.names[p]; flag&os.O_TRUNC != 0 && ino.content != "" {
		ino.content, ino.cut = "", true
	}
	m.open = append(m.open, pair{over, plain, m.names[p]})
}

func (m *model) pick() (pair, int) {
	if len(m.open) == 0 {
		return pair{}, -1
	}
	i := rapid.IntRange(0, len(m.open)-1).Draw(m.t, "file")
	return m.open[i], i
}

func (m *model) writeFile() {
	f, i := m.pick()
	if i < 0 {
		return
	}
	off := rapid.Int64Range(0, int64(len(f.ino.content))+20).Draw(m.t, "offset")
	text := rapid.StringMatching("[A-Z]{1,30}").Draw(m.t, "text")
	_, err1 := f.over.WriteAt([]byte(text), off)
	_, err2 := f.plain.WriteAt([]byte(text), off)
	if m.both("write", err1, err2) {
		b := []byte(f.ino.content)
		b = append(b, make([]byte, max(0, int(off)+len(text)-len(b)))...)
		copy(b[off:], text)
		f.ino.content = string(b)
		f.ino.since = append(f.ino.since, f.ino.content)
	}
}

func (m *model) truncateFile() {
	f, i := m.pick()
	if i < 0 {
		return
	}
	size := rapid.IntRange(0, len(f.ino.content)+20).Draw(m.t, "size")
	if m.both("truncate", f.over.Truncate(int64(size)), f.plain.Truncate(int64(size))) && size != len(f.ino.content) {
		f.ino.content = string(append([]byte(f.ino.content), make([]byte, 20)...)[:size])
		f.ino.cut = true
	}
}

func (m *model) syncFile() {
	f, i := m.pick()
	if i >= 0 && m.both("sync", f.over.Sync(), f.plain.Sync()) {
		f.ino.synced, f.ino.since, f.ino.cut = f.ino.content, nil, false
	}
}

func (m *model) closeFile() {
	f, i := m.pick()
	if i >= 0 {
		m.both("close", f.over.Close(), f.plain.Close())
		m.open = slices.Delete(m.open, i, i+1)
	}
}

func (m *model) closeAll() {
	for _, f := range m.open {
		m.both("close", f.over.Close(), f.plain.Close())
	}
	m.open = nil
}

func (m *model) rename(from, to string) {
	if within(to, from) || within(from, to) { // Mem lets a directory swallow itself
		return
	}
	over, plain := m.over.Rename(from, to), m.plain.Rename(from, to)
	if over != nil && plain != nil { // of several reasons either may be told
		return
	}
	m.both("rename "+from+" to "+to, over, plain)
	moved := map[string]*inode{}
	for name, ino := range m.names {
		if within(name, from) {
			moved[to+strings.TrimPrefix(name, from)] = ino
		} else if !within(name, to) {
			moved[name] = ino
		}
	}
	m.names = moved
	m.remember()
}

func (m *model) compare() {
	over, plain := tree(m.t, m.over, "/"), tree(m.t, m.plain, "/")
	if !maps.Equal(over, plain) {
		m.t.Fatalf("the overlay holds %q, a plain file system %q", over, plain)
	}
	for _, f := range m.open {
		for name, x := range map[string]vfs.File{"overlay": f.over, "plain": f.plain} {
			size, err := x.Size()
			b := make([]byte, size)
			if _, err2 := x.ReadAt(b, 0); err != nil || err2 != nil || string(b) != f.ino.content {
				m.t.Fatalf("an open file of the %s holds %q, not %q", name, b, f.ino.content)
			}
		}
	}
}

// TestModelOfAnOverlay: an overlay behaves as a plain file system that holds the same.
func TestModelOfAnOverlay(t *testing.T) {
	longtest.Check(t, 300, 20000, func(rt *rapid.T) {
		m := newModel(rt)
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			m.step()
		}
		m.compare()
		m.closeAll()
		if err := m.over.Close(); err != nil {
			rt.Fatal(err)
		}
	})
}

// TestModelOfACrash is OVL-2.
func TestModelOfACrash(t *testing.T) {
	longtest.Check(t, 400, 30000, func(rt *rapid.T) {
		m := newModel(rt)
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			m.step()
		}
		left := m.scratch.Crash()
		if rapid.Bool().Draw(rt, "keeping") {
			left = m.scratch.CrashKeeping(rapid.Uint64().Draw(rt, "seed"))
		}
		m.closeAll()
		m.reopen(left)
		found := tree(rt, m.over, "/")
		if err := m.over.Close(); err != nil {
			rt.Fatal(err)
		}
		var why []string
		for _, names := range m.history[m.floor:] {
			text := fits(names, found)
			if text == "" {
				return
			}
			why = append(why, text)
		}
		rt.Fatalf("after the crash: %q\nfits none of the states since the last sync: %q", found, why)
	})
}

// fits tells why found is not what names allow, "" if it is.
func fits(names map[string]*inode, found map[string]string) string {
	if !maps.EqualFunc(names, found, func(ino *inode, text string) bool { return (ino == nil) == (text == directory) }) {
		return "names"
	}
	for name, ino := range names {
		if ino == nil || ino.cut {
			continue
		}
		text := found[name]
		if len(text) < len(ino.synced) {
			return name + " is too short"
		}
		for i := range len(text) {
			ok := i < len(ino.synced) && ino.synced[i] == text[i] || i >= len(ino.synced) && text[i] == 0
			for _, w := range ino.since {
				ok = ok || i < len(w) && w[i] == text[i]
			}
			if !ok {
				return name + " holds what nobody wrote"
			}
		}
	}
	return ""
}
