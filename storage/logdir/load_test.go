package logdir

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/vfs"
)

func (r *rig) now() time.Time { return time.Unix(1700000000, 0) }

func wantDefaults() storage.Config { return storage.DefaultConfig() }

func isStorage(err error) bool { return errors.Is(err, storage.ErrStorage) }

const metadataOfA = "version: 0\ntopic_id: "

// TestCleanStopAndStart: what was written is there again, with all offsets, and nothing is scanned.
func TestCleanStopAndStart(t *testing.T) {
	r := format(t, vfs.NewMem(), 2)
	r.change = func(o *Options) { o.BrokerEpoch = func() int64 { return 42 } }
	m := r.open()
	if m.PreviousBrokerEpoch() != -1 {
		t.Errorf("previous broker epoch %d", m.PreviousBrokerEpoch())
	}
	var logs []*storage.Log
	for p := range int32(10) {
		l := r.create(m, tp("a", p), record.UUID{})
		produce(t, l, 20+int(p), 1)
		logs = append(logs, l)
	}
	logs[3].SetHighWatermark(logs[3].LogEndOffset())
	if err := logs[5].DeleteRecords(7); err != nil {
		t.Fatal(err)
	}
	mustClose(t, m)
	if got, want := get(t, r.fs, "/data0/.kafka_cleanshutdown"), `{"version":0,"brokerEpoch":42}`; got != want {
		t.Errorf("marker %s, want %s", got, want)
	}
	if got, want := get(t, r.fs, "/data1/log-start-offset-checkpoint"), "0\n1\na 5 7\n"; got != want {
		t.Errorf("log start checkpoint %q, want %q", got, want)
	}
	if got := get(t, r.fs, "/data0/cleaner-offset-checkpoint"); got != "" {
		t.Errorf("cleaner checkpoint %q", got)
	}

	again, err := Open(r.options())
	if err != nil {
		t.Fatal(err)
	}
	if again.PreviousBrokerEpoch() != 42 {
		t.Errorf("previous broker epoch %d", again.PreviousBrokerEpoch())
	}
	if err := again.Load(t.Context(), wantAll); err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, again)
	for p, old := range logs {
		l := again.Log(tp("a", int32(p)))
		if l == nil || l.Offsets() != old.Offsets() || l.TopicID() != idA {
			t.Fatalf("partition %d: %+v, was %+v", p, l.Offsets(), old.Offsets())
		}
	}
	if n := len(r.events.of(LogEvent)); n != 0 {
		t.Errorf("a clean start has things to say: %v", r.events.of(LogEvent))
	}
	if got := get(t, r.fs, "/data0/.kafka_cleanshutdown"); got != "missing" {
		t.Errorf("the marker is still there after start: %s", got)
	}
}

// TestR08MarkerGoesBeforeLoading: at every operation of a load after the first log was touched the marker is gone, so
// that a crash at that time counts as one.
func TestR08MarkerGoesBeforeLoading(t *testing.T) {
	mem := vfs.NewMem()
	r := format(t, mem, 1)
	m := r.open()
	produce(t, r.create(m, tp("a", 0), record.UUID{}), 5, 1)
	mustClose(t, m)
	touched := 0
	r.fs = vfs.NewFault(mem, func(op vfs.Op) error {
		if strings.Contains(op.Path, "/a-0") {
			touched++
			if _, clean, _ := checkpoint.ReadCleanShutdown(mem.Crash(), "/data0/.kafka_cleanshutdown"); clean {
				t.Errorf("%v: the marker would be back after a crash", op)
			}
		}
		return nil
	})
	m = r.open()
	if touched == 0 {
		t.Fatal("nothing was watched")
	}
	mustClose(t, m)
	if _, clean, _ := checkpoint.ReadCleanShutdown(mem.Crash(), "/data0/.kafka_cleanshutdown"); !clean {
		t.Error("no marker after a clean stop")
	}
}

