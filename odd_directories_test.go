package samsa_test

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/samsalog/samsa"
	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/storage/logdir"
	"github.com/samsalog/samsa/vfs"
)

// TestRefusedDirectories: what cannot be served is refused in words that name the cause, and not a byte is changed, not
// even that of a lock file.
func TestRefusedDirectories(t *testing.T) {
	clean := kafkaSet(t, "kafka-4.4.0/clean")
	static := kafkaSet(t, "kafka-3.9.1/clean")
	zookeeper := kafkaSet(t, "kafka-3.9.1-zookeeper/clean")
	formatted := kafkaSet(t, "kafka-4.4.0/formatted")
	for name, c := range map[string]struct {
		set   *vfs.Mem
		spoil func(*spoiler)
		want  error // nil: any
		says  string
		dirs  []string
	}{
		"unknown record type":      {clean, func(s *spoiler) { s.raw("01280000") }, metadata.ErrTooNew, "40", nil},
		"newer record version":     {clean, func(s *spoiler) { s.raw("01020300") }, metadata.ErrTooNew, "TopicRecord", nil},
		"newer metadata.version":   {clean, func(s *spoiler) { s.records(&stored.FeatureLevelRecord{Name: "metadata.version", FeatureLevel: 34}) }, metadata.ErrTooNew, "metadata.version at level 34", nil},
		"unknown feature":          {clean, func(s *spoiler) { s.records(&stored.FeatureLevelRecord{Name: "shiny.version", FeatureLevel: 1}) }, metadata.ErrTooNew, "shiny.version", nil},
		"newer kraft.version":      {clean, func(s *spoiler) { s.control(record.ControlKRaftVersion, &stored.KRaftVersionRecord{KRaftVersion: 2}) }, metadata.ErrTooNew, "kraft.version", nil},
		"damaged snapshot":         {clean, func(s *spoiler) { s.flip(s.newestSnapshot(), 100) }, metadata.ErrInvalidSnapshot, ".checkpoint", nil},
		"hole in the metadata log": {clean, func(s *spoiler) { s.flip(metadataLog, 5000) }, metadata.ErrDamaged, "byte 4", nil},
		"damaged quorum-state":     {clean, func(s *spoiler) { putFile(s.t, s.mem, "/data/__cluster_metadata-0/quorum-state", 0o644, []byte("{")) }, nil, "quorum-state", nil},
		"replicas elsewhere": {clean, func(s *spoiler) {
			m := stored.NewPartitionChangeRecord()
			m.PartitionID, m.TopicID, m.Replicas, m.Directories = 0, s.topic("rolled").ID, []int32{1, 2}, []record.UUID{{}, {}}
			s.records(&m)
		}, samsa.ErrLargerCluster, "1 of 29 partitions have replicas on other nodes than this one, which is 1 (such as rolled-0 on 1, 2); the others are 2", nil},
		"controllers elsewhere": {clean, func(s *spoiler) { s.control(record.ControlKRaftVoters, voters(1, 2, 3)) }, samsa.ErrLargerCluster, "[1 2 3]", nil},
		"a broker only": {clean, func(s *spoiler) {
			s.control(record.ControlLeaderChange, &stored.LeaderChangeMessage{LeaderID: 100, Voters: []stored.LeaderChangeMessageVoter{{VoterID: 100}}})
		}, samsa.ErrLargerCluster, "[100]", nil},
		"a broker only, never started": {formatted, func(s *spoiler) {
			s.remove("/data/__cluster_metadata-0")
			putFile(s.t, s.mem, "/data/topic-0/partition.metadata", 0o644, []byte("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAFQ"))
		}, samsa.ErrNoMetadata, "topic-0", nil},
		"a controller only": {formatted, func(s *spoiler) {
			other := stored.NewRegisterBrokerRecord()
			other.BrokerID = 7
			o := record.DefaultBuilderOptions()
			o.LeaderEpoch = 1
			b := record.NewBuilder(o)
			b.Append(1, nil, stored.AppendFrame(nil, &stored.FeatureLevelRecord{Name: "metadata.version", FeatureLevel: 33}, 0), nil)
			b.Append(1, nil, stored.AppendFrame(nil, &other, 4), nil)
			putFile(s.t, s.mem, metadataLog, 0o644, b.Build())
		}, samsa.ErrLargerCluster, "the brokers are 7", nil},
		"static voters elsewhere": {static, func(s *spoiler) {
			putFile(s.t, s.mem, "/data/__cluster_metadata-0/quorum-state", 0o644, []byte(`{"clusterId":"","leaderId":2,"leaderEpoch":1,"votedId":-1,"appliedOffset":0,"currentVoters":[{"voterId":1},{"voterId":2}],"data_version":0}`))
		}, samsa.ErrLargerCluster, "[1 2]", nil},
		"no metadata":        {clean, func(s *spoiler) { s.remove("/data/__cluster_metadata-0") }, samsa.ErrNoMetadata, "29 partitions", nil},
		"ZooKeeper":          {zookeeper, func(*spoiler) {}, samsa.ErrNoMetadata, "version 0", nil},
		"no meta.properties": {clean, func(s *spoiler) { s.remove("/data/meta.properties") }, logdir.ErrNotFormatted, "/data has no meta.properties", nil},
		"foreign files": {vfs.NewMem(), func(s *spoiler) {
			putFile(s.t, s.mem, "/data/letter.txt", 0o644, []byte("dear"))
		}, logdir.ErrNotFormatted, "/data has no meta.properties", nil},
		"another cluster beside": {clean, func(s *spoiler) {
			putFile(s.t, s.mem, "/more/meta.properties", 0o644, []byte("version=1\nnode.id=1\ncluster.id=other\n"))
		}, logdir.ErrInconsistent, "cluster other", []string{"/data", "/more"}},
		"a voter's directory id is lost": {clean, func(s *spoiler) {
			putFile(s.t, s.mem, "/data/meta.properties", 0o644, []byte("version=1\nnode.id=1\ncluster.id=MkU3OEVBNTcwNTJENDM2Qg\n"))
		}, samsa.ErrLargerCluster, "the voter set gives node 1 the directory id XNyV_7RJSya009KwNougXQ", nil},
		"a copy beside": {clean, func(s *spoiler) {
			putFile(s.t, s.mem, "/more/meta.properties", 0o644, getFile(s.t, s.mem, "/data/meta.properties"))
		}, logdir.ErrInconsistent, "one is a copy of the other", []string{"/data", "/more"}},
		"the metadata in the second": {clean, func(s *spoiler) {
			putFile(s.t, s.mem, "/more/meta.properties", 0o644, []byte("version=1\nnode.id=1\ncluster.id=MkU3OEVBNTcwNTJENDM2Qg\n"))
		}, logdir.ErrInconsistent, "metadata.log.dir", []string{"/more", "/data"}},
	} {
		t.Run(name, func(t *testing.T) {
			mem := c.set.Crash()
			c.spoil(&spoiler{t, mem})
			before := filesOf(t, mem, "")
			dirs := c.dirs
			if dirs == nil {
				dirs = []string{"/data"}
			}
			b, err := samsa.Start(t.Context(), samsa.Config{Dirs: dirs, Listen: "127.0.0.1:0", FS: mem})
			if err == nil {
				stop(t, b)
				t.Fatal("served")
			}
			if c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v\nwant %v with %q", err, c.want, c.says)
			}
			compareFiles(t, before, filesOf(t, mem, ""))
		})
	}
}

