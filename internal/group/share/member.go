package share

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/group/assignor"
	"github.com/samsalog/samsa/internal/group/modern"
)

// The epochs in a request that mean something else than an epoch.
const (
	Join  = modern.Join
	Leave = modern.Leave
)

// stable is the only state that members of share groups have: what they are given they have, nobody waits.
const stable = 0

// Info is what a member says of itself (record type 10).
type Info struct {
	RackID               *string
	ClientID, ClientHost string
	// Topics are the names that it reads, in order.
	Topics []string
}

func (i Info) equal(o Info) bool {
	return modern.SameString(i.RackID, o.RackID) && i.ClientID == o.ClientID && i.ClientHost == o.ClientHost && slices.Equal(i.Topics, o.Topics)
}

// said is what a member says of itself: what is left out of a request stays as it was.
func said(info Info, req *kmsg.ShareGroupHeartbeatRequest) Info {
	if req.RackID != nil {
		info.RackID = req.RackID
	}
	if req.SubscribedTopicNames != nil {
		info.Topics = names(req.SubscribedTopicNames)
	}
	return info
}

// names puts topic names in order and leaves repetitions out.
func names(in []string) []string {
	out := slices.Clone(in)
	slices.Sort(out)
	return slices.Compact(out)
}

// Member is one member of a group (SHARE-6).
type Member struct {
	ID string
	Info
	// Epoch is that of the assignment it has; Join before its first.
	Epoch, PreviousEpoch int32
	// state is stable, or what a version to come wrote.
	state int8
	// Assigned is what it reads.
	Assigned assignor.Partitions
}

// Key implements modern.Member.
func (m *Member) Key() string { return m.ID }

// Instance implements modern.Member: there are no static members.
func (m *Member) Instance() *string { return nil }

func newMember(id string) *Member { return &Member{ID: id, Assigned: assignor.Partitions{}} }

// sameAssignment compares what record type 14 holds.
func (m *Member) sameAssignment(o *Member) bool {
	return m.Epoch == o.Epoch && m.PreviousEpoch == o.PreviousEpoch && m.state == o.state && equal(m.Assigned, o.Assigned)
}

func equal(a, b assignor.Partitions) bool {
	if len(a) != len(b) {
		return false
	}
	for t, ps := range a {
		if !slices.Equal(ps, b[t]) {
			return false
		}
	}
	return true
}
