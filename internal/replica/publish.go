package replica

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/logdir"
)

// Publish follows a change of the cluster (metadata.Publisher). When it returns, created partitions can be
// written to and deleted ones are gone from the directory's list.
func (m *Manager) Publish(d *metadata.Delta, i *metadata.Image) {
	m.hosting.Lock()
	defer m.hosting.Unlock()
	var placed []Placement
	for _, t := range d.DeletedTopics {
		m.drop(t)
	}
	placed = append(placed, m.host(i, d.CreatedTopics)...)
	placed = append(placed, m.changePartitions(d, i)...)
	m.enqueue(placed)
	m.changeConfigs(d, i)
}

// opening is a partition on its way into the set.
type opening struct {
	p        *Partition
	mp       *metadata.Partition
	assigned record.UUID // the directory that the image names; zero: none
	dir      record.UUID // the directory that the log is in
	missing  int         // which of the logs that are to be created is its own, -1 none
}

// host makes or extends the entries of topics with all partitions that have a replica here. Logs that are missing are
// created together, which costs far less than one after the other.
func (m *Manager) host(i *metadata.Image, topics []*metadata.Topic) []Placement {
	var opened []opening
	var missing []logdir.New
	entries := make([]hosted, len(topics))
	for at, t := range topics {
		next := make(hosted, len(t.Partitions))
		if old, ok := m.topics.Load(t.ID); ok {
			copy(next, *old.(*hosted))
		}
		config := m.config(i, t.Name)
		for n, mp := range t.Partitions {
			if mp == nil || next[n] != nil || !isHostedOn(m.o.NodeID, mp) {
				continue
			}
			h := m.find(t, int32(n), mp, config)
			if h.p.log == nil && h.p.err == nil {
				h.missing = len(missing)
				missing = append(missing, logdir.New{TopicPartition: h.p.tp, TopicID: t.ID, Config: config, DirID: h.assigned})
			}
			next[n] = h.p
			opened = append(opened, h)
		}
		entries[at] = next
	}
	if !m.started && len(missing) > 0 {
		m.o.Logger.Warn("partitions of the metadata have no directory here; empty ones are made, as Apache Kafka does", "partitions", len(missing), "one", missing[0].TopicPartition)
	}
	created := m.o.Dirs.CreateAll(missing)
	placed := m.start(opened, created)
	for at, t := range topics {
		m.topics.Store(t.ID, &entries[at])
		m.names.Store(t.Name, t.ID)
	}
	for _, h := range opened {
		if h.p.Leads() {
			m.elected(h.p)
		}
	}
	return placed
}

// Reopen opens the replicas that could not be opened or created when there was nothing left to write with. The owner
// calls it when there is room again; image returns the newest image.
func (m *Manager) Reopen(image func() *metadata.Image) {
	m.hosting.Lock()
	defer m.hosting.Unlock()
	i := image()
	for t := range i.Topics.All() {
		old, ok := m.topics.Load(t.ID)
		if !ok {
			continue
		}
		short := func(p *Partition) bool { return p != nil && p.log == nil && errors.Is(p.err, storage.ErrShortage) }
		if !slices.ContainsFunc(*old.(*hosted), short) {
			continue
		}
		next := slices.Clone(*old.(*hosted))
		for n, p := range next {
			if short(p) {
				next[n] = nil // host makes it anew
			}
		}
		m.topics.Store(t.ID, &next)
		m.enqueue(m.host(i, []*metadata.Topic{t}))
	}
}

// Moved takes the log that a partition has in its new directory. Whoever waits for the partition looks again; the owner's
// observers see it resigned and elected, since what they know belongs to the old log.
func (m *Manager) Moved(tp record.TopicPartition, image func() *metadata.Image) {
	m.hosting.Lock()
	defer m.hosting.Unlock()
	i := image()
	t := i.Topics.ByName(tp.Topic)
	if t == nil {
		return
	}
	p, err := m.ByID(t.ID, tp.Partition)
	if err != nil || p.log == m.o.Dirs.Log(tp) {
		return
	}
	old, _ := m.topics.Load(t.ID)
	next := slices.Clone(*old.(*hosted))
	next[tp.Partition] = nil // host makes it anew
	m.topics.Store(t.ID, &next)
	for _, o := range m.observers {
		o.Resigned(tp)
	}
	m.enqueue(m.host(i, []*metadata.Topic{t}))
	p.role.Store(&role{leader: -1, epoch: p.LeaderEpoch()})
	p.watch.changed()
}

// find looks for the log of a replica.
func (m *Manager) find(t *metadata.Topic, n int32, mp *metadata.Partition, config storage.Config) opening {
	p := &Partition{tp: record.TopicPartition{Topic: t.Name, Partition: n}, topicID: t.ID}
	h := opening{p: p, mp: mp, assigned: m.assignedDir(mp), missing: -1}
	p.log = m.o.Dirs.Log(p.tp)
	switch {
	case p.log != nil:
		if p.log.Config() != config {
			p.log.SetConfig(config)
		}
		h.dir = m.dirOf(p.log)
	case m.mayBeOffline(h.assigned):
		p.err = fmt.Errorf("directory %s", h.assigned)
	}
	return h
}

