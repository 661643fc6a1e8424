package controller

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

// DeleteTopics answers a DeleteTopics request, by names or (v6+) by names and ids. Authorization is the caller's.
func (c *Controller) DeleteTopics(req *kmsg.DeleteTopicsRequest) *kmsg.DeleteTopicsResponse {
	resp := req.ResponseKind().(*kmsg.DeleteTopicsResponse)
	asked := req.Topics
	if req.Version < 6 {
		asked = nil
		for _, name := range req.TopicNames {
			asked = append(asked, kmsg.DeleteTopicsRequestTopic{Topic: &name})
		}
	}
	d, err := c.deleteTopics(req, asked)
	if err != nil {
		for _, t := range asked {
			resp.Topics = append(resp.Topics, deleteAnswer(t.Topic, t.TopicID, err))
		}
		return resp
	}
	resp.Topics = d.answers
	return resp
}

func deleteAnswer(name *string, id record.UUID, err *Error) kmsg.DeleteTopicsResponseTopic {
	t := kmsg.NewDeleteTopicsResponseTopic()
	t.Topic, t.TopicID, t.ErrorCode, t.ErrorMessage = name, id, err.code(), err.message()
	return t
}

// deletion works out which topics a request means.
type deletion struct {
	answers []kmsg.DeleteTopicsResponseTopic
	// names and ids are what is asked for once.
	names []string
	ids   []record.UUID
}

func (d *deletion) answer(name *string, id record.UUID, err *Error) {
	d.answers = append(d.answers, deleteAnswer(name, id, err))
}

func (c *Controller) deleteTopics(req *kmsg.DeleteTopicsRequest, asked []kmsg.DeleteTopicsRequestTopic) (*deletion, *Error) {
	if !c.o.Config.Layers().Bool("delete.topic.enable") {
		if req.Version < 3 {
			return nil, refuse(kerr.InvalidRequest, "topic deletion is disabled")
		}
		return nil, &Error{Code: kerr.TopicDeletionDisabled}
	}
	if err := timedOut(req.TimeoutMillis); err != nil {
		return nil, err
	}
	d := &deletion{}
	d.sort(asked)
	_, err := c.update(func(i *metadata.Image, _ record.Offset) ([]stored.Message, error) {
		topics := d.find(i)
		if len(topics) > maxRecordsPerOperation {
			return nil, refuse(kerr.PolicyViolation, "the request deletes %d topics, at most %d are deleted at once", len(topics), maxRecordsPerOperation)
		}
		var out []stored.Message
		for _, t := range topics {
			d.answer(&t.Name, t.ID, nil)
			out = append(out, &stored.RemoveTopicRecord{TopicID: t.ID})
		}
		return out, nil
	})
	if err != nil {
		return nil, asError(err)
	}
	return d, nil
}

// sort answers what is wrong with the request itself: both or neither of name and id, and duplicates.
func (d *deletion) sort(asked []kmsg.DeleteTopicsRequestTopic) {
	names, ids := map[string]int{}, map[record.UUID]int{}
	for _, t := range asked {
		id := record.UUID(t.TopicID)
		switch {
		case t.Topic == nil && id.IsZero():
			d.answer(nil, id, refuse(kerr.InvalidRequest, "neither a topic name nor an id is given"))
		case t.Topic != nil && !id.IsZero():
			d.answer(t.Topic, id, refuse(kerr.InvalidRequest, "both a topic name and an id are given"))
		case t.Topic == nil:
			if ids[id]++; ids[id] == 1 {
				d.ids = append(d.ids, id)
			}
		default:
			if names[*t.Topic]++; names[*t.Topic] == 1 {
				d.names = append(d.names, *t.Topic)
			}
		}
	}
	d.names = once(d.names, names, func(name string) {
		d.answer(&name, record.UUID{}, refuse(kerr.InvalidRequest, "topic %q is given more than once", name))
	})
	d.ids = once(d.ids, ids, func(id record.UUID) {
		d.answer(nil, id, refuse(kerr.InvalidRequest, "topic id %s is given more than once", id))
	})
}

// once keeps the keys that were counted once and hands the others to twice.
func once[K comparable](keys []K, count map[K]int, twice func(K)) []K {
	var out []K
	for _, k := range keys {
		if count[k] == 1 {
			out = append(out, k)
		} else {
			twice(k)
		}
	}
	return out
}

// find looks the topics up and answers those that do not exist or are meant twice, by name and by id.
func (d *deletion) find(i *metadata.Image) []*metadata.Topic {
	var topics []*metadata.Topic
	byID := map[record.UUID]bool{}
	for _, id := range d.ids {
		byID[id] = true
	}
	for _, name := range d.names {
		switch t := i.Topics.ByName(name); {
		case t == nil:
			d.answer(&name, record.UUID{}, refuse(kerr.UnknownTopicOrPartition, "topic %q does not exist", name))
		case byID[t.ID]:
			delete(byID, t.ID)
			d.answer(&name, t.ID, refuse(kerr.InvalidRequest, "topic %q is given by its id too", name))
		default:
			topics = append(topics, t)
		}
	}
	for _, id := range d.ids {
		if !byID[id] {
			continue
		}
		if t := i.Topics.ByID(id); t != nil {
			topics = append(topics, t)
		} else {
			d.answer(nil, id, refuse(kerr.UnknownTopicID, "no topic has the id %s", id))
		}
	}
	return topics
}
