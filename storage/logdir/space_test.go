package logdir

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/vfs"
)

// fillable is a file system of size bytes, as far as Usage tells; while it is full nothing new can be written.
type fillable struct {
	vfs.FS
	full   atomic.Bool
	usable atomic.Int64
}

func newFillable(mem *vfs.Mem) *fillable {
	d := &fillable{}
	d.usable.Store(1 << 30)
	d.FS = vfs.NewFault(mem, func(op vfs.Op) error {
		if !d.full.Load() {
			return nil
		}
		switch op.Kind {
		case vfs.OpWrite:
			return &vfs.Partial{Keep: 10, Err: syscall.ENOSPC}
		case vfs.OpMkdir:
			return syscall.ENOSPC
		case vfs.OpOpen:
			if _, err := mem.Stat(op.Path); errors.Is(err, fs.ErrNotExist) && op.Flag&os.O_CREATE != 0 {
				return syscall.ENOSPC
			}
		}
		return nil
	})
	return d
}

func (d *fillable) Usage(string) (total, usable uint64, err error) {
	if d.full.Load() {
		return 1 << 30, 0, nil
	}
	return 1 << 30, uint64(d.usable.Load()), nil
}

func one() []byte {
	b := record.NewBuilder(record.DefaultBuilderOptions())
	b.Append(1, nil, []byte(strings.Repeat("x", 100)), nil)
	return b.Build()
}

// readable counts the records from the log start on.
func readable(t *testing.T, l *storage.Log) int {
	t.Helper()
	n := 0
	for at := l.LogStartOffset(); at < l.LogEndOffset(); n++ {
		info, err := l.Read(at, storage.LogEnd, 1, true)
		if err != nil {
			t.Fatal(err)
		}
		info.Region.Release()
		at++
	}
	return n
}

// T-13: on a full disk producers are refused with a storage error that passes, consumers go on, deleting makes room at
// once, and writing resumes. The directory stays online all the time, and two lines tell of it.
func TestT13FullDiskWhileServing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFillable(vfs.NewMem())
		r := format(t, d, 1)
		rooms := atomic.Int64{}
		r.change = func(o *Options) {
			periods(o)
			o.SpaceCheckInterval = time.Second
			o.OnRoom = func() { rooms.Add(1) }
			o.OnDirFailure = func(_ record.UUID, dir string, err error) { t.Errorf("%s went offline: %v", dir, err) }
		}
		m := r.open()
		m.Start()
		small, large := r.create(m, tp("small", 0), dirIDs[0]), r.create(m, tp("large", 0), dirIDs[0])
		produce(t, small, 5, 1)
		produce(t, large, 50, 1)

		d.full.Store(true)
		for range 3 {
			if _, err := small.Append(one(), storage.AppendOptions{}); !errors.Is(err, storage.ErrShortage) || !isStorage(err) {
				t.Fatalf("append on a full disk: %v", err)
			}
		}
		if n := readable(t, small); n != 5 {
			t.Errorf("%d records are readable", n)
		}
		if _, _, err := m.Create(tp("new", 0), idB, storage.DefaultConfig(), dirIDs[0]); !errors.Is(err, storage.ErrShortage) {
			t.Errorf("create on a full disk: %v", err)
		}
		if err := small.DeleteRecords(3); err != nil {
			t.Errorf("DeleteRecords on a full disk: %v", err)
		}
		time.Sleep(day) // all background tasks run meanwhile
		if told := r.events.of(DirFull); len(told) != 1 || !strings.Contains(told[0].String(), "large (") {
			t.Errorf("told %v", told)
		}
		if err := m.Delete(tp("large", 0)); err != nil {
			t.Errorf("deletion on a full disk: %v", err)
		}
		synctest.Wait()
		if hasSuffix(list(t, d, "/data0"), "-delete") {
			t.Errorf("the deleted topic still takes its space: %v", list(t, d, "/data0"))
		}
		d.full.Store(false)
		if _, err := small.Append(one(), storage.AppendOptions{}); err != nil {
			t.Errorf("append with room: %v", err)
		}
		time.Sleep(2 * time.Second)
		if rooms.Load() != 1 || len(r.events.of(DirRoom)) != 1 {
			t.Errorf("told of room %d times: %v", rooms.Load(), r.events.of(DirRoom))
		}
		r.create(m, tp("new", 0), dirIDs[0])
		small.SetHighWatermark(small.LogEndOffset())
		mustClose(t, m)
	})
}

