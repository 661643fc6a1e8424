package repair

import (
	"encoding/binary"

	"github.com/samsalog/samsa/inspect/logfile"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/producer"
	"github.com/samsalog/samsa/storage/segment"
	"github.com/samsalog/samsa/vfs"
)

// indexInterval is Kafka's default of index.interval.bytes: how much log an entry stands for.
const indexInterval = 4096

// indexContent is the offset and the time index of a segment as Kafka's recovery makes them, with the final time entry.
func indexContent(fsys vfs.FS, path string, base int64) (offsets, times []byte, err error) {
	f, err := logfile.Open(fsys, path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	r := logfile.NewReader(f, 0, f.SizeInBytes)
	defer r.Close()
	indexed, largest, largestAt, last := int64(0), int64(-1), int64(0), int64(-1)
	entry := func() {
		if largest > last {
			times = binary.BigEndian.AppendUint64(times, uint64(largest))
			times = binary.BigEndian.AppendUint32(times, uint32(largestAt-base))
			last = largest
		}
	}
	for r.NextHeader() {
		h := r.Header()
		if h.MaxTimestamp > largest {
			largest, largestAt = h.MaxTimestamp, int64(h.LastOffset())
		}
		if r.Position()-indexed > indexInterval {
			offsets = binary.BigEndian.AppendUint32(offsets, uint32(int64(h.LastOffset())-base))
			offsets = binary.BigEndian.AppendUint32(offsets, uint32(r.Position()))
			entry()
			indexed = r.Position()
		}
		r.Skip()
	}
	entry()
	return offsets, times, nil // bytes that are no batch end the walk, and verify tells of them
}

// txnContent is the transaction indexes of all segments of a partition, by base offset.
func txnContent(fsys vfs.FS, list *logfile.Partition) (map[int64][]byte, error) {
	state := producer.New(producer.Fixed(forever))
	out := map[int64][]byte{}
	if len(list.Segments) > 0 {
		base := list.Segments[0].Base
		for _, s := range list.Snapshots {
			if s.Offset == base {
				if entries, err := producer.ReadSnapshot(fsys, list.Dir+"/"+s.Name); err == nil {
					state.Load(record.Offset(base), entries, 0)
				}
			}
		}
	}
	for _, s := range list.Segments {
		raw, err := segmentTxns(fsys, list.Path(s.Base, segment.LogSuffix), state)
		if err != nil {
			return nil, err
		}
		out[s.Base] = raw
	}
	return out, nil
}

func segmentTxns(fsys vfs.FS, path string, state *producer.State) (raw []byte, err error) {
	f, err := logfile.Open(fsys, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := logfile.NewReader(f, 0, f.SizeInBytes)
	defer r.Close()
	for r.NextHeader() {
		if !r.Header().HasProducerID() {
			r.Skip()
			continue
		}
		if !r.Next() {
			break
		}
		h := r.Header()
		var marker *record.EndTxnMarker
		if h.IsControl() {
			marker, _ = segment.Marker(r.Batch())
		}
		if err := state.Stage(h, marker, producer.Rules{Source: producer.FromLog}); err != nil {
			state.Discard()
			continue
		}
		for _, t := range state.Commit(h.NextOffset(), h.MaxTimestamp) {
			if t.Aborted {
				raw = binary.BigEndian.AppendUint16(raw, 0)
				for _, v := range []int64{int64(t.ProducerID), int64(t.FirstOffset), int64(t.LastOffset), int64(t.LastStableOffset)} {
					raw = binary.BigEndian.AppendUint64(raw, uint64(v))
				}
			}
		}
		state.HighWatermark(h.NextOffset())
	}
	return raw, nil
}
