package inspect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/samsalog/samsa/inspect/internal/testdir"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/producer"
)

func TestJSON(t *testing.T) {
	o := record.DefaultBuilderOptions()
	o.ProducerID, o.ProducerEpoch, o.BaseSequence = 5, 1, 10
	b := record.NewBuilder(o)
	b.Append(7, []byte("k<"), []byte{0xff, 0xfe}, []record.RecordHeader{{Key: "h", Value: []byte("x")}, {Key: "n"}})
	b.Append(8, nil, []byte(""), nil)
	name := "/t-0/00000000000000000000.log"
	snapshot := producer.EncodeSnapshot([]producer.Entry{{ProducerID: 2, LastSequence: -1, LastOffset: -1, LastTimestamp: 7, CoordinatorEpoch: -1, CurrentTxnFirstOffset: -1}})
	batch := b.Build()
	out, errs, err := run(t, map[string][]byte{name: append(bytes.Clone(batch), 0), "/t-0/00000000000000000002.snapshot": snapshot},
		func(o *DumpOptions) { o.PrintDataLog, o.JSON = true, true }, name, "/t-0/00000000000000000002.snapshot", "/t-0/nothing", "/t-0/00000000000000000009.txnindex")
	if errs != "" || !errors.Is(err, ErrIncomplete) {
		t.Errorf("%s%v", errs, err)
	}
	want := []string{
		`{"kind":"file","path":"/t-0/00000000000000000000.log","type":"log"}`,
		`{"kind":"log","startingOffset":0}`,
		fmt.Sprintf(`{"kind":"batch","position":0,"sizeInBytes":%d,"magic":2,"baseOffset":0,"lastOffset":1,"codec":"none","timestampType":"CreateTime","maxTimestamp":8,"crc":%d,"valid":true,`+
			`"count":2,"baseTimestamp":7,"producerId":5,"producerEpoch":1,"baseSequence":10,"lastSequence":11,"partitionLeaderEpoch":-1,"isTransactional":false,"isControl":false,"deleteHorizonMs":null}`,
			len(batch), batch.Header().CRC),
		`{"kind":"record","offset":0,"timestamp":7,"timestampType":"CreateTime","keySize":2,"valueSize":2,"sequence":10,"headerKeys":["h","n"],"key":"k<","valueBase64":"//4=","headers":[{"key":"h","value":"x"},{"key":"n"}]}`,
		`{"kind":"record","offset":1,"timestamp":8,"timestampType":"CreateTime","keySize":-1,"valueSize":0,"sequence":11,"headerKeys":[],"value":""}`,
		`{"kind":"invalidBytes","name":"00000000000000000000.log","bytes":1}`,
		`{"kind":"file","path":"/t-0/00000000000000000002.snapshot","type":"snapshot"}`,
		`{"kind":"producer","producerId":2,"producerEpoch":0,"coordinatorEpoch":-1,"currentTxnFirstOffset":null,"lastTimestamp":7}`,
		`{"kind":"file","path":"/t-0/nothing","ignored":true}`,
		`{"kind":"file","path":"/t-0/00000000000000000009.txnindex","type":"txnindex"}`,
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	for i, line := range want {
		if i >= len(lines) || lines[i] != line {
			t.Fatalf("line %d:\n got %s\nwant %s", i, strings.Join(lines[min(i, len(lines)):], "\n"), line)
		}
	}
	var problem jsonProblem
	if err := json.Unmarshal([]byte(lines[len(want)]), &problem); err != nil || problem.Kind != "problem" || len(lines) != len(want)+1 {
		t.Errorf("%v: %q", err, lines[len(want):])
	}
}

// Every line of the JSON form is a document, whatever Kafka wrote.
func TestJSONOfKafkaFiles(t *testing.T) {
	fs := testdir.Unpack(t, "testdata/kafka-4.4.0-clean.tar.gz", "")
	kinds := map[string]int{}
	for _, b := range blocks(t, "kafka-4.4.0-clean") {
		o := asDumped(b.path)
		o.FS, o.Files, o.JSON = fs, []string{b.path}, true
		var out, errs bytes.Buffer
		if err := Dump(&out, &errs, o); err != nil || errs.Len() > 0 {
			t.Errorf("%s: %v %s", b.path, err, &errs)
		}
		for dec := json.NewDecoder(&out); dec.More(); {
			var doc struct{ Kind, DecodeError string }
			if err := dec.Decode(&doc); err != nil {
				t.Fatalf("%s: %v", b.path, err)
			}
			if doc.DecodeError != "" {
				t.Errorf("%s: %s", b.path, doc.DecodeError)
			}
			kinds[doc.Kind]++
		}
	}
	for _, kind := range []string{"file", "log", "snapshot", "batch", "record", "offsetEntry", "timeEntry", "producer", "finding"} {
		if kinds[kind] == 0 {
			t.Errorf("no %s among %v", kind, kinds)
		}
	}
}

func TestJSONOfIndexes(t *testing.T) {
	log := smallLog()
	at := positions(t, log)
	txn := make([]byte, 34)
	txn[9] = 5
	files := map[string][]byte{
		logName:                              log,
		indexName:                            offsetIndex([2]int{103, at[1]}, [2]int{104, at[2]}),
		timeName:                             timeIndex([2]int{day + 3000, 103}),
		"/t-0/00000000000000000100.txnindex": txn,
		"/e-0/00000000000000000000.log":      {},
		"/e-0/00000000000000000000.index":    {},
	}
	as := func(change func(*DumpOptions)) func(*DumpOptions) {
		return func(o *DumpOptions) { o.JSON = true; change(o) }
	}
	out, errs, err := run(t, files, as(func(*DumpOptions) {}), indexName, timeName, "/t-0/00000000000000000100.txnindex", "/e-0/00000000000000000000.index")
	want := strings.Join([]string{
		`{"kind":"file","path":"/t-0/00000000000000000100.index","type":"index"}`,
		fmt.Sprintf(`{"kind":"offsetEntry","offset":103,"position":%d}`, at[1]),
		fmt.Sprintf(`{"kind":"offsetEntry","offset":104,"position":%d}`, at[2]),
		`{"kind":"file","path":"/t-0/00000000000000000100.timeindex","type":"timeindex"}`,
		`{"kind":"timeEntry","timestamp":86403000,"offset":103}`,
		`{"kind":"file","path":"/t-0/00000000000000000100.txnindex","type":"txnindex"}`,
		`{"kind":"abortedTxn","version":0,"producerId":5,"firstOffset":0,"lastOffset":0,"lastStableOffset":0}`,
		`{"kind":"file","path":"/e-0/00000000000000000000.index","type":"index"}`,
		`{"kind":"empty","path":"/e-0/00000000000000000000.index"}`,
		`{"kind":"finding","finding":"offsetMismatch","path":"/t-0/00000000000000000100.index","numbers":{"indexOffset":104,"logOffset":105}}`,
	}, "\n") + "\n"
	if out != want || errs != "" || err != nil {
		t.Errorf("got\n%s%s%v\nwant\n%s", out, errs, err, want)
	}
	out, _, err = run(t, files, as(func(o *DumpOptions) { o.IndexSanityCheck = true }), indexName)
	if !strings.HasSuffix(out, `{"kind":"sane","path":"/t-0/00000000000000000100.index"}`+"\n") || err != nil {
		t.Errorf("%s%v", out, err)
	}
}

// Kafka's maps keep one finding per number, and are walked in the order of their hashes.
func TestFindingsAreOrderedLikeJavaMaps(t *testing.T) {
	var f findings
	f.put("/a", 5, 6)
	f.put("/a", 7, 8)
	f.put("/a", 5, 9)
	if list := f.byFile["/a"]; len(list) != 2 || list[0] != (finding{5, 9}) {
		t.Errorf("%v", list)
	}
	if h := javaHash("hello"); h != 99162322^99162322>>16 {
		t.Errorf("hash %d", h)
	}
	// What Kafka's tool listed for n such files; the map grows at the 14th.
	for n, want := range map[int]string{13: "4 7 1 6 12 10 11 8 5 3 2 9 13", 14: "4 12 11 3 2 7 1 6 10 14 8 5 9 13", 15: "4 12 11 3 2 15 7 1 6 10 14 8 5 9 13"} {
		var g findings
		for i := range n {
			g.add(fmt.Sprintf("/samsa-order/t-%d/00000000000000000514.log", i+1), -1, 514)
		}
		var got []string
		for _, p := range g.paths() {
			got = append(got, strings.TrimSuffix(strings.TrimPrefix(p, "/samsa-order/t-"), "/00000000000000000514.log"))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%d files: %v, want %s", n, got, want)
		}
	}
}
