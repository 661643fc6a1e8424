package kfake

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// GroupInfo is a group as it was at one moment.
type GroupInfo struct {
	Group, State string
	Epoch        int32
	Members      []GroupMember
	// Commits are the committed offsets by topic and partition.
	Commits map[string]map[int32]GroupCommit
}

// GroupCommit is a committed offset.
type GroupCommit struct {
	Offset      int64
	LeaderEpoch int32
	Metadata    string
}

// GroupMember is a member of a group.
type GroupMember struct {
	MemberID             string
	InstanceID           *string
	ClientID, ClientHost string
	SubscribedTopics     []string
	Assignment           map[string][]int32
}

// NumAssigned is how many partitions the member has.
func (m *GroupMember) NumAssigned() (n int) {
	for _, ps := range m.Assignment {
		n += len(ps)
	}
	return n
}

// NumAssigned is how many partitions the members have.
func (g *GroupInfo) NumAssigned() (n int) {
	for i := range g.Members {
		n += g.Members[i].NumAssigned()
	}
	return n
}

// GroupInfo describes a group; nil if there is none.
func (c *Cluster) GroupInfo(group string) *GroupInfo {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	list, err := kmsg.NewPtrListGroupsRequest().RequestWith(ctx, c.client)
	if err != nil {
		return nil
	}
	i := slices.IndexFunc(list.Groups, func(g kmsg.ListGroupsResponseGroup) bool { return g.Group == group })
	if i < 0 {
		return nil
	}
	out := &GroupInfo{Group: group, Commits: map[string]map[int32]GroupCommit{}}
	if strings.EqualFold(list.Groups[i].GroupType, "consumer") {
		out.consumer(ctx, c)
	} else {
		out.classic(ctx, c)
	}
	out.commits(ctx, c)
	slices.SortFunc(out.Members, func(a, b GroupMember) int { return cmp.Compare(a.MemberID, b.MemberID) })
	return out
}

func (g *GroupInfo) consumer(ctx context.Context, c *Cluster) {
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Groups = []string{g.Group}
	resp, err := req.RequestWith(ctx, c.client)
	if err != nil || len(resp.Groups) == 0 {
		return
	}
	g.State, g.Epoch = resp.Groups[0].State, resp.Groups[0].Epoch
	for _, m := range resp.Groups[0].Members {
		x := GroupMember{
			MemberID: m.MemberID, InstanceID: m.InstanceID, ClientID: m.ClientID, ClientHost: m.ClientHost,
			SubscribedTopics: m.SubscribedTopics, Assignment: map[string][]int32{},
		}
		for _, t := range m.Assignment.TopicPartitions {
			x.Assignment[t.Topic] = t.Partitions
		}
		g.Members = append(g.Members, x)
	}
}

func (g *GroupInfo) classic(ctx context.Context, c *Cluster) {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = []string{g.Group}
	resp, err := req.RequestWith(ctx, c.client)
	if err != nil || len(resp.Groups) == 0 {
		return
	}
	g.State = resp.Groups[0].State
	for _, m := range resp.Groups[0].Members {
		x := GroupMember{MemberID: m.MemberID, InstanceID: m.InstanceID, ClientID: m.ClientID, ClientHost: m.ClientHost, Assignment: map[string][]int32{}}
		var meta kmsg.ConsumerMemberMetadata
		if meta.ReadFrom(m.ProtocolMetadata) == nil {
			x.SubscribedTopics = meta.Topics
		}
		var a kmsg.ConsumerMemberAssignment
		if a.ReadFrom(m.MemberAssignment) == nil {
			for _, t := range a.Topics {
				x.Assignment[t.Topic] = t.Partitions
			}
		}
		g.Members = append(g.Members, x)
	}
}

func (g *GroupInfo) commits(ctx context.Context, c *Cluster) {
	req := kmsg.NewPtrOffsetFetchRequest()
	x := kmsg.NewOffsetFetchRequestGroup()
	x.Group, x.MemberEpoch = g.Group, -1
	req.Group, req.Groups = g.Group, append(req.Groups, x)
	resp, err := req.RequestWith(ctx, c.client)
	if err != nil {
		return
	}
	for _, r := range resp.Groups {
		for _, t := range r.Topics {
			ps := map[int32]GroupCommit{}
			for _, p := range t.Partitions {
				commit := GroupCommit{Offset: p.Offset, LeaderEpoch: p.LeaderEpoch}
				if p.Metadata != nil {
					commit.Metadata = *p.Metadata
				}
				ps[p.Partition] = commit
			}
			g.Commits[t.Topic] = ps
		}
	}
}

// WaitGroupStable waits for a group to be stable with so many members; -1 for any number.
func (c *Cluster) WaitGroupStable(ctx context.Context, group string, members int) (*GroupInfo, error) {
	return c.WaitGroupInfo(ctx, group, func(g *GroupInfo) bool {
		return g != nil && g.State == "Stable" && (members < 0 || len(g.Members) == members)
	})
}

// WaitGroupInfo waits until fn returns true for a group, which is nil while there is none.
func (c *Cluster) WaitGroupInfo(ctx context.Context, group string, fn func(*GroupInfo) bool) (*GroupInfo, error) {
	for {
		g := c.GroupInfo(group)
		if fn(g) {
			return g, nil
		}
		select {
		case <-ctx.Done():
			return g, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}