// T-13: with a reserve producers are refused before the disk is full; coordinators, consumers and deletions go on.
func TestT13Reserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFillable(vfs.NewMem())
		r := format(t, d, 1)
		r.change = func(o *Options) {
			periods(o)
			o.SpaceCheckInterval = time.Second
			o.ReserveBytes = func() int64 { return 10 << 20 }
		}
		m := r.open()
		defer mustClose(t, m)
		m.Start()
		l := r.create(m, tp("a", 0), dirIDs[0])
		produce(t, l, 5, 1)
		d.usable.Store(10<<20 - 1)
		time.Sleep(2 * time.Second)
		if _, err := l.Append(one(), storage.AppendOptions{}); !errors.Is(err, ErrReserve) || !errors.Is(err, storage.ErrShortage) || !isStorage(err) {
			t.Errorf("append below the reserve: %v", err)
		}
		if _, err := l.Append(one(), storage.AppendOptions{Origin: storage.Coordinator}); err != nil {
			t.Errorf("a coordinator's append below the reserve: %v", err)
		}
		r.create(m, tp("b", 0), dirIDs[0])
		if err := m.Delete(tp("b", 0)); err != nil {
			t.Error(err)
		}
		if readable(t, l) != 6 {
			t.Error("consumers are held up")
		}
		if told := r.events.of(DirFull); len(told) != 1 || !strings.Contains(told[0].String(), "the biggest topics are a (") {
			t.Errorf("told %v", told)
		}
		d.usable.Store(10 << 20)
		time.Sleep(2 * time.Second)
		if _, err := l.Append(one(), storage.AppendOptions{}); err != nil {
			t.Errorf("append above the reserve: %v", err)
		}
	})
}

// a start after a crash with a full disk. Nothing goes offline; what recovery has no room for is left out until a
// deletion has made some, and opens then.
func TestR13FullDiskDuringRecovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := vfs.NewMem()
		r := format(t, mem, 1)
		m := r.open()
		for _, name := range []string{"a", "b"} {
			l := r.create(m, tp(name, 0), dirIDs[0])
			produce(t, l, 200, 1)
			if err := l.Flush(l.LogEndOffset()); err != nil {
				t.Fatal(err)
			}
		}
		d := newFillable(mem.Crash())
		r.fs = d
		r.change = func(o *Options) {
			periods(o)
			o.SpaceCheckInterval = time.Second
			o.OnDirFailure = func(_ record.UUID, dir string, err error) { t.Errorf("%s went offline: %v", dir, err) }
		}
		// Without indexes there is something to write.
		for _, name := range []string{"a", "b"} {
			for _, file := range []string{".index", ".timeindex"} {
				if err := d.Remove("/data0/" + name + "-0/00000000000000000000" + file); err != nil {
					t.Fatal(err)
				}
			}
		}
		d.full.Store(true)
		m.cancel() // the old process is gone; its Manager holds files of the old file system only
		m2, err := Open(r.options())
		if err != nil {
			t.Fatal(err)
		}
		defer mustClose(t, m2)
		if err := m2.Load(t.Context(), wantAll); err != nil {
			t.Fatal(err)
		}
		m2.Start()
		for _, name := range []string{"a", "b"} {
			if _, _, err := m2.Create(tp(name, 0), idA, storage.DefaultConfig(), dirIDs[0]); !errors.Is(err, storage.ErrShortage) {
				t.Fatalf("%s without room: %v", name, err)
			}
		}
		if err := m2.Delete(tp("b", 0)); err != nil {
			t.Errorf("deletion of what could not be opened: %v", err)
		}
		synctest.Wait()
		if names := list(t, d, "/data0"); hasSuffix(names, "-delete") || hasSuffix(names, "b-0") {
			t.Errorf("b is still there: %v", names)
		}
		d.full.Store(false)
		l, _, err := m2.Create(tp("a", 0), idA, storage.DefaultConfig(), dirIDs[0])
		if err != nil {
			t.Fatalf("with room again: %v", err)
		}
		if n := readable(t, l); n != 200 {
			t.Errorf("%d of 200 records", n)
		}
		if _, err := l.Append(one(), storage.AppendOptions{}); err != nil {
			t.Error(err)
		}
	})
}

