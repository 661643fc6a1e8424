package cleaner

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/samsalog/samsa/internal/longtest"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/segment"
	"github.com/samsalog/samsa/vfs"
)

func unpaced(context.Context, int) error { return nil }

// told is what a walk tells: a line for each batch, record and error.
type told []string

func (l *told) add(format string, a ...any) { *l = append(*l, fmt.Sprintf(format, a...)) }

// note adds a batch and what its records tell, up to most of them.
func (l *told) note(r *reader, c *checked, most int) {
	l.add("%x at %d", c.batch, c.header.BaseOffset)
	if err := r.entries(c, func(e entry) bool { l.add("%+v", e); most--; return most > 0 }); err != nil {
		l.add("records: %v", err)
	}
}

// serially is what a walk over a segment must tell: one batch after the other out of the whole file.
func serially(t testing.TB, fsys vfs.FS, s *segment.Segment, most int) (l told) {
	a := &ahead{reader: &reader{}, s: s, end: s.Size(), last: record.NoOffset}
	for rest := readFile(t, fsys, s.Path())[:a.end]; a.pos < a.end; {
		h, err := record.ParseHeader(rest)
		switch {
		case err != nil:
			l.add("%v", a.corrupt(err.Error()))
			return l
		case h.SizeInBytes > len(rest):
			l.add("%v", a.corrupt(fmt.Sprintf("a batch of %d bytes of which %d are there", h.SizeInBytes, len(rest))))
			return l
		case !s.Holds(&h) || h.BaseOffset <= a.last:
			l.add("%v", a.corrupt(fmt.Sprintf("offsets %d to %d after %d in a segment from %d on", h.BaseOffset, h.LastOffset(), a.last, s.Base())))
			return l
		}
		b := record.Batch(rest[:h.SizeInBytes])
		if err := b.CheckCRC(); err != nil {
			l.add("%v", a.locate(err, a.pos))
			return l
		}
		l.note(a.reader, &checked{batch: b, header: h, unwalked: true}, most)
		a.pos, rest, a.last = a.pos+int64(h.SizeInBytes), rest[h.SizeInBytes:], h.LastOffset()
	}
	return l
}

// walks has a sealed segment of batches of all kinds, some of which are large, in the first of the codecs.
func walks(t testing.TB, random *rand.Rand, batches, codecs int) (*world, *segment.Segment) {
	w := newWorld(t, vfs.NewMem())
	w.open()
	tx := from{id: 7, transactional: true}
	for i := range batches {
		f := plain
		f.codec = record.Codec(random.IntN(codecs))
		var records []string
		for j := range 1 + random.IntN(30) {
			r := fmt.Sprintf("k%d=%s", random.IntN(50), strings.Repeat("v", random.IntN(9)))
			records = append(records, []string{r, r, fmt.Sprintf("k%d", j), "=none"}[random.IntN(3)])
		}
		switch random.IntN(8) {
		case 0:
			records = append(records, "big="+strings.Repeat("x", 5000))
		case 1:
			w.send(tx, "k=1")
			w.end(tx, record.ControlType(i%2))
		}
		w.send(f, records...)
	}
	w.roll()
	return w, w.log.Cleaning().Sealed[0]
}

// damage changes a byte of a file, and with mend the checksum of its batch as well, so that only the records are broken.
func damage(t testing.TB, w *world, path string, at int, mend bool) {
	b := readFile(t, w.fs, path)
	b[at] ^= 1 << (at % 8)
	for sc := record.NewScanner(b); mend && sc.Next(); {
		x := sc.Batch()
		binary.BigEndian.PutUint32(x[17:], x.ComputeCRC())
	}
	writeFile(t, w.fs, path, b)
}

