package epoch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/vfs"
)

// File is the name of the checkpoint in a partition's directory.
const File = "leader-epoch-checkpoint"

// Entry says that the records from StartOffset on, up to the next entry's, were appended in Epoch.
type Entry struct {
	Epoch       record.LeaderEpoch
	StartOffset record.Offset
}

// Cache is the leader epoch history of one partition (Kafka's LeaderEpochFileCache).
type Cache struct {
	fs      vfs.FS
	entries atomic.Pointer[[]Entry] // immutable once stored; in order (EPO-1)

	mu   sync.Mutex // changes, path and saved
	path string
	// saved is what the file holds; it shares memory with entries as long as that is the same.
	saved []Entry
}

// Open reads the checkpoint at path. A missing one is created with 0 bytes, as in every new partition.
func Open(fsys vfs.FS, path string) (*Cache, error) {
	c := &Cache{fs: fsys, path: path}
	entries, err := Read(fsys, path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = create(fsys, path); vfs.IsShortage(err) {
			err = nil // its absence means the same
		}
	}
	if err != nil {
		return nil, err
	}
	c.entries.Store(&entries)
	c.saved = entries
	return c, nil
}

// create makes an empty file. It is not synced: its absence means the same.
func create(fsys vfs.FS, path string) error {
	f, err := fsys.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// Read returns the history in the checkpoint at path, without creating anything. A missing file is fs.ErrNotExist.
// Lines are assigned one after the other as they were when the leaders were elected, so one that contradicts earlier
// ones replaces them; numbers below 0 are an error.
func Read(fsys vfs.FS, path string) ([]Entry, error) {
	lines, err := checkpoint.ReadFrame(fsys, path, 2)
	if err != nil {
		return nil, err
	}
	var list []Entry
	for i, fields := range lines {
		e, errEpoch := strconv.ParseInt(fields[0], 10, 32)
		s, errStart := strconv.ParseInt(fields[1], 10, 64)
		if errEpoch != nil || errStart != nil || e < 0 || s < 0 {
			return nil, fmt.Errorf("%s: %w: line %d: %.60q", path, checkpoint.ErrFormat, i+3, fields)
		}
		list, _ = assign(list, Entry{record.LeaderEpoch(e), record.Offset(s)})
	}
	return list, nil
}

// assign returns list with e at its end, and whether that is a change. The entries of list stay as they are.
func assign(list []Entry, e Entry) ([]Entry, bool) {
	if n := len(list); n > 0 && list[n-1].Epoch == e.Epoch && e.StartOffset >= list[n-1].StartOffset {
		return list, false
	}
	keep := search(list, func(o Entry) bool { return o.Epoch >= e.Epoch || o.StartOffset >= e.StartOffset })
	return append(slices.Clone(list[:keep]), e), true
}

// Entries returns the whole history. The slice is shared: it must not be changed.
func (c *Cache) Entries() []Entry { return *c.entries.Load() }

// Latest returns the newest entry.
func (c *Cache) Latest() (Entry, bool) {
	list := c.Entries()
	if len(list) == 0 {
		return Entry{record.NoLeaderEpoch, record.NoOffset}, false
	}
	return list[len(list)-1], true
}

// Earliest returns the oldest entry.
func (c *Cache) Earliest() (Entry, bool) {
	list := c.Entries()
	if len(list) == 0 {
		return Entry{record.NoLeaderEpoch, record.NoOffset}, false
	}
	return list[0], true
}

// EndOffsetFor answers OffsetForLeaderEpoch: the largest epoch that is at most the requested one, and the offset at
// which it ended; leo for the newest. (-1, -1) when the epoch is not known: -1, above the newest, or nothing is known
// at all. An epoch below the oldest one ended where the oldest begins.
func (c *Cache) EndOffsetFor(epoch record.LeaderEpoch, leo record.Offset) (record.LeaderEpoch, record.Offset) {
	list := c.Entries()
	if epoch == record.NoLeaderEpoch || len(list) == 0 || epoch > list[len(list)-1].Epoch {
		return record.NoLeaderEpoch, record.NoOffset
	}
	if epoch == list[len(list)-1].Epoch {
		return epoch, leo
	}
	above := search(list, func(e Entry) bool { return e.Epoch > epoch })
	if above == 0 {
		return epoch, list[0].StartOffset
	}
	return list[above-1].Epoch, list[above].StartOffset
}

// EpochFor returns the epoch in which the record at offset was appended, if its begin is known.
func (c *Cache) EpochFor(offset record.Offset) (record.LeaderEpoch, bool) {
	list := c.Entries()
	above := search(list, func(e Entry) bool { return e.StartOffset > offset })
	if above == 0 {
		return record.NoLeaderEpoch, false
	}
	return list[above-1].Epoch, true
}

// search returns the first index for which is holds; is must hold for a suffix of the list.
func search(list []Entry, is func(Entry) bool) int {
	lo, hi := 0, len(list)
	for lo < hi {
		if mid := int(uint(lo+hi) / 2); is(list[mid]) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}

// Assign says that epoch begins at start, in memory: see Save. It is ignored when the newest entry is of the same epoch
// and begins no later. Otherwise entries that contradict it, with the same or a later epoch or offset, make room: the log
// was truncated there by another leader.
func (c *Cache) Assign(epoch record.LeaderEpoch, start record.Offset) error {
	if epoch < 0 || start < 0 {
		return fmt.Errorf("leader epoch %d from offset %d: both must be ≥ 0", epoch, start)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if list, changed := assign(c.Entries(), Entry{epoch, start}); changed {
		c.entries.Store(&list)
	}
	return nil
}

// Relearn says that recovery has found a batch of epoch at offset start, the largest so far. Where memory says something else of that
// offset, it is wrong from there on: the file may be older or newer than what the log was left with (EPO-3).
func (c *Cache) Relearn(epoch record.LeaderEpoch, start record.Offset) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.EpochFor(start); ok && known == epoch {
		return
	}
	list := below(c.Entries(), start)
	if n := len(list); n == 0 || list[n-1].Epoch != epoch {
		list, _ = assign(list, Entry{epoch, start})
	}
	c.entries.Store(&list)
}

// ForgetFrom removes the epochs that begin at off or later from memory. The file may go on listing them: off is the end
// of a log that is being loaded, so the next load forgets them too.
func (c *Cache) ForgetFrom(off record.Offset) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if list := below(c.Entries(), off); len(list) < len(c.Entries()) {
		c.entries.Store(&list)
	}
}

// TruncateFromEnd removes the epochs that begin at off or later, from the file too.
func (c *Cache) TruncateFromEnd(off record.Offset) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := below(c.Entries(), off)
	if len(below(c.saved, off)) < len(c.saved) {
		return c.replaceLocked(list)
	}
	if len(list) < len(c.Entries()) {
		c.entries.Store(&list)
	}
	return nil
}

