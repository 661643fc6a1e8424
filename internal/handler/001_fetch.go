package handler

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/replica"
	"github.com/samsalog/samsa/internal/wire"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
)

// The version of Fetch from which …
const (
	fetchSessions  = 7  // … sessions exist (KIP-227)
	fetchFlexible  = 12 // … encodings are flexible, and divergence is reported (KIP-595)
	fetchTopicID   = 13 // … topics are named by id (KIP-516)
	fetchReplica   = 15 // … the replica's id stands in a tagged struct (KIP-903)
	fetchEndpoints = 16 // … the leader's address comes with the answer (KIP-951)
)

// fetch reads from partitions, in the order of the request or session, and waits up to MaxWaitMillis on all
// of them at once until MinBytes can be sent. Only positions travel here; wire sends the bytes.
func (h *Handler) fetch(ctx context.Context, r *wire.Request) wire.Reply {
	req := r.Body.(*kmsg.FetchRequest)
	iso, known := isolation(req.IsolationLevel)
	if !known {
		return wire.Reply{Pieces: encodeFetch(r.Version, refusedFetch(r.Version, req))}
	}
	image := h.deps.Metadata.Image()
	sess, refused := h.sessions.begin(r, req)
	if refused != 0 {
		return wire.Reply{Pieces: encodeFetch(r.Version, &fetchAnswer{err: refused})}
	}
	f := &fetchCall{h: h, r: r, image: image, parts: sess.parts, iso: iso, replica: fetchingReplica(r.Version, req)}
	if f.replica >= 0 {
		f.iso = storage.LogEnd
	}
	f.maxBytes = min(int(req.MaxBytes), h.deps.Config().Int("fetch.max.bytes"))
	f.run(ctx, min(int(req.MinBytes), f.maxBytes), time.Duration(req.MaxWaitMillis)*time.Millisecond)
	answer := sess.finish(f.results)
	if r.Version >= fetchEndpoints && f.replica < 0 {
		answer.endpoints = f.endpoints(answer)
	}
	return wire.Reply{Pieces: encodeFetch(r.Version, answer)}
}

// fetchingReplica is the id of the broker that fetches; -1 for consumers.
func fetchingReplica(version int16, req *kmsg.FetchRequest) int32 {
	if version >= fetchReplica {
		return req.ReplicaState.ID
	}
	return req.ReplicaID
}

// refusedFetch is the answer to an isolation level that does not exist: every partition carries the error,
// except where topics are named by id (FetchRequest.getErrorResponse).
func refusedFetch(version int16, req *kmsg.FetchRequest) *fetchAnswer {
	a := &fetchAnswer{err: kerr.UnknownServerError.Code}
	if version >= fetchTopicID {
		return a
	}
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			part := &fetchPart{topic: t.Topic, partition: p.Partition}
			a.results = append(a.results, &fetchResult{part: part, code: kerr.UnknownServerError.Code, unread: true})
		}
	}
	return a
}

// fetchPart is one partition to read, as the request or the session names it.
type fetchPart struct {
	topic        string
	id           record.UUID
	partition    int32
	offset       record.Offset
	maxBytes     int
	currentEpoch record.LeaderEpoch
	fetchedEpoch record.LeaderEpoch
	// sentHW and sentLogStart are what the session's client knows; see session.finish.
	sentHW, sentLogStart int64
}

// fetchResult is what came of one partition.
type fetchResult struct {
	part    *fetchPart
	code    int16
	fetched replica.Fetched
	// unread marks errors found before the log was asked, whose aborted list is empty instead of null.
	unread bool
	leader int32
	epoch  record.LeaderEpoch
}

func (r *fetchResult) release() { r.fetched.Region.Release() }

// fetchCall is one Fetch on its way.
type fetchCall struct {
	h        *Handler
	r        *wire.Request
	image    *metadata.Image
	parts    []*fetchPart
	iso      storage.Isolation
	replica  int32
	maxBytes int
	results  []*fetchResult
	// found are the partitions by position in parts; nil where there is none.
	found []*replica.Partition
}

// run reads until there is enough, something must be told at once, or time is over.
func (f *fetchCall) run(ctx context.Context, minBytes int, wait time.Duration) {
	deadline := time.Now().Add(wait)
	for {
		bytes, now := f.read()
		left := time.Until(deadline)
		if now || bytes >= minBytes || left <= 0 || len(f.parts) == 0 {
			return
		}
		if !f.wait(ctx, minBytes-bytes, left) {
			// The client has gone or time is over: a last look costs little and tells what there is.
			f.releaseAll()
			f.read()
			return
		}
		f.releaseAll()
		f.image = f.h.deps.Metadata.Image()
	}
}

func (f *fetchCall) releaseAll() {
	for _, r := range f.results {
		r.release()
	}
	f.results = f.results[:0]
}

