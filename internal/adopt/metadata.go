package adopt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/samsalog/samsa/inspect/logfile"
	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/storage/segment"
)

// Metadata is what the metadata log holds.
type Metadata struct {
	Directory string `json:"directory"`
	// Quorum is static or dynamic, Voters the node ids.
	Quorum string  `json:"quorum"`
	Voters []int32 `json:"voters"`
	// Features are the finalized levels; MetadataVersion names that of metadata.version, such as 33 (4.4).
	Features        map[string]int16 `json:"features"`
	MetadataVersion string           `json:"metadataVersion"`
	LeaderEpoch     int32            `json:"leaderEpoch"`
	LogStart        int64            `json:"logStart"`
	LogEnd          int64            `json:"logEnd"`
	Bytes           int64            `json:"bytes"` // of log and snapshots
	TornBytes       int64            `json:"tornBytes"`
	Snapshots       []string         `json:"snapshots"`
	OpenTransaction bool             `json:"openTransaction"`
	// Bootstrap: the log has no records of its own yet.
	Bootstrap bool     `json:"bootstrap"`
	Brokers   []Broker `json:"brokers"`
	// NextProducerID is the first that was never handed out in a block.
	NextProducerID int64 `json:"nextProducerId"`
	// Configs are the settings by resource: "topic orders", "broker 1", "brokers", "group g", "client metrics m".
	Configs map[string]map[string]string `json:"configs"`
	// Kept is what stays in the metadata and in its snapshots although Samsa does not act on it yet.
	Kept []Kept `json:"kept"`

	image *metadata.Image
	found *metadata.Found
	// newest is what the last leader epoch in the log tells of the program that wrote it.
	newest epoch
	// refusal is why Open would not take it; nil: it would.
	refusal error
}

// Broker is a registered broker.
type Broker struct {
	ID     int32 `json:"id"`
	Epoch  int64 `json:"epoch"`
	Fenced bool  `json:"fenced"`
}

func (l *looker) metadata(context.Context) error {
	m := &Metadata{Directory: l.MetadataDir, Configs: map[string]map[string]string{}}
	if l.r.Era != "kraft" && !slices.ContainsFunc(l.r.Directories, func(d *Directory) bool { return d.Metadata }) {
		return nil
	}
	l.r.Metadata = m
	found, err := metadata.Look(l.FS, l.MetadataDir, l.r.ClusterID)
	if err != nil {
		m.refusal = err
		return nil
	}
	var directory record.UUID
	if meta, err := checkpoint.ReadMetaProperties(l.FS, filepath.Join(l.MetadataDir, checkpoint.MetaPropertiesFile)); err == nil {
		directory = meta.DirectoryID
	}
	m.refusal = found.Check(l.r.NodeID, directory)
	m.of(found)
	return l.files(m)
}

// of takes over what was found.
func (m *Metadata) of(f *metadata.Found) {
	m.image, m.found = f.Image, f
	m.Quorum, m.Voters = [...]string{"static", "dynamic"}[min(max(f.KRaftVersion, 0), 1)], f.Voters
	m.Features, m.LeaderEpoch, m.LogEnd = f.Levels(), int32(f.LeaderEpoch), int64(f.EndOffset)
	m.OpenTransaction, m.Bootstrap, m.NextProducerID = f.OpenTransaction(), f.Image.MetadataVersion() == 0, int64(f.Image.NextProducerID)
	m.MetadataVersion = nameOfLevel(m.Features[metadata.MetadataVersionFeature])
	if f.Cut != nil {
		m.TornBytes = f.Cut.SizeInBytes
	}
	for _, id := range slices.Sorted(maps.Keys(f.Image.Brokers)) {
		b := f.Image.Brokers[id]
		m.Brokers = append(m.Brokers, Broker{ID: id, Epoch: b.Epoch, Fenced: b.Fenced})
	}
	m.configs()
	m.kept()
}

// metadataDir is the directory of the metadata log in a log directory.
func metadataDir(dir string) string {
	return filepath.Join(dir, record.TopicPartition{Topic: metadata.TopicName}.String())
}

