package group

import (
	"bytes"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/coord"
)

type (
	joinResponse = kmsg.JoinGroupResponse
	syncResponse = kmsg.SyncGroupResponse
	joinAnswer   = answer[*joinResponse]
	syncAnswer   = answer[*syncResponse]
)

// member is one member of a classic group (ClassicGroupMember.java).
type member struct {
	id string
	// instance is the group.instance.id of a static member, nil for a dynamic one. "" is an id like others.
	instance             *string
	clientID, clientHost string
	// rebalanceTimeoutMs and sessionTimeoutMs are what the member asked for.
	rebalanceTimeoutMs, sessionTimeoutMs int32
	protocolType                         string
	// protocols are what the member supports, the best first.
	protocols []protocol
	// assignment is what the leader gave it in the last stable generation.
	assignment []byte
	// join and sync are where it waits; nil when it does not.
	join *joinAnswer
	sync *syncAnswer
	// isNew holds until its first generation: it cannot send heartbeats yet, so it is given up after
	// newMemberJoinTimeout even while it waits.
	isNew bool
	// session removes the member when it has not been heard of.
	session *coord.Timer
}

// protocol is one assignment strategy that a member supports, with what it wants to say to the leader.
type protocol struct {
	name     string
	metadata []byte
}

// protocolsOf copies the protocols of a request, whose bytes are only lent.
func protocolsOf(in []kmsg.JoinGroupRequestProtocol) []protocol {
	out := make([]protocol, len(in))
	for i, p := range in {
		out[i] = protocol{strings.Clone(p.Name), append([]byte{}, p.Metadata...)}
	}
	return out
}

func (m *member) isStatic() bool { return m.instance != nil }

// metadata is what the member says for a protocol; nil if it does not list it.
func (m *member) metadata(name *string) []byte {
	if name == nil {
		return nil
	}
	for _, p := range m.protocols {
		if p.name == *name {
			return p.metadata
		}
	}
	return nil
}

// matches reports whether the member says the same as before.
func (m *member) matches(protocols []protocol) bool {
	return slices.EqualFunc(m.protocols, protocols, func(a, b protocol) bool {
		return a.name == b.name && bytes.Equal(a.metadata, b.metadata)
	})
}

// alive reports whether the member is excused from heartbeats: it waits for the others. A new one is not.
func (m *member) alive() bool { return !m.isNew && (m.join != nil || m.sync != nil) }
