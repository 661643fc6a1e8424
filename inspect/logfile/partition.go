package logfile

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/samsalog/samsa/storage/segment"
	"github.com/samsalog/samsa/vfs"
)

// Names of what else lies in a partition directory.
const (
	SnapshotSuffix   = ".snapshot"
	CheckpointSuffix = ".checkpoint"
	QuorumStateFile  = "quorum-state"
)

// Partition is the listing of a partition directory at one moment.
type Partition struct {
	Dir string
	// Segments are those with a `.log`, by base offset.
	Segments []Segment
	// Orphans are index files without their `.log`.
	Orphans []string
	// Snapshots are producer snapshots by offset.
	Snapshots []Snapshot
	// Checkpoints are metadata snapshots.
	Checkpoints []string
	// Leftovers carry a suffix that says they are being written or removed, and the names of others are no Kafka's.
	Leftovers, Unknown []string
	// LeaderEpochs, Metadata, Quorum: the file is there.
	LeaderEpochs, Metadata, Quorum bool
}

// Segment is one segment's files by size in bytes; -1: there is none.
type Segment struct {
	Base                  int64
	Log, Index, Time, Txn int64
}

// Snapshot is a producer snapshot file.
type Snapshot struct {
	Offset int64
	Name   string
}

// Path is the path of one of the segment's files, by suffix.
func (p *Partition) Path(base int64, suffix string) string {
	return filepath.Join(p.Dir, strings.Repeat("0", max(0, 20-len(strconv.FormatInt(base, 10))))+strconv.FormatInt(base, 10)+suffix)
}

// List lists a partition directory.
func List(fsys vfs.FS, dir string) (*Partition, error) {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	p := &Partition{Dir: dir}
	bases := map[int64]*Segment{}
	files := map[int64][]string{}
	for _, e := range entries {
		if e.IsDir() {
			p.Unknown = append(p.Unknown, e.Name())
			continue
		}
		if n, ok := segment.ParseName(e.Name()); ok && n.State == "" {
			size := int64(-1)
			if info, err := e.Info(); err == nil {
				size = info.Size()
			}
			if size < 0 {
				continue // gone meanwhile
			}
			base := int64(n.Base)
			s := bases[base]
			if s == nil {
				s = &Segment{Base: base, Log: -1, Index: -1, Time: -1, Txn: -1}
				bases[base] = s
			}
			*s.field(n.Suffix) = size
			files[base] = append(files[base], e.Name())
			continue
		}
		p.other(e)
	}
	for base, s := range bases {
		if s.Log < 0 {
			p.Orphans = append(p.Orphans, files[base]...)
			continue
		}
		p.Segments = append(p.Segments, *s)
	}
	slices.Sort(p.Orphans)
	slices.SortFunc(p.Segments, func(a, b Segment) int { return int(min(1, max(-1, a.Base-b.Base))) })
	slices.SortFunc(p.Snapshots, func(a, b Snapshot) int { return int(min(1, max(-1, a.Offset-b.Offset))) })
	return p, nil
}

func (s *Segment) field(suffix string) *int64 {
	switch suffix {
	case segment.LogSuffix:
		return &s.Log
	case segment.OffsetIndexSuffix:
		return &s.Index
	case segment.TimeIndexSuffix:
		return &s.Time
	default:
		return &s.Txn
	}
}

// other sorts the files that belong to no segment.
func (p *Partition) other(e fs.DirEntry) {
	name := e.Name()
	switch stem, ext := strings.TrimSuffix(name, filepath.Ext(name)), filepath.Ext(name); {
	case name == segment.LeaderEpochFile:
		p.LeaderEpochs = true
	case name == segment.PartitionMetadataFile:
		p.Metadata = true
	case name == QuorumStateFile:
		p.Quorum = true
	case slices.Contains([]string{segment.DeletedSuffix, segment.CleanedSuffix, segment.SwapSuffix, segment.TmpSuffix, ".part"}, ext):
		p.Leftovers = append(p.Leftovers, name)
	case ext == SnapshotSuffix:
		if n, err := strconv.ParseInt(stem, 10, 64); err == nil && n >= 0 {
			p.Snapshots = append(p.Snapshots, Snapshot{Offset: n, Name: name})
			return
		}
		p.Unknown = append(p.Unknown, name)
	case ext == CheckpointSuffix:
		p.Checkpoints = append(p.Checkpoints, name)
	default:
		p.Unknown = append(p.Unknown, name)
	}
}
