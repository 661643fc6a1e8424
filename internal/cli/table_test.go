package cli

import (
	"strings"
	"testing"
)

func TestTableAlignsNumbersRight(t *testing.T) {
	tab := newTable("NAME", "N", "NOTE")
	tab.row("é", 5, "")
	tab.row("longer", 1000, "x")
	var out strings.Builder
	if err := tab.write(&out); err != nil {
		t.Fatal(err)
	}
	want := "NAME       N  NOTE\n" +
		"é          5  -\n" +
		"longer  1000  x\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

func TestByteSize(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 12 << 20: "12 MiB", 5 << 40: "5.0 TiB", 1 << 62: "4.0 EiB"} {
		if got := byteSize(n); got != want {
			t.Errorf("byteSize(%d) = %q; want %q", n, got, want)
		}
	}
}
