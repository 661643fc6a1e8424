package consumer

import (
	"bytes"
	"slices"

	"github.com/samsalog/samsa/internal/group/modern"
)

// MemberState is where a member stands on its way to its target assignment.
type MemberState int8

// The states of a member, as they are stored.
const (
	// Stable members have all of their target, or wait for a newer one.
	Stable MemberState = 0
	// Unrevoked members have been told to give partitions up and have not said yet that they did.
	Unrevoked MemberState = 1
	// Unreleased members wait for partitions that others have not given up.
	Unreleased MemberState = 2
)

// Protocol is one assignment strategy of a member of the classic protocol, with its subscription.
type Protocol struct {
	Name     string
	Metadata []byte
}

// Classic is what is kept of a member that speaks the classic protocol.
type Classic struct {
	SessionTimeoutMs int32
	// Protocols are what it supports, the best first; at least one.
	Protocols []Protocol
}

func (c *Classic) equal(o *Classic) bool {
	if c == nil || o == nil {
		return c == o
	}
	return c.SessionTimeoutMs == o.SessionTimeoutMs && slices.EqualFunc(c.Protocols, o.Protocols, func(a, b Protocol) bool {
		return a.Name == b.Name && bytes.Equal(a.Metadata, b.Metadata)
	})
}

// Info is what a member says of itself (record type 5).
type Info struct {
	// InstanceID is that of a static member, nil for a dynamic one.
	InstanceID, RackID   *string
	ClientID, ClientHost string
	// Topics are the names it subscribes to, in order, each once.
	Topics []string
	// Regex is what the names of further topics match as a whole; "" for none.
	Regex string
	// RebalanceTimeoutMs is how long it may take to give partitions up; -1 if it never said.
	RebalanceTimeoutMs int32
	// ServerAssignor is the assignor that it asks for; nil if it does not care.
	ServerAssignor *string
	// Classic is set for a member that speaks the classic protocol.
	Classic *Classic
}

func (i Info) equal(o Info) bool {
	return modern.SameString(i.InstanceID, o.InstanceID) && modern.SameString(i.RackID, o.RackID) && i.ClientID == o.ClientID &&
		i.ClientHost == o.ClientHost && slices.Equal(i.Topics, o.Topics) && i.Regex == o.Regex &&
		i.RebalanceTimeoutMs == o.RebalanceTimeoutMs && modern.SameString(i.ServerAssignor, o.ServerAssignor) && i.Classic.equal(o.Classic)
}

// Member is one member of a group (CONSUMER-6).
type Member struct {
	ID string
	Info
	// Epoch is that of the assignment it has reached; modern.LeaveStatic while a static member is away, modern.Join before its first.
	Epoch, PreviousEpoch int32
	State                MemberState
	// Assigned is what it may read, Revoking what it still holds and must give up.
	Assigned, Revoking Partitions
}

// Key is the member's id.
func (m *Member) Key() string { return m.ID }

// Instance is the instance id of a static member, nil for a dynamic one.
func (m *Member) Instance() *string { return m.InstanceID }

func newMember(id string) *Member {
	return &Member{ID: id, Info: Info{RebalanceTimeoutMs: -1}, Assigned: Partitions{}, Revoking: Partitions{}}
}

// IsClassic reports whether the member speaks the classic protocol.
func (m *Member) IsClassic() bool { return m.Classic != nil }

// sameAssignment compares what record type 8 holds.
func (m *Member) sameAssignment(o *Member) bool {
	return m.Epoch == o.Epoch && m.PreviousEpoch == o.PreviousEpoch && m.State == o.State &&
		m.Assigned.equal(o.Assigned) && m.Revoking.equal(o.Revoking)
}

// RevokesAs reports whether the member is to give up the same partitions as at another time.
func (m *Member) RevokesAs(o *Member) bool { return o != nil && m.Revoking.equal(o.Revoking) }

// Protocol is the name of the protocol that a classic member is told; "" for others.
func (m *Member) Protocol() string {
	if m.Classic == nil || len(m.Classic.Protocols) == 0 {
		return ""
	}
	return m.Classic.Protocols[0].Name
}