// read reads all partitions once. It returns the bytes found and whether the answer must not wait.
func (f *fetchCall) read() (bytes int, now bool) {
	f.results = make([]*fetchResult, 0, len(f.parts))
	f.found = make([]*replica.Partition, len(f.parts))
	budget, first := f.maxBytes, true
	for i, p := range f.parts {
		res := &fetchResult{part: p, leader: -1, epoch: -1}
		f.results = append(f.results, res)
		part, err := f.find(p)
		if errors.Is(err, replica.ErrUnknownPartition) {
			res.code, res.unread = unknownCode(f.r.Version, f.image, p), true
			continue
		}
		f.found[i] = part
		limit := min(p.maxBytes, budget)
		if err == nil {
			res.fetched, err = f.readOne(part, p, limit, first)
		}
		if err != nil {
			f.fail(res, part, err)
			now = true
			continue
		}
		if n := res.fetched.Region.Length; n > 0 {
			bytes += n
			budget, first = max(0, budget-n), false
		}
		now = now || res.fetched.Diverging != nil
	}
	return bytes, now
}

// errNegativeLimit is a byte limit below zero, which Kafka answers with UNKNOWN_SERVER_ERROR.
var errNegativeLimit = errors.New("negative limit of bytes")

func (f *fetchCall) readOne(part *replica.Partition, p *fetchPart, limit int, atLeastOne bool) (replica.Fetched, error) {
	if limit < 0 {
		return replica.Fetched{}, errNegativeLimit
	}
	return part.Fetch(replica.Read{
		Offset: p.offset, MaxBytes: limit, AtLeastOne: atLeastOne, Isolation: f.iso,
		CurrentLeaderEpoch: p.currentEpoch, LastFetchedEpoch: p.fetchedEpoch, Replica: f.replica,
	})
}

// find looks a partition up. A session that began before its topic existed learns the topic's id or name now.
func (f *fetchCall) find(p *fetchPart) (*replica.Partition, error) {
	if f.r.Version >= fetchTopicID {
		return f.h.hosted(f.image, p.id, p.partition)
	}
	return f.h.hostedByName(f.image, p.topic, p.partition)
}

func unknownCode(version int16, image *metadata.Image, p *fetchPart) int16 {
	if version >= fetchTopicID && image.Topics.ByID(p.id) == nil {
		return kerr.UnknownTopicID.Code
	}
	return kerr.UnknownTopicOrPartition.Code
}

func (f *fetchCall) fail(res *fetchResult, part *replica.Partition, err error) {
	res.code = code(err)
	switch {
	case errors.Is(err, replica.ErrNotLeader) || errors.Is(err, replica.ErrFencedLeaderEpoch):
		res.leader, res.epoch = presentLeader(f.image, part, res.part.id, res.part.partition)
	case errors.Is(err, storage.ErrOffsetOutOfRange):
		f.h.deps.Logger.Debug("fetch outside the log", "client", f.r.Client.Addr, "client_id", f.r.ClientID, "topic", res.part.topic, "partition", res.part.partition, "offset", res.part.offset, "err", err)
	case errors.Is(err, errNegativeLimit):
		res.code = kerr.UnknownServerError.Code
	default:
		f.h.deps.Logger.Warn("fetch failed", "client", f.r.Client.Addr, "client_id", f.r.ClientID, "topic", res.part.topic, "partition", res.part.partition, "offset", res.part.offset, "err", err)
	}
}

// wait parks the request until need more bytes can be read, and reports whether that is so.
func (f *fetchCall) wait(ctx context.Context, need int, left time.Duration) bool {
	w := replica.NewWait(f.iso, int64(need))
	defer w.Stop()
	for _, p := range f.found {
		if p != nil {
			w.Watch(p)
		}
	}
	for i, p := range f.found {
		if p != nil && f.results[i].code == 0 && p.Bound(f.iso) != f.boundSeen(i) {
			return true
		}
	}
	return f.r.Wait(ctx, w.Done(), left)
}

// boundSeen is the bound that the read of part i saw.
func (f *fetchCall) boundSeen(i int) record.Offset {
	switch f.iso {
	case storage.LogEnd:
		return f.results[i].fetched.LogEndOffset
	case storage.TxnCommitted:
		return f.results[i].fetched.LastStableOffset
	default:
		return f.results[i].fetched.HighWatermark
	}
}

// endpoints are the addresses of the leaders that the answer names.
func (f *fetchCall) endpoints(a *fetchAnswer) []kmsg.FetchResponseBroker {
	var out []kmsg.FetchResponseBroker
	seen := map[int32]bool{}
	for _, r := range a.results {
		if r.leader < 0 || seen[r.leader] {
			continue
		}
		seen[r.leader] = true
		b := f.image.Brokers[r.leader]
		if host, port, ok := endpoint(b, f.r.Listener.Name); ok {
			n := kmsg.NewFetchResponseBroker()
			n.NodeID, n.Host, n.Port, n.Rack = r.leader, host, port, b.Rack
			out = append(out, n)
		}
	}
	return out
}
