package streams

import "github.com/twmb/franz-go/pkg/kerr"

// firstCommitOfMembers is the version of OffsetCommit from which on members of the streams protocol may commit.
const firstCommitOfMembers = 9

// Commit is who commits offsets.
type Commit struct {
	MemberID   string
	InstanceID *string
	Epoch      int32
	Version    int16
	// Transactional commits need not say who they are, and do not know STALE_MEMBER_EPOCH.
	Transactional bool
}

// MayCommit decides whether a commit is accepted, and returns the member; nil if it comes from outside.
func (g *Group) MayCommit(c Commit) (*Member, *kerr.Error) {
	switch {
	case c.Epoch < 0 && len(g.Members) == 0,
		c.Transactional && c.Epoch == -1 && c.MemberID == "" && c.InstanceID == nil:
		return nil, nil
	}
	m := g.Members[c.MemberID]
	switch {
	case m == nil:
		return nil, kerr.UnknownMemberID
	case !c.Transactional && c.Version < firstCommitOfMembers:
		return nil, kerr.UnsupportedVersion
	case c.Epoch > m.Epoch:
		return nil, Stale(c.Transactional)
	}
	return m, nil
}

// Stale is the error of a commit with an epoch that is not the member's, in the words that the client knows.
func Stale(transactional bool) *kerr.Error {
	if transactional {
		return kerr.IllegalGeneration
	}
	return kerr.StaleMemberEpoch
}

// HeldSince reports whether a member runs the task that reads a partition since an epoch or before. A member that commits
// with an epoch that is over, because an answer is still on its way, may do so for what it had then already.
func (g *Group) HeldSince(m *Member, epoch int32, topic string, partition int32) bool {
	if epoch == m.Epoch {
		return true
	}
	if g.Topology == nil {
		return false
	}
	sub, ok := g.Topology.sources[topic]
	if !ok {
		return false
	}
	at := slot{Active, task{sub, partition}}
	since, ok := m.Assigned[at]
	if !ok {
		since, ok = m.Revoking[at]
	}
	return ok && since <= epoch
}

// MayFetch decides whether a member may fetch offsets. id is nil for somebody from outside.
func (g *Group) MayFetch(id *string, epoch int32) *kerr.Error {
	switch {
	case id == nil && epoch < 0:
		return nil
	case id == nil: // an epoch of nobody: Kafka stumbles over it
		return kerr.UnknownServerError
	}
	switch m := g.Members[*id]; {
	case m == nil:
		return kerr.UnknownMemberID
	case m.Epoch != epoch:
		return kerr.StaleMemberEpoch
	}
	return nil
}
