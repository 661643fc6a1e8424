package savepoint

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/samsalog/samsa/internal/adopt"
	"github.com/samsalog/samsa/vfs"
)

// Log says what a rollback means for the records of a partition.
type Log struct {
	Dir       string `json:"dir"`
	Partition string `json:"partition"`
	// TopicID is the one that was saved, NowID the present one; "" where there is none.
	TopicID string `json:"topicId"`
	NowID   string `json:"nowId"`
	// Start and End bound the offsets that were saved, NowStart and NowEnd those there now; -1 where the partition was, or is, not there.
	Start    int64 `json:"start"`
	End      int64 `json:"end"`
	NowStart int64 `json:"nowStart"`
	NowEnd   int64 `json:"nowEnd"`
}

// GivenUp are the offsets from from to to-1 that are lost by the rollback.
func (l Log) GivenUp() (from, to int64) {
	if l.NowEnd < 0 {
		return 0, 0
	}
	if l.End < 0 || l.TopicID != l.NowID {
		return l.NowStart, l.NowEnd
	}
	return min(max(l.End, l.NowStart), l.NowEnd), l.NowEnd
}

// ComeBack are the offsets from from to to-1 that are there again after the rollback and had been deleted.
func (l Log) ComeBack() (from, to int64) {
	if l.End < 0 {
		return 0, 0
	}
	if l.NowEnd < 0 || l.TopicID != l.NowID {
		return l.Start, l.End
	}
	return l.Start, max(l.Start, min(l.NowStart, l.End))
}

// Changes reports whether the rollback changes which records there are. Records that compaction has removed in between come back too.
func (l Log) Changes() bool {
	return l.Start != l.NowStart || l.End != l.NowEnd || l.TopicID != l.NowID
}

// String says it in a line.
func (l Log) String() string {
	from, to := l.GivenUp()
	back, backTo := l.ComeBack()
	var say []string
	switch {
	case l.End < 0:
		say = append(say, "did not exist and goes")
	case l.NowEnd < 0:
		say = append(say, "was deleted and comes back")
	case l.TopicID != l.NowID:
		say = append(say, "was deleted and created again; the former comes back")
	}
	if to > from {
		say = append(say, fmt.Sprintf("offsets %d to %d are given up (%d)", from, to-1, to-from))
	}
	if backTo > back {
		say = append(say, fmt.Sprintf("offsets %d to %d come back", back, backTo-1))
	}
	return l.Partition + ": " + strings.Join(say, ", ")
}

// records fills Logs and InUse from what is there now.
func (p *Plan) records(ctx context.Context, fsys vfs.FS) error {
	r, err := adopt.Look(ctx, adopt.Options{FS: fsys, Dirs: p.Dirs})
	if err != nil {
		return err
	}
	for _, d := range r.Directories {
		if adopt.InUse(fsys, d.Path) {
			p.InUse = append(p.InUse, d.Path)
		}
	}
	type key struct {
		dir  int
		name string
	}
	all := map[key]*Log{}
	at := func(l line) *Log {
		k := key{l.Dir, l.Path}
		if all[k] == nil {
			all[k] = &Log{Dir: p.Dirs[l.Dir], Partition: l.Path, Start: -1, End: -1, NowStart: -1, NowEnd: -1}
		}
		return all[k]
	}
	for _, l := range p.m.lines {
		if l.Kind == "log" {
			x := at(l)
			x.Start, x.End, x.TopicID = l.Start, l.End, l.TopicID
		}
	}
	for _, l := range logLines(r, p.Dirs) {
		x := at(l)
		x.NowStart, x.NowEnd, x.NowID = l.Start, l.End, l.TopicID
	}
	for _, l := range all {
		if l.Changes() {
			p.Logs = append(p.Logs, *l)
		}
	}
	slices.SortFunc(p.Logs, func(a, b Log) int { return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Dir, b.Dir)) })
	return nil
}
