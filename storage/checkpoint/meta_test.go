package checkpoint

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

func id(t testing.TB, s string) record.UUID {
	t.Helper()
	u, err := record.ParseUUID(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestMetaPropertiesOfKafka reads what the storage tool of Apache Kafka 4.4.0 writes and writes the same bytes.
func TestMetaPropertiesOfKafka(t *testing.T) {
	want := MetaProperties{ClusterID: "MkU3OEVBNTcwNTJENDM2Qg", NodeID: 1, DirectoryID: id(t, "XNyV_7RJSya009KwNougXQ"), Version: 1}
	got, err := ReadMetaProperties(vfs.NewOS(), "testdata/clean/meta.properties")
	if err != nil || got != want {
		t.Fatalf("%+v %v, want %+v", got, err, want)
	}
	m := vfs.NewMem()
	if err := WriteMetaProperties(m, "/meta.properties", got, time.Date(2026, 11, 29, 23, 38, 27, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("testdata/clean/meta.properties")
	if err != nil {
		t.Fatal(err)
	}
	if text := get(t, m, "/meta.properties"); text != string(data) {
		t.Errorf("%q, Kafka has %q", text, data)
	}
}

func TestMetaPropertiesOfZooKeeperTimes(t *testing.T) {
	m := vfs.NewMem()
	put(t, m, "/m", "#\n#Sun\nbroker.id=7\nversion=0\ncluster.id=abc\n")
	want := MetaProperties{ClusterID: "abc", NodeID: 7}
	if got, err := ReadMetaProperties(m, "/m"); err != nil || got != want {
		t.Fatalf("%+v %v", got, err)
	}
	put(t, m, "/m", "")
	want = MetaProperties{NodeID: NoNodeID}
	got, err := ReadMetaProperties(m, "/m")
	if err != nil || got != want {
		t.Fatalf("empty: %+v %v", got, err)
	}
	for _, meta := range []MetaProperties{want, {ClusterID: "abc", NodeID: 7, DirectoryID: id(t, "XNyV_7RJSya009KwNougXQ")}} {
		if err := WriteMetaProperties(m, "/m", meta, time.Now()); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadMetaProperties(m, "/m"); err != nil || got != meta {
			t.Errorf("%+v %v, want %+v", got, err, meta)
		}
	}
}

func TestMetaPropertiesRefused(t *testing.T) {
	for text, want := range map[string]string{
		"version=2\n":                                             "version \"2\"",
		"version=x\n":                                             "version \"x\"",
		"version=1\ncluster.id=a\n":                               "needs cluster.id and node.id",
		"version=1\nnode.id=1\n":                                  "needs cluster.id and node.id",
		"version=1\ncluster.id=a\nnode.id=one\n":                  "node.id is \"one\"",
		"version=1\ncluster.id=a\nnode.id=-1\n":                   "node.id is \"-1\"",
		"version=1\ncluster.id=a\nnode.id=2147483648\n":           "node.id is",
		"version=1\ncluster.id=a\nnode.id=1\ndirectory.id=nope\n": "directory.id",
		"version=1\ncluster.id=a\nnode.id=1\ndirectory.id=AAAAAAAAAAAAAAAAAAAAAQ\n": "reserved",
		`version=1\u00`: "malformed",
	} {
		m := vfs.NewMem()
		put(t, m, "/m", text)
		if _, err := ReadMetaProperties(m, "/m"); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := ReadMetaProperties(vfs.NewMem(), "/m"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}

// The right side is what java.util.Properties reads.
func TestParseProperties(t *testing.T) {
	for text, want := range map[string]map[string]string{
		"":                         {},
		"# c\n! d\n\n  # e\na=b":   {"a": "b"},
		"a=b\na=c":                 {"a": "c"},
		"a : b":                    {"a": "b"},
		"a  b c ":                  {"a": "b c "},
		"a=  b":                    {"a": "b"},
		"a==b":                     {"a": "=b"},
		"a := b":                   {"a": "= b"},
		"  a=b":                    {"a": "b"},
		"a":                        {"a": ""},
		"=b":                       {"": "b"},
		`a\=b=c`:                   {"a=b": "c"},
		`a\ b\:c d`:                {"a b:c": "d"},
		"a=b\\\n   c":              {"a": "bc"},
		"a=b\\\r\n\tc":             {"a": "bc"},
		"a=b\\\\\nc=d":             {"a": `b\`, "c": "d"},
		"a=b\\\n#c\n":              {"a": "b#c"},
		"a=b\\":                    {"a": "b"},
		"\\\na=b":                  {"a": "b"},
		"a\\\n=b":                  {"a": "b"},
		"a=b\\\n\n c=d":            {"a": "b", "c": "d"},
		"\\\n#x=1\n":               {},
		"   \\\n\n a=b":            {"a": "b"},
		"a\\\n# c\nb=2":            {"a#": "c", "b": "2"},
		`a=\t\n\f\r\q\\`:           {"a": "\t\n\f\rq\\"},
		`a=\u00e4\u20AC`:           {"a": "ä€"},
		`a=\uD83D\uDE00`:           {"a": "😀"},
		"a=ä":                      {"a": "ä"},
		"log.dirs=/a,/b\r\nb=1\rc": {"log.dirs": "/a,/b", "b": "1", "c": ""},
	} {
		got, err := ParseProperties([]byte(text))
		if err != nil || len(got) != len(want) {
			t.Errorf("%q: %q %v, want %q", text, got, err, want)
			continue
		}
		for k, v := range want {
			if g, ok := got[k]; !ok || g != v {
				t.Errorf("%q: %q, want %q", text, got, want)
			}
		}
	}
	for _, text := range []string{`a=\u12`, `a=\uzzzz`, `a\u`} {
		if _, err := ParseProperties([]byte(text)); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestPropertiesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "properties")
		var list []Property
		for k, v := range want {
			list = append(list, Property{k, v})
		}
		data := AppendProperties(nil, "comment", time.Now(), list)
		got, err := ParseProperties(data)
		if err != nil || len(got) != len(want) {
			t.Fatalf("%q: %q %v, want %q", data, got, err, want)
		}
		for k, v := range want {
			if got[k] != v {
				t.Fatalf("%q: %q is %q, want %q", data, k, got[k], v)
			}
		}
	})
}

func FuzzParseProperties(f *testing.F) {
	f.Add([]byte("#\n#date\nnode.id=1\nversion=1\n"))
	f.Add([]byte(`a\=b : c\u00e4\`))
	data, err := os.ReadFile("testdata/clean/meta.properties")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = ParseProperties(data)
		_, _ = parseMeta(data)
		_, _ = parsePartitionMetadata(string(data))
		_, _ = parseFrame(string(data), 2)
	})
}
