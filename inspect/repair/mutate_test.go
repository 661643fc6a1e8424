package repair

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/samsalog/samsa/inspect/internal/testdir"
	"github.com/samsalog/samsa/internal/longtest"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/storage/logdir"
	"github.com/samsalog/samsa/vfs"
)

// mutation is one damage to one file.
type mutation struct {
	path string
	kind string
	at   int
	n    int
}

func (m mutation) String() string {
	return fmt.Sprintf("%s %s at %d, %d bytes", m.kind, m.path, m.at, m.n)
}

// mutate damages b.
func (m mutation) mutate(b []byte) []byte {
	b = slices.Clone(b)
	switch m.kind {
	case "flip":
		b[m.at] ^= 1 << (m.n % 8)
	case "cut":
		b = b[:m.at]
	case "zero":
		clear(b[m.at : m.at+m.n])
	case "swap":
		half := m.n / 2
		x := slices.Clone(b[m.at : m.at+half])
		copy(b[m.at:], b[m.at+half:m.at+2*half])
		copy(b[m.at+half:], x)
	case "drop batch", "double batch", "swap batches":
		at := starts(b)
		i := m.at % (len(at) - 1)
		one := slices.Clone(b[at[i]:at[i+1]])
		switch {
		case m.kind == "drop batch":
			return slices.Delete(b, at[i], at[i+1])
		case m.kind == "double batch":
			return slices.Insert(b, at[i], one...)
		case i+2 < len(at):
			return slices.Concat(b[:at[i]], b[at[i+1]:at[i+2]], one, b[at[i+2]:])
		}
	}
	return b
}

// starts are where the batches of a `.log` begin, and its end.
func starts(b []byte) (at []int) {
	for s := record.NewScanner(b); s.Next(); {
		at = append(at, s.Position())
	}
	return append(at, len(b))
}

// draw picks a file by kind first, so that small ones get their share, and a damage to it.
func draw(r *rand.Rand, files map[string][]string, whole map[string]string) mutation {
	kinds := slices.Sorted(maps.Keys(files))
	list := files[kinds[r.IntN(len(kinds))]]
	m := mutation{path: list[r.IntN(len(list))], kind: []string{"flip", "flip", "cut", "zero", "swap"}[r.IntN(5)]}
	if filepath.Ext(m.path) == ".log" && r.IntN(4) == 0 && len(starts([]byte(whole[m.path]))) > 1 {
		m.kind = []string{"drop batch", "double batch", "swap batches"}[r.IntN(3)]
	}
	size := len(whole[m.path])
	m.at, m.n = r.IntN(size), 1+r.IntN(64)
	if m.kind == "zero" || m.kind == "swap" {
		m.n = min(1+r.IntN(200), size-m.at)
	}
	return m
}

// TestMutations damages copies of directories at random places, after an orderly stop and after none. verify finds each damage
// that matters; repair leaves a directory that verify finds nothing more in than what is missing, and that a broker serves every
// whole batch of; undo restores every byte.
func TestMutations(t *testing.T) {
	for name, c := range map[string]struct {
		base func(t testing.TB) *vfs.Mem
		n    int
	}{
		"4.4.0":           {whole, longtest.Pick(60, 4000)},
		"3.9.1":           {kafka("kafka-3.9.1-clean"), longtest.Pick(15, 1000)},
		"3.9.1 ZooKeeper": {kafka("kafka-3.9.1-zookeeper"), longtest.Pick(15, 1000)},
	} {
		t.Run(name, func(t *testing.T) { mutations(t, c.base(t), c.n) })
	}
}

// kafka is a directory that Apache Kafka left after an orderly stop.
func kafka(archive string) func(t testing.TB) *vfs.Mem {
	return func(t testing.TB) *vfs.Mem {
		fsys := testdir.Unpack(t, "../testdata/"+archive+".tar.gz", "/data")
		testdir.Complete(t, fsys, "/data")
		return fsys
	}
}

