package metadata

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// everyKind are records of all types that leave something in the image.
func everyKind() []stored.Message {
	registration := stored.NewRegisterBrokerRecord()
	registration.BrokerID, registration.BrokerEpoch, registration.Rack = 1, 12, new("r1")
	registration.LogDirs, registration.CordonedLogDirs = []record.UUID{{0: 7}}, []record.UUID{}
	registration.EndPoints = []stored.RegisterBrokerRecordBrokerEndpoint{{Name: "PLAINTEXT", Host: "h", Port: 9092}}
	registration.Features = []stored.RegisterBrokerRecordBrokerFeature{{Name: "metadata.version", MinSupportedVersion: 7, MaxSupportedVersion: 33}}
	recovering := stored.NewPartitionChangeRecord()
	recovering.PartitionID, recovering.TopicID = 1, record.UUID{15: 1, 0: 9}
	recovering.LeaderRecoveryState, recovering.ISR, recovering.Leader = 1, []int32{}, stored.NoLeader
	recovering.EligibleLeaderReplicas, recovering.LastKnownELR = []int32{1}, []int32{1}
	out := append([]stored.Message{&registration}, topicRecords("b.with_dots", 1, 3)...)
	out = append(out, topicRecords("a", 2, 12)...)
	return append(out,
		&stored.BrokerRegistrationChangeRecord{BrokerID: 1, BrokerEpoch: 12, Fenced: -1},
		&recovering,
		&stored.RegisterControllerRecord{ControllerID: 1, IncarnationID: record.UUID{1}},
		&stored.RegisterControllerRecord{ControllerID: 2},
		&stored.UnregisterControllerRecord{ControllerID: 2},
		&stored.ConfigRecord{ResourceType: TopicResource, ResourceName: "a", Name: "x", Value: new("1")},
		&stored.ConfigRecord{ResourceType: TopicResource, ResourceName: "a", Name: "y", Value: new("")},
		&stored.ConfigRecord{ResourceType: ClientMetricsResource, ResourceName: "m", Name: "interval.ms", Value: new("100")},
		&stored.ConfigRecord{ResourceType: GroupResource, ResourceName: "g", Name: "z", Value: new("3")},
		&stored.ConfigRecord{ResourceType: BrokerResource, ResourceName: "1", Name: "q", Value: new("3")},
		&stored.ConfigRecord{ResourceType: BrokerResource, ResourceName: "1", Name: "q"},
		&stored.ClientQuotaRecord{Entity: []stored.ClientQuotaRecordEntityData{{EntityType: "user", EntityName: new("u")}, {EntityType: "client-id"}}, Key: "producer_byte_rate", Value: 1.5},
		&stored.ClientQuotaRecord{Entity: []stored.ClientQuotaRecordEntityData{{EntityType: "client-id"}, {EntityType: "user", EntityName: new("u")}}, Key: "consumer_byte_rate", Value: 2},
		&stored.ClientQuotaRecord{Entity: []stored.ClientQuotaRecordEntityData{{EntityType: "ip", EntityName: new("::1")}}, Key: "connection_creation_rate", Value: 3},
		&stored.ClientQuotaRecord{Entity: []stored.ClientQuotaRecordEntityData{{EntityType: "ip", EntityName: new("::1")}}, Key: "connection_creation_rate", Remove: true},
		&stored.ProducerIdsRecord{BrokerID: 1, NextProducerID: 3000},
		&stored.AccessControlEntryRecord{ID: record.UUID{3}, ResourceName: "r", Principal: "User:u"},
		&stored.AccessControlEntryRecord{ID: record.UUID{4}, ResourceName: "s", Principal: "User:u"},
		&stored.RemoveAccessControlEntryRecord{ID: record.UUID{4}},
		&stored.UserScramCredentialRecord{Name: "u", Mechanism: 1, Salt: []byte("s"), Iterations: 4096},
		&stored.UserScramCredentialRecord{Name: "u", Mechanism: 2, Salt: []byte("t"), Iterations: 4096},
		&stored.RemoveUserScramCredentialRecord{Name: "u", Mechanism: 2},
		&stored.DelegationTokenRecord{Owner: "User:u", TokenID: "t1"},
		&stored.DelegationTokenRecord{Owner: "User:u", TokenID: "t2"},
		&stored.RemoveDelegationTokenRecord{TokenID: "t2"},
		&stored.ZkMigrationStateRecord{},
		&stored.NoOpRecord{},
	)
}

