package savepoint

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/samsalog/samsa/vfs"
)

// A savepoint FILE has one JSON object per line: head, then dir, file and log lines, then end. Beside it lies FILE.d with "data", the bytes
// of all copies, one behind the other, and with the second names of logs.

// head is the first line.
type head struct {
	Savepoint int   `json:"savepoint"` // version, 1
	CreatedMs int64 `json:"createdMs"`
	// Segments says how the logs of segments are kept.
	Segments Mode `json:"segments"`
	// Dirs are the log directories, absolute, and Places the directories with the second names of their logs, "" where there are none.
	Dirs   []string `json:"dirs"`
	Places []string `json:"places"`
}

// Mode says how the logs of segments are kept.
type Mode string

// The modes. Copies need as much room as the logs. Without either, only what was appended can be taken back, and nothing that was deleted.
const (
	Link Mode = "link"
	Copy Mode = "copy"
	None Mode = "none"
)

// line is any of the lines behind the head.
type line struct {
	// Kind is dir, file, log or end.
	Kind string `json:"kind"`
	// Dir is the index of the log directory; Path is relative to it, with slashes.
	Dir  int    `json:"dir"`
	Path string `json:"path,omitempty"`
	// Perm are the permissions, ModTime ns since the epoch.
	Perm    uint32 `json:"perm,omitempty"`
	ModTime int64  `json:"modTime,omitempty"`
	// Size is that of the file in bytes. Its first Keep bytes are those of the log that Link is a second name of ("": of the file that is
	// there), and TailCRC is the CRC-32C of the last of them (tailBytes); the others are in Extents, and zeros where no extent is.
	Size    int64    `json:"size,omitempty"`
	Keep    int64    `json:"keep,omitempty"`
	Link    string   `json:"link,omitempty"`
	TailCRC uint32   `json:"tailCrc,omitempty"`
	Extents []extent `json:"extents,omitempty"`
	// CRC is the CRC-32C of the bytes of all extents.
	CRC uint32 `json:"crc,omitempty"`
	// Of a log: the topic's id, "" if unknown, and the offsets from Start to End-1.
	TopicID string `json:"topicId,omitempty"`
	Start   int64  `json:"start,omitempty"`
	End     int64  `json:"end,omitempty"`
	// Of the end: how many lines there are before, the head included, and the CRC-32C of their bytes in CRC, and that of "data" in Size.
	Lines int64 `json:"lines,omitempty"`
}

// extent is a range of a file whose bytes are in "data": [position in the file, length, position in data].
type extent [3]int64

// tailBytes is how much of the end of what a second name keeps is checked: more than any torn write.
const tailBytes = 64 << 10

// castagnoli is the polynomial of all checksums here.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// Names beside a savepoint.
const (
	dirSuffix  = ".d"
	dataFile   = "data"
	markFile   = "samsa-savepoint" // tells a directory of ours from others
	tmpSuffix  = ".tmp"
	workSuffix = ".samsa.tmp" // a file of a log directory that is being brought back; brokers pass over it
)

// ErrFormat: the file is no whole savepoint.
var ErrFormat = errors.New("no whole savepoint")

// manifest is a savepoint in memory.
type manifest struct {
	file  string
	head  head
	lines []line
}

func (m *manifest) data() string { return filepath.Join(m.file+dirSuffix, dataFile) }

// path is where a line's file is.
func (m *manifest) path(l *line) string {
	return filepath.Join(m.head.Dirs[l.Dir], filepath.FromSlash(l.Path))
}

// link is the second name of a line's log.
func (m *manifest) link(l *line) string { return filepath.Join(m.head.Places[l.Dir], l.Link) }

// writer writes a savepoint's lines.
type writer struct {
	f     vfs.File
	buf   []byte
	pos   int64
	lines int64
	crc   uint32
}

func (w *writer) add(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	b = append(b, '\n')
	w.crc = crc32.Update(w.crc, castagnoli(), b)
	w.buf, w.lines = append(w.buf, b...), w.lines+1
	if len(w.buf) >= 1<<20 {
		return w.flush()
	}
	return nil
}