// TestR08NoMarkerWhenALogFails lets every single operation of a clean stop fail: with an error there is no marker in
// that directory (and the other one has its own), and the next start finds all records.
func TestR08NoMarkerWhenALogFails(t *testing.T) {
	for n := int64(1); ; n++ {
		mem := vfs.NewMem()
		armed, hit, seen := false, vfs.Op{}, atomic.Int64{}
		inject := func(op vfs.Op) error {
			if armed && strings.HasPrefix(op.Path, "/data0") && op.Kind.Changes() && seen.Add(1) == n {
				hit = op
				return errTest
			}
			return nil
		}
		r := format(t, mem, 2)
		r.fs = vfs.NewFault(mem, inject)
		m := r.open()
		for p := range int32(3) {
			produce(t, r.create(m, tp("a", p), dirIDs[0]), 5, 1)
		}
		produce(t, r.create(m, tp("b", 0), dirIDs[1]), 5, 1)
		armed = true
		err := m.Close()
		armed = false
		failed := errors.Is(err, errTest)
		if hit.Path != "" && !failed && hit.Path != "/data0/.lock" {
			t.Errorf("%v: its error was lost (%v)", hit, err)
		}
		// What fails as the marker itself is written may leave it: the logs are closed by then.
		marker := get(t, mem, "/data0/.kafka_cleanshutdown") != "missing"
		if failed && marker && !strings.HasSuffix(hit.Path, ".kafka_cleanshutdown") && hit.Path != "/data0" {
			t.Errorf("%v failed and there is a marker", hit)
		}
		if get(t, mem, "/data1/.kafka_cleanshutdown") == "missing" {
			t.Errorf("%v failed and the other directory has no marker", hit)
		}
		again := format(t, vfs.NewMem(), 0)
		again.fs, again.dirs = mem, r.dirs
		m = again.open()
		for p := range int32(3) {
			if l := m.Log(tp("a", p)); l == nil || l.LogEndOffset() != 5 {
				t.Errorf("%v failed: partition %d is not whole", hit, p)
			}
		}
		mustClose(t, m)
		if hit.Path == "" {
			if n < 10 {
				t.Fatalf("only %d operations were tried", n)
			}
			return
		}
	}
}

