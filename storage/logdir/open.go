package logdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/storage/throttle"
	"github.com/samsalog/samsa/vfs"
)

// Open locks the directories and reads whose they are. A directory that cannot be read goes offline and the others
// are used; ErrNoDirectory when none is left. ErrLocked, ErrNotFormatted and ErrInconsistent stop everything: they mean
// that something other than a disk is wrong. Nothing is changed in a directory but its lock file before Load.
func Open(o Options) (*Manager, error) {
	o.setDefaults()
	ctx, cancel := context.WithCancel(context.Background())
	m := &Manager{
		o: o, handles: vfs.NewHandles(o.FS, o.MaxOpenFiles), ctx: ctx, cancel: cancel,
		logs: map[record.TopicPartition]*entry{}, leaving: map[*entry]bool{}, moves: map[record.TopicPartition]*move{},
		moving: make(chan struct{}, o.MoveThreads), moveThrottle: throttle.New(func() float64 { return float64(o.MoveBytesPerSecond()) }),
	}
	m.delays = newDelays(m.report)
	m.o.FS = m.handles.Patient()
	m.ballast = &ballast{fs: m.o.FS, path: filepath.Join(o.MetadataDir, ballastFile), size: o.BallastBytes}
	if err := m.openDirs(); err != nil {
		cancel()
		m.wait()
		for _, d := range m.dirs {
			m.unlock(d)
		}
		return nil, err
	}
	return m, nil
}

func (m *Manager) openDirs() error {
	if len(m.o.Dirs) == 0 {
		return fmt.Errorf("%w: none is configured", ErrNoDirectory)
	}
	paths, metadataOnly := m.o.Dirs, ""
	if !containsPath(paths, m.o.MetadataDir) {
		metadataOnly = m.o.MetadataDir
		paths = append(paths[:len(paths):len(paths)], metadataOnly)
	}
	if err := m.checkDistinct(paths); err != nil {
		return err
	}
	for _, path := range paths {
		d := &dir{
			path: path, metadataOnly: path == metadataOnly, brokerEpoch: checkpoint.UnknownBrokerEpoch,
			logs: map[record.TopicPartition]*entry{}, unloaded: map[record.TopicPartition]error{},
			futures: map[record.TopicPartition]*entry{},
		}
		m.dirs = append(m.dirs, d)
		err := m.openDir(d)
		switch {
		case err == nil:
		case isShortage(err): // the disk is sound, so it must not go offline; and without a lock it cannot be used
			return fmt.Errorf("log directory %s cannot be locked for want of room: %w", path, err)
		case errors.Is(err, ErrLocked), errors.Is(err, ErrNotFormatted), errors.Is(err, ErrInconsistent), !isIO(err):
			return err
		case m.holdsMetadata(d): // without the metadata there is no broker
			return fmt.Errorf("metadata directory %s: %w", path, err)
		default:
			m.failDir(d, err)
		}
	}
	if err := m.checkTogether(); err != nil {
		return err
	}
	return m.anyOnline()
}

func containsPath(paths []string, path string) bool {
	for _, p := range paths {
		if filepath.Clean(p) == filepath.Clean(path) {
			return true
		}
	}
	return false
}

// checkDistinct refuses two names of one directory.
func (m *Manager) checkDistinct(paths []string) error {
	infos := make([]fs.FileInfo, len(paths))
	for i, path := range paths {
		infos[i], _ = m.o.FS.Stat(path) // what cannot be looked at cannot be compared; it is reported when it is opened
		for j := range i {
			if filepath.Clean(path) == filepath.Clean(paths[j]) || infos[i] != nil && infos[j] != nil && os.SameFile(infos[i], infos[j]) {
				return fmt.Errorf("%w: %s and %s are the same directory", ErrInconsistent, paths[j], path)
			}
		}
	}
	return nil
}

// openDir locks one directory and reads its meta.properties and marker.
func (m *Manager) openDir(d *dir) error {
	info, err := m.o.FS.Stat(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s does not exist; if it should, its disk may not be mounted", ErrNotFormatted, d.path)
	}
	if err == nil && !info.IsDir() {
		return fmt.Errorf("%w: %s is a file", ErrNotFormatted, d.path)
	}
	if err != nil {
		return err
	}
	if _, err := m.o.FS.Stat(d.file(lockFile)); err == nil {
		d.killed = true
	}
	err = m.ballast.retry(func() error { d.lock, err = m.o.FS.Lock(d.file(lockFile)); return err })
	if errors.Is(err, vfs.ErrLocked) {
		return fmt.Errorf("%w: %s: %w; stop the other broker on it, or choose another directory", ErrLocked, d.path, err)
	}
	if err != nil {
		return err
	}
	if err := m.openMeta(d); err != nil {
		return err
	}
	if !m.holdsMetadata(d) {
		if _, err := m.o.FS.Stat(d.file(metadataDirName)); err == nil {
			return fmt.Errorf("%w: %s is in %s, but metadata.log.dir is %s", ErrInconsistent, metadataDirName, d.path, m.o.MetadataDir)
		}
	}
	d.brokerEpoch, d.clean, err = checkpoint.ReadCleanShutdown(m.o.FS, d.file(checkpoint.CleanShutdownFile))
	return err
}

