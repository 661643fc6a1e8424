package index

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// fromKafka returns the content of a file that Apache Kafka 4.4.0 wrote.
func fromKafka(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// FuzzTxn opens arbitrary bytes as an index of aborted transactions: nothing may panic, what passes Sanity is found by Collect
// exactly where it overlaps, and truncation and new entries leave a sound file.
func FuzzTxn(f *testing.F) {
	whole := fromKafka(f, "txn.txnindex")
	f.Add(whole, int64(100), int64(50))
	f.Add(whole[:len(whole)-5], int64(0), int64(1<<40))
	f.Add(make([]byte, 340), int64(-1), int64(3))
	f.Add([]byte{}, int64(0), int64(0))
	f.Fuzz(func(t *testing.T, data []byte, at, length int64) {
		mem := vfs.NewMem()
		writeFile(t, mem, "/0.txnindex", data)
		x, err := OpenTxn(vfs.NewHandles(mem, 2), "/0.txnindex", 0)
		if err != nil {
			return
		}
		defer x.Close()
		from, to := record.Offset(at), record.Offset(at)+record.Offset(length)
		sane := x.Sanity() == nil
		list, _, err := x.Collect(from, to)
		if sane {
			all, allErr := x.All()
			if err != nil || allErr != nil {
				t.Fatalf("sane, but %v, %v", err, allErr)
			}
			for _, a := range list {
				if !slices.Contains(all, a) || a.LastOffset < from || a.FirstOffset >= to {
					t.Fatalf("%d to %d: %+v does not overlap", from, to, a)
				}
			}
		}
		if x.Truncate(from) != nil || !sane {
			return
		}
		if err := x.Sanity(); err != nil {
			t.Fatalf("truncated to %d: %v", from, err)
		}
	})
}
