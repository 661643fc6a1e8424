package metadata

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// readSnapshot reads a snapshot file: control records and the records of each data batch go to the callbacks in
// the order of the file. It is an error if the file is cut, damaged, or does not begin with a header and end
// with a footer.
func readSnapshot(fsys vfs.FS, path string, control func(controlRecord) error, data func([]stored.Message) error) error {
	f, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	s := snapshotReader{control: control, data: data}
	if err := eachBatch(f, s.batch); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if !s.footer {
		return fmt.Errorf("%s: %w: the file ends without a footer", path, ErrInvalidSnapshot)
	}
	return nil
}

type snapshotReader struct {
	control        func(controlRecord) error
	data           func([]stored.Message) error
	header, footer bool
}

func (s *snapshotReader) batch(b record.Batch) error {
	if s.footer {
		return fmt.Errorf("%w: a batch behind the footer", ErrInvalidSnapshot)
	}
	if !b.Attributes().IsControl() {
		if !s.header {
			return fmt.Errorf("%w: the file does not begin with a header", ErrInvalidSnapshot)
		}
		records, err := decodeData(b)
		if err != nil {
			return err
		}
		return s.data(records)
	}
	records, err := decodeControl(b)
	if err != nil {
		return err
	}
	for _, r := range records {
		switch r.kind {
		case record.ControlSnapshotHeader:
			s.header = true
		case record.ControlSnapshotFooter:
			s.footer = true
		}
		if !s.header {
			return fmt.Errorf("%w: the file does not begin with a header", ErrInvalidSnapshot)
		}
		if err := s.control(r); err != nil {
			return err
		}
	}
	return nil
}

// eachBatch hands the batches of a file to each, one in memory at a time. All bytes must belong to whole batches
// with right checksums.
func eachBatch(f vfs.File, each func(record.Batch) error) error {
	size, err := f.Size()
	if err != nil {
		return err
	}
	var head [record.HeaderSize]byte
	for pos := int64(0); pos < size; {
		if size-pos < record.HeaderSize {
			return fmt.Errorf("byte %d: %w: it ends inside a batch header", pos, ErrInvalidSnapshot)
		}
		if _, err := f.ReadAt(head[:], pos); err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("byte %d: %w", pos, err)
		}
		h, err := record.ParseHeader(head[:])
		switch {
		case err != nil:
			return fmt.Errorf("byte %d: %w: %w", pos, ErrInvalidSnapshot, err)
		case h.Magic != 2 || int64(h.SizeInBytes) > size-pos:
			return fmt.Errorf("byte %d: %w: a batch of magic %d claims %d bytes, %d are left", pos, ErrInvalidSnapshot, h.Magic, h.SizeInBytes, size-pos)
		}
		b := make(record.Batch, h.SizeInBytes)
		if _, err := f.ReadAt(b, pos); err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("byte %d: %w", pos, err)
		}
		if err := b.CheckCRC(); err != nil {
			return fmt.Errorf("byte %d: %w: %w", pos, ErrInvalidSnapshot, err)
		}
		if err := each(b); err != nil {
			return fmt.Errorf("byte %d: %w", pos, err)
		}
		pos += int64(len(b))
	}
	return nil
}

// snapshotTime reads the append time of the last batch that a snapshot contains, in ms.
func snapshotTime(fsys vfs.FS, path string) (int64, error) {
	var header *stored.SnapshotHeaderRecord
	err := readSnapshot(fsys, path, func(r controlRecord) error {
		if m, ok := r.value.(*stored.SnapshotHeaderRecord); ok {
			header = m
			return errStop
		}
		return nil
	}, func([]stored.Message) error { return nil })
	switch {
	case header != nil:
		return header.LastContainedLogTimestamp, nil
	case err != nil:
		return 0, err
	}
	return 0, fmt.Errorf("%s: %w: no header", path, ErrInvalidSnapshot)
}

// errStop ends reading early.
var errStop = errors.New("stop")