// openMeta reads meta.properties, and draws a directory id where an older release did not.
func (m *Manager) openMeta(d *dir) error {
	path := d.file(checkpoint.MetaPropertiesFile)
	var err error
	d.meta, err = checkpoint.ReadMetaProperties(m.o.FS, path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s has no %s; if it should, its disk may not be mounted", ErrNotFormatted, d.path, checkpoint.MetaPropertiesFile)
	}
	if err != nil {
		return err
	}
	if d.meta.Version == 0 {
		if m.holdsMetadata(d) || d.meta.ClusterID == "" || d.meta.NodeID == checkpoint.NoNodeID {
			return fmt.Errorf("%w: %s is of version 0", ErrZooKeeper, path)
		}
		// The metadata directory says what the node is, as in Kafka: a broker that was migrated from ZooKeeper, or an
		// adoption of several directories that was interrupted, leaves others as they were.
		d.meta.Version, d.rewrite = 1, true
	}
	if d.meta.DirectoryID.IsZero() {
		d.rewrite = true
		d.meta.DirectoryID, err = record.NewUUID(m.o.Rand)
	}
	return err
}

// writeMeta brings each meta.properties up to what openMeta made of it.
func (m *Manager) writeMeta() {
	for _, d := range m.dirs {
		if !d.rewrite || d.err() != nil {
			continue
		}
		if err := checkpoint.WriteMetaProperties(m.o.FS, d.file(checkpoint.MetaPropertiesFile), d.meta, m.o.Now()); err != nil {
			m.failDir(d, err)
			continue
		}
		d.rewrite = false
	}
}

// Found lists the partitions that stand in the directories, loaded or not, without those being moved or removed.
func (m *Manager) Found() ([]record.TopicPartition, error) {
	var found []record.TopicPartition
	for _, d := range m.dirs {
		if d.err() != nil {
			continue
		}
		entries, err := m.o.FS.ReadDir(d.path)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			name, err := ParseName(e.Name())
			if err == nil && e.IsDir() && name.Kind == Current && e.Name() != metadataDirName {
				found = append(found, name.TopicPartition)
			}
		}
	}
	return found, nil
}

// checkTogether refuses directories of different clusters or nodes, and one directory id twice.
func (m *Manager) checkTogether() error {
	var first *dir
	seen := map[record.UUID]string{}
	for _, d := range m.dirs {
		if d.err() != nil {
			continue
		}
		if first == nil {
			first = d
		}
		if d.meta.ClusterID != first.meta.ClusterID || d.meta.NodeID != first.meta.NodeID {
			return fmt.Errorf("%w: %s is of node %d in cluster %s, %s of node %d in cluster %s", ErrInconsistent,
				first.path, first.meta.NodeID, first.meta.ClusterID, d.path, d.meta.NodeID, d.meta.ClusterID)
		}
		if other, ok := seen[d.meta.DirectoryID]; ok {
			return fmt.Errorf("%w: %s and %s have the same directory id %s; one is a copy of the other", ErrInconsistent, other, d.path, d.meta.DirectoryID)
		}
		seen[d.meta.DirectoryID] = d.path
	}
	return nil
}

// anyOnline returns ErrNoDirectory with the reasons when no directory for partitions is left.
func (m *Manager) anyOnline() error {
	var causes []error
	for _, d := range m.dirs {
		if d.metadataOnly {
			continue
		}
		if d.err() == nil {
			return nil
		}
		causes = append(causes, fmt.Errorf("%s: %w", d.path, d.err()))
	}
	return fmt.Errorf("%w: %w", ErrNoDirectory, errors.Join(causes...))
}

// Format makes dir a log directory: it is created when missing and gets a meta.properties. A formatted one is refused
// with ErrAlreadyFormatted.
func Format(fsys vfs.FS, dir string, meta checkpoint.MetaProperties) error {
	if err := fsys.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	path := filepath.Join(dir, checkpoint.MetaPropertiesFile)
	if _, err := fsys.Stat(path); err == nil {
		return fmt.Errorf("%w: %s", ErrAlreadyFormatted, dir)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := fsys.SyncDir(filepath.Dir(dir)); err != nil {
		return err
	}
	return checkpoint.WriteMetaProperties(fsys, path, meta, time.Now())
}
