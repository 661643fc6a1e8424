package handler

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
	"github.com/samsalog/samsa/record"
)

// Fetch sessions (KIP-227) let a client name only what changed since its last fetch. The server keeps the
// rest, and leaves out of its answers what did not change.

// The epochs of a request that have a meaning of their own.
const (
	initialEpoch = 0  // open a session
	finalEpoch   = -1 // close the session, if any, and answer in full
)

// evictAfter is how long a session is safe from eviction for being idle or young
// (min.incremental.fetch.session.eviction.ms, a constant in Kafka).
const evictAfter = 2 * time.Minute

// sessionsPerConnection bounds how many sessions one connection may open: some clients open one with every
// fetch and never use it, and would push out everybody else's (F-01). Kafka has no such bound.
const sessionsPerConnection = 8

// fetchSessionCache holds the sessions of all clients. All of it is guarded by mu, except that the parts of
// a busy session belong to the request that uses it.
type fetchSessionCache struct {
	slots int
	now   func() time.Time
	mu    struct {
		sync.Mutex
		byID map[int32]*fetchSession
	}
}

type fetchSession struct {
	id    int32
	epoch int32 // the epoch that the next request must carry
	byID  bool  // whether topics are named by id
	// busy is set while a request uses the session, whose parts then belong to it.
	busy bool
	// privileged sessions belong to replicas, and may push out consumers' ones.
	privileged        bool
	owner             *wire.Client
	created, lastUsed time.Time
	parts             []*fetchPart
	index             map[fetchKey]*fetchPart
}

type fetchKey struct {
	topic     string
	id        record.UUID
	partition int32
}

func newFetchSessionCache(slots int, now func() time.Time) *fetchSessionCache {
	c := &fetchSessionCache{slots: slots, now: now}
	c.mu.byID = map[int32]*fetchSession{}
	return c
}

// fetchContext is the use of a session, or of none, by one request.
type fetchContext struct {
	cache *fetchSessionCache
	// session is nil for an answer in full without one.
	session     *fetchSession
	incremental bool
	parts       []*fetchPart
}

// begin finds or opens the session that a request belongs to. A code other than 0 refuses the request.
func (c *fetchSessionCache) begin(r *wire.Request, req *kmsg.FetchRequest) (*fetchContext, int16) {
	byID := r.Version >= fetchTopicID
	if r.Version < fetchSessions {
		return &fetchContext{parts: requestedParts(req, byID)}, 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case req.SessionEpoch == finalEpoch:
		delete(c.mu.byID, req.SessionID)
		return &fetchContext{parts: requestedParts(req, byID)}, 0
	case req.SessionEpoch == initialEpoch:
		delete(c.mu.byID, req.SessionID)
		return c.openLocked(r, req, byID), 0
	}
	s := c.mu.byID[req.SessionID]
	switch {
	case s == nil || req.SessionEpoch < 0:
		return nil, kerr.FetchSessionIDNotFound.Code
	case s.byID != byID:
		return nil, kerr.FetchSessionTopicIDError.Code
	case s.epoch != req.SessionEpoch || s.busy:
		return nil, kerr.InvalidFetchSessionEpoch.Code
	}
	s.update(req)
	s.lastUsed = c.now()
	if len(s.parts) == 0 {
		delete(c.mu.byID, s.id)
		return &fetchContext{}, 0
	}
	s.epoch, s.busy = nextEpoch(s.epoch), true
	return &fetchContext{cache: c, session: s, incremental: true, parts: s.parts}, 0
}

// openLocked opens a session for a full fetch if the cache has room for it, else serves it without one.
func (c *fetchSessionCache) openLocked(r *wire.Request, req *kmsg.FetchRequest, byID bool) *fetchContext {
	parts := requestedParts(req, byID)
	privileged := fetchingReplica(r.Version, req) >= 0
	if len(parts) == 0 || !c.makeRoomLocked(r.Client, privileged, len(parts)) {
		return &fetchContext{parts: parts}
	}
	now := c.now()
	s := &fetchSession{id: c.newIDLocked(), epoch: 1, byID: byID, busy: true, privileged: privileged, owner: r.Client, created: now, lastUsed: now, parts: parts, index: map[fetchKey]*fetchPart{}}
	for _, p := range parts {
		s.index[p.key(byID)] = p
	}
	c.mu.byID[s.id] = s
	return &fetchContext{cache: c, session: s, parts: parts}
}

// makeRoomLocked reports whether a session of the given size may be added, and evicts one if need be
// (FetchSessionCache.tryEvict).
func (c *fetchSessionCache) makeRoomLocked(owner *wire.Client, privileged bool, size int) bool {
	if oldest, n := c.ownedLocked(owner); n >= sessionsPerConnection {
		delete(c.mu.byID, oldest.id)
	}
	if len(c.mu.byID) < c.slots {
		return true
	}
	now := c.now()
	var victim *fetchSession
	for _, s := range c.mu.byID {
		if now.Sub(s.lastUsed) > evictAfter {
			delete(c.mu.byID, s.id)
			return true
		}
		old := now.Sub(s.created) > evictAfter
		if !old && !(privileged && !s.privileged) {
			continue
		}
		if s.outranks(privileged, size) {
			continue
		}
		if victim == nil || len(s.parts) < len(victim.parts) {
			victim = s
		}
	}
	if victim == nil {
		return false
	}
	delete(c.mu.byID, victim.id)
	return true
}

