package logdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/storage/segment"
)

// Want tells whether the partition with that topic id (zero: its directory does not tell) is hosted here, and with
// which settings. It is called from several goroutines.
type Want = func(tp record.TopicPartition, topicID record.UUID) (storage.Config, bool)

// job is a partition directory to be loaded.
type job struct {
	tp   record.TopicPartition
	name string
}

// Load opens the logs in all directories that want claims, several at a time. Those it does not claim are renamed to
// -stray; -delete directories are removed after a delay; what is not understood is left alone and reported. A
// directory that fails meanwhile goes offline, a partition whose files contradict each other is left out, and Load goes
// on. It returns ErrNoDirectory when no directory is left, or the error of ctx.
func (m *Manager) Load(ctx context.Context, want Want) error {
	m.began.Store(true)
	m.writeMeta()
	plans := make(map[*dir][]job)
	for _, d := range m.dirs {
		if d.metadataOnly || d.err() != nil {
			continue
		}
		plan, err := m.beginLoad(d)
		if isShortage(err) {
			return fmt.Errorf("log directory %s: %w", d.path, err)
		}
		if err != nil {
			m.failDir(d, err)
			continue
		}
		plans[d] = plan
	}
	m.refuseTwins(plans)
	var loading sync.WaitGroup
	for d, plan := range plans {
		loading.Go(func() { m.loadDir(ctx, d, plan, want) })
	}
	loading.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	for d := range plans {
		m.loadFutures(d, want)
	}
	return m.anyOnline()
}

// beginLoad removes the marker, reads the checkpoints and lists the partitions of a directory.
func (m *Manager) beginLoad(d *dir) ([]job, error) {
	if err := checkpoint.RemoveCleanShutdown(m.o.FS, d.file(checkpoint.CleanShutdownFile)); err != nil { // DIR-2
		return nil, err
	}
	if err := m.readCheckpoints(d); err != nil {
		return nil, err
	}
	entries, err := m.o.FS.ReadDir(d.path)
	if err != nil {
		return nil, err
	}
	var plan []job
	for _, e := range entries {
		if j, ok := m.sort(d, e); ok {
			plan = append(plan, j)
		}
	}
	m.mu.Lock()
	for _, j := range plan {
		d.unloaded[j.tp] = errNotLoaded
	}
	m.mu.Unlock()
	d.listed.Store(true)
	m.beginProgress(d, plan)
	m.report(Event{Kind: Loading, Dir: d.path, Count: len(plan), Clean: d.clean})
	return plan, nil
}

var errNotLoaded = errors.New("not loaded yet")

// sort decides what to do with an entry of a log directory; true: it is a partition to be loaded.
func (m *Manager) sort(d *dir, e fs.DirEntry) (job, bool) {
	switch {
	case !e.IsDir(), e.Name() == metadataDirName, e.Name() == remoteCacheName, e.Name() == lostAndFound:
		return job{}, false
	}
	path := d.file(e.Name())
	name, err := ParseName(e.Name())
	if err != nil {
		m.report(Event{Kind: Ignored, Dir: d.path, Path: path, Err: err})
		return job{}, false
	}
	switch name.Kind {
	case Deleted:
		m.report(Event{Kind: RemovalResumed, Dir: d.path, Path: path})
		m.delays.after(m.o.DeleteDelay, func() { m.removeTree(d, path) })
		return job{}, false
	case Future:
		d.found = append(d.found, job{tp: name.TopicPartition, name: e.Name()})
		return job{}, false
	case Stray:
		return job{}, false
	}
	return job{tp: name.TopicPartition, name: e.Name()}, true
}

// refuseTwins takes partitions out of the plans that stand in two places: which of them is the right one is not ours
// to guess. Kafka does not start.
func (m *Manager) refuseTwins(plans map[*dir][]job) {
	places := map[record.TopicPartition][]string{}
	for d, plan := range plans {
		for _, j := range plan {
			places[j.tp] = append(places[j.tp], d.file(j.name))
		}
	}
	for d, plan := range plans {
		kept := plan[:0]
		for _, j := range plan {
			if list := places[j.tp]; len(list) > 1 {
				m.failPartition(d, j, fmt.Errorf("it stands in several places: %s; move away all but one", strings.Join(list, ", ")))
				continue
			}
			kept = append(kept, j)
		}
		plans[d] = kept
	}
}

// loadDir loads the planned partitions of one directory.
func (m *Manager) loadDir(ctx context.Context, d *dir, plan []job, want Want) {
	jobs := make(chan job)
	var workers sync.WaitGroup
	for range min(m.o.RecoveryThreads, len(plan)) {
		workers.Go(func() {
			for j := range jobs {
				d.progress.loading(j.tp)
				m.loadOne(d, j, want)
				m.loaded(d, j.tp)
			}
		})
	}
	for _, j := range plan {
		if ctx.Err() != nil || d.err() != nil {
			break
		}
		jobs <- j
	}
	close(jobs)
	workers.Wait()
	if ctx.Err() != nil || d.err() != nil {
		return
	}
	// RemoveCleanShutdown has synced whatever a killed process left here.
	if d.renamed.Load() {
		if err := m.o.FS.SyncDir(d.path); err != nil {
			m.failDir(d, err)
			return
		}
	}
	m.mu.RLock()
	count, left := len(d.logs), len(d.unloaded)
	m.mu.RUnlock()
	d.loaded.Store(left == 0)
	d.progress.end()
	m.report(Event{Kind: Loaded, Dir: d.path, Count: count})
}

