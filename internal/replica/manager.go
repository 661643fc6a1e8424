package replica

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/logdir"
)

// Options are what a Manager needs to know and to call.
type Options struct {
	NodeID int32
	Dirs   *logdir.Manager
	// Config returns the settings of a topic from its overrides and the broker's layers in force.
	Config func(overrides map[string]string) storage.Config
	// Assign records the directories that new replicas were placed in. It is called from a goroutine of
	// the manager's own, since the metadata store is busy while it publishes.
	Assign func(ctx context.Context, placed []Placement) error
	Logger *slog.Logger
}

// Placement is a replica and the directory that holds it.
type Placement struct {
	TopicID   record.UUID
	Partition int32
	Directory record.UUID
}

// Observer is told of partitions that this node starts or ceases to lead. It is called from the goroutine
// that publishes metadata and must not block.
type Observer interface {
	Elected(p *Partition)
	Resigned(tp record.TopicPartition)
}

// Manager is the set of partitions hosted on this node.
type Manager struct {
	o Options
	// topics maps a topic id to its *hosted. A topic's entry is replaced as a whole.
	topics sync.Map
	// hosting is held by whoever changes topics, and guards started: Start has hosted what was there.
	hosting sync.Mutex
	started bool
	// names maps a topic name to the id of its present incarnation.
	names sync.Map
	// dirIDs are the ids of the log directories by path.
	dirIDs    map[string]record.UUID
	observers []Observer
	placed    chan []Placement
	stop      context.CancelFunc
	stopped   sync.WaitGroup
}

// hosted are the partitions of one topic by number; nil where the replica is elsewhere.
type hosted []*Partition

// placementQueue bounds how many publications may wait for their directories to be recorded.
const placementQueue = 1024

// New returns a Manager without partitions; Start fills it.
func New(o Options) *Manager {
	ctx, stop := context.WithCancel(context.Background())
	m := &Manager{o: o, dirIDs: map[string]record.UUID{}, placed: make(chan []Placement, placementQueue), stop: stop}
	for _, d := range o.Dirs.Dirs() {
		m.dirIDs[d.Path] = d.ID
	}
	m.stopped.Go(func() { m.recordPlacements(ctx) })
	return m
}

// Observe adds an observer; call it before Start.
func (m *Manager) Observe(o Observer) { m.observers = append(m.observers, o) }

// Start hosts what the image says this node has, with the logs that were loaded. A replica that the image
// knows and no directory holds is created: the last process ended between the two.
func (m *Manager) Start(i *metadata.Image) {
	m.hosting.Lock()
	defer m.hosting.Unlock()
	m.enqueue(m.host(i, slices.Collect(i.Topics.All())))
	m.started = true
}

// Close stops the manager's goroutine. The logs belong to the directories' owner.
func (m *Manager) Close() {
	m.stop()
	m.stopped.Wait()
}

// Partition finds a partition by topic name. ErrUnknownPartition: the cluster's image decides whether it
// exists elsewhere.
func (m *Manager) Partition(topic string, partition int32) (*Partition, error) {
	id, ok := m.names.Load(topic)
	if !ok {
		return nil, ErrUnknownPartition
	}
	return m.ByID(id.(record.UUID), partition)
}

// ByID finds a partition by topic id.
func (m *Manager) ByID(id record.UUID, partition int32) (*Partition, error) {
	t, ok := m.topics.Load(id)
	if !ok {
		return nil, ErrUnknownPartition
	}
	ps := *t.(*hosted)
	if partition < 0 || int(partition) >= len(ps) {
		return nil, ErrUnknownPartition
	}
	if ps[partition] == nil {
		return nil, ErrNotLeader
	}
	return ps[partition], nil
}

// All calls f for each hosted partition.
func (m *Manager) All(f func(*Partition)) {
	m.topics.Range(func(_, t any) bool {
		for _, p := range *t.(*hosted) {
			if p != nil {
				f(p)
			}
		}
		return true
	})
}

// enqueue hands placements to the goroutine that records them.
func (m *Manager) enqueue(placed []Placement) {
	if len(placed) == 0 {
		return
	}
	select {
	case m.placed <- placed:
	default:
		// The assignment is only bookkeeping for other nodes: a restart reports it again.
		m.o.Logger.Warn("too many replicas were placed at once; their directories are recorded at the next start", "replicas", len(placed))
	}
}

func (m *Manager) recordPlacements(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case placed := <-m.placed:
			if err := m.o.Assign(ctx, placed); err != nil && ctx.Err() == nil {
				m.o.Logger.Error("cannot record the directories of new replicas", "err", err)
			}
		}
	}
}
