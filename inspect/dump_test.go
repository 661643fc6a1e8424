package inspect

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/samsalog/samsa/inspect/internal/testdir"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/producer"
	"github.com/samsalog/samsa/vfs"
)

const day = 86400000

// smallLog is six batches of two records each, offsets 100 to 111, timestamps 1000 apart.
func smallLog() []byte {
	var log []byte
	for i := range 6 {
		o := record.DefaultBuilderOptions()
		o.BaseOffset, o.Codec = record.Offset(100+2*i), record.Codec(i%5)
		b := record.NewBuilder(o)
		for j := range 2 {
			b.Append(int64(day+1000*(2*i+j)), fmt.Appendf(nil, "k%d", i), fmt.Appendf(nil, "v%d-%d", i, j), nil)
		}
		log = append(log, b.Build()...)
	}
	return log
}

// positions are where the batches of a log begin.
func positions(t *testing.T, log []byte) (all []int) {
	t.Helper()
	s := record.NewScanner(log)
	for s.Next() {
		all = append(all, s.Position())
	}
	return all
}

func offsetIndex(pairs ...[2]int) (b []byte) {
	for _, p := range pairs {
		b = binary.BigEndian.AppendUint32(b, uint32(p[0]-100))
		b = binary.BigEndian.AppendUint32(b, uint32(p[1]))
	}
	return b
}

func timeIndex(pairs ...[2]int) (b []byte) {
	for _, p := range pairs {
		b = binary.BigEndian.AppendUint64(b, uint64(p[0]))
		b = binary.BigEndian.AppendUint32(b, uint32(p[1]-100))
	}
	return b
}

// run dumps files of a memory file system and returns both outputs.
func run(t *testing.T, files map[string][]byte, change func(*DumpOptions), names ...string) (out, errs string, err error) {
	t.Helper()
	o := DefaultDumpOptions()
	fs := vfs.NewMem()
	for name, b := range files {
		testdir.Put(t, fs, name, b)
	}
	o.FS, o.Files = fs, names
	if change != nil {
		change(&o)
	}
	var w, e bytes.Buffer
	err = Dump(&w, &e, o)
	return w.String(), e.String(), err
}

const (
	logName   = "/t-0/00000000000000000100.log"
	indexName = "/t-0/00000000000000000100.index"
	timeName  = "/t-0/00000000000000000100.timeindex"
)

// The texts of these findings are those that Kafka's tool printed for the same files.
func TestFindings(t *testing.T) {
	log := smallLog()
	at := positions(t, log)
	files := map[string][]byte{
		logName:   log,
		indexName: offsetIndex([2]int{103, at[1]}, [2]int{106, at[3]}, [2]int{108, at[4]}, [2]int{111, at[5]}),
		timeName: timeIndex([2]int{day + 3000, 103}, [2]int{day + 2000, 105}, [2]int{day + 9000, 108}, [2]int{day + 11000, 111},
			[2]int{day + 12000, 200}),
	}
	out, errs, err := run(t, files, nil, logName, indexName, timeName)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"Log starting offset: 100\n", fmt.Sprintf("offset: 108 position: %d\n", at[4]), fmt.Sprintf("timestamp: %d offset: 200\n", day+12000),
	} {
		if !strings.Contains(out, line) {
			t.Errorf("%q is missing in\n%s", line, out)
		}
	}
	want := strings.Join([]string{
		"Mismatches in :" + indexName,
		"  Index offset: 108, log offset: 109",
		"  Index offset: 106, log offset: 107",
		"Found timestamp mismatch in :" + timeName,
		fmt.Sprintf("  Index timestamp: %d, log timestamp: %d", day+2000, day+5000),
		"Found out of order timestamp in :" + timeName,
		fmt.Sprintf("  Index timestamp: %d, Previously indexed timestamp: %d", day+2000, day+3000),
		"The following indexed offsets are not found in :" + timeName,
		"Indexed offset: 108, found log offset: 109",
		"Indexed offset: 200, found log offset: -1",
	}, "\n") + "\n"
	if errs != want {
		t.Errorf("got\n%s\nwant\n%s", errs, want)
	}
	out, errs, err = run(t, files, func(o *DumpOptions) { o.VerifyIndexOnly = true }, indexName, timeName)
	if want2 := "Dumping " + indexName + "\nDumping " + timeName + "\n"; out != want2 || errs != want || err != nil {
		t.Errorf("--verify-index-only: %q, %v\n%s", out, err, errs)
	}
	_, errs, err = run(t, files, func(o *DumpOptions) { o.DeepIteration = true }, logName)
	if want := "Non-consecutive offsets in " + logName + "\n  -1 is followed by 100\n"; errs != want || err != nil {
		t.Errorf("gaps: %q, %v", errs, err)
	}
}

