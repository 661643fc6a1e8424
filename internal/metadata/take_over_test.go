package metadata

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// staticMember writes the metadata log of a broker in a cluster with the static voters 1, 2 and 3.
func staticMember(t *testing.T, mem *vfs.Mem) record.UUID {
	t.Helper()
	dir := logDirOf("/data")
	if err := mem.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	topic := record.UUID{15: 7}
	voters := []stored.LeaderChangeMessageVoter{{VoterID: 1}, {VoterID: 2}, {VoterID: 3}}
	b := controlBatch(0, 4, 1, controlRecord{record.ControlLeaderChange, &stored.LeaderChangeMessage{LeaderID: 3, Voters: voters, GrantingVoters: voters}})
	p := stored.NewPartitionRecord()
	p.PartitionID, p.TopicID, p.Leader, p.Replicas, p.ISR = 0, topic, 3, []int32{3, 2}, []int32{3, 2}
	data, _, err := dataBatch(1, 4, 1, 21, []stored.Message{featureRecord(MetadataVersionFeature, 21), &stored.TopicRecord{Name: "t", TopicID: topic}, &p})
	if err != nil {
		t.Fatal(err)
	}
	f, err := mem.OpenFile(filepath.Join(dir, "00000000000000000000.log"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(slices.Concat([]byte(b), []byte(data)), 0); err != nil {
		t.Fatal(err)
	}
	state := &quorumState{LeaderID: 3, LeaderEpoch: 4, VotedID: -1, CurrentVoters: []int32{1, 2, 3}}
	if err := errors.Join(f.Sync(), f.Close(), writeQuorumState(mem, filepath.Join(dir, quorumStateFile), state)); err != nil {
		t.Fatal(err)
	}
	return topic
}

// TestTakeOverOfAStaticQuorum: kraft.version stays 0, and the one voter is what the log and quorum-state say.
func TestTakeOverOfAStaticQuorum(t *testing.T) {
	mem := vfs.NewMem()
	topic := staticMember(t, mem)
	directory := record.UUID{15: 200}
	o := Options{FS: mem, Handles: vfs.NewHandles(mem, 8), Dir: "/data", NodeID: 2, ClusterID: "c", DirectoryID: directory}
	if _, err := Open(o); !errors.Is(err, ErrNotSoleVoter) {
		t.Fatalf("before: %v", err)
	}
	refusal := errors.New("no")
	if err := TakeOver(o, func(*Image) ([]stored.Message, error) { return nil, refusal }); !errors.Is(err, refusal) {
		t.Fatalf("a decision that failed: %v", err)
	}
	err := TakeOver(o, func(i *Image) ([]stored.Message, error) {
		if i.Topics.ByID(topic) == nil {
			t.Error("the last state has no topic")
		}
		m := stored.NewPartitionChangeRecord()
		m.PartitionID, m.TopicID, m.Replicas, m.ISR, m.Leader = 0, topic, []int32{2}, []int32{2}, stored.NoLeader
		return []stored.Message{&m}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	found, err := Look(mem, "/data", "c")
	if err != nil {
		t.Fatal(err)
	}
	p := found.Image.Topics.ByID(topic).Partitions[0]
	if err := found.Check(2, directory); err != nil || found.KRaftVersion != 0 || !slices.Equal(found.Voters, []int32{2}) || found.LeaderEpoch != 6 || !slices.Equal(p.Replicas, []int32{2}) {
		t.Fatalf("%v: %+v, %+v", err, found, p)
	}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
