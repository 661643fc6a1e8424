package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// consumeBound is how far a partition is from where --to ends it: the next offset to read, and the first not to print.
type consumeBound struct{ next, end int64 }

const (
	// lookEvery is how long nothing arrives before the rest of the partitions is looked at, and how long a fetch waits then, since
	// a look waits behind it.
	lookEvery = 200 * time.Millisecond
	// lookBytes is how much of a partition is asked for in one look, in bytes.
	lookBytes = 1 << 20
)

// passEmpty moves the bounds of partitions over offsets that hold nothing: where compaction has emptied the last batches before
// a bound, no record will ever tell that it was reached.
func (c *consumeRun) passEmpty(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.options.conn.timeout)
	defer cancel()
	topics := map[string]bool{}
	for tp := range c.pending {
		topics[tp.topic] = true
	}
	details, err := kadm.NewClient(c.client).ListTopicsWithInternal(ctx, slices.Collect(maps.Keys(topics))...)
	if err != nil {
		return fmt.Errorf("look up topics: %w", err)
	}
	for moved := true; moved && len(c.pending) > 0; {
		moved = false
		for leader, req := range c.looks(details) {
			resp, err := req.RequestWith(ctx, c.client.Broker(int(leader)))
			if err != nil {
				return fmt.Errorf("look for the end: %w", err)
			}
			moved = c.looked(resp, details) || moved
		}
	}
	return nil
}

// looks are the requests for what comes next in each pending partition, by leader.
func (c *consumeRun) looks(details kadm.TopicDetails) map[int32]*kmsg.FetchRequest {
	all := map[int32]*kmsg.FetchRequest{}
	for tp, b := range c.pending {
		d, ok := details[tp.topic].Partitions[tp.partition]
		if !ok || d.Leader < 0 {
			continue // the reader tells
		}
		req := all[d.Leader]
		if req == nil {
			req = kmsg.NewPtrFetchRequest()
			req.MaxBytes = lookBytes * int32(min(len(c.pending), 64))
			if c.options.readCommitted {
				req.IsolationLevel = 1
			}
			all[d.Leader] = req
		}
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset, p.PartitionMaxBytes = tp.partition, b.next, lookBytes
		t := kmsg.NewFetchRequestTopic()
		t.Topic, t.TopicID, t.Partitions = tp.topic, details[tp.topic].ID, []kmsg.FetchRequestTopicPartition{p}
		req.Topics = append(req.Topics, t)
	}
	return all
}

// looked takes an answer in; true: something was passed, and more may follow. What has an error the reader meets too.
func (c *consumeRun) looked(resp *kmsg.FetchResponse, details kadm.TopicDetails) (moved bool) {
	names := map[kadm.TopicID]string{}
	for name, d := range details {
		names[d.ID] = name
	}
	for i := range resp.Topics {
		t := &resp.Topics[i]
		name := t.Topic
		if resp.Version >= 13 { // from there on topics have ids only
			name = names[t.TopicID]
		}
		for j := range t.Partitions {
			p := &t.Partitions[j]
			tp := topicPartition{name, p.Partition}
			b, ok := c.pending[tp]
			if !ok || p.ErrorCode != 0 {
				continue
			}
			o := kgo.ProcessFetchPartitionOpts{KeepControlRecords: true, Offset: b.next, Topic: name, Partition: p.Partition}
			got, after := kgo.ProcessFetchPartition(o, p, kgo.DefaultDecompressor(), nil)
			if len(got.Records) > 0 {
				after = got.Records[0].Offset
			}
			switch {
			case got.Err != nil || after <= b.next:
			case after >= b.end:
				c.reached(tp)
			default:
				c.pending[tp], moved = consumeBound{after, b.end}, moved || len(got.Records) == 0
			}
		}
	}
	return moved
}

// reached notes that a partition has come to its bound.
func (c *consumeRun) reached(tp topicPartition) {
	delete(c.pending, tp)
	c.client.PauseFetchPartitions(map[string][]int32{tp.topic: {tp.partition}})
}
