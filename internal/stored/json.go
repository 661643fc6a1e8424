package stored

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/samsalog/samsa/record"
)

// appendName writes the comma, if one is due, and the name of an object's member.
func appendName(dst []byte, name string) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	dst = append(dst, '"')
	dst = append(dst, name...)
	return append(dst, '"', ':')
}

func jsonBool(dst []byte, v bool) []byte { return strconv.AppendBool(dst, v) }

func jsonInt[T int8 | int16 | uint16 | int32 | uint32 | int64](dst []byte, v T) []byte {
	return strconv.AppendInt(dst, int64(v), 10)
}

// jsonFloat64 writes v as Java's Double.toString does: plain between 1e-3 and 1e7, else with an exponent, and
// always with a digit after the point.
func jsonFloat64(dst []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(v, -1):
		return append(dst, `"-Infinity"`...)
	}
	if a := math.Abs(v); a == 0 || a >= 1e-3 && a < 1e7 {
		s := strconv.FormatFloat(v, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return append(dst, s...)
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', -1, 64), "e")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	n, _ := strconv.Atoi(exponent)
	return append(dst, mantissa+"E"+strconv.Itoa(n)...)
}

func jsonUUID(dst []byte, v record.UUID) []byte {
	return append(append(append(dst, '"'), v.String()...), '"')
}

func jsonBytes(dst, b []byte) []byte {
	if b == nil {
		return append(dst, "null"...)
	}
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, b)
	return append(dst, '"')
}

// jsonString escapes as Jackson does: quote, backslash and control characters only. Bytes that are not UTF-8
// become U+FFFD, as they do when Java reads them.
func jsonString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', byte(c))
		case c < 0x20:
			dst = append(dst, controlEscapes[c]...)
		default:
			dst = utf8.AppendRune(dst, c)
		}
	}
	return append(dst, '"')
}

// controlEscapes are Jackson's escapes of the characters below a blank.
var controlEscapes = func() (t [32]string) {
	const digits = "0123456789ABCDEF"
	for i := range t {
		t[i] = `\u00` + string(digits[i>>4]) + string(digits[i&15])
	}
	t['\b'], t['\t'], t['\n'], t['\f'], t['\r'] = `\b`, `\t`, `\n`, `\f`, `\r`
	return t
}()

func jsonNullableString(dst []byte, s *string) []byte {
	if s == nil {
		return append(dst, "null"...)
	}
	return jsonString(dst, *s)
}

func jsonArray[T any](dst []byte, list []T, nullable bool, element func([]byte, T) []byte) []byte {
	if list == nil && nullable {
		return append(dst, "null"...)
	}
	dst = append(dst, '[')
	for i, e := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = element(dst, e)
	}
	return append(dst, ']')
}
