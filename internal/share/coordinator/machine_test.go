package coordinator

import (
	"bytes"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/record"
)

// The partition of __share_group_state that Apache Kafka 4.4 has written (testdata) is understood, and what was asked of
// Kafka then leads to the same bytes here.
func TestPartitionOfKafka(t *testing.T) {
	b, err := os.ReadFile("testdata/__share_group_state-0.log")
	if err != nil {
		t.Fatal(err)
	}
	var theirs []record.Record
	for s := record.NewScanner(b); s.Next(); {
		rs := s.Batch().Records(1 << 20)
		for rs.Next() {
			r := rs.Record()
			r.Key, r.Value = bytes.Clone(r.Key), bytes.Clone(r.Value)
			theirs = append(theirs, r)
		}
		if err := rs.Err(); err != nil {
			t.Fatal(err)
		}
		rs.Close()
	}
	if len(theirs) != 4 {
		t.Fatalf("%d records", len(theirs))
	}
	w := newWorld(t)
	for _, r := range theirs {
		w.records = append(w.records, coord.Record{Key: r.Key, Value: r.Value})
	}
	w.restart()
	if len(w.m.held) != 1 {
		t.Fatalf("%d share partitions", len(w.m.held))
	}
	var k Key
	for k = range w.m.held {
	}
	if got := fmt.Sprint(k, *w.m.held[k].state); got != "share-group:_j6rm_xGTGWZBeaBkeVuAQ:0 {0 2 2 50 0 1795995571301 1795995571301 [{50 256 0 1}]}" {
		t.Error(got)
	}
	if p := coord.PartitionFor(k.String(), 2); p != 0 {
		t.Errorf("it is looked for in partition %d", p)
	}

	w = newWorld(t)
	w.topics[k.Topic] = 1
	w.now = time.UnixMilli(1795995571301)
	w.wantError("initialize", w.did(w.m.initialize(k, 2, noStart)), nil)
	records, _, e := w.m.read(k, 2)
	w.wantError("read", w.did(records, e), nil)
	w.wantError("write", w.did(w.m.write(k, update{stateEpoch: 2, leaderEpoch: 2, start: 0, complete: 50, batches: []Batch{{0, 49, 2, 1}}})), nil)
	w.wantError("write", w.did(w.m.write(k, update{stateEpoch: 2, leaderEpoch: 2, start: 50, complete: 0, batches: []Batch{{50, 256, 0, 1}}})), nil)
	for i, r := range theirs {
		if !bytes.Equal(w.records[i].Key, r.Key) || !bytes.Equal(w.records[i].Value, r.Value) {
			t.Errorf("record %d is\n%x %x, Kafka's\n%x %x", i, w.records[i].Key, w.records[i].Value, r.Key, r.Value)
		}
	}
}

func TestEpochs(t *testing.T) {
	w := newWorld(t)
	write := func(stateEpoch, leaderEpoch int32) *kerr.Error {
		return w.did(w.m.write(testKey, update{stateEpoch: stateEpoch, leaderEpoch: leaderEpoch, start: 5, complete: 1, batches: []Batch{{6, 6, 2, 1}}}))
	}
	w.wantError("write before the beginning", write(0, 0), kerr.InvalidRequest)
	w.wantError("initialize", w.did(w.m.initialize(testKey, 3, 5)), nil)
	w.wantError("a lower state epoch (SHC-3)", w.did(w.m.initialize(testKey, 2, 7)), kerr.FencedStateEpoch)
	w.wantError("write", w.did(w.m.write(testKey, update{stateEpoch: 3, leaderEpoch: 0, start: noStart, complete: noCount})), nil)
	if s := w.m.held[testKey].state; s.start != 5 || s.complete != 0 {
		t.Errorf("after a write that says nothing: %+v", s)
	}
	records, _, e := w.m.read(testKey, 4)
	w.wantError("read", w.did(records, e), nil)
	w.wantError("write", write(3, 4), nil)
	w.wantError("an earlier leader (SHC-4)", write(3, 3), kerr.FencedLeaderEpoch)
	w.wantError("no leader", write(3, noEpoch), kerr.InvalidRequest)
	w.wantError("a lower state epoch (SHC-3)", write(2, 4), kerr.FencedStateEpoch)
	w.wantError("a higher state epoch", write(4, 4), nil)
	w.wantError("no state epoch", write(noEpoch, 4), kerr.InvalidRequest)
	w.wantError("a range backwards", w.did(w.m.write(testKey, update{stateEpoch: 3, leaderEpoch: 4, start: 5, batches: []Batch{{7, 6, 2, 1}}})), kerr.InvalidRequest)
	w.wantError("begin with no epoch", w.did(w.m.initialize(testKey, noEpoch, 5)), kerr.InvalidRequest)
	if _, _, e := w.m.read(testKey, noEpoch); e != kerr.InvalidRequest {
		t.Errorf("read of nobody: %v", e)
	}
	if _, _, e := w.m.read(testKey, 3); e != kerr.FencedLeaderEpoch {
		t.Errorf("read of an earlier leader: %v", e)
	}
	var s *state
	records, s, e = w.m.read(testKey, 6)
	if e != nil || s.start != 5 || len(s.batches) != 1 || len(records) != 1 {
		t.Errorf("read: %v %v %v", records, s, e)
	}
	w.wantError("read", w.did(records, e), nil)
	w.wantError("the leader before it (SHC-4)", write(3, 4), kerr.FencedLeaderEpoch)
	w.restart()
	w.wantError("the leader before it, after a restart", write(3, 4), kerr.FencedLeaderEpoch)
	w.wantError("begin anew", w.did(w.m.initialize(testKey, 4, 0)), nil)
	if s := w.m.held[testKey].state; s.start != 0 || len(s.batches) != 0 || s.snapshotEpoch != 1 {
		t.Errorf("%+v", s)
	}
	w.wantError("remove", w.did(w.m.remove(testKey)), nil)
	if w.m.held[testKey] != nil {
		t.Error("it is still there")
	}
	w.wantError("write after the end", write(4, 9), kerr.InvalidRequest)
	if records, e := w.m.remove(testKey); e != nil || len(records) != 0 {
		t.Errorf("removing nothing: %v %v", records, e)
	}
	w.wantError("a partition that is not there", w.did(w.m.initialize(Key{"g", testTopic, 3}, 0, 0)), kerr.UnknownTopicOrPartition)
	w.wantError("a partition that cannot be", w.did(w.m.initialize(Key{"g", testTopic, -1}, 0, 0)), kerr.InvalidRequest)
}

