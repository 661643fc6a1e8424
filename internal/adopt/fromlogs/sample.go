package fromlogs

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/samsalog/samsa/inspect/logfile"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/epoch"
	"github.com/samsalog/samsa/storage/producer"
	"github.com/samsalog/samsa/storage/segment"
)

// sampleBatches is how many headers are read of each segment but the last, of which all are.
const sampleBatches = 256

// sample is what the files of a partition tell.
type sample struct {
	// base is that of the first segment, or -1 without one.
	base int64
	// oldest is the oldest format of batches; -1: there are none.
	oldest int8
	// wasCleaned: the cleaner has a checkpoint of it. holes: offsets are missing between batches or inside.
	wasCleaned, holes bool
	// appendTime: the newest batch carries the time of its appending.
	appendTime bool
	// largest is the largest batch, in bytes.
	largest int
	// oldestMs is the largest timestamp of the first batch that has one; -1: none has.
	oldestMs int64
	// maxEpoch and maxProducer are the largest ids that were found, -1 none.
	maxEpoch    record.LeaderEpoch
	maxProducer record.ProducerID
	// rolled are the sealed segments: how long they were, and what did not fit any more.
	rolled []roll
}

// roll is the end of a segment: segment.bytes was at least size and less than size+next.
type roll struct{ size, next int64 }

// look samples a partition; held: there is a segment.
func (p *Plan) look(x *Partition) (held bool, err error) {
	s := &x.sample
	s.base, s.oldest, s.oldestMs, s.maxEpoch, s.maxProducer = -1, -1, record.NoTimestamp, record.NoLeaderEpoch, record.NoProducerID
	list, err := logfile.List(p.o.FS, x.Dir)
	if err != nil {
		return false, err
	}
	if list.LeaderEpochs {
		entries, err := epoch.Read(p.o.FS, filepath.Join(x.Dir, epoch.File))
		if err != nil {
			p.note("%s: leader epochs are told from the records: %v", x.Dir, err)
		}
		for _, e := range entries {
			s.maxEpoch = max(s.maxEpoch, e.Epoch)
		}
	}
	for _, n := range list.Snapshots {
		entries, err := producer.ReadSnapshot(p.o.FS, filepath.Join(x.Dir, n.Name))
		if err != nil && !errors.Is(err, record.ErrCorruptBatch) {
			return false, err
		}
		for _, e := range entries {
			s.maxProducer = max(s.maxProducer, e.ProducerID)
		}
	}
	for i, g := range list.Segments {
		if i == 0 {
			s.base = g.Base
		}
		if err := p.headers(x, list, i); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
	}
	x.LeaderEpoch = s.maxEpoch + 1
	return len(list.Segments) > 0, nil
}

// headers reads headers of one segment.
func (p *Plan) headers(x *Partition, list *logfile.Partition, i int) error {
	g := list.Segments[i]
	f, err := logfile.Open(p.o.FS, list.Path(g.Base, segment.LogSuffix))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	r := logfile.NewReader(f, 0, f.SizeInBytes)
	defer r.Close()
	s, last := &x.sample, i+1 == len(list.Segments)
	next := record.Offset(-1)
	for n := 0; (last || n < sampleBatches) && r.NextHeader(); n++ {
		h := r.Header()
		if n == 0 && i > 0 {
			s.rolled = append(s.rolled, roll{list.Segments[i-1].Log, int64(h.SizeInBytes)})
		}
		s.header(h, next)
		next = h.NextOffset()
		r.Skip()
	}
	return nil // what is no batch ends the sample; recovery will judge it
}

// header takes in one header; next is the offset that should follow, -1 at the begin of a segment.
func (s *sample) header(h *record.Header, next record.Offset) {
	if s.oldest < 0 || h.Magic < s.oldest {
		s.oldest = h.Magic
	}
	wrapper := h.Count < 0 // of a message set: its first offset is inside
	if next >= 0 && !wrapper && h.BaseOffset > next || h.Count >= 0 && h.Count < h.LastOffsetDelta+1 {
		s.holes = true
	}
	s.appendTime = h.TimestampType() == record.LogAppendTime || h.IsControl() && s.appendTime
	s.largest = max(s.largest, h.SizeInBytes)
	if s.oldestMs < 0 {
		s.oldestMs = h.MaxTimestamp
	}
	s.maxEpoch = max(s.maxEpoch, h.LeaderEpoch)
	s.maxProducer = max(s.maxProducer, h.ProducerID)
}
