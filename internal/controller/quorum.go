package controller

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

// UnregisterBroker forgets a broker that has stopped for good, and takes it out of the ISRs that can spare it. The broker
// that runs cannot be unregistered.
func (c *Controller) UnregisterBroker(id int32) *Error {
	more := true
	var err error
	for more && err == nil {
		_, err = c.update(c.unregister(id, &more))
	}
	if err != nil {
		return asError(err)
	}
	return nil
}

// unregister decides on the records of one batch; more tells that another has to follow.
func (c *Controller) unregister(id int32, more *bool) func(*metadata.Image, record.Offset) ([]stored.Message, error) {
	return func(i *metadata.Image, _ record.Offset) ([]stored.Message, error) {
		b := i.Brokers[id]
		switch {
		case b == nil:
			return nil, refuse(kerr.BrokerIDNotRegistered, "broker %d is not registered", id)
		case id == c.o.NodeID:
			return nil, refuse(kerr.InvalidRequest, "broker %d is running", id)
		}
		out := leaveISRs(i, id)
		if *more = len(out) == maxRecordsPerOperation; *more {
			return out, nil
		}
		return append(out, &stored.UnregisterBrokerRecord{BrokerID: id, BrokerEpoch: b.Epoch}), nil
	}
}

// leaveISRs takes a broker out of ISRs that have others, as many as go into one batch.
func leaveISRs(i *metadata.Image, id int32) []stored.Message {
	var out []stored.Message
	for t := range i.Topics.All() {
		for n, p := range t.Partitions {
			if len(p.ISR) < 2 || !slices.Contains(p.ISR, id) || len(out) == maxRecordsPerOperation {
				continue
			}
			m := stored.NewPartitionChangeRecord()
			m.PartitionID, m.TopicID = int32(n), t.ID
			m.ISR = without(p.ISR, id)
			if p.Leader == id {
				m.Leader = -1
			}
			out = append(out, &m)
		}
	}
	return out
}

func without(ids []int32, id int32) []int32 {
	return slices.DeleteFunc(slices.Clone(ids), func(other int32) bool { return other == id })
}

// UnregisterController forgets a controller that is not this one (KIP-1170).
func (c *Controller) UnregisterController(id int32) *Error {
	_, err := c.update(func(i *metadata.Image, _ record.Offset) ([]stored.Message, error) {
		switch {
		case i.MetadataVersion() < metadata.UnregisterVersion:
			return nil, refuse(kerr.UnsupportedVersion, "metadata.version %d does not support it", i.MetadataVersion())
		case !i.ControllerRegistered(id):
			return nil, refuse(kerr.ControllerIDNotRegistered, "controller %d is not registered", id)
		case id == c.o.NodeID:
			return nil, refuse(kerr.InvalidRequest, "controller %d is running", id)
		}
		return []stored.Message{&stored.UnregisterControllerRecord{ControllerID: id}}, nil
	})
	if err != nil {
		return asError(err)
	}
	return nil
}

// AddRaftVoter refuses every voter, for the reason that Kafka would give where it has one: a voter's log is on this
// node only.
func (c *Controller) AddRaftVoter(req *kmsg.AddRaftVoterRequest) *Error {
	listener := func(l kmsg.AddRaftVoterRequestListener) bool { return l.Name == c.o.Store.ControllerEndpoint().Name }
	switch {
	case !c.isCluster(req.ClusterID):
		return refuse(kerr.InconsistentClusterID, "this is cluster %s", c.o.Store.Image().ClusterID)
	case req.VoterID < 0:
		return refuse(kerr.InvalidRequest, "voter id %d is negative", req.VoterID)
	case record.UUID(req.VoterDirectoryID).IsZero():
		return refuse(kerr.InvalidRequest, "the voter's directory id is missing")
	case !slices.ContainsFunc(req.Listeners, listener):
		return refuse(kerr.InvalidRequest, "the voter has no listener %s", c.o.Store.ControllerEndpoint().Name)
	case req.VoterID == c.o.NodeID:
		return refuse(kerr.DuplicateVoter, "controller %d is a voter already", req.VoterID)
	}
	return refuse(kerr.UnsupportedVersion, "this cluster has one controller and takes no others")
}

// RemoveRaftVoter refuses too: nobody would be left.
func (c *Controller) RemoveRaftVoter(req *kmsg.RemoveRaftVoterRequest) *Error {
	switch {
	case !c.isCluster(req.ClusterID):
		return refuse(kerr.InconsistentClusterID, "this is cluster %s", c.o.Store.Image().ClusterID)
	case req.VoterID != c.o.NodeID || record.UUID(req.VoterDirectoryID) != c.o.Store.Directory():
		return refuse(kerr.VoterNotFound, "there is no voter %d with directory %s", req.VoterID, record.UUID(req.VoterDirectoryID))
	}
	return refuse(kerr.InvalidRequest, "controller %d is the only voter", req.VoterID)
}

func (c *Controller) isCluster(id *string) bool {
	return id == nil || *id == c.o.Store.Image().ClusterID
}
