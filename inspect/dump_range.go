package inspect

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/samsalog/samsa/inspect/logfile"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/segment"
	"github.com/samsalog/samsa/vfs"
)

// seek is where the walk through a log may begin: what the indexes say of From, or byte 0.
func (d *dumper) seek(path string, base int64, typ string) (int64, error) {
	if d.From == nil || typ != "log" {
		return 0, nil
	}
	target := d.From.Value
	if d.From.IsTime {
		var err error
		if target, err = d.offsetFor(path, base, target); err != nil {
			return 0, err
		}
	}
	position := int64(0)
	err := d.eachEntry(sibling(path, "index"), logfile.OffsetEntrySize, func(raw []byte) bool {
		e := logfile.ParseOffsetEntry(base, raw)
		if e.Offset <= base || int64(e.Position) <= position || e.Offset > target {
			return false
		}
		position = int64(e.Position)
		return true
	})
	return position, err
}

// offsetFor is the offset of the last time index entry before a time: no record before it is as late.
func (d *dumper) offsetFor(path string, base, ms int64) (int64, error) {
	offset := base
	err := d.eachEntry(sibling(path, "timeindex"), logfile.TimeEntrySize, func(raw []byte) bool {
		e := logfile.ParseTimeEntry(base, raw)
		if e.Offset < offset || e.Timestamp >= ms || e.Timestamp <= 0 {
			return false
		}
		offset = e.Offset
		return true
	})
	return offset, err
}

// eachEntry walks an index as long as visit wants; a missing one has no entries.
func (d *dumper) eachEntry(path string, size int, visit func(raw []byte) bool) error {
	f, length, err := d.open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return logfile.Entries(f, length, size, func(_ int, raw []byte) (bool, error) { return visit(raw), nil })
}

// where says on which side of what is wanted a batch lies: before (-1), in it (0), behind all of it (1). Times need not
// rise, so nothing is behind a time.
func (d *dumper) where(h *record.Header) int {
	if f := d.From; f != nil && (!f.IsTime && int64(h.LastOffset()) < f.Value || f.IsTime && h.MaxTimestamp < f.Value) {
		return -1
	}
	if t := d.To; t != nil {
		if !t.IsTime && int64(h.BaseOffset) >= t.Value {
			return 1
		}
		if t.IsTime && h.Magic >= 1 && h.BaseTimestamp >= t.Value && h.MaxTimestamp >= t.Value {
			return -1
		}
	}
	return 0
}

// selected prints the records of a batch that are wanted, with their batch; nothing if there is none.
func (d *dumper) selected(path string, r *logfile.Reader, line batchLine) {
	rs := r.Records(d.MaxRecordBytes)
	defer rs.Close()
	printed := false
	for rs.Next() {
		one := &d.line
		*one = recordLine{Record: rs.Record(), batch: r.Header()}
		if r.Header().IsControl() || !d.inRange(&one.Record) || !d.Select(&one.Record) {
			continue
		}
		if !printed {
			d.out.batch(line)
			printed = true
		}
		d.record(path, r, one)
	}
	if err := rs.Err(); err != nil {
		d.problem(path, fmt.Errorf("batch at byte %d: %w", r.Start(), err))
	}
}

// inRange reports whether one record is between From and To.
func (d *dumper) inRange(r *record.Record) bool {
	value := func(b *Bound) int64 {
		if b.IsTime {
			return r.Timestamp
		}
		return int64(r.Offset)
	}
	return (d.From == nil || value(d.From) >= d.From.Value) && (d.To == nil || value(d.To) < d.To.Value)
}

// followed waits for more of the last file; false: there is none to wait for.
func (d *dumper) followed(r *logfile.Reader, f vfs.File) bool {
	if d.Follow == nil || !d.last || r.Err() != nil && !errors.Is(r.Err(), record.ErrCorruptBatch) {
		return false
	}
	d.out.flush()
	if !d.Follow() {
		return false
	}
	size, err := f.Size()
	if err != nil {
		return false
	}
	r.SetEnd(max(size, r.Position()))
	r.Rewind(r.Position())
	return true
}

// Expand replaces directories among paths by the files in them that a dump understands: of a partition directory its
// segments with everything beside them, of a log directory those of all partitions. With a From offset segments that end
// before it are left out, with To those that begin behind it.
func Expand(fsys vfs.FS, paths []string, from, to *Bound) ([]string, error) {
	var files []string
	for _, path := range paths {
		info, err := fsys.Stat(path)
		if err != nil || !info.IsDir() {
			files = append(files, path) // a missing file is the dump's to report
			continue
		}
		below, err := directory(fsys, path, from, to)
		if err != nil {
			return nil, err
		}
		files = append(files, below...)
	}
	return files, nil
}

func directory(fsys vfs.FS, dir string, from, to *Bound) (files []string, err error) {
	list, err := logfile.List(fsys, dir)
	if err != nil {
		return nil, err
	}
	whole := from == nil && to == nil
	for i, s := range list.Segments {
		if from != nil && !from.IsTime && i+1 < len(list.Segments) && list.Segments[i+1].Base <= from.Value || to != nil && !to.IsTime && s.Base >= to.Value {
			continue
		}
		files = append(files, list.Path(s.Base, segment.LogSuffix))
		for _, x := range []struct {
			size   int64
			suffix string
		}{{s.Index, segment.OffsetIndexSuffix}, {s.Time, segment.TimeIndexSuffix}, {s.Txn, segment.TxnIndexSuffix}} {
			if whole && x.size >= 0 {
				files = append(files, list.Path(s.Base, x.suffix))
			}
		}
	}
	if whole {
		for _, s := range list.Snapshots {
			files = append(files, filepath.Join(dir, s.Name))
		}
		for _, name := range list.Checkpoints {
			files = append(files, filepath.Join(dir, name))
		}
	}
	for _, name := range list.Unknown {
		if sub := filepath.Join(dir, name); isDir(fsys, sub) {
			below, err := directory(fsys, sub, from, to)
			if err != nil {
				return nil, err
			}
			files = append(files, below...)
		}
	}
	return files, nil
}

func isDir(fsys vfs.FS, path string) bool {
	info, err := fsys.Stat(path)
	return err == nil && info.IsDir()
}