// TestAheadIsSerial walks logs, damaged ones as well, with pieces of all sizes, and compares with a walk that does one
// thing after the other.
func TestAheadIsSerial(t *testing.T) {
	longtest.Check(t, 40, 2000, func(rt *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		w, s := walks(t, random, 1+random.IntN(40), 5)
		defer w.log.Abandon()
		for range rapid.IntRange(0, 2).Draw(rt, "damages") {
			damage(t, w, s.Path(), random.IntN(int(s.Size())), random.IntN(2) == 0)
		}
		most := rapid.SampledFrom([]int{1, 5, 1 << 30}).Draw(rt, "most")
		want := serially(t, w.fs, s, most)
		r := &reader{size: rapid.SampledFrom([]int{1, 100, 1000, 4096, 20000, 1 << 20}).Draw(rt, "size"), pace: unpaced}
		for range 2 { // the second walk gets the pieces of the first
			var got told
			r.read = 0
			for c, err := range r.batches(t.Context(), s, 0) {
				if err != nil {
					got.add("%v", err)
				} else {
					got.note(r, c, most)
				}
			}
			if !slices.Equal(got, want) {
				rt.Fatalf("pieces of %d: told\n%s\nwant\n%s", r.size, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if r.read > s.Size() {
				rt.Fatalf("%d bytes of %d were read", r.read, s.Size())
			}
		}
		for i := range r.pieces {
			if p := &r.pieces[i]; len(p.entries) > r.mostEntries() || len(p.batches) > max(1, r.mostBatches()) {
				rt.Fatalf("%d entries, %d batches in a piece of %d bytes", len(p.entries), len(p.batches), r.size)
			}
		}
	})
}

// While the other side has something to do batches are taken apart ahead; when it has nothing it does that itself.
func TestAheadWalksWhatItHasTimeFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := walks(t, rand.New(rand.NewPCG(1, 2)), 200, 1) // pooled decoders cannot leave a bubble
		defer w.log.Abandon()
		r := &reader{size: 4096, pace: unpaced}
		want, got := serially(t, w.fs, s, 1<<30), told{}
		data := map[bool]int{}
		for c, err := range r.batches(t.Context(), s, 0) {
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait() // until all pieces are full
			if !c.header.IsControl() {
				data[c.unwalked]++
			} else if !c.unwalked {
				t.Fatal("a control batch was walked")
			}
			got.note(r, c, 1<<30)
		}
		if !slices.Equal(got, want) || data[true] == 0 || data[false] < 10*data[true] || r.read != s.Size() {
			t.Fatalf("%d walked ahead, %d not; %d of %d bytes read", data[false], data[true], r.read, s.Size())
		}
	})
}

// A walk can be left, aborted or fail at any place; then nothing is read any more, and what came before was right.
func TestAheadEndsAnywhere(t *testing.T) {
	w, s := walks(t, rand.New(rand.NewPCG(3, 4)), 25, 5)
	defer w.log.Abandon()
	want := serially(t, w.fs, s, 1<<30)
	boom := errors.New("boom")
	for _, how := range []string{"left", "aborted", "refused", "panic"} {
		ended := false
		for n := 0; !ended; n++ {
			ctx, cancel := context.WithCancel(t.Context())
			over, reads, batches := false, 0, 0
			r := &reader{size: 1000, pace: func(ctx context.Context, _ int) error {
				if over {
					t.Error("read after the end")
				}
				if reads++; reads <= n || how == "left" || how == "aborted" {
					return ctx.Err()
				}
				if how == "panic" {
					panic("oh")
				}
				return boom
			}}
			var got told
			var failed error
			ended = true
			for c, err := range r.batches(ctx, s, 0) {
				if failed = err; err != nil {
					ended = false
					continue
				}
				got.note(r, c, 1<<30)
				if batches++; batches > n && how == "left" {
					ended = false
					break
				}
				if batches > n && how == "aborted" {
					cancel()
				}
			}
			over = true
			cancel()
			if len(got) > len(want) || !slices.Equal(got, want[:len(got)]) || ended && len(got) != len(want) {
				t.Fatalf("%s at %d: told %q", how, n, got)
			}
			if how == "refused" && failed != nil && failed != boom || how == "panic" && failed != nil && !strings.Contains(failed.Error(), "oh") {
				t.Fatalf("%s at %d: %v", how, n, failed)
			}
			if how == "aborted" && failed != nil && failed != errAborted && !errors.Is(failed, context.Canceled) {
				t.Fatalf("%s at %d: %v", how, n, failed)
			}
		}
	}
	goleak.VerifyNone(t)
}

