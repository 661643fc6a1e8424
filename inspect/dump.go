package inspect

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/samsalog/samsa/inspect/logfile"
	"github.com/samsalog/samsa/vfs"
)

// ErrIncomplete is what Dump returns, wrapped, when something could not be read. Findings about what was read,
// such as an index that does not match its log, are printed and are no error, as with Kafka's tool.
var ErrIncomplete = errors.New("the dump is incomplete")

// Dump prints what o.Files hold to w, and to errw what is wrong with them: remarks at once, the comparison of
// indexes with logs at the end (with o.JSON both go to w). It returns an error if writing fails, or one that
// matches ErrIncomplete, after all files were tried.
func Dump(w, errw io.Writer, o DumpOptions) error {
	o, err := o.complete()
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 64<<10)
	d := &dumper{DumpOptions: o, decoder: newDecoder(&o)}
	if o.JSON {
		d.out = &jsonPrinter{w: out}
	} else {
		d.out = &textPrinter{w: out, errw: errw, skipMetadata: o.SkipRecordMetadata}
	}
	for i, path := range o.Files {
		d.last = i == len(o.Files)-1
		d.file(path)
	}
	d.out.report(&d.report)
	if err := out.Flush(); err != nil {
		return fmt.Errorf("inspect: write: %w", err)
	}
	if d.failures > 0 {
		return fmt.Errorf("%w: %d of %d files could not be read to the end", ErrIncomplete, d.failures, len(o.Files))
	}
	return nil
}

// dumper is one call of Dump.
type dumper struct {
	DumpOptions
	decoder  decoder
	out      printer
	report   report
	failures int
	failed   bool // the current file has failed
	last     bool // the current file is the last one
	line     recordLine
}

// printer is one of the two forms of output.
type printer interface {
	// file begins a file; typ is "" for one that is passed over.
	file(path, typ string)
	logHeader(h logHeader)
	batch(b batchLine)
	record(r *recordLine)
	trailing(name string, bytes int64)
	offsetEntry(e logfile.OffsetEntry)
	timeEntry(e logfile.TimeEntry)
	empty(path string)
	sane(path string)
	aborted(e logfile.AbortedEntry)
	producer(e producerEntry)
	// problem says why something could not be read.
	problem(path string, err error)
	// flush passes on what was printed.
	flush()
	// report prints what was found out about indexes and offsets, after all files.
	report(r *report)
}

// fileTypes are the endings that are understood.
var fileTypes = []string{"log", "checkpoint", "index", "timeindex", "txnindex", "snapshot"}

// file dumps one file.
func (d *dumper) file(path string) {
	d.failed = false
	name := filepath.Base(path)
	typ := ""
	if dot := strings.LastIndexByte(name, '.'); dot >= 0 {
		for _, t := range fileTypes {
			if name[dot+1:] == t {
				typ = t
			}
		}
	}
	d.out.file(path, typ)
	var err error
	switch typ {
	case "log", "checkpoint":
		err = d.log(path, typ)
	case "index":
		err = d.offsetIndex(path)
	case "timeindex":
		err = d.timeIndex(path)
	case "txnindex":
		err = d.txnIndex(path)
	case "snapshot":
		err = d.snapshot(path)
	}
	if err != nil {
		d.problem(path, err)
	}
}

// problem reports an error and goes on (INS-2).
func (d *dumper) problem(path string, err error) {
	d.out.problem(path, err)
	if !d.failed {
		d.failed = true
		d.failures++
	}
}

// open opens a file for reading and returns its size.
func (d *dumper) open(path string) (vfs.File, int64, error) {
	f, err := logfile.Open(d.FS, path)
	if err != nil {
		return nil, 0, err
	}
	return f, f.SizeInBytes, nil
}

// baseOffset is the number before the first dot of a segment file's name.
func baseOffset(path string) (int64, error) {
	stem, _, _ := strings.Cut(filepath.Base(path), ".")
	n, err := strconv.ParseInt(stem, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the name does not begin with an offset: %q", stem)
	}
	return n, nil
}

// sibling is the file of another type that belongs to the same segment.
func sibling(path, typ string) string {
	stem, _, _ := strings.Cut(filepath.Base(path), ".")
	return filepath.Join(filepath.Dir(path), stem+"."+typ)
}

// absolute is the path as Java makes it absolute: the working directory in front, nothing resolved.
func absolute(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	dir, err := os.Getwd()
	if err != nil {
		return path
	}
	return dir + string(filepath.Separator) + path
}
