package logdir

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/vfs"
)

// Of a directory without room (DIR-8).
const (
	// roomAfterFull is how much must be usable before a directory that was found full counts as having room again.
	roomAfterFull = 1 << 20
	// tellAgain is how long a directory must have had room for its being full to be told again.
	tellAgain = time.Minute
	// biggest is how many topics are named when there is no room.
	biggest = 5
)

// ErrReserve: less is free than Options.ReserveBytes, so clients cannot write. It is a storage.ErrShortage, and like it
// passes when there is room again.
var ErrReserve = fmt.Errorf("%w: less space is free than the reserve", storage.ErrShortage)

// room is what is known about the space of a directory; guarded by Manager.mu but for refuse.
type room struct {
	// short is why something could not be written, nil as long as there is room.
	short error
	// toldAt is when that was reported last.
	toldAt time.Time
}

// noteShort hears that something found no room in a directory.
func (m *Manager) noteShort(d *dir, err error) {
	now := m.o.Now()
	m.mu.Lock()
	known := d.room.short != nil
	if !known {
		d.room.short = err
	}
	told := !d.room.toldAt.IsZero() && now.Sub(d.room.toldAt) < tellAgain
	if !known && !told {
		d.room.toldAt = now
	}
	m.mu.Unlock()
	if !known && !told {
		_, usable, _ := m.o.FS.Usage(d.path)
		m.report(Event{Kind: DirFull, Dir: d.path, Bytes: int64(usable), Err: err, Biggest: m.biggest(d)})
	}
}

// hasRoom tells whether nothing is known to be short in a directory.
func (m *Manager) hasRoom(d *dir) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return d.room.short == nil
}

// checkSpace looks how much is free, lets producers in or keeps them out, and tells when there is room again.
func (m *Manager) checkSpace() []error {
	var errs []error
	again := false
	for _, d := range m.dirs {
		if d.metadataOnly || d.err() != nil {
			continue
		}
		_, usable, err := m.o.FS.Usage(d.path)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", d.path, err))
			continue
		}
		if reserve := uint64(max(0, m.o.ReserveBytes())); usable < reserve {
			err := fmt.Errorf("%w: %s has %d bytes, the reserve is %d", ErrReserve, d.path, usable, reserve)
			d.refuse.Store(&err)
			m.noteShort(d, err)
			continue
		}
		d.refuse.Store(nil)
		if usable >= roomAfterFull {
			again = m.noteRoom(d, int64(usable)) || again
		}
	}
	if again {
		m.o.OnRoom()
	}
	// For the metadata's sake this goes on even while partitions have no room.
	if err := m.ballast.fill(); err != nil && !vfs.IsShortage(err) {
		errs = append(errs, err)
	}
	return errs
}

// noteRoom hears that a directory has room. It returns whether something waited for that.
func (m *Manager) noteRoom(d *dir, usable int64) bool {
	m.mu.Lock()
	was := d.room.short
	d.room.short = nil
	waiting := was != nil
	for _, err := range d.unloaded {
		waiting = waiting || errors.Is(err, storage.ErrShortage)
	}
	m.mu.Unlock()
	if was != nil {
		m.report(Event{Kind: DirRoom, Dir: d.path, Bytes: usable})
	}
	return waiting
}

// refusal is asked by a log before each append of a client.
func (d *dir) refusal() error {
	if p := d.refuse.Load(); p != nil {
		return *p
	}
	return nil
}

// biggest names the topics that take the most space in a directory.
func (m *Manager) biggest(d *dir) string {
	sizes := map[string]int64{}
	for _, e := range m.entries(d) {
		sizes[e.log.TopicPartition().Topic] += e.log.SizeInBytes()
	}
	names := slices.SortedFunc(maps.Keys(sizes), func(a, b string) int {
		return cmp.Or(cmp.Compare(sizes[b], sizes[a]), cmp.Compare(a, b))
	})
	var parts []string
	for _, n := range names[:min(biggest, len(names))] {
		parts = append(parts, fmt.Sprintf("%s (%d bytes)", n, sizes[n]))
	}
	return strings.Join(parts, ", ")
}

// after is the scheduler of the logs in a directory. Without room nothing that is deleted is kept for a while: readers
// that are at it finish on the files they hold.
func (m *Manager) after(d *dir) func(time.Duration, func()) {
	return func(delay time.Duration, f func()) {
		if !m.hasRoom(d) {
			delay = 0
		}
		m.delays.after(delay, f)
	}
}

// MetadataFS is the file system for the metadata log. Where the disk is full it has the room of the ballast.
func (m *Manager) MetadataFS() vfs.FS { return ballastFS{m.o.FS, m.ballast} }

// retryLoad opens a partition that was left out for want of room.
func (m *Manager) retryLoad(d *dir, tp record.TopicPartition, id record.UUID, c storage.Config) (*storage.Log, error) {
	j := job{tp: tp, name: tp.String()}
	err := protect(func() error {
		return m.tryLoad(d, j, func(_ record.TopicPartition, found record.UUID) (storage.Config, bool) { return c, found == id })
	})
	if err != nil {
		if !errors.Is(err, storage.ErrShortage) {
			m.failPartition(d, j, err)
		}
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if e := m.logs[tp]; e != nil {
		return e.log, nil
	}
	return nil, nil // it was another topic's, and is set aside
}
