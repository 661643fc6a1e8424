package repair

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/samsalog/samsa/inspect/logfile"
	"github.com/samsalog/samsa/inspect/verify"
)

// raft plans for what only the metadata log has: snapshots and quorum-state.
func (p *planner) raft(s *verify.State) {
	if !s.Facts.Raft {
		return
	}
	for _, name := range s.BadCheckpoints {
		if !p.spare(s) {
			continue // verify's finding stays
		}
		path := filepath.Join(s.List.Dir, name)
		p.mended[path] = true
		p.add("move", path, -1, -1, "a metadata snapshot that is wrong; a node reads another one, and the log from there", func(j *journal) error { return j.move(path, "wrong snapshot") })
	}
	if s.BadQuorum {
		path := filepath.Join(s.List.Dir, logfile.QuorumStateFile)
		p.mended[path] = true
		why := "the node forgets for whom it voted; it goes on with the newest epoch of its log. Of several controllers start this one when the others have a leader"
		p.add("move", path, -1, -1, why, func(j *journal) error { return j.move(path, "wrong quorum-state") })
	}
}

// spare reports whether the metadata can be had without the snapshots that are wrong: another one is whole, and the log goes on
// from it without a gap.
func (p *planner) spare(s *verify.State) bool {
	start := int64(-1)
	if len(s.List.Segments) > 0 {
		start = s.List.Segments[0].Base
	}
	for _, name := range s.List.Checkpoints {
		end, ok := snapshotEnd(name)
		if !ok || slices.Contains(s.BadCheckpoints, name) {
			continue
		}
		if start >= 0 && start <= end && end <= s.LogEnd {
			return true
		}
	}
	return false
}

// snapshotEnd is the offset that a metadata snapshot stands for: <offset>-<epoch>.checkpoint.
func snapshotEnd(name string) (int64, bool) {
	offset, _, ok := strings.Cut(strings.TrimSuffix(name, logfile.CheckpointSuffix), "-")
	end, err := strconv.ParseInt(offset, 10, 64)
	return end, ok && err == nil
}
