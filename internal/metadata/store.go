package metadata

import (
	"crypto/rand"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/vfs"
)

// Options is all that a Store is given.
type Options struct {
	FS      vfs.FS
	Handles *vfs.Handles
	// Dir is the log directory that holds __cluster_metadata-0; the caller holds its lock.
	Dir string
	// NodeID, ClusterID and DirectoryID are those of Dir's meta.properties.
	NodeID      int32
	ClusterID   string
	DirectoryID record.UUID
	// ControllerEndpoint is what the controller registers as: an Apache Kafka that is started on the directory
	// later listens there. It is not used if the voter set has endpoints.
	ControllerEndpoint Endpoint
	// MinInsyncReplicas is the broker's min.insync.replicas, which a new log records for the whole cluster
	// when eligible leader replicas are on; "" is Kafka's default, 1.
	MinInsyncReplicas string
	// Now is the clock; nil: time.Now. Rand is where ids come from; nil: crypto/rand.
	Now  func() time.Time
	Rand io.Reader
	// Delay runs f after d on the owner's scheduler; nil: time.AfterFunc.
	Delay func(d time.Duration, f func())
	// Snapshots says when snapshots are made and removed; zero fields are Kafka's defaults.
	Snapshots SnapshotPolicy
	// SegmentBytes and SegmentMs are metadata.log.segment.bytes and .ms; 0: Kafka's defaults.
	SegmentBytes int
	SegmentMs    int64
	// Accept is asked, before anything is written, whether what was found may be served; its error is that of Open. nil:
	// everything that can be understood and has no other voter.
	Accept func(*Found) error
	// Observe hears what recovery of the log found; OnFailure the first failed write; both may be nil.
	Observe   func(storage.Event)
	OnFailure func(error)
	// Logger hears what a person should know; nil: nobody does.
	Logger *slog.Logger
}

// SnapshotPolicy has the settings around snapshots. Zero means Kafka's default, negative means never.
type SnapshotPolicy struct {
	// MaxNewBytes is metadata.log.max.record.bytes.between.snapshots (20 MiB).
	MaxNewBytes int64
	// MaxInterval is metadata.log.max.snapshot.interval.ms (1 h).
	MaxInterval time.Duration
	// RetentionBytes and Retention are metadata.max.retention.bytes and .ms (100 MiB, 7 days).
	RetentionBytes int64
	Retention      time.Duration
}

