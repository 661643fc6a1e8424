package handler

import (
	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
	"github.com/samsalog/samsa/vfs"
)

// fetchAnswer is a Fetch response before it is encoded. Results of one topic need not be adjacent.
type fetchAnswer struct {
	err       int16
	sessionID int32
	results   []*fetchResult
	endpoints []kmsg.FetchResponseBroker
}

// encodeFetch writes the body of a Fetch response. It is the one encoder that is not generated: records
// stay in their files, so that a piece ends and a region follows wherever records belong. A test holds it
// against the generated encoder for every version.
func encodeFetch(version int16, a *fetchAnswer) []wire.Piece {
	e := &fetchEncoder{version: version, flexible: version >= fetchFlexible, buf: make([]byte, 0, fetchFixedBytes+fetchPartitionBytes*len(a.results))}
	e.int32(0) // throttle time
	if version >= fetchSessions {
		e.int16(a.err)
		e.int32(a.sessionID)
	}
	topics := groupByTopic(a.results)
	e.arrayLen(len(topics))
	for _, t := range topics {
		e.topic(t)
	}
	e.endpoints(a.endpoints)
	return e.finish()
}

// groupByTopic gathers runs of results of the same topic.
func groupByTopic(results []*fetchResult) [][]*fetchResult {
	var out [][]*fetchResult
	from := 0
	for i, r := range results {
		if i+1 < len(results) && r.part.topic == results[i+1].part.topic && r.part.id == results[i+1].part.id {
			continue
		}
		out = append(out, results[from:i+1])
		from = i + 1
	}
	return out
}

// Room for an answer about one topic, and for each of its partitions: most answers need no more.
const (
	fetchFixedBytes     = 128
	fetchPartitionBytes = 64
)

type fetchEncoder struct {
	version  int16
	flexible bool
	buf      []byte
	pieces   []wire.Piece
	// ends are the positions in buf where the pieces end.
	ends []int
}

func (e *fetchEncoder) int16(i int16) { e.buf = kbin.AppendInt16(e.buf, i) }
func (e *fetchEncoder) int32(i int32) { e.buf = kbin.AppendInt32(e.buf, i) }
func (e *fetchEncoder) int64(i int64) { e.buf = kbin.AppendInt64(e.buf, i) }

func (e *fetchEncoder) arrayLen(n int) {
	if e.flexible {
		e.buf = kbin.AppendCompactArrayLen(e.buf, n)
	} else {
		e.buf = kbin.AppendArrayLen(e.buf, n)
	}
}

// noTags ends a struct that has no tagged fields to send.
func (e *fetchEncoder) noTags() {
	if e.flexible {
		e.buf = append(e.buf, 0)
	}
}

func (e *fetchEncoder) topic(results []*fetchResult) {
	p := results[0].part
	switch {
	case e.version >= fetchTopicID:
		e.buf = kbin.AppendUuid(e.buf, p.id)
	case e.flexible:
		e.buf = kbin.AppendCompactString(e.buf, p.topic)
	default:
		e.buf = kbin.AppendString(e.buf, p.topic)
	}
	e.arrayLen(len(results))
	for _, r := range results {
		e.partition(r)
	}
	e.noTags()
}

func (e *fetchEncoder) partition(r *fetchResult) {
	f := &r.fetched
	hw, lso, start := int64(f.HighWatermark), int64(f.LastStableOffset), int64(f.LogStartOffset)
	if r.code != 0 {
		hw, lso, start = -1, -1, -1
	}
	e.int32(r.part.partition)
	e.int16(r.code)
	e.int64(hw)
	e.int64(lso)
	if e.version >= 5 {
		e.int64(start)
	}
	e.aborted(r)
	if e.version >= 11 {
		e.int32(-1) // preferred read replica: none (F-14)
	}
	e.region(f.Region)
	e.partitionTags(r)
}

// aborted writes the aborted transactions: null unless the reader asked for committed records only.
func (e *fetchEncoder) aborted(r *fetchResult) {
	list := r.fetched.Aborted
	switch {
	case list != nil || r.unread:
		e.arrayLen(len(list))
	case e.flexible:
		e.buf = kbin.AppendCompactNullableArrayLen(e.buf, 0, true)
	default:
		e.buf = kbin.AppendNullableArrayLen(e.buf, 0, true)
	}
	for _, a := range list {
		e.int64(int64(a.ProducerID))
		e.int64(int64(a.FirstOffset))
		e.noTags()
	}
}

// region ends the piece with the length of the records; the region's bytes follow it.
func (e *fetchEncoder) region(r vfs.Region) {
	if e.flexible {
		e.buf = kbin.AppendUvarint(e.buf, uint32(r.Length)+1)
	} else {
		e.int32(int32(r.Length))
	}
	if r.Length == 0 {
		r.Release()
		return
	}
	e.pieces = append(e.pieces, wire.Piece{Region: r})
	e.ends = append(e.ends, len(e.buf))
}

// The tagged fields of a partition.
const (
	tagDivergingEpoch = 0
	tagCurrentLeader  = 1
)

func (e *fetchEncoder) partitionTags(r *fetchResult) {
	if !e.flexible {
		return
	}
	n := 0
	if r.fetched.Diverging != nil {
		n++
	}
	if r.leader >= 0 {
		n++
	}
	e.buf = kbin.AppendUvarint(e.buf, uint32(n))
	if d := r.fetched.Diverging; d != nil {
		e.tag(tagDivergingEpoch, 4+8+1)
		e.int32(int32(d.Epoch))
		e.int64(int64(d.StartOffset))
		e.noTags()
	}
	if r.leader >= 0 {
		e.tag(tagCurrentLeader, 4+4+1)
		e.int32(r.leader)
		e.int32(int32(r.epoch))
		e.noTags()
	}
}

func (e *fetchEncoder) tag(number, size int) {
	e.buf = kbin.AppendUvarint(e.buf, uint32(number))
	e.buf = kbin.AppendUvarint(e.buf, uint32(size))
}

// endpoints writes the response's tagged fields: the addresses of leaders, if any.
func (e *fetchEncoder) endpoints(brokers []kmsg.FetchResponseBroker) {
	if e.version < fetchEndpoints || len(brokers) == 0 {
		e.noTags()
		return
	}
	var list []byte
	list = kbin.AppendCompactArrayLen(list, len(brokers))
	for _, b := range brokers {
		list = kbin.AppendInt32(list, b.NodeID)
		list = kbin.AppendCompactString(list, b.Host)
		list = kbin.AppendInt32(list, b.Port)
		list = kbin.AppendCompactNullableString(list, b.Rack)
		list = append(list, 0)
	}
	e.buf = append(e.buf, 1)
	e.tag(0, len(list))
	e.buf = append(e.buf, list...)
}

// finish cuts the buffer into the bytes of the pieces.
func (e *fetchEncoder) finish() []wire.Piece {
	from := 0
	for i, end := range e.ends {
		e.pieces[i].Bytes = e.buf[from:end:end]
		from = end
	}
	return append(e.pieces, wire.Piece{Bytes: e.buf[from:]})
}
