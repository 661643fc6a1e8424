package controller

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

// CreatePartitions answers a CreatePartitions request. Authorization and quotas are the caller's.
func (c *Controller) CreatePartitions(req *kmsg.CreatePartitionsRequest) *kmsg.CreatePartitionsResponse {
	resp := req.ResponseKind().(*kmsg.CreatePartitionsResponse)
	results, err := c.createPartitions(req)
	if err != nil {
		results = nil
		for _, t := range req.Topics {
			results = append(results, partitionsAnswer(t.Topic, err))
		}
	}
	resp.Topics = results
	return resp
}

func partitionsAnswer(topic string, err *Error) kmsg.CreatePartitionsResponseTopic {
	t := kmsg.NewCreatePartitionsResponseTopic()
	t.Topic, t.ErrorCode, t.ErrorMessage = topic, err.code(), err.message()
	return t
}

func (c *Controller) createPartitions(req *kmsg.CreatePartitionsRequest) (answers []kmsg.CreatePartitionsResponseTopic, refused *Error) {
	if err := timedOut(req.TimeoutMillis); err != nil {
		return nil, err
	}
	_, err := c.update(func(i *metadata.Image, _ record.Offset) ([]stored.Message, error) {
		answers = nil
		var records []stored.Message
		count := map[string]int{}
		for _, t := range req.Topics {
			count[t.Topic]++
		}
		for _, t := range req.Topics {
			var more []stored.Message
			var err *Error
			switch n := count[t.Topic]; n {
			case 0:
				continue // answered
			case 1:
				more, err = c.morePartitions(i, t, maxRecordsPerOperation-len(records))
			default:
				count[t.Topic] = 0
				err = refuse(kerr.InvalidRequest, "topic %q stands in the request %d times", t.Topic, n)
			}
			if err != nil && err.Code == kerr.PolicyViolation {
				return nil, err
			}
			records = append(records, more...)
			answers = append(answers, partitionsAnswer(t.Topic, err))
		}
		if req.ValidateOnly {
			return nil, nil
		}
		return records, nil
	})
	if err != nil {
		return nil, asError(err)
	}
	return answers, nil
}

// morePartitions returns the records that give a topic t.Count partitions, of which there may be room new ones.
func (c *Controller) morePartitions(i *metadata.Image, t kmsg.CreatePartitionsRequestTopic, room int) ([]stored.Message, *Error) {
	topic := i.Topics.ByName(t.Topic)
	if topic == nil {
		return nil, &Error{Code: kerr.UnknownTopicOrPartition}
	}
	have := len(topic.Partitions)
	more := int(t.Count) - have
	switch {
	case more == 0:
		return nil, refuse(kerr.InvalidPartitions, "topic %q has %d partition(s) already", t.Topic, have)
	case more < 0:
		return nil, refuse(kerr.InvalidPartitions, "topic %q has %d partition(s), %d would be fewer", t.Topic, have, t.Count)
	case more > room:
		return nil, refuse(kerr.PolicyViolation, "the request adds more than %d partitions, which is the most at once", maxRecordsPerOperation)
	case have == 0:
		return nil, refuse(kerr.UnknownServerError, "topic %q has no partition whose replication could be followed", t.Topic)
	}
	rf := len(topic.Partitions[0].Replicas)
	replicas, err := c.moreReplicas(i, t, have, more, rf)
	if err != nil {
		return nil, err
	}
	var out []stored.Message
	for n, r := range replicas {
		out = append(out, newPartition(i, topic.ID, int32(have+n), r))
	}
	return out, nil
}

func (c *Controller) moreReplicas(i *metadata.Image, t kmsg.CreatePartitionsRequestTopic, have, more, rf int) ([][]int32, *Error) {
	if t.Assignment == nil {
		return c.place(i, more, rf)
	}
	if len(t.Assignment) != more {
		return nil, refuse(kerr.InvalidReplicaAssignment, "%d partition(s) are to be added and %d are assigned", more, len(t.Assignment))
	}
	var out [][]int32
	for n, a := range t.Assignment {
		if err := checkAssignment(i, int32(have+n), a.Replicas, rf); err != nil {
			return nil, err
		}
		out = append(out, slices.Clone(a.Replicas))
	}
	return out, nil
}
