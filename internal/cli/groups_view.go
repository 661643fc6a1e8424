package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// groupView is a group as "groups describe" shows it.
type groupView struct {
	Group      string           `json:"group"`
	Type       string           `json:"type"`
	State      string           `json:"state"`
	Assignor   string           `json:"assignor"`
	Members    []memberView     `json:"members"`
	Partitions []groupPartition `json:"partitions"`
	// TotalLag is the sum over partitions with a committed offset, -1 when there are none.
	TotalLag int64 `json:"totalLag"`
}

type memberView struct {
	Member   string `json:"member"`
	Instance string `json:"instance,omitempty"`
	Client   string `json:"client"`
	Host     string `json:"host"`
}

// groupPartition is one partition that a group has committed or reads; -1 stands for "unknown". What a share group has
// committed is where its share partition begins; records from there on may be done already, which Lag does not count.
type groupPartition struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Committed int64  `json:"committed"`
	End       int64  `json:"end"`
	Lag       int64  `json:"lag"`
	Metadata  string `json:"metadata,omitempty"`
	Member    string `json:"member,omitempty"`
	Host      string `json:"host,omitempty"`
}

// shareType is what brokers call share groups.
const shareType = "share"

// describeGroup gathers members, assignment, committed offsets and end offsets of one group.
func describeGroup(ctx context.Context, adm *admin, name string) (*groupView, error) {
	listed, err := adm.ListGroups(ctx)
	if err != nil {
		return nil, fmt.Errorf("list groups: %w", err)
	}
	group, ok := listed[name]
	if !ok {
		return nil, kerr.GroupIDNotFound
	}
	view := &groupView{Group: name, Type: cmp.Or(group.GroupType, "classic"), State: group.State, Members: []memberView{}, Partitions: []groupPartition{}}
	owners := map[string]map[int32]memberView{}
	fetch := fetchCommits
	switch view.Type {
	case shareType:
		// Partitions have no owner there: several members may read one.
		err, fetch = view.addShareMembers(ctx, adm), fetchShareCommits
	case "consumer":
		err = view.addConsumerMembers(ctx, adm, owners)
	default:
		err = view.addClassicMembers(ctx, adm, owners)
	}
	if err != nil {
		return nil, err
	}
	commits, err := fetch(ctx, adm, name)
	if err != nil {
		return nil, err
	}
	return view, view.addPartitions(ctx, adm, commits, owners)
}

func (g *groupView) addClassicMembers(ctx context.Context, adm *admin, owners map[string]map[int32]memberView) error {
	groups, err := adm.DescribeGroups(ctx, g.Group)
	if err != nil {
		return fmt.Errorf("describe: %w", err)
	}
	d := groups[g.Group]
	if d.Err != nil {
		return codeError(d.Err, d.ErrMessage)
	}
	g.State, g.Assignor = d.State, d.Protocol
	for _, m := range d.Members {
		member := memberView{Member: m.MemberID, Client: m.ClientID, Host: m.ClientHost}
		if m.InstanceID != nil {
			member.Instance = *m.InstanceID
		}
		g.Members = append(g.Members, member)
		if assigned, ok := m.Assigned.AsConsumer(); ok {
			for _, t := range assigned.Topics {
				own(owners, member, t.Topic, t.Partitions)
			}
		}
	}
	return nil
}

func (g *groupView) addConsumerMembers(ctx context.Context, adm *admin, owners map[string]map[int32]memberView) error {
	groups, err := adm.DescribeConsumerGroups(ctx, g.Group)
	if err != nil {
		return fmt.Errorf("describe: %w", err)
	}
	d := groups[g.Group]
	if d.Err != nil {
		return d.Err
	}
	g.State, g.Assignor = d.State, d.AssignorName
	for _, m := range d.Members {
		member := memberView{Member: m.MemberID, Client: m.ClientID, Host: m.ClientHost}
		if m.InstanceID != nil {
			member.Instance = *m.InstanceID
		}
		g.Members = append(g.Members, member)
		for _, t := range m.Assignment.Sorted() {
			own(owners, member, t.Topic, t.Partitions)
		}
	}
	return nil
}

func own(owners map[string]map[int32]memberView, member memberView, topic string, partitions []int32) {
	if owners[topic] == nil {
		owners[topic] = map[int32]memberView{}
	}
	for _, p := range partitions {
		owners[topic][p] = member
	}
}

// addPartitions adds every partition that is committed or owned, with its lag.
func (g *groupView) addPartitions(ctx context.Context, adm *admin, commits groupCommits, owners map[string]map[int32]memberView) error {
	topics := commits.topics()
	for topic, partitions := range owners {
		for p := range partitions {
			topics.Add(topic, p)
		}
	}
	ends, err := endOffsets(ctx, adm, topics)
	if err != nil {
		return err
	}
	g.TotalLag = -1
	for _, t := range topics.Sorted() {
		slices.Sort(t.Partitions)
		for _, p := range t.Partitions {
			c := commits.lookup(t.Topic, p)
			part := groupPartition{Topic: t.Topic, Partition: p, Committed: c.at, Metadata: c.metadata, End: ends.offset(t.Topic, p), Lag: c.lag}
			if !c.told && part.Committed >= 0 && part.End >= 0 {
				part.Lag = max(0, part.End-part.Committed)
			}
			if part.Lag >= 0 {
				g.TotalLag = max(0, g.TotalLag) + part.Lag
			}
			owner := owners[t.Topic][p]
			part.Member, part.Host = owner.Member, owner.Host
			g.Partitions = append(g.Partitions, part)
		}
	}
	return nil
}

// endOffsets lists the end of the partitions that still exist: a group outlives deleted topics.
func endOffsets(ctx context.Context, adm *admin, topics kadm.TopicsSet) (partitionOffsets, error) {
	if len(topics) == 0 {
		return partitionOffsets{}, nil
	}
	details, err := adm.ListTopicsWithInternal(ctx, topics.Topics()...)
	if err != nil {
		return nil, fmt.Errorf("look up topics: %w", err)
	}
	existing := kadm.TopicsSet{}
	topics.EachPartitions(func(topic string, partitions []int32) {
		for _, p := range partitions {
			if d, ok := details[topic].Partitions[p]; ok && d.Leader >= 0 {
				existing.Add(topic, p)
			}
		}
	})
	return listOffsets(ctx, adm.raw, existing, timestampLatest, false)
}
