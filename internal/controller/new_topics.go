package controller

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/config"
	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

// newTopicsRun creates the topics of one request, in the order of ReplicationControlManager.createTopics.
type newTopicsRun struct {
	c       *Controller
	layers  config.Layers
	image   *metadata.Image
	records []stored.Message
	// created has the names so far by their metric names.
	created map[string]string
	errors  map[string]*Error
	// refused is an error of the whole request.
	refused *Error
}

func newTopics(c *Controller) *newTopicsRun {
	return &newTopicsRun{c: c, layers: c.o.Config.Layers(), created: map[string]string{}, errors: map[string]*Error{}}
}

// all answers each name once. Records of the topics that can be created are collected.
func (n *newTopicsRun) all(topics []kmsg.CreateTopicsRequestTopic) []kmsg.CreateTopicsResponseTopic {
	if n.refused = n.checkTotal(topics); n.refused != nil {
		return nil
	}
	count := map[string]int{}
	for _, t := range topics {
		count[t.Topic]++
	}
	var out []kmsg.CreateTopicsResponseTopic
	for _, t := range topics {
		switch n := count[t.Topic]; n {
		case 0:
			continue // answered
		case 1:
		default:
			count[t.Topic] = 0
			out = append(out, createError(t.Topic, refuse(kerr.InvalidRequest, "topic %q stands in the request %d times", t.Topic, n)))
			continue
		}
		answer, err := n.one(t)
		if err != nil {
			n.errors[t.Topic] = err
			answer = createError(t.Topic, err)
		}
		out = append(out, answer)
	}
	if len(n.records) > maxRecordsPerOperation {
		n.refused = refuse(kerr.PolicyViolation, "the request needs %d metadata records, at most %d are written at once", len(n.records), maxRecordsPerOperation)
	}
	return out
}

// checkTotal bounds the work before any of it is done.
func (n *newTopicsRun) checkTotal(topics []kmsg.CreateTopicsRequestTopic) *Error {
	total := int64(0)
	for _, t := range topics {
		switch {
		case len(t.ReplicaAssignment) > 0:
			total += int64(len(t.ReplicaAssignment))
		case t.NumPartitions == -1:
			total += int64(n.layers.Int("num.partitions"))
		default:
			total += max(0, int64(t.NumPartitions))
		}
	}
	if total > maxRecordsPerOperation {
		return refuse(kerr.PolicyViolation, "the request asks for %d partitions, at most %d are created at once", total, maxRecordsPerOperation)
	}
	return nil
}

func (n *newTopicsRun) one(t kmsg.CreateTopicsRequestTopic) (out kmsg.CreateTopicsResponseTopic, err *Error) {
	if t.Topic == metadata.TopicName {
		return out, refuse(kerr.InvalidRequest, "topic %s holds the cluster's metadata and cannot be created", t.Topic)
	}
	if err = checkNewName(n.image, t.Topic, n.created); err != nil {
		return out, err
	}
	configs, names, err := n.configs(t)
	if err != nil {
		return out, err
	}
	replicas, err := n.replicas(t)
	if err != nil {
		return out, err
	}
	id, randErr := record.NewUUID(n.c.o.Rand)
	if randErr != nil {
		return out, asError(randErr)
	}
	n.created[metricName(t.Topic)] = t.Topic
	n.record(t.Topic, id, names, configs, replicas)
	out = createError(t.Topic, nil)
	out.TopicID, out.NumPartitions, out.ReplicationFactor = id, int32(len(replicas)), int16(len(replicas[0]))
	out.Configs = describeTopic(n.layers, configs)
	return out, nil
}

// configs returns the topic's configs, and their names in the order of the request. Of a name that comes twice
// the last value counts.
func (n *newTopicsRun) configs(t kmsg.CreateTopicsRequestTopic) (map[string]string, []string, *Error) {
	configs := map[string]string{}
	var names []string
	for _, c := range t.Configs {
		if c.Value == nil {
			return nil, nil, refuse(kerr.InvalidConfig, "config %s is null", c.Name)
		}
		if _, twice := configs[c.Name]; !twice {
			names = append(names, c.Name)
		}
		configs[c.Name] = *c.Value
	}
	if err := config.ValidateTopic(n.layers, configs); err != nil {
		return nil, nil, refuse(kerr.InvalidConfig, "%v", err)
	}
	return configs, names, nil
}