func compareFiles(t *testing.T, before, after map[string][]byte) {
	t.Helper()
	for _, name := range union(before, after) {
		if b, was := before[name]; !was {
			t.Errorf("%s was made", name)
		} else if a, is := after[name]; !is {
			t.Errorf("%s was removed", name)
		} else if !bytes.Equal(a, b) {
			t.Errorf("%s was changed", name)
		}
	}
}

// TestUnreadableFiles: what cannot be read stops the start while there is nowhere else to go, and costs nothing: once it can
// be read again, everything is there.
func TestUnreadableFiles(t *testing.T) {
	clean := kafkaSet(t, "kafka-4.4.0/clean")
	for name, refused := range map[string]bool{
		"/data/meta.properties": true, metadataLog: true, "/data/__cluster_metadata-0/quorum-state": true,
		"/data/rolled-0/00000000000000000514.log": false, "/data/rolled-0/partition.metadata": false, "/data/rolled-0/leader-epoch-checkpoint": false,
		"/data/recovery-point-offset-checkpoint": false,
	} {
		t.Run(name, func(t *testing.T) {
			mem := clean.Crash()
			before := filesOf(t, mem, "/data")
			b, err := startOnSet(t, vfs.NewFault(mem, func(op vfs.Op) error {
				if op.Path == name && (op.Kind == vfs.OpOpen || op.Kind == vfs.OpRead) {
					return &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
				}
				return nil
			}))
			if err == nil {
				stop(t, b)
				t.Fatal("served")
			}
			if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), name) {
				t.Errorf("%v", err)
			}
			after := filesOf(t, mem, "/data")
			if refused {
				compareFiles(t, before, after)
			}
			for file, data := range before {
				if strings.HasSuffix(file, ".log") && !bytes.HasPrefix(after[file], data) {
					t.Errorf("%s was changed", file)
				}
			}
			servedWhole(t, mem)
		})
	}
}