// files looks at the files of the metadata log.
func (l *looker) files(m *Metadata) error {
	dir := metadataDir(l.MetadataDir)
	list, err := logfile.List(l.FS, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range list.Checkpoints {
		info, err := l.FS.Stat(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		m.Snapshots, m.Bytes = append(m.Snapshots, name), m.Bytes+info.Size()
	}
	for i, s := range list.Segments {
		if m.Bytes += s.Log; i == 0 {
			m.LogStart = s.Base
		}
		if err := l.eachBatch(list.Path(s.Base, segment.LogSuffix), m.newest.note); err != nil {
			l.unread(err)
		}
	}
	return nil
}

// epoch is a leader epoch in the log, by what was written in it.
type epoch struct {
	number record.LeaderEpoch
	// firstMs and lastMs are the times of its first and last batch.
	firstMs, lastMs int64
	// noOps counts the records that Apache Kafka writes every half second and Samsa never.
	noOps int
}

func (e *epoch) note(b record.Batch, h *record.Header) {
	if h.LeaderEpoch != e.number || e.firstMs == 0 {
		*e = epoch{number: h.LeaderEpoch, firstMs: h.MaxTimestamp}
	}
	e.lastMs = h.MaxTimestamp
	if h.IsControl() {
		return
	}
	rs := b.Records(maxStored)
	defer rs.Close()
	for rs.Next() {
		r := rs.Record()
		if m, _, err := stored.DecodeFrame(r.Value); err == nil {
			if _, ok := m.(*stored.NoOpRecord); ok {
				e.noOps++
			}
		}
	}
}

func (m *Metadata) configs() {
	for r := range m.image.ConfigResources() {
		name := map[int8]string{
			metadata.TopicResource: "topic " + r.Name, metadata.BrokerResource: "broker " + r.Name, metadata.BrokerLoggerResource: "logger " + r.Name,
			metadata.ClientMetricsResource: "client metrics " + r.Name, metadata.GroupResource: "group " + r.Name,
		}[r.Type]
		if r.Type == metadata.BrokerResource && r.Name == "" {
			name = "brokers"
		}
		if name == "" {
			name = fmt.Sprintf("resource %d %s", r.Type, r.Name)
		}
		m.Configs[name] = m.image.Config(r)
	}
}

// releases are the newest level of metadata.version by release of Apache Kafka.
func releases() []struct {
	level   int16
	release string
} {
	return []struct {
		level   int16
		release string
	}{
		{7, "3.3"}, {8, "3.4"}, {11, "3.5"}, {14, "3.6"}, {19, "3.7"}, {20, "3.8"}, {21, "3.9"}, {25, "4.0"}, {27, "4.1"}, {29, "4.2"}, {30, "4.3"}, {33, "4.4"},
	}
}

// releaseOf is the first release that knows a level; "" for levels of other times.
func releaseOf(level int16) string {
	for _, r := range releases() {
		if level <= r.level {
			if level < metadata.MinMetadataVersion {
				return ""
			}
			return r.release
		}
	}
	return ""
}

func nameOfLevel(level int16) string {
	switch release := releaseOf(level); {
	case level == 0:
		return ""
	case release == "":
		return fmt.Sprint(level)
	default:
		return fmt.Sprintf("%d (%s)", level, release)
	}
}

// idle is how long an Apache Kafka cannot go without a NO_OP record, with some room: metadata.max.idle.interval.ms is 500.
const idle = 5 * time.Second

// writer says who has written last, by what differs between the programs.
func (l *looker) writer() {
	w := &l.r.Writer
	w.Program = "unknown"
	say := func(format string, args ...any) { w.Evidence = append(w.Evidence, fmt.Sprintf(format, args...)) }
	switch m := l.r.Metadata; {
	case m == nil && l.r.Era == "zookeeper":
		w.Program = "kafka"
		say("meta.properties has version 0, which brokers of ZooKeeper's time wrote (0.10 to 3.9)")
	case m == nil:
		say("there is no metadata log")
	default:
		l.writerOf(m, say)
	}
}

func (l *looker) writerOf(m *Metadata, say func(string, ...any)) {
	w, e := &l.r.Writer, m.newest
	if m.image == nil {
		return
	}
	features := func(f []metadata.FeatureRange) {
		for _, x := range f {
			if x.Name == metadata.MetadataVersionFeature {
				w.Version = releaseOf(x.Max)
				say("the last broker that registered supports metadata.version up to %s", nameOfLevel(x.Max))
			}
		}
	}
	if b := m.image.Brokers[l.r.NodeID]; b != nil {
		features(b.Features)
		if slices.Equal(b.Features, metadata.SupportedFeatures()) {
			w.Program = "samsa"
			say("it registered its features in Samsa's order")
			return
		}
		w.Program = "kafka"
		say("it registered its features in an order that is not Samsa's")
	}
	switch lasted := time.Duration(e.lastMs-e.firstMs) * time.Millisecond; {
	case e.noOps > 0:
		w.Program = "kafka"
		say("leader epoch %d has %d NO_OP records, which Samsa does not write", e.number, e.noOps)
	case m.Bootstrap:
		say("the directory was formatted and never served")
	case lasted > idle && w.Program == "unknown":
		w.Program = "samsa"
		say("leader epoch %d lasted %v without a NO_OP record", e.number, lasted.Round(time.Second))
	}
}
