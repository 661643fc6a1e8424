package storage

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/segment"
)

// file is a `.log` that was found, with what stands beside it.
type file struct {
	base record.Offset
	size int64
	// index, timeIndex and txnIndex tell which files exist; indexBytes is how long the first two are together.
	index, timeIndex, txnIndex bool
	indexBytes                 int64
}

// empty reports whether log and indexes are there without a byte in them.
func (f file) empty() bool {
	return f.size == 0 && f.index && f.timeIndex && f.indexBytes == 0 && !f.txnIndex
}

// found is an entry of the directory that belongs to a segment.
type found struct {
	segment.Name
	name string // as it is called now
	size int64
}

// tidy undoes or completes what a crash interrupted (passes 1 to 3 of the specification, section 9.2) and returns the
// segments, oldest first.
func (l *Log) tidy(entries []fs.DirEntry) ([]file, error) {
	list, err := l.listing(entries)
	if err != nil {
		return nil, err
	}
	if list, err = l.dropLeftovers(list); err != nil {
		return nil, err
	}
	if list, err = l.finishSwaps(list); err != nil {
		return nil, err
	}
	return l.pair(list)
}

func (l *Log) listing(entries []fs.DirEntry) ([]found, error) {
	var list []found
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), segment.DeletedSuffix) && !strings.HasSuffix(e.Name(), ".checkpoint"+segment.DeletedSuffix) {
			if err := l.remove(e.Name()); err != nil {
				return nil, err
			}
			continue
		}
		name, ok := segment.ParseName(e.Name())
		if !ok || e.IsDir() {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		list = append(list, found{name, e.Name(), info.Size()})
	}
	return list, nil
}

// dropLeftovers removes unfinished output of compaction, and swaps whose renaming had not got as far as to count: that
// goes from the highest base to the lowest, so those at or above the smallest unfinished base.
func (l *Log) dropLeftovers(list []found) ([]found, error) {
	unfinished := record.Offset(-1)
	for _, f := range list {
		if f.State == segment.CleanedSuffix && (unfinished < 0 || f.Base < unfinished) {
			unfinished = f.Base
		}
	}
	return l.removeIf(list, func(f found) bool {
		switch f.State {
		case segment.CleanedSuffix, segment.TmpSuffix:
			return true
		case segment.SwapSuffix:
			return unfinished >= 0 && f.Base >= unfinished
		}
		return false
	})
}

// removeIf removes files and returns the others.
func (l *Log) removeIf(list []found, drop func(found) bool) ([]found, error) {
	var keep []found
	for _, f := range list {
		if !drop(f) {
			keep = append(keep, f)
			continue
		}
		if err := l.remove(f.name); err != nil {
			return nil, err
		}
		l.event(Event{Kind: LeftoverRemoved, File: l.path(f.name), Position: -1, Bytes: f.size})
	}
	return keep, nil
}

func (l *Log) remove(name string) error {
	err := l.o.FS.Remove(l.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// finishSwaps lets complete replacements take the place of what they replace: first the originals in their range of
// offsets go, then they get their final names.
func (l *Log) finishSwaps(list []found) ([]found, error) {
	from, to, err := l.swapRange(list)
	if err != nil {
		return nil, err
	}
	replaced := map[record.Offset]bool{} // also where a replacement is empty, so that it has no range
	for _, f := range list {
		if f.State == segment.SwapSuffix && f.Suffix == segment.LogSuffix {
			replaced[f.Base] = true
		}
	}
	list, err = l.removeIf(list, func(f found) bool {
		return f.State == "" && (replaced[f.Base] || f.Base >= from && f.Base < to)
	})
	if err != nil {
		return nil, err
	}
	swapped := false
	for i, f := range list {
		if f.State != segment.SwapSuffix {
			continue
		}
		final := segment.FileName(f.Base, f.Suffix)
		if err := l.o.FS.Rename(l.path(f.name), l.path(final)); err != nil {
			return nil, err
		}
		list[i].State, list[i].name = "", final
		swapped = true
	}
	if !swapped {
		return list, nil
	}
	if err := l.dropSnapshots(from, to); err != nil {
		return nil, err
	}
	return list, l.o.FS.SyncDir(l.Dir())
}

// swapRange is the range of offsets in the `.log.swap` files, empty when there are none.
func (l *Log) swapRange(list []found) (from, to record.Offset, err error) {
	from = -1
	for _, f := range list {
		if f.State != segment.SwapSuffix || f.Suffix != segment.LogSuffix {
			continue
		}
		next, err := l.swapEnd(f)
		if err != nil {
			return 0, 0, err
		}
		if from < 0 || f.Base < from {
			from = f.Base
		}
		to = max(to, next)
	}
	return from, to, nil
}

// swapEnd reads the headers of a swap file to find where it ends.
func (l *Log) swapEnd(f found) (record.Offset, error) {
	handle := l.o.Handles.Lazy(l.path(f.name), 0)
	defer handle.Close()
	return segment.EndOf(handle, f.Base, f.size)
}

// dropSnapshots removes the producer snapshots of bases that were replaced; the first base stays one.
func (l *Log) dropSnapshots(from, to record.Offset) error {
	entries, err := l.o.FS.ReadDir(l.Dir())
	if err != nil {
		return err
	}
	for _, e := range entries {
		digits, ok := strings.CutSuffix(e.Name(), ".snapshot")
		name, parsed := segment.ParseName(digits + segment.LogSuffix)
		if ok && parsed && name.Base > from && name.Base < to {
			if err := l.remove(e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

// pair groups the files by segment and removes indexes that have no log.
func (l *Log) pair(list []found) ([]file, error) {
	var files []file
	for _, f := range list {
		if f.Suffix == segment.LogSuffix {
			files = append(files, file{base: f.Base, size: f.size})
		}
	}
	slices.SortFunc(files, func(a, b file) int {
		if a.base < b.base {
			return -1
		}
		return 1
	})
	_, err := l.removeIf(list, func(f found) bool {
		if f.Suffix == segment.LogSuffix {
			return false
		}
		i, ok := slices.BinarySearchFunc(files, f.Base, func(a file, b record.Offset) int { return int(min(max(a.base-b, -1), 1)) })
		if !ok {
			return true
		}
		switch f.Suffix {
		case segment.OffsetIndexSuffix:
			files[i].index = true
			files[i].indexBytes += f.size
		case segment.TimeIndexSuffix:
			files[i].timeIndex = true
			files[i].indexBytes += f.size
		case segment.TxnIndexSuffix:
			files[i].txnIndex = true
		}
		return false
	})
	return files, err
}