func TestPaddedIndexes(t *testing.T) {
	log := smallLog()
	at := positions(t, log)
	padding := make([]byte, 240)
	files := map[string][]byte{
		logName:   log,
		indexName: append(offsetIndex([2]int{103, at[1]}), padding...),
		timeName:  append(timeIndex([2]int{day + 3000, 103}), padding...),
		// An empty active segment and its preallocated indexes, where Kafka's tool fails.
		"/e-0/00000000000000000100.log":       {},
		"/e-0/00000000000000000100.index":     padding,
		"/e-0/00000000000000000100.timeindex": nil,
	}
	out, errs, err := run(t, files, nil, indexName, timeName, "/e-0/00000000000000000100.index", "/e-0/00000000000000000100.timeindex")
	want := strings.Join([]string{
		"Dumping " + indexName, fmt.Sprintf("offset: 103 position: %d", at[1]),
		"Dumping " + timeName, fmt.Sprintf("timestamp: %d offset: 103", day+3000),
		"Dumping /e-0/00000000000000000100.index", "/e-0/00000000000000000100.index is empty.",
		"Dumping /e-0/00000000000000000100.timeindex",
	}, "\n") + "\n"
	if out != want || errs != "" || err != nil {
		t.Errorf("got\n%s%s%v\nwant\n%s", out, errs, err, want)
	}
}

func TestIndexSanityCheck(t *testing.T) {
	low := []byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 9}
	for _, c := range []struct {
		name  string
		index []byte
		want  string
	}{
		{indexName, offsetIndex([2]int{103, 80}), indexName + " passed sanity check."},
		{indexName, nil, indexName + " is empty."},
		{indexName, append(offsetIndex([2]int{103, 80}), 1), "the size is 9 bytes"},
		{indexName, low, "the last offset is 99, below the base offset 100"},
		{timeName, timeIndex([2]int{5, 103}, [2]int{4, 104}), "the last timestamp is 4, the first is 5"},
		{timeName, timeIndex([2]int{5, 103}, [2]int{6, 104}), timeName + " passed sanity check."},
		{timeName, nil, timeName + " passed sanity check."},
		{timeName, make([]byte, 13), "the size is 13 bytes"},
	} {
		out, errs, err := run(t, map[string][]byte{logName: smallLog(), c.name: c.index}, func(o *DumpOptions) { o.IndexSanityCheck = true }, c.name)
		if !strings.Contains(out+errs, c.want) || (errs == "") != (err == nil) {
			t.Errorf("%x: %q %q %v, want %q", c.index, out, errs, err, c.want)
		}
	}
}

// INS-2: what is wrong with one file is said, and the others are dumped.
func TestDamagedFiles(t *testing.T) {
	log := smallLog()
	at := positions(t, log)
	edit := func(change func(b []byte) []byte) []byte { return change(bytes.Clone(log)) }
	for _, c := range []struct {
		name       string
		log        []byte
		deep       bool
		out, errs  string
		incomplete bool
	}{
		{name: "cut batch", log: log[:len(log)-3], out: fmt.Sprintf("Found %d invalid bytes at the end of", len(log)-3-at[5])},
		{name: "short tail", log: append(bytes.Clone(log), 1, 2, 3), out: "Found 3 invalid bytes at the end of"},
		{name: "zeros behind", log: append(bytes.Clone(log), make([]byte, 4096)...), out: "Found 4096 invalid bytes at the end of",
			errs: "the last 4096 bytes are zeros"},
		{name: "zeros, then more", log: append(append(bytes.Clone(log), make([]byte, 100)...), 1), out: "Found 101 invalid bytes at the end of",
			errs: "length field is 0", incomplete: true},
		{name: "negative length", log: edit(func(b []byte) []byte { b[at[2]+8] = 0x80; return b }),
			out: fmt.Sprintf("Found %d invalid bytes", len(log)-at[2]), errs: fmt.Sprintf("corrupt at byte %d", at[2]), incomplete: true},
		{name: "huge length", log: edit(func(b []byte) []byte { b[at[2]+8] = 0x7f; return b }), out: fmt.Sprintf("Found %d invalid bytes", len(log)-at[2])},
		{name: "bit flipped", log: edit(func(b []byte) []byte { b[at[0]+66] ^= 1; return b }), out: "isvalid: false"},
		{name: "newer magic", log: edit(func(b []byte) []byte { b[at[0]+16] = 9; return b }), deep: true, out: "magic: 9 compresscodec: none crc: "},
		{name: "broken stream", log: edit(func(b []byte) []byte { b[at[1]+61] ^= 0xff; return b }), deep: true, out: "baseOffset: 110 ",
			errs: fmt.Sprintf("batch at byte %d", at[1]), incomplete: true},
		{name: "no codec", log: edit(func(b []byte) []byte { b[at[0]+22] = 7; return b }), deep: true, out: "compresscodec: unknown(7)",
			errs: "codec id 7", incomplete: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, errs, err := run(t, map[string][]byte{logName: c.log, "/t-1/00000000000000000100.log": log}, func(o *DumpOptions) { o.DeepIteration = c.deep },
				logName, "/t-1/00000000000000000100.log")
			first, second, _ := strings.Cut(out, "Dumping /t-1")
			if !strings.Contains(first, c.out) || !strings.Contains(errs, c.errs) || c.incomplete != errors.Is(err, ErrIncomplete) {
				t.Errorf("%s%s%v", first, errs, err)
			}
			if !c.deep && c.errs == "" && errs != "" {
				t.Errorf("unexpected: %s", errs)
			}
			if strings.Count(second, "baseOffset") != 6 {
				t.Errorf("the next file: %s", second)
			}
		})
	}
}

