package controller

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

// CreateTopics answers a CreateTopics request. Authorization and quotas are the caller's.
func (c *Controller) CreateTopics(req *kmsg.CreateTopicsRequest) *kmsg.CreateTopicsResponse {
	resp := req.ResponseKind().(*kmsg.CreateTopicsResponse)
	results, err := c.createTopics(req)
	if err != nil {
		// One answer for all: a request is one operation.
		results = nil
		for _, t := range req.Topics {
			results = append(results, createError(t.Topic, err))
		}
	}
	resp.Topics = results
	return resp
}

func createError(name string, err *Error) kmsg.CreateTopicsResponseTopic {
	t := kmsg.NewCreateTopicsResponseTopic()
	t.Topic, t.ErrorCode, t.ErrorMessage = name, err.code(), err.message()
	// Never null: the Java client takes null for an answer without configs and fails.
	t.Configs = []kmsg.CreateTopicsResponseTopicConfig{}
	return t
}

// timedOut is what Kafka answers when the time of a request is over before the controller looks at it.
func timedOut(timeoutMs int32) *Error {
	if timeoutMs <= 0 {
		return &Error{Code: kerr.RequestTimedOut}
	}
	return nil
}

func (c *Controller) createTopics(req *kmsg.CreateTopicsRequest) (results []kmsg.CreateTopicsResponseTopic, refused *Error) {
	if err := timedOut(req.TimeoutMillis); err != nil {
		return nil, err
	}
	n := newTopics(c)
	_, err := c.update(func(i *metadata.Image, _ record.Offset) ([]stored.Message, error) {
		n.image = i
		results = n.all(req.Topics)
		if n.refused != nil {
			return nil, n.refused
		}
		if req.ValidateOnly {
			return nil, nil
		}
		return n.records, nil
	})
	if err != nil {
		return nil, asError(err)
	}
	return results, nil
}

// CreateTopic creates one topic for the broker itself: automatically, or an internal one. partitions and rf may
// be -1 for the defaults. An internal topic is created with fewer replicas if there are not enough brokers
// (field report X-12). A topic that exists already is returned as it is.
func (c *Controller) CreateTopic(name string, partitions int32, rf int16, configs map[string]string) (*metadata.Topic, error) {
	if c.o.ReadOnly && !internalTopics[name] {
		return nil, ReadOnly()
	}
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, rf
	for k, v := range configs {
		t.Configs = append(t.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: k, Value: &v})
	}
	n := newTopics(c)
	_, err := c.o.Store.Update(func(i *metadata.Image, _ record.Offset) ([]stored.Message, error) {
		n.image = i
		if i.Topics.ByName(name) != nil {
			return nil, nil
		}
		if internalTopics[name] {
			t.ReplicationFactor = c.reachable(i, name, t.ReplicationFactor)
		}
		if answer := n.all([]kmsg.CreateTopicsRequestTopic{t})[0]; answer.ErrorCode != 0 {
			return nil, n.errors[name]
		}
		if n.refused != nil {
			return nil, n.refused
		}
		return n.records, nil
	})
	if err != nil {
		return nil, asError(err)
	}
	topic := c.o.Store.Image().Topics.ByName(name)
	if topic == nil {
		// Somebody deleted it in the meantime.
		return nil, &Error{Code: kerr.UnknownTopicOrPartition}
	}
	return topic, nil
}

// reachable lowers the replication factor of an internal topic to the number of live brokers.
func (c *Controller) reachable(i *metadata.Image, name string, rf int16) int16 {
	alive := int16(0)
	for id := range i.Brokers {
		if isActive(i, id) {
			alive++
		}
	}
	if alive == 0 || rf <= alive {
		return rf
	}
	c.o.Logger.Warn("an internal topic gets fewer replicas than configured, since there are not more live brokers; raise it later by a reassignment",
		"topic", name, "configured", rf, "brokers", alive)
	return alive
}