// start gives partitions the logs that were created for them and their roles. It returns those whose directory the image
// does not have yet.
func (m *Manager) start(opened []opening, created []logdir.Created) []Placement {
	var placed []Placement
	for _, h := range opened {
		p := h.p
		if h.missing >= 0 {
			c := created[h.missing]
			p.log, h.dir, p.err = c.Log, c.DirID, c.Err
		}
		if p.err != nil {
			p.log = nil
			m.o.Logger.Error("partition is offline", "partition", p.tp, "err", p.err)
		}
		if err := p.become(m.o.NodeID, h.mp); err != nil {
			m.o.Logger.Error("cannot record the leader epoch", "partition", p.tp, "err", err)
		}
		if p.log != nil && h.dir != h.assigned {
			placed = append(placed, Placement{p.topicID, p.tp.Partition, h.dir})
		}
	}
	return placed
}

// assignedDir is the directory that the image names for this node's replica; zero when it names none.
func (m *Manager) assignedDir(mp *metadata.Partition) record.UUID {
	at := slices.Index(mp.Replicas, m.o.NodeID)
	if at < 0 || at >= len(mp.Directories) || mp.Directories[at].IsReserved() {
		return record.UUID{}
	}
	return mp.Directories[at]
}

// mayBeOffline reports whether a replica without a log may live in a directory that is not there (REP-1).
func (m *Manager) mayBeOffline(assigned record.UUID) bool {
	online := m.o.Dirs.DirIDs()
	if slices.Contains(online, assigned) {
		return false
	}
	return len(online) < len(m.dirIDs)
}

// dirOf is the id of the directory that a log lies in.
func (m *Manager) dirOf(l *storage.Log) record.UUID { return m.dirIDs[filepath.Dir(l.Dir())] }

func (m *Manager) config(i *metadata.Image, topic string) storage.Config {
	return m.o.Config(i.Config(metadata.ConfigResource{Type: metadata.TopicResource, Name: topic}))
}

// drop forgets a topic and gives its logs up for deletion.
func (m *Manager) drop(t *metadata.Topic) {
	old, ok := m.topics.LoadAndDelete(t.ID)
	m.names.CompareAndDelete(t.Name, t.ID)
	if !ok {
		return
	}
	for _, p := range *old.(*hosted) {
		if p == nil {
			continue
		}
		for _, o := range m.observers {
			o.Resigned(p.tp)
		}
		if p.log != nil || errors.Is(p.err, storage.ErrShortage) {
			if err := m.o.Dirs.Delete(p.tp); err != nil {
				m.o.Logger.Error("cannot delete a partition's directory", "partition", p.tp, "err", err)
			}
		}
		p.role.Store(&role{leader: -1, epoch: p.LeaderEpoch()})
		p.watch.changed()
	}
}

// changePartitions follows new partitions, leaders and replica lists of topics that exist.
func (m *Manager) changePartitions(d *metadata.Delta, i *metadata.Image) []Placement {
	var placed []Placement
	for _, c := range d.ChangedPartitions {
		t := i.Topics.ByName(c.Topic)
		if t == nil || int(c.Partition) >= len(t.Partitions) {
			continue
		}
		p, err := m.ByID(t.ID, c.Partition)
		if err != nil {
			placed = append(placed, m.host(i, []*metadata.Topic{t})...)
			continue
		}
		led, epoch := p.Leads(), p.LeaderEpoch()
		if err := p.become(m.o.NodeID, t.Partitions[c.Partition]); err != nil {
			m.o.Logger.Error("cannot record the leader epoch", "partition", p.tp, "err", err)
		}
		switch leads := p.Leads(); {
		case leads && (!led || epoch != p.LeaderEpoch()):
			m.elected(p)
		case led && !leads:
			for _, o := range m.observers {
				o.Resigned(p.tp)
			}
		}
	}
	return placed
}

func (m *Manager) elected(p *Partition) {
	for _, o := range m.observers {
		o.Elected(p)
	}
}

// changeConfigs hands new settings to the logs; a change of the broker's defaults concerns all of them.
func (m *Manager) changeConfigs(d *metadata.Delta, i *metadata.Image) {
	for _, c := range d.ChangedConfigs {
		switch c.Type {
		case metadata.TopicResource:
			m.changeConfig(i, c.Name)
		case metadata.BrokerResource:
			m.All(func(p *Partition) {
				if p.log != nil {
					p.log.SetConfig(m.config(i, p.tp.Topic))
				}
			})
			return
		}
	}
}

func (m *Manager) changeConfig(i *metadata.Image, topic string) {
	id, ok := m.names.Load(topic)
	if !ok {
		return
	}
	t, ok := m.topics.Load(id)
	if !ok {
		return
	}
	c := m.config(i, topic)
	for _, p := range *t.(*hosted) {
		if p != nil && p.log != nil {
			p.log.SetConfig(c)
		}
	}
}
