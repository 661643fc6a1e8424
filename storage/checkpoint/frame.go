package checkpoint

import (
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/samsalog/samsa/vfs"
)

// The text frame of Kafka's checkpoints: a line with the version, a line with the number of entries, a line for each
// entry. All lines end with a newline.

// frameVersion is the only version there is.
const frameVersion = 0

// appendFrame writes the two head lines.
func appendFrame(dst []byte, entries int) []byte {
	dst = strconv.AppendInt(dst, frameVersion, 10)
	dst = append(dst, '\n')
	dst = strconv.AppendInt(dst, int64(entries), 10)
	return append(dst, '\n')
}

// ReadFrame returns the entry lines of the checkpoint at path, split into their fields. An empty file and one with
// nothing but a version hold no entries (a checkpoint is created with 0 bytes). Each entry must have width fields.
func ReadFrame(fsys vfs.FS, path string, width int) ([][]string, error) {
	data, err := readAll(fsys, path)
	if err != nil {
		return nil, err
	}
	entries, err := parseFrame(string(data), width)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return entries, nil
}

// WriteFrame replaces the checkpoint at path by the given entry lines (without newline).
func WriteFrame(fsys vfs.FS, path string, lines []string) error {
	data := appendFrame(nil, len(lines))
	for _, line := range lines {
		data = append(append(data, line...), '\n')
	}
	return WriteAtomic(fsys, path, data)
}

func parseFrame(text string, width int) ([][]string, error) {
	next, stop := iter.Pull2(lines(text))
	defer stop()
	_, first, ok := next()
	if !ok {
		return nil, nil
	}
	if v, err := strconv.ParseInt(first, 10, 32); err != nil || v != frameVersion {
		return nil, fmt.Errorf("%w: line 1: version %.40q, should be %d", ErrFormat, first, frameVersion)
	}
	_, second, ok := next()
	if !ok {
		return nil, nil
	}
	count, err := strconv.ParseInt(second, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("%w: line 2: %.40q is no number of entries", ErrFormat, second)
	}
	var entries [][]string
	for {
		number, line, ok := next()
		if !ok {
			break
		}
		fields := splitBlanks(line)
		if len(fields) != width {
			return nil, fmt.Errorf("%w: line %d: %d fields, should be %d", ErrFormat, number, len(fields), width)
		}
		entries = append(entries, fields)
	}
	if int64(len(entries)) != count {
		return nil, fmt.Errorf("%w: %d entries, line 2 says %d", ErrFormat, len(entries), count)
	}
	return entries, nil
}

// lines yields the lines of text with their numbers from 1, ended by \n, \r\n or \r as a BufferedReader takes them.
// The last line needs no end.
func lines(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for number := 1; text != ""; number++ {
			line, rest := text, ""
			if i := strings.IndexAny(text, "\r\n"); i >= 0 {
				line, rest = text[:i], text[i+1:]
				if text[i] == '\r' {
					rest = strings.TrimPrefix(rest, "\n")
				}
			}
			if !yield(number, line) {
				return
			}
			text = rest
		}
	}
}

// splitBlanks splits at runs of blanks like Java's split("\\s+"): a leading blank makes an empty first field, empty
// fields at the end are dropped, and an empty line is one empty field.
func splitBlanks(line string) []string {
	isBlank := func(r rune) bool { return r == ' ' || r >= '\t' && r <= '\r' }
	fields := strings.FieldsFunc(line, isBlank)
	if line == "" || isBlank(rune(line[0])) && len(fields) > 0 {
		fields = append([]string{""}, fields...)
	}
	return fields
}
