package cleaner

import (
	"math"
	"slices"
	"testing"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/index"
)

func TestPack(t *testing.T) {
	most := limits{segment: 100, index: 50}
	for name, c := range map[string]struct {
		list []sized
		end  record.Offset
		want []int
	}{
		"none":          {nil, 0, nil},
		"one":           {[]sized{{base: 0, log: 500}}, 10, []int{1}},
		"bytes":         {[]sized{{0, 60, 1, 1}, {1, 40, 1, 1}, {2, 1, 1, 1}}, 3, []int{2, 1}},
		"offset index":  {[]sized{{0, 1, 30, 1}, {1, 1, 20, 1}, {2, 1, 1, 1}}, 3, []int{2, 1}},
		"time index":    {[]sized{{0, 1, 1, 30}, {1, 1, 1, 21}}, 3, []int{1, 1}},
		"offsets":       {[]sized{{0, 1, 0, 0}, {10, 1, 0, 0}, {math.MaxInt32 + 1, 1, 0, 0}}, math.MaxInt32 + 5, []int{2, 1}},
		"offsets exact": {[]sized{{0, 1, 0, 0}, {10, 1, 0, 0}}, math.MaxInt32 + 1, []int{2}},
		"last too far":  {[]sized{{0, 1, 0, 0}, {10, 1, 0, 0}}, math.MaxInt32 + 2, []int{1, 1}},
		"empty ones":    {[]sized{{0, 0, 0, 0}, {math.MaxInt32, 0, 0, 0}, {3 * math.MaxInt32, 0, 0, 0}}, 4 * math.MaxInt32, []int{3}},
	} {
		if got := pack(c.list, most, c.end); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func txnHeader(pid record.ProducerID, base, last record.Offset) *record.Header {
	o := record.DefaultBuilderOptions()
	o.BaseOffset, o.ProducerID, o.Transactional = base, pid, true
	b := record.NewBuilder(o)
	b.AppendAt(last, 0, []byte("k"), nil, nil)
	h := b.Build().Header()
	return &h
}

// A transaction index entry whose marker is gone must not make later data of the producer look aborted.
func TestTxnsForgetMarkersThatAreGone(t *testing.T) {
	x := newTxns()
	x.add([]index.AbortedTxn{{ProducerID: 1, FirstOffset: 0, LastOffset: 10}})
	if !x.data(txnHeader(1, 5, 6)) || x.data(txnHeader(2, 7, 7)) || x.data(txnHeader(1, 11, 12)) {
		t.Fatal("wrong data was aborted")
	}
	if useless, _ := x.control(txnHeader(1, 13, 13), &record.EndTxnMarker{Type: record.ControlCommit}); useless {
		t.Fatal("a commit marker with data before it is useless")
	}
}

// Told of the same transactions again and again, as each segment's index does, they count once.
func TestTxnsAddedAgain(t *testing.T) {
	x := newTxns()
	a := index.AbortedTxn{ProducerID: 1, FirstOffset: 0, LastOffset: 20}
	b := index.AbortedTxn{ProducerID: 1, FirstOffset: 30, LastOffset: 40}
	x.add([]index.AbortedTxn{a, b})
	if !x.data(txnHeader(1, 0, 3)) {
		t.Fatal("not aborted")
	}
	x.add([]index.AbortedTxn{a, b})
	useless, entry := x.control(txnHeader(1, 20, 20), &record.EndTxnMarker{Type: record.ControlAbort})
	if useless || entry == nil || *entry != a {
		t.Fatalf("%v %v", useless, entry)
	}
	x.add([]index.AbortedTxn{a, b})
	if len(x.coming) != 1 || x.data(txnHeader(1, 25, 25)) || !x.data(txnHeader(1, 30, 30)) {
		t.Fatalf("%+v", x.coming)
	}
	if useless, entry := x.control(txnHeader(1, 50, 50), &record.EndTxnMarker{Type: record.ControlAbort}); useless || *entry != b {
		t.Fatal("the second one is lost")
	}
}

// candidate rules of the checkpoint.
func TestFirstDirty(t *testing.T) {
	w := start(t, func(c *storage.Config) { c.MinCleanableDirtyRatio = 0.5 })
	for range 3 {
		w.put("a=1", "b=1")
		w.roll()
	}
	if err := w.log.DeleteRecords(1); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		saved    record.Offset
		has      bool
		want     record.Offset
		moved    bool
		eligible bool
	}{
		{0, false, 1, false, true}, {0, true, 1, true, true}, {2, true, 2, false, true}, {4, true, 4, false, false}, {6, true, 6, false, false}, {7, true, 1, true, true},
	} {
		x, err := examine(w.log, c.saved, c.has, w.clock().UnixMilli())
		if err != nil || x.firstDirty != c.want || x.moved != c.moved || x.eligible() != c.eligible || x.firstUncleanable != 6 {
			t.Errorf("saved %d %v: %+v, %v", c.saved, c.has, x, err)
		}
		if x.cleanBytes+x.cleanableBytes+x.uncleanableBytes < w.log.SizeInBytes() {
			t.Errorf("%+v", x)
		}
	}
}

// A log start beyond the active segment's base leaves nothing to compact (KAFKA-9133, KAFKA-9826).
func TestLogStartBeyondActive(t *testing.T) {
	w := start(t)
	w.put("a=1")
	w.roll()
	w.put("a=2", "a=3", "a=4")
	if err := w.log.DeleteRecords(3); err != nil {
		t.Fatal(err)
	}
	x, err := examine(w.log, 0, false, w.clock().UnixMilli())
	if err != nil || x.cleanableBytes != 0 || x.eligible() {
		t.Fatalf("%+v, %v", x, err)
	}
	w.clean()
	w.want("3:a=4")
}

// The modification time of what is replaced stays: retention of records without timestamps goes by it.
func TestModTimeStays(t *testing.T) {
	w := start(t)
	w.put("a=1")
	w.roll()
	w.put("a=2")
	w.roll()
	old := w.clock().Add(-1000 * 3600 * 1e9)
	if err := w.fs.Chtimes(w.log.Segments()[1].Path, old); err != nil {
		t.Fatal(err)
	}
	w.clean()
	if s := w.log.Segments(); len(s) != 2 || !s[0].ModTime.Equal(old) {
		t.Fatalf("%+v", s)
	}
}

// What was appended in a run of one batch goes through untouched.
func TestUntouchedBatchesAreCopied(t *testing.T) {
	w := start(t, func(c *storage.Config) { c.CompressionType = "producer" })
	f := plain
	f.codec = record.Gzip
	w.send(f, "a=1", "b=1")
	before, _ := w.batches(storage.LogEnd)
	w.sealAndClean()
	after, _ := w.batches(storage.LogEnd)
	if len(after) != 1 || !slices.Equal(before[0], after[0]) {
		t.Fatal("a batch that lost nothing was changed")
	}
}
