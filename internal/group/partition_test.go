package group

import "testing"

func TestPartitionFor(t *testing.T) {
	for _, c := range []struct {
		group string
		hash  int32
		of50  int32
	}{
		{"", 0, 0},
		{"a", 97, 47},
		{"polygenelubricants", -2147483648, 0}, // its absolute value does not exist
		{"golden-group", -1429646149, 49},
		{"golden-admin", -1435606645, 45},
		{"😀", 1772899, 49}, // two UTF-16 units
		{"grüße", 98768023, 23},
	} {
		if got := javaHash(c.group); got != c.hash {
			t.Errorf("hash of %q: %d, want %d", c.group, got, c.hash)
		}
		if got := PartitionFor(c.group, 50); got != c.of50 {
			t.Errorf("partition of %q: %d, want %d", c.group, got, c.of50)
		}
	}
	// Where Apache Kafka has put these groups, of two partitions (testdata).
	for group, want := range map[string]int32{"golden-group": 1, "golden-admin": 1, "new-group": 0, "share-group": 1} {
		if got := PartitionFor(group, 2); got != want {
			t.Errorf("partition of %q: %d, want %d", group, got, want)
		}
	}
}

func TestUTF16Len(t *testing.T) {
	for s, want := range map[string]int{"": 0, "abc": 3, "äöü": 3, "😀": 2} {
		if got := utf16Len(s); got != want {
			t.Errorf("%q: %d, want %d", s, got, want)
		}
	}
}
