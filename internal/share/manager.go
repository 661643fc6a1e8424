package share

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/samsalog/samsa/internal/replica"
	"github.com/samsalog/samsa/internal/share/window"
	"github.com/samsalog/samsa/record"
)

// errFenced is what happens to acknowledgements of a share partition that ended meanwhile.
var errFenced error = kerr.NotLeaderForPartition

// Options are what a Manager needs to know and to call.
type Options struct {
	Persister Persister
	// DeadLetters takes records that were given up, where Settings say that the group has a queue for them; default: they are
	// archived and nothing else.
	DeadLetters DeadLetters
	// Settings are what holds for a group now; default DefaultSettings.
	Settings func(group string) Settings
	// MaxSessions bounds the share sessions (group.share.max.share.sessions); default 2000.
	MaxSessions int
	// Now stamps nothing but decides where by_duration resets begin; default time.Now.
	Now func() time.Time
	// Logger is told what a person should know; default: nobody is told.
	Logger *slog.Logger
}

// Manager is the leader of share partitions. All methods may be called concurrently.
type Manager struct {
	o        Options
	sessions sessions
	alarm    *alarm
	counters counters
	scans    scans
	// ctx ends with Close; writes and loads run under it.
	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup
	mu      struct {
		sync.Mutex
		closed     bool
		partitions map[Key]*partition
	}
}

// NewManager returns a Manager without share partitions; they come with the first fetch. Close ends it.
func NewManager(o Options) *Manager {
	if o.Settings == nil {
		o.Settings = func(string) Settings { return DefaultSettings() }
	}
	if o.DeadLetters == nil {
		o.DeadLetters = nowhere{}
	}
	if o.MaxSessions <= 0 {
		o.MaxSessions = 2000
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	m := &Manager{o: o, alarm: newAlarm()}
	m.sessions.init(o.MaxSessions)
	m.ctx, m.stop = context.WithCancel(context.Background())
	m.mu.partitions = map[Key]*partition{}
	m.running.Go(func() { m.alarm.run(m.ctx) })
	return m
}

// Close ends all share partitions and waits for what is under way. It may be called more than once.
func (m *Manager) Close() {
	m.mu.Lock()
	m.mu.closed = true
	m.mu.Unlock()
	for _, p := range m.matching(func(*partition) bool { return true }) {
		p.fence()
	}
	m.stop()
	m.running.Wait()
}

// partition returns the share partition of a leader, and begins to load it when it is new (SHR-3).
func (m *Manager) partition(k Key, leader *replica.Partition) (*partition, error) {
	if err := leader.CheckLeads(); err != nil {
		return nil, err
	}
	epoch := leader.LeaderEpoch()
	m.mu.Lock()
	if m.mu.closed {
		m.mu.Unlock()
		return nil, errFenced
	}
	old := m.mu.partitions[k]
	if old != nil && old.leader == leader && old.leaderEpoch == epoch {
		m.mu.Unlock()
		old.keep()
		return old, nil
	}
	p := &partition{m: m, key: k, leader: leader, leaderEpoch: epoch, position: -1}
	m.mu.partitions[k] = p
	m.running.Go(p.load)
	m.mu.Unlock()
	if old != nil {
		old.fence()
	}
	return p, nil
}

// find returns the share partition if there is one.
func (m *Manager) find(k Key) *partition {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mu.partitions[k]
}

// remove forgets p, unless another one has its place.
func (m *Manager) remove(p *partition) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.partitions[p.key] == p {
		delete(m.mu.partitions, p.key)
	}
}

// matching lists the share partitions that f accepts.
func (m *Manager) matching(f func(*partition) bool) []*partition {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []*partition
	for _, p := range m.mu.partitions {
		if f(p) {
			list = append(list, p)
		}
	}
	return list
}

// Elected implements replica.Observer: what an earlier epoch of the leader knew is over.
func (m *Manager) Elected(leader *replica.Partition) {
	for _, p := range m.matching(func(p *partition) bool {
		return p.key.Topic == leader.TopicID() && p.key.Partition == leader.TopicPartition().Partition && p.leaderEpoch != leader.LeaderEpoch()
	}) {
		p.fence()
	}
}

// Resigned implements replica.Observer.
func (m *Manager) Resigned(tp record.TopicPartition) {
	for _, p := range m.matching(func(p *partition) bool { return p.leader.TopicPartition() == tp }) {
		p.fence()
	}
}

// Acknowledge begins what a member says of records of a share partition.
func (m *Manager) Acknowledge(k Key, member string, acks []window.Ack) *Outcome {
	p := m.find(k)
	if p == nil {
		return concluded(kerr.UnknownTopicOrPartition)
	}
	return p.acknowledge(member, acks)
}

// LockDuration is how long members of a group may keep records.
func (m *Manager) LockDuration(group string) time.Duration { return m.o.Settings(group).LockDuration }
