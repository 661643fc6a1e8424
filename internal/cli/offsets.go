package cli

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Timestamps with a meaning of their own in ListOffsets.
const (
	timestampLatest   int64 = -1
	timestampEarliest int64 = -2
)

// partitionOffsets holds an offset for each partition of some topics; -1 stands for "none".
type partitionOffsets map[string]map[int32]int64

// offset returns the offset of a partition, -1 when there is none.
func (o partitionOffsets) offset(topic string, partition int32) int64 {
	if offset, ok := o[topic][partition]; ok {
		return offset
	}
	return -1
}

func (o partitionOffsets) set(topic string, partition int32, offset int64) {
	if o[topic] == nil {
		o[topic] = map[int32]int64{}
	}
	o[topic][partition] = offset
}

// listOffsets asks the leaders for the first offset at or after timestampMs, or for the special
// timestamps. A partition that has no such record gets -1. Unlike kadm's calls it also lists internal
// topics.
func listOffsets(ctx context.Context, cl *kgo.Client, topics kadm.TopicsSet, timestampMs int64, committed bool) (partitionOffsets, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	if committed {
		req.IsolationLevel = 1
	}
	for _, t := range topics.Sorted() {
		rt := kmsg.NewListOffsetsRequestTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			rp := kmsg.NewListOffsetsRequestTopicPartition()
			rp.Partition, rp.Timestamp = p, timestampMs
			rt.Partitions = append(rt.Partitions, rp)
		}
		req.Topics = append(req.Topics, rt)
	}
	listed := partitionOffsets{}
	for _, shard := range cl.RequestSharded(ctx, req) {
		if shard.Err != nil {
			return nil, fmt.Errorf("list offsets: %w", shard.Err)
		}
		for _, t := range shard.Resp.(*kmsg.ListOffsetsResponse).Topics {
			for _, p := range t.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					return nil, fmt.Errorf("list offsets of %s-%d: %w", t.Topic, p.Partition, err)
				}
				listed.set(t.Topic, p.Partition, p.Offset)
			}
		}
	}
	return listed, nil
}

// partitionsOf returns the partitions of topics, or an error that names the topic that is missing.
func partitionsOf(ctx context.Context, adm *admin, topics []string) (kadm.TopicsSet, error) {
	details, err := adm.ListTopicsWithInternal(ctx, topics...)
	if err != nil {
		return nil, fmt.Errorf("look up topics: %w", err)
	}
	set := kadm.TopicsSet{}
	for _, topic := range topics {
		d, ok := details[topic]
		switch {
		case !ok:
			return nil, fmt.Errorf("topic %s: %w", topic, kerr.UnknownTopicOrPartition)
		case d.Err != nil:
			return nil, fmt.Errorf("topic %s: %w", topic, d.Err)
		}
		set.Add(topic, d.Partitions.Numbers()...)
	}
	return set, nil
}
