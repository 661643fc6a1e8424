package inspect

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/index"
	"github.com/samsalog/samsa/vfs"
)

// Sizes of index entries in bytes; see docs/formats/index.md.
const (
	offsetEntrySize = 8
	timeEntrySize   = 12
	txnEntrySize    = 34
)

type offsetEntry struct {
	offset   int64
	position int32
}

type timeEntry struct {
	timestamp, offset int64
}

type abortedEntry struct {
	version int16
	index.AbortedTxn
}

// entries reads a file of fixed-size entries in pieces. visit returns false to stop.
func entries(f vfs.File, size int64, entrySize int, visit func(i int, raw []byte) (bool, error)) error {
	buf := make([]byte, entrySize*min(4096, int(size/int64(entrySize))))
	whole := size - size%int64(entrySize)
	for at, i := int64(0), 0; at < whole; {
		piece := buf[:min(int64(len(buf)), whole-at)]
		if _, err := f.ReadAt(piece, at); err != nil && !errors.Is(err, io.EOF) {
			return err
		} else if err != nil && at+int64(len(piece)) != whole {
			return io.ErrUnexpectedEOF
		}
		at += int64(len(piece))
		for ; len(piece) > 0; piece, i = piece[entrySize:], i+1 {
			if more, err := visit(i, piece[:entrySize]); err != nil || !more {
				return err
			}
		}
	}
	return nil
}

// indexFile is an open index with the log it belongs to.
type indexFile struct {
	path    string
	base    int64
	f       vfs.File
	size    int64
	log     vfs.File // nil if it cannot be opened
	logSize int64
}

// openIndex opens an index and its log. Without the log entries are still printed, but not compared.
func (d *dumper) openIndex(path string) (*indexFile, error) {
	base, err := baseOffset(path)
	if err != nil {
		return nil, err
	}
	x := &indexFile{path: path, base: base}
	if x.f, x.size, err = d.open(path); err != nil {
		return nil, err
	}
	x.log, x.logSize, err = d.open(sibling(path, "log"))
	if err != nil {
		x.log = nil
		d.problem(path, fmt.Errorf("the entries are not compared with the log: %w", err))
	}
	return x, nil
}

func (x *indexFile) close() {
	x.f.Close()
	if x.log != nil {
		x.log.Close()
	}
}

// offsetIndex dumps a .index file.
func (d *dumper) offsetIndex(path string) error {
	x, err := d.openIndex(path)
	if err != nil {
		return err
	}
	defer x.close()
	if x.size < offsetEntrySize {
		d.out.empty(path)
		return nil
	}
	if d.IndexSanityCheck {
		return d.sanity(x, offsetEntrySize)
	}
	err = entries(x.f, x.size, offsetEntrySize, func(i int, raw []byte) (bool, error) {
		e := x.offsetEntry(raw)
		if e.offset == x.base && i > 0 {
			return false, nil // zero padding
		}
		found, err := x.batchAt(int64(e.position), d.MaxMessageSize)
		if err != nil {
			return false, err
		}
		switch {
		case found == nil && i == 0 && e == (offsetEntry{offset: x.base}) && x.log != nil:
			// No index has an entry for the first batch: all of this is padding. Kafka's tool fails here.
			d.out.empty(path)
			return false, nil
		case found == nil && x.log != nil:
			d.problem(path, fmt.Errorf("entry %d points to byte %d, where no batch of up to %d bytes begins", i, e.position, d.MaxMessageSize))
		case found != nil && int64(found.LastOffset()) != e.offset:
			d.report.mismatch(path, e.offset, int64(found.LastOffset()))
		}
		if !d.VerifyIndexOnly {
			d.out.offsetEntry(e)
		}
		return true, nil
	})
	return err
}

func (x *indexFile) offsetEntry(raw []byte) offsetEntry {
	return offsetEntry{offset: x.base + int64(int32(binary.BigEndian.Uint32(raw))), position: int32(binary.BigEndian.Uint32(raw[4:]))}
}

func (x *indexFile) timeEntry(raw []byte) timeEntry {
	return timeEntry{timestamp: int64(binary.BigEndian.Uint64(raw)), offset: x.base + int64(int32(binary.BigEndian.Uint32(raw[8:])))}
}

// batchAt reads the header of the batch at a position; nil if there is none that ends within limit bytes.
func (x *indexFile) batchAt(pos int64, limit int) (*record.Header, error) {
	if x.log == nil || pos < 0 {
		return nil, nil
	}
	r := newLogReader(x.log, pos, min(x.logSize, pos+int64(limit)))
	if r.nextHeader() {
		return &r.head, nil
	}
	if r.err != nil && !errors.Is(r.err, record.ErrCorruptBatch) {
		return nil, r.err
	}
	return nil, nil
}

