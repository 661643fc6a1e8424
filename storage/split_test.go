package storage

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/samsalog/samsa/record"
)

// overflowing installs a log whose first segment holds offsets more than 2^31-1 above its base, as compaction of old
// releases left them, and a second one.
func (w *world) overflowing(damage bool) []string {
	var log []byte
	var want []string
	for i, o := range []record.Offset{3, 10, math.MaxInt32, math.MaxInt32 + 5, 3 * math.MaxInt32, 3*math.MaxInt32 + 1} {
		opts := record.DefaultBuilderOptions()
		opts.BaseOffset = o
		b := record.NewBuilder(opts)
		b.Append(startMs+int64(i), nil, fmt.Appendf(nil, "value %d", i), nil)
		batch := b.Build()
		if damage && i == 1 {
			batch[len(batch)-1] ^= 1
		}
		log = append(log, batch...)
		want = append(want, fmt.Sprintf("%d=value %d", o, i))
	}
	opts := record.DefaultBuilderOptions()
	opts.BaseOffset = 7000000000
	last := record.NewBuilder(opts)
	last.Append(startMs, nil, []byte("last"), nil)
	want = append(want, "7000000000=last")
	w.install(map[string][]byte{
		"00000000000000000000.log": log, "00000000000000000000.index": nil, "00000000000000000000.timeindex": nil,
		"00000000007000000000.log": last.Build(), "00000000007000000000.index": nil, "00000000007000000000.timeindex": nil,
	})
	return want
}

// An overflowing segment becomes several at load, after a clean stop and after a crash, and nothing is lost.
func TestOverflowingSegmentIsSplit(t *testing.T) {
	for _, clean := range []bool{false, true} {
		w := newWorld(t)
		want := w.overflowing(false)
		l := w.open(func(o *Options) { o.Clean = clean })
		if got := w.contents(l); !slices.Equal(got, want) {
			t.Fatalf("clean %v: %q", clean, got)
		}
		var bases []record.Offset
		for _, s := range l.Segments() {
			bases = append(bases, s.BaseOffset)
		}
		if !slices.Equal(bases, []record.Offset{0, math.MaxInt32 + 5, 3 * math.MaxInt32, 7000000000}) {
			t.Fatalf("clean %v: segments at %d", clean, bases)
		}
		for _, e := range w.events {
			if e.Kind == TailCut || e.Kind == DamageKept || e.Kind == SegmentsDropped {
				t.Fatal(e)
			}
		}
		w.pass(2 * time.Minute)
		for name := range w.files("/data/t-0") {
			if strings.HasSuffix(name, ".deleted") || strings.HasSuffix(name, ".swap") || strings.HasSuffix(name, ".cleaned") {
				t.Fatalf("%s is left", name)
			}
		}
		w.close(l)
		l = w.open(func(o *Options) { o.Clean = true })
		if got := w.contents(l); !slices.Equal(got, want) {
			t.Fatalf("again: %q", got)
		}
		l.Abandon()
	}
}

// A damaged one is left as it is: recovery judges.
func TestOverflowingSegmentWithDamageIsLeft(t *testing.T) {
	w := newWorld(t)
	w.overflowing(true)
	l := w.open(clean, recoverFrom(7000000000))
	defer l.Abandon()
	if n := len(l.Segments()); n != 2 {
		t.Fatalf("%d segments", n)
	}
}