// servedWhole starts a broker that must have everything.
func servedWhole(t *testing.T, mem *vfs.Mem) {
	t.Helper()
	b, err := startOnSet(t, mem)
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, b)
	compareRecords(t, b, "kafka-4.4.0")
}

// TestOddDirectoriesAreServed: what Kafka puts up with is put up with, and nothing that was acknowledged is lost.
func TestOddDirectoriesAreServed(t *testing.T) {
	clean := kafkaSet(t, "kafka-4.4.0/clean")
	for name, c := range map[string]struct {
		spoil func(*spoiler)
		check func(*testing.T, *vfs.Mem, *kadm.Client)
	}{
		"torn end of the metadata log": {func(s *spoiler) {
			s.records(&stored.NoOpRecord{})
			b := getFile(s.t, s.mem, metadataLog)
			putFile(s.t, s.mem, metadataLog, 0o644, b[:len(b)-5])
		}, nil},
		"zeros behind the metadata log": {func(s *spoiler) { s.add(metadataLog, make([]byte, 4096)) }, nil},
		"no metadata indexes": {func(s *spoiler) {
			s.remove(strings.TrimSuffix(metadataLog, "log") + "index")
			s.remove(strings.TrimSuffix(metadataLog, "log") + "timeindex")
		}, nil},
		"no metadata log, but its snapshots": {func(s *spoiler) { s.remove(metadataLog) }, nil},
		"no quorum-state":                    {func(s *spoiler) { s.remove("/data/__cluster_metadata-0/quorum-state") }, nil},
		"damaged checkpoints": {func(s *spoiler) {
			putFile(s.t, s.mem, "/data/cleaner-offset-checkpoint", 0o644, []byte("0\n9\n"))
			putFile(s.t, s.mem, "/data/replication-offset-checkpoint", 0o644, []byte("\x00\x00"))
		}, nil},
		"damaged producer snapshots": {func(s *spoiler) {
			for name := range filesOf(s.t, s.mem, "/data") {
				if strings.HasSuffix(name, ".snapshot") && strings.Contains(name, "txn-") {
					s.flip(name, 5)
				}
			}
			s.remove("/data/.kafka_cleanshutdown")
		}, nil},
		"foreign files and directories": {func(s *spoiler) {
			for _, name := range []string{"/data/letter.txt", "/data/lost+found/x", "/data/notapartition/x", "/data/2024-backup-of-x/y", "/data/rolled-0/notes.txt", "/data/__cluster_metadata-0/notes.txt"} {
				putFile(s.t, s.mem, name, 0o644, []byte("dear"))
			}
		}, func(t *testing.T, mem *vfs.Mem, _ *kadm.Client) {
			for _, name := range []string{"/data/letter.txt", "/data/lost+found/x", "/data/notapartition/x", "/data/2024-backup-of-x/y", "/data/rolled-0/notes.txt"} {
				if got := getFile(t, mem, name); string(got) != "dear" {
					t.Errorf("%s: %q", name, got)
				}
			}
		}},
		"partitions that the metadata does not know": {func(s *spoiler) {
			s.copyTree("/data/rolled-0", "/data/unknown-0")
			putFile(s.t, s.mem, "/data/unknown-0/partition.metadata", 0o644, []byte("version: 0\ntopic_id: BBBBBBBBBBBBBBBBBBBBBQ"))
			s.copyTree("/data/rolled-0", "/data/nameless-3")
			s.remove("/data/nameless-3/partition.metadata")
			s.copyTree("/data/rolled-0", "/data/rolled-9")
		}, func(t *testing.T, mem *vfs.Mem, _ *kadm.Client) {
			want := getFile(t, mem, "/data/rolled-0/00000000000000000257.log")
			var strays []string
			entries, _ := mem.ReadDir("/data")
			for _, e := range entries {
				if name, ok := strings.CutSuffix(e.Name(), "-stray"); ok {
					strays = append(strays, name[:strings.LastIndexByte(name, '.')])
					if got := getFile(t, mem, "/data/"+e.Name()+"/00000000000000000257.log"); !bytes.Equal(got, want) {
						t.Errorf("%s was changed", e.Name())
					}
				}
			}
			if want := []string{"nameless-3", "rolled-9", "unknown-0"}; !slices.Equal(strays, want) {
				t.Errorf("set aside are %v, want %v", strays, want)
			}
		}},
		"a replica being added elsewhere": {func(s *spoiler) {
			m := stored.NewPartitionChangeRecord()
			m.PartitionID, m.TopicID, m.Replicas, m.Directories, m.AddingReplicas = 0, s.topic("rolled").ID, []int32{2, 1}, []record.UUID{{}, {}}, []int32{2}
			s.records(&m)
		}, nil},
		"a partition that is missing": {func(s *spoiler) { s.remove("/data/names.with_dots-and-dashes-0") }, func(t *testing.T, mem *vfs.Mem, admin *kadm.Client) {
			id, err := checkpoint.ReadPartitionMetadata(mem, "/data/names.with_dots-and-dashes-0/partition.metadata")
			topics, err2 := admin.ListTopics(t.Context(), "names.with_dots-and-dashes")
			if err := errors.Join(err, err2); err != nil || topics["names.with_dots-and-dashes"].ID != kadm.TopicID(id) {
				t.Errorf("%v %v %v", id, topics, err)
			}
			ends, err := admin.ListEndOffsets(t.Context(), "names.with_dots-and-dashes")
			if o, ok := ends.Lookup("names.with_dots-and-dashes", 0); err != nil || !ok || o.Err != nil || o.Offset != 0 {
				t.Errorf("%+v %v", o, err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			mem := clean.Crash()
			c.spoil(&spoiler{t, mem})
			b, err := startOnSet(t, mem)
			if err != nil {
				t.Fatal(err)
			}
			defer stop(t, b)
			compareRecords(t, b, "kafka-4.4.0")
			if c.check != nil {
				c.check(t, mem, kadm.NewClient(clientOf(t, b)))
			}
		})
	}
}

// TestMissingPartitionIsTold: Kafka makes an empty one and says nothing; here somebody is told.
func TestMissingPartitionIsTold(t *testing.T) {
	mem := kafkaSet(t, "kafka-3.9.1/clean")
	(&spoiler{t, mem}).remove("/data/rolled-0")
	var told lines
	b, err := samsa.Start(t.Context(), samsa.Config{Dirs: []string{"/data"}, Listen: "127.0.0.1:0", FS: mem, Logger: slog.New(slog.NewTextHandler(&told, nil))})
	if err != nil {
		t.Fatal(err)
	}
	stop(t, b)
	if !strings.Contains(told.String(), "level=WARN msg=\"partitions of the metadata have no directory here; empty ones are made, as Apache Kafka does\" room=replica partitions=1 one=rolled-0") {
		t.Errorf("told was\n%s", told.String())
	}
}

// lines collects what a logger writes from several goroutines.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// TestTwinsAreLeftAlone: a partition that stands in two directories is in neither opened nor changed, and the others serve;
// Kafka does not start. With one of the two moved away it is back.
func TestTwinsAreLeftAlone(t *testing.T) {
	mem := kafkaSet(t, "kafka-4.4.0/clean")
	s := &spoiler{t, mem}
	s.copyTree("/data/rolled-0", "/more/rolled-0")
	putFile(t, mem, "/more/meta.properties", 0o644, []byte("version=1\nnode.id=1\ncluster.id=MkU3OEVBNTcwNTJENDM2Qg\n"))
	before := filesOf(t, mem, "/data/rolled-0")
	maps.Copy(before, filesOf(t, mem, "/more/rolled-0"))
	b, err := samsa.Start(t.Context(), samsa.Config{Dirs: []string{"/data", "/more"}, Listen: "127.0.0.1:0", FS: mem})
	if err != nil {
		t.Fatal(err)
	}
	ends, err := kadm.NewClient(clientOf(t, b)).ListEndOffsets(t.Context(), "rolled", "trimmed")
	if o, _ := ends.Lookup("rolled", 0); err != nil || o.Err == nil {
		t.Errorf("rolled-0 is served: %+v %v", o, err)
	}
	if o, _ := ends.Lookup("trimmed", 0); o.Err != nil || o.Offset != 50 {
		t.Errorf("trimmed-0: %+v", o)
	}
	stop(t, b)
	after := filesOf(t, mem, "/data/rolled-0")
	maps.Copy(after, filesOf(t, mem, "/more/rolled-0"))
	compareFiles(t, before, after)
	s.remove("/more/rolled-0")
	b, err = samsa.Start(t.Context(), samsa.Config{Dirs: []string{"/data", "/more"}, Listen: "127.0.0.1:0", FS: mem})
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, b)
	if got := readAll(t, b, "rolled", kgo.ReadUncommitted()); len(got) != 700 {
		t.Errorf("%d records", len(got))
	}
}
