package adopt

import (
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/samsalog/samsa/inspect/logfile"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/producer"
	"github.com/samsalog/samsa/storage/segment"
)

// Partition is one replica on disk, or one that the metadata expects.
type Partition struct {
	Partition int32  `json:"partition"`
	Dir       string `json:"dir"`
	// Missing: the metadata expects it here and there is no directory.
	Missing  bool  `json:"missing,omitempty"`
	Segments int   `json:"segments"`
	Bytes    int64 `json:"bytes"`
	// LogStart and LogEnd bound the offsets. HighWatermark and RecoveryPoint are of the checkpoints.
	LogStart      int64 `json:"logStart"`
	LogEnd        int64 `json:"logEnd"`
	HighWatermark int64 `json:"highWatermark"`
	RecoveryPoint int64 `json:"recoveryPoint"`
	// Producers is how many producers are remembered, Open the transactions without a marker.
	Producers int               `json:"producers"`
	Open      []OpenTransaction `json:"openTransactions,omitempty"`
	// TornBytes are those behind the last whole batch of the newest segment.
	TornBytes int64 `json:"tornBytes,omitempty"`
	// Deleted files wait to be unlinked, Cleaned were being written by a compaction, Swap were being swapped in.
	Deleted []string `json:"deleted,omitempty"`
	Cleaned []string `json:"cleaned,omitempty"`
	Swap    []string `json:"swap,omitempty"`
	// Magic is the oldest format of batches at the beginnings of segments; -1: there are none.
	Magic int8 `json:"magic"`
	// Of the metadata; empty and -1 without.
	Replicas    []int32 `json:"replicas,omitempty"`
	ISR         []int32 `json:"isr,omitempty"`
	Leader      int32   `json:"leader"`
	LeaderEpoch int32   `json:"leaderEpoch"`

	topic string
	id    record.UUID
	list  *logfile.Partition
}

// TopicID is the id in partition.metadata, "" without one.
func (p *Partition) TopicID() string {
	if p.id.IsZero() {
		return ""
	}
	return p.id.String()
}

// OpenTransaction is a transaction that has data and no marker.
type OpenTransaction struct {
	ProducerID    int64 `json:"producerId"`
	ProducerEpoch int16 `json:"producerEpoch"`
	FirstOffset   int64 `json:"firstOffset"`
	LastTimestamp int64 `json:"lastTimestamp"`
}

// partition reads one partition directory.
func (l *looker) partition(d *Directory, name string, tp record.TopicPartition) (*Partition, error) {
	dir := filepath.Join(d.Path, name)
	list, err := logfile.List(l.FS, dir)
	if err != nil {
		return nil, err
	}
	p := &Partition{Partition: tp.Partition, Dir: dir, Segments: len(list.Segments), Magic: -1, Leader: -1, LeaderEpoch: -1, topic: tp.Topic, list: list}
	p.id = l.topicID(dir)
	for _, s := range list.Segments {
		p.Bytes += s.Log
	}
	for _, file := range list.Leftovers {
		switch {
		case strings.HasSuffix(file, segment.DeletedSuffix):
			p.Deleted = append(p.Deleted, file)
		case strings.HasSuffix(file, segment.CleanedSuffix):
			p.Cleaned = append(p.Cleaned, file)
		case strings.HasSuffix(file, segment.SwapSuffix):
			p.Swap = append(p.Swap, file)
		}
	}
	get := func(m map[record.TopicPartition]record.Offset) int64 {
		if o, ok := m[tp]; ok {
			return int64(o)
		}
		return -1
	}
	p.HighWatermark, p.RecoveryPoint, p.LogStart = get(d.highWatermark), get(d.recovery), max(0, get(d.start))
	if len(list.Segments) > 0 {
		p.LogStart = max(p.LogStart, list.Segments[0].Base)
	}
	p.LogEnd = p.LogStart
	if err := l.magic(p); err != nil {
		return nil, err
	}
	return p, l.tail(d, p)
}

