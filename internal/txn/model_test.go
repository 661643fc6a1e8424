package txn

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/record"
)

// client is a producer as it sees itself.
type client struct {
	identity
	// bumps: it speaks transaction version 2.
	bumps bool
	// added are the partitions that it was told it has added to the open transaction.
	added []int32
}

// modelled is a world with what must be true of it.
type modelled struct {
	*world
	clients []*client
	// current is the client that was begun last; the others are fenced.
	current *client
	// issued are all identities that were given out, in order (TXN-2).
	issued []identity
	// ended are the endings by identity of their marker: each must always be the same (TXN-4).
	ended map[identity]string
}

const modelID = "x"

// TestModel runs random clients against the machine, with restarts, failed writes, timeouts and late markers.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &modelled{world: newWorld(t), ended: map[identity]string{}}
		m.settings.TxnVersion = rapid.SampledFrom([]int16{2, 2, 1, 0}).Draw(t, "transaction.version")
		// Close to where epochs end.
		m.put(transaction{id: modelID, producerID: 7, previousProducerID: 7, nextProducerID: -1, epoch: rapid.SampledFrom([]record.ProducerEpoch{0, lastEpoch - 3}).Draw(t, "epoch"), timeoutMs: 60000, startMs: -1, updateMs: m.now.UnixMilli()})
		t.Repeat(map[string]func(*rapid.T){
			"init":    m.opInit,
			"reinit":  m.opReinit,
			"add":     m.opAdd,
			"end":     m.opEnd,
			"markers": func(*rapid.T) { m.opMarkers() },
			"timeout": func(*rapid.T) { m.opTimeout() },
			"failure": m.opFailure,
			"restart": func(*rapid.T) { m.opRestart() },
			"":        func(*rapid.T) { m.check() },
		})
	})
}

// issue takes an identity that a client was given. A new one lies above all before.
func (m *modelled) issue(p identity) {
	if p.epoch < 0 || p.epoch > lastEpoch {
		m.Errorf("epoch %d was given out (TXN-2)", p.epoch)
	}
	if n := len(m.issued); n > 0 {
		last := m.issued[n-1]
		if p == last {
			return // the same answer again
		}
		if slices.Contains(m.issued, p) || p.id == last.id && p.epoch <= last.epoch || p.id < last.id && last.id != 7 {
			m.Errorf("%+v after %+v (TXN-2)", p, last)
		}
	}
	m.issued = append(m.issued, p)
}

func (m *modelled) opInit(t *rapid.T) {
	o := m.init(modelID, nil)
	if o.code == concurrent { // whatever was open is aborted, or is being ended
		return
	}
	if o.code != 0 {
		t.Fatalf("init: %d", o.code)
	}
	m.issue(o.identity)
	m.current = &client{identity: o.identity, bumps: rapid.Bool().Draw(t, "bumps") && m.settings.TxnVersion == 2}
	m.clients = append(m.clients, m.current)
}

// opReinit is a client that recovers by itself (KIP-360).
func (m *modelled) opReinit(t *rapid.T) {
	c := m.pick(t)
	if c == nil {
		return
	}
	o := m.init(modelID, &c.identity)
	switch {
	case o.code == 0 && c != m.current:
		t.Fatalf("a client that was fenced is given %+v", o.identity)
	case o.code == 0:
		m.issue(o.identity)
		c.identity, c.added = o.identity, nil
	case o.code == concurrent && c == m.current && len(c.added) > 0:
		c.added = nil
	case o.code != concurrent && o.code != fenced:
		t.Fatalf("reinit: %d", o.code)
	}
}

func (m *modelled) pick(t *rapid.T) *client {
	if len(m.clients) == 0 {
		return nil
	}
	if rapid.IntRange(0, 3).Draw(t, "old client") > 0 {
		return m.current
	}
	return rapid.SampledFrom(m.clients).Draw(t, "client")
}

