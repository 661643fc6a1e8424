package config

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxPropertiesBytes bounds a properties file; a real one is a few KiB.
const maxPropertiesBytes = 4 << 20

// ParseProperties reads a file in the syntax of java.util.Properties: keys and values parted by '=', ':' or
// blanks, lines that go on behind a backslash, comments with '#' or '!', and the escapes \t \n \r \f \uXXXX.
// The text is UTF-8 as Kafka reads it. A later line wins over an earlier one.
func ParseProperties(r io.Reader) (map[string]string, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxPropertiesBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading properties: %w", err)
	}
	if len(data) > maxPropertiesBytes {
		return nil, fmt.Errorf("properties are larger than %d bytes", maxPropertiesBytes)
	}
	props := map[string]string{}
	lines := logicalLines{text: strings.TrimPrefix(string(data), "\ufeff")}
	for {
		line, number, ok := lines.next()
		if !ok {
			return props, nil
		}
		rawKey, rawValue := splitProperty(line)
		key, err := unescape(rawKey)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		value, err := unescape(rawValue)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		props[key] = value
	}
}

// logicalLines yields lines without comments and blank lines, continued ones joined.
type logicalLines struct {
	text   string
	number int
}

const blanks = " \t\f"

// next returns the next logical line and the number of its first natural line, counted from 1.
func (l *logicalLines) next() (line string, number int, ok bool) {
	for l.text != "" {
		line = strings.TrimLeft(l.natural(), blanks)
		number = l.number
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		for continued(line) {
			line = line[:len(line)-1]
			if l.text == "" {
				break
			}
			line += strings.TrimLeft(l.natural(), blanks)
		}
		return line, number, true
	}
	return "", 0, false
}

// natural cuts one line, ended by LF, CR or both, off the text.
func (l *logicalLines) natural() string {
	l.number++
	i := strings.IndexAny(l.text, "\r\n")
	if i < 0 {
		line := l.text
		l.text = ""
		return line
	}
	line := l.text[:i]
	if strings.HasPrefix(l.text[i:], "\r\n") {
		i++
	}
	l.text = l.text[i+1:]
	return line
}

// continued tells whether line ends in an odd number of backslashes.
func continued(line string) bool {
	return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
}

// splitProperty parts a logical line into key and value, both still escaped.
func splitProperty(line string) (key, value string) {
	end := len(line)
	for i := 0; i < len(line); i++ {
		if line[i] == '\\' {
			i++
			continue
		}
		if strings.IndexByte(blanks+"=:", line[i]) >= 0 {
			end = i
			break
		}
	}
	rest := strings.TrimLeft(line[end:], blanks)
	if rest != "" && (rest[0] == '=' || rest[0] == ':') {
		rest = strings.TrimLeft(rest[1:], blanks)
	}
	return line[:end], rest
}

// unescape resolves the backslashes of a key or value. A backslash before any other character is dropped.
func unescape(s string) (string, error) {
	if strings.IndexByte(s, '\\') < 0 {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		i++
		if i == len(s) {
			break
		}
		switch s[i] {
		case 't':
			b.WriteByte('\t')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 'f':
			b.WriteByte('\f')
		case 'u':
			r, n, err := unicodeEscape(s[i+1:])
			if err != nil {
				return "", err
			}
			b.WriteRune(r)
			i += n
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), nil
}

// unicodeEscape reads the four hex digits behind \u, and a second escape when they are half of a surrogate
// pair; n is the number of bytes used.
func unicodeEscape(s string) (r rune, n int, err error) {
	first, err := hex4(s)
	if err != nil {
		return 0, 0, err
	}
	if utf16.IsSurrogate(first) && strings.HasPrefix(s[4:], `\u`) {
		second, err := hex4(s[6:])
		if err != nil {
			return 0, 0, err
		}
		if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
			return r, 10, nil
		}
	}
	return first, 4, nil
}

func hex4(s string) (rune, error) {
	if len(s) < 4 {
		return 0, fmt.Errorf(`malformed \u escape %q`, `\u`+s)
	}
	n, err := strconv.ParseUint(s[:4], 16, 32)
	if err != nil {
		return 0, fmt.Errorf(`malformed \u escape %q`, `\u`+s[:4])
	}
	return rune(n), nil
}
