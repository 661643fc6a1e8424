package checkpoint

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// Property is one key with its value.
type Property struct{ Key, Value string }

// ParseProperties reads the syntax of java.util.Properties: comments after # and !, keys ended by =, : or blanks,
// backslash escapes (\t \n \f \r \uXXXX, any other character stands for itself) and lines that a backslash continues.
// A key that occurs twice has its last value. A malformed \u is an error. Text is taken as UTF-8.
func ParseProperties(data []byte) (map[string]string, error) {
	props := map[string]string{}
	for line := range logicalLines(string(data)) {
		key, value := splitProperty(line)
		k, err := unescape(key)
		if err != nil {
			return nil, err
		}
		if props[k], err = unescape(value); err != nil {
			return nil, err
		}
	}
	return props, nil
}

// logicalLines yields the lines that hold a property, joined with their continuations and without leading blanks.
func logicalLines(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		var joined strings.Builder
		for _, line := range lines(text) {
			line = strings.TrimLeft(line, " \t\f")
			if joined.Len() == 0 && (line == "" || line[0] == '#' || line[0] == '!') {
				continue
			}
			if endsOpen(line) {
				joined.WriteString(line[:len(line)-1])
				continue
			}
			joined.WriteString(line)
			if joined.Len() > 0 && !yield(joined.String()) {
				return
			}
			joined.Reset()
		}
		if joined.Len() > 0 {
			yield(joined.String())
		}
	}
}

// endsOpen reports whether the line ends with an odd number of backslashes.
func endsOpen(line string) bool {
	return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
}

// splitProperty finds the end of the key: the first =, : or blank that no backslash precedes.
func splitProperty(line string) (key, value string) {
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '=', ':', ' ', '\t', '\f':
			value = strings.TrimLeft(line[i:], " \t\f")
			if value != "" && (value[0] == '=' || value[0] == ':') {
				value = strings.TrimLeft(value[1:], " \t\f")
			}
			return line[:i], value
		}
	}
	return line, ""
}

func unescape(s string) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			out.WriteByte(s[i])
			continue
		}
		if i++; i == len(s) {
			break
		}
		switch s[i] {
		case 't':
			out.WriteByte('\t')
		case 'n':
			out.WriteByte('\n')
		case 'r':
			out.WriteByte('\r')
		case 'f':
			out.WriteByte('\f')
		case 'u':
			r, used, err := unicodeEscape(s[i-1:])
			if err != nil {
				return "", err
			}
			out.WriteRune(r)
			i += used - 2
		default:
			out.WriteByte(s[i])
		}
	}
	return out.String(), nil
}

// unicodeEscape reads \uXXXX, or two of them that form a surrogate pair, at the begin of s and returns how many bytes
// they take.
func unicodeEscape(s string) (r rune, used int, err error) {
	unit := func(s string) (rune, bool) {
		if len(s) < 6 || s[:2] != `\u` {
			return 0, false
		}
		n, err := strconv.ParseUint(s[2:6], 16, 16)
		return rune(n), err == nil
	}
	r, ok := unit(s)
	if !ok {
		return 0, 0, fmt.Errorf(`%w: malformed \u escape at %.10q`, ErrFormat, s)
	}
	if utf16.IsSurrogate(r) {
		if low, ok := unit(s[6:]); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, 12, nil
			}
		}
		return utf8.RuneError, 6, nil
	}
	return r, 6, nil
}

// AppendProperties writes a comment line (an empty one as a bare #), a line with the date, and the properties in the
// given order, as Java's Properties.store does.
func AppendProperties(dst []byte, comment string, now time.Time, props []Property) []byte {
	dst = append(append(append(dst, '#'), comment...), '\n')
	dst = append(now.AppendFormat(append(dst, '#'), "Mon Jan 02 15:04:05 MST 2006"), '\n')
	for _, p := range props {
		dst = append(appendEscaped(dst, p.Key, true), '=')
		dst = append(appendEscaped(dst, p.Value, false), '\n')
	}
	return dst
}

// appendEscaped escapes what would not be read back: separators, comment signs and backslashes; every blank of a key
// but only the first character of a value; and everything outside of printable ASCII as UTF-16 units.
func appendEscaped(dst []byte, s string, key bool) []byte {
	for i, r := range s {
		switch {
		case r == ' ' && (key || i == 0), r == '=', r == ':', r == '#', r == '!', r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\t':
			dst = append(dst, `\t`...)
		case r == '\n':
			dst = append(dst, `\n`...)
		case r == '\r':
			dst = append(dst, `\r`...)
		case r == '\f':
			dst = append(dst, `\f`...)
		case r < ' ' || r > '~':
			for _, unit := range utf16.AppendRune(nil, r) {
				dst = fmt.Appendf(dst, `\u%04X`, unit)
			}
		default:
			dst = append(dst, byte(r))
		}
	}
	return dst
}
