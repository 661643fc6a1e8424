package savepoint

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/samsalog/samsa/inspect/logfile"
	"github.com/samsalog/samsa/internal/adopt"
	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/segment"
	"github.com/samsalog/samsa/vfs"
)

// Names at the top of a log directory.
const (
	lockFile  = ".lock"
	lostFound = "lost+found"
)

// tails finds out how much of a log recovery will leave alone. The rest must be copied, since cutting and appending again writes into the
// file that the second name stands for.
type tails struct {
	fs     vfs.FS
	report *adopt.Report
	// points are the recovery points by partition directory; -1: all of the log is recovered. Absent: nothing is.
	points map[string]int64
	// list is that of the partition directory that was asked about last.
	list *logfile.Partition
}

// index takes the recovery points from the report.
func (t *tails) index() {
	t.points = map[string]int64{}
	for _, d := range t.report.Directories {
		t.points[filepath.Join(d.Path, record.TopicPartition{Topic: metadata.TopicName}.String())] = -1 // always scanned wholly
	}
	clean := map[string]bool{}
	for _, d := range t.report.Directories {
		clean[d.Path] = d.Clean()
	}
	for _, topic := range t.report.Topics {
		for _, p := range topic.Partitions {
			if !p.Missing && !clean[filepath.Dir(p.Dir)] {
				t.points[p.Dir] = p.RecoveryPoint
			}
		}
	}
	for _, a := range t.report.Aside {
		if !clean[filepath.Dir(a.Path)] {
			t.points[a.Path] = -1
		}
	}
}

// whole is how many bytes at the beginning of a log of a size no recovery will cut: all, unless the segment will be read and has a batch
// that is torn or damaged.
func (t *tails) whole(path string, size int64) (int64, error) {
	if t.points == nil {
		t.index()
	}
	n, _ := segment.ParseName(filepath.Base(path))
	if n.State != "" || size == 0 {
		return size, nil
	}
	read, err := t.recovered(path, int64(n.Base))
	if err != nil || !read {
		return size, err
	}
	f, err := logfile.Open(t.fs, path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	r := logfile.NewReader(f, 0, size)
	defer r.Close()
	whole, next := int64(0), int64(n.Base)
	for r.Next() && r.Valid() && int64(r.Header().LastOffset()) >= next {
		whole, next = r.Position(), int64(r.Header().NextOffset())
	}
	if err := r.Err(); err != nil && !errors.Is(err, record.ErrCorruptBatch) {
		return 0, err
	}
	return whole, nil
}

// recovered reports whether a broker that starts reads the segment: from the recovery point on, or because its offset index is missing.
func (t *tails) recovered(path string, base int64) (bool, error) {
	dir := filepath.Dir(path)
	if _, err := t.fs.Stat(strings.TrimSuffix(path, segment.LogSuffix) + segment.OffsetIndexSuffix); errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	point, ok := t.points[dir]
	if !ok {
		return false, nil
	}
	if t.list == nil || t.list.Dir != dir {
		list, err := logfile.List(t.fs, dir)
		if err != nil {
			return false, err
		}
		t.list = list
	}
	segments := t.list.Segments
	next := slices.IndexFunc(segments, func(s logfile.Segment) bool { return s.Base > base })
	return next < 0 || segments[next].Base > point, nil
}

// logLines are what was in the logs, by partition directory.
func logLines(r *adopt.Report, dirs []string) (out []line) {
	index := map[string]int{}
	for i, dir := range dirs {
		index[dir] = i
	}
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			if i, ok := index[filepath.Dir(p.Dir)]; ok && !p.Missing {
				out = append(out, line{Kind: "log", Dir: i, Path: filepath.Base(p.Dir), TopicID: p.TopicID(), Start: p.LogStart, End: p.LogEnd})
			}
		}
	}
	if m := r.Metadata; m != nil && m.LogEnd > 0 {
		name := record.TopicPartition{Topic: metadata.TopicName}.String()
		out = append(out, line{Kind: "log", Dir: index[m.Directory], Path: name, Start: m.LogStart, End: m.LogEnd})
	}
	return out
}
