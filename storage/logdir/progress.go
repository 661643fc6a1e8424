package logdir

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/segment"
)

// tellProgress is how often the progress of loading one directory is reported at most.
const tellProgress = time.Second

// LoadProgress is how far the loading of one directory is.
type LoadProgress struct {
	Dir string
	// Err is why the directory is offline; nil: it is not.
	Err error
	// Begun: its partitions are counted. Done: all of them were handled.
	Begun, Done bool
	// Clean: it was closed in order, so nothing has to be read again.
	Clean bool
	// Partitions is how many there are, Loaded how many were handled.
	Partitions, Loaded int
	// Bytes is how much recovery has to look at, Read how much of it was; both 0 if the directory is clean.
	Bytes, Read int64
	// Current is a partition that is being loaded.
	Current record.TopicPartition
	// ETA is how long the rest takes at the present pace; negative: not known yet.
	ETA time.Duration
}

// String is a sentence for a log line.
func (p LoadProgress) String() string {
	s := fmt.Sprintf("%s: loaded %d of %d partitions", p.Dir, p.Loaded, p.Partitions)
	if p.Bytes > 0 {
		s += fmt.Sprintf(", read %d of %d bytes", p.Read, p.Bytes)
	}
	if p.Current.Topic != "" {
		s += fmt.Sprintf("; %v is under way", p.Current)
	}
	if p.ETA >= 0 {
		s += fmt.Sprintf("; about %v to go", p.ETA.Round(time.Second))
	}
	return s
}

// loadCount counts what loading a directory has done.
type loadCount struct {
	mu       sync.Mutex
	p        LoadProgress
	began    time.Time
	toldAt   time.Time
	expected map[record.TopicPartition]int64 // bytes of partitions that are not loaded yet
	read     map[record.TopicPartition]int64 // how much of them was read
}

// beginProgress counts what is to be done. For a directory that was not closed in order it looks how much lies in the segments
// from the recovery points on; a file that cannot be looked at counts nothing here and is found out by loading it.
func (m *Manager) beginProgress(d *dir, plan []job) {
	expected := map[record.TopicPartition]int64{}
	sum := int64(0)
	if !d.clean {
		for _, j := range plan {
			expected[j.tp] = m.toRecover(d.file(j.name), d.saved(recoveryPoints, j.tp))
			sum += expected[j.tp]
		}
	}
	c := &d.progress
	c.mu.Lock()
	defer c.mu.Unlock()
	c.began = m.o.Now()
	c.toldAt = c.began
	c.expected, c.read = expected, map[record.TopicPartition]int64{}
	c.p = LoadProgress{Begun: true, Clean: d.clean, Partitions: len(plan), Bytes: sum}
}

// toRecover is the size of the segments of a partition from the one with its recovery point on.
func (m *Manager) toRecover(path string, rp record.Offset) int64 {
	entries, err := m.o.FS.ReadDir(path)
	if err != nil {
		return 0
	}
	sum := int64(0)
	var before fs.DirEntry // the last segment at or below the recovery point
	for _, e := range entries {
		if filepath.Ext(e.Name()) != segment.LogSuffix {
			continue
		}
		base, ok := segment.ParseName(e.Name())
		switch {
		case !ok:
		case base.Base <= rp:
			before = e
		default:
			sum += sizeOf(e)
		}
	}
	if before != nil {
		sum += sizeOf(before)
	}
	return sum
}

func sizeOf(e fs.DirEntry) int64 {
	info, err := e.Info()
	if err != nil {
		return 0
	}
	return info.Size()
}

// loading says that a partition is under way.
func (c *loadCount) loading(tp record.TopicPartition) {
	c.mu.Lock()
	c.p.Current = tp
	c.mu.Unlock()
}

// recovered counts bytes of a partition.
func (m *Manager) recovered(d *dir, tp record.TopicPartition, bytes int) {
	c := &d.progress
	c.mu.Lock()
	if add := min(int64(bytes), c.expected[tp]-c.read[tp]); add > 0 {
		c.read[tp] += add
		c.p.Read += add
	}
	c.mu.Unlock()
	m.tellProgress(d)
}

// loaded counts a partition, whatever became of it.
func (m *Manager) loaded(d *dir, tp record.TopicPartition) {
	c := &d.progress
	c.mu.Lock()
	c.p.Loaded++
	c.p.Read += c.expected[tp] - c.read[tp] // what lay below the recovery point in its segment was not read
	delete(c.expected, tp)
	delete(c.read, tp)
	c.mu.Unlock()
	m.tellProgress(d)
}

// tellProgress reports now and then.
func (m *Manager) tellProgress(d *dir) {
	now := m.o.Now()
	c := &d.progress
	c.mu.Lock()
	due := c.p.Begun && !c.p.Done && now.Sub(c.toldAt) >= tellProgress
	if due {
		c.toldAt = now
	}
	c.mu.Unlock()
	if due {
		p := m.progressOf(d)
		m.report(Event{Kind: Progress, Dir: d.path, TopicPartition: p.Current, Load: &p})
	}
}

func (c *loadCount) end() {
	c.mu.Lock()
	c.p.Done, c.p.Current = true, record.TopicPartition{}
	c.expected, c.read = nil, nil
	c.mu.Unlock()
}

// Progress tells how far Load is, per directory in the order of configuration. It may be called at any time.
func (m *Manager) Progress() []LoadProgress {
	var list []LoadProgress
	for _, d := range m.dirs {
		if !d.metadataOnly {
			list = append(list, m.progressOf(d))
		}
	}
	return list
}

func (m *Manager) progressOf(d *dir) LoadProgress {
	now := m.o.Now()
	c := &d.progress
	c.mu.Lock()
	p := c.p
	took := now.Sub(c.began)
	c.mu.Unlock()
	p.Dir, p.Err, p.ETA = d.path, d.err(), -1
	done, all := float64(p.Read), float64(p.Bytes)
	if p.Bytes == 0 {
		done, all = float64(p.Loaded), float64(p.Partitions)
	}
	switch {
	case p.Done:
		p.ETA = 0
	case done > 0 && took > 0:
		p.ETA = time.Duration(float64(took) * (all - done) / done)
	}
	return p
}
