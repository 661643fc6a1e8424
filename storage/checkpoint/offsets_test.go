package checkpoint

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/samsalog/samsa/internal/longtest"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

type offsetMap = map[record.TopicPartition]record.Offset

func tp(topic string, p int32) record.TopicPartition {
	return record.TopicPartition{Topic: topic, Partition: p}
}

func TestWriteOffsetsBytes(t *testing.T) {
	m := vfs.NewMem()
	if err := WriteOffsets(m, "/c", offsetMap{tp("orders", 11): 98, tp("orders", 0): 1200}); err != nil {
		t.Fatal(err)
	}
	if got, want := get(t, m, "/c"), "0\n2\norders 0 1200\norders 11 98\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if err := WriteOffsets(m, "/c", nil); err != nil {
		t.Fatal(err)
	}
	if got, want := get(t, m, "/c"), "0\n0\n"; got != want {
		t.Errorf("without entries %q, want %q", got, want)
	}
}

func TestReadOffsets(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want offsetMap
		err  string
	}{
		"empty":              {text: "", want: offsetMap{}},
		"version only":       {text: "0", want: offsetMap{}},
		"version only, nl":   {text: "0\n", want: offsetMap{}},
		"no entries":         {text: "0\n0\n", want: offsetMap{}},
		"sample":             {text: "0\n2\norders 0 1200\norders 11 98\n", want: offsetMap{tp("orders", 0): 1200, tp("orders", 11): 98}},
		"no newline at end":  {text: "0\n1\na 0 5", want: offsetMap{tp("a", 0): 5}},
		"crlf":               {text: "0\r\n1\r\na 0 5\r\n", want: offsetMap{tp("a", 0): 5}},
		"cr":                 {text: "0\r1\ra 0 5\r", want: offsetMap{tp("a", 0): 5}},
		"runs of blanks":     {text: "0\n1\na  \t 0 \v5\n", want: offsetMap{tp("a", 0): 5}},
		"blank at end":       {text: "0\n1\na 0 5  \n", want: offsetMap{tp("a", 0): 5}},
		"twice, last counts": {text: "0\n2\na 0 5\na 0 7\n", want: offsetMap{tp("a", 0): 7}},
		"negative offset":    {text: "0\n1\na 0 -1\n", want: offsetMap{tp("a", 0): -1}},
		"leading blank":      {text: "0\n1\n a 0 5\n", err: "line 3: 4 fields"},
		"empty line":         {text: "0\n1\n\na 0 5\n", err: "line 3: 1 fields"},
		"too few fields":     {text: "0\n1\na 0\n", err: "line 3: 2 fields"},
		"too many fields":    {text: "0\n1\na 0 5 6\n", err: "line 3: 4 fields"},
		"wrong version":      {text: "1\n0\n", err: "line 1"},
		"no version":         {text: "x\n0\n", err: "line 1"},
		"no count":           {text: "0\nx\n", err: "line 2"},
		"count too large":    {text: "0\n2\na 0 5\n", err: "1 entries, line 2 says 2"},
		"count too small":    {text: "0\n0\na 0 5\n", err: "1 entries, line 2 says 0"},
		"huge count":         {text: "0\n2000000000\n", err: "0 entries"},
		"negative count":     {text: "0\n-1\n", err: "0 entries"},
		"partition":          {text: "0\n1\na b 5\n", err: "line 3: partition"},
		"partition range":    {text: "0\n1\na 2147483648 5\n", err: "line 3: partition"},
		"offset range":       {text: "0\n2\na 0 5\na 0 9223372036854775808\n", err: "line 4: offset"},
		"binary":             {text: "\x00\xff\x00", err: "line 1"},
	} {
		t.Run(name, func(t *testing.T) {
			m := vfs.NewMem()
			put(t, m, "/c", c.text)
			got, err := ReadOffsets(m, "/c")
			if c.err != "" {
				if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), c.err) || !strings.Contains(err.Error(), "/c") {
					t.Fatalf("error %v, want %q", err, c.err)
				}
				return
			}
			if err != nil || !maps.Equal(got, c.want) {
				t.Fatalf("%v %v, want %v", got, err, c.want)
			}
		})
	}
	if _, err := ReadOffsets(vfs.NewMem(), "/c"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}

