package metadata

import (
	"fmt"
	"path/filepath"
	"sync"
	"time"
)

// snapshotDeleteDelay is how long a removed snapshot stays under its .deleted name, for those who read it
// (KafkaMetadataLog's file delete delay).
const snapshotDeleteDelay = time.Minute

// snapshotter makes snapshots on a goroutine of its own, so that no Append waits for one.
type snapshotter struct {
	store *Store
	// asked holds at most the newest image to snapshot.
	asked chan publication
	work  sync.WaitGroup
	// last is when a snapshot was asked for last, or the Store was opened; under the Store's writing lock.
	last time.Time
}

func (n *snapshotter) start(s *Store) {
	n.store, n.asked, n.last = s, make(chan publication, 1), s.o.Now()
	asked := n.asked // stop may have taken it away before the goroutine runs
	n.work.Go(func() {
		for p := range asked {
			if err := n.make(p); err != nil {
				s.o.Logger.Error("cannot write a snapshot of the cluster metadata; the log is kept and the next change tries again", "dir", s.dir, "err", err)
			}
		}
	})
}

// stop waits for the snapshot that is being written. No ask may follow.
func (n *snapshotter) stop() {
	n.store.publishing.Lock()
	close(n.asked)
	n.asked = nil
	n.store.publishing.Unlock()
	n.work.Wait()
}

// due reports whether a snapshot should be made after written new bytes, and then counts it as made. Called
// under the writing lock.
func (n *snapshotter) due(written int64, now time.Time) bool {
	p := n.store.o.Snapshots
	if p.MaxNewBytes > 0 && written >= p.MaxNewBytes || p.MaxInterval > 0 && now.Sub(n.last) >= p.MaxInterval {
		n.last = now
		return true
	}
	return false
}

// ask hands over an image; one that still waits is replaced. Called under the publishing lock.
func (n *snapshotter) ask(p publication) {
	if n.asked == nil {
		return
	}
	select {
	case <-n.asked:
	default:
	}
	n.asked <- p
}

// make writes the snapshot of a published image, then removes what is no longer needed.
func (n *snapshotter) make(p publication) error {
	s := n.store
	q := p.quorum
	snap := snapshot{
		id:       snapshotID{p.image.Offset + 1, p.image.Epoch},
		headerMs: p.appendedMs, kraftVersion: q.kraftVersion, voters: q.voters,
		metadataVersion: p.image.MetadataVersion(), records: p.image.records(),
	}
	size, err := snap.write(s.o.FS, s.dir, s.o.Now, s.o.Rand)
	if err != nil {
		return err
	}
	s.o.Logger.Info("wrote a snapshot of the cluster metadata", "snapshot", snap.id, "bytes", size)
	return n.retain()
}

// retain removes the oldest snapshots, and the log before the next, while there are at least two and the limits
// are broken.
func (n *snapshotter) retain() error {
	s := n.store
	ids, _, err := listSnapshots(s.o.FS, s.dir)
	if err != nil {
		return err
	}
	total := s.log.SizeInBytes()
	sizes := make([]int64, len(ids))
	for i, id := range ids {
		info, err := s.o.FS.Stat(s.snapshotPath(id))
		if err != nil {
			return err
		}
		sizes[i] = info.Size()
		total += sizes[i]
	}
	for i := 0; i+1 < len(ids); i++ {
		old, err := n.expired(ids[i], total)
		if err != nil || !old {
			return err
		}
		logBytes := s.log.SizeInBytes()
		if err := n.drop(ids[i], ids[i+1]); err != nil {
			return err
		}
		total -= sizes[i] + logBytes - s.log.SizeInBytes()
	}
	return nil
}

func (s *Store) snapshotPath(id snapshotID) string {
	return filepath.Join(s.dir, id.String()+checkpointSuffix)
}

// expired reports whether a snapshot breaks the limits while everything takes total bytes.
func (n *snapshotter) expired(id snapshotID, total int64) (bool, error) {
	p := n.store.o.Snapshots
	if p.RetentionBytes >= 0 && total > p.RetentionBytes {
		return true, nil
	}
	if p.Retention < 0 {
		return false, nil
	}
	ms, err := snapshotTime(n.store.o.FS, n.store.snapshotPath(id))
	return n.store.o.Now().Sub(time.UnixMilli(ms)) > p.Retention, err
}

// drop moves the log start to the next snapshot and gives the older one up.
func (n *snapshotter) drop(id, next snapshotID) error {
	s := n.store
	if next.EndOffset > s.log.LogStartOffset() {
		if err := s.log.DeleteRecords(next.EndOffset); err != nil {
			return fmt.Errorf("raising the log start to %d: %w", next.EndOffset, err)
		}
		if _, err := s.log.DeleteOldSegments(); err != nil {
			return err
		}
	}
	path := s.snapshotPath(id)
	gone := filepath.Join(s.dir, id.String()+deletedSuffix)
	if err := s.o.FS.Rename(path, gone); err != nil {
		return err
	}
	s.o.Delay(snapshotDeleteDelay, func() {
		// One that is left over is removed at the next start.
		_ = s.o.FS.Remove(gone)
	})
	return s.o.FS.SyncDir(s.dir)
}
