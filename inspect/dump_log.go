package inspect

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/samsalog/samsa/inspect/logfile"
	"github.com/samsalog/samsa/record"
)

// logHeader is the line that says which log follows.
type logHeader struct {
	// kind is "log", "bootstrap" or "snapshot".
	kind string
	// offset is the base offset of a segment, or the end offset of a snapshot; epoch is the snapshot's.
	offset, epoch int64
}

// batchLine is one batch, or one message of an old format.
type batchLine struct {
	record.Header
	// position counts the bytes of the batches before.
	position int64
	// valid: the CRC matches.
	valid bool
}

// recordLine is one record of a batch.
type recordLine struct {
	record.Record
	batch *record.Header
	// control is what a control record says; nil for others.
	control *controlText
	// contents: key and value are wanted.
	contents bool
	// key and value are the decoded texts, if there are any.
	key, value decoded
}

// snapshotName is <end offset, 20 digits>-<epoch, 10 digits>.checkpoint.
const (
	snapshotOffsetDigits = 20
	snapshotEpochDigits  = 10
)

func parseLogName(path, typ string) (logHeader, error) {
	if typ == "log" {
		base, err := baseOffset(path)
		return logHeader{kind: "log", offset: base}, err
	}
	stem := strings.TrimSuffix(filepath.Base(path), ".checkpoint")
	if stem == "bootstrap" {
		return logHeader{kind: "bootstrap"}, nil
	}
	offset, epoch, ok := strings.Cut(stem, "-")
	h := logHeader{kind: "snapshot"}
	if ok && len(offset) == snapshotOffsetDigits && len(epoch) == snapshotEpochDigits {
		var err error
		if h.offset, err = strconv.ParseInt(offset, 10, 64); err == nil {
			if h.epoch, err = strconv.ParseInt(epoch, 10, 32); err == nil {
				return h, nil
			}
		}
	}
	return h, fmt.Errorf("the name is no snapshot's: %q", filepath.Base(path))
}

// log dumps a segment or a metadata snapshot.
func (d *dumper) log(path, typ string) error {
	h, err := parseLogName(path, typ)
	if err != nil {
		return err
	}
	d.out.logHeader(h)
	f, size, err := d.open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	end := min(size, d.MaxBytes)
	start, err := d.seek(path, h.offset, typ)
	if err != nil {
		return err
	}
	r := logfile.NewReader(f, start, end)
	defer r.Close()
	r.Depth = logfile.Headers
	if d.DeepIteration || d.Select != nil {
		r.Depth = logfile.Records
	}
	last := int64(-1) // Kafka counts from -1, so a log that begins elsewhere reports a gap
	if start > 0 {
		last = unknownLast
	}
	for {
		beyond := d.batches(path, r, &last)
		if beyond {
			return nil
		}
		if !d.followed(r, f) {
			break
		}
	}
	if d.MaxBytes == NoLimit && end > r.Position() {
		d.out.trailing(filepath.Base(path), r.End()-r.Position())
	}
	return d.tail(path, r)
}

// unknownLast: the walk began inside the log, so it cannot tell whether the first offset follows the one before.
const unknownLast = math.MinInt64

// batches prints batches up to where the reader stops; true: the rest is beyond what is wanted.
func (d *dumper) batches(path string, r *logfile.Reader, last *int64) (beyond bool) {
	for r.Next() {
		if d.Progress != nil {
			d.Progress(int64(r.Header().SizeInBytes))
		}
		switch where := d.where(r.Header()); {
		case where > 0:
			return true
		case where < 0:
			continue
		}
		line := batchLine{Header: *r.Header(), position: r.Start(), valid: r.Valid()}
		if d.Select != nil {
			d.selected(path, r, line)
			continue
		}
		d.out.batch(line)
		if d.DeepIteration {
			if err := d.records(path, r, last); err != nil {
				d.problem(path, err)
			}
		}
	}
	return false
}

// tail looks at what stopped the walk through a log. A tail of zeros is no damage: preallocated segments have
// one, and a broker cuts it off when it opens the log. Kafka's tool stops working there.
func (d *dumper) tail(path string, r *logfile.Reader) error {
	var corrupt *record.CorruptError
	if !errors.As(r.Err(), &corrupt) {
		return r.Err()
	}
	if zeros, err := r.Zeros(); err != nil || !zeros {
		return errors.Join(r.Err(), err)
	}
	d.out.problem(path, fmt.Errorf("the last %d bytes are zeros, as preallocation or a lost write leaves them", r.End()-r.Position()))
	return nil
}

// records dumps the records of the current batch.
func (d *dumper) records(path string, r *logfile.Reader, last *int64) error {
	rs := r.Records(d.MaxRecordBytes)
	defer rs.Close()
	for rs.Next() {
		line := &d.line // one for all records: they are too many to allocate each
		*line = recordLine{Record: rs.Record(), batch: r.Header()}
		offset := int64(line.Offset)
		if offset != *last+1 && *last != unknownLast {
			d.report.gap(path, *last, offset)
		}
		*last = offset
		if d.From != nil && !d.From.IsTime && offset < d.From.Value || d.To != nil && !d.To.IsTime && offset >= d.To.Value {
			continue
		}
		d.record(path, r, line)
	}
	if err := rs.Err(); err != nil {
		return fmt.Errorf("batch at byte %d: %w", r.Start(), err)
	}
	return nil
}

// record prints one record.
func (d *dumper) record(path string, r *logfile.Reader, line *recordLine) {
	if r.Header().IsControl() {
		c := parseControl(line.Key, line.Value)
		line.control = &c
		if c.err != nil {
			d.problem(path, fmt.Errorf("control record at offset %d: %w", line.Offset, c.err))
		}
	} else if d.PrintDataLog {
		line.contents = true
		line.key, line.value = d.decoder.decode(&line.Record)
	}
	d.out.record(line)
}
