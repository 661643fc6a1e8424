package replica

import (
	"errors"
	"slices"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/epoch"
)

// Read says what to read of one partition.
type Read struct {
	Offset record.Offset
	// MaxBytes bounds what is returned; with AtLeastOne the first batch comes whole even if it is larger.
	MaxBytes   int
	AtLeastOne bool
	Isolation  storage.Isolation
	// CurrentLeaderEpoch and LastFetchedEpoch are the client's beliefs; negative: none.
	CurrentLeaderEpoch record.LeaderEpoch
	LastFetchedEpoch   record.LeaderEpoch
	// Replica is the id of a fetching replica; negative for consumers.
	Replica int32
}

// Fetched is what a read found. When Diverging is set there are no records: the client's log has left ours
// at that point (KIP-595).
type Fetched struct {
	storage.ReadInfo
	Diverging *epoch.Entry
}

// Fetch reads one partition. The region of the result must be released.
func (p *Partition) Fetch(r Read) (Fetched, error) {
	log, role, err := p.leading()
	if err != nil {
		return Fetched{}, err
	}
	if err := role.checkEpoch(r.CurrentLeaderEpoch); err != nil {
		return Fetched{}, err
	}
	if r.Replica >= 0 && !slices.Contains(role.replicas, r.Replica) {
		if r.CurrentLeaderEpoch >= 0 {
			return Fetched{}, ErrUnknownLeaderEpoch
		}
		return Fetched{}, ErrNotLeader
	}
	if r.LastFetchedEpoch >= 0 {
		diverging, err := divergence(log, r)
		if err != nil {
			return Fetched{}, err
		}
		if diverging != nil {
			return Fetched{ReadInfo: offsetsOnly(log), Diverging: diverging}, nil
		}
	}
	info, err := log.Read(r.Offset, r.Isolation, r.MaxBytes, r.AtLeastOne)
	return Fetched{ReadInfo: info}, err
}

// divergence compares the epoch of the last record that the client has with our history
// (Partition.scala readRecords); nil when the client's log is a prefix of ours.
func divergence(log *storage.Log, r Read) (*epoch.Entry, error) {
	e, end := log.EndOffsetForEpoch(r.LastFetchedEpoch)
	if e < 0 || end < 0 {
		return nil, storage.ErrOffsetOutOfRange
	}
	if r.Offset < log.LogStartOffset() {
		return nil, storage.ErrOffsetOutOfRange
	}
	if e < r.LastFetchedEpoch || end < r.Offset {
		return &epoch.Entry{Epoch: e, StartOffset: end}, nil
	}
	return nil, nil
}

func offsetsOnly(log *storage.Log) storage.ReadInfo {
	o := log.Offsets()
	return storage.ReadInfo{HighWatermark: o.HighWatermark, LastStableOffset: o.LastStableOffset, LogStartOffset: o.LogStartOffset, LogEndOffset: o.LogEndOffset}
}

// Bound is the first offset that a reader with the given isolation may not see.
func (p *Partition) Bound(iso storage.Isolation) record.Offset {
	if p.log == nil {
		return record.NoOffset
	}
	switch iso {
	case storage.LogEnd:
		return p.log.LogEndOffset()
	case storage.TxnCommitted:
		return p.log.LastStableOffset()
	default:
		return p.log.HighWatermark()
	}
}

// The special timestamps of ListOffsets.
const (
	LatestTimestamp          int64 = -1
	EarliestTimestamp        int64 = -2
	MaxTimestamp             int64 = -3
	EarliestLocalTimestamp   int64 = -4
	LatestTieredTimestamp    int64 = -5
	EarliestPendingTimestamp int64 = -6
)

// errUnsupportedTimestamp is a special timestamp that does not exist.
var errUnsupportedTimestamp = errors.New("no such special timestamp")

// ListOffset answers one ListOffsets question. An offset of -1 with no error means "no such record".
func (p *Partition) ListOffset(ts int64, iso storage.Isolation, current record.LeaderEpoch) (storage.TimestampOffset, error) {
	none := storage.TimestampOffset{Timestamp: record.NoTimestamp, Offset: record.NoOffset, LeaderEpoch: record.NoLeaderEpoch}
	log, role, err := p.leading()
	if err != nil {
		return none, err
	}
	if err := role.checkEpoch(current); err != nil {
		return none, err
	}
	bound := p.Bound(iso)
	switch ts {
	case LatestTimestamp:
		return storage.TimestampOffset{Timestamp: record.NoTimestamp, Offset: bound, LeaderEpoch: role.epoch}, nil
	case EarliestTimestamp, EarliestLocalTimestamp:
		return earliest(log), nil
	case LatestTieredTimestamp, EarliestPendingTimestamp:
		return none, nil // nothing is tiered
	}
	var found storage.TimestampOffset
	var ok bool
	switch {
	case ts == MaxTimestamp:
		found, ok, err = log.MaxTimestampOffset()
	case ts >= 0:
		found, ok, err = log.OffsetForTimestamp(ts)
	default:
		return none, errUnsupportedTimestamp
	}
	if err != nil || !ok || found.Offset >= bound {
		return none, err
	}
	return found, nil
}

func earliest(log *storage.Log) storage.TimestampOffset {
	start := log.LogStartOffset()
	e := record.NoLeaderEpoch
	if first, ok := log.EarliestEpochEntry(); ok && first.StartOffset <= start {
		e = first.Epoch
	}
	return storage.TimestampOffset{Timestamp: record.NoTimestamp, Offset: start, LeaderEpoch: e}
}

// EndOffsetForEpoch answers OffsetForLeaderEpoch: the end of the greatest epoch not above requested.
func (p *Partition) EndOffsetForEpoch(requested, current record.LeaderEpoch) (record.LeaderEpoch, record.Offset, error) {
	log, role, err := p.leading()
	if err != nil {
		return record.NoLeaderEpoch, record.NoOffset, err
	}
	if err := role.checkEpoch(current); err != nil {
		return record.NoLeaderEpoch, record.NoOffset, err
	}
	e, end := log.EndOffsetForEpoch(requested)
	return e, end, nil
}