// a request that finds no descriptor takes no directory offline.
func TestR29NoDescriptorTakesNoDirectoryOffline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		none := atomic.Bool{}
		r := format(t, vfs.NewMem(), 1)
		r.fs = vfs.NewFault(r.fs, func(op vfs.Op) error {
			if none.Load() && (op.Kind == vfs.OpOpen || op.Kind == vfs.OpReadDir || op.Kind == vfs.OpSyncDir) {
				return syscall.EMFILE
			}
			return nil
		})
		r.change = func(o *Options) {
			periods(o)
			o.MaxOpenFiles = 3
			o.OnDirFailure = func(_ record.UUID, dir string, err error) { t.Errorf("%s went offline: %v", dir, err) }
		}
		m := r.open() // without background tasks: they would wait for each other's locks, at which this clock stands still
		var logs []*storage.Log
		for i := range int32(3) {
			logs = append(logs, r.create(m, tp("a", i), dirIDs[0]))
		}
		none.Store(true)
		refused := 0
		for _, l := range logs {
			if _, err := l.Append(one(), storage.AppendOptions{}); err != nil {
				refused++
			}
		}
		if _, _, err := m.Create(tp("b", 0), idB, storage.DefaultConfig(), dirIDs[0]); err == nil {
			t.Error("a log was created without a descriptor")
		}
		m.saveEverywhere(highWatermarks)
		m.saveEverywhere(recoveryPoints)
		m.retain()
		m.flush()
		none.Store(false)
		if refused == 0 {
			t.Error("nothing was refused")
		}
		for _, l := range logs {
			if _, err := l.Append(one(), storage.AppendOptions{}); err != nil {
				t.Error(err)
			}
		}
		mustClose(t, m)
	})
}

// The room of the ballast is the metadata log's.
func TestR13BallastMakesRoomForMetadata(t *testing.T) {
	mem := vfs.NewMem()
	d := newFillable(mem)
	dropped := atomic.Bool{}
	r := format(t, mem, 1)
	r.fs = vfs.NewFault(d, func(op vfs.Op) error {
		if op.Kind == vfs.OpRemove && strings.HasSuffix(op.Path, ballastFile) {
			dropped.Store(true)
			d.full.Store(false)
		}
		return nil
	})
	r.change = func(o *Options) { o.BallastBytes = 1 << 16 }
	m := r.open()
	defer mustClose(t, m)
	if errs := m.checkSpace(); errs == nil && len(get(t, mem, "/data0/"+ballastFile)) != 1<<16 {
		t.Fatal("there is no ballast")
	}
	f, err := m.MetadataFS().OpenFile("/data0/x", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d.full.Store(true)
	if _, err := f.WriteAt([]byte("a record of the deletion"), 0); err != nil || !dropped.Load() {
		t.Errorf("write: %v, ballast dropped: %v", err, dropped.Load())
	}
	if got := get(t, mem, "/data0/x"); got != "a record of the deletion" {
		t.Errorf("written: %q", got)
	}
	m.checkSpace()
	if get(t, mem, "/data0/"+ballastFile) == "missing" {
		t.Error("there is room, but no new ballast")
	}
}

// while a directory is recovered, it is told how far that is, once a second, and can be asked.
func TestR26ProgressOfRecovery(t *testing.T) {
	mem := vfs.NewMem()
	r := format(t, mem, 1)
	m := r.open()
	for i := range int32(8) {
		produce(t, r.create(m, tp("a", i), dirIDs[0]), 50, 1)
		if err := m.Log(tp("a", i)).Flush(50); err != nil {
			t.Fatal(err)
		}
	}
	var bytes int64
	for _, l := range m.Logs() {
		bytes += l.SizeInBytes()
	}
	r.fs = mem.Crash()
	m.cancel()

	now := atomic.Int64{}
	r.change = func(o *Options) {
		o.RecoveryThreads = 1
		o.Now = func() time.Time { return time.UnixMilli(now.Add(20)) } // each look at the clock takes 20 ms
	}
	m2, err := Open(r.options())
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, m2)
	if p := m2.Progress(); len(p) != 1 || p[0].Begun || p[0].Done || p[0].ETA >= 0 {
		t.Errorf("before: %+v", p)
	}
	if err := m2.Load(context.Background(), wantAll); err != nil {
		t.Fatal(err)
	}
	p := m2.Progress()[0]
	if !p.Done || p.Loaded != 8 || p.Partitions != 8 || p.Bytes != bytes || p.Read != bytes || p.ETA != 0 || p.Clean {
		t.Errorf("after: %+v, %d bytes", p, bytes)
	}
	told := r.events.of(Progress)
	if len(told) < 2 || time.Duration(len(told))*time.Second > time.Duration(now.Load())*time.Millisecond {
		t.Fatalf("told %d times in %d ms", len(told), now.Load())
	}
	before := int64(0)
	for _, e := range told {
		p := e.Load
		if p.Read < before || p.Read > p.Bytes || p.Bytes != bytes || p.Current.Topic != "a" || p.ETA < 0 || !strings.Contains(e.String(), "to go") {
			t.Errorf("told %+v: %v", *p, e)
		}
		before = p.Read
	}
}
