package share

import (
	"maps"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/record"
)

// Where the state of a share partition begins, if that is not an offset that somebody chose.
const (
	// undecided leaves it to the first fetch, which follows share.auto.offset.reset.
	undecided = -1
	// firstOffset is the beginning of a new partition.
	firstOffset = 0
)

// noteBeginning records that states are being begun. They are no longer to be deleted.
func (c *Change) noteBeginning(t Topics) {
	next := c.Group.Partitions
	next.Initializing = next.Initializing.Plus(t)
	next.Deleting = maps.Clone(next.Deleting)
	for id := range t {
		delete(next.Deleting, id)
	}
	c.writePartitions(next)
}

// begin asks the share coordinator to begin states in the group's present epoch.
func (c *Change) begin(t Topics, start func(topic record.UUID, partition int32) int64) *kmsg.InitializeShareGroupStateRequest {
	r := kmsg.NewPtrInitializeShareGroupStateRequest()
	r.GroupID = c.Group.ID
	for _, id := range t.IDs() {
		x := kmsg.NewInitializeShareGroupStateRequestTopic()
		x.TopicID = id
		for _, n := range t[id].Partitions {
			p := kmsg.NewInitializeShareGroupStateRequestTopicPartition()
			p.Partition, p.StateEpoch, p.StartOffset = n, c.Group.Epoch, start(id, n)
			x.Partitions = append(x.Partitions, p)
		}
		r.Topics = append(r.Topics, x)
	}
	return r
}

// InBeginning are the partitions that a request is about, without their names.
func InBeginning(r *kmsg.InitializeShareGroupStateRequest) Topics {
	out := Topics{}
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			out.add(t.TopicID, "", p.Partition)
		}
	}
	return out
}

// Begun notes what the share coordinator has done: states that have come to be can be assigned, the others are not
// waited for any longer. Partitions that are no longer being begun, since the group or the topic is another one
// meanwhile, are left out.
func (c *Change) Begun(asked Topics, answer *kmsg.InitializeShareGroupStateResponse) {
	p := c.Group.Partitions
	next := p
	next.Initializing = p.Initializing.Minus(asked)
	next.Initialized = maps.Clone(p.Initialized)
	if next.Initialized == nil {
		next.Initialized = Topics{}
	}
	for _, t := range answer.Topics {
		was := p.Initializing[t.TopicID]
		for _, x := range t.Partitions {
			if x.ErrorCode == 0 && contains(was.Partitions, x.Partition) {
				next.Initialized.add(t.TopicID, was.Name, x.Partition)
			}
		}
	}
	if p.Known {
		c.writePartitions(next)
	}
}