func mutations(t *testing.T, base *vfs.Mem, n int) {
	before := testdir.Tree(t, base, "/data")
	if all := findings(t, base, "/data"); len(all) > 0 {
		t.Fatalf("the undamaged directory: %v", all)
	}
	const seed = 4
	r := rand.New(rand.NewPCG(seed, 0))
	files, known := byKind(before), everything(t, base)
	found, kinds := 0, map[string]int{}
	for range n {
		m := draw(r, files, before)
		damaged := m.mutate([]byte(before[m.path]))
		if string(damaged) == before[m.path] {
			continue
		}
		fsys := base.Crash() // a copy
		clean := r.IntN(2) == 0
		if !clean {
			remove(t, fsys, "/data/.kafka_cleanshutdown")
		}
		testdir.Put(t, fsys, m.path, damaged)
		all := findings(t, fsys, "/data")
		if len(all) == 0 {
			if why := matters(m, clean, before[m.path], string(damaged), logOf(before, m.path)); why != "" {
				t.Errorf("%v is not found, but %s", m, why)
			}
			continue
		}
		found++
		if ext := filepath.Ext(m.path); ext == ".index" || ext == ".timeindex" || ext == ".txnindex" {
			for _, f := range all {
				if f.File != m.path {
					t.Errorf("%v: also %v", m, f)
				}
			}
		}
		kinds[filepath.Ext(m.path)+" "+m.kind]++
		repairs(t, fsys, clean, known, m, before[m.path], damaged)
		if t.Failed() {
			return
		}
	}
	t.Logf("%d of %d damages were found, seed %d: %v", found, n, seed, kinds)
}

// byKind are the files that are damaged, by what they are.
func byKind(tree map[string]string) map[string][]string {
	files := map[string][]string{}
	for path, b := range tree {
		kind := filepath.Ext(path)
		if kind == "" || strings.Contains(filepath.Base(path), "checkpoint") && kind != ".checkpoint" {
			kind = filepath.Base(path)
		}
		if len(b) > 0 && kind != ".properties" && filepath.Base(path) != ".kafka_cleanshutdown" {
			files[kind] = append(files[kind], path)
		}
	}
	for _, list := range files {
		slices.Sort(list)
	}
	return files
}

// repairs repairs the directory, looks at it, and takes the repair back.
func repairs(t *testing.T, fsys *vfs.Mem, clean bool, known *Metadata, m mutation, before string, damaged []byte) {
	t.Helper()
	start := testdir.Tree(t, fsys, "/data")
	o := options(fsys)
	o.Metadata = func() (*Metadata, error) { return known, nil }
	result, err := Run(context.Background(), o, nil)
	if err != nil {
		t.Fatalf("%v: %v", m, err)
	}
	for _, f := range findings(t, fsys, "/data") {
		if !slices.ContainsFunc(result.Plan.Findings, func(o verifyFinding) bool { return o.Rule == f.Rule }) && f.Rule != "offset-gap" {
			t.Errorf("%v: still %v\nafter %v", m, f, result.Done)
		}
	}
	serves(t, fsys, clean, m, before, damaged)
	if result.Journal == "" {
		return
	}
	if _, err := Undo(context.Background(), fsys, result.Journal); err != nil {
		t.Fatalf("%v: undo: %v", m, err)
	}
	testdir.Same(t, testdir.Tree(t, fsys, "/data"), start)
}

// everything is what a metadata log would say of all topics in a directory.
func everything(t *testing.T, fsys vfs.FS) *Metadata {
	t.Helper()
	m := &Metadata{}
	entries, err := fsys.ReadDir("/data")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if n, err := logdir.ParseName(e.Name()); err == nil && e.IsDir() {
			m.Topics = append(m.Topics, Topic{Name: n.TopicPartition.Topic, ID: id(t, fsys, "/data/"+e.Name())})
		}
	}
	return m
}