// outranks reports whether s is worth more than a newcomer: replicas before consumers, many partitions
// before few.
func (s *fetchSession) outranks(privileged bool, size int) bool {
	if s.privileged != privileged {
		return s.privileged
	}
	return len(s.parts) >= size
}

func (c *fetchSessionCache) ownedLocked(owner *wire.Client) (oldest *fetchSession, n int) {
	for _, s := range c.mu.byID {
		if s.owner != owner {
			continue
		}
		n++
		if oldest == nil || s.lastUsed.Before(oldest.lastUsed) {
			oldest = s
		}
	}
	return oldest, n
}

func (c *fetchSessionCache) newIDLocked() int32 {
	for {
		id := rand.Int32N(maxInt32) + 1
		if _, taken := c.mu.byID[id]; !taken {
			return id
		}
	}
}

const maxInt32 = 1<<31 - 1

func nextEpoch(e int32) int32 {
	if e == maxInt32 {
		return 1
	}
	return e + 1
}

func (p *fetchPart) key(byID bool) fetchKey {
	if byID {
		return fetchKey{id: p.id, partition: p.partition}
	}
	return fetchKey{topic: p.topic, partition: p.partition}
}

// requestedParts lists the partitions of a request; one that is named twice counts once, as named last.
func requestedParts(req *kmsg.FetchRequest, byID bool) []*fetchPart {
	var parts []*fetchPart
	seen := map[fetchKey]int{}
	eachPart(req, byID, func(p *fetchPart) {
		k := p.key(byID)
		if at, ok := seen[k]; ok {
			parts[at] = p
			return
		}
		seen[k] = len(parts)
		parts = append(parts, p)
	})
	return parts
}

func eachPart(req *kmsg.FetchRequest, byID bool, f func(*fetchPart)) {
	for i := range req.Topics {
		t := &req.Topics[i]
		for _, p := range t.Partitions {
			part := &fetchPart{
				topic: t.Topic, partition: p.Partition,
				offset: record.Offset(p.FetchOffset), maxBytes: int(p.PartitionMaxBytes),
				currentEpoch: record.LeaderEpoch(p.CurrentLeaderEpoch), fetchedEpoch: record.LeaderEpoch(p.LastFetchedEpoch),
				sentHW: -1, sentLogStart: -1,
			}
			if byID {
				part.topic, part.id = "", t.TopicID
			}
			f(part)
		}
	}
}

// update takes over what an incremental request adds, changes and forgets.
func (s *fetchSession) update(req *kmsg.FetchRequest) {
	eachPart(req, s.byID, func(p *fetchPart) {
		k := p.key(s.byID)
		if old, ok := s.index[k]; ok {
			p.sentHW, p.sentLogStart = old.sentHW, old.sentLogStart
			*old = *p
			return
		}
		s.index[k] = p
		s.parts = append(s.parts, p)
	})
	s.forget(req.ForgottenTopics)
}

// forget drops partitions, all in one pass over the session however many they are.
func (s *fetchSession) forget(topics []kmsg.FetchRequestForgottenTopic) {
	before := len(s.index)
	for _, t := range topics {
		for _, n := range t.Partitions {
			k := fetchKey{topic: t.Topic, partition: n}
			if s.byID {
				k = fetchKey{id: t.TopicID, partition: n}
			}
			delete(s.index, k)
		}
	}
	if len(s.index) == before {
		return
	}
	kept := make([]*fetchPart, 0, len(s.index))
	for _, p := range s.parts {
		if s.index[p.key(s.byID)] == p {
			kept = append(kept, p)
		}
	}
	s.parts = kept
}

// finish makes the answer of the results: all of them without a session or when it opens, else those that
// tell something new. Partitions that had data go to the end, so that others come first next time.
func (c *fetchContext) finish(results []*fetchResult) *fetchAnswer {
	if c.session == nil {
		return &fetchAnswer{results: results}
	}
	c.cache.mu.Lock()
	defer c.cache.mu.Unlock()
	s := c.session
	s.busy = false
	a := &fetchAnswer{sessionID: s.id}
	var idle, served []*fetchPart
	for _, r := range results {
		news := r.part.news(r)
		if news || !c.incremental {
			a.results = append(a.results, r)
		}
		if r.fetched.Region.Length > 0 && c.incremental {
			served = append(served, r.part)
		} else {
			idle = append(idle, r.part)
		}
	}
	s.parts = append(idle, served...)
	return a
}

// news reports whether the client does not yet know what r says, and remembers that it will.
func (p *fetchPart) news(r *fetchResult) bool {
	if r.code != 0 {
		// So that the end of the error is news.
		p.sentHW, p.sentLogStart = -1, -1
		return true
	}
	hw, start := int64(r.fetched.HighWatermark), int64(r.fetched.LogStartOffset)
	news := r.fetched.Region.Length > 0 || r.fetched.Diverging != nil || hw != p.sentHW || start != p.sentLogStart
	p.sentHW, p.sentLogStart = hw, start
	return news
}
