package storage

import (
	"errors"
	"math"
	"slices"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/producer"
	"github.com/samsalog/samsa/storage/segment"
	"github.com/samsalog/samsa/vfs"
)

// loading is a log that is being loaded.
type loading struct {
	l             *Log
	list          []*segment.Segment
	recoveryPoint record.Offset
	logStart      record.Offset
	// end is the log end, producers the state there; both are the result.
	end       record.Offset
	producers *producer.State
	// gaps: offsets were missing between batches inside a segment.
	gaps bool
	// emptyEnd: the last segment and its indexes have no bytes, so there is nothing in it to recover.
	emptyEnd bool
}

// run repairs what must be repaired, finds the end, and restores the producers' state.
func (ld *loading) run(files []file) error {
	first, from := len(ld.list), len(ld.list)-1
	ld.emptyEnd = files[from].empty()
	if !ld.l.o.Clean {
		first = max(0, floor(ld.list, ld.recoveryPoint))
	}
	if err := ld.repairSealed(files[:min(first, from)]); err != nil {
		return err
	}
	if first == len(ld.list) {
		ok, err := ld.openClean(files[from])
		if err != nil {
			return err
		}
		if ok {
			return ld.restore()
		}
		first = from // its index cannot be trusted: make it anew
	}
	return ld.recover(first)
}

// repairSealed looks after sealed segments whose indexes are incomplete; their logs are trusted.
func (ld *loading) repairSealed(files []file) error {
	for i, f := range files {
		s := ld.list[i]
		if !f.index || !f.timeIndex {
			if err := s.Repair(errMissingIndex); err != nil {
				return err
			}
		}
		if !f.txnIndex {
			continue
		}
		if err := s.TxnIndexSanity(); errors.Is(err, record.ErrCorruptBatch) {
			if err := ld.rebuildTxnIndex(s, err); err != nil {
				return err
			}
		} else if err != nil {
			return err
		}
	}
	return nil
}

var errMissingIndex = errors.New("an index file is missing")

// openClean opens the active segment of a log that was closed in order: it reads from the last index entry on. ok is
// false if what it finds contradicts that.
func (ld *loading) openClean(f file) (ok bool, err error) {
	s := ld.list[len(ld.list)-1]
	if !f.index || !f.timeIndex {
		return false, nil
	}
	if ld.emptyEnd {
		s.ActivateEmpty(true)
		ld.end = s.Base()
		return true, nil
	}
	next, end, err := s.NextOffset()
	if err == nil && end == s.Size() {
		err = s.Activate(true)
	}
	switch {
	case segment.Contradicts(err), errors.Is(err, record.ErrCorruptBatch):
		return false, nil
	case err != nil:
		return false, err
	}
	ld.end = next
	return end == s.Size(), nil
}

// restore brings back the producers of a log that was closed in order.
func (ld *loading) restore() error {
	l := ld.l
	if len(l.snapshots.Offsets()) == 0 && ld.end > 0 && l.o.Clean {
		return ld.startSnapshots()
	}
	if err := l.snapshots.RemoveStray(ld.bases()); err != nil {
		return err
	}
	if err := l.snapshots.RemoveIf(func(o record.Offset) bool { return o > ld.end || o < ld.list[0].Base() }); err != nil {
		return err
	}
	state, err := l.producersAt(ld.list, ld.end, ld.end)
	if err != nil {
		return err
	}
	return ld.finish(state)
}

// startSnapshots is for a log of a release that had none: empty ones at the last two bases and at the end, without
// reading the log, so that the next crash does not read all of it either.
func (ld *loading) startSnapshots() error {
	ld.producers = producer.New(ld.l.o.ProducerExpiry)
	ld.producers.SetMapEnd(ld.end)
	empty := producer.EncodeSnapshot(nil)
	bases := ld.bases()
	for _, o := range append(bases[max(0, len(bases)-2):], ld.end) {
		if o == 0 {
			continue
		}
		if err := ld.l.snapshots.Write(o, empty); err != nil {
			return err
		}
	}
	return nil
}

// finish completes the state and saves it, so that the next start finds it.
func (ld *loading) finish(state *producer.State) error {
	ld.producers = state
	if err := ld.l.recall(ld.list, state); err != nil {
		return err
	}
	return ld.snapshotAt(ld.end, state)
}

// snapshotAt saves the state before offset o unless that is saved already.
func (ld *loading) snapshotAt(o record.Offset, state *producer.State) error {
	if o == 0 || ld.l.snapshots.Has(o) {
		return nil
	}
	entries := state.Entries()
	err := ld.l.writeSnapshot(o, entries)
	if vfs.IsShortage(err) { // the log can be read without; the recovery point does not rise before it is there
		ld.l.mu.Lock()
		ld.l.mu.unsaved = append(ld.l.mu.unsaved, unsaved{o, entries})
		ld.l.mu.Unlock()
		return nil
	}
	return err
}

