package metadata

import (
	"bytes"
	"errors"
	"testing"

	"github.com/samsalog/samsa/internal/longtest"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

const fixtureLog = "/data/__cluster_metadata-0/00000000000000000000.log"

// bareFixture is the clean directory of Kafka 4.4.0 without snapshots and indexes: its log is all there is to lose.
func bareFixture(t testing.TB) *vfs.Mem {
	mem := unpack(t, "4.4.0-clean")
	entries, err := mem.ReadDir("/data/__cluster_metadata-0")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name := "/data/__cluster_metadata-0/" + e.Name(); name != fixtureLog {
			if err := mem.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, dir := range []string{"/", "/data", "/data/__cluster_metadata-0"} {
		if err := mem.SyncDir(dir); err != nil {
			t.Fatal(err)
		}
	}
	return mem
}

// ends are the log end offsets by the size of the log's file, for each whole batch.
func ends(log []byte) map[int]record.Offset {
	out := map[int]record.Offset{0: 0}
	at := 0
	for s := record.NewScanner(log); s.Next(); {
		at += len(s.Batch())
		out[at] = s.Batch().LastOffset() + 1
	}
	return out
}

func TestLookChangesNothing(t *testing.T) {
	mem := unpack(t, "4.4.0-clean")
	reads := vfs.NewFault(mem, func(op vfs.Op) error {
		if op.Kind.Changes() {
			t.Errorf("%v", op)
		}
		return nil
	})
	f, err := Look(reads, "/data", "c")
	if err != nil {
		t.Fatal(err)
	}
	if f.New || f.Snapshot != 356 || f.EndOffset != 357 || f.LeaderEpoch != 2 || f.KRaftVersion != 1 || len(f.Voters) != 1 || f.Cut != nil || f.Image.Topics.Len() != 16 {
		t.Errorf("%+v", f)
	}
	if err := f.Check(1, f.reading.quorum.voters.Voters[0].VoterDirectoryID); err != nil {
		t.Error(err)
	}
	if err := f.Check(2, record.UUID{}); !errors.Is(err, ErrNotSoleVoter) {
		t.Error(err)
	}
}

// TestTornEnds: a log that was cut anywhere is a log up to its last whole batch, for Look and for Open.
func TestTornEnds(t *testing.T) {
	mem := bareFixture(t)
	whole := readFile(t, mem, fixtureLog)
	known := ends(whole)
	tried := 0
	for size := 0; size <= len(whole); size += longtest.Pick(211, 7) {
		cut := mem.Crash()
		writeFile(t, cut, fixtureLog, whole[:size])
		f, err := Look(cut, "/data", "c")
		if err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		last := size
		for known[last] == 0 && last > 0 {
			last--
		}
		if f.EndOffset != known[last] || (f.Cut != nil) != (last != size) || f.Cut != nil && (f.Cut.Position != int64(last) || f.Cut.Offset != known[last]) {
			t.Fatalf("%d bytes: end %d, want %d; cut %+v", size, f.EndOffset, known[last], f.Cut)
		}
		if err := openFixture(t, cut, nil); err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		if got := readFile(t, cut, fixtureLog); !bytes.HasPrefix(got, whole[:last]) {
			t.Fatalf("%d bytes: what was whole was changed", size)
		}
		tried++
	}
	t.Logf("%d places", tried)
}

// TestHoles: a byte that was changed anywhere in the log is noticed. Either nothing is changed and the reason is told, or what is
// cut could have been torn by one power failure.
func TestHoles(t *testing.T) {
	mem := bareFixture(t)
	whole := readFile(t, mem, fixtureLog)
	refused, cut := 0, 0
	for at := 0; at < len(whole); at += longtest.Pick(137, 5) {
		odd := mem.Crash()
		log := bytes.Clone(whole)
		log[at] ^= 0x15
		writeFile(t, odd, fixtureLog, log)
		f, lookErr := Look(odd, "/data", "c")
		err := openFixture(t, odd, nil)
		if (lookErr == nil) != (err == nil) {
			t.Fatalf("byte %d: Look says %v, Open %v", at, lookErr, err)
		}
		if err != nil {
			refused++
			if !bytes.Equal(readFile(t, odd, fixtureLog), log) {
				t.Fatalf("byte %d: %v, and the log was changed", at, err)
			}
			continue
		}
		if f.Cut == nil {
			continue // the leader epoch of a batch is not covered by its checksum
		}
		cut++
		if epochs, ms := spanOf(whole, int(f.Cut.Position)); epochs > 0 || ms >= tornFor.Milliseconds() {
			t.Errorf("byte %d: cut at %d, which loses %d epochs and %d ms", at, f.Cut.Position, epochs, ms)
		}
	}
	if refused < 50 || cut == 0 {
		t.Errorf("%d refused, %d cut", refused, cut)
	}
	t.Logf("%d refused, %d cut", refused, cut)
}

// spanOf is how far the epochs and times of the batches behind byte pos are from those of the batch before it, and without one
// from those of the second behind it, for the first is the damaged one.
func spanOf(log []byte, pos int) (epochs int, ms int64) {
	at, n := 0, 0
	var first record.Header
	for s := record.NewScanner(log); s.Next(); at += len(s.Batch()) {
		h := s.Batch().Header()
		if at < pos || pos == 0 && n == 1 {
			first = h
		}
		if n++; at > pos {
			epochs, ms = max(epochs, int(h.LeaderEpoch-first.LeaderEpoch)), max(ms, h.MaxTimestamp-first.MaxTimestamp)
		}
	}
	return epochs, ms
}

// openFixture opens and closes a Store on a directory of the fixtures.
func openFixture(t testing.TB, mem vfs.FS, accept func(*Found) error) error {
	n := &node{t: t, fs: mem, dir: "/data", rand: newRand()}
	n.nowMs.Store(1800000000000)
	o := n.options()
	o.Accept = accept
	s, err := Open(o)
	if err != nil {
		return err
	}
	return s.Close()
}

// TestAcceptIsAskedFirst: who refuses finds the directory as it was.
func TestAcceptIsAskedFirst(t *testing.T) {
	mem := unpack(t, "4.4.0-killed")
	no := errors.New("no")
	before := readFile(t, mem, "/data/__cluster_metadata-0/quorum-state")
	err := openFixture(t, mem, func(f *Found) error {
		if f.Image.Topics.Len() != 15 {
			t.Errorf("%d topics", f.Image.Topics.Len())
		}
		return no
	})
	if !errors.Is(err, no) {
		t.Fatal(err)
	}
	if !bytes.Equal(before, readFile(t, mem, "/data/__cluster_metadata-0/quorum-state")) {
		t.Error("something was changed")
	}
}

// FuzzLook: whatever the log's file holds, an error or a Store that opens, never a panic.
func FuzzLook(f *testing.F) {
	mem := bareFixture(f)
	whole := readFile(f, mem, fixtureLog)
	f.Add(whole[:2000])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, log []byte) {
		odd := mem.Crash()
		writeFile(t, odd, fixtureLog, log)
		_, err := Look(odd, "/data", "c")
		if opened := openFixture(t, odd, nil); (opened == nil) != (err == nil) && err == nil && !errors.Is(opened, ErrNotSoleVoter) && !errors.Is(opened, ErrTooNew) && !errors.Is(opened, ErrTooOld) && !errors.Is(opened, ErrInvalidRecord) {
			t.Fatalf("Look found nothing wrong, Open says %v", opened)
		}
	})
}
