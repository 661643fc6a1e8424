package explain

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/samsalog/samsa/inspect/logfile"
	"github.com/samsalog/samsa/inspect/verify"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/storage/logdir"
	"github.com/samsalog/samsa/storage/producer"
	"github.com/samsalog/samsa/storage/segment"
	"github.com/samsalog/samsa/vfs"
)

// Segment is what the answers need to know of one segment.
type Segment struct {
	Base int64 `json:"baseOffset"`
	// End is the offset after its last batch.
	End   int64 `json:"endOffset"`
	Bytes int64 `json:"bytes"`
	// Largest is the largest timestamp in ms, -1 without; ModTime the file's, which counts then.
	Largest int64     `json:"largestTimestamp"`
	First   int64     `json:"firstTimestamp"`
	ModTime time.Time `json:"modTime"`
	Active  bool      `json:"active"`
}

// Partition is a partition as its files show it.
type Partition struct {
	Name     string    `json:"partition"`
	Dir      string    `json:"dir"`
	Segments []Segment `json:"segments"`
	Bytes    int64     `json:"bytes"`
	// LogStart, HighWatermark and Cleaned are of the checkpoints, -1 without an entry; LogEnd is of the log.
	LogStart, HighWatermark, LogEnd, Cleaned int64
	// Open are the transactions that have no marker yet, by first offset.
	Open []producer.Entry `json:"openTransactions"`
	// LastData is the offset of the last record that consumers see, -1: none.
	LastData int64

	list *logfile.Partition
	fs   vfs.FS
}

// Load reads what a partition directory and the checkpoints beside it tell.
func Load(ctx context.Context, fsys vfs.FS, dir string) (*Partition, error) {
	list, err := logfile.List(fsys, dir)
	if err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	p := &Partition{Name: filepath.Base(abs), Dir: dir, LogStart: -1, HighWatermark: -1, Cleaned: -1, LastData: -1, list: list, fs: fsys}
	p.checkpoints(filepath.Dir(abs))
	state := producer.New(producer.Fixed(1<<63 - 1))
	for i, s := range list.Segments {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := p.segment(s, i+1 == len(list.Segments), state); err != nil {
			return nil, err
		}
	}
	if len(p.Segments) > 0 {
		p.LogStart = max(p.LogStart, p.Segments[0].Base)
	}
	for _, e := range state.Entries() {
		if e.CurrentTxnFirstOffset >= 0 {
			p.Open = append(p.Open, e)
		}
	}
	producer.Sort(p.Open)
	return p, nil
}

func (p *Partition) checkpoints(parent string) {
	n, err := logdir.ParseName(p.Name)
	if err != nil {
		return
	}
	for _, c := range []struct {
		file string
		into *int64
	}{{checkpoint.LogStartFile, &p.LogStart}, {checkpoint.HighWatermarkFile, &p.HighWatermark}, {checkpoint.CleanerOffsetsFile, &p.Cleaned}} {
		all, err := checkpoint.ReadOffsets(p.fs, filepath.Join(parent, c.file))
		if o, ok := all[n.TopicPartition]; ok && err == nil {
			*c.into = int64(o)
		}
	}
}

// segment walks the headers of one segment.
func (p *Partition) segment(s logfile.Segment, active bool, state *producer.State) error {
	path := p.list.Path(s.Base, segment.LogSuffix)
	info, err := p.fs.Stat(path)
	if err != nil {
		return err
	}
	f, err := logfile.Open(p.fs, path)
	if err != nil {
		return err
	}
	defer f.Close()
	out := Segment{Base: s.Base, End: s.Base, Bytes: f.SizeInBytes, Largest: -1, First: -1, ModTime: info.ModTime(), Active: active}
	r := logfile.NewReader(f, 0, f.SizeInBytes)
	defer r.Close()
	for r.NextHeader() {
		h := *r.Header()
		if out.End == out.Base && out.First < 0 {
			out.First = h.MaxTimestamp
		}
		out.Largest, out.End = max(out.Largest, h.MaxTimestamp), int64(h.NextOffset())
		if !h.IsControl() && h.Count != 0 {
			p.LastData = int64(h.LastOffset())
		}
		var marker *record.EndTxnMarker
		if h.HasProducerID() && h.IsControl() {
			if !r.Next() {
				break
			}
			marker, _ = segment.Marker(r.Batch())
		} else {
			r.Skip()
		}
		if err := state.Stage(&h, marker, producer.Rules{Source: producer.FromLog}); err != nil {
			state.Discard()
			continue
		}
		state.Commit(h.NextOffset(), h.MaxTimestamp)
		state.HighWatermark(h.NextOffset())
	}
	p.Segments = append(p.Segments, out)
	p.Bytes += out.Bytes
	p.LogEnd = out.End
	return nil
}

// Partitions are the directories of a topic's partitions in a log directory; topic may also name one partition, and dir may be
// a partition's directory, then topic is "".
func Partitions(fsys vfs.FS, dir, topic string) ([]string, error) {
	if topic == "" {
		return []string{dir}, nil
	}
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, name := range verify.Partitions(entries) {
		n, err := logdir.ParseName(name)
		if err == nil && n.Kind == logdir.Current && (n.TopicPartition.Topic == topic || name == topic) {
			all = append(all, filepath.Join(dir, name))
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s holds no partition of %s", dir, topic)
	}
	return all, nil
}

// when prints a time in ms.
func when(ms int64) string {
	if ms < 0 {
		return "none"
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05.000Z")
}

// size prints bytes for people.
func size(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	v, i := float64(n), 0
	for v >= 1024 && i+1 < len(units) {
		v, i = v/1024, i+1
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", v, units[i])
}

// count prints a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// lines joins what an answer says.
type lines struct{ strings.Builder }

func (l *lines) add(format string, args ...any) { fmt.Fprintf(l, format+"\n", args...) }
