package inspect

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/samsalog/samsa/inspect/logfile"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

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
	if x.size < logfile.OffsetEntrySize {
		d.out.empty(path)
		return nil
	}
	if d.IndexSanityCheck {
		return d.sanity(x, logfile.OffsetEntrySize)
	}
	err = logfile.Entries(x.f, x.size, logfile.OffsetEntrySize, func(i int, raw []byte) (bool, error) {
		e := logfile.ParseOffsetEntry(x.base, raw)
		if e.Offset == x.base && i > 0 {
			return false, nil // zero padding
		}
		found, err := x.batchAt(int64(e.Position), d.MaxMessageSize)
		if err != nil {
			return false, err
		}
		switch {
		case found == nil && i == 0 && e == (logfile.OffsetEntry{Offset: x.base}) && x.log != nil:
			// No index has an entry for the first batch: all of this is padding. Kafka's tool fails here.
			d.out.empty(path)
			return false, nil
		case found == nil && x.log != nil:
			d.problem(path, fmt.Errorf("entry %d points to byte %d, where no batch of up to %d bytes begins", i, e.Position, d.MaxMessageSize))
		case found != nil && int64(found.LastOffset()) != e.Offset:
			d.report.mismatch(path, e.Offset, int64(found.LastOffset()))
		}
		if !d.VerifyIndexOnly {
			d.out.offsetEntry(e)
		}
		return true, nil
	})
	return err
}

// batchAt reads the header of the batch at a position; nil if there is none that ends within limit bytes.
func (x *indexFile) batchAt(pos int64, limit int) (*record.Header, error) {
	if x.log == nil || pos < 0 {
		return nil, nil
	}
	r := logfile.NewReader(x.log, pos, min(x.logSize, pos+int64(limit)))
	if r.NextHeader() {
		return r.Header(), nil
	}
	if r.Err() != nil && !errors.Is(r.Err(), record.ErrCorruptBatch) {
		return nil, r.Err()
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
		lastOffset := logfile.ParseOffsetEntry(x.base, last[:logfile.OffsetEntrySize]).Offset
		if entrySize == logfile.TimeEntrySize {
			lastOffset = logfile.ParseTimeEntry(x.base, last).Offset
			if a, b := logfile.ParseTimeEntry(x.base, first).Timestamp, logfile.ParseTimeEntry(x.base, last).Timestamp; b < a {
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
		return d.sanity(x, logfile.TimeEntrySize)
	}
	positions, err := d.positions(x)
	if err != nil {
		return err
	}
	last := int64(-1)
	return logfile.Entries(x.f, x.size, logfile.TimeEntrySize, func(i int, raw []byte) (bool, error) {
		e := logfile.ParseTimeEntry(x.base, raw)
		if e.Offset == x.base && i > 0 {
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
		last = e.Timestamp
		return true, nil
	})
}

// positions reads the offset index beside a time index: where to begin to look for an offset.
func (d *dumper) positions(x *indexFile) ([]logfile.OffsetEntry, error) {
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
	var all []logfile.OffsetEntry
	err = logfile.Entries(f, size, logfile.OffsetEntrySize, func(i int, raw []byte) (bool, error) {
		e := logfile.ParseOffsetEntry(x.base, raw)
		if n := len(all); e.Offset <= x.base || e.Position <= 0 || n > 0 && e.Offset <= all[n-1].Offset {
			return false, nil // padding, or nothing to rely on
		}
		all = append(all, e)
		return true, nil
	})
	return all, err
}

// compareTime compares a time index entry with the batch that holds its offset.
func (d *dumper) compareTime(x *indexFile, positions []logfile.OffsetEntry, e logfile.TimeEntry, last int64) error {
	r := logfile.NewReader(x.log, floorPosition(positions, e.Offset), x.logSize)
	for r.NextHeader() {
		if int64(r.Header().LastOffset()) < e.Offset {
			r.Skip()
			continue
		}
		if found := int64(r.Header().LastOffset()); found != e.Offset {
			d.report.offsetNotFound(x.path, e.Offset, found)
			return nil
		}
		if !r.Next() {
			break
		}
		largest, err := d.largestTimestamp(r.Batch())
		if err != nil {
			d.problem(x.path, fmt.Errorf("batch at offset %d: %w", r.Header().BaseOffset, err))
			return nil
		}
		if largest != e.Timestamp {
			d.report.timeMismatch(x.path, e.Timestamp, largest)
		}
		if last >= e.Timestamp {
			d.report.outOfOrder(x.path, e.Timestamp, last)
		}
		return nil
	}
	if r.Err() != nil && !errors.Is(r.Err(), record.ErrCorruptBatch) {
		return r.Err()
	}
	d.report.offsetNotFound(x.path, e.Offset, -1)
	return nil
}

func floorPosition(positions []logfile.OffsetEntry, target int64) int64 {
	low, high := 0, len(positions)
	for low < high {
		if mid := (low + high) / 2; positions[mid].Offset <= target {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low == 0 {
		return 0
	}
	return int64(positions[low-1].Position)
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
	return logfile.Entries(f, size, logfile.TxnEntrySize, func(i int, raw []byte) (bool, error) {
		e := logfile.ParseAbortedEntry(raw)
		if e.Version != 0 {
			return false, fmt.Errorf("entry %d has version %d, only 0 is known", i, e.Version)
		}
		d.out.aborted(e)
		return true, nil
	})
}