// below returns the entries that begin below off.
func below(list []Entry, off record.Offset) []Entry {
	keep := search(list, func(e Entry) bool { return e.StartOffset >= off })
	return list[:keep:keep]
}

// TruncateFromStart lets the history begin at off, in memory: older epochs go, and the one that contains off begins
// there. Loading does it again, so the file follows with the next Save.
func (c *Cache) TruncateFromStart(off record.Offset) {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.Entries()
	above := search(list, func(e Entry) bool { return e.StartOffset > off })
	if above == 0 || above == 1 && list[0].StartOffset == off {
		return
	}
	kept := slices.Clone(list[above-1:])
	kept[0].StartOffset = off
	c.entries.Store(&kept)
}

// Clear removes all epochs, from the file too.
func (c *Cache) Clear() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.saved) == 0 {
		c.entries.Store(new([]Entry))
		return nil
	}
	return c.replaceLocked(nil)
}

// Save makes the history below offset end durable, and does nothing where the file tells it already. When it has failed, memory
// is as it was and Save can be tried again.
func (c *Cache) Save(end record.Offset) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.Equal(below(c.Entries(), end), below(c.saved, end)) {
		return nil
	}
	return c.replaceLocked(c.Entries())
}

// replaceLocked writes list and, when that has succeeded, makes it current (EPO-2).
func (c *Cache) replaceLocked(list []Entry) error {
	lines := make([]string, len(list))
	for i, e := range list {
		lines[i] = fmt.Sprintf("%d %d", e.Epoch, e.StartOffset)
	}
	if err := checkpoint.WriteFrame(c.fs, c.path, lines); err != nil {
		return err
	}
	c.entries.Store(&list)
	c.saved = list
	return nil
}

// Renamed tells that the file, or its directory, was renamed.
func (c *Cache) Renamed(path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.path = path
}