func TestOtherFiles(t *testing.T) {
	txn := make([]byte, 34)
	binary.BigEndian.PutUint64(txn[2:], 1000)
	binary.BigEndian.PutUint64(txn[10:], 50)
	binary.BigEndian.PutUint64(txn[18:], 60)
	binary.BigEndian.PutUint64(txn[26:], 61)
	newer := bytes.Clone(txn)
	newer[1] = 1
	entries := []producer.Entry{
		{ProducerID: 9001, ProducerEpoch: 2, LastSequence: 31, LastOffset: 40, OffsetDelta: 4, LastTimestamp: 1700000000000, CoordinatorEpoch: 9, CurrentTxnFirstOffset: -1},
		{ProducerID: 2, ProducerEpoch: 0, LastSequence: -1, LastOffset: -1, LastTimestamp: 7, CoordinatorEpoch: -1, CurrentTxnFirstOffset: 33},
	}
	files := map[string][]byte{
		"/t-0/00000000000000000100.txnindex":              append(append(bytes.Clone(txn), txn...), 1, 2, 3),
		"/t-1/00000000000000000100.txnindex":              append(bytes.Clone(txn), newer...),
		"/t-0/00000000000000000111.snapshot":              producer.EncodeSnapshot(entries),
		"/t-0/00000000000000000112.snapshot":              {0, 1, 0},
		"/t-0/bootstrap.checkpoint":                       {},
		"/t-0/00000000000000000512-0000000003.checkpoint": {},
		"/t-0/512-3.checkpoint":                           {},
		"/t-0/x.log":                                      {},
	}
	for _, c := range []struct {
		name, out, errs string
		incomplete      bool
	}{
		{"/t-0/00000000000000000100.txnindex", strings.Repeat("version: 0 producerId: 1000 firstOffset: 50 lastOffset: 60 lastStableOffset: 61\n", 2), "", false},
		{"/t-1/00000000000000000100.txnindex", "version: 0 producerId: 1000 firstOffset: 50 lastOffset: 60 lastStableOffset: 61\n", "entry 1 has version 1", true},
		{"/t-0/00000000000000000111.snapshot", "producerId: 9001 producerEpoch: 2 coordinatorEpoch: 9 currentTxnFirstOffset: OptionalLong.empty lastTimestamp: 1700000000000 " +
			"firstSequence: 27 lastSequence: 31 lastOffset: 40 offsetDelta: 4 timestamp: 1700000000000\n" +
			"producerId: 2 producerEpoch: 0 coordinatorEpoch: -1 currentTxnFirstOffset: OptionalLong[33] lastTimestamp: 7\n", "", false},
		{"/t-0/00000000000000000112.snapshot", "", "3 bytes, a snapshot has at least 10", false},
		{"/t-0/bootstrap.checkpoint", "KRaft bootstrap snapshot\n", "", false},
		{"/t-0/00000000000000000512-0000000003.checkpoint", "Snapshot end offset: 512, epoch: 3\n", "", false},
		{"/t-0/512-3.checkpoint", "", "the name is no snapshot's", true},
		{"/t-0/x.log", "", `does not begin with an offset: "x"`, true},
		{"/t-0/leader-epoch-checkpoint", "", "Ignoring unknown file /t-0/leader-epoch-checkpoint", false},
		{"/t-0/00000000000000000100.log.deleted", "", "Ignoring unknown file", false},
		{"/t-0/00000000000000000900.log", "Log starting offset: 900\n", "not exist", true},
		{"", "", "Ignoring unknown file", false},
	} {
		out, errs, err := run(t, files, nil, c.name)
		if out != "Dumping "+c.name+"\n"+c.out || !strings.Contains(errs, c.errs) || c.errs == "" && errs != "" || c.incomplete != errors.Is(err, ErrIncomplete) {
			t.Errorf("%s:\n%s%s%v", c.name, out, errs, err)
		}
	}
}

