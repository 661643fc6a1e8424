package controller

import (
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

// AlterPartitionAssignments begins, changes and cancels reassignments of replicas (KIP-455). A reassignment that only
// takes replicas away is complete at once; one that adds replicas on other brokers waits for them to catch up.
func (c *Controller) AlterPartitionAssignments(req *kmsg.AlterPartitionAssignmentsRequest) *kmsg.AlterPartitionAssignmentsResponse {
	resp := req.ResponseKind().(*kmsg.AlterPartitionAssignmentsResponse)
	resp.AllowReplicationFactorChange = req.Version < 1 || req.AllowReplicationFactorChange
	if len(req.Topics) == 0 {
		resp.ErrorMessage = new(string)
		return resp
	}
	r := &reassignment{c: c, anyFactor: resp.AllowReplicationFactorChange}
	_, err := c.update(func(i *metadata.Image, _ record.Offset) ([]stored.Message, error) {
		resp.Topics = r.topics(i, req.Topics)
		return r.records, nil
	})
	if err != nil {
		failed := asError(err)
		resp.ErrorCode, resp.ErrorMessage, resp.Topics = failed.code(), failed.message(), nil
	}
	return resp
}

// reassignment is one request on its way.
type reassignment struct {
	c *Controller
	// anyFactor: the number of replicas may change.
	anyFactor bool
	records   []stored.Message
	done      map[partitionID]bool
}

func (r *reassignment) topics(i *metadata.Image, asked []kmsg.AlterPartitionAssignmentsRequestTopic) []kmsg.AlterPartitionAssignmentsResponseTopic {
	r.records, r.done = nil, map[partitionID]bool{}
	out := make([]kmsg.AlterPartitionAssignmentsResponseTopic, 0, len(asked))
	for _, t := range asked {
		answer := kmsg.NewAlterPartitionAssignmentsResponseTopic()
		answer.Topic = t.Topic
		for _, p := range t.Partitions {
			err := r.partition(i, t.Topic, p)
			line := kmsg.NewAlterPartitionAssignmentsResponseTopicPartition()
			line.Partition, line.ErrorCode, line.ErrorMessage = p.Partition, err.code(), err.message()
			answer.Partitions = append(answer.Partitions, line)
		}
		out = append(out, answer)
	}
	return out
}

func (r *reassignment) partition(i *metadata.Image, topic string, asked kmsg.AlterPartitionAssignmentsRequestTopicPartition) *Error {
	t, n := i.Topics.ByName(topic), asked.Partition
	if t == nil || n < 0 || int(n) >= len(t.Partitions) {
		return refuse(kerr.UnknownTopicOrPartition, "there is no partition %s-%d", topic, n)
	}
	p, key := t.Partitions[n], partitionID{t.ID, n}
	target := asked.Replicas
	if target == nil {
		if len(p.Adding) == 0 && len(p.Removing) == 0 {
			return &Error{Code: kerr.NoReassignmentInProgress}
		}
		target = before(p)
	} else if err := r.check(i, p, target); err != nil {
		return err
	}
	switch {
	case r.done[key] || slices.Equal(target, p.Replicas) && len(p.Adding) == 0 && len(p.Removing) == 0:
		return nil
	case len(r.records) == maxRecordsPerOperation:
		return refuse(kerr.PolicyViolation, "one request can reassign %d partitions", maxRecordsPerOperation)
	}
	r.done[key] = true
	r.records = append(r.records, r.c.reassigned(i, t, n, target))
	return nil
}

// before are the replicas that a partition had when its reassignment began.
func before(p *metadata.Partition) []int32 {
	return slices.DeleteFunc(slices.Clone(p.Replicas), func(id int32) bool { return slices.Contains(p.Adding, id) })
}

func (r *reassignment) check(i *metadata.Image, p *metadata.Partition, target []int32) *Error {
	if len(target) == 0 {
		return refuse(kerr.InvalidReplicaAssignment, "the list of replicas is empty")
	}
	for at, id := range target {
		switch {
		case id < 0 || i.Brokers[id] == nil:
			return refuse(kerr.InvalidReplicaAssignment, "broker %d is not registered", id)
		case slices.Contains(target[:at], id):
			return refuse(kerr.InvalidReplicaAssignment, "broker %d stands twice in the list of replicas", id)
		}
	}
	if now := len(before(p)); !r.anyFactor && len(target) != now {
		return refuse(kerr.InvalidReplicationFactor, "there are %d replicas, which the request does not allow to become %d", now, len(target))
	}
	return nil
}

// reassigned is the change after which a partition is on its way to target, or there already.
func (c *Controller) reassigned(i *metadata.Image, t *metadata.Topic, n int32, target []int32) *stored.PartitionChangeRecord {
	p := t.Partitions[n]
	now := before(p)
	missing := func(from []int32) func(int32) bool { return func(id int32) bool { return slices.Contains(from, id) } }
	adding := slices.DeleteFunc(slices.Clone(target), missing(now))
	removing := slices.DeleteFunc(slices.Clone(now), missing(target))
	inSync := slices.DeleteFunc(slices.Clone(p.ISR), func(id int32) bool { return !slices.Contains(target, id) })
	m := stored.NewPartitionChangeRecord()
	m.PartitionID, m.TopicID = n, t.ID
	replicas := target
	if len(adding) > 0 || len(inSync) == 0 {
		replicas = append(slices.Clone(target), removing...)
	} else {
		adding, removing = nil, nil
		if !slices.Equal(inSync, p.ISR) {
			m.ISR = inSync
		}
		if p.Leader >= 0 && !slices.Contains(target, p.Leader) {
			m.Leader = firstActive(i, inSync)
		}
	}
	m.Replicas = replicas
	m.AddingReplicas, m.RemovingReplicas = changedList(p.Adding, adding), changedList(p.Removing, removing)
	if i.MetadataVersion() >= metadata.DirectoriesVersion {
		m.Directories = directoriesFor(p, replicas)
	}
	return &m
}

// changedList is nil, which leaves a list as it is, when nothing changes.
func changedList(old, now []int32) []int32 {
	if slices.Equal(old, now) {
		return nil
	}
	return append([]int32{}, now...)
}

func firstActive(i *metadata.Image, ids []int32) int32 {
	for _, id := range ids {
		if isActive(i, id) {
			return id
		}
	}
	return -1
}

// directoriesFor keeps the directories of replicas that stay. New ones have none yet.
func directoriesFor(p *metadata.Partition, replicas []int32) []record.UUID {
	out := make([]record.UUID, len(replicas))
	for at, id := range replicas {
		out[at] = record.UnassignedDirID
		if old := slices.Index(p.Replicas, id); old >= 0 && old < len(p.Directories) {
			out[at] = p.Directories[old]
		}
	}
	return out
}

// PartitionReassignments lists the reassignments under way: of all partitions, or of those that are asked for.
func (c *Controller) PartitionReassignments(req *kmsg.ListPartitionReassignmentsRequest) *kmsg.ListPartitionReassignmentsResponse {
	resp := req.ResponseKind().(*kmsg.ListPartitionReassignmentsResponse)
	i := c.o.Store.Image()
	if req.Topics == nil {
		for t := range i.Topics.All() {
			resp.Topics = appendReassignments(resp.Topics, t, nil)
		}
		slices.SortFunc(resp.Topics, func(a, b kmsg.ListPartitionReassignmentsResponseTopic) int { return cmp.Compare(a.Topic, b.Topic) })
		return resp
	}
	for _, asked := range req.Topics {
		if t := i.Topics.ByName(asked.Topic); t != nil {
			resp.Topics = appendReassignments(resp.Topics, t, append([]int32{}, asked.Partitions...))
		}
	}
	return resp
}

// appendReassignments adds a topic if any of its partitions, or of those in only, is being reassigned.
func appendReassignments(to []kmsg.ListPartitionReassignmentsResponseTopic, t *metadata.Topic, only []int32) []kmsg.ListPartitionReassignmentsResponseTopic {
	out := kmsg.NewListPartitionReassignmentsResponseTopic()
	out.Topic = t.Name
	for n, p := range t.Partitions {
		if len(p.Adding) == 0 && len(p.Removing) == 0 || only != nil && !slices.Contains(only, int32(n)) {
			continue
		}
		line := kmsg.NewListPartitionReassignmentsResponseTopicPartition()
		line.Partition, line.Replicas, line.AddingReplicas, line.RemovingReplicas = int32(n), p.Replicas, p.Adding, p.Removing
		out.Partitions = append(out.Partitions, line)
	}
	if len(out.Partitions) == 0 {
		return to
	}
	return append(to, out)
}
