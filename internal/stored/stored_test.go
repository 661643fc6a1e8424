package stored

import (
	"bufio"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
)

type example struct {
	record  string
	version int16
	kind    string
	bytes   []byte
}

// examples reads the encodings that stand in schemas.json.
func examples(t testing.TB) []example {
	text, err := os.ReadFile("schemas.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []struct {
		Record   string
		Versions []struct {
			Version        int16
			ExampleFilled  string
			ExampleDefault string
		}
	}
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	var out []example
	for _, r := range list {
		for _, v := range r.Versions {
			for kind, text := range map[string]string{"filled": v.ExampleFilled, "default": v.ExampleDefault} {
				b, err := hex.DecodeString(text)
				if err != nil {
					t.Fatal(err)
				}
				if len(b) > 0 || kind == "default" {
					out = append(out, example{r.Record, v.Version, kind, b})
				}
			}
		}
	}
	return out
}

// Every example must decode completely and encode to the same bytes, and a new record must encode to the
// default example.
func TestExamplesRoundTrip(t *testing.T) {
	seen := map[string]bool{}
	for _, x := range examples(t) {
		m := New(x.record)
		if m == nil {
			t.Errorf("%s: no codec", x.record)
			continue
		}
		if x.kind == "default" {
			if got := m.AppendTo(nil, x.version); hex.EncodeToString(got) != hex.EncodeToString(x.bytes) {
				t.Errorf("%s %d: default encodes to %x, want %x", x.record, x.version, got, x.bytes)
			}
		}
		rest, err := m.Decode(x.bytes, x.version)
		if err != nil || len(rest) != 0 {
			t.Errorf("%s %d %s: %d bytes left, %v", x.record, x.version, x.kind, len(rest), err)
			continue
		}
		if got := m.AppendTo(nil, x.version); hex.EncodeToString(got) != hex.EncodeToString(x.bytes) {
			t.Errorf("%s %d %s:\n got %x\nwant %x", x.record, x.version, x.kind, got, x.bytes)
		}
		seen[x.record] = true
	}
	if len(seen) != 96 {
		t.Errorf("%d records, want 96", len(seen))
	}
}

// testdata/json.txt.gz holds what the JSON converters of Apache Kafka 4.4.0 print for the examples: record,
// version, kind, JSON.
func TestJSONEqualsKafka(t *testing.T) {
	byKey := map[string][]byte{}
	for _, x := range examples(t) {
		byKey[x.record+" "+strconv.Itoa(int(x.version))+" "+x.kind] = x.bytes
	}
	lines := 0
	for _, line := range gzipLines(t, "testdata/json.txt.gz") {
		f := strings.SplitN(line, " ", 4)
		version, _ := strconv.Atoi(f[1])
		m := New(f[0])
		if _, err := m.Decode(byKey[strings.Join(f[:3], " ")], int16(version)); err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if got := string(m.AppendJSON(nil, int16(version))); got != f[3] {
			t.Errorf("%s %s %s:\n got %s\nwant %s", f[0], f[1], f[2], got, f[3])
		}
		lines++
	}
	if lines < 200 {
		t.Errorf("%d lines", lines)
	}
}

func gzipLines(t testing.TB, path string) []string {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	s := bufio.NewScanner(z)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		out = append(out, s.Text())
	}
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	return out
}

// An encoding that is cut anywhere must give an error, never a panic, and never the whole record.
func TestCutExamples(t *testing.T) {
	for _, x := range examples(t) {
		for n := range x.bytes {
			m := New(x.record)
			if _, err := m.Decode(x.bytes[:n:n], x.version); !errors.Is(err, ErrShort) {
				t.Errorf("%s %d %s cut at %d: %v", x.record, x.version, x.kind, n, err)
			}
		}
	}
}

func TestUnknownTagsAreKept(t *testing.T) {
	b, _ := hex.DecodeString("0361620000000000000000000000000000000102" + "0901aa" + "c80102bbcc")
	var m TopicRecord
	if rest, err := m.Decode(b, 0); err != nil || len(rest) != 0 {
		t.Fatal(rest, err)
	}
	if got := m.AppendTo(nil, 0); string(got) != string(b) {
		t.Errorf("got %x, want %x", got, b)
	}
}

func TestMalformed(t *testing.T) {
	for _, c := range []struct {
		name, record string
		version      int16
		hex          string
		want         error
	}{
		{"version", "TopicRecord", 1, "", ErrVersion},
		{"negative version", "TopicRecord", -1, "", ErrVersion},
		{"null name", "TopicRecord", 0, "0000", ErrMalformed},
		{"string longer than the bytes", "TopicRecord", 0, "ffffffff0f", ErrShort},
		{"varint over 32 bits", "TopicRecord", 0, "ffffffffff7f", ErrMalformed},
		{"array longer than the bytes", "DelegationTokenRecord", 0, "0101ffffffff0f", ErrShort},
		{"negative array", "ConsumerProtocolAssignment", 0, "fffffffe", ErrMalformed},
		{"tag longer than the bytes", "NoOpRecord", 0, "0105ff01", ErrShort},
		{"leftover in a tag", "BeginTransactionRecord", 0, "010003026100", ErrMalformed},
		{"tag value too short", "BeginTransactionRecord", 0, "01000103", ErrShort},
	} {
		b, err := hex.DecodeString(c.hex)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := New(c.record).Decode(b, c.version); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}