func (w *writer) flush() error {
	n, err := w.f.WriteAt(w.buf, w.pos)
	w.pos, w.buf = w.pos+int64(n), w.buf[:0]
	return err
}

// end writes the last line and makes all durable.
func (w *writer) end(dataBytes int64) error {
	l := line{Kind: "end", Lines: w.lines, CRC: w.crc, Size: dataBytes}
	return errors.Join(w.add(l), w.flush(), w.f.Sync())
}

// maxLine bounds a line: an extent takes some 30 bytes, and a file of many is at most a log that was copied, in pieces of 1 MiB.
const maxLine = 64 << 20

// load reads a savepoint and checks that it is whole.
func load(fsys vfs.FS, file string) (*manifest, error) {
	f, err := fsys.OpenFile(file, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	m := &manifest{file: file}
	s := bufio.NewScanner(io.NewSectionReader(f, 0, size))
	s.Buffer(nil, maxLine)
	crc, n := uint32(0), int64(0)
	for s.Scan() {
		var l line
		if n == 0 {
			err = json.Unmarshal(s.Bytes(), &m.head)
		} else {
			err = json.Unmarshal(s.Bytes(), &l)
		}
		if err != nil || n == 0 && m.head.Savepoint != 1 {
			return nil, fmt.Errorf("%s: %w: line %d is not understood", file, ErrFormat, n+1)
		}
		if l.Kind == "end" {
			return m, m.check(fsys, l, n, crc)
		}
		if n > 0 {
			m.lines = append(m.lines, l)
		}
		crc = crc32.Update(crc32.Update(crc, castagnoli(), s.Bytes()), castagnoli(), []byte{'\n'})
		n++
	}
	if s.Err() != nil {
		return nil, fmt.Errorf("%s: %w", file, s.Err())
	}
	return nil, fmt.Errorf("%s: %w: the last line is missing", file, ErrFormat)
}

// check holds a savepoint against its last line, and its names against leading elsewhere.
func (m *manifest) check(fsys vfs.FS, end line, lines int64, crc uint32) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%s: %w: %s", m.file, ErrFormat, fmt.Sprintf(format, args...))
	}
	if end.Lines != lines || end.CRC != crc {
		return bad("%d lines with checksum %08x, the last one says %d with %08x", lines, crc, end.Lines, end.CRC)
	}
	if len(m.head.Places) != len(m.head.Dirs) {
		return bad("%d directories and %d places", len(m.head.Dirs), len(m.head.Places))
	}
	for _, dir := range m.head.Dirs {
		if !filepath.IsAbs(dir) {
			return bad("%q is not absolute", dir)
		}
	}
	for i := range m.lines {
		l := &m.lines[i]
		switch {
		case l.Dir < 0 || l.Dir >= len(m.head.Dirs), !filepath.IsLocal(filepath.FromSlash(l.Path)):
			return bad("%q leads out of the directories", l.Path)
		case l.Link != "" && (strings.ContainsAny(l.Link, `/\`) || m.head.Places[l.Dir] == ""):
			return bad("%q is no second name", l.Link)
		case l.Keep < 0 || l.Keep > l.Size:
			return bad("%q: %d of %d bytes", l.Path, l.Keep, l.Size)
		}
		from := l.Keep
		for _, e := range l.Extents {
			if e[0] < from || e[1] <= 0 || e[1] > maxExtent || e[0] > l.Size-e[1] || e[2] < 0 || e[2] > end.Size-e[1] {
				return bad("%q: a range of %d bytes at byte %d", l.Path, e[1], e[0])
			}
			from = e[0] + e[1]
		}
	}
	info, err := fsys.Stat(m.data())
	if err != nil {
		return err
	}
	if info.Size() != end.Size {
		return bad("%s has %d bytes, should have %d", m.data(), info.Size(), end.Size)
	}
	return nil
}