// TestR08InterruptedLoad: a load that was cancelled must not leave a marker for a directory that was not clean.
func TestR08InterruptedLoad(t *testing.T) {
	mem := vfs.NewMem()
	r := format(t, mem, 1)
	m := r.open()
	for p := range int32(4) {
		produce(t, r.create(m, tp("a", p), record.UUID{}), 5, 1)
	}
	if err := m.saveAll(m.dirs[0]); err != nil {
		t.Fatal(err)
	}
	points := get(t, mem, "/data0/recovery-point-offset-checkpoint")
	r.fs = mem.Crash()
	mustClose(t, m)
	ctx, cancel := context.WithCancel(t.Context())
	loading, err := Open(r.options())
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	err = loading.Load(ctx, func(record.TopicPartition, record.UUID) (storage.Config, bool) {
		if count++; count == 1 {
			cancel()
		}
		return storage.DefaultConfig(), true
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("load: %v", err)
	}
	mustClose(t, loading)
	if got := get(t, r.fs, "/data0/.kafka_cleanshutdown"); got != "missing" {
		t.Errorf("marker %s", got)
	}
	if got := get(t, r.fs, "/data0/recovery-point-offset-checkpoint"); strings.Count(got, "\n") != strings.Count(points, "\n") {
		t.Errorf("recovery points %q, before %q", got, points)
	}
}

func TestLoadIsCancelledBetweenCleanLogs(t *testing.T) {
	r := format(t, vfs.NewMem(), 1)
	m := r.open()
	for p := range int32(4) {
		produce(t, r.create(m, tp("a", p), record.UUID{}), 5, 1)
	}
	mustClose(t, m)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m, err := Open(r.options())
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Load(ctx, wantAll); !errors.Is(err, context.Canceled) {
		t.Fatalf("load: %v", err)
	}
	mustClose(t, m)
	if got := get(t, r.fs, "/data0/.kafka_cleanshutdown"); got == "missing" {
		t.Error("a clean directory that nobody touched lost its marker")
	}
	m = r.open()
	defer mustClose(t, m)
	if n := len(m.Logs()); n != 4 || len(r.events.of(LogEvent)) != 0 {
		t.Errorf("%d logs, %v", n, r.events.of(LogEvent))
	}
}

// TestPartitionThatCannotBeLoaded stays where it is, offline, and is not created anew; the others are served.
func TestPartitionThatCannotBeLoaded(t *testing.T) {
	r := format(t, vfs.NewMem(), 2)
	m := r.open()
	for i, p := range []record.TopicPartition{tp("a", 0), tp("b", 0), tp("twin", 0), tp("good", 0)} {
		produce(t, r.create(m, p, dirIDs[i%2]), 5, 1)
	}
	mustClose(t, m)
	put(t, r.fs, "/data0/a-0/partition.metadata", "garbage")
	put(t, r.fs, "/data1/twin-0/partition.metadata", metadataOfA+idA.String())
	m = r.open()
	if m.Log(tp("b", 0)) == nil || m.Log(tp("good", 0)) == nil || len(m.Logs()) != 2 {
		t.Errorf("%d logs", len(m.Logs()))
	}
	for _, p := range []record.TopicPartition{tp("a", 0), tp("twin", 0)} {
		for _, dirID := range []record.UUID{{}, dirIDs[0], dirIDs[1]} {
			if _, _, err := m.Create(p, idA, storage.DefaultConfig(), dirID); !errors.Is(err, ErrOffline) || !isStorage(err) {
				t.Errorf("create %v: %v", p, err)
			}
		}
	}
	if len(r.events.of(PartitionFailed)) != 3 {
		t.Errorf("events %v", r.events.of(PartitionFailed))
	}
	mustClose(t, m)
	if got := get(t, r.fs, "/data0/recovery-point-offset-checkpoint"); !strings.Contains(got, "a 0 5") {
		t.Errorf("the recovery point of what was left out is lost: %q", got)
	}
	put(t, r.fs, "/data0/a-0/partition.metadata", metadataOfA+idA.String())
	if err := r.fs.RemoveAll("/data1/twin-0"); err != nil {
		t.Fatal(err)
	}
	m = r.open()
	defer mustClose(t, m)
	for _, p := range []record.TopicPartition{tp("a", 0), tp("twin", 0)} {
		if l := m.Log(p); l == nil || l.LogEndOffset() != 5 {
			t.Errorf("%v did not come back", p)
		}
	}
}

// TestUnreadableCheckpoint counts as empty: everything is checked, nothing is lost, and the file is written anew.
func TestUnreadableCheckpoint(t *testing.T) {
	r := format(t, vfs.NewMem(), 1)
	m := r.open()
	produce(t, r.create(m, tp("a", 0), record.UUID{}), 5, 1)
	mustClose(t, m)
	for _, name := range checkpointFiles {
		put(t, r.fs, "/data0/"+name, "0\n7\na 0 5\n")
	}
	m = r.open()
	if l := m.Log(tp("a", 0)); l == nil || l.LogEndOffset() != 5 || l.HighWatermark() != 0 {
		t.Errorf("the log is not whole")
	}
	if len(r.events.of(CheckpointUnreadable)) != 3 || m.Dirs()[0].Err != nil {
		t.Errorf("events %v", r.events.list)
	}
	mustClose(t, m)
	if got, want := get(t, r.fs, "/data0/recovery-point-offset-checkpoint"), "0\n1\na 0 5\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestDirFailsDuringLoad: an I/O error while a log is loaded takes its directory offline and leaves the other one.
func TestDirFailsDuringLoad(t *testing.T) {
	mem := vfs.NewMem()
	r := format(t, mem, 2)
	m := r.open()
	for p := range int32(4) {
		produce(t, r.create(m, tp("a", p), dirIDs[p%2]), 5, 1)
	}
	mustClose(t, m)
	r.fs = vfs.NewFault(mem, func(op vfs.Op) error {
		if strings.HasPrefix(op.Path, "/data1/a-3") {
			return errTest
		}
		return nil
	})
	m = r.open()
	if infos := m.Dirs(); infos[0].Err != nil || !errors.Is(infos[1].Err, errTest) || infos[1].ID != dirIDs[1] {
		t.Errorf("directories %+v", infos)
	}
	if len(m.Logs()) != 2 {
		t.Errorf("%d logs are served", len(m.Logs()))
	}
	if _, _, err := m.Create(tp("a", 3), idA, storage.DefaultConfig(), dirIDs[1]); !errors.Is(err, ErrOffline) {
		t.Errorf("create in the failed directory: %v", err)
	}
	if _, _, err := m.Create(tp("a", 3), idA, storage.DefaultConfig(), record.UUID{}); !errors.Is(err, ErrOffline) {
		t.Errorf("create what the failed directory is known to hold: %v", err)
	}
	mustClose(t, m)
	if get(t, mem, "/data1/.kafka_cleanshutdown") != "missing" || get(t, mem, "/data0/.kafka_cleanshutdown") == "missing" {
		t.Error("markers are wrong")
	}
	r.dirs = r.dirs[1:]
	m, err := Open(r.options())
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Load(t.Context(), wantAll); !errors.Is(err, ErrNoDirectory) {
		t.Errorf("load with all directories failed: %v", err)
	}
	mustClose(t, m)
}
