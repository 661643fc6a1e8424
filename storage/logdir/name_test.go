package logdir

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/samsalog/samsa/record"
)

func TestParseName(t *testing.T) {
	const u = "d848adc32a734e7281c8eb9677e78332"
	for name, want := range map[string]Name{
		"orders-0":                        {tp("orders", 0), Current},
		"a-b-12":                          {tp("a-b", 12), Current},
		"names.with_dots-and-dashes-0":    {tp("names.with_dots-and-dashes", 0), Current},
		"__consumer_offsets-49":           {tp("__consumer_offsets", 49), Current},
		"a--1":                            {tp("a-", 1), Current},
		"x-007":                           {tp("x", 7), Current},
		"x-2147483647":                    {tp("x", 2147483647), Current},
		"gone-0." + u + "-delete":         {tp("gone", 0), Deleted},
		"a.b-1." + u + "-stray":           {tp("a.b", 1), Stray},
		"a-b-3." + u + "-future":          {tp("a-b", 3), Future},
		"t-1.x-delete":                    {tp("t", 1), Deleted},
		"foo-delete-0":                    {tp("foo-delete", 0), Current},
		"foo-delete-0." + u + "-delete":   {tp("foo-delete", 0), Deleted},
		"a-0.b-1." + u + "-stray":         {tp("a-0.b", 1), Stray},
		strings.Repeat("t", 249) + "-123": {tp(strings.Repeat("t", 249), 123), Current},
	} {
		if got, err := ParseName(name); err != nil || got != want {
			t.Errorf("%s: %v %v, want %v", name, got, err, want)
		}
	}
	for _, name := range []string{
		"", "-", "--", "orders", "orders-", "-0", "orders-x", "orders-2147483648", "orders-0-delete", "a-0.-delete", ".x-delete",
		"-delete", "-0." + u + "-delete", "a-." + u + "-delete", "a." + u + "-delete", "a b-0." + u + "-delete", "lost+found", "a-1.5",
	} {
		if got, err := ParseName(name); err == nil {
			t.Errorf("%q was read as %v", name, got)
		}
	}
}

func TestFormatName(t *testing.T) {
	u := record.UUID{0: 0xd8, 15: 0x32}
	const hex = "d8000000000000000000000000000032"
	long := strings.Repeat("t", 249)
	for _, c := range []struct {
		tp   record.TopicPartition
		kind Kind
		want string
	}{
		{tp("orders", 3), Current, "orders-3"},
		{tp("orders", 3), Deleted, "orders-3." + hex + "-delete"},
		{tp("orders", 3), Stray, "orders-3." + hex + "-stray"},
		{tp("orders", 3), Future, "orders-3." + hex + "-future"},
		{tp(long, 12), Deleted, long[:212] + "-12." + hex + "-delete"},
		{tp(long, 1), Stray, long[:214] + "-1." + hex + "-stray"},
		{tp(long, 1), Future, long + "-1." + hex + "-future"},
	} {
		got := FormatName(c.tp, c.kind, u)
		if got != c.want {
			t.Errorf("%v %v: %s, want %s", c.tp, c.kind, got, c.want)
		}
		if c.kind != Future && len(got) > maxName {
			t.Errorf("%s has %d bytes", got, len(got))
		}
	}
}

func TestNameRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := tp(rapid.StringMatching(`[a-zA-Z0-9._-]{1,200}`).Draw(t, "topic"), rapid.Int32Range(0, 1<<30).Draw(t, "partition"))
		kind := Kind(rapid.IntRange(0, 3).Draw(t, "kind"))
		name := FormatName(p, kind, record.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "unique")))
		if got, err := ParseName(name); err != nil || got != (Name{p, kind}) {
			t.Fatalf("%s: %v %v, want %v %v", name, got, err, p, kind)
		}
	})
}

func FuzzParseName(f *testing.F) {
	f.Add("gone-0.d848adc32a734e7281c8eb9677e78332-delete")
	f.Add("a-0.-stray")
	f.Fuzz(func(t *testing.T, name string) {
		n, err := ParseName(name)
		if err == nil && (n.TopicPartition.Topic == "" || n.TopicPartition.Partition < 0) {
			t.Errorf("%q: %v", name, n)
		}
	})
}
