package samsa_test

import (
	"encoding/hex"
	"errors"
	"path"
	"strings"
	"testing"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

const metadataLog = "/data/__cluster_metadata-0/00000000000000000000.log"

// spoiler makes a directory of Kafka's odd.
type spoiler struct {
	t   *testing.T
	mem *vfs.Mem
}

// batch appends a batch to the metadata log, as the next one of its leader.
func (s *spoiler) batch(control bool, pairs ...[]byte) {
	s.t.Helper()
	found, err := metadata.Look(s.mem, "/data", "")
	if err != nil {
		s.t.Fatal(err)
	}
	o := record.DefaultBuilderOptions()
	o.BaseOffset, o.LeaderEpoch, o.Control = found.EndOffset, found.LeaderEpoch, control
	b := record.NewBuilder(o)
	for i := 0; i < len(pairs); i += 2 {
		b.Append(1795996000000, pairs[i], pairs[i+1], nil)
	}
	s.add(metadataLog, b.Build())
}

func (s *spoiler) add(name string, more []byte) {
	s.t.Helper()
	putFile(s.t, s.mem, name, 0o644, append(getFile(s.t, s.mem, name), more...))
}

func (s *spoiler) records(list ...stored.Message) {
	s.t.Helper()
	var pairs [][]byte
	for _, m := range list {
		pairs = append(pairs, nil, stored.AppendFrame(nil, m, m.HighestVersion()))
	}
	s.batch(false, pairs...)
}

func (s *spoiler) raw(value string) {
	s.t.Helper()
	b, err := hex.DecodeString(value)
	if err != nil {
		s.t.Fatal(err)
	}
	s.batch(false, nil, b)
}

func (s *spoiler) control(kind record.ControlType, m stored.Message) {
	s.t.Helper()
	s.batch(true, record.ControlKey(kind), m.AppendTo(nil, 0))
}

// flip changes one byte of a file.
func (s *spoiler) flip(name string, at int) {
	s.t.Helper()
	b := getFile(s.t, s.mem, name)
	b[at] ^= 0x40
	putFile(s.t, s.mem, name, 0o644, b)
}

// copyTree copies files below one directory to another.
func (s *spoiler) copyTree(from, to string) {
	s.t.Helper()
	for name, b := range filesOf(s.t, s.mem, from) {
		putFile(s.t, s.mem, to+strings.TrimPrefix(name, from), 0o644, b)
	}
}

func (s *spoiler) remove(name string) {
	s.t.Helper()
	if err := errors.Join(s.mem.RemoveAll(name), s.mem.SyncDir(path.Dir(name))); err != nil {
		s.t.Fatal(err)
	}
}

func (s *spoiler) topic(name string) *metadata.Topic {
	s.t.Helper()
	found, err := metadata.Look(s.mem, "/data", "")
	if err != nil {
		s.t.Fatal(err)
	}
	return found.Image.Topics.ByName(name)
}

func (s *spoiler) newestSnapshot() string {
	s.t.Helper()
	entries, err := s.mem.ReadDir("/data/__cluster_metadata-0")
	if err != nil {
		s.t.Fatal(err)
	}
	newest := ""
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".checkpoint") {
			newest = max(newest, e.Name())
		}
	}
	return "/data/__cluster_metadata-0/" + newest
}

func voters(ids ...int32) *stored.VotersRecord {
	v := &stored.VotersRecord{}
	for _, id := range ids {
		v.Voters = append(v.Voters, stored.VotersRecordVoter{VoterID: id})
	}
	return v
}
