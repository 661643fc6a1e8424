package inspect

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/samsalog/samsa/record"
)

func TestControlRecords(t *testing.T) {
	unhex := func(s string) []byte {
		b, err := hex.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, c := range []struct {
		key, value string
		want       string
		failed     bool
	}{
		{"00000001", "000000000009", " endTxnMarker: COMMIT coordinatorEpoch: 9", false},
		{"00000000", "00000000000901", " endTxnMarker: ABORT coordinatorEpoch: 9", false},
		{"00000002", "00000000000102000000010002000000010000", ` LeaderChange: {"version":0,"leaderId":1,"voters":[{"voterId":1}],"grantingVoters":[{"voterId":1}]}`, false},
		{"00000003", "00000000018bcfe5680000", ` SnapshotHeader {"version":0,"lastContainedLogTimestamp":1700000000000}`, false},
		{"00000004", "000000", ` SnapshotFooter {"version":0}`, false},
		{"00000005", "0000000100", ` KRaftVersion {"version":0,"kRaftVersion":1}`, false},
		{"00000009", "00", " controlType: UNKNOWN(9)", false},
		{"0000ffff", "00", " controlType: UNKNOWN(-1)", false},
		{"0000", "", "", true},
		{"00000001", "0000", "", true},
		{"00000003", "0000", "", true},
		{"00000002", "", "", true},
	} {
		got := parseControl(unhex(c.key), unhex(c.value))
		if got.text != c.want || (got.err != nil) != c.failed {
			t.Errorf("%s %s: %q, %v", c.key, c.value, got.text, got.err)
		}
	}
}

func TestJavaText(t *testing.T) {
	const r = "\ufffd"
	for in, want := range map[string]string{
		"plain": "plain", "ü€😀": "ü€😀", "\xff": r, "a\xe2\x82b": "a" + r + "b", "\xe2\x82": r, "\xf0\x9f\x98x": r + "x", "\xc0\xaf": r + r,
		"\xed\xa0\x80": r, "\xf4\x90\x80\x80": r + r + r + r, "\xe0\x80\x80": r + r + r, "\xf5\x80": r + r, "\xe1\x80\xe2\x82\xac": r + "€", "\xc2\xc2\x80": r + "\u0080",
	} {
		if got := javaText([]byte(in)); got != want {
			t.Errorf("%x: %q, want %q", in, got, want)
		}
	}
}

// testdata/remote-log-metadata.txt holds values that Kafka 4.4's serde wrote, and what its classes print of them.
func TestRemoteLogMetadata(t *testing.T) {
	b, err := os.ReadFile("testdata/remote-log-metadata.txt")
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]bool{}
	for line := range strings.Lines(string(b)) {
		raw, want, _ := strings.Cut(strings.TrimSpace(line), " ")
		value, err := hex.DecodeString(raw)
		if err != nil {
			t.Fatal(err)
		}
		key, got := remoteDecoder{}.decode(&record.Record{Value: value})
		if got.text != want || key.present || !json.Valid(got.json) {
			t.Errorf("got  %s\nwant %s\n%s", got.text, want, got.json)
		}
		types[want[:strings.IndexByte(want, '{')]] = true
		for cut := range value {
			if _, got := (remoteDecoder{}).decode(&record.Record{Value: value[:cut], Offset: 4}); !strings.HasPrefix(got.text, "Error at offset 4, skipping. ") {
				t.Errorf("cut at %d: %s", cut, got.text)
			}
		}
	}
	if len(types) != len(remoteRecords) {
		t.Errorf("only %v", types)
	}
	for _, value := range []string{"", "02", "0200000000", "010900", "010001", "01020000"} {
		raw, _ := hex.DecodeString(value)
		if _, got := (remoteDecoder{}).decode(&record.Record{Value: raw}); !got.failed {
			t.Errorf("%s: %s", value, got.text)
		}
	}
}
