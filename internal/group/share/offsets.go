package share

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/group/view"
	"github.com/samsalog/samsa/record"
)

func contains(sorted []int32, n int32) bool {
	_, found := slices.BinarySearch(sorted, n)
	return found
}

// Alter has states begun anew at offsets that somebody chose. It returns the answer, in which partitions that do not
// exist are refused, and what the share coordinator is to be asked for; nil if all are. The group has no members.
func (c *Change) Alter(v view.View, req *kmsg.AlterShareGroupOffsetsRequest) (*kmsg.AlterShareGroupOffsetsResponse, *kmsg.InitializeShareGroupStateRequest) {
	r := kmsg.NewPtrAlterShareGroupOffsetsResponse()
	chosen, starts := Topics{}, map[place]int64{}
	for _, asked := range req.Topics {
		x := kmsg.NewAlterShareGroupOffsetsResponseTopic()
		x.Topic = asked.Topic
		t := v.Topic(asked.Topic)
		if t != nil {
			x.TopicID = t.ID
		}
		for _, p := range asked.Partitions {
			y := kmsg.NewAlterShareGroupOffsetsResponseTopicPartition()
			y.Partition = p.Partition
			if t == nil || p.Partition < 0 || int(p.Partition) >= len(t.Partitions) {
				y.ErrorCode, y.ErrorMessage = unknownTopicOrPartition()
			} else {
				chosen.add(t.ID, t.Name, p.Partition)
				starts[place{t.ID, p.Partition}] = p.StartOffset
			}
			x.Partitions = append(x.Partitions, y)
		}
		r.Topics = append(r.Topics, x)
	}
	if len(chosen) == 0 {
		return r, nil
	}
	c.noteBeginning(chosen)
	return r, c.begin(chosen, func(id record.UUID, n int32) int64 { return starts[place{id, n}] })
}

func unknownTopicOrPartition() (int16, *string) {
	return kerr.UnknownTopicOrPartition.Code, kmsg.StringPtr(kerr.UnknownTopicOrPartition.Description)
}

// DeleteOffsets notes that the states of topics are to be deleted. It returns what the share coordinator is to be asked
// for, nil if there is nothing, and the topics that are refused. The group has no members.
func (c *Change) DeleteOffsets(v view.View, req *kmsg.DeleteShareGroupOffsetsRequest) (*kmsg.DeleteShareGroupStateRequest, []kmsg.DeleteShareGroupOffsetsResponseTopic) {
	p := c.Group.Partitions
	if !p.Known {
		return nil, nil
	}
	gone, doomed := Topics{}, maps.Clone(p.Deleting)
	var refused []kmsg.DeleteShareGroupOffsetsResponseTopic
	for _, asked := range req.Topics {
		x := kmsg.NewDeleteShareGroupOffsetsResponseTopic()
		x.Topic = asked.Topic
		x.ErrorCode, x.ErrorMessage = unknownTopicOrPartition()
		t := v.Topic(asked.Topic)
		if t == nil {
			refused = append(refused, x)
			continue
		}
		has, again := p.Initialized[t.ID].Partitions, gone[t.ID].Partitions != nil
		if _, dying := doomed[t.ID]; len(has) == 0 && dying {
			has = allOf(len(t.Partitions))
		}
		switch {
		case again: // it is named twice
		case len(has) == 0:
			x.ErrorMessage = kmsg.StringPtr("There is no offset information to delete.")
			refused = append(refused, x)
		default:
			gone.add(t.ID, t.Name, has...)
			doomed[t.ID] = t.Name
		}
	}
	if len(gone) == 0 {
		return nil, refused
	}
	c.writePartitions(Partitions{Initializing: p.Initializing, Initialized: p.withoutTopics(ids(gone)).Initialized, Deleting: doomed})
	return c.delete(gone), refused
}

func ids(t Topics) map[record.UUID]struct{} {
	out := make(map[record.UUID]struct{}, len(t))
	for id := range t {
		out[id] = struct{}{}
	}
	return out
}

func allOf(n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(i)
	}
	return out
}

func (c *Change) delete(t Topics) *kmsg.DeleteShareGroupStateRequest {
	r := kmsg.NewPtrDeleteShareGroupStateRequest()
	r.GroupID = c.Group.ID
	for _, id := range t.IDs() {
		x := kmsg.NewDeleteShareGroupStateRequestTopic()
		x.TopicID = id
		for _, n := range t[id].Partitions {
			p := kmsg.NewDeleteShareGroupStateRequestTopicPartition()
			p.Partition = n
			x.Partitions = append(x.Partitions, p)
		}
		r.Topics = append(r.Topics, x)
	}
	return r
}

// InDeletion are the partitions that a request is about, without their names.
func InDeletion(r *kmsg.DeleteShareGroupStateRequest) Topics {
	out := Topics{}
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			out.add(t.TopicID, "", p.Partition)
		}
	}
	return out
}

// DeleteAll notes that all states of the group are to be deleted, and returns what the share coordinator is to be asked
// for; nil if there are none. States of topics that do not exist any more the share coordinator deletes by itself.
func (c *Change) DeleteAll(v view.View) *kmsg.DeleteShareGroupStateRequest {
	p := c.Group.Partitions
	if !p.Known {
		return nil
	}
	gone := p.Initialized.Plus(p.Initializing)
	for id, name := range p.Deleting {
		if t := v.Topic(name); t != nil && t.ID == id {
			gone.add(id, name, allOf(len(t.Partitions))...)
		}
	}
	doomed := map[record.UUID]string{}
	for id, t := range gone {
		doomed[id] = t.Name
		if x := v.Topic(t.Name); x == nil || x.ID != id {
			delete(gone, id)
		}
	}
	c.writePartitions(Partitions{Deleting: doomed})
	if len(gone) == 0 {
		return nil
	}
	return c.delete(gone)
}

// Deleted notes that the states of topics are deleted.
func (c *Change) Deleted(topics map[record.UUID]struct{}) {
	next := c.Group.Partitions
	next.Deleting = maps.Clone(next.Deleting)
	for id := range topics {
		delete(next.Deleting, id)
	}
	if next.Known {
		c.writePartitions(next)
	}
}

// TopicsGone forgets the share partitions of topics that do not exist any more.
func (c *Change) TopicsGone(topics map[record.UUID]struct{}) {
	if next := c.Group.Partitions.withoutTopics(topics); next.Known {
		c.writePartitions(next)
	}
}
