package handler

import (
	"time"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/share"
	"github.com/samsalog/samsa/internal/share/window"
	"github.com/samsalog/samsa/internal/wire"
	"github.com/samsalog/samsa/vfs"
)

// shareFetchAnswer is a ShareFetch response before it is encoded.
type shareFetchAnswer struct {
	err      int16
	lock     time.Duration
	results  []share.FetchResult
	acks     []*shareAcks
	image    *metadata.Image
	listener string
	// incremental answers leave out partitions that have nothing to tell, others only those that had no room.
	incremental bool
}

// sharePart is one partition of the response.
type sharePart struct {
	part     share.Part
	code     int16
	ack      *shareAcks
	region   vfs.Region
	acquired []window.AcquiredRecords
}

// rows are the partitions of the response by topic: what was fetched, joined with what was acknowledged.
func (a *shareFetchAnswer) rows() [][]*sharePart {
	byPart := map[share.Part]*sharePart{}
	var order []*sharePart
	row := func(p share.Part) *sharePart {
		if byPart[p] == nil {
			byPart[p] = &sharePart{part: p}
			order = append(order, byPart[p])
		}
		return byPart[p]
	}
	acked := map[share.Part]*shareAcks{}
	for _, k := range a.acks {
		acked[k.part] = k
	}
	for _, r := range a.results {
		if r.Err == nil && len(r.Acquired) == 0 && acked[r.Part] == nil && (a.incremental || !r.Read) {
			continue
		}
		s := row(r.Part)
		s.code, s.region, s.acquired = code(r.Err), r.Region, r.Acquired
	}
	for _, k := range a.acks {
		row(k.part).ack = k
	}
	var out [][]*sharePart
	topics := map[[16]byte]int{}
	for _, s := range order {
		i, ok := topics[s.part.Topic]
		if !ok {
			i = len(out)
			topics[s.part.Topic] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], s)
	}
	return out
}

// encodeShareFetch writes the body of a ShareFetch response. Like Fetch's, its records stay in their files; a test holds it
// against the generated encoder.
func encodeShareFetch(version int16, a *shareFetchAnswer) []wire.Piece {
	e := &fetchEncoder{version: version, flexible: true}
	e.int32(0) // throttle time
	e.int16(a.err)
	e.buf = kbin.AppendCompactNullableString(e.buf, nil)
	e.int32(int32(a.lock.Milliseconds()))
	rows := a.rows()
	leaders := &shareLeaders{image: a.image, listener: a.listener}
	e.arrayLen(len(rows))
	for _, topic := range rows {
		id := [16]byte(topic[0].part.Topic)
		e.buf = append(e.buf, id[:]...)
		e.arrayLen(len(topic))
		for _, p := range topic {
			e.sharePartition(p, leaders)
		}
		e.noTags()
	}
	e.arrayLen(len(leaders.brokers))
	for _, b := range leaders.brokers {
		e.int32(b.NodeID)
		e.buf = kbin.AppendCompactString(e.buf, b.Host)
		e.int32(b.Port)
		e.buf = kbin.AppendCompactNullableString(e.buf, b.Rack)
		e.noTags()
	}
	e.noTags()
	return e.finish()
}

func (e *fetchEncoder) sharePartition(p *sharePart, leaders *shareLeaders) {
	ackCode, explained := int16(0), false
	if p.ack != nil {
		ackCode, explained = p.ack.code, p.ack.explained
	}
	e.int32(p.part.Partition)
	e.int16(p.code)
	e.buf = kbin.AppendCompactNullableString(e.buf, nil)
	e.int16(ackCode)
	if explained {
		e.buf = kbin.AppendCompactNullableString(e.buf, shareText(ackCode))
	} else {
		e.buf = kbin.AppendCompactNullableString(e.buf, nil)
	}
	told := p.code
	if told == 0 {
		told = ackCode
	}
	id, epoch := leaders.leader(p.part, told)
	e.int32(id)
	e.int32(epoch)
	e.noTags()
	e.region(p.region)
	e.arrayLen(len(p.acquired))
	for _, r := range p.acquired {
		e.int64(int64(r.First))
		e.int64(int64(r.Last))
		e.int16(r.Count)
		e.noTags()
	}
	e.noTags()
}

// shareLeaders tells clients that came to the wrong node where to go, and collects the addresses.
type shareLeaders struct {
	image    *metadata.Image
	listener string
	brokers  []kmsg.FetchResponseBroker
}

// leader is the leader of a partition for a client that must ask another node; zeros, as in Kafka, for others.
func (l *shareLeaders) leader(p share.Part, code int16) (id, epoch int32) {
	if code != kerr.NotLeaderForPartition.Code && code != kerr.FencedLeaderEpoch.Code {
		return 0, 0
	}
	leader, e := presentLeader(l.image, nil, p.Topic, p.Partition)
	for _, b := range l.brokers {
		if b.NodeID == leader {
			return leader, int32(e)
		}
	}
	b := l.image.Brokers[leader]
	if host, port, ok := endpoint(b, l.listener); ok {
		n := kmsg.NewFetchResponseBroker()
		n.NodeID, n.Host, n.Port, n.Rack = leader, host, port, b.Rack
		l.brokers = append(l.brokers, n)
	}
	return leader, int32(e)
}