func (m *modelled) opAdd(t *rapid.T) {
	c := m.pick(t)
	if c == nil {
		return
	}
	p := rapid.Int32Range(0, 3).Draw(t, "partition")
	switch code := m.add(modelID, c.identity, p); {
	case code == 0 && c != m.current:
		t.Fatalf("a client that was fenced has added a partition")
	case code == 0:
		if !slices.Contains(c.added, p) {
			c.added = append(c.added, p)
		}
	}
}

func (m *modelled) opEnd(t *rapid.T) {
	c := m.pick(t)
	if c == nil {
		return
	}
	commit := rapid.Bool().Draw(t, "commit")
	before := len(m.endings)
	o := m.end(modelID, c.identity, commit, c.bumps)
	if o.code != 0 {
		return
	}
	if c != m.current {
		t.Fatalf("a client that was fenced has ended a transaction")
	}
	if len(m.endings) > before {
		x := m.endings[len(m.endings)-1]
		for _, p := range c.added {
			if !slices.Contains(partitionsOf(x), p) {
				t.Fatalf("partition %d of %v gets no marker: %+v", p, c.added, x)
			}
		}
		if x.marker.Commit != commit {
			t.Fatalf("%v became %v", commit, x.marker.Commit)
		}
	}
	c.added = nil
	if c.bumps {
		m.issue(o.identity)
		c.identity = o.identity
	}
}

func (m *modelled) opMarkers() { m.markers() }

func (m *modelled) opTimeout() {
	m.now = m.now.Add(61 * time.Second)
	if m.state(modelID).state == Ongoing && m.current != nil {
		m.current.added = nil
	}
	m.do(m.m.abortTimedOut())
}

// opFailure is a request whose record cannot be written, or not be committed in time.
func (m *modelled) opFailure(t *rapid.T) {
	m.fail = coord.ErrNotAvailable
	m.unsure = rapid.Bool().Draw(t, "written nevertheless")
	was := m.state(modelID)
	c := m.current
	switch rapid.IntRange(0, 2).Draw(t, "request") {
	case 0:
		m.init(modelID, nil)
	case 1:
		if c != nil {
			m.add(modelID, c.identity, 9)
		}
	case 2:
		if c != nil {
			m.end(modelID, c.identity, true, c.bumps)
		}
	}
	m.fail = nil
	if is := m.state(modelID); !m.unsure && fmt.Sprint(is) != fmt.Sprint(was) {
		t.Fatalf("nothing was written and yet\n%+v became\n%+v", was, is)
	}
	if m.unsure {
		// Nobody knows what has become of the client: it begins anew.
		m.current, m.clients, m.issued = nil, nil, nil
		for { // what was left for later
			n := m.timers()
			if n <= 2 {
				break
			}
			r, _ := m.m.timers.RunFirst()
			m.do(r)
		}
	}
}

func (m *modelled) opRestart() {
	was := m.state(modelID)
	m.restart()
	is := m.state(modelID)
	was.previousEpoch = record.NoProducerEpoch
	if fmt.Sprint(was) != fmt.Sprint(is) {
		m.Errorf("read again\n%+v became\n%+v", was, is)
	}
}

// check holds after every step.
func (m *modelled) check() {
	s := m.state(modelID)
	if s.state.deciding() != (len(m.endings) > 0) {
		m.Errorf("state %v with %d endings (TXN-4)", s.state, len(m.endings))
	}
	for _, x := range m.endings {
		is := fmt.Sprint(x.marker.Commit, partitionsOf(x))
		key := identity{x.marker.ProducerID, x.marker.ProducerEpoch}
		if x.marker.TxnVersion < 2 {
			continue // the epoch may be that of the transaction after it
		}
		if was, ok := m.ended[key]; ok && was != is {
			m.Errorf("%+v was to be ended as %s, now as %s (TXN-4)", key, was, is)
		}
		m.ended[key] = is
	}
	if len(m.endings) > 1 {
		m.Errorf("%d endings of one id at a time", len(m.endings))
	}
}
