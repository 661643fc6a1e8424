package savepoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/samsalog/samsa/internal/longtest"
	"github.com/samsalog/samsa/internal/testarchive"
	"github.com/samsalog/samsa/vfs"
)

// upheaval changes everything that a broker may change, and more: it appends, cuts and appends again, replaces, renames, removes, makes.
func upheaval(t testing.TB, fsys vfs.FS, dir string, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	var walk func(at string)
	walk = func(at string) {
		entries, err := fsys.ReadDir(at)
		must(t, err)
		for _, e := range entries {
			path := filepath.Join(at, e.Name())
			if e.Name() == lockFile { // nobody writes into it
				continue
			}
			if e.IsDir() {
				switch r.IntN(8) {
				case 0:
					must(t, fsys.RemoveAll(path))
				case 1:
					must(t, fsys.Rename(path, path+".0123456789abcdef0123456789abcdef-stray"))
				default:
					walk(path)
				}
				continue
			}
			disturb(t, fsys, path, r)
		}
		if r.IntN(3) == 0 {
			testarchive.Put(t, fsys, filepath.Join(at, "new-7", "00000000000000000000.log"), []byte("new"))
		}
	}
	walk(dir)
}

// disturb changes one file as somebody may who keeps to the rule that a log only grows.
func disturb(t testing.TB, fsys vfs.FS, path string, r *rand.Rand) {
	t.Helper()
	noise := bytes.Repeat([]byte{byte(r.Uint32())}, 1+r.IntN(3000))
	switch r.IntN(6) {
	case 0:
		must(t, fsys.Remove(path))
	case 1:
		must(t, fsys.Rename(path, path+".deleted"))
	case 2: // another file of the same name
		testarchive.Put(t, fsys, path+".swap", noise)
		must(t, fsys.Rename(path+".swap", path))
	case 3:
	default:
		f, err := fsys.OpenFile(path, os.O_RDWR, 0)
		must(t, err)
		size, err := f.Size()
		must(t, err)
		if !isLog(filepath.Base(path)) {
			size = r.Int64N(size + 1)
			must(t, f.Truncate(size))
		}
		_, err = f.WriteAt(noise, size)
		must(t, errors.Join(err, f.Sync(), f.Close()))
	}
}

