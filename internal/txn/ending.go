package txn

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/producer"
)

// ending is a decided transaction whose markers are to be written.
type ending struct {
	// life ends when the shard does: the next one writes the markers that are missing.
	life       context.Context
	shard      int32
	id         string
	partitions []record.TopicPartition
	marker     coord.Marker
}

// The pause before partitions that have not taken their marker are tried again, and how long it grows.
const (
	markerRetryMin = 20 * time.Millisecond
	markerRetryMax = 5 * time.Second
)

// end writes the markers in the background and then tells the shard.
func (s *Service) end(x ending) {
	s.endings.Go(func() {
		if s.writeMarkers(x) {
			s.report(x)
		}
	})
}

// writeMarkers writes a marker to every partition, until all have it or do not exist any more (TXN-4). It returns false
// when the shard has ended before.
func (s *Service) writeMarkers(x ending) bool {
	left := slices.Clone(x.partitions)
	told := false
	for pause := markerRetryMin; ; pause = min(2*pause, markerRetryMax) {
		failed := left[:0]
		var last error
		for _, tp := range left {
			err := s.writeMarker(tp, x.marker)
			switch {
			case err == nil:
			case errors.Is(err, producer.ErrInvalidProducerEpoch):
				s.o.Logger.Warn("a partition has heard of a newer producer epoch than that of the transaction being ended; it gets no marker",
					"transactional_id", x.id, "partition", tp, "err", err)
			case !s.o.Exists(tp):
				s.o.Logger.Info("a partition of a transaction was deleted; it gets no marker", "transactional_id", x.id, "partition", tp)
			default:
				failed, last = append(failed, tp), err
			}
			if x.life.Err() != nil {
				return false
			}
		}
		left = failed
		if len(left) == 0 {
			return true
		}
		if pause == markerRetryMin {
			s.env.counters.withoutMarkers.Add(1)
			defer s.env.counters.withoutMarkers.Add(-1)
		}
		if pause >= markerRetryMax && !told {
			told = true
			s.o.Logger.Warn("partitions do not take the end of a transaction, they are tried again until they do", "transactional_id", x.id,
				"partitions", left, "err", last)
		}
		if !pausedFor(x.life, pause) {
			return false
		}
	}
}

// writeMarker writes one marker.
func (s *Service) writeMarker(tp record.TopicPartition, m coord.Marker) error {
	if tp.Topic == s.o.OffsetsTopic {
		return s.o.AppendToGroups(tp.Partition, m)
	}
	return s.o.Append(tp, m.Batch(s.o.Now().UnixMilli()), storage.AppendOptions{Origin: storage.Coordinator, TxnVersion: m.TxnVersion})
}

// report tells the shard that all markers are written. What was decided before a restart may get them before the shard that
// has read of it lets operations in, hence Patient.
func (s *Service) report(x ending) {
	for {
		err := s.runtime.Submit(x.shard, coord.Op[*machine]{Patient: true, Run: func(m *machine) coord.Result { return m.complete(x) }})
		if !errors.Is(err, coord.ErrNotAvailable) || !pausedFor(x.life, markerRetryMin) {
			return
		}
	}
}

// pausedFor waits; false when life has ended before.
func pausedFor(life context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-life.Done():
		return false
	}
}
