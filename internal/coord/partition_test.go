package coord

import "testing"

func TestPartitionFor(t *testing.T) {
	for _, c := range []struct {
		key  string
		hash int32
		of50 int32
	}{
		{"", 0, 0},
		{"a", 97, 47},
		{"polygenelubricants", -2147483648, 0}, // its absolute value does not exist
		{"golden-group", -1429646149, 49},
		{"golden-admin", -1435606645, 45},
		{"😀", 1772899, 49}, // two UTF-16 units
		{"grüße", 98768023, 23},
	} {
		if got := javaHash(c.key); got != c.hash {
			t.Errorf("hash of %q: %d, want %d", c.key, got, c.hash)
		}
		if got := PartitionFor(c.key, 50); got != c.of50 {
			t.Errorf("partition of %q: %d, want %d", c.key, got, c.of50)
		}
	}
	// Where Apache Kafka has put these groups, of two partitions.
	for key, want := range map[string]int32{"golden-group": 1, "golden-admin": 1, "new-group": 0, "share-group": 1} {
		if got := PartitionFor(key, 2); got != want {
			t.Errorf("partition of %q: %d, want %d", key, got, want)
		}
	}
}
