package metadata

import (
	"slices"
	"testing"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
)

// A directory of a static quorum becomes one of a dynamic quorum: a control batch tells so, which a restart finds in the
// log, and one after a snapshot in the snapshot.
func TestUpgradeKRaftVersion(t *testing.T) {
	n := fixtureNode(t, "3.9.1-clean")
	s := n.open()
	at := s.Image().Offset
	for range 2 { // the second time there is nothing to do
		if err := s.UpgradeKRaftVersion(); err != nil {
			t.Fatal(err)
		}
		if s.KRaftVersion() != 1 || s.Image().Offset != at+2 {
			t.Fatalf("kraft.version %d, offset %d, before %d", s.KRaftVersion(), s.Image().Offset, at)
		}
	}
	info, err := s.log.Read(at+1, storage.LogEnd, 1<<20, true)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, info.Region.Length)
	err = info.Region.ReadInto(b)
	info.Region.Release()
	if err != nil {
		t.Fatal(err)
	}
	records, err := decodeControl(record.Batch(b))
	if err != nil {
		t.Fatal(err)
	}
	var kinds []record.ControlType
	for _, r := range records {
		kinds = append(kinds, r.kind)
	}
	if !slices.Equal(kinds, []record.ControlType{record.ControlKRaftVersion, record.ControlKRaftVoters}) {
		t.Errorf("the batch holds %v", kinds)
	}
	mustAppend(t, s, topicRecords("new", 1, 2)...)
	for _, snapshot := range []bool{false, true} {
		if snapshot {
			n.snapshot(s)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = n.open()
		v := s.voters.Load().voters
		if s.KRaftVersion() != 1 || len(v.Voters) != 1 || v.Voters[0].VoterID != 1 || v.Voters[0].VoterDirectoryID != s.Directory() {
			t.Errorf("snapshot %v: kraft.version %d, voters %v", snapshot, s.KRaftVersion(), v)
		}
		if s.Image().Topics.ByName("new") == nil {
			t.Errorf("snapshot %v: the topic is gone", snapshot)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
