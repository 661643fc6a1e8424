package producer

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/samsalog/samsa/record"
)

const day = 24 * time.Hour

// partition plays a log: it gives out offsets and keeps what is accepted.
type partition struct {
	*State
	end record.Offset
	now int64
}

func newPartition() *partition { return &partition{State: New(Fixed(day)), now: 1000} }

// data is a batch of n records of producer 7.
type data struct {
	epoch record.ProducerEpoch
	seq   record.Sequence
	n     int32
	txn   bool
}

func (d data) header(at record.Offset) *record.Header {
	h := &record.Header{BaseOffset: at, Magic: 2, LastOffsetDelta: d.n - 1, Count: d.n, ProducerID: 7, ProducerEpoch: d.epoch,
		BaseSequence: d.seq, MaxTimestamp: 1000}
	if d.txn {
		h.Attributes = 1 << 4
	}
	return h
}

func (p *partition) append(d data, r Rules) error {
	h := d.header(p.end)
	if err := p.Stage(h, nil, r); err != nil {
		p.Discard()
		return err
	}
	p.end = h.NextOffset()
	p.Commit(p.end, p.now)
	return nil
}

func (p *partition) mark(epoch record.ProducerEpoch, m record.EndTxnMarker, r Rules) ([]CompletedTxn, error) {
	h := data{epoch: epoch, seq: -1, n: 1, txn: true}.header(p.end)
	h.Attributes |= 1 << 5
	if err := p.Stage(h, &m, r); err != nil {
		p.Discard()
		return nil, err
	}
	p.end++
	return p.Commit(p.end, p.now), nil
}

var client = Rules{Source: FromClient}

// TestSequences: what a client's batch must look like after others.
func TestSequences(t *testing.T) {
	const last = math.MaxInt32
	for _, test := range []struct {
		name   string
		before []data
		next   data
		want   error
	}{
		{"unknown producer, any sequence", nil, data{seq: 77, n: 1}, nil},
		{"next", []data{{n: 3}}, data{seq: 3, n: 1}, nil},
		{"gap", []data{{n: 3}}, data{seq: 4, n: 1}, ErrOutOfOrderSequence},
		{"overlap", []data{{n: 3}}, data{seq: 2, n: 2}, ErrOutOfOrderSequence},
		{"wraps after 2^31-1", []data{{seq: last, n: 1}}, data{seq: 0, n: 1}, nil},
		{"wraps inside a batch", []data{{seq: last - 1, n: 3}}, data{seq: 1, n: 1}, nil},
		{"new epoch at 0", []data{{n: 3}}, data{epoch: 1, n: 1}, nil},
		{"new epoch, skipping some", []data{{n: 3}}, data{epoch: 9, n: 1}, nil},
		{"new epoch not at 0", []data{{n: 3}}, data{epoch: 1, seq: 3, n: 1}, ErrOutOfOrderSequence},
		{"old epoch", []data{{epoch: 2, n: 3}}, data{epoch: 1, seq: 3, n: 1}, ErrInvalidProducerEpoch},
		{"negative epoch", []data{{n: 3}}, data{epoch: -1, seq: 3, n: 1}, ErrInvalidProducerEpoch},
		{"plain in an open transaction", []data{{n: 1, txn: true}}, data{seq: 1, n: 1}, ErrInvalidTxnState},
		{"transactional goes on", []data{{n: 1, txn: true}}, data{seq: 1, n: 1, txn: true}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newPartition()
			for _, d := range test.before {
				if err := p.append(d, client); err != nil {
					t.Fatal(err)
				}
			}
			before := fmt.Sprint(p.Entries())
			if err := p.append(test.next, client); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			if after := fmt.Sprint(p.Entries()); (after == before) != (test.want != nil) {
				t.Errorf("state %s, before %s (PROD-1)", after, before)
			}
			// Neither coordinators nor the log itself are held to sequences; the log not even to epochs.
			p = newPartition()
			for _, d := range append(test.before, test.next) {
				if err := p.append(d, Rules{Source: FromLog}); err != nil {
					t.Errorf("from the log: %v", err)
				}
			}
		})
	}
}

