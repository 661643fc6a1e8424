package inspect

import (
	"errors"
	"fmt"
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
	r := logfile.NewReader(f, 0, end)
	defer r.Close()
	last := int64(-1) // Kafka counts from -1, so a log that begins elsewhere reports a gap
	for r.Next() {
		d.out.batch(batchLine{Header: *r.Header(), position: r.Start(), valid: r.Valid()})
		if d.DeepIteration {
			if err := d.records(path, r, &last); err != nil {
				d.problem(path, err)
			}
		}
	}
	if d.MaxBytes == NoLimit && end > r.Position() {
		d.out.trailing(filepath.Base(path), end-r.Position())
	}
	return d.tail(path, r)
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
	rs := r.Batch().Records(d.MaxRecordBytes)
	defer rs.Close()
	for rs.Next() {
		line := recordLine{Record: rs.Record(), batch: r.Header()}
		offset := int64(line.Offset)
		if offset != *last+1 {
			d.report.gap(path, *last, offset)
		}
		*last = offset
		if r.Header().IsControl() {
			c := parseControl(line.Key, line.Value)
			line.control = &c
			if c.err != nil {
				d.problem(path, fmt.Errorf("control record at offset %d: %w", offset, c.err))
			}
		} else if d.PrintDataLog {
			line.contents = true
			line.key, line.value = d.decoder.decode(&line.Record)
		}
		d.out.record(&line)
	}
	if err := rs.Err(); err != nil {
		return fmt.Errorf("batch at byte %d: %w", r.Start(), err)
	}
	return nil
}
