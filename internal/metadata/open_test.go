package metadata

import (
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/vfs"
)

// raw writes a batch behind the Store's back, as another leader of the same epoch would.
func raw(t *testing.T, s *Store, b record.Batch) {
	t.Helper()
	if _, err := s.log.Append(b, storage.AppendOptions{Origin: storage.RaftLeader, LeaderEpoch: s.epoch}); err != nil {
		t.Fatal(err)
	}
	if err := s.log.Flush(s.log.LogEndOffset()); err != nil {
		t.Fatal(err)
	}
}

func rawRecords(t *testing.T, s *Store, records ...stored.Message) {
	t.Helper()
	b, _, err := dataBatch(s.log.LogEndOffset(), s.epoch, 1, MaxMetadataVersion, records)
	if err != nil {
		t.Fatal(err)
	}
	raw(t, s, b)
}

// rawValue writes one record of which only the encoding is known.
func rawValue(t *testing.T, s *Store, text string) {
	t.Helper()
	value, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	b := newBatch(s.log.LogEndOffset(), s.epoch, false)
	b.Append(1, nil, value, nil)
	raw(t, s, b.Build())
}

func begin() stored.Message { return &stored.BeginTransactionRecord{Name: new("x")} }

// META-3: transactions over several batches.
func TestTransactionsInTheLog(t *testing.T) {
	n := newNode(t, vfs.NewMem())
	s := n.open()
	rawRecords(t, s, topicRecords("a", 1, 1)...)
	rawRecords(t, s, append([]stored.Message{begin()}, topicRecords("b", 2, 1)...)...)
	rawRecords(t, s, append(topicRecords("c", 3, 1), new(stored.EndTransactionRecord))...)
	rawRecords(t, s, append([]stored.Message{begin()}, topicRecords("d", 4, 1)...)...)
	rawRecords(t, s, append([]stored.Message{new(stored.AbortTransactionRecord)}, topicRecords("e", 5, 1)...)...)
	rawRecords(t, s, append(topicRecords("f", 6, 1), begin(), &stored.RemoveTopicRecord{TopicID: record.UUID{15: 1, 0: 9}})...)
	end := s.log.LogEndOffset()
	s.Close()
	s = n.open()
	var names []string
	for topic := range s.Image().Topics.All() {
		names = append(names, topic.Name)
	}
	slices.Sort(names)
	if got := strings.Join(names, ""); got != "abcef" {
		t.Errorf("topics %s", got)
	}
	// LEADER_CHANGE, then the end of what was left open.
	if got := s.log.LogEndOffset(); got != end+2 {
		t.Errorf("log ends at %d, want %d", got, end+2)
	}
	mustAppend(t, s, topicRecords("d", 4, 1)...)
	s.Close()
	s = n.open()
	defer s.Close()
	if s.Image().Topics.Len() != 6 {
		t.Errorf("%d topics", s.Image().Topics.Len())
	}
}

// A process that ended inside the bootstrap transaction is followed by one that writes it again.
func TestBootstrapIsBegunAgain(t *testing.T) {
	n := newNode(t, vfs.NewMem())
	s := n.open()
	if err := s.log.TruncateTo(3); err != nil { // as if only the LEADER_CHANGE batch had been written
		t.Fatal(err)
	}
	rawRecords(t, s, begin(), featureRecord(MetadataVersionFeature, 20))
	s.Close()
	s = n.open()
	defer s.Close()
	if i := s.Image(); i.MetadataVersion() != MaxMetadataVersion || len(i.Features) != 6 {
		t.Errorf("features %v", i.Features)
	}
}