// serves opens the partition that was damaged as a broker does, trusting its files if it was stopped in order, else recovering
// them: it serves every batch that the damage has left whole.
func serves(t *testing.T, fsys *vfs.Mem, clean bool, m mutation, before string, damaged []byte) {
	t.Helper()
	dir := filepath.Dir(m.path)
	n, err := logdir.ParseName(filepath.Base(dir))
	if err != nil {
		return // a file of the log directory
	}
	want := map[string]int{}
	for path, log := range testdir.Tree(t, fsys, dir) {
		if filepath.Ext(path) != ".log" {
			continue
		}
		if path == m.path {
			log = before
		}
		for b, n := range batches([]byte(log)) {
			if path != m.path || strings.Contains(string(damaged), b) {
				want[content(b)] += n
			}
		}
	}
	points, err := checkpoint.ReadOffsets(fsys, "/data/recovery-point-offset-checkpoint")
	if err != nil {
		t.Fatalf("%v: %v", m, err)
	}
	fsys = fsys.Crash()
	l, err := storage.Open(storage.Options{FS: fsys, Handles: vfs.NewHandles(fsys, 16), Dir: dir, TopicPartition: n.TopicPartition, Config: storage.DefaultConfig(),
		Clean: clean, RecoveryPoint: points[n.TopicPartition], Delay: func(time.Duration, func()) {}})
	if err != nil {
		t.Errorf("%v: a broker does not open the partition: %v", m, err)
		return
	}
	have := contents(t, l)
	for b, n := range want {
		// Of two batches that have changed places one must go; it is kept beside the partitions.
		if have[b] < n && (m.kind != "swap batches" || !kept(t, fsys, b)) {
			t.Errorf("%v: a whole batch of %d bytes is not served (clean %v)", m, len(b), clean)
			break
		}
	}
	if err := l.Close(); err != nil {
		t.Errorf("%v: close: %v", m, err)
	}
}

// kept reports whether bytes are in a file that repair has saved.
func kept(t *testing.T, fsys vfs.FS, content string) bool {
	t.Helper()
	for path, b := range testdir.Tree(t, fsys, "/data") {
		if strings.HasPrefix(filepath.Base(path), prefix) && strings.Contains(b, content) {
			return true
		}
	}
	return false
}

// contents reads a log from its start to its end.
func contents(t *testing.T, l *storage.Log) map[string]int {
	t.Helper()
	have := map[string]int{}
	for next := l.LogStartOffset(); next < l.LogEndOffset(); {
		info, err := l.Read(next, storage.LogEnd, 1<<20, true)
		if err != nil || info.Region.Length == 0 {
			t.Fatalf("read at %d: %d bytes, %v", next, info.Region.Length, err)
		}
		raw := make([]byte, info.Region.Length)
		if err := info.Region.ReadInto(raw); err != nil {
			t.Fatal(err)
		}
		info.Region.Release()
		for s := record.NewScanner(raw); s.Next(); {
			b := s.Batch()
			if err := b.CheckCRC(); err != nil || b.LastOffset() < next {
				t.Fatalf("read at %d: offsets up to %d, %v", next, b.LastOffset(), err)
			}
			have[content(string(b))]++
			next = b.LastOffset() + 1
		}
	}
	return have
}

// content is what the checksum of a batch covers, and the checksum.
func content(b string) string { return b[record.MagicOffset+1:] }

// logOf is the `.log` that belongs to a file.
func logOf(files map[string]string, path string) string {
	if filepath.Base(path) == "leader-epoch-checkpoint" {
		var b strings.Builder
		for _, p := range slices.Sorted(maps.Keys(files)) {
			if filepath.Dir(p) == filepath.Dir(path) && filepath.Ext(p) == ".log" {
				b.WriteString(files[p])
			}
		}
		return b.String()
	}
	stem, _, _ := strings.Cut(filepath.Base(path), ".")
	return files[filepath.Join(filepath.Dir(path), stem+".log")]
}