// TestReadOffsetsOfKafka reads what Apache Kafka 4.4.0 left after a clean stop and after a kill.
func TestReadOffsetsOfKafka(t *testing.T) {
	for name, want := range map[string]struct {
		entries int
		tp      record.TopicPartition
		offset  record.Offset
	}{
		"recovery-point-offset-checkpoint": {29, tp("txn", 1), 270},
		"log-start-offset-checkpoint":      {1, tp("trimmed", 0), 20},
		"replication-offset-checkpoint":    {29, tp("rolled", 0), 700},
	} {
		got, err := ReadOffsets(vfs.NewOS(), "testdata/clean/"+name)
		if err != nil || len(got) != want.entries || got[want.tp] != want.offset {
			t.Errorf("%s: %d entries, %v at %d, %v; want %+v", name, len(got), want.tp, got[want.tp], err, want)
		}
		// Written again it holds the same lines: the order is free.
		m := vfs.NewMem()
		if err := WriteOffsets(m, "/c", got); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile("testdata/clean/" + name)
		if err != nil {
			t.Fatal(err)
		}
		ours, theirs := strings.SplitAfter(get(t, m, "/c"), "\n"), strings.SplitAfter(string(data), "\n")
		if len(ours) != len(theirs) || ours[0] != theirs[0] || ours[1] != theirs[1] {
			t.Errorf("%s: %q, Kafka has %q", name, ours, theirs)
		}
	}
}

func FuzzReadOffsets(f *testing.F) {
	f.Add("0\n2\norders 0 1200\norders 11 98\n")
	f.Add("0\r\n1\ra 0 5")
	for _, name := range []string{"recovery-point-offset-checkpoint", "replication-offset-checkpoint", "log-start-offset-checkpoint"} {
		data, err := os.ReadFile("testdata/clean/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		m := vfs.NewMem()
		put(t, m, "/c", text)
		got, err := ReadOffsets(m, "/c")
		if err != nil {
			return
		}
		if err := WriteOffsets(m, "/d", got); err != nil {
			t.Fatal(err)
		}
		again, err := ReadOffsets(m, "/d")
		if err != nil || !maps.Equal(got, again) {
			t.Errorf("%v, read again %v %v", got, again, err)
		}
	})
}

// TestWriteAtomicCrash cuts the power before every operation of a replacement, with any unsynced data kept or lost: the
// file holds the old or the new content, and the new one once the call has returned (CKP-1).
func TestWriteAtomicCrash(t *testing.T) {
	longtest.Check(t, 100, 3000, func(t *rapid.T) {
		m := vfs.NewMem()
		var crashed []*vfs.Mem
		watched := vfs.NewFault(m, func(op vfs.Op) error {
			if op.Kind.Changes() || op.Kind == vfs.OpOpen || op.Kind == vfs.OpClose {
				crashed = append(crashed, m.Crash(), m.CrashKeeping(uint64(op.N)), m.CrashKeeping(uint64(op.N)<<32))
			}
			return nil
		})
		old, next := strings.Repeat("old\n", rapid.IntRange(0, 400).Draw(t, "old")), strings.Repeat("next\n", rapid.IntRange(0, 400).Draw(t, "next"))
		if err := WriteAtomic(watched, "/d", []byte(old)); err != nil {
			t.Fatal(err)
		}
		crashed = nil
		if err := WriteAtomic(watched, "/d", []byte(next)); err != nil {
			t.Fatal(err)
		}
		for i, c := range crashed {
			data, err := readAll(c, "/d")
			if err != nil || string(data) != old && string(data) != next {
				t.Fatalf("crash %d: %d bytes %v", i, len(data), err)
			}
		}
		for seed := range uint64(5) {
			data, err := readAll(m.CrashKeeping(seed), "/d")
			if err != nil || string(data) != next {
				t.Fatalf("crash after return: %d bytes %v", len(data), err)
			}
		}
	})
}

// TestWriteAtomicFault lets each operation fail: the old content stays, unless only the last sync failed.
func TestWriteAtomicFault(t *testing.T) {
	errTest := errors.New("test error")
	for n := int64(1); n <= 6; n++ {
		m := vfs.NewMem()
		put(t, m, "/d", "old")
		var failed vfs.Op
		err := WriteAtomic(vfs.NewFault(m, vfs.FailNth(n, func(op vfs.Op) bool { failed = op; return true }, errTest)), "/d", []byte("next"))
		if !errors.Is(err, errTest) {
			t.Errorf("%v: %v", failed, err)
		}
		want := "old"
		if n == 6 {
			want = "next"
		}
		if got := get(t, m, "/d"); got != want {
			t.Errorf("%d: holds %q, want %q", n, got, want)
		}
		if err := WriteAtomic(m, "/d", []byte("again")); err != nil || get(t, m, "/d") != "again" {
			t.Errorf("%v: a leftover .tmp is in the way: %v", failed, err)
		}
	}
	t.Log("6 faults injected")
}
