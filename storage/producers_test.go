package storage

import (
	"errors"
	"testing"
	"time"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/producer"
)

// TestR28LastFiveBatches: whichever of the last five batches of each producer a client repeats, after a stop in order and
// after a kill, it is a duplicate, although a snapshot keeps one only. X-08 asks the same.
func TestR28LastFiveBatches(t *testing.T) {
	for _, stop := range []string{"clean", "killed", "killed after a roll", "killed, no roll yet"} {
		t.Run(stop, func(t *testing.T) {
			w := newWorld(t)
			w.config.SegmentBytes, w.config.IndexIntervalBytes = 20000, 100
			if stop == "killed, no roll yet" {
				w.config.SegmentBytes = 1 << 20
			}
			l := w.open()
			sent := map[record.ProducerID][]AppendInfo{}
			seq := map[record.ProducerID]record.Sequence{}
			for i := range 400 {
				id := record.ProducerID(i % 7)
				info := w.append(l, from{id: id, seq: seq[id]}.batch(1+i%3), AppendOptions{LeaderEpoch: 0})
				sent[id] = append(sent[id], info)
				seq[id] += record.Sequence(info.Count)
				w.append(l, batchOf(startMs, "between"), AppendOptions{LeaderEpoch: 0})
				w.pass(0)
			}
			if stop == "killed after a roll" {
				if err := l.Roll(); err != nil {
					t.Fatal(err)
				}
				w.pass(0)
			}
			if stop == "clean" {
				w.close(l)
				l = w.open(clean)
			} else {
				l.Abandon()
				l = w.open(recoverFrom(l.RecoveryPoint()))
			}
			defer l.Abandon()
			end := l.LogEndOffset()
			for id, list := range sent {
				at := seq[id]
				for k := 1; k <= 6; k++ {
					was := list[len(list)-k]
					at -= record.Sequence(was.Count)
					info, err := l.Append(from{id: id, seq: at}.batch(int(was.Count)), AppendOptions{})
					if k <= 5 && (err != nil || !info.Duplicate || info.FirstOffset != was.FirstOffset || info.LastOffset != was.LastOffset) {
						t.Errorf("producer %d, %d from the end: %+v, %v, want %+v", id, k, info, err, was)
					}
					if k == 6 && !errors.Is(err, producer.ErrOutOfOrderSequence) {
						t.Errorf("producer %d, sixth from the end: %+v, %v", id, info, err)
					}
				}
			}
			if l.LogEndOffset() != end {
				t.Errorf("the log grew from %d to %d", end, l.LogEndOffset())
			}
		})
	}
}

// TestX06IdleProducer: after its expiry nothing is known of a producer, and it may go on with any sequence.
func TestX06IdleProducer(t *testing.T) {
	w := newWorld(t)
	l := w.open()
	defer l.Abandon()
	w.append(l, from{id: 3}.batch(5), AppendOptions{})
	w.pass(DefaultProducerExpiry - time.Minute)
	if _, err := l.Append(from{id: 3, seq: 99}.batch(1), AppendOptions{}); !errors.Is(err, producer.ErrOutOfOrderSequence) {
		t.Errorf("before the expiry: %v", err)
	}
	w.pass(2 * time.Minute)
	if n := l.ExpireProducers(); n != 1 || len(l.Producers()) != 0 {
		t.Errorf("%d producers expired, %+v are left", n, l.Producers())
	}
	w.append(l, from{id: 3, seq: 99}.batch(1), AppendOptions{})
	// A producer at work does not expire, however old its records are.
	w.pass(DefaultProducerExpiry - time.Minute)
	w.append(l, from{id: 3, seq: 100, ts: startMs}.batch(1), AppendOptions{})
	w.pass(time.Hour)
	if l.ExpireProducers(); len(l.Producers()) != 1 {
		t.Error("a producer of back-dated records has expired an hour after its last append")
	}
}

// TestX06ExpiryChanges: another expiry time holds for producers that are known already.
func TestX06ExpiryChanges(t *testing.T) {
	w := newWorld(t)
	expiry := time.Hour
	l := w.open(func(o *Options) { o.ProducerExpiry = func() time.Duration { return expiry } })
	defer l.Abandon()
	w.append(l, from{id: 3}.batch(5), AppendOptions{})
	w.pass(30 * time.Minute)
	if n := l.ExpireProducers(); n != 0 {
		t.Errorf("%d expired before their hour", n)
	}
	expiry = time.Minute
	if n := l.ExpireProducers(); n != 1 {
		t.Errorf("%d expired after the minute that holds now", n)
	}
}
