package txn

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/record"
)

// The partitions of __transaction_state that Apache Kafka 4.4 has written (testdata) are understood, and every record
// of theirs would be written with the same bytes.
func TestPartitionsOfKafka(t *testing.T) {
	w := newWorld(t)
	count := 0
	for p := range 2 {
		for _, r := range logOf(t, fmt.Sprintf("testdata/%s-%d.log.gz", TransactionsTopic, p)) {
			if err := w.m.Replay(coord.Replayed{Offset: r.Offset, ProducerID: record.NoProducerID, Key: r.Key, Value: r.Value}); err != nil {
				t.Fatal(err)
			}
			id := string(r.Key[4:])
			state := w.state(id)
			if again := recordOf(&state, 1); !bytes.Equal(again.Key, r.Key) || !bytes.Equal(again.Value, r.Value) {
				t.Errorf("partition %d, offset %d: %+v\n%x is\n%x", p, r.Offset, state, again.Value, r.Value)
			}
			if want := coord.PartitionFor(id, 2); want != int32(p) {
				t.Errorf("%s stands in partition %d, looked for in %d", id, p, want)
			}
			count++
		}
	}
	if count < 350 {
		t.Errorf("%d records", count)
	}
	// As Kafka's dump tool shows them.
	for id, want := range map[string]string{"golden-0": "7/30 CompleteCommit", "golden-1": "8/30 CompleteAbort", "golden-2": "9/30 CompleteCommit", "golden-open": "10/0 Ongoing"} {
		s := w.state(id)
		if got := fmt.Sprintf("%d/%d %v", s.producerID, s.epoch, s.state); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
}

// Records that cannot be understood are an error, unknown types are not; nothing panics.
func TestBadRecords(t *testing.T) {
	good := idle(Ongoing, 7, 3)
	good.partitions = []record.TopicPartition{{Topic: "t", Partition: 4}}
	r := recordOf(&good, 1)
	replay := func(key, value []byte) error {
		return newWorld(t).m.Replay(coord.Replayed{Key: key, Value: value})
	}
	for n := range r.Value {
		if err := replay(r.Key, r.Value[:n]); err == nil && n < len(r.Value)-1 {
			t.Errorf("a value of %d of %d bytes is accepted", n, len(r.Value))
		}
	}
	for n := range r.Key {
		if err := replay(r.Key[:n], r.Value); err == nil {
			t.Errorf("a key of %d of %d bytes is accepted", n, len(r.Key))
		}
	}
	for _, state := range []int8{-1, 7, 8, 127} {
		bad := slices.Clone(r.Value)
		bad[2+8+2+4] = byte(state)
		if err := replay(r.Key, bad); err == nil {
			t.Errorf("state %d is accepted", state)
		}
	}
	if err := replay(append([]byte{0, 9}, r.Key[2:]...), r.Value); err != nil {
		t.Errorf("an unknown type: %v", err)
	}
}

func logOf(t *testing.T, name string) (records []record.Record) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	for s := record.NewScanner(b); s.Next(); {
		rs := s.Batch().Records(1 << 20)
		for rs.Next() {
			r := rs.Record()
			r.Key, r.Value = slices.Clone(r.Key), slices.Clone(r.Value)
			records = append(records, r)
		}
		if err := rs.Err(); err != nil {
			t.Fatal(err)
		}
		rs.Close()
	}
	return records
}