func TestIndexWithoutLog(t *testing.T) {
	out, errs, err := run(t, map[string][]byte{indexName: offsetIndex([2]int{103, 80}), timeName: timeIndex([2]int{5, 103})}, nil, indexName, timeName)
	if !strings.Contains(out, "offset: 103 position: 80\n") || !strings.Contains(out, "timestamp: 5 offset: 103\n") ||
		strings.Count(errs, "the entries are not compared with the log") != 2 || !errors.Is(err, ErrIncomplete) {
		t.Errorf("%s%s%v", out, errs, err)
	}
}

func TestMaxBytes(t *testing.T) {
	log := smallLog()
	at := positions(t, log)
	for _, c := range []struct {
		limit   int64
		batches int
	}{{0, 0}, {int64(at[1]) - 1, 0}, {int64(at[1]), 1}, {int64(at[3]), 3}, {1 << 20, 6}} {
		out, errs, err := run(t, map[string][]byte{logName: append(bytes.Clone(log), 9)}, func(o *DumpOptions) { o.MaxBytes = c.limit }, logName)
		if strings.Count(out, "baseOffset") != c.batches || strings.Contains(out, "invalid bytes") || errs != "" || err != nil {
			t.Errorf("%d bytes: %s%s%v", c.limit, out, errs, err)
		}
	}
	_, errs, err := run(t, map[string][]byte{logName: log, indexName: offsetIndex([2]int{103, at[1]})}, func(o *DumpOptions) { o.MaxMessageSize = 61 }, indexName)
	if !strings.Contains(errs, "no batch of up to 61 bytes begins") || !errors.Is(err, ErrIncomplete) {
		t.Errorf("message size: %s%v", errs, err)
	}
}

func TestSkipRecordMetadata(t *testing.T) {
	o := record.DefaultBuilderOptions()
	b := record.NewBuilder(o)
	b.Append(1, []byte("k"), []byte("v"), nil)
	b.Append(1, nil, []byte("v"), nil)
	b.Append(1, []byte("k"), nil, nil)
	b.Append(1, nil, nil, nil)
	name := "/t-0/00000000000000000000.log"
	out, errs, err := run(t, map[string][]byte{name: b.Build()}, func(o *DumpOptions) { o.PrintDataLog, o.SkipRecordMetadata = true, true }, name)
	if !strings.HasSuffix(out, "\n| key: k payload: v\n| payload: v\n| key: k\n\n") || errs != "" || err != nil {
		t.Errorf("%q %s%v", out, errs, err)
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("pipe closed") }

func TestWriteErrors(t *testing.T) {
	fs := vfs.NewMem()
	testdir.Put(t, fs, logName, smallLog())
	o := DefaultDumpOptions()
	o.FS, o.Files = fs, []string{logName}
	if err := Dump(failingWriter{}, &bytes.Buffer{}, o); err == nil || errors.Is(err, ErrIncomplete) {
		t.Errorf("%v", err)
	}
}

// FuzzDump throws bytes at every reader (INS-1).
func FuzzDump(f *testing.F) {
	f.Add(smallLog(), uint8(0))
	f.Add(offsetIndex([2]int{103, 80}), uint8(2))
	f.Add(timeIndex([2]int{5, 103}), uint8(3))
	f.Add(producer.EncodeSnapshot([]producer.Entry{{ProducerID: 1}}), uint8(5))
	f.Fuzz(func(t *testing.T, b []byte, options uint8) {
		name := "/t-0/00000000000000000100." + fileTypes[int(options)%len(fileTypes)]
		fs := vfs.NewMem()
		testdir.Put(t, fs, logName, smallLog())
		testdir.Put(t, fs, name, b)
		o := DefaultDumpOptions()
		o.FS, o.Files = fs, []string{name}
		o.PrintDataLog = options&8 != 0
		o.JSON = options&16 != 0
		o.Decoder = Decoder(options >> 5 % 6)
		o.MaxRecordBytes = 1 << 20
		var out, errs bytes.Buffer
		if err := Dump(&out, &errs, o); err != nil && !errors.Is(err, ErrIncomplete) {
			t.Fatal(err)
		}
	})
}
