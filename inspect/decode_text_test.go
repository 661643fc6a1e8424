package inspect

import (
	"bytes"
	"strings"
	"testing"

	"github.com/samsalog/samsa/inspect/internal/testdir"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// The numbers are what Kafka's IntegerDecoder and LongDecoder print for these bytes: the first ones count, others are ignored.
func TestTextDecoders(t *testing.T) {
	b := record.NewBuilder(record.DefaultBuilderOptions())
	b.Append(1700000000000, []byte("k0"), []byte("index-59 segment-318"), nil)
	b.Append(1700000000000, []byte{0xff, 0xff, 0xff, 0xfe}, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfd}, nil)
	b.Append(1700000000000, nil, nil, nil)
	fsys := vfs.NewMem()
	testdir.Put(t, fsys, "/00000000000000000000.log", b.Build())
	const short = "Error at offset 0, skipping. 2 bytes are too few for the number."
	for _, c := range []struct {
		key, value TextDecoder
		text, json string
	}{
		{StringDecoder, IntegerDecoder, " key: k0 payload: 1768842341| key: \ufffd\ufffd\ufffd\ufffd payload: -1||",
			`"key":"k0","value":1768842341|"keyBase64":"/////g==","value":-1|`},
		{IntegerDecoder, LongDecoder, " key: " + short + " payload: 7597120008391308601| key: -2 payload: -3||",
			`"keyBase64":"azA=","value":7597120008391308601,"decodeError":"` + short + `"|"key":-2,"value":-3|`},
		{DefaultDecoder, DefaultDecoder, " key: 6b30 payload: 696e6465782d3539207365676d656e742d333138| key: fffffffe payload: fffffffffffffffd||",
			`"keyBase64":"azA=","valueBase64":"aW5kZXgtNTkgc2VnbWVudC0zMTg="|"keyBase64":"/////g==","valueBase64":"//////////0="|`},
	} {
		o := DefaultDumpOptions()
		o.FS, o.Files, o.PrintDataLog, o.KeyAs, o.ValueAs = fsys, []string{"/00000000000000000000.log"}, true, c.key, c.value
		var text, json bytes.Buffer
		if err := Dump(&text, &text, o); err != nil {
			t.Fatal(err)
		}
		o.JSON = true
		if err := Dump(&json, &json, o); err != nil {
			t.Fatal(err)
		}
		if got := tails(text.String(), "headerKeys: []", "\n"); got != c.text {
			t.Errorf("%v %v:\n%q, want\n%q", c.key, c.value, got, c.text)
		}
		if got := tails(json.String(), `"headerKeys":[],`, "}\n"); got != c.json {
			t.Errorf("%v %v:\n%s, want\n%s", c.key, c.value, got, c.json)
		}
	}
}

// tails is what stands between two marks in each line that has both, with | behind each.
func tails(s, from, to string) (all string) {
	for line := range strings.Lines(s) {
		if _, tail, ok := strings.Cut(line, from); ok {
			tail, _, _ = strings.Cut(tail, to)
			all += tail + "|"
		}
	}
	return all
}
