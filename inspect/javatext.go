package inspect

import (
	"strings"
	"unicode/utf8"
)

// javaText reads bytes as UTF-8 as Java does: every longest part of a sequence that is cut off or broken
// becomes one U+FFFD, where Go would make one of each byte.
func javaText(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var out strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n <= 1 {
			n = brokenLength(b)
		}
		out.WriteRune(r)
		b = b[n:]
	}
	return out.String()
}

// brokenLength is the length of the longest beginning of a sequence at the front of b, which holds no whole
// one: 1 to 3.
func brokenLength(b []byte) int {
	low, high, more := byte(0x80), byte(0xbf), 0
	switch c := b[0]; {
	case c >= 0xc2 && c <= 0xdf:
		more = 1
	case c == 0xe0:
		low, more = 0xa0, 2
	case c >= 0xe1 && c <= 0xef: // a surrogate half, ed a0 80 to ed bf bf, is one broken sequence
		more = 2
	case c == 0xf0:
		low, more = 0x90, 3
	case c == 0xf4:
		high, more = 0x8f, 3
	case c >= 0xf1 && c <= 0xf3:
		more = 3
	}
	n := 1
	for ; n <= more && n < len(b) && b[n] >= low && b[n] <= high; n++ {
		low, high = 0x80, 0xbf
	}
	return n
}