// loadOne loads one partition, sets it aside, or leaves it out.
func (m *Manager) loadOne(d *dir, j job, want Want) {
	err := protect(func() error { return m.tryLoad(d, j, want) })
	switch {
	case err == nil || d.err() != nil:
	case isIO(err):
		m.failDir(d, fmt.Errorf("loading %s: %w", j.name, err))
	default:
		m.failPartition(d, j, err)
	}
}

func (m *Manager) tryLoad(d *dir, j job, want Want) error {
	path := d.file(j.name)
	id, err := checkpoint.ReadPartitionMetadata(m.o.FS, filepath.Join(path, checkpoint.PartitionMetadataFile))
	if errors.Is(err, fs.ErrNotExist) {
		if foreign, err := m.isForeign(path); err != nil || foreign {
			return m.leaveAlone(d, j, err)
		}
	} else if err != nil {
		return err
	}
	config, ok := want(j.tp, id)
	if !ok {
		return m.setAside(d, j)
	}
	e := &entry{dir: d}
	o := m.logOptions(e, j.tp, id, config, path, true)
	o.TopicIDStored = !id.IsZero()
	e.log, err = storage.Open(o)
	if err != nil {
		return err
	}
	e.log.SetHighWatermark(d.saved(highWatermarks, j.tp))
	m.add(j.tp, e)
	return nil
}

// isForeign reports whether a directory without partition.metadata holds no segment either: then it is not a log but
// something that happens to have such a name, or a partition whose creation a crash ended before it held anything.
func (m *Manager) isForeign(path string) (bool, error) {
	files, err := m.o.FS.ReadDir(path)
	if err != nil {
		return false, err
	}
	for _, f := range files {
		if _, ok := segment.ParseName(f.Name()); ok {
			return false, nil
		}
	}
	return true, nil
}

// leaveAlone forgets about a directory that is no log.
func (m *Manager) leaveAlone(d *dir, j job, err error) error {
	if err != nil {
		return err
	}
	m.handled(d, j)
	m.report(Event{Kind: Ignored, Dir: d.path, Path: d.file(j.name), Err: errors.New("it holds no segment")})
	return nil
}

// setAside renames a partition that nobody wants. The directory is synced once, when all are loaded.
func (m *Manager) setAside(d *dir, j job) error {
	unique, err := record.NewUUID(m.o.Rand)
	if err != nil {
		return err
	}
	path := d.file(FormatName(j.tp, Stray, unique))
	if err := m.o.FS.Rename(d.file(j.name), path); err != nil {
		return err
	}
	d.renamed.Store(true)
	m.handled(d, j)
	m.report(Event{Kind: StrayFound, Dir: d.path, Path: path, TopicPartition: j.tp})
	return nil
}

// handled says that nothing of that name is left in the directory to be loaded.
func (m *Manager) handled(d *dir, j job) {
	m.mu.Lock()
	delete(d.unloaded, j.tp)
	m.mu.Unlock()
}

// failPartition leaves a partition out.
func (m *Manager) failPartition(d *dir, j job, err error) {
	m.mu.Lock()
	d.unloaded[j.tp] = err
	m.mu.Unlock()
	m.report(Event{Kind: PartitionFailed, Dir: d.path, Path: d.file(j.name), TopicPartition: j.tp, Err: err})
	if isShortage(err) {
		m.noteShort(d, err)
	}
}

// logOptions is what a log in d is opened with. Offsets come from the checkpoints if the log existed before.
func (m *Manager) logOptions(e *entry, tp record.TopicPartition, id record.UUID, c storage.Config, path string, existed bool) storage.Options {
	d := e.dir
	o := storage.Options{
		FS: m.o.FS, Handles: m.handles, Dir: path, TopicPartition: tp, TopicID: id, Config: c,
		Now: m.o.Now, Delay: m.after(d), Refuse: d.refusal, ProducerExpiry: m.o.ProducerExpiry,
		OnFailure: func(err error) { m.logFailed(e, err) },
		Observe: func(ev storage.Event) {
			if ev.Kind == storage.Refused {
				m.noteShort(d, ev.Err)
				return
			}
			m.report(Event{Kind: LogEvent, Dir: d.path, TopicPartition: tp, Log: &ev})
		},
	}
	if existed {
		o.Recovered = func(bytes int) { m.recovered(d, tp, bytes) }
		o.RecoveryPoint, o.LogStartOffset = d.saved(recoveryPoints, tp), d.saved(logStarts, tp)
		o.Clean = d.clean
	} else {
		o.New = true
	}
	return o
}
