package handler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/config"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/storage/logdir"
	"github.com/samsalog/samsa/vfs"
)

// newDirNode is a handler over the log directories named; failed hears of each that goes offline.
func newDirNode(t testing.TB, fsys vfs.FS, dirs ...string) (h *Handler, m *logdir.Manager, failed <-chan string) {
	t.Helper()
	failures := make(chan string, len(dirs))
	for _, dir := range dirs {
		if err := logdir.Format(fsys, dir, checkpoint.MetaProperties{ClusterID: "c", NodeID: 1, DirectoryID: record.UUID{0: 9, 1: dir[len(dir)-1]}, Version: 1}); err != nil {
			t.Fatal(err)
		}
	}
	m, err := logdir.Open(logdir.Options{
		FS: fsys, Dirs: dirs, Cordoned: func(dir string) bool { return dir == "/cordoned" },
		OnDirFailure: func(_ record.UUID, dir string, _ error) { failures <- dir },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Load(context.Background(), func(record.TopicPartition, record.UUID) (storage.Config, bool) { return storage.Config{}, false }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return New(Deps{Config: func() config.Layers { return config.Layers{} }, LogDirs: m, NodeID: 1, Logger: slog.New(slog.DiscardHandler)}), m, failures
}

func createLog(t testing.TB, m *logdir.Manager, topic string, partition int32, dir record.UUID) *storage.Log {
	t.Helper()
	l, _, err := m.Create(record.TopicPartition{Topic: topic, Partition: partition}, record.UUID{0: 1, 1: byte(partition)}, storage.DefaultConfig(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Every question about log directories is answered as Kafka 4.4.0 answered it.
func TestDescribeLogDirsAnswers(t *testing.T) {
	h, m, _ := newDirNode(t, vfs.NewMem(), "/data")
	l := createLog(t, m, "ans-ld", 0, record.UUID{})
	createLog(t, m, "ans-ld", 1, record.UUID{})
	b := record.NewBuilder(record.DefaultBuilderOptions())
	for i := range 3 {
		b.Append(int64(1000+i), fmt.Appendf(nil, "k%d", i), fmt.Appendf(nil, "v%d", i), nil)
	}
	if _, err := l.Append(b.Build(), storage.AppendOptions{LeaderEpoch: 0}); err != nil {
		t.Fatal(err)
	}
	l.SetHighWatermark(3)
	replay(t, "log dirs", func(req kmsg.Request) kmsg.Response {
		resp := askHandler(t, h, req).(*kmsg.DescribeLogDirsResponse)
		for i := range resp.Dirs {
			resp.Dirs[i].Dir = strings.Replace(resp.Dirs[i].Dir, "/data", "DIR", 1)
		}
		return resp
	})
}

func TestDescribeLogDirsOfSeveralDirectories(t *testing.T) {
	broken := errors.New("disk is gone")
	breaking := false
	fsys := vfs.NewFault(vfs.NewMem(), func(op vfs.Op) error {
		if breaking && strings.HasPrefix(op.Path, "/b/") && op.Kind.Changes() {
			return broken
		}
		return nil
	})
	h, m, failed := newDirNode(t, fsys, "/a", "/b", "/cordoned")
	ids := m.DirIDs()
	createLog(t, m, "t", 0, ids[0])
	onB := createLog(t, m, "t", 1, ids[1])
	createLog(t, m, "other", 0, ids[0])

	ask := func(version int16, topics []kmsg.DescribeLogDirsRequestTopic) []kmsg.DescribeLogDirsResponseDir {
		req := kmsg.NewPtrDescribeLogDirsRequest()
		req.Version, req.Topics = version, topics
		return askHandler(t, h, req).(*kmsg.DescribeLogDirsResponse).Dirs
	}
	show := func(dirs []kmsg.DescribeLogDirsResponseDir) string {
		var s []string
		for _, d := range dirs {
			s = append(s, fmt.Sprintf("%s:%d", d.Dir, d.ErrorCode))
			for _, t := range d.Topics {
				for _, p := range t.Partitions {
					s = append(s, fmt.Sprintf("%s-%d", t.Topic, p.Partition))
				}
			}
			if d.IsCordoned {
				s = append(s, "cordoned")
			}
		}
		return strings.Join(s, " ")
	}
	for version := range int16(6) {
		want := "/a:0 other-0 t-0 /b:0 t-1 /cordoned:0"
		if version >= 5 {
			want += " cordoned"
		}
		if got := show(ask(version, nil)); got != want {
			t.Errorf("v%d: %s, want %s", version, got, want)
		}
	}
	topic := kmsg.NewDescribeLogDirsRequestTopic()
	topic.Topic, topic.Partitions = "t", []int32{1}
	if got := show(ask(5, []kmsg.DescribeLogDirsRequestTopic{topic})); got != "/a:0 /b:0 t-1 /cordoned:0 cordoned" {
		t.Errorf("one partition: %s", got)
	}
	if d := ask(5, nil)[0]; d.TotalBytes <= 0 || d.UsableBytes <= 0 {
		t.Errorf("sizes of the disk: %d %d", d.TotalBytes, d.UsableBytes)
	}

	breaking = true
	b := record.NewBuilder(record.DefaultBuilderOptions())
	b.Append(1, []byte("k"), []byte("v"), nil)
	if _, err := onB.Append(b.Build(), storage.AppendOptions{}); !errors.Is(err, storage.ErrStorage) {
		t.Fatalf("the append did not fail: %v", err)
	}
	if dir := <-failed; dir != "/b" {
		t.Errorf("%s went offline", dir)
	}
	d := ask(5, nil)[1]
	if d.ErrorCode != kerr.KafkaStorageError.Code || len(d.Topics) != 0 || d.TotalBytes != -1 {
		t.Errorf("an offline directory: %+v", d)
	}
}

// the answer comes from memory. Whatever the number of partitions, only the size of the disk is asked for.
func TestA01DescribeLogDirsReadsNoFiles(t *testing.T) {
	fsys := vfs.NewFault(vfs.NewMem(), func(vfs.Op) error { return nil })
	h, m, _ := newDirNode(t, fsys, "/data")
	const partitions = 200
	for p := range int32(partitions) {
		createLog(t, m, "many", p, record.UUID{})
	}
	before := fsys.Count()
	req := kmsg.NewPtrDescribeLogDirsRequest()
	req.Version = 5
	dirs := askHandler(t, h, req).(*kmsg.DescribeLogDirsResponse).Dirs
	if n := len(dirs[0].Topics[0].Partitions); n != partitions {
		t.Errorf("%d partitions", n)
	}
	if n := fsys.Count() - before; n != 1 {
		t.Errorf("%d file system calls for one directory", n)
	}
}
