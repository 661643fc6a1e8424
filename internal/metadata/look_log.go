package metadata

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/samsalog/samsa/inspect/logfile"
	"github.com/samsalog/samsa/record"
)

// readLog applies what stands in the log behind the snapshot. All batches of the log are checked, the older ones too: the
// start that follows cuts the log where one is damaged.
func (r *reading) readLog() error {
	list, err := logfile.List(r.fs, r.logDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var segments []logfile.Segment
	for _, s := range list.Segments {
		if s.Log >= 0 {
			segments = append(segments, s)
		}
	}
	r.segments = len(segments)
	if len(segments) == 0 {
		return nil
	}
	next := r.image.Offset + 1
	if start := record.Offset(segments[0].Base); start > next {
		return fmt.Errorf("%w: it begins at offset %d, the newest snapshot ends at %d", ErrGap, start, next)
	}
	r.end = record.Offset(segments[0].Base)
	w := logWalk{r: r, next: next}
	for _, s := range segments {
		if err := w.segment(list.Path(s.Base, ".log"), s); err != nil {
			return err
		}
	}
	return w.judge()
}

// logWalk goes through the segments of the metadata log.
type logWalk struct {
	r *reading
	// next is the first offset that is not in the image.
	next record.Offset
	// What was found behind the cut: whole batches, and the newest epoch and time among them. lastEpoch and lastMs are
	// those of the batch before the cut, or of the first behind it if there is none.
	behind                 int
	lastEpoch, behindEpoch record.LeaderEpoch
	lastMs, behindMs       int64
}

func (w *logWalk) segment(path string, s logfile.Segment) error {
	f, err := logfile.Open(w.r.fs, path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	batches := logfile.NewReader(f, 0, f.SizeInBytes)
	defer batches.Close()
	if w.r.cut == nil {
		if err := w.whole(path, batches); err != nil {
			return err
		}
	}
	if w.r.cut != nil {
		return w.afterCut(batches)
	}
	return nil
}

// whole takes in batches up to the first that is torn or damaged.
func (w *logWalk) whole(path string, batches *logfile.Reader) error {
	r := w.r
	at := batches.Position()
	for batches.Next() && batches.Valid() && batches.Header().Magic == logfile.NewestMagic {
		h := batches.Header()
		if h.BaseOffset < r.end { // no checksum covers the offset
			break
		}
		if h.BaseOffset > r.end {
			return fmt.Errorf("%w: %s: offset %d follows offset %d", ErrGap, path, h.BaseOffset, r.end-1)
		}
		at = batches.Position()
		r.end, r.epoch = h.LastOffset()+1, max(r.epoch, h.LeaderEpoch)
		w.lastEpoch, w.lastMs = r.epoch, h.MaxTimestamp
		if h.LastOffset() < w.next {
			continue
		}
		if err := r.batch(batches.Batch()); err != nil {
			return err
		}
		w.next = h.LastOffset() + 1
	}
	if err := batches.Err(); err != nil && !errors.Is(err, record.ErrCorruptBatch) {
		return err
	}
	if at < batches.End() {
		r.cut = &Cut{File: path, Position: at, SizeInBytes: batches.End() - at, Offset: r.end}
		batches.Rewind(at)
	}
	return nil
}

// afterCut looks at the whole batches that a start would cut off with the damaged one.
func (w *logWalk) afterCut(batches *logfile.Reader) error {
	for {
		for batches.Next() && batches.Valid() {
			if h := batches.Header(); h.BaseOffset >= w.r.end {
				if w.behind++; w.behind == 1 && w.lastMs == 0 {
					w.lastEpoch, w.lastMs = h.LeaderEpoch, h.MaxTimestamp
				}
				w.behindEpoch, w.behindMs = max(w.behindEpoch, h.LeaderEpoch), max(w.behindMs, h.MaxTimestamp)
			}
		}
		if err := batches.Err(); err != nil && !errors.Is(err, record.ErrCorruptBatch) {
			return err
		}
		if batches.Position() >= batches.End() {
			return nil
		}
		batches.Rewind(batches.Position())
		if found, err := batches.Resync(w.r.end, maxOffset); err != nil || !found {
			return err
		}
	}
}

const maxOffset = record.Offset(1<<63 - 1)

// tornFor is how far the times of batches that one power failure tears can lie apart. Each is synced before anybody is
// told of it, and the next one that is written later than this was written after that.
const tornFor = 10 * time.Second

// judge tells a torn tail from a hole: what a later epoch, or ten seconds later, has written was written when all before it had
// been synced, so cutting it would lose what was acknowledged. Kafka cuts it all the same.
func (w *logWalk) judge() error {
	c := w.r.cut
	if c == nil || w.behind == 0 || w.behindEpoch <= w.lastEpoch && w.behindMs-w.lastMs < tornFor.Milliseconds() {
		return nil
	}
	return fmt.Errorf("%w: %s is damaged at byte %d (offset %d), and %d whole batches stand behind that place; a start would cut them off, so nothing was changed: bring the file back from a copy, or cut it there if what is behind may be lost",
		ErrDamaged, c.File, c.Position, c.Offset, w.behind)
}

func (r *reading) batch(b record.Batch) error {
	h := b.Header()
	r.written += int64(len(b))
	if !h.IsControl() {
		records, err := decodeData(b)
		if err != nil {
			return err
		}
		return r.replay.batch(h.BaseOffset, h.LeaderEpoch, records)
	}
	records, err := decodeControl(b)
	if err != nil {
		return err
	}
	for _, c := range records {
		r.quorum.control(c, true)
	}
	r.replay.control(h.LastOffset(), h.LeaderEpoch)
	return nil
}