// TestR23RefusedDirectories is META-7 and what else is refused, metadata newer than this program above all: the text says why, and no byte of the log or of quorum-state changes.
func TestR23RefusedDirectories(t *testing.T) {
	voters := func(ids ...int32) *stored.VotersRecord {
		v := &stored.VotersRecord{}
		for _, id := range ids {
			v.Voters = append(v.Voters, stored.VotersRecordVoter{VoterID: id})
		}
		return v
	}
	control := func(r ...controlRecord) func(*testing.T, *node, *Store) {
		return func(t *testing.T, _ *node, s *Store) {
			raw(t, s, controlBatch(s.log.LogEndOffset(), s.epoch, 1, r...))
		}
	}
	value := func(text string) func(*testing.T, *node, *Store) {
		return func(t *testing.T, _ *node, s *Store) { rawValue(t, s, text) }
	}
	records := func(r ...stored.Message) func(*testing.T, *node, *Store) {
		return func(t *testing.T, _ *node, s *Store) { rawRecords(t, s, r...) }
	}
	three := []stored.LeaderChangeMessageVoter{{VoterID: 1}, {VoterID: 2}, {VoterID: 3}}
	for name, c := range map[string]struct {
		damage func(*testing.T, *node, *Store)
		want   error
		says   string
	}{
		"unknown record type":       {value("012800"), ErrTooNew, "40"},
		"newer record version":      {value("010203"), ErrTooNew, "TopicRecord"},
		"malformed record":          {value("010200ffff"), stored.ErrShort, "TopicRecord"},
		"feature that is not known": {records(featureRecord("shiny.version", 1)), ErrTooNew, "shiny.version"},
		"metadata.version too new":  {records(featureRecord(MetadataVersionFeature, 34)), ErrTooNew, "34"},
		"metadata.version too old":  {records(featureRecord(MetadataVersionFeature, 6)), ErrTooOld, "6"},
		"feature level too new":     {records(featureRecord(TxnVersionFeature, 3)), ErrTooNew, "transaction.version"},
		"contradiction":             {records(&stored.RemoveTopicRecord{TopicID: record.UUID{1}}), ErrInvalidRecord, "RemoveTopicRecord"},
		"kraft.version too new":     {control(controlRecord{record.ControlKRaftVersion, &stored.KRaftVersionRecord{KRaftVersion: 2}}), ErrTooNew, "kraft.version"},
		"other voters":              {control(controlRecord{record.ControlKRaftVoters, voters(1, 2)}), ErrNotSoleVoter, "[1 2]"},
		"another voter":             {control(controlRecord{record.ControlKRaftVoters, voters(2)}), ErrNotSoleVoter, "[2]"},
		"led by three":              {control(controlRecord{record.ControlLeaderChange, &stored.LeaderChangeMessage{LeaderID: 1, Voters: three}}), ErrNotSoleVoter, "[1 2 3]"},
		"another directory": {control(controlRecord{record.ControlKRaftVoters, &stored.VotersRecord{
			Voters: []stored.VotersRecordVoter{{VoterID: 1, VoterDirectoryID: record.UUID{5}}}}}), ErrNotSoleVoter, "directory"},
		"quorum-state": {func(t *testing.T, n *node, s *Store) {
			writeFile(t, n.fs, s.dir+"/quorum-state", []byte("?"))
		}, nil, "quorum-state"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, vfs.NewMem())
			s := n.open()
			mustAppend(t, s, topicRecords("a", 1, 1)...)
			c.damage(t, n, s)
			s.Close()
			log := readFile(t, n.fs, s.dir+"/00000000000000000000.log")
			state := readFile(t, n.fs, s.dir+"/quorum-state")
			_, err := Open(n.options())
			if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %v with %q", err, c.want, c.says)
			}
			if !slices.Equal(log, readFile(t, n.fs, s.dir+"/00000000000000000000.log")) || !slices.Equal(state, readFile(t, n.fs, s.dir+"/quorum-state")) {
				t.Error("something was written")
			}
		})
	}
}

func TestRefusedStaticVoters(t *testing.T) {
	n := fixtureNode(t, "3.9.1-clean")
	const name = "/data/__cluster_metadata-0/quorum-state"
	writeFile(t, n.fs, name, []byte(`{"clusterId":"","leaderId":2,"leaderEpoch":1,"votedId":-1,"appliedOffset":0,"currentVoters":[{"voterId":1},{"voterId":2}],"data_version":0}`))
	if _, err := Open(n.options()); !errors.Is(err, ErrNotSoleVoter) {
		t.Error(err)
	}
}

func TestNoInitialControllers(t *testing.T) {
	n := newNode(t, vfs.NewMem())
	snap := snapshot{id: bootstrapID, kraftVersion: 1, records: (&Image{Features: DefaultFeatures(33)}).records()}
	if _, err := snap.write(n.fs, "/data/__cluster_metadata-0", n.clock, n.rand); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(n.options()); !errors.Is(err, ErrNotSoleVoter) {
		t.Error(err)
	}
}

