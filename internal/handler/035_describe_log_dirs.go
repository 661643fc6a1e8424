package handler

import (
	"cmp"
	"context"
	"maps"
	"path/filepath"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/logdir"
)

// describeLogDirs tells what lies in this node's log directories. It is answered from memory, whatever the number of
// partitions; only the size of each file system is asked for.
func (h *Handler) describeLogDirs(_ context.Context, r *wire.Request) wire.Reply {
	req := r.Body.(*kmsg.DescribeLogDirsRequest)
	resp := req.ResponseKind().(*kmsg.DescribeLogDirsResponse)
	wanted := wantedPartitions(req.Topics)
	for _, d := range h.deps.LogDirs.Dirs() {
		resp.Dirs = append(resp.Dirs, describedDir(d, wanted))
	}
	return wire.Reply{Body: resp}
}

// wantedPartitions returns the partitions of a request as a set; nil means all.
func wantedPartitions(topics []kmsg.DescribeLogDirsRequestTopic) map[record.TopicPartition]bool {
	if topics == nil {
		return nil
	}
	wanted := map[record.TopicPartition]bool{}
	for _, t := range topics {
		for _, p := range t.Partitions {
			wanted[record.TopicPartition{Topic: t.Topic, Partition: p}] = true
		}
	}
	return wanted
}

func describedDir(d logdir.DirInfo, wanted map[record.TopicPartition]bool) kmsg.DescribeLogDirsResponseDir {
	out := kmsg.NewDescribeLogDirsResponseDir()
	out.Dir, out.IsCordoned = d.Path, d.Cordoned
	if abs, err := filepath.Abs(d.Path); err == nil {
		out.Dir = abs
	}
	if d.Err != nil {
		out.ErrorCode = kerr.KafkaStorageError.Code
		return out
	}
	if d.Total > 0 {
		out.TotalBytes, out.UsableBytes = int64(d.Total), int64(d.Usable)
	}
	topics := map[string][]kmsg.DescribeLogDirsResponseDirTopicPartition{}
	for _, l := range d.Logs {
		if tp := l.TopicPartition(); wanted == nil || wanted[tp] {
			topics[tp.Topic] = append(topics[tp.Topic], describedLog(tp.Partition, l))
		}
	}
	for _, f := range d.Futures {
		if tp := f.Log.TopicPartition(); wanted == nil || wanted[tp] {
			p := describedLog(tp.Partition, f.Log)
			p.IsFuture, p.OffsetLag = true, f.Lag
			topics[tp.Topic] = append(topics[tp.Topic], p)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(topics)) {
		t := kmsg.NewDescribeLogDirsResponseDirTopic()
		t.Topic, t.Partitions = name, topics[name]
		slices.SortFunc(t.Partitions, func(a, b kmsg.DescribeLogDirsResponseDirTopicPartition) int {
			return cmp.Compare(a.Partition, b.Partition)
		})
		out.Topics = append(out.Topics, t)
	}
	return out
}

func describedLog(partition int32, l *storage.Log) kmsg.DescribeLogDirsResponseDirTopicPartition {
	p := kmsg.NewDescribeLogDirsResponseDirTopicPartition()
	p.Partition, p.Size = partition, l.SizeInBytes()
	p.OffsetLag = int64(max(l.HighWatermark()-l.LogEndOffset(), 0))
	return p
}
