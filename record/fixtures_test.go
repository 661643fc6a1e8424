package record

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
)

// segments unpacks testdata/kafka-segments.tar.gz: segments written by Apache Kafka 4.4.0 (codec-*,
// appendtime), 0.8 to 0.10 formats (magic0-*, magic1-*) and by a 3.9.1 broker in old formats (old-*), and what
// the producers sent (*.jsonl).
func segments(t testing.TB) map[string][]byte {
	t.Helper()
	f, err := os.Open("testdata/kafka-segments.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zr, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[h.Name], err = io.ReadAll(tr); err != nil {
			t.Fatal(err)
		}
	}
}

// sent is one line of a .jsonl file.
type sent struct {
	Partition   int32
	Offset      Offset
	TimestampMs int64
	Key, Value  *string
	ValueSha256 *string
	Headers     map[string]string
}

func expected(t testing.TB, lines []byte, partition int32) []sent {
	t.Helper()
	var all []sent
	for s := bufio.NewScanner(bytes.NewReader(lines)); s.Scan(); {
		var r sent
		if err := json.Unmarshal(s.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		if r.Partition == partition {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b sent) int { return int(a.Offset - b.Offset) })
	return all
}

func (s sent) compare(t *testing.T, r Record) {
	t.Helper()
	if r.Offset != s.Offset || (s.Key == nil) != (r.Key == nil) || s.Key != nil && *s.Key != string(r.Key) {
		t.Errorf("offset %d: key %q (null %v), read %d %q (null %v)", s.Offset, deref(s.Key), s.Key == nil, r.Offset, r.Key, r.Key == nil)
	}
	if s.ValueSha256 != nil {
		if sum := sha256.Sum256(r.Value); hex.EncodeToString(sum[:]) != *s.ValueSha256 {
			t.Errorf("offset %d: value of %d bytes differs", s.Offset, len(r.Value))
		}
	} else if (s.Value == nil) != (r.Value == nil) || deref(s.Value) != string(r.Value) {
		t.Errorf("offset %d: value %q, read %q", s.Offset, deref(s.Value), r.Value)
	}
	if len(s.Headers) != len(r.Headers) {
		t.Errorf("offset %d: headers %v, read %v", s.Offset, s.Headers, r.Headers)
	}
	for _, h := range r.Headers {
		if s.Headers[h.Key] != string(h.Value) {
			t.Errorf("offset %d: header %s is %q, read %q", s.Offset, h.Key, s.Headers[h.Key], h.Value)
		}
	}
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// scan checks and collects all batches of a segment.
func scan(t testing.TB, log []byte) []Batch {
	t.Helper()
	var all []Batch
	s := NewScanner(log)
	for s.Next() {
		if err := s.Batch().CheckCRC(); err != nil {
			t.Fatalf("batch at %d: %v", s.Position(), err)
		}
		all = append(all, s.Batch())
	}
	if s.Err() != nil || len(s.Rest()) > 0 {
		t.Fatalf("%d bytes left, %v", len(s.Rest()), s.Err())
	}
	return all
}

func TestReadsKafkaSegments(t *testing.T) {
	files := segments(t)
	for _, c := range []struct {
		topic      string
		partitions int32
	}{{"codec-none", 2}, {"codec-gzip", 2}, {"codec-snappy", 2}, {"codec-lz4", 2}, {"codec-zstd", 2}, {"appendtime", 1}} {
		t.Run(c.topic, func(t *testing.T) {
			for p := range c.partitions {
				want := expected(t, files[c.topic+".jsonl"], p)
				i := 0
				for _, b := range scan(t, files[c.topic+"-"+string(rune('0'+p))+".log"]) {
					for _, r := range collect(t, b) {
						want[i].compare(t, r)
						if b.Attributes().TimestampType() == LogAppendTime {
							if r.Timestamp != b.MaxTimestamp() {
								t.Errorf("offset %d: timestamp %d, batch has %d", r.Offset, r.Timestamp, b.MaxTimestamp())
							}
						} else if r.Timestamp != want[i].TimestampMs {
							t.Errorf("offset %d: timestamp %d, want %d", r.Offset, r.Timestamp, want[i].TimestampMs)
						}
						i++
					}
				}
				if i != len(want) || i == 0 {
					t.Fatalf("read %d records of %d", i, len(want))
				}
			}
		})
	}
}

// Z-02, Z-08: message sets of old producers, with the LZ4 header checksum of magic 0 among them.
func TestReadsOldMessageSets(t *testing.T) {
	files := segments(t)
	for name, log := range files {
		if !strings.HasPrefix(name, "magic") || !strings.HasSuffix(name, ".log") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			want := expected(t, files[strings.TrimSuffix(name, ".log")+".jsonl"], 0)
			i := 0
			for _, b := range scan(t, log) {
				for _, r := range collect(t, b) {
					want[i].compare(t, r)
					wantTime := want[i].TimestampMs
					if b.Magic() == 0 {
						wantTime = NoTimestamp
					}
					if r.Timestamp != wantTime || !r.Legacy.CRCValid || r.Legacy.Magic != b.Magic() {
						t.Errorf("offset %d: timestamp %d, want %d; %+v", r.Offset, r.Timestamp, wantTime, r.Legacy)
					}
					i++
				}
			}
			if i != len(want) || i == 0 {
				t.Fatalf("read %d records of %d", i, len(want))
			}
		})
	}
}

// The 3.9.1 broker stored these as magic 0 and 1 itself: offsets are consecutive whatever the wrapper says.
func TestReadsMessageSetsOfABroker(t *testing.T) {
	files := segments(t)
	for _, name := range []string{"old-0.9.0-gzip-0.log", "old-0.10.2-lz4-0.log"} {
		next := Offset(0)
		for _, b := range scan(t, files[name]) {
			for _, r := range collect(t, b) {
				if r.Offset != next {
					t.Fatalf("%s: offset %d, want %d", name, r.Offset, next)
				}
				next++
			}
			if b.LastOffset() != next-1 {
				t.Fatalf("%s: last offset %d after %d", name, b.LastOffset(), next-1)
			}
		}
		if next < 100 {
			t.Fatalf("%s: %d records", name, next)
		}
	}
}