func TestDuplicates(t *testing.T) {
	p := newPartition()
	for i := range 8 {
		if err := p.append(data{seq: record.Sequence(2 * i), n: 2}, client); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 8 {
		b, ok := p.Duplicate(data{seq: record.Sequence(2 * i), n: 2}.header(99))
		if ok != (i >= 3) || ok && (b.FirstOffset() != record.Offset(2*i) || b.LastOffset != record.Offset(2*i+1) || b.Timestamp != 1000) {
			t.Errorf("batch %d: %+v, %v", i, b, ok)
		}
	}
	for _, d := range []data{{seq: 14, n: 1}, {seq: 13, n: 2}, {seq: 12, n: 4}, {epoch: 1, seq: 14, n: 2}} {
		if b, ok := p.Duplicate(d.header(99)); ok {
			t.Errorf("%+v was taken for %+v", d, b)
		}
	}
	// A batch across the wrap is found too.
	p = newPartition()
	wrap := data{seq: math.MaxInt32 - 1, n: 4}
	if err := p.append(wrap, client); err != nil {
		t.Fatal(err)
	}
	if _, ok := p.Duplicate(wrap.header(99)); !ok {
		t.Error("the batch across the wrap is not known")
	}
}

func TestMarkers(t *testing.T) {
	commit := func(e int32) record.EndTxnMarker {
		return record.EndTxnMarker{Type: record.ControlCommit, CoordinatorEpoch: e}
	}
	coordinator := Rules{Source: FromCoordinator}
	v2 := Rules{Source: FromCoordinator, TxnVersion: 2}
	for _, test := range []struct {
		name  string
		open  bool
		known record.ProducerEpoch
		epoch record.ProducerEpoch
		coord int32
		rules Rules
		want  error
	}{
		{"same epoch", true, 3, 3, 5, coordinator, nil},
		{"newer epoch", true, 3, 4, 5, coordinator, nil},
		{"older epoch", true, 3, 2, 5, coordinator, ErrInvalidProducerEpoch},
		{"older coordinator", true, 3, 3, 4, coordinator, ErrCoordinatorFenced},
		{"version 2, bumped", true, 3, 4, 5, v2, nil},
		{"version 2, not bumped", true, 3, 3, 5, v2, ErrInvalidProducerEpoch},
		{"version 2, retry", false, 3, 3, 5, v2, nil},
		{"version 2, no more epochs", true, 32767, 32767, 5, v2, nil},
		{"from the log", true, 3, 2, 4, Rules{Source: FromLog}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newPartition()
			if err := p.append(data{epoch: test.known, n: 1, txn: true}, client); err != nil {
				t.Fatal(err)
			}
			if _, err := p.mark(test.known, commit(5), Rules{Source: FromLog}); err != nil {
				t.Fatal(err)
			}
			if test.open {
				if err := p.append(data{epoch: test.known, seq: 1, n: 1, txn: true}, client); err != nil {
					t.Fatal(err)
				}
			}
			done, err := p.mark(test.epoch, commit(test.coord), test.rules)
			if !errors.Is(err, test.want) || len(done) != b2i(test.open && err == nil) {
				t.Errorf("%+v, %v, want %v", done, err, test.want)
			}
			e := p.Entries()[0]
			if err == nil && (e.ProducerEpoch != test.epoch || e.CoordinatorEpoch != test.coord || e.CurrentTxnFirstOffset != -1) {
				t.Errorf("%+v", e)
			}
			// With another epoch there is no batch any more, and the next one begins at 0.
			if err == nil && test.epoch != test.known && (e.LastOffset != -1 || e.LastSequence != -1) {
				t.Errorf("%+v", e)
			}
		})
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestUnstable follows the first unstable offset through transactions that overlap.
func TestUnstable(t *testing.T) {
	p := newPartition()
	batch := func(id record.ProducerID, txn bool) {
		h := data{n: 2, txn: txn}.header(p.end)
		h.ProducerID = id
		if err := p.Stage(h, nil, Rules{Source: FromLog}); err != nil {
			t.Fatal(err)
		}
		p.end += 2
		p.Commit(p.end, 0)
	}
	end := func(id record.ProducerID, kind record.ControlType) CompletedTxn {
		h := data{n: 1, txn: true}.header(p.end)
		h.ProducerID, h.Attributes = id, h.Attributes|1<<5
		if err := p.Stage(h, &record.EndTxnMarker{Type: kind}, Rules{Source: FromLog}); err != nil {
			t.Fatal(err)
		}
		p.end++
		return p.Commit(p.end, 0)[0]
	}
	unstable := func(want record.Offset) {
		t.Helper()
		got, ok := p.FirstUnstableOffset()
		if got != want || ok != (want >= 0) {
			t.Errorf("first unstable offset %d, %v; want %d (PROD-3)", got, ok, want)
		}
	}
	unstable(-1)
	batch(1, false) // 0
	unstable(-1)
	batch(2, true) // 2
	batch(3, true) // 4
	batch(2, true) // 6
	unstable(2)
	if c := end(3, record.ControlAbort); c != (CompletedTxn{3, 4, 8, true, 2}) {
		t.Errorf("%+v", c)
	}
	unstable(2)
	if c := end(2, record.ControlCommit); c != (CompletedTxn{2, 2, 9, false, 10}) {
		t.Errorf("%+v", c)
	}
	unstable(2) // the markers are not committed yet
	p.HighWatermark(9)
	unstable(2) // that of 3 is, and 2's at 9 is not
	p.HighWatermark(10)
	unstable(-1)
	batch(4, true) // 10
	end(4, record.ControlAbort)
	p.LogStart(13)
	unstable(-1)
	if p.MapEnd() != 13 {
		t.Error(p.MapEnd())
	}
}

// TestOneAppendOfMany: batches of one append are checked against each other, and all or none count.
func TestOneAppendOfMany(t *testing.T) {
	p := newPartition()
	stage := func(list ...data) (err error) {
		at := p.end
		for _, d := range list {
			h := d.header(at)
			if err = p.Stage(h, nil, client); err != nil {
				p.Discard()
				return err
			}
			at = h.NextOffset()
		}
		p.end = at
		p.Commit(at, 0)
		return nil
	}
	if err := stage(data{n: 1}, data{seq: 1, n: 1}); err != nil {
		t.Fatal(err)
	}
	if err := stage(data{seq: 2, n: 1}, data{seq: 4, n: 1}); !errors.Is(err, ErrOutOfOrderSequence) || p.Entries()[0].LastSequence != 1 {
		t.Errorf("%v, %+v", err, p.Entries())
	}
	if err := stage(data{seq: 2, n: 1}, data{seq: 3, n: 1}); err != nil || p.Entries()[0].LastSequence != 3 {
		t.Errorf("%v, %+v", err, p.Entries())
	}
}

// TestVerification follows KIP-890: a transaction begins only with the guard of its own verification.
func TestVerification(t *testing.T) {
	with := func(guard int64) Rules { return Rules{Source: FromClient, Verify: true, Guard: guard} }
	begin := data{n: 1, txn: true}
	p := newPartition()
	if err := p.append(begin, with(NoGuard)); !errors.Is(err, ErrInvalidTxnState) {
		t.Errorf("without guard: %v", err)
	}
	g := p.StartVerification(7, 0, 0, false, 0)
	if g == NoGuard || p.StartVerification(7, 5, 0, false, 0) != g {
		t.Error("the guard of one verification changes")
	}
	if err := p.append(begin, with(g+1)); !errors.Is(err, ErrInvalidTxnState) {
		t.Errorf("with a wrong guard: %v", err)
	}
	if err := p.append(data{seq: 5, n: 1, txn: true}, with(g)); !errors.Is(err, ErrOutOfOrderSequence) {
		t.Errorf("above the lowest sequence: %v", err)
	}
	if err := p.append(begin, with(g)); err != nil {
		t.Fatal(err)
	}
	if p.StartVerification(7, 1, 0, false, 0) != NoGuard {
		t.Error("an open transaction needs no verification")
	}
	if err := p.append(data{seq: 1, n: 1, txn: true}, with(NoGuard)); err != nil {
		t.Errorf("in the open transaction: %v", err)
	}
	// The marker ends it; a verification that belongs to the next transaction stays.
	next := p.StartVerification(7, 0, 1, true, 0)
	if _, err := p.mark(1, record.EndTxnMarker{Type: record.ControlCommit}, Rules{Source: FromCoordinator, TxnVersion: 2}); err != nil {
		t.Fatal(err)
	}
	if err := p.append(data{epoch: 1, seq: 3, n: 1, txn: true}, with(next)); !errors.Is(err, ErrOutOfOrderSequence) {
		t.Errorf("a version 2 transaction that does not begin at 0: %v", err)
	}
	if err := p.append(data{epoch: 1, n: 1, txn: true}, with(next)); err != nil {
		t.Errorf("the next transaction: %v", err)
	}
	if _, err := p.mark(2, record.EndTxnMarker{Type: record.ControlAbort}, Rules{Source: FromCoordinator, TxnVersion: 2}); err != nil {
		t.Fatal(err)
	}
	if err := p.append(data{epoch: 2, n: 1, txn: true}, with(next)); !errors.Is(err, ErrInvalidTxnState) {
		t.Errorf("an old guard: %v", err)
	}
	if err := p.append(data{epoch: 1, n: 1, txn: true}, with(next)); !errors.Is(err, ErrInvalidProducerEpoch) {
		t.Errorf("an old epoch: %v", err)
	}
}

func TestExpire(t *testing.T) {
	p := newPartition()
	p.now = 5000 // appended at, with timestamp 1000
	if err := p.append(data{n: 1}, client); err != nil {
		t.Fatal(err)
	}
	ms := day.Milliseconds()
	if n := p.Expire(5000 + ms - 1); n != 0 {
		t.Error("expired early")
	}
	if n := p.Expire(5000 + ms); n != 1 || p.Len() != 0 {
		t.Error("not expired")
	}
	if err := p.append(data{seq: 9, n: 1, txn: true}, client); err != nil {
		t.Fatal(err)
	}
	if n := p.Expire(9 * ms); n != 0 {
		t.Error("expired with an open transaction")
	}
}

func TestRecall(t *testing.T) {
	var log []*record.Header
	add := func(id record.ProducerID, epoch record.ProducerEpoch, seq record.Sequence) {
		h := data{epoch: epoch, seq: seq, n: 1}.header(record.Offset(len(log)))
		h.ProducerID = id
		log = append(log, h)
	}
	for i := range 9 {
		add(1, 0, record.Sequence(i))
	}
	add(2, 0, 0)
	add(2, 1, 0)
	add(2, 1, 1)
	add(3, 0, 7)
	s := New(Fixed(day))
	s.Load(13, []Entry{
		{ProducerID: 1, LastSequence: 8, LastOffset: 8, CurrentTxnFirstOffset: -1},
		{ProducerID: 2, ProducerEpoch: 1, LastSequence: 1, LastOffset: 11, CurrentTxnFirstOffset: -1},
		{ProducerID: 3, LastSequence: 7, LastOffset: 12, CurrentTxnFirstOffset: -1},
		{ProducerID: 4, LastSequence: -1, LastOffset: -1, CurrentTxnFirstOffset: -1},
	}, 0)
	r := s.Recall()
	if r.Wanted() != 3 || r.Before() != 12 {
		t.Errorf("%d wanted before %d", r.Wanted(), r.Before())
	}
	for _, window := range [][2]int{{10, 13}, {6, 10}, {2, 6}, {0, 2}} {
		for _, h := range log[window[0]:window[1]] {
			r.Show(h)
		}
		r.EndWindow()
	}
	if r.Wanted() != 1 { // 3 was never complete: nothing says that there is no more
		t.Errorf("%d are still wanted", r.Wanted())
	}
	var known []string
	for i, h := range log {
		if b, ok := s.Duplicate(h); ok {
			known = append(known, fmt.Sprint(b.FirstOffset()))
			if int(b.FirstOffset()) != i {
				t.Errorf("batch %d was taken for %+v", i, b)
			}
		}
	}
	if got := strings.Join(known, " "); got != "4 5 6 7 8 10 11 12" {
		t.Errorf("known after recall: %s (PROD-2)", got)
	}
}