func (o *Options) setDefaults() {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Delay == nil {
		o.Delay = func(d time.Duration, f func()) { time.AfterFunc(d, f) }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.MinInsyncReplicas == "" {
		o.MinInsyncReplicas = defaultMinInsyncReplicas
	}
	if o.SegmentBytes == 0 {
		o.SegmentBytes = 1 << 30
	}
	if o.SegmentMs == 0 {
		o.SegmentMs = (7 * 24 * time.Hour).Milliseconds()
	}
	p := &o.Snapshots
	if p.MaxNewBytes == 0 {
		p.MaxNewBytes = 20 << 20
	}
	if p.MaxInterval == 0 {
		p.MaxInterval = time.Hour
	}
	if p.RetentionBytes == 0 {
		p.RetentionBytes = 100 << 20
	}
	if p.Retention == 0 {
		p.Retention = 7 * 24 * time.Hour
	}
}

// Store is the metadata log of a cluster whose only controller is this process, with the image that its
// records add up to.
type Store struct {
	o      Options
	dir    string // of the log
	log    *storage.Log
	epoch  record.LeaderEpoch
	quorum quorum // while the Store is opened
	// voters is the quorum from then on; replaced under writing.
	voters atomic.Pointer[quorum]
	// image is what was written, synced and published last.
	image atomic.Pointer[Image]
	// publishers is replaced as a whole, under publishing.
	publishers atomic.Pointer[[]Publisher]

	// Lock order: publishing or syncing, then writing.
	writing struct {
		sync.Mutex
		replay  replay
		latest  *Image // the state after the last batch handed to the log
		queue   []publication
		failed  error // the first failed write, ErrClosed after Close
		written int64 // bytes since the newest snapshot
	}
	// syncing: one goroutine fsyncs for all that have written before it.
	syncing sync.Mutex
	// synced is the offset up to which, itself included, all is on disk.
	synced     atomic.Int64
	publishing sync.Mutex

	snapshots snapshotter
}

// publication is an image that is to be published once its records are synced.
type publication struct {
	image      *Image
	touched    *touched
	quorum     *quorum // as of the image
	appendedMs int64
	snapshot   bool // one is due after it
}

// Image returns the newest published image. It costs nothing and takes no lock.
func (s *Store) Image() *Image { return s.image.Load() }

// Epoch is the leader epoch that the Store writes with.
func (s *Store) Epoch() record.LeaderEpoch { return s.epoch }

// ControllerEndpoint is where the cluster's only controller is said to listen.
func (s *Store) ControllerEndpoint() Endpoint {
	if v := s.voters.Load().voters; v != nil && len(v.Voters) > 0 && len(v.Voters[0].Endpoints) > 0 {
		e := v.Voters[0].Endpoints[0]
		return Endpoint{Name: e.Name, Host: e.Host, Port: e.Port}
	}
	return s.o.ControllerEndpoint
}

// KRaftVersion is 1 for a quorum whose voters stand in the log, 0 for a static one.
func (s *Store) KRaftVersion() int16 { return s.voters.Load().kraftVersion }

// Directory is the id of the directory that holds the metadata log.
func (s *Store) Directory() record.UUID { return s.o.DirectoryID }

// EndOffsets are the log end offset and the high watermark, which is what is on disk.
func (s *Store) EndOffsets() (end, hw record.Offset) {
	hw = record.Offset(s.synced.Load() + 1)
	return max(s.log.LogEndOffset(), hw), hw
}

// Log is the metadata log, for reading.
func (s *Store) Log() *storage.Log { return s.log }

// Subscribe adds a publisher, which hears of every later change. What was before is in Image.
func (s *Store) Subscribe(p Publisher) {
	s.publishing.Lock()
	defer s.publishing.Unlock()
	var next []Publisher
	if old := s.publishers.Load(); old != nil {
		next = append(next, *old...)
	}
	next = append(next, p)
	s.publishers.Store(&next)
}

// Append writes records as one batch, which counts as a whole or not at all, and waits until it is on disk, in
// Image and known to all publishers. It returns the offset of the last record. Records that contradict the
// present state give ErrInvalidRecord and nothing is written. After a failed write or fsync the Store takes no
// more records.
func (s *Store) Append(records ...stored.Message) (record.Offset, error) {
	return s.Update(func(*Image, record.Offset) ([]stored.Message, error) { return records, nil })
}

// Update is Append for records that depend on the present state: decide gets the state after everything that
// was appended so far, be it published or not, and the offset that the first of its records will have. No other
// records come in between; decide must be quick and must not call the Store. An error of decide is returned
// as it is; without records nothing is written.
func (s *Store) Update(decide func(i *Image, next record.Offset) ([]stored.Message, error)) (record.Offset, error) {
	last, err := s.write(decide)
	if err != nil {
		return record.NoOffset, err
	}
	if err := s.sync(last); err != nil {
		return record.NoOffset, err
	}
	s.publish()
	return last, nil
}

// Close waits for what is under way and closes the log in order.
func (s *Store) Close() error {
	s.writing.Lock()
	closed := s.writing.failed == ErrClosed
	s.writing.failed = ErrClosed
	s.writing.Unlock()
	if closed {
		return nil
	}
	s.snapshots.stop()
	s.syncing.Lock()
	end := s.log.LogEndOffset()
	err := s.log.Close()
	if err == nil {
		s.synced.Store(int64(end) - 1) // for those who have written and not synced yet
	}
	s.syncing.Unlock()
	s.publish()
	return err
}