// A log that begins behind the newest snapshot has lost records; a snapshot beyond the log is the newer truth.
func TestLogAndSnapshotApart(t *testing.T) {
	n := newNode(t, vfs.NewMem())
	s := n.open()
	for k := range 3 {
		mustAppend(t, s, topicRecords(string(rune('a'+k)), byte(k+1), 1)...)
		n.snapshot(s)
	}
	end := s.Image().Offset + 1
	newest := s.snapshotPath(snapshotID{end, 1})
	kept := readFile(t, n.fs, newest)
	if err := s.log.DeleteRecords(end); err != nil {
		t.Fatal(err)
	}
	if err := s.log.Roll(); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, s, topicRecords("d", 4, 1)...)
	if _, err := s.log.DeleteOldSegments(); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if err := n.fs.Remove(newest); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(n.options()); !errors.Is(err, ErrGap) {
		t.Errorf("gap: %v", err)
	}
	beyond := snapshotID{end + 100, 7}
	writeFile(t, n.fs, s.snapshotPath(beyond), kept)
	s = n.open()
	defer s.Close()
	if s.Epoch() != 8 || s.log.LogStartOffset() != end+100 || s.Image().Topics.Len() != 3 || s.Image().Offset != end+100 {
		t.Errorf("epoch %d, log from %d, %d topics, offset %d", s.Epoch(), s.log.LogStartOffset(), s.Image().Topics.Len(), s.Image().Offset)
	}
}

// TestR23FormatOptions: among others, a directory can be written for an older release, which then opens it.
func TestR23FormatOptions(t *testing.T) {
	mem := vfs.NewMem()
	for name, o := range map[string]FormatOptions{
		"no directory":             {},
		"metadata dir not among":   {Dirs: []string{"/a"}, MetadataDir: "/b"},
		"unknown metadata.version": {Dirs: []string{"/a"}, MetadataVersion: 34},
		"unknown feature":          {Dirs: []string{"/a"}, Features: map[string]int16{"x": 1}},
		"level too high":           {Dirs: []string{"/a"}, Features: map[string]int16{GroupVersionFeature: 2}},
	} {
		if err := Format(mem, o); err == nil {
			t.Errorf("%s: no error", name)
		}
		if _, err := mem.Stat("/a"); err == nil {
			t.Fatalf("%s: something was made", name)
		}
	}
	// As the storage tool's --release-version 4.0-IV3: group 1, transaction 2, nothing else.
	n := &node{t: t, fs: mem, dir: "/b", rand: newRand()}
	scram := &stored.UserScramCredentialRecord{Name: "admin", Mechanism: 1, Iterations: 4096}
	err := Format(mem, FormatOptions{
		Dirs: []string{"/a", "/b"}, MetadataDir: "/b", NodeID: 1, MetadataVersion: 25, Scram: []*stored.UserScramCredentialRecord{scram},
		Features: map[string]int16{GroupVersionFeature: 0, KRaftVersionFeature: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := n.open()
	defer s.Close()
	i := s.Image()
	if len(i.Features) != 2 || i.MetadataVersion() != 25 || i.Features[TxnVersionFeature] != 2 || len(i.Config(ConfigResource{Type: BrokerResource})) != 0 {
		t.Errorf("features %v", i.Features)
	}
	if _, ok := i.scram.get(scramKey{"admin", 1}); !ok {
		t.Error("the credential is lost")
	}
	if _, err := mem.Stat("/a/__cluster_metadata-0"); err == nil {
		t.Error("a metadata log in the other directory")
	}
}

func TestDefaultFeatures(t *testing.T) {
	for v, want := range map[int16]int{7: 1, 21: 1, 22: 2, 24: 3, 26: 4, 28: 5, 29: 6, 33: 6} {
		if got := DefaultFeatures(v); len(got) != want {
			t.Errorf("%d: %v", v, got)
		}
	}
	if DefaultFeatures(30)[ShareVersionFeature] != 1 || DefaultFeatures(31)[ShareVersionFeature] != 2 {
		t.Error("share.version")
	}
}
