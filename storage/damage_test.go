package storage

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/samsalog/samsa/record"
)

// TestR19DamageBelowRecoveryPoint flips a bit, or loses a length field, in data that was flushed. Nothing is cut; all other
// batches can be read.
func TestR19DamageBelowRecoveryPoint(t *testing.T) {
	for name, damage := range map[string]func(b []byte) []byte{
		"payload": func(b []byte) []byte { b[70] ^= 4; return b },
		"length":  func(b []byte) []byte { b[8] ^= 0x40; return b },
		"zeros":   func(b []byte) []byte { clear(b); return b },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			l := w.open()
			w.fill(l, 20)
			if err := l.Flush(20); err != nil {
				t.Fatal(err)
			}
			w.fillFrom(l, 20, 25)
			l.Abandon()
			path := l.active().Path()
			log := readFile(t, w.fs, path)
			size := len(log) / 25 // all batches are alike
			copy(log[10*size:11*size], damage(slices.Clone(log[10*size:11*size])))
			writeFile(t, w.fs, path, log)
			// The index is lost too, so that recovery has to read from the beginning.
			writeFile(t, w.fs, strings.TrimSuffix(path, ".log")+".index", []byte{1})

			l = w.open(recoverFrom(20))
			defer l.Abandon()
			if got := w.kinds(); got != "damage kept" {
				t.Errorf("events: %s", got)
			}
			if e := w.events[len(w.events)-1]; e.From != 10 || e.To != 11 || e.Position != int64(10*size) || e.Bytes != int64(size) {
				t.Errorf("%+v", e)
			}
			if got := readFile(t, w.fs, path); !slices.Equal(got, log) {
				t.Error("the log was changed")
			}
			if l.LogEndOffset() != 25 {
				t.Errorf("log end %d", l.LogEndOffset())
			}
			for o := range record.Offset(25) {
				info, err := l.Read(o, LogEnd, 1, true)
				if o == 10 {
					info.Region.Release()
					continue // what a client gets of the broken batch is its to judge by CRC
				}
				if err != nil || info.FirstOffset != o || info.Region.Length != size {
					t.Errorf("read at %d: %+v, %v", o, info, err)
				}
				info.Region.Release()
			}
			w.fillFrom(l, 25, 27)
		})
	}
}

func (w *world) fillFrom(l *Log, from, to int) {
	w.t.Helper()
	for i := from; i < to; i++ {
		if info := w.append(l, batchOf(startMs+int64(i), fmt.Sprintf("%02d %40d", i, i)), AppendOptions{LeaderEpoch: 0}); info.FirstOffset != record.Offset(i) {
			w.t.Errorf("appended at %d, want %d", info.FirstOffset, i)
		}
	}
	l.SetHighWatermark(l.LogEndOffset())
}

// TestDamageAtTheEndBelowRecoveryPoint: when nothing valid follows, the bytes stay and the log goes on in a new segment.
func TestDamageAtTheEndBelowRecoveryPoint(t *testing.T) {
	w := newWorld(t)
	l := w.open()
	w.fill(l, 20)
	if err := l.Flush(20); err != nil {
		t.Fatal(err)
	}
	l.Abandon()
	path := l.active().Path()
	log := readFile(t, w.fs, path)
	for i := len(log) / 20 * 18; i < len(log); i++ {
		log[i] = 0xee
	}
	writeFile(t, w.fs, path, log)
	writeFile(t, w.fs, strings.TrimSuffix(path, ".log")+".index", []byte{1})
	l = w.open(recoverFrom(20))
	if got := w.kinds(); got != "damage kept" || l.LogEndOffset() != 20 || len(l.Segments()) != 2 {
		t.Errorf("events %s, end %d, segments %+v", got, l.LogEndOffset(), l.Segments())
	}
	if e := w.events[len(w.events)-1]; e.From != 18 || e.To != 20 {
		t.Errorf("%+v", e)
	}
	w.fillFrom(l, 20, 22)
	w.close(l)
	if !slices.Equal(readFile(t, w.fs, path), log) {
		t.Error("the damaged segment was changed")
	}
	l = w.open(clean)
	defer l.Abandon()
	if l.LogEndOffset() != 22 {
		t.Errorf("log end %d", l.LogEndOffset())
	}
	if _, err := l.Read(18, LogEnd, 100, true); !errors.Is(err, record.ErrCorruptBatch) {
		t.Errorf("read of a damaged offset: %v", err)
	}
}

// TestTornTail: what a write that was cut short left is removed above the recovery point, whatever it looks like.
func TestTornTail(t *testing.T) {
	whole := batchOf(startMs, "torn off")
	for name, tail := range map[string][]byte{
		"half a batch": whole[:40], "a few bytes": whole[:5], "zeros": make([]byte, 4096), "garbage": []byte(strings.Repeat("garbage", 30)),
		"an old batch": whole, // its offset is 0
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			l := w.open()
			w.fill(l, 10)
			l.Abandon()
			path := l.active().Path()
			log := readFile(t, w.fs, path)
			writeFile(t, w.fs, path, append(slices.Clone(log), tail...))
			l = w.open()
			if got := w.kinds(); got != "tail cut" {
				t.Errorf("events: %s", got)
			}
			w.expect(l, 0, 10)
			w.fillFrom(l, 10, 12)
			w.close(l)
			l = w.open(clean)
			defer l.Abandon()
			w.expect(l, 0, 12)
		})
	}
}

// TestTornSegmentDropsLaterOnes: a log with a hole is no log.
func TestTornSegmentDropsLaterOnes(t *testing.T) {
	w := newWorld(t).small()
	l := w.open()
	w.fill(l, 50)
	l.Abandon()
	s := l.Segments()[3]
	log := readFile(t, w.fs, s.Path)
	writeFile(t, w.fs, s.Path, log[:len(log)-10])
	l = w.open()
	if got := w.kinds(); !strings.HasPrefix(got, "tail cut, segment dropped") {
		t.Errorf("events: %s", got)
	}
	end := int(s.NextBaseOffset) - 1
	w.expect(l, 0, end)
	w.fillFrom(l, end, end+20)
	w.close(l)
	l = w.open(clean)
	defer l.Abandon()
	w.expect(l, 0, end+20)
}
