package cli

import (
	"bytes"
	"context"
	"errors"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func TestParseLines(t *testing.T) {
	opts := produceOptions{input: "lines", keySeparator: ":", nullText: "NULL", headers: []string{"a=1", "b="}}
	parse, err := opts.parser()
	if err != nil {
		t.Fatal(err)
	}
	headers := []kgo.RecordHeader{{Key: "a", Value: []byte("1")}, {Key: "b", Value: []byte{}}}
	for line, want := range map[string]kgo.Record{
		"k:v":       {Key: []byte("k"), Value: []byte("v")},
		"k:v:w":     {Key: []byte("k"), Value: []byte("v:w")},
		":v":        {Key: []byte{}, Value: []byte("v")},
		"k:":        {Key: []byte("k"), Value: []byte{}},
		"NULL:v":    {Key: nil, Value: []byte("v")},
		"k:NULL":    {Key: []byte("k"), Value: nil},
		"NULL:NULL": {},
	} {
		want.Partition, want.Headers = -1, headers
		got, err := parse([]byte(line))
		if err != nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("parse(%q) = %+v, %v; want %+v", line, got, err, want)
		}
	}
	if _, err := parse([]byte("no separator")); err == nil {
		t.Error("a line without the separator was accepted")
	}
}

func TestParseLinesWithoutKey(t *testing.T) {
	opts := produceOptions{input: "lines"}
	parse, err := opts.parser()
	if err != nil {
		t.Fatal(err)
	}
	got, err := parse([]byte{})
	if err != nil || got.Key != nil || got.Value == nil || len(got.Value) != 0 {
		t.Errorf("an empty line gave %+v, %v; want a null key and an empty value", got, err)
	}
}

func TestReadLinesKeepsLongAndUnterminatedLines(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	lines := readLines(strings.NewReader("one\r\n\n" + long + "\nlast"))
	want := []string{"one", "", long, "last"}
	for i, w := range want {
		line, ok := <-lines.next
		if !ok || string(line.text) != w || line.number != i+1 {
			t.Fatalf("line %d: got number %d, %d bytes, %v", i+1, line.number, len(line.text), ok)
		}
	}
	if _, ok := <-lines.next; ok || lines.err != nil {
		t.Errorf("after the end: %v, error %v", ok, lines.err)
	}
}

// TestJSONRecordRoundTrip sends every kind of key, value and header through the text form.
func TestJSONRecordRoundTrip(t *testing.T) {
	for _, key := range [][]byte{nil, {}, []byte("text <&>"), {0xff, 0}, []byte("é\u2028\n")} {
		for _, value := range [][]byte{nil, {}, []byte(`{"a":"b"}`), {0xc3}} {
			in := &kgo.Record{Topic: "t", Partition: 3, Offset: 7, Key: key, Value: value,
				Headers: []kgo.RecordHeader{{Key: "h", Value: value}, {Key: "h", Value: key}}}
			line, err := appendJSONLine(nil, newJSONRecord(in))
			if err != nil || bytes.Count(line, []byte("\n")) != 1 {
				t.Fatalf("%q: %v", line, err)
			}
			out, err := parseJSONRecord(line)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			same := out.Partition == 3 && out.Timestamp.UnixMilli() == in.Timestamp.UnixMilli() &&
				reflect.DeepEqual(out.Key, key) && reflect.DeepEqual(out.Value, value) && reflect.DeepEqual(out.Headers, in.Headers)
			if !same {
				t.Errorf("%s came back as %+v", line, out)
			}
		}
	}
}

func TestParseJSONRecordRejects(t *testing.T) {
	for _, line := range []string{"", "hello", "[]", `{"valu":"x"}`, `{"value":5}`, `{"partition":"x"}`} {
		if r, err := parseJSONRecord([]byte(line)); err == nil {
			t.Errorf("%q was read as %+v", line, r)
		}
	}
}

// TestProduceStopsWithoutLeader: a leader that cannot be reached does not keep a stopped command from ending, neither when
// records wait to be sent nor when the client has no room for more.
func TestProduceStopsWithoutLeader(t *testing.T) {
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	leader := nobody.Addr().String()
	if err := nobody.Close(); err != nil {
		t.Fatal(err)
	}
	addr := startBroker(t, "advertised.listeners", "PLAINTEXT://"+leader)
	for name, lines := range map[string]string{"waiting": "1\n", "full": "1\n2\n"} {
		t.Run(name, func(t *testing.T) {
			cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DefaultProduceTopic("t"), kgo.AllowAutoTopicCreation(), kgo.MaxBufferedRecords(1))
			if err != nil {
				t.Fatal(err)
			}
			defer cl.Close()
			stopped, stop := context.WithCancel(t.Context())
			left := strings.Count(lines, "\n")
			run := &produceRun{client: cl, partition: -1, grace: 100 * time.Millisecond, parse: func(line []byte) (*kgo.Record, error) {
				if left--; left == 0 { // of "full", the line for which there is no room
					stop()
				}
				return &kgo.Record{Value: line}, nil
			}}
			if err := run.copy(stopped, t.Context(), strings.NewReader(lines)); !errors.Is(err, errUnwritten) || run.written.Load() != 0 {
				t.Errorf("%v, %d records written", err, run.written.Load())
			}
		})
	}
}
