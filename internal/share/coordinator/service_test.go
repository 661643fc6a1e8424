package coordinator

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/vfs"
)

// led is a partition of the state topic that this node leads.
type led struct{ log *storage.Log }

func (p led) Append(b []byte, o storage.AppendOptions) (storage.AppendInfo, error) {
	info, err := p.log.Append(b, o)
	p.log.SetHighWatermark(p.log.LogEndOffset())
	return info, err
}

func (p led) Log() *storage.Log               { return p.log }
func (p led) LeaderEpoch() record.LeaderEpoch { return 0 }

// serve starts a coordinator whose topic has two partitions once somebody asks for it.
func serve(t *testing.T, settings Settings) (*Service, *[2]*storage.Log) {
	t.Helper()
	fs, logs := vfs.NewMem(), &[2]*storage.Log{}
	var made atomic.Bool
	var s *Service
	s = NewService(Options{
		Config: func() Settings { return settings },
		Topic:  func() (Topic, bool) { return Topic{ID: record.UUID{9}, Partitions: 2}, made.Load() },
		CreateTopic: func() error {
			for i := range logs {
				tp := record.TopicPartition{Topic: StateTopic, Partition: int32(i)}
				l, err := storage.Open(storage.Options{
					FS: fs, Handles: vfs.NewHandles(fs, 64), Dir: filepath.Join("/data", tp.String()), TopicPartition: tp, Config: storage.DefaultConfig(), Clean: true,
				})
				if err != nil {
					return err
				}
				logs[i] = l
				s.Elected(int32(i), led{l})
			}
			made.Store(true)
			return nil
		},
		Exists:        func(id record.UUID, p int32) bool { return id == testTopic && p < 3 },
		DeleteRecords: func(p int32, before record.Offset) error { return logs[p].DeleteRecords(before) },
	})
	t.Cleanup(func() {
		for _, l := range logs {
			if l != nil {
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	})
	return s, logs
}

func beginning(group string, partitions ...int32) *kmsg.InitializeShareGroupStateRequest {
	r := kmsg.NewPtrInitializeShareGroupStateRequest()
	r.GroupID = group
	topic := kmsg.NewInitializeShareGroupStateRequestTopic()
	topic.TopicID = testTopic
	for _, p := range partitions {
		x := kmsg.NewInitializeShareGroupStateRequestTopicPartition()
		x.Partition, x.StateEpoch, x.StartOffset = p, 1, 7
		topic.Partitions = append(topic.Partitions, x)
	}
	r.Topics = append(r.Topics, topic)
	return r
}

func summaries(t *testing.T, s *Service, partitions ...int32) string {
	r := kmsg.NewPtrReadShareGroupStateSummaryRequest()
	r.Version, r.GroupID = 1, "g"
	topic := kmsg.NewReadShareGroupStateSummaryRequestTopic()
	topic.TopicID = testTopic
	for _, p := range partitions {
		x := kmsg.NewReadShareGroupStateSummaryRequestTopicPartition()
		x.Partition = p
		topic.Partitions = append(topic.Partitions, x)
	}
	r.Topics = append(r.Topics, topic)
	out := ""
	for _, x := range s.ReadStateSummary(t.Context(), r).Topics[0].Partitions {
		out += fmt.Sprintf("%d@%d/%d:%d ", x.Partition, x.StartOffset, x.StateEpoch, x.ErrorCode)
	}
	return out
}

// Several share partitions of several shards are asked about at once, each is answered for itself and in order; what was
// answered is there after the partition was given away and taken back (SHC-1).
func TestService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, logs := serve(t, DefaultSettings())
		defer s.Close()
		var codes []int16
		for _, x := range s.InitializeState(t.Context(), beginning("g", 2, 0, 9, 1)).Topics[0].Partitions {
			codes = append(codes, int16(x.Partition), x.ErrorCode)
		}
		if fmt.Sprint(codes) != fmt.Sprint([]int16{2, 0, 0, 0, 9, kerr.UnknownTopicOrPartition.Code, 1, 0}) {
			t.Errorf("initialized: %v", codes)
		}
		if r := s.InitializeState(t.Context(), beginning("", 0)); len(r.Topics) != 0 {
			t.Errorf("without a group: %+v", r)
		}
		if r := s.InitializeState(t.Context(), beginning("g")); len(r.Topics) != 0 {
			t.Errorf("without partitions: %+v", r)
		}
		const want = "1@7/1:0 0@7/1:0 2@7/1:0 "
		if got := summaries(t, s, 1, 0, 2); got != want {
			t.Errorf("summaries %s", got)
		}
		again := func() {
			for i, l := range logs {
				s.Resigned(int32(i))
				s.Elected(int32(i), led{l})
			}
		}
		again()
		if got := summaries(t, s, 1, 0, 2); got != want {
			t.Errorf("after it was taken back: %s", got)
		}
		s.TopicsDeleted([]record.UUID{testTopic})
		if got := summaries(t, s, 0); got != "0@-1/0:0 " {
			t.Errorf("after the topic was deleted: %s", got)
		}
		for _, p := range s.runtime.Partitions() {
			s.Resigned(p)
		}
		if got := summaries(t, s, 0); got != fmt.Sprintf("0@0/0:%d ", kerr.NotCoordinator.Code) {
			t.Errorf("after it was given away: %s", got)
		}
	})
}

// Old records are deleted by and by, also when nobody writes (SHC-6).
func TestServicePrunes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, logs := serve(t, DefaultSettings())
		defer s.Close()
		for range 5 {
			s.InitializeState(t.Context(), beginning("g", 0))
		}
		time.Sleep(DefaultSettings().PruneInterval + time.Second)
		synctest.Wait()
		p, err := s.Locate(t.Context(), Key{"g", testTopic, 0}.String())
		if err != nil {
			t.Fatal(err)
		}
		if got := logs[p].LogStartOffset(); got != 4 {
			t.Errorf("the log starts at %d", got)
		}
		if got := summaries(t, s, 0); got != "0@7/1:0 " {
			t.Errorf("summary %s", got)
		}
	})
}
