package handler

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/replica"
	"github.com/samsalog/samsa/internal/wire"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
)

// sessionClient sends fetches of one topic to a cache and answers them with what its partitions hold.
type sessionClient struct {
	t      *testing.T
	cache  *fetchSessionCache
	client *wire.Client
	ends   map[int32]record.Offset
}

func (s *sessionClient) ask(id, epoch int32, parts []int32, forgotten ...int32) *fetchAnswer {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.SessionID, req.SessionEpoch = 12, id, epoch
	rt := kmsg.NewFetchRequestTopic()
	rt.Topic = "t"
	for _, p := range parts {
		rp := kmsg.NewFetchRequestTopicPartition()
		rp.Partition, rp.FetchOffset = p, int64(s.ends[p])
		rt.Partitions = append(rt.Partitions, rp)
	}
	if len(parts) > 0 {
		req.Topics = append(req.Topics, rt)
	}
	if len(forgotten) > 0 {
		f := kmsg.NewFetchRequestForgottenTopic()
		f.Topic, f.Partitions = "t", forgotten
		req.ForgottenTopics = append(req.ForgottenTopics, f)
	}
	c, code := s.cache.begin(&wire.Request{Key: 1, Version: 12, Client: s.client}, req)
	if code != 0 {
		return &fetchAnswer{err: code}
	}
	var results []*fetchResult
	for _, p := range c.parts {
		results = append(results, &fetchResult{part: p, fetched: replica.Fetched{ReadInfo: storage.ReadInfo{HighWatermark: s.ends[p.partition]}}})
	}
	return c.finish(results)
}

func newSessionClient(t *testing.T, slots int, now func() time.Time) *sessionClient {
	return &sessionClient{t: t, cache: newFetchSessionCache(slots, now), client: &wire.Client{}, ends: map[int32]record.Offset{}}
}

func partitionsOf(a *fetchAnswer) []int32 {
	out := []int32{}
	for _, r := range a.results {
		out = append(out, r.part.partition)
	}
	return out
}

func TestSessionTellsOnlyNews(t *testing.T) {
	s := newSessionClient(t, 10, time.Now)
	open := s.ask(0, 0, []int32{0, 1})
	if open.sessionID == 0 || len(open.results) != 2 {
		t.Fatalf("open: session %d, %d partitions", open.sessionID, len(open.results))
	}
	if a := s.ask(open.sessionID, 1, nil); a.err != 0 || len(a.results) != 0 {
		t.Fatalf("nothing new: code %d, partitions %v", a.err, partitionsOf(a))
	}
	s.ends[1] = 5
	if a := s.ask(open.sessionID, 2, nil); len(a.results) != 1 || a.results[0].part.partition != 1 {
		t.Fatalf("high watermark moved: partitions %v", partitionsOf(a))
	}
	if a := s.ask(open.sessionID, 9, nil); a.err != kerr.InvalidFetchSessionEpoch.Code {
		t.Fatalf("wrong epoch: code %d", a.err)
	}
	if a := s.ask(open.sessionID, 3, nil, 0, 1); a.err != 0 || a.sessionID != 0 {
		t.Fatalf("forget all: code %d, session %d", a.err, a.sessionID)
	}
	if a := s.ask(open.sessionID, 4, nil); a.err != kerr.FetchSessionIDNotFound.Code {
		t.Fatalf("after forgetting all: code %d", a.err)
	}
}

// TestF01SpammerKeepsOthersSessions: a client that opens a session with every fetch does not push out
// the session of one that uses it.
func TestF01SpammerKeepsOthersSessions(t *testing.T) {
	now := time.Unix(1e9, 0)
	good := newSessionClient(t, 20, func() time.Time { return now })
	id := good.ask(0, 0, []int32{0, 1, 2}).sessionID
	spammer := &sessionClient{t: t, cache: good.cache, client: &wire.Client{}, ends: map[int32]record.Offset{}}
	epoch := int32(1)
	for range 200 {
		spammer.ask(0, 0, []int32{0, 1, 2, 3, 4})
		now = now.Add(5 * time.Second)
		if a := good.ask(id, epoch, nil); a.err != 0 {
			t.Fatalf("the good client's session is gone at epoch %d: code %d", epoch, a.err)
		}
		epoch++
	}
}

// TestF02UnknownSession: after a restart every session is unknown; a full fetch works at once.
func TestF02UnknownSession(t *testing.T) {
	s := newSessionClient(t, 10, time.Now)
	if a := s.ask(4711, 3, []int32{0}); a.err != kerr.FetchSessionIDNotFound.Code || a.sessionID != 0 || len(a.results) != 0 {
		t.Fatalf("unknown session: %+v", a)
	}
	if a := s.ask(4711, 0, []int32{0}); a.err != 0 || a.sessionID == 0 || len(a.results) != 1 {
		t.Fatalf("full fetch: %+v", a)
	}
}

func TestSessionEviction(t *testing.T) {
	now := time.Unix(1e9, 0)
	first := newSessionClient(t, 1, func() time.Time { return now })
	second := &sessionClient{t: t, cache: first.cache, client: &wire.Client{}, ends: map[int32]record.Offset{}}
	id := first.ask(0, 0, []int32{0}).sessionID
	if a := second.ask(0, 0, []int32{0, 1}); a.sessionID != 0 {
		t.Fatal("a young session was evicted")
	}
	now = now.Add(evictAfter + time.Second)
	first.ask(id, 1, nil) // used just now, but no longer young
	if a := second.ask(0, 0, []int32{0}); a.sessionID != 0 {
		t.Fatal("evicted by a session that is no larger")
	}
	if a := second.ask(0, 0, []int32{0, 1}); a.sessionID == 0 {
		t.Fatal("an old, smaller session was not evicted")
	}
	if a := first.ask(id, 2, nil); a.err != kerr.FetchSessionIDNotFound.Code {
		t.Fatalf("evicted session: code %d", a.err)
	}
}

func TestEpochWraps(t *testing.T) {
	if nextEpoch(maxInt32) != 1 || nextEpoch(5) != 6 {
		t.Fatal("session epochs run from 1 to 2^31-1 and again from 1")
	}
}