// Who leaves does not wait until a pause is over.
func TestAheadIsNotWaitedFor(t *testing.T) {
	w, s := walks(t, rand.New(rand.NewPCG(5, 6)), 25, 5)
	defer w.log.Abandon()
	reads := 0
	r := &reader{size: 1000, pace: func(ctx context.Context, _ int) error {
		if reads++; reads > 1 {
			<-ctx.Done()
		}
		return ctx.Err()
	}}
	for _, err := range r.batches(t.Context(), s, 0) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	goleak.VerifyNone(t)
}

// A piece is given back to its usual size after a batch that was larger.
func TestAheadShrinks(t *testing.T) {
	w := newWorld(t, vfs.NewMem())
	w.open()
	defer w.log.Abandon()
	w.put("a=1", "big="+strings.Repeat("x", 100_000), "b=1")
	w.roll()
	w.put("a=2")
	w.roll()
	r := &reader{size: 1000, pace: unpaced}
	for i, want := range []int{100_000, 0} {
		for _, err := range r.batches(t.Context(), w.log.Cleaning().Sealed[i], 0) {
			if err != nil {
				t.Fatal(err)
			}
		}
		largest := 0
		for i := range r.pieces {
			largest = max(largest, cap(r.pieces[i].buf))
		}
		if largest < want || want == 0 && largest > r.size {
			t.Fatalf("segment %d: a buffer of %d bytes", i, largest)
		}
	}
}

// Records that are broken fail the run where they are wanted: not in a batch that goes as a whole.
func TestBrokenRecords(t *testing.T) {
	for _, c := range []struct {
		name   string
		last   record.ControlType
		broken bool
	}{
		{"committed", record.ControlCommit, true},
		{"aborted", record.ControlAbort, false},
	} {
		w := start(t)
		w.settings.IOBufferBytes = 0
		f := from{id: 5, transactional: true}
		for i := range 100 { // many pieces, so that some are walked ahead
			w.put(fmt.Sprintf("k%d=%0200d", i%5, i))
		}
		at := int(w.log.SizeInBytes())
		w.send(f, "t=1")
		w.end(f, c.last)
		w.put("z=1")
		w.roll()
		path := w.log.Segments()[0].Path
		damage(t, w, path, at+record.HeaderSize, true) // the length of the record
		cleaned := w.cleaner.Round()
		if s := w.status(); cleaned == c.broken || (s.State == Uncleanable) != c.broken || c.broken && !errors.Is(s.LastError, record.ErrInvalidRecord) {
			t.Fatalf("%s: %v, %+v", c.name, cleaned, s)
		}
		w.noLeftovers()
	}
}

// A read that fails is the walk's error, behind the batches that were read before.
func TestAheadReadFails(t *testing.T) {
	boom := errors.New("boom")
	for n := int64(1); ; n++ {
		armed := false
		inject := vfs.FailNth(n, func(op vfs.Op) bool { return armed && op.Kind == vfs.OpRead }, boom)
		w := newWorld(t, vfs.NewFault(vfs.NewMem(), inject))
		w.open()
		for i := range 20 {
			w.put(fmt.Sprintf("k=%0200d", i))
		}
		w.roll()
		s := w.log.Cleaning().Sealed[0]
		want, got := serially(t, w.fs, s, 1), told{}
		armed = true
		r := &reader{size: 1000, pace: unpaced}
		var failed error
		for c, err := range r.batches(t.Context(), s, 0) {
			if failed = err; err == nil {
				got.note(r, c, 1)
			}
		}
		w.log.Abandon()
		if failed != nil && !errors.Is(failed, boom) || !slices.Equal(got, want[:len(got)]) {
			t.Fatalf("read %d: %v after %d lines", n, failed, len(got))
		}
		if failed == nil {
			if n < 5 || len(got) != len(want) || errors.Is(failed, io.EOF) {
				t.Fatalf("%d reads, %d lines of %d", n, len(got), len(want))
			}
			return
		}
	}
}