// replicas returns the replica list of each partition: as the client says, or placed.
func (n *newTopicsRun) replicas(t kmsg.CreateTopicsRequestTopic) ([][]int32, *Error) {
	if len(t.ReplicaAssignment) > 0 {
		return n.assigned(t)
	}
	rf, partitions := int(t.ReplicationFactor), int(t.NumPartitions)
	switch {
	case rf < -1 || rf == 0:
		return nil, refuse(kerr.InvalidReplicationFactor, "the replication factor must be above 0, or -1 for the default")
	case partitions < -1 || partitions == 0:
		return nil, refuse(kerr.InvalidPartitions, "the number of partitions must be above 0, or -1 for the default")
	}
	if rf == -1 {
		rf = n.layers.Int("default.replication.factor")
	}
	if partitions == -1 {
		partitions = n.layers.Int("num.partitions")
	}
	return n.c.place(n.image, partitions, rf)
}

func (n *newTopicsRun) assigned(t kmsg.CreateTopicsRequestTopic) ([][]int32, *Error) {
	switch {
	case t.ReplicationFactor != -1:
		return nil, refuse(kerr.InvalidRequest, "with a replica assignment the replication factor must be -1")
	case t.NumPartitions != -1:
		return nil, refuse(kerr.InvalidRequest, "with a replica assignment the number of partitions must be -1")
	}
	out := make([][]int32, len(t.ReplicaAssignment))
	rf := 0
	for _, a := range t.ReplicaAssignment {
		if a.Partition >= 0 && int(a.Partition) < len(out) && out[a.Partition] != nil {
			return nil, refuse(kerr.InvalidReplicaAssignment, "partition %d is assigned twice", a.Partition)
		}
		if err := checkAssignment(n.image, a.Partition, a.Replicas, rf); err != nil {
			return nil, err
		}
		if a.Partition < 0 || int(a.Partition) >= len(out) {
			return nil, refuse(kerr.InvalidReplicaAssignment, "the assigned partitions must be numbered from 0 without a gap; %d is among %d", a.Partition, len(out))
		}
		rf = len(a.Replicas)
		out[a.Partition] = slices.Clone(a.Replicas)
	}
	return out, nil
}

// record adds the records of a new topic: TOPIC, its CONFIGs, its PARTITIONs.
func (n *newTopicsRun) record(name string, id record.UUID, names []string, configs map[string]string, replicas [][]int32) {
	n.records = append(n.records, &stored.TopicRecord{Name: name, TopicID: id})
	for _, key := range names {
		n.records = append(n.records, configRecord(metadata.ConfigResource{Type: metadata.TopicResource, Name: name}, key, new(configs[key])))
	}
	if _, set := configs[minInsyncReplicas]; set && elrEnabled(n.image) {
		n.records = append(n.records, &stored.ClearElrRecord{TopicName: name})
	}
	for p, r := range replicas {
		n.records = append(n.records, newPartition(n.image, id, int32(p), r))
	}
}

// describeTopic lists the effective configs as CreateTopics answers them: sensitive values are left out, and what
// the request has set stands as the request has it, blanks included.
func describeTopic(l config.Layers, overrides map[string]string) []kmsg.CreateTopicsResponseTopicConfig {
	entries := l.DescribeTopic(overrides)
	out := make([]kmsg.CreateTopicsResponseTopicConfig, 0, len(entries))
	for _, e := range entries {
		c := kmsg.NewCreateTopicsResponseTopicConfig()
		c.Name, c.Value, c.Source, c.ReadOnly, c.IsSensitive = e.Name, e.Value, int8(e.Source), e.ReadOnly, e.Sensitive
		if raw, set := overrides[e.Name]; set {
			c.Value = &raw
		}
		if c.IsSensitive {
			c.Value = nil
		}
		out = append(out, c)
	}
	return out
}