// magic reads the first header of every segment.
func (l *looker) magic(p *Partition) error {
	for _, s := range p.list.Segments {
		if s.Log == 0 {
			continue
		}
		f, err := logfile.Open(l.FS, p.list.Path(s.Base, segment.LogSuffix))
		if err != nil {
			return err
		}
		r := logfile.NewReader(f, 0, f.SizeInBytes)
		if r.NextHeader() && (p.Magic < 0 || r.Header().Magic < p.Magic) {
			p.Magic = r.Header().Magic
		}
		r.Close()
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}

// tail finds the end of the log and the producers. After an orderly stop a snapshot at the end tells both; otherwise the log is read
// from the newest snapshot on, as recovery does.
func (l *looker) tail(d *Directory, p *Partition) error {
	state := producer.New(producer.Fixed(math.MaxInt64))
	from := l.snapshot(p, state)
	if d.State == clean && p.RecoveryPoint >= 0 && (from == p.RecoveryPoint || p.RecoveryPoint == p.LogStart) {
		p.LogEnd = p.RecoveryPoint
	} else if err := l.replay(d, p, state, from); err != nil {
		return err
	}
	for _, e := range state.Entries() {
		p.Producers++
		if e.CurrentTxnFirstOffset >= 0 {
			p.Open = append(p.Open, OpenTransaction{int64(e.ProducerID), int16(e.ProducerEpoch), int64(e.CurrentTxnFirstOffset), e.LastTimestamp})
		}
	}
	slices.SortFunc(p.Open, func(a, b OpenTransaction) int { return int(min(1, max(-1, a.FirstOffset-b.FirstOffset))) })
	return nil
}

// snapshot loads the newest producer snapshot that can be read, and returns its offset; -1: there is none.
func (l *looker) snapshot(p *Partition, state *producer.State) int64 {
	for _, s := range slices.Backward(p.list.Snapshots) {
		if entries, err := producer.ReadSnapshot(l.FS, filepath.Join(p.Dir, s.Name)); err == nil {
			state.Load(record.Offset(s.Offset), entries, 0)
			return s.Offset
		}
	}
	return -1
}

// replay reads the segments from offset from on.
func (l *looker) replay(d *Directory, p *Partition, state *producer.State, from int64) error {
	for i, s := range p.list.Segments {
		last := i+1 == len(p.list.Segments)
		if !last && p.list.Segments[i+1].Base <= from {
			continue
		}
		p.LogEnd = max(p.LogEnd, s.Base)
		if err := l.segment(d, p, s, state, from); err != nil {
			return err
		}
	}
	return nil
}

func (l *looker) segment(d *Directory, p *Partition, s logfile.Segment, state *producer.State, from int64) error {
	f, err := logfile.Open(l.FS, p.list.Path(s.Base, segment.LogSuffix))
	if err != nil {
		return err
	}
	defer f.Close()
	r := logfile.NewReader(f, 0, f.SizeInBytes)
	defer r.Close()
	whole := int64(0)
	for r.NextHeader() {
		h := *r.Header()
		var marker *record.EndTxnMarker
		switch {
		case d.State != clean || h.IsControl():
			if !r.Next() || d.State != clean && !r.Valid() {
				p.TornBytes = f.SizeInBytes - whole
				return nil
			}
			if h.IsControl() {
				marker, _ = segment.Marker(r.Batch())
			}
		default:
			r.Skip()
		}
		whole = r.Position()
		p.LogEnd = int64(h.NextOffset())
		if int64(h.LastOffset()) < from {
			continue
		}
		if err := state.Stage(&h, marker, producer.Rules{Source: producer.FromLog}); err != nil {
			state.Discard()
			continue
		}
		state.Commit(h.NextOffset(), h.MaxTimestamp)
		state.HighWatermark(h.NextOffset())
	}
	if d.State != clean {
		p.TornBytes = f.SizeInBytes - whole
	}
	return nil
}
