package index

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"sort"
	"testing"

	"pgregory.net/rapid"

	"github.com/samsalog/samsa/internal/longtest"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

const modelBase = record.Offset(1 << 40)

// offsetPair and timePair are entries of the plain slices that the indexes are compared with.
type offsetPair struct {
	off record.Offset
	pos Position
}

type timePair struct {
	ts  int64
	off record.Offset
}

// offsetModel runs random operations on an index and on a slice.
type offsetModel struct {
	mem     *vfs.Mem
	handles *vfs.Handles
	x       *Offset
	want    []offsetPair
	max     int
	active  bool
}

func (m *offsetModel) append(t *rapid.T) {
	if !m.active {
		return
	}
	for range rapid.IntRange(1, 1500).Draw(t, "entries") {
		next := offsetPair{modelBase + 1, 1}
		if n := len(m.want); n > 0 {
			next = offsetPair{m.want[n-1].off + 3, m.want[n-1].pos + 7}
		}
		err := m.x.Append(next.off, next.pos)
		if len(m.want) == m.max {
			if !errors.Is(err, ErrFull) {
				t.Fatalf("append to a full index: %v", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		m.want = append(m.want, next)
	}
}

func (m *offsetModel) truncate(t *rapid.T) {
	off := m.someOffset(t)
	if err := m.x.Truncate(off); err != nil {
		t.Fatal(err)
	}
	m.want = m.want[:sort.Search(len(m.want), func(i int) bool { return m.want[i].off >= off })]
	m.active = true
}

func (m *offsetModel) someOffset(t *rapid.T) record.Offset {
	return modelBase + record.Offset(rapid.IntRange(-2, 3*len(m.want)+5).Draw(t, "offset"))
}

func (m *offsetModel) reopen(t *rapid.T) {
	if err := errors.Join(m.x.Seal(), m.x.Sync(), m.x.Close()); err != nil {
		t.Fatal(err)
	}
	m.active = rapid.Bool().Draw(t, "active")
	var err error
	if m.x, err = OpenOffset(m.handles, "/0.index", modelBase, m.max*8+5, m.active); err != nil {
		t.Fatal(err)
	}
}

func (m *offsetModel) check(t *rapid.T) {
	if got := m.x.Entries(); got != len(m.want) {
		t.Fatalf("%d entries, want %d", got, len(m.want))
	}
	if full := m.x.Full(); full != (!m.active || len(m.want) >= m.max) {
		t.Fatalf("full is %v with %d of %d entries, active %v", full, len(m.want), m.max, m.active)
	}
	last := modelBase
	if n := len(m.want); n > 0 {
		last = m.want[n-1].off
	}
	if got := m.x.LastOffset(); got != last {
		t.Fatalf("last offset %d, want %d", got, last)
	}
	for range 20 {
		target := m.someOffset(t)
		want := offsetPair{modelBase, 0}
		if i := sort.Search(len(m.want), func(i int) bool { return m.want[i].off > target }); i > 0 {
			want = m.want[i-1]
		}
		if off, pos, err := m.x.Lookup(target); err != nil || (offsetPair{off, pos}) != want {
			t.Fatalf("lookup %d: (%d, %d) %v, want %v", target, off, pos, err, want)
		}
		from, bytes := Position(rapid.IntRange(0, 7*len(m.want)+9).Draw(t, "from")), rapid.IntRange(0, 1<<32).Draw(t, "bytes")
		if rapid.Bool().Draw(t, "short") {
			bytes %= 1000
		}
		i := sort.Search(len(m.want), func(i int) bool { return int64(m.want[i].pos) >= int64(from)+int64(bytes) })
		off, ok, err := m.x.UpperBound(from, bytes)
		if err != nil || ok != (i < len(m.want)) || ok && off != m.want[i].off {
			t.Fatalf("upper bound of %d + %d: %d %v %v, want entry %d of %d", from, bytes, off, ok, err, i, len(m.want))
		}
	}
}

func TestOffsetModel(t *testing.T) {
	longtest.Check(t, 100, 3000, func(t *rapid.T) {
		m := &offsetModel{mem: vfs.NewMem(), max: rapid.IntRange(1, 9000).Draw(t, "max"), active: true}
		m.handles = vfs.NewHandles(m.mem, 1)
		var err error
		if m.x, err = CreateOffset(m.handles, "/0.index", modelBase, m.max*8+5); err != nil {
			t.Fatal(err)
		}
		t.Repeat(map[string]func(*rapid.T){
			"append": m.append, "append more": m.append, "truncate": m.truncate, "reopen": m.reopen,
			"reset": func(t *rapid.T) {
				if err := m.x.Reset(); err != nil {
					t.Fatal(err)
				}
				m.want, m.active = nil, true
			},
			"seal": func(t *rapid.T) {
				if err := m.x.Seal(); err != nil {
					t.Fatal(err)
				}
				m.active = false
				info, err := m.mem.Stat("/0.index")
				if err != nil || info.Size() != int64(8*len(m.want)) {
					t.Fatalf("sealed file: %v %v, want %d entries", info, err, len(m.want))
				}
				if err := m.x.Append(modelBase+1<<20, 1<<20); !errors.Is(err, ErrSealed) {
					t.Fatalf("append to a sealed index: %v", err)
				}
			},
			"crash after sync": func(t *rapid.T) {
				if err := m.x.Sync(); err != nil {
					t.Fatal(err)
				}
				if err := m.mem.SyncDir("/"); err != nil {
					t.Fatal(err)
				}
				m.mem = m.mem.Crash()
				m.handles = vfs.NewHandles(m.mem, 1)
				var err error
				if m.x, err = OpenOffset(m.handles, "/0.index", modelBase, m.max*8+5, m.active); err != nil {
					t.Fatal(err)
				}
			},
			"sanity": func(t *rapid.T) {
				if err := errors.Join(m.x.Sanity(), m.x.TailSanity()); err != nil {
					t.Fatal(err)
				}
			},
			"": m.check,
		})
	})
}

// timeModel runs random operations on a time index and on a slice.
type timeModel struct {
	x      *Time
	want   []timePair
	max    int
	active bool
}

func (m *timeModel) append(t *rapid.T) {
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)) // drawing each entry from rapid is slow
	for range rapid.IntRange(1, 900).Draw(t, "entries") {
		last := timePair{-1, modelBase}
		if n := len(m.want); n > 0 {
			last = m.want[n-1]
		}
		next := timePair{last.ts + random.Int64N(3), last.off + record.Offset(random.IntN(3))}
		final := random.IntN(100) == 0
		err := m.x.Append(next.ts, next.off, final)
		switch {
		case !m.active:
			if !errors.Is(err, ErrSealed) {
				t.Fatalf("append to a sealed index: %v", err)
			}
			return
		case !final && len(m.want) >= m.max-1:
			if !errors.Is(err, ErrFull) {
				t.Fatalf("append to a full index: %v", err)
			}
			return
		case err != nil:
			t.Fatal(err)
		case next.ts > last.ts:
			m.want = append(m.want, next)
		}
	}
}

func (m *timeModel) check(t *rapid.T) {
	if got := m.x.Entries(); got != len(m.want) {
		t.Fatalf("%d entries, want %d", got, len(m.want))
	}
	last := timePair{-1, modelBase}
	if n := len(m.want); n > 0 {
		last = m.want[n-1]
	}
	ts, off, err := m.x.Last()
	if ts2, off2 := m.x.LastEntry(); err != nil || ts != last.ts || off != last.off || ts2 != ts || off2 != off {
		t.Fatalf("last entry (%d, %d) (%d, %d) %v, want %v", ts, off, ts2, off2, err, last)
	}
	for range 20 {
		target := int64(rapid.IntRange(-2, int(last.ts)+3).Draw(t, "ts"))
		want := timePair{-1, modelBase}
		if i := sort.Search(len(m.want), func(i int) bool { return m.want[i].ts > target }); i > 0 {
			want = m.want[i-1]
		}
		if ts, off, err := m.x.Lookup(target); err != nil || (timePair{ts, off}) != want {
			t.Fatalf("lookup %d: (%d, %d) %v, want %v", target, ts, off, err, want)
		}
	}
}

func TestTimeModel(t *testing.T) {
	longtest.Check(t, 100, 3000, func(t *rapid.T) {
		mem := vfs.NewMem()
		handles := vfs.NewHandles(mem, 1)
		m := &timeModel{max: rapid.IntRange(1, 4000).Draw(t, "max"), active: true}
		var err error
		if m.x, err = CreateTime(handles, "/0.timeindex", modelBase, m.max*12+11); err != nil {
			t.Fatal(err)
		}
		t.Repeat(map[string]func(*rapid.T){
			"append": m.append, "append more": m.append,
			"truncate": func(t *rapid.T) {
				off := modelBase + record.Offset(rapid.IntRange(-2, len(m.want)+5).Draw(t, "offset"))
				if err := m.x.Truncate(off); err != nil {
					t.Fatal(err)
				}
				m.want = m.want[:sort.Search(len(m.want), func(i int) bool { return m.want[i].off >= off })]
				m.active = true
			},
			"seal": func(t *rapid.T) {
				if err := m.x.Seal(); err != nil {
					t.Fatal(err)
				}
				m.active = false
			},
			"reopen": func(t *rapid.T) {
				if err := errors.Join(m.x.Seal(), m.x.Close()); err != nil {
					t.Fatal(err)
				}
				m.active = rapid.Bool().Draw(t, "active")
				var err error
				if m.x, err = OpenTime(handles, "/0.timeindex", modelBase, m.max*12+11, m.active); err != nil {
					t.Fatal(err)
				}
			},
			"sanity": func(t *rapid.T) {
				if err := m.x.Sanity(); err != nil {
					t.Fatal(err)
				}
			},
			"": m.check,
		})
	})
}

func TestTxnModel(t *testing.T) {
	longtest.Check(t, 100, 3000, func(t *rapid.T) {
		mem := vfs.NewMem()
		handles := vfs.NewHandles(mem, 1)
		x, err := OpenTxn(handles, "/0.txnindex", 0)
		if err != nil {
			t.Fatal(err)
		}
		var want []AbortedTxn
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
				for range rapid.IntRange(1, 200).Draw(t, "entries") {
					last := record.Offset(0)
					if n := len(want); n > 0 {
						last = want[n-1].LastOffset
					}
					marker := last + record.Offset(1+random.IntN(9))
					a := AbortedTxn{ProducerID: record.ProducerID(len(want)), FirstOffset: marker - record.Offset(random.IntN(20)),
						LastOffset: marker, LastStableOffset: marker + 1 - record.Offset(random.IntN(5))}
					if err := x.Append(a); err != nil {
						t.Fatal(err)
					}
					if err := x.Append(a); !errors.Is(err, ErrOutOfOrder) {
						t.Fatalf("the same again: %v", err)
					}
					want = append(want, a)
				}
			},
			"truncate": func(t *rapid.T) {
				off := record.Offset(rapid.IntRange(0, 2000).Draw(t, "offset"))
				if err := x.Truncate(off); err != nil {
					t.Fatal(err)
				}
				want = want[:sort.Search(len(want), func(i int) bool { return want[i].LastOffset >= off })]
			},
			"reset": func(t *rapid.T) {
				if err := x.Reset(); err != nil {
					t.Fatal(err)
				}
				want = nil
			},
			"reopen": func(t *rapid.T) {
				if err := errors.Join(x.Sync(), x.Close()); err != nil {
					t.Fatal(err)
				}
				if x, err = OpenTxn(handles, "/0.txnindex", 0); err != nil {
					t.Fatal(err)
				}
			},
			"": func(t *rapid.T) {
				_, statErr := mem.Stat("/0.txnindex")
				if exists, err := x.Exists(); err != nil || exists != !errors.Is(statErr, fs.ErrNotExist) {
					t.Fatalf("exists %v %v, stat %v", exists, err, statErr)
				}
				if err := x.Sanity(); err != nil || x.Entries() != len(want) {
					t.Fatalf("%d entries, want %d, %v", x.Entries(), len(want), err)
				}
				from := record.Offset(rapid.IntRange(0, 2000).Draw(t, "from"))
				to := from + record.Offset(rapid.IntRange(1, 300).Draw(t, "length"))
				var list []AbortedTxn
				complete := false
				for _, a := range want {
					if a.LastOffset < from {
						continue
					}
					if a.FirstOffset < to {
						list = append(list, a)
					}
					if complete = a.LastStableOffset >= to; complete {
						break
					}
				}
				got, gotComplete, err := x.Collect(from, to)
				if err != nil || fmt.Sprint(got) != fmt.Sprint(list) || gotComplete != complete {
					t.Fatalf("collect %d … %d: %v %v %v, want %v %v", from, to, got, gotComplete, err, list, complete)
				}
			},
		})
	})
}

func writeFile(t testing.TB, fsys vfs.FS, name string, data []byte) {
	t.Helper()
	f, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(data, 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