func (n *node) files() (out []string) {
	entries, err := n.fs.ReadDir(n.dir + "/__cluster_metadata-0")
	if err != nil {
		n.t.Fatal(err)
	}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func (n *node) snapshotFiles() []string {
	return slices.DeleteFunc(n.files(), func(name string) bool {
		return !strings.Contains(name, "checkpoint") || name == "leader-epoch-checkpoint"
	})
}

// snapshot makes one of the present image, at once.
func (n *node) snapshot(s *Store) {
	n.t.Helper()
	if err := s.snapshots.make(publication{image: s.Image(), quorum: s.voters.Load(), appendedMs: n.nowMs.Load()}); err != nil {
		n.t.Fatal(err)
	}
}

// A snapshot holds everything: the image that is loaded from it alone is the one that was there.
func TestSnapshotHoldsEverything(t *testing.T) {
	n := newNode(t, vfs.NewMem())
	n.tweak = func(o *Options) { o.Snapshots = SnapshotPolicy{MaxNewBytes: 1} }
	s := n.open()
	mustAppend(t, s, everyKind()...)
	before := s.Image()
	if err := s.Close(); err != nil { // waits for the snapshot
		t.Fatal(err)
	}
	names := n.snapshotFiles()
	want := snapshotID{before.Offset + 1, 1}.String() + ".checkpoint"
	if !slices.Contains(names, want) {
		t.Fatalf("%s is not among %v", want, names)
	}
	// Without the log, only the snapshot is left.
	if err := n.fs.Remove(n.dir + "/__cluster_metadata-0/00000000000000000000.log"); err != nil {
		t.Fatal(err)
	}
	s = n.open()
	defer s.Close()
	now := *s.Image()
	now.Offset = before.Offset
	if err := same(before, &now); err != nil {
		t.Error(err)
	}
	if s.Log().LogStartOffset() != before.Offset+1 || s.Epoch() != 2 {
		t.Errorf("log starts at %d, epoch %d", s.Log().LogStartOffset(), s.Epoch())
	}
	if got := s.Image().Topics.ByName("b.with_dots").Partitions[1]; got.LeaderRecoveryState != 1 || len(got.ELR) != 1 || got.Leader != -1 || got.LeaderEpoch != 1 {
		t.Errorf("partition: %+v", got)
	}
	if s.Image().Brokers[1].CordonedLogDirs == nil {
		t.Error("cordoned directories: null, were empty")
	}
}

func TestSnapshotWhenDue(t *testing.T) {
	n := newNode(t, vfs.NewMem())
	n.tweak = func(o *Options) { o.Snapshots = SnapshotPolicy{MaxNewBytes: -1, MaxInterval: time.Minute} }
	s := n.open()
	mustAppend(t, s, topicRecords("a", 1, 1)...)
	n.pass(2 * time.Minute)
	mustAppend(t, s, topicRecords("b", 2, 1)...)
	at := s.Image().Offset + 1
	mustAppend(t, s, topicRecords("c", 3, 1)...)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got, want := n.snapshotFiles(), []string{bootstrapID.String() + ".checkpoint", snapshotID{at, 1}.String() + ".checkpoint"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	s = n.open()
	defer s.Close()
	if s.Image().Topics.Len() != 3 {
		t.Errorf("%d topics", s.Image().Topics.Len())
	}
}

// Old snapshots go, and the log before the oldest that is kept; the newest and the one of formatting stay.
func TestSnapshotRetention(t *testing.T) {
	n := newNode(t, vfs.NewMem())
	var later []func()
	n.tweak = func(o *Options) {
		o.Snapshots = SnapshotPolicy{MaxNewBytes: -1, MaxInterval: -1, RetentionBytes: 1}
		o.SegmentBytes = 400
		o.Delay = func(_ time.Duration, f func()) { later = append(later, f) }
	}
	s := n.open()
	for k := range 6 {
		mustAppend(t, s, topicRecords(string(rune('a'+k)), byte(k+1), 1)...)
		n.snapshot(s)
	}
	newest := snapshotID{s.Image().Offset + 1, 1}
	if start := s.Log().LogStartOffset(); start != newest.EndOffset {
		t.Errorf("log starts at %d, want %d", start, newest.EndOffset)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var kept, deleted []string
	for _, name := range n.snapshotFiles() {
		if strings.HasSuffix(name, ".deleted") {
			deleted = append(deleted, name)
		} else {
			kept = append(kept, name)
		}
	}
	if want := []string{bootstrapID.String() + ".checkpoint", newest.String() + ".checkpoint"}; !slices.Equal(kept, want) || len(deleted) != 5 {
		t.Errorf("kept %v, want %v; deleted %v", kept, want, deleted)
	}
	for _, f := range later[:2] {
		f()
	}
	// What is left under the deleted name goes at the next start, like the part of a snapshot.
	part := n.dir + "/__cluster_metadata-0/00000000000000000099-0000000001-42.checkpoint.part"
	writeFile(t, n.fs, part, []byte("x"))
	s = n.open()
	defer s.Close()
	if s.Image().Topics.Len() != 6 {
		t.Errorf("%d topics", s.Image().Topics.Len())
	}
	for _, name := range n.snapshotFiles() {
		if strings.HasSuffix(name, ".deleted") && !strings.Contains(name, "log.deleted") || strings.HasSuffix(name, ".part") {
			t.Errorf("%s is left", name)
		}
	}
}

func TestSnapshotRetentionByTime(t *testing.T) {
	n := newNode(t, vfs.NewMem())
	n.tweak = func(o *Options) {
		o.Snapshots = SnapshotPolicy{MaxNewBytes: -1, MaxInterval: -1, RetentionBytes: -1, Retention: time.Hour}
	}
	s := n.open()
	mustAppend(t, s, topicRecords("a", 1, 1)...)
	n.snapshot(s)
	old := s.Image().Offset + 1
	n.pass(30 * time.Minute)
	mustAppend(t, s, topicRecords("b", 2, 1)...)
	n.snapshot(s)
	middle := s.Image().Offset + 1
	n.pass(45 * time.Minute)
	mustAppend(t, s, topicRecords("c", 3, 1)...)
	n.snapshot(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s.Log().LogStartOffset() != middle {
		t.Errorf("log starts at %d: the snapshot at %d is too old, the one at %d is not", s.Log().LogStartOffset(), old, middle)
	}
}

// META-6: whatever is wrong with the newest snapshot, it is named, and nothing is written.
func TestDamagedSnapshot(t *testing.T) {
	n := newNode(t, vfs.NewMem())
	n.tweak = func(o *Options) { o.Snapshots = SnapshotPolicy{MaxNewBytes: 1} }
	s := n.open()
	mustAppend(t, s, topicRecords("a", 1, 1)...)
	name := filepath.Join(s.dir, snapshotID{s.Image().Offset + 1, 1}.String()+".checkpoint")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	good := readFile(t, n.fs, name)
	header := int(record.Batch(good).Header().SizeInBytes)
	flip := func(at int) []byte {
		b := slices.Clone(good)
		b[at] ^= 1
		return b
	}
	for what, bad := range map[string][]byte{
		"empty":             {},
		"cut in a header":   good[:20],
		"cut in a batch":    good[:len(good)-1],
		"without footer":    good[:len(good)-75],
		"without header":    good[header:],
		"flipped bit":       flip(header + 70),
		"length":            flip(8),
		"bytes after":       append(slices.Clone(good), make([]byte, 30)...),
		"batch after":       append(slices.Clone(good), good[header:]...),
		"nothing but zeros": make([]byte, len(good)),
	} {
		writeFile(t, n.fs, name, bad)
		if _, err := Open(n.options()); !errors.Is(err, ErrInvalidSnapshot) || !strings.Contains(err.Error(), filepath.Base(name)) {
			t.Errorf("%s: %v", what, err)
		}
	}
	writeFile(t, n.fs, name, good)
	n.open().Close()
}

func TestReadQuorumState(t *testing.T) {
	for text, want := range map[string]*quorumState{
		`{"clusterId":"","leaderId":3,"leaderEpoch":7,"votedId":-1,"appliedOffset":0,"currentVoters":[{"voterId":1},{"voterId":3}],"data_version":0}`: {
			LeaderID: 3, LeaderEpoch: 7, VotedID: -1, CurrentVoters: []int32{1, 3}},
		`{"clusterId":"","leaderId":-1,"leaderEpoch":0,"votedId":-1,"appliedOffset":0,"currentVoters":null,"data_version":0}` + "\nrest": {
			LeaderID: -1, VotedID: -1},
		`{"leaderId":-1,"leaderEpoch":8,"votedId":2,"votedDirectoryId":"bXktZGlyLWlkLTAwMDAwMQ","data_version":1}`: {
			LeaderID: -1, LeaderEpoch: 8, VotedID: 2, VotedDirectoryID: record.UUID([]byte("my-dir-id-000001")), DataVersion: 1},
		`{"leaderId":1,"leaderEpoch":8}`:                  nil,
		`{"leaderId":1,"leaderEpoch":8,"data_version":2}`: nil,
		``:        nil,
		`garbage`: nil,
		`{"leaderId":1,"leaderEpoch":99999999999,"votedId":1,"data_version":1}`:                  nil,
		`{"leaderId":1,"leaderEpoch":8,"votedId":1,"votedDirectoryId":"short","data_version":1}`: nil,
	} {
		got, err := parseQuorumState([]byte(text))
		if (err == nil) != (want != nil) {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if want == nil {
			continue
		}
		a, err1 := got.encode()
		b, err2 := want.encode()
		if string(a) != string(b) || err1 != nil || err2 != nil {
			t.Errorf("%s: got %s, want %s", text, a, b)
		}
	}
	if s, err := readQuorumState(vfs.NewMem(), "/none"); s != nil || err != nil {
		t.Errorf("missing file: %v, %v", s, err)
	}
}