// sanity is the check of --index-sanity-check: the length, and the last entry against base and first entry.
func (d *dumper) sanity(x *indexFile, entrySize int) error {
	ends := make([]byte, 2*entrySize)
	n := x.size / int64(entrySize)
	if n > 0 {
		if _, err := x.f.ReadAt(ends[:entrySize], 0); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if _, err := x.f.ReadAt(ends[entrySize:], (n-1)*int64(entrySize)); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		first, last := ends[:entrySize], ends[entrySize:]
		lastOffset := x.offsetEntry(last[:offsetEntrySize]).offset
		if entrySize == timeEntrySize {
			lastOffset = x.timeEntry(last).offset
			if a, b := x.timeEntry(first).timestamp, x.timeEntry(last).timestamp; b < a {
				return fmt.Errorf("corrupt index: the last timestamp is %d, the first is %d", b, a)
			}
		}
		if lastOffset < x.base {
			return fmt.Errorf("corrupt index: the last offset is %d, below the base offset %d", lastOffset, x.base)
		}
	}
	if x.size%int64(entrySize) != 0 {
		return fmt.Errorf("corrupt index: the size is %d bytes, not a multiple of %d", x.size, entrySize)
	}
	d.out.sane(x.path)
	return nil
}

// timeIndex dumps a .timeindex file.
func (d *dumper) timeIndex(path string) error {
	x, err := d.openIndex(path)
	if err != nil {
		return err
	}
	defer x.close()
	if d.IndexSanityCheck {
		return d.sanity(x, timeEntrySize)
	}
	positions, err := d.positions(x)
	if err != nil {
		return err
	}
	last := int64(-1)
	return entries(x.f, x.size, timeEntrySize, func(i int, raw []byte) (bool, error) {
		e := x.timeEntry(raw)
		if e.offset == x.base && i > 0 {
			return false, nil // zero padding
		}
		if x.log != nil {
			if err := d.compareTime(x, positions, e, last); err != nil {
				return false, err
			}
		}
		if !d.VerifyIndexOnly {
			d.out.timeEntry(e)
		}
		last = e.timestamp
		return true, nil
	})
}

// positions reads the offset index beside a time index: where to begin to look for an offset.
func (d *dumper) positions(x *indexFile) ([]offsetEntry, error) {
	if x.log == nil {
		return nil, nil
	}
	f, size, err := d.open(sibling(x.path, "index"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // the log is searched from its start
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []offsetEntry
	err = entries(f, size, offsetEntrySize, func(i int, raw []byte) (bool, error) {
		e := x.offsetEntry(raw)
		if n := len(all); e.offset <= x.base || e.position <= 0 || n > 0 && e.offset <= all[n-1].offset {
			return false, nil // padding, or nothing to rely on
		}
		all = append(all, e)
		return true, nil
	})
	return all, err
}

// compareTime compares a time index entry with the batch that holds its offset.
func (d *dumper) compareTime(x *indexFile, positions []offsetEntry, e timeEntry, last int64) error {
	r := newLogReader(x.log, floorPosition(positions, e.offset), x.logSize)
	for r.nextHeader() {
		if int64(r.head.LastOffset()) < e.offset {
			r.skip()
			continue
		}
		if found := int64(r.head.LastOffset()); found != e.offset {
			d.report.offsetNotFound(x.path, e.offset, found)
			return nil
		}
		if !r.next() {
			break
		}
		largest, err := d.largestTimestamp(r.batch)
		if err != nil {
			d.problem(x.path, fmt.Errorf("batch at offset %d: %w", r.head.BaseOffset, err))
			return nil
		}
		if largest != e.timestamp {
			d.report.timeMismatch(x.path, e.timestamp, largest)
		}
		if last >= e.timestamp {
			d.report.outOfOrder(x.path, e.timestamp, last)
		}
		return nil
	}
	if r.err != nil && !errors.Is(r.err, record.ErrCorruptBatch) {
		return r.err
	}
	d.report.offsetNotFound(x.path, e.offset, -1)
	return nil
}

func floorPosition(positions []offsetEntry, target int64) int64 {
	low, high := 0, len(positions)
	for low < high {
		if mid := (low + high) / 2; positions[mid].offset <= target {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low == 0 {
		return 0
	}
	return int64(positions[low-1].position)
}

// largestTimestamp is that of the records, whatever the batch header says.
func (d *dumper) largestTimestamp(b record.Batch) (int64, error) {
	largest := record.NoTimestamp
	rs := b.Records(d.MaxRecordBytes)
	defer rs.Close()
	for rs.Next() {
		largest = max(largest, rs.Record().Timestamp)
	}
	return largest, rs.Err()
}

// txnIndex dumps a .txnindex file.
func (d *dumper) txnIndex(path string) error {
	if _, err := baseOffset(path); err != nil {
		return err
	}
	f, size, err := d.open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return entries(f, size, txnEntrySize, func(i int, raw []byte) (bool, error) {
		e := abortedEntry{version: int16(binary.BigEndian.Uint16(raw))}
		e.ProducerID = record.ProducerID(binary.BigEndian.Uint64(raw[2:]))
		e.FirstOffset = record.Offset(binary.BigEndian.Uint64(raw[10:]))
		e.LastOffset = record.Offset(binary.BigEndian.Uint64(raw[18:]))
		e.LastStableOffset = record.Offset(binary.BigEndian.Uint64(raw[26:]))
		if e.version != 0 {
			return false, fmt.Errorf("entry %d has version %d, only 0 is known", i, e.version)
		}
		d.out.aborted(e)
		return true, nil
	})
}
