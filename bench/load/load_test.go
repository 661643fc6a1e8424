package load

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestPayload(t *testing.T) {
	for _, text := range []bool{false, true} {
		p := newPayload(1000, text)
		first := append([]byte(nil), p.next()...)
		if len(first) != 1000 || bytes.Equal(first, p.next()) || !bytes.Equal(first, p.share().next()) {
			t.Errorf("text %v: values repeat, or differ between shares", text)
		}
		for range 2 * poolBytes / 1000 {
			if len(p.next()) != 1000 {
				t.Fatal("a short value")
			}
		}
	}
	if !bytes.Contains(newPayload(200, true).next(), []byte(`"level":"info"`)) {
		t.Error("text does not look like a log")
	}
}

func TestKeysRepeat(t *testing.T) {
	a, b, seen := newKeys(10), newKeys(10), map[string]bool{}
	for range 1000 {
		k := string(a.next())
		if k != string(b.next()) {
			t.Fatal("two runs have different keys")
		}
		seen[k] = true
	}
	if len(seen) != 10 || newKeys(0).next() != nil {
		t.Errorf("%d keys", len(seen))
	}
}

// TestPaceKeepsTheRate: so many in the given time, each due when it should be.
func TestPaceKeepsTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock{time.Now()}
		var due []time.Duration
		sent := pace(t.Context(), c, 5000, time.Second, func(at time.Duration) { due = append(due, at) })
		if sent != 5000 || len(due) != 5000 || due[4999] != time.Second {
			t.Errorf("%d sent, last due at %v", sent, due[len(due)-1])
		}
	})
}

// TestPaceDoesNotHideABroker checks LOAD-3: while a send takes 100 ms, the records that should have gone out meanwhile
// are due when they should have been, not when the sender is free again.
func TestPaceDoesNotHideABroker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock{time.Now()}
		late, n := 0, 0
		pace(t.Context(), c, 1000, time.Second, func(due time.Duration) {
			if n++; n == 100 {
				time.Sleep(100 * time.Millisecond)
			}
			if time.Since(c.zero)-due >= slack {
				late++
			}
		})
		if late < 90 || late > 110 {
			t.Errorf("%d records were late", late)
		}
	})
}

func TestCollector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &collector{clock: clock{time.Now()}}
		for i := range 100 {
			stamp := c.clock.stamp([]byte("rest"), time.Since(c.clock.zero))
			time.Sleep(time.Duration(i+1) * time.Millisecond)
			c.add(stamp)
		}
		r, err := c.result(100, 10, 2)
		// The first tenth, 1 to 10 ms, does not count.
		if err != nil || r.P50 != 55 || r.P99 != 100 || r.Max != 100 || r.Rate() != 50 || r.Bytes != 1000 {
			t.Errorf("%+v, %v", r, err)
		}
		if _, err := c.result(101, 10, 2); err == nil {
			t.Error("a missing record was accepted")
		}
	})
}

func TestCount(t *testing.T) {
	batch := func(base, lastDelta, records, size int) []byte {
		b := make([]byte, size)
		binary.BigEndian.PutUint64(b, uint64(base))
		binary.BigEndian.PutUint32(b[8:], uint32(size-12))
		binary.BigEndian.PutUint32(b[23:], uint32(lastDelta))
		binary.BigEndian.PutUint32(b[57:], uint32(records))
		return b
	}
	whole := append(batch(10, 4, 5, 100), batch(15, 9, 3, 70)...)
	for name, b := range map[string][]byte{"whole": whole, "cut": append(bytes.Clone(whole), batch(25, 0, 1, 200)[:150]...), "cut in the header": append(bytes.Clone(whole), 1, 2)} {
		if records, next := count(b); records != 8 || next != 25 {
			t.Errorf("%s: %d records, next %d", name, records, next)
		}
	}
	if records, _ := count(make([]byte, 100)); records != 0 {
		t.Error("zeros were taken for a batch")
	}
}

func TestMeasureEach(t *testing.T) {
	r, err := measureEach(t.Context(), 3, 50*time.Millisecond, 8, func(_ int, value []byte) error {
		if len(value) != 8 {
			t.Errorf("%d bytes", len(value))
		}
		return nil
	})
	if err != nil || r.Records == 0 || r.Bytes != 8*r.Records {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := measureEach(t.Context(), 2, time.Hour, 8, func(g int, _ []byte) error {
		if g == 1 {
			return os.ErrClosed
		}
		return nil
	}); err == nil {
		t.Error("a refused record was accepted")
	}
	if _, err := measureEach(t.Context(), 1, 0, 8, func(int, []byte) error { return nil }); err == nil {
		t.Error("a run of nothing was accepted")
	}
}

func TestMainRefuses(t *testing.T) {
	for _, job := range []Job{{Kind: Produce, Protocol: "smoke"}, {Kind: "dance", Protocol: "kafka"}, {Kind: Produce, Protocol: "kafka", Codec: "rar"}} {
		b, err := json.Marshal(job)
		if err != nil {
			t.Fatal(err)
		}
		if err := Main(t.Context(), bytes.NewReader(b), &bytes.Buffer{}); err == nil {
			t.Errorf("%+v was accepted", job)
		}
	}
	if err := Main(t.Context(), strings.NewReader("{"), &bytes.Buffer{}); err == nil {
		t.Error("half a job was accepted")
	}
}

func TestDirtyRemovesItsFile(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	name := filepath.Join(t.TempDir(), "beside")
	r, err := Job{Kind: Dirty, Rate: 20, File: name}.dirty(ctx)
	if err != nil || r.Bytes == 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := os.Stat(name); !os.IsNotExist(err) {
		t.Errorf("the file: %v", err)
	}
}