func (ld *loading) bases() []record.Offset {
	bases := make([]record.Offset, len(ld.list))
	for i, s := range ld.list {
		bases[i] = s.Base()
	}
	return bases
}

// recover reads the segments from list[first] on, checks every batch from the recovery point on, and makes indexes and
// producers' state anew.
func (ld *loading) recover(first int) error {
	l := ld.l
	if err := l.snapshots.RemoveStray(ld.bases()); err != nil {
		return err
	}
	pos, from := ld.startOf(ld.list[first])
	ld.announce(first, pos, from)
	state, err := l.producersAt(ld.list[:first+1], from, from)
	if err != nil {
		return err
	}
	if err := ld.snapshotAt(from, state); err != nil { // the crash may have come before the one of the roll was written
		return err
	}
	for i := first; i < len(ld.list); i++ {
		r := recovering{ld: ld, s: ld.list[i], state: state, empty: ld.emptyEnd && i+1 == len(ld.list)}
		if err := r.run(pos, from); err != nil {
			return err
		}
		if i+1 < len(ld.list) && ld.lost(&r, ld.list[i+1].Base()) {
			if err := ld.dropFrom(i + 1); err != nil {
				return err
			}
		}
		ld.end = r.next
		if i+1 == len(ld.list) {
			if err := ld.endWith(&r); err != nil {
				return err
			}
			break
		}
		pos, from = 0, ld.list[i+1].Base()
		if err := l.snapshots.RemoveIf(func(o record.Offset) bool { return o == from }); err != nil {
			return err
		}
		if err := ld.snapshotAt(from, state); err != nil {
			return err
		}
		state.SetMapEnd(from)
	}
	if err := l.snapshots.RemoveIf(func(o record.Offset) bool { return o > ld.end || o < ld.list[0].Base() }); err != nil {
		return err
	}
	return ld.finish(state)
}

// lost reports whether batches that were there before the crash are missing between a recovered segment and the next one,
// so that what follows would be a log with a hole: bytes were cut, or the end of the file never reached the disk. Holes
// that compaction left are no reason; where it has been at work they are found inside of segments too.
func (ld *loading) lost(r *recovering, base record.Offset) bool {
	if r.next == base || r.kept {
		return false
	}
	ld.gaps = ld.gaps || r.gaps
	return r.torn || r.next >= ld.recoveryPoint && !ld.gaps && !ld.l.config.Load().CleanupCompact
}

// announce tells how much is going to be read.
func (ld *loading) announce(first int, pos int64, from record.Offset) {
	bytes := -pos
	for _, s := range ld.list[first:] {
		bytes += s.Size()
	}
	if bytes > 0 {
		ld.l.event(Event{Kind: Recovering, Position: pos, Bytes: bytes, From: from, To: record.NoOffset})
	}
}

// startOf returns where recovery of the first segment begins: at the recovery point, if the indexes lead there and can
// be trusted below it; else at the segment's begin.
func (ld *loading) startOf(s *segment.Segment) (int64, record.Offset) {
	if ld.recoveryPoint > s.Base() && !ld.l.o.Clean {
		if pos, next, ok := s.Trusted(ld.recoveryPoint); ok {
			return pos, next
		}
	}
	return 0, s.Base()
}

// dropFrom removes the segments from list[i] on, before which batches are missing (specification 9.3).
func (ld *loading) dropFrom(i int) error {
	l := ld.l
	for _, s := range ld.list[i:] {
		l.event(Event{Kind: SegmentsDropped, File: s.Path(), Bytes: s.Size(), From: s.Base(), To: record.NoOffset})
	}
	drop := ld.list[i:]
	ld.list = slices.Clone(ld.list[:i])
	ld.list[i-1].SetUpper(math.MaxInt64)
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dropLocked(drop, ld.list)
}

// endWith makes the last segment the active one. If damage was kept at its end, the log goes on in a new one.
func (ld *loading) endWith(r *recovering) error {
	if r.empty {
		r.s.ActivateEmpty(false)
		return nil
	}
	if !r.kept {
		return r.s.Activate(false)
	}
	ld.end = max(r.next, ld.recoveryPoint)
	s, err := segment.Create(ld.l.segmentOptions(ld.end))
	if err != nil {
		return err
	}
	r.s.SetUpper(ld.end)
	ld.list = append(slices.Clone(ld.list), s)
	ld.l.setList(ld.list)
	r.state.SetMapEnd(ld.end)
	return nil
}
