package streams

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/group/modern"
)

// MemberState is where a member stands on its way to its target assignment.
type MemberState int8

// The states of a member, as they are stored. Others than these are of a version to come.
const (
	// Stable members have all of their target, or wait for a newer one.
	Stable MemberState = 1
	// Unrevoked members have been told to give tasks up and have not said yet that they did.
	Unrevoked MemberState = 2
	// Unreleased members wait for tasks that others have not given up.
	Unreleased MemberState = 3
)

// noTopology is the topology epoch of a member, and of a group, that has none.
const noTopology = -1

// Endpoint is where an instance answers queries.
type Endpoint struct {
	Host string
	Port uint16
}

// Info is what a member says of itself (record type 19).
type Info struct {
	// InstanceID is that of a static member, nil for a dynamic one.
	InstanceID, RackID   *string
	ClientID, ClientHost string
	// RebalanceTimeoutMs is how long it may take to give tasks up; -1 if it never said.
	RebalanceTimeoutMs int32
	// TopologyEpoch is that of the topology it was built with.
	TopologyEpoch int32
	// ProcessID is that of the instance, whose members share its state directory.
	ProcessID string
	// Endpoint is nil when the instance answers no queries.
	Endpoint *Endpoint
	Tags     map[string]string
}

func (i Info) equal(o Info) bool {
	return modern.SameString(i.InstanceID, o.InstanceID) && sameEndpoint(i.Endpoint, o.Endpoint) && !i.assignsOtherwise(o) &&
		i.ClientID == o.ClientID && i.ClientHost == o.ClientHost && i.RebalanceTimeoutMs == o.RebalanceTimeoutMs
}

// assignsOtherwise reports whether they differ in something that assignments depend on.
func (i Info) assignsOtherwise(o Info) bool {
	return !modern.SameString(i.RackID, o.RackID) || i.TopologyEpoch != o.TopologyEpoch || i.ProcessID != o.ProcessID || !maps.Equal(i.Tags, o.Tags)
}

func sameEndpoint(a, b *Endpoint) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// said is what a member says of itself: what is left out of a request stays as it was, but for the endpoint of one
// that joins.
func said(info Info, req *kmsg.StreamsGroupHeartbeatRequest) Info {
	if req.InstanceID != nil {
		info.InstanceID = req.InstanceID
	}
	if req.RackID != nil {
		info.RackID = req.RackID
	}
	if req.RebalanceTimeoutMillis != -1 {
		info.RebalanceTimeoutMs = req.RebalanceTimeoutMillis
	}
	if req.Topology != nil {
		info.TopologyEpoch = req.Topology.Epoch
	}
	if req.ProcessID != nil {
		info.ProcessID = *req.ProcessID
	}
	if req.ClientTags != nil {
		info.Tags = map[string]string{}
		for _, t := range req.ClientTags {
			info.Tags[t.Key] = t.Value
		}
	}
	switch {
	case req.UserEndpoint != nil:
		info.Endpoint = &Endpoint{req.UserEndpoint.Host, req.UserEndpoint.Port}
	case req.MemberEpoch == modern.Join:
		info.Endpoint = nil
	}
	return info
}

// lacks are the tags of a list that a member has not.
func (i Info) lacks(tags []string) []string {
	return slices.DeleteFunc(slices.Clone(tags), func(t string) bool { _, ok := i.Tags[t]; return ok })
}

// Member is one member of a group (STREAMS-6).
type Member struct {
	ID string
	Info
	// Epoch is that of the assignment it has reached; modern.LeaveStatic while a static member is away, modern.Join before its first.
	Epoch, PreviousEpoch int32
	State                MemberState
	// Assigned is what it may hold, Revoking what it still holds and must give up.
	Assigned, Revoking Assignment
}

// Key is the member's id.
func (m *Member) Key() string { return m.ID }

// Instance is the instance id of a static member, nil for a dynamic one.
func (m *Member) Instance() *string { return m.InstanceID }

func newMember(id string) *Member {
	return &Member{ID: id, Info: Info{RebalanceTimeoutMs: -1, TopologyEpoch: noTopology}, State: Stable, Assigned: Assignment{}, Revoking: Assignment{}}
}

// sameAssignment compares what record type 22 holds.
func (m *Member) sameAssignment(o *Member) bool {
	return m.Epoch == o.Epoch && m.PreviousEpoch == o.PreviousEpoch && m.State == o.State &&
		m.Assigned.equal(o.Assigned) && m.Revoking.equal(o.Revoking)
}

// RevokesAs reports whether the member is to give up the same tasks as at another time.
func (m *Member) RevokesAs(o *Member) bool { return o != nil && m.Revoking.equal(o.Revoking) }

// reached reports whether the member has all of the assignment of an epoch.
func (m *Member) reached(epoch int32) bool { return m.State == Stable && m.Epoch == epoch }
