package verify

import (
	"encoding/binary"
	"fmt"
	"path/filepath"

	"github.com/samsalog/samsa/inspect/logfile"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/epoch"
	"github.com/samsalog/samsa/storage/segment"
)

// Positions of the fields that no checksum covers; docs/formats/record-batch.md.
const (
	posBaseOffset  = 0
	posLeaderEpoch = 12
)

// behind is the base offset of the batch right behind the current one, if there is one.
func behind(r *logfile.Reader) (int64, bool) {
	probe := logfile.NewReader(r.File(), r.Position(), r.End())
	defer probe.Close()
	if !probe.NextHeader() || probe.Header().Magic > logfile.NewestMagic {
		return 0, false
	}
	return int64(probe.Header().BaseOffset), true
}

// mend looks at the header fields that no checksum covers. Where the batches around show what is right, it tells, and the
// walk goes on with that: the records are whole.
func (w *walk) mend(r *logfile.Reader, h *record.Header) {
	if h.Magic > logfile.NewestMagic {
		w.patch(r, h, BatchStructure, record.MagicOffset, []byte{byte(h.Magic)}, []byte{logfile.NewestMagic}, fmt.Sprintf("format (magic) %d, the checksum is right for %d", h.Magic, logfile.NewestMagic))
		h.Magic = logfile.NewestMagic
	}
	if h.Magic != 2 {
		return
	}
	if first := int64(h.BaseOffset); first != w.next && len(w.held) == 0 {
		next, ok := behind(r)
		if !ok && w.s.Sealed && r.Position() == r.End() {
			next, ok = w.limit, true
		}
		if right := w.next + int64(h.LastOffsetDelta) + 1; ok && next == right {
			w.patch(r, h, BatchOrder, posBaseOffset, be64(first), be64(w.next), fmt.Sprintf("base offset %d, the batches before and behind leave %d", first, w.next))
			h.BaseOffset = record.Offset(w.next)
		}
	}
	w.leaderEpoch(r, h)
}

func be64(v int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(v)) }
func be32(v int32) []byte { return binary.BigEndian.AppendUint32(nil, uint32(v)) }

func (w *walk) patch(r *logfile.Reader, h *record.Header, rule Rule, field int64, old, right []byte, what string) {
	w.s.Patches = append(w.s.Patches, Patch{Position: r.Start() + field, Old: old, New: right})
	f := at(rule, Error, w.path, r.Start()+field, int64(len(old)), what, "The records of the batch are whole; readers and replicas are misled by its header")
	w.out(f.offsets(w.next, w.next+int64(h.LastOffsetDelta)))
}

// rise is the last time that the leader epoch rose from one batch to the next.
type rise struct {
	state    *SegmentState
	path     string
	position int64
	before   record.LeaderEpoch
	batches  int
}

// leaderEpoch holds the batch's epoch against the history, and against the batches before.
func (w *walk) leaderEpoch(r *logfile.Reader, h *record.Header) {
	if h.LeaderEpoch < 0 && w.epoch < 0 {
		return
	}
	if right, ok := w.historical(h); ok && right != h.LeaderEpoch {
		w.contradict(r, h, right)
		h.LeaderEpoch = right
	} else if h.LeaderEpoch < w.epoch {
		if w.rise.batches == 1 && w.rise.before <= h.LeaderEpoch && w.rise.before >= 0 {
			// The batch before stands alone with its epoch: that one is wrong.
			w.rise.state.Patches = append(w.rise.state.Patches, Patch{Position: w.rise.position + posLeaderEpoch, Old: be32(int32(w.epoch)), New: be32(int32(w.rise.before))})
			w.out(at(BatchEpoch, Error, w.rise.path, w.rise.position+posLeaderEpoch, 4, fmt.Sprintf("leader epoch %d, the batches around have %d", w.epoch, w.rise.before), meansEpoch))
			w.epoch = w.rise.before
			w.state.Epochs = w.state.Epochs[:max(0, len(w.state.Epochs)-1)]
		} else {
			w.contradict(r, h, w.epoch)
			h.LeaderEpoch = w.epoch
		}
	}
	w.rise.batches++
	if h.LeaderEpoch > w.epoch {
		w.rise = rise{state: w.s, path: w.path, position: r.Start(), before: w.epoch, batches: 1}
		w.epoch = h.LeaderEpoch
		w.state.Epochs = append(w.state.Epochs, epoch.Entry{Epoch: h.LeaderEpoch, StartOffset: h.BaseOffset})
	}
}

const meansEpoch = "Replicas that compare their logs by epochs may truncate or keep too much; the records are whole"

func (w *walk) contradict(r *logfile.Reader, h *record.Header, right record.LeaderEpoch) {
	w.patch(r, h, BatchEpoch, posLeaderEpoch, be32(int32(h.LeaderEpoch)), be32(int32(right)), fmt.Sprintf("leader epoch %d, %s and the batches before say %d", h.LeaderEpoch, segment.LeaderEpochFile, right))
}

// historical is the epoch of a batch as the history of the partition has it.
func (w *walk) historical(h *record.Header) (record.LeaderEpoch, bool) {
	i := len(w.epochs) - 1
	for i >= 0 && w.epochs[i].StartOffset > h.BaseOffset {
		i--
	}
	if i < 0 || w.state.BadEpochs {
		return 0, false
	}
	known := w.epochs[i].Epoch
	if known == h.LeaderEpoch {
		return known, true
	}
	// The newest epochs may not have been written yet; the next start finds them in the log.
	if i == len(w.epochs)-1 && h.LeaderEpoch > known && !w.facts.Clean && (w.facts.Raft || w.facts.RecoveryPoint >= 0 && int64(h.BaseOffset) >= w.facts.RecoveryPoint) {
		return 0, false
	}
	if w.odd(h) {
		return known, true
	}
	// A batch that begins an epoch of the history, but elsewhere: the history is wrong.
	w.state.BadEpochs = true
	w.out(about(EpochHistory, Error, filepath.Join(w.list.Dir, segment.LeaderEpochFile), fmt.Sprintf("epoch %d at offset %d, the batch there has %d", known, h.BaseOffset, h.LeaderEpoch), meansEpoch))
	return 0, false
}

// odd reports whether it is the batch that is wrong, not the history: its epoch is none of the history's, or one that cannot
// be since another was before.
func (w *walk) odd(h *record.Header) bool {
	if h.LeaderEpoch < w.epoch {
		return true
	}
	for _, e := range w.epochs {
		if e.Epoch == h.LeaderEpoch {
			return false
		}
	}
	return w.epoch >= 0 || len(w.epochs) > 1
}
