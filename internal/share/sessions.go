package share

import (
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/samsalog/samsa/record"
)

// The epochs of a request that have a meaning of their own.
const (
	InitialEpoch = 0  // open a session
	FinalEpoch   = -1 // close it
)

// Part names a partition of a session.
type Part struct {
	Topic     record.UUID
	Partition int32
}

// SessionRequest is what a share fetch says of its session.
type SessionRequest struct {
	Group, Member string
	Epoch         int32
	Add, Forget   []Part
	// Acknowledges says that the request carries acknowledgements.
	Acknowledges bool
	// Owner is the connection; the session ends with it.
	Owner any
}

type sessionKey struct{ group, member string }

// session is what a member fetches, so that it need not be said each time.
type session struct {
	key   sessionKey
	epoch int32 // the epoch that the next request must carry
	owner any
	parts []Part
	index map[Part]bool
}

// sessions are the share sessions of all members. There is no eviction: a session ends with its connection.
type sessions struct {
	slots int
	mu    struct {
		sync.Mutex
		byKey   map[sessionKey]*session
		byOwner map[any]*session
		inGroup map[string]int
	}
}

func (s *sessions) init(slots int) {
	s.slots = slots
	s.mu.byKey, s.mu.byOwner, s.mu.inGroup = map[sessionKey]*session{}, map[any]*session{}, map[string]int{}
}

func (s *sessions) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mu.byKey)
}

// Session finds or opens the session of a share fetch, and returns what it is to fetch: nothing at the final epoch.
func (m *Manager) Session(r SessionRequest) ([]Part, error) {
	s := &m.sessions
	s.mu.Lock()
	defer s.mu.Unlock()
	k := sessionKey{r.Group, r.Member}
	known := s.mu.byKey[k]
	switch {
	case r.Epoch == InitialEpoch:
		if r.Acknowledges {
			return nil, kerr.InvalidRequest
		}
		if known != nil {
			s.removeLocked(known)
		}
		return s.openLocked(k, r)
	case known == nil:
		return nil, kerr.ShareSessionNotFound
	case r.Epoch == FinalEpoch:
		return nil, nil
	case r.Epoch != known.epoch:
		return nil, kerr.InvalidShareSessionEpoch
	}
	known.add(r.Add)
	known.drop(r.Forget)
	known.epoch = nextEpoch(known.epoch)
	return slices.Clone(known.parts), nil
}

func (s *sessions) openLocked(k sessionKey, r SessionRequest) ([]Part, error) {
	if len(s.mu.byKey) >= s.slots {
		return nil, kerr.ShareSessionLimitReached
	}
	n := &session{key: k, epoch: 1, owner: r.Owner, index: map[Part]bool{}}
	n.add(r.Add)
	s.mu.byKey[k] = n
	s.mu.inGroup[k.group]++
	if r.Owner != nil {
		s.mu.byOwner[r.Owner] = n
	}
	return slices.Clone(n.parts), nil
}

func (s *sessions) removeLocked(n *session) {
	delete(s.mu.byKey, n.key)
	if s.mu.byOwner[n.owner] == n {
		delete(s.mu.byOwner, n.owner)
	}
	if s.mu.inGroup[n.key.group]--; s.mu.inGroup[n.key.group] == 0 {
		delete(s.mu.inGroup, n.key.group)
	}
}

func (n *session) add(parts []Part) {
	for _, p := range parts {
		if !n.index[p] {
			n.index[p] = true
			n.parts = append(n.parts, p)
		}
	}
}

// drop takes parts out, all in one pass.
func (n *session) drop(parts []Part) {
	before := len(n.index)
	for _, p := range parts {
		delete(n.index, p)
	}
	if len(n.index) != before {
		n.parts = slices.DeleteFunc(n.parts, func(p Part) bool { return !n.index[p] })
	}
}

func nextEpoch(e int32) int32 {
	if e == 1<<31-1 {
		return 1
	}
	return e + 1
}

// AcknowledgeSession checks the session of a ShareAcknowledge, and goes to its next epoch.
func (m *Manager) AcknowledgeSession(group, member string, epoch int32) error {
	s := &m.sessions
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.mu.byKey[sessionKey{group, member}]
	switch {
	case epoch == InitialEpoch:
		return kerr.InvalidShareSessionEpoch
	case known == nil:
		return kerr.ShareSessionNotFound
	case epoch == FinalEpoch:
		return nil
	case epoch != known.epoch:
		return kerr.InvalidShareSessionEpoch
	}
	known.epoch = nextEpoch(known.epoch)
	return nil
}

// CloseSession ends a session and gives back what the member has in its partitions. The outcomes stand when that is
// persisted.
func (m *Manager) CloseSession(group, member string) []*Outcome {
	s := &m.sessions
	s.mu.Lock()
	n := s.mu.byKey[sessionKey{group, member}]
	if n == nil {
		s.mu.Unlock()
		return nil
	}
	s.removeLocked(n)
	last := s.mu.inGroup[group] == 0
	s.mu.Unlock()
	return m.release(n, last)
}

// Disconnected ends the session of a connection that has gone.
func (m *Manager) Disconnected(owner any) {
	s := &m.sessions
	s.mu.Lock()
	n := s.mu.byOwner[owner]
	if n == nil {
		s.mu.Unlock()
		return
	}
	s.removeLocked(n)
	last := s.mu.inGroup[n.key.group] == 0
	s.mu.Unlock()
	m.release(n, last)
}

// release gives back what a member had. With the last session of a group its share partitions go out of memory.
func (m *Manager) release(n *session, last bool) []*Outcome {
	var outcomes []*Outcome
	for _, part := range n.parts {
		if p := m.find(Key{n.key.group, part.Topic, part.Partition}); p != nil {
			outcomes = append(outcomes, p.releaseAll(n.key.member))
		}
	}
	if last {
		for _, p := range m.matching(func(p *partition) bool { return p.key.Group == n.key.group }) {
			p.retire()
		}
	}
	return outcomes
}