func TestRollbackOfEveryFixture(t *testing.T) {
	for _, name := range []string{"kafka-4.4.0-killed", "kafka-4.4.0-clean", "kafka-3.9.1-clean", "kafka-3.9.1-zookeeper"} {
		t.Run(name, func(t *testing.T) {
			mem := vfs.NewMem()
			unpack(t, mem, name, "/data")
			want := tree(t, mem, "/data")
			sum := save(t, mem, "/data")
			sameTree(t, tree(t, mem, "/data"), want)
			if sum.Files == 0 || sum.Linked == 0 || sum.Logs == 0 || sum.Uncovered != 0 {
				t.Errorf("%+v", sum)
			}
			if p := rollBack(t, mem); len(p.Steps) != 0 {
				t.Errorf("nothing was done, and %v is to be taken back", p.Steps)
			}
			for seed := range uint64(5) {
				upheaval(t, mem, "/data", seed)
				rollBack(t, mem)
				sameTree(t, tree(t, mem, "/data"), want)
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
		})
	}
}

// The same on the host's file system, with holes: what comes back takes no more blocks than it did.
func TestRollbackOnTheHost(t *testing.T) {
	dir := t.TempDir()
	data, file := filepath.Join(dir, "data"), filepath.Join(dir, "save")
	fsys := vfs.NewOS()
	unpack(t, fsys, "kafka-4.4.0-clean", data)
	must(t, os.Truncate(filepath.Join(data, "first-0", "00000000000000000000.index"), 10<<20))
	must(t, os.Chmod(filepath.Join(data, "first-0", "00000000000000000000.index"), 0o400))
	want := tree(t, fsys, data)
	sum, err := Create(context.Background(), Options{Dirs: []string{data}, File: file})
	must(t, err)
	if sum.Copied > 2<<20 {
		t.Errorf("holes were copied: %d bytes", sum.Copied)
	}
	for seed := range longtest.Pick(uint64(1), uint64(5)) {
		must(t, os.Remove(filepath.Join(data, "first-0", "00000000000000000000.index")))
		upheaval(t, fsys, data, seed)
		_, err = Rollback(context.Background(), nil, file, nil)
		must(t, err)
		sameTree(t, tree(t, fsys, data), want)
	}
	_, used, err := fsys.Usage(data)
	if err != nil || used == 0 {
		t.Error(err)
	}
}

// Several directories, one on another file system: its logs get their second names in a place there.
func TestSeveralFileSystems(t *testing.T) {
	mem := vfs.NewMem()
	unpack(t, mem, "kafka-4.4.0-clean", "/disk1/data")
	unpack(t, mem, "kafka-3.9.1-clean", "/disk2/data")
	must(t, mem.RemoveAll("/disk2/data/__cluster_metadata-0"))
	must(t, mem.MkdirAll("/disk1/save", 0o755))
	disks := crossing{mem}
	o := Options{FS: disks, Dirs: []string{"/disk1/data", "/disk2/data"}, File: "/disk1/save/one"}
	before := tree(t, mem, "/")
	if _, err := Create(context.Background(), o); !errors.Is(err, ErrPlace) || !errors.Is(err, vfs.ErrNoLink) {
		t.Fatalf("%v", err)
	}
	if got := tree(t, mem, "/disk2"); len(got) != len(tree(t, mem, "/disk2/data"))+1 {
		t.Errorf("something was left on the other disk: %d entries", len(got))
	}
	if got := tree(t, mem, "/disk1/save"); len(got) != 0 {
		t.Errorf("a failed savepoint has left %v", got)
	}
	o.Links = []string{"/disk2/links"}
	if _, err := Create(context.Background(), o); !errors.Is(err, ErrPlace) {
		t.Errorf("a place that is not there: %v", err)
	}
	must(t, mem.MkdirAll("/disk2/links", 0o755))
	_, err := Create(context.Background(), o)
	must(t, err)
	upheaval(t, mem, "/disk1/data", 1)
	upheaval(t, mem, "/disk2/data", 2)
	_, err = Rollback(context.Background(), disks, "/disk1/save/one", nil)
	must(t, err)
	for _, dir := range []string{"/disk1/data", "/disk2/data"} {
		got := tree(t, mem, dir)
		for path, is := range got {
			if before[path] != is {
				t.Errorf("%s: %s, was %s", path, is, before[path])
			}
		}
	}
}

// crossing knows no hard links from one /diskN to another.
type crossing struct{ *vfs.Mem }

func (c crossing) Link(from, to string) error {
	if strings.Split(from, "/")[1] != strings.Split(to, "/")[1] {
		return fmt.Errorf("link %s %s: %w", from, to, errors.ErrUnsupported)
	}
	return c.Mem.Link(from, to)
}

// A directory of the metadata log alone, metadata.log.dir, comes back with the others.
func TestMetadataDirectory(t *testing.T) {
	mem := vfs.NewMem()
	unpack(t, mem, "kafka-4.4.0-clean", "/data")
	testarchive.Put(t, mem, "/meta/meta.properties", []byte("version=1\nnode.id=1\ncluster.id=MkU3OEVBNTcwNTJENDM2Qg\n"))
	must(t, mem.Rename("/data/__cluster_metadata-0", "/meta/__cluster_metadata-0"))
	must(t, mem.MkdirAll("/save", 0o755))
	want := tree(t, mem, "/meta")
	_, err := Create(context.Background(), Options{FS: mem, Dirs: []string{"/data"}, MetadataDir: "/meta", File: "/save/one"})
	must(t, err)
	upheaval(t, mem, "/meta", 5)
	plan, err := MakePlan(context.Background(), mem, "/save/one")
	if err != nil || len(plan.Logs) != 0 && plan.Logs[0].Dir != "/meta" {
		t.Errorf("%+v %v", plan, err)
	}
	rollBack(t, mem)
	sameTree(t, tree(t, mem, "/meta"), want)
}

// Copies need no second names, and bring everything back.
func TestCopies(t *testing.T) {
	mem := vfs.NewMem()
	unpack(t, mem, "kafka-4.4.0-clean", "/data")
	want := tree(t, mem, "/data")
	must(t, mem.MkdirAll("/save", 0o755))
	type plain struct{ vfs.FS }
	sum, err := Create(context.Background(), Options{FS: plain{mem}, Dirs: []string{"/data"}, File: "/save/one", Segments: Copy})
	must(t, err)
	if sum.Linked != 0 || sum.Uncovered != 0 {
		t.Errorf("%+v", sum)
	}
	upheaval(t, mem, "/data", 3)
	rollBack(t, mem)
	sameTree(t, tree(t, mem, "/data"), want)
}

// Without copies or second names appends can be taken back, and what was deleted is told and refused.
func TestNeither(t *testing.T) {
	mem := vfs.NewMem()
	unpack(t, mem, "kafka-4.4.0-clean", "/data")
	want := tree(t, mem, "/data")
	must(t, mem.MkdirAll("/save", 0o755))
	sum, err := Create(context.Background(), Options{FS: mem, Dirs: []string{"/data"}, File: "/save/one", Segments: None})
	must(t, err)
	if sum.Uncovered == 0 {
		t.Errorf("%+v", sum)
	}
	const log = "/data/first-0/00000000000000000000.log"
	whole := testarchive.Get(t, mem, log)
	testarchive.Put(t, mem, "/data/meta.properties", []byte("other"))
	appendTo(t, mem, log, []byte("appended"))
	rollBack(t, mem)
	sameTree(t, tree(t, mem, "/data"), want)
	must(t, mem.Remove(log))
	before := tree(t, mem, "/data")
	plan, err := Rollback(context.Background(), mem, "/save/one", nil)
	if !errors.Is(err, ErrLost) || len(plan.Lost) != 1 || !strings.Contains(plan.Lost[0], log) {
		t.Errorf("%v %v", err, plan)
	}
	sameTree(t, tree(t, mem, "/data"), before)
	testarchive.Put(t, mem, log, append([]byte{1}, whole[1:]...)) // somebody wrote another one
	testarchive.Put(t, mem, log, bytes.Repeat([]byte{7}, len(whole)))
	if _, err := Rollback(context.Background(), mem, "/save/one", nil); !errors.Is(err, ErrLost) {
		t.Errorf("%v", err)
	}
}

func appendTo(t testing.TB, fsys vfs.FS, path string, b []byte) {
	t.Helper()
	f, err := fsys.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	size, err := f.Size()
	must(t, err)
	_, err = f.WriteAt(b, size)
	must(t, errors.Join(err, f.Sync(), f.Close()))
}

// A torn tail, which recovery cuts off and appends over, and a preallocated log's zeros come back.
func TestTornTailComesBack(t *testing.T) {
	const log = "/data/first-0/00000000000000000000.log"
	for name, tail := range map[string][]byte{"torn": testarchive.Get(t, fixture(t), log)[:40], "preallocated": make([]byte, 100_000)} {
		t.Run(name, func(t *testing.T) {
			mem := fixture(t)
			whole := int64(len(testarchive.Get(t, mem, log)))
			testarchive.Put(t, mem, log, append(testarchive.Get(t, mem, log), tail...))
			want := tree(t, mem, "/data")
			save(t, mem, "/data")
			f, err := mem.OpenFile(log, os.O_RDWR, 0)
			must(t, err)
			_, err = f.WriteAt(bytes.Repeat([]byte{9}, 300_000), whole) // in place: it is the file that the second name stands for
			must(t, errors.Join(f.Truncate(whole), err, f.Close()))
			rollBack(t, mem)
			sameTree(t, tree(t, mem, "/data"), want)
			f, err = mem.OpenFile(log, os.O_RDWR, 0)
			must(t, err)
			must(t, errors.Join(f.Truncate(whole-1), f.Close())) // this no broker does: whole batches do not go
			if _, err := Rollback(context.Background(), mem, "/save/one", nil); !errors.Is(err, ErrLost) {
				t.Errorf("%v", err)
			}
		})
	}
}

// What was written and not synced when the savepoint was made, as after a kill, is there after a power failure (SAV-2).
func TestSavepointIsDurable(t *testing.T) {
	mem := vfs.NewMem()
	unpack(t, mem, "kafka-4.4.0-killed", "/data")
	testarchive.SyncAll(t, mem, "/")
	const log = "/data/first-0/00000000000000000000.log"
	b := bytes.Clone(testarchive.Get(t, mem, log))
	b[7] = 1
	f, err := mem.OpenFile(log, os.O_RDWR, 0)
	must(t, err)
	_, err = f.WriteAt(b, int64(len(b)))
	must(t, errors.Join(err, f.Close()))
	want := tree(t, mem, "/data")
	save(t, mem, "/data")
	for _, left := range []*vfs.Mem{mem.Crash(), mem.CrashKeeping(1)} {
		upheaval(t, left, "/data", 4)
		rollBack(t, left)
		got := tree(t, left, "/data")
		got["/data/.lock"] = want["/data/.lock"]
		sameTree(t, got, want)
	}
}

func fixture(t testing.TB) *vfs.Mem {
	mem := vfs.NewMem()
	unpack(t, mem, "kafka-4.4.0-killed", "/data")
	return mem
}

func TestRefusals(t *testing.T) {
	mem := vfs.NewMem()
	unpack(t, mem, "kafka-4.4.0-clean", "/data")
	must(t, mem.MkdirAll("/save", 0o755))
	create := func(file string) error {
		_, err := Create(context.Background(), Options{FS: mem, Dirs: []string{"/data"}, File: file})
		return err
	}
	if err := create("/nowhere/save"); !errors.Is(err, ErrPlace) {
		t.Errorf("no directory: %v", err)
	}
	if err := create("/data/save"); !errors.Is(err, ErrPlace) {
		t.Errorf("inside: %v", err)
	}
	testarchive.Put(t, mem, "/other.d/mine", []byte("x"))
	if err := create("/other"); !errors.Is(err, ErrPlace) {
		t.Errorf("somebody's directory: %v", err)
	}
	lock, err := mem.Lock("/data/.lock")
	must(t, err)
	if err := create("/save/one"); !errors.Is(err, ErrInUse) {
		t.Errorf("in use: %v", err)
	}
	must(t, lock.Close())
	must(t, create("/save/one"))
	if err := create("/save/one"); !errors.Is(err, ErrExists) {
		t.Errorf("twice: %v", err)
	}
	lock, err = mem.Lock("/data/.lock")
	must(t, err)
	testarchive.Put(t, mem, "/data/new", nil)
	before := tree(t, mem, "/data")
	if _, err := Rollback(context.Background(), mem, "/save/one", nil); !errors.Is(err, ErrInUse) {
		t.Errorf("in use: %v", err)
	}
	plan, err := MakePlan(context.Background(), mem, "/save/one")
	if err != nil || len(plan.InUse) != 1 || len(plan.Steps) != 1 {
		t.Errorf("%+v %v", plan, err)
	}
	sameTree(t, tree(t, mem, "/data"), before)
	must(t, lock.Close())
}

// Every byte of a savepoint's file, and of the copies, is covered: a change is noticed, and nothing is done.
func TestDamagedSavepoint(t *testing.T) {
	mem := vfs.NewMem()
	unpack(t, mem, "kafka-4.4.0-clean", "/data")
	save(t, mem, "/data")
	upheaval(t, mem, "/data", 1)
	before := tree(t, mem, "/data")
	for _, path := range []string{"/save/one", "/save/one.d/data"} {
		whole := testarchive.Get(t, mem, path)
		r := rand.New(rand.NewPCG(7, 7))
		for range 60 {
			b := bytes.Clone(whole)
			switch r.IntN(3) {
			case 0:
				b = b[:r.IntN(len(b))]
			case 1:
				b = append(b, "x\n"...)
				if path == "/save/one" {
					b = b[1:]
				}
			default:
				b[r.IntN(len(b))] ^= 1 << r.IntN(8)
			}
			testarchive.Put(t, mem, path, b)
			if len(bytes.TrimRight(b, "\x00")) == len(bytes.TrimRight(whole, "\x00")) && bytes.Equal(b, whole) {
				continue
			}
			if _, err := Rollback(context.Background(), mem, "/save/one", nil); err == nil {
				t.Fatalf("%s: a change was not noticed", path)
			}
			sameTree(t, tree(t, mem, "/data"), before)
		}
		testarchive.Put(t, mem, path, whole)
	}
	rollBack(t, mem)
}

// What a rollback means for the records.
func TestPlanTellsRecords(t *testing.T) {
	mem := vfs.NewMem()
	unpack(t, mem, "kafka-4.4.0-clean", "/data")
	save(t, mem, "/data")
	const first = "/data/first-0/00000000000000000000.log"
	b := bytes.Clone(testarchive.Get(t, mem, first))
	b = b[:len(b)/2] // two batches of one record
	b[7] = 2         // another one at offset 2
	appendTo(t, mem, first, b)
	must(t, mem.Remove("/data/.kafka_cleanshutdown"))
	testarchive.Put(t, mem, "/data/made-0/00000000000000000000.log", nil)
	must(t, mem.RemoveAll("/data/trimmed-0"))
	plan, err := MakePlan(context.Background(), mem, "/save/one")
	must(t, err)
	var all []string
	for _, l := range plan.Logs {
		all = append(all, l.String())
	}
	text := strings.Join(all, "\n")
	for _, want := range []string{"first-0: offsets 2 to 2 are given up (1)", "trimmed-0: was deleted and comes back, offsets 20 to 49 come back"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}