// A snapshot follows as many updates as the settings say (SHC-2), and lets the log start rise (SHC-6).
func TestSnapshotsAndPruning(t *testing.T) {
	w := newWorld(t)
	w.settings.UpdatesPerSnapshot = 3
	w.do(coord.Result{Records: first(w.m.initialize(testKey, 0, 0))})
	other := Key{"g", testTopic, 2}
	w.do(coord.Result{Records: first(w.m.initialize(other, 0, 0))})
	types := func(from int) (out []byte) {
		for _, r := range w.records[from:] {
			out = append(out, r.Key[1])
		}
		return out
	}
	for i := range int64(9) {
		w.now = w.now.Add(time.Minute)
		w.wantError("write", w.did(w.m.write(testKey, update{start: i, complete: 0, batches: []Batch{{i + 1, i + 1, 0, 1}}})), nil)
	}
	if got := fmt.Sprint(types(2)); got != "[1 1 1 0 1 1 1 0 1]" {
		t.Errorf("records %s", got)
	}
	w.do(w.m.prune())
	if w.pruned != 1 {
		t.Errorf("records below %d are deleted although offset 1 is the state of a share partition", w.pruned)
	}
	w.do(w.m.snapshotCold())
	if got := fmt.Sprint(types(11)); got != "[0]" {
		t.Errorf("records %s for the quiet one", got)
	}
	w.do(w.m.prune())
	if w.pruned != 9 {
		t.Errorf("records below %d are deleted", w.pruned)
	}
	before := fmt.Sprint(*w.m.held[testKey], *w.m.held[other])
	w.start = w.pruned
	w.restart()
	if after := fmt.Sprint(*w.m.held[testKey], *w.m.held[other]); len(w.m.held) != 2 || w.m.held[testKey].start != 8 || w.m.held[other].start != 0 {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
	w.now = w.now.Add(time.Hour)
	w.do(w.m.snapshotCold())
	n := len(w.records)
	w.now = w.now.Add(time.Hour)
	w.do(w.m.snapshotCold())
	if len(w.records) != n {
		t.Error("share partitions that are all quiet are written again")
	}
	w.do(w.m.dropTopics(map[record.UUID]struct{}{testTopic: {}}))
	w.do(w.m.prune())
	if len(w.m.held) != 0 || int(w.pruned) != len(w.records) {
		t.Errorf("%d left, pruned to %d of %d", len(w.m.held), w.pruned, len(w.records))
	}
}

func first(records []coord.Record, _ *kerr.Error) []coord.Record { return records }

// Records that cannot be understood are an error, unknown types are not; nothing panics.
func TestBadRecords(t *testing.T) {
	w := newWorld(t)
	r := snapshotRecord(testKey, &state{start: 4, batches: []Batch{{4, 9, 2, 1}}})
	for n := range r.Value {
		if err := w.m.Replay(coord.Replayed{Key: r.Key, Value: r.Value[:n]}); err == nil && n < len(r.Value)-1 {
			t.Errorf("a value of %d of %d bytes is accepted", n, len(r.Value))
		}
	}
	for n := range r.Key {
		if err := w.m.Replay(coord.Replayed{Key: r.Key[:n], Value: r.Value}); err == nil {
			t.Errorf("a key of %d of %d bytes is accepted", n, len(r.Key))
		}
	}
	if err := w.m.Replay(coord.Replayed{Key: []byte{0, 77}, Value: r.Value}); err != nil {
		t.Errorf("unknown type: %v", err)
	}
	u := updateRecord(testKey, 0, update{start: noStart, leaderEpoch: 3, complete: 4, batches: []Batch{{4, 9, 2, 1}}})
	w = newWorld(t)
	w.do(coord.Result{Records: []coord.Record{u}})
	if s := w.m.held[testKey].state; s.start != noStart || s.leaderEpoch != 3 || len(s.batches) != 1 {
		t.Errorf("an update alone: %+v", s)
	}
}
