package deadletter

import (
	"github.com/samsalog/samsa/internal/replica"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
)

// readBytes is what is read of the source at a time, unless one batch is larger. Kafka reads as much.
const readBytes = 1 << 20

// reader finds records of a partition, best by ascending offsets.
type reader struct {
	source *replica.Partition
	// most bounds a record of a compressed batch, in bytes: one that is larger would not fit into the queue.
	most int
	// batches are those that were read and not decoded yet. The read began at from; end is the offset behind them.
	batches   *record.Scanner
	from, end record.Offset
	// records are those of the batch before; current is where they stand, at offset -1 in the beginning.
	records *record.Records
	current record.Record
}

// at returns the record at an offset, lent until the next call. One that cannot be read, since it is gone from the log or
// damaged, has neither key nor value.
func (r *reader) at(offset record.Offset) record.Record {
	if r.batches == nil || offset < max(r.from, r.current.Offset) || offset >= r.end {
		r.read(offset)
	}
	for r.current.Offset < offset && r.next(offset) {
	}
	if r.current.Offset != offset {
		return record.Record{}
	}
	return r.current
}

// read takes in what the log has from an offset on.
func (r *reader) read(offset record.Offset) {
	r.close()
	r.current.Offset, r.from, r.end, r.batches = -1, offset, offset, record.NewScanner(nil)
	got, err := r.source.Fetch(replica.Read{
		Offset: offset, MaxBytes: readBytes, AtLeastOne: true, Isolation: storage.HighWatermark,
		CurrentLeaderEpoch: record.NoLeaderEpoch, LastFetchedEpoch: record.NoLeaderEpoch, Replica: -1,
	})
	if err != nil {
		return
	}
	defer got.Region.Release()
	buf := make([]byte, got.Region.Length)
	if err := got.Region.ReadInto(buf); err != nil {
		return
	}
	for s := record.NewScanner(buf); s.Next(); {
		r.end = s.Batch().LastOffset() + 1
	}
	r.batches = record.NewScanner(buf)
}

// next goes to the next record of a batch that may have an offset; false when there is none.
func (r *reader) next(offset record.Offset) bool {
	for {
		if r.records != nil {
			if r.records.Next() {
				r.current = r.records.Record()
				return true
			}
			r.close()
		}
		if !r.batches.Next() {
			return false
		}
		if b := r.batches.Batch(); b.LastOffset() >= offset {
			r.records = b.Records(r.most)
		}
	}
}

// close gives the decoder back.
func (r *reader) close() {
	if r.records != nil {
		r.records.Close()
		r.records = nil
	}
}
