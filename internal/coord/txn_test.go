package coord

import (
	"errors"
	"testing"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/producer"
)

// A transaction's records stand in batches of their producer and count only when the marker is written; after a
// restart the same is read.
func TestTransactionsOfProducers(t *testing.T) {
	p := newPartition(t, nil)
	r := newRuntime(t, Options[*counter]{})
	r.Elected(0, p)
	<-r.Settled(0)
	write := func(what Result) error { return run(t, r, func(*counter) Result { return what }) }
	txn := func(id record.ProducerID, epoch record.ProducerEpoch) *Txn {
		guard, err := r.StartVerification(0, id, epoch, true)
		if err != nil {
			t.Fatal(err)
		}
		return &Txn{ProducerID: id, ProducerEpoch: epoch, Guard: guard}
	}
	for i, step := range []struct {
		what Result
		want string
	}{
		{Result{Records: []Record{add("a", 1), add("a", 2)}, Txn: txn(7, 3)}, ""},
		{Result{Records: []Record{add("b", 5)}}, "b=5"},
		{Result{Records: []Record{add("c", 9)}, Txn: txn(8, 0)}, "b=5"},
		{Result{Marker: &Marker{ProducerID: 7, ProducerEpoch: 4, Commit: true, CoordinatorEpoch: 6, TxnVersion: 2}}, "a=3 b=5"},
		{Result{Marker: &Marker{ProducerID: 8, ProducerEpoch: 1, CoordinatorEpoch: 6, TxnVersion: 2}}, "a=3 b=5"},
	} {
		if err := write(step.what); err != nil {
			t.Fatal(err)
		}
		if got := sums(t, r); got != step.want {
			t.Errorf("step %d: %q, want %q", i, got, step.want)
		}
	}
	// A producer's refusal is told as it is, and nothing is applied.
	for _, c := range []struct {
		what Result
		want error
	}{
		{Result{Records: []Record{add("a", 1)}, Txn: &Txn{ProducerID: 7, ProducerEpoch: 3}}, producer.ErrInvalidProducerEpoch},
		{Result{Marker: &Marker{ProducerID: 7, ProducerEpoch: 4, Commit: true, CoordinatorEpoch: 5}}, producer.ErrCoordinatorFenced},
	} {
		if err := write(c.what); !errors.Is(err, c.want) {
			t.Errorf("%v, want %v", err, c.want)
		}
	}
	want := sums(t, r)
	batches := p.written()
	if h := batches[0].Header(); !h.IsTransactional() || h.ProducerID != 7 || h.ProducerEpoch != 3 || h.BaseSequence != 0 || h.Count != 2 {
		t.Errorf("the batch of a transaction: %+v", h)
	}
	if h := batches[3].Header(); !h.IsControl() || !h.IsTransactional() || h.ProducerEpoch != 4 || h.BaseSequence != -1 || h.Count != 1 {
		t.Errorf("a marker: %+v", h)
	}
	r.Resigned(0)
	p.epoch++
	r.Elected(0, p)
	<-r.Settled(0)
	if got := sums(t, r); got != want {
		t.Errorf("after a restart: %q, want %q", got, want)
	}
}

// key and value of a marker are Kafka's, byte for byte.
func TestX04MarkerBytes(t *testing.T) {
	for _, c := range []struct {
		commit bool
		key    string
	}{{false, "\x00\x00\x00\x00"}, {true, "\x00\x00\x00\x01"}} {
		b := Marker{ProducerID: 5, ProducerEpoch: 2, Commit: c.commit, CoordinatorEpoch: 0x01020304}.Batch(1700000000000)
		records := b.Records(1 << 20)
		if !records.Next() {
			t.Fatal(records.Err())
		}
		got := records.Record()
		if string(got.Key) != c.key || string(got.Value) != "\x00\x00\x01\x02\x03\x04" || got.Timestamp != 1700000000000 {
			t.Errorf("commit %v: key %x, value %x, time %d", c.commit, got.Key, got.Value, got.Timestamp)
		}
		records.Close()
		if err := b.CheckCRC(); err != nil {
			t.Error(err)
		}
	}
}
