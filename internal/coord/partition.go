package coord

import "unicode/utf16"

// PartitionFor returns the partition of a coordinator's topic that a key (a group id, a transactional id) belongs to,
// of n: Java's String.hashCode of the key, its absolute value (Utils.abs: that of the smallest int32 is 0) modulo n.
func PartitionFor(key string, n int32) int32 {
	h := javaHash(key)
	switch {
	case h == -1<<31:
		h = 0
	case h < 0:
		h = -h
	}
	return h % n
}

// javaHash is String.hashCode: over UTF-16 units, so a character outside the basic plane counts as two.
func javaHash(s string) int32 {
	var h int32
	for _, c := range s {
		if r1, r2 := utf16.EncodeRune(c); r1 != 0xFFFD {
			h = 31*h + int32(r1)
			h = 31*h + int32(r2)
			continue
		}
		h = 31*h + int32(c)
	}
	return h
}
