package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
)

// addShare adds the members of a share group, and its share partitions: where each begins, and how many records from there
// on are not done.
func (g *groupView) addShare(ctx context.Context, adm *admin) error {
	groups, err := adm.DescribeShareGroups(ctx, g.Group)
	if err != nil {
		return fmt.Errorf("describe: %w", err)
	}
	d := groups[g.Group]
	if d.Err != nil {
		return d.Err
	}
	g.State, g.Assignor = d.GroupState, d.Assignor
	for _, m := range d.Members {
		g.Members = append(g.Members, memberView{Member: m.MemberID, Client: m.ClientID, Host: m.ClientHost})
	}
	offsets, err := adm.DescribeShareGroupOffsets(ctx, g.Group)
	if err != nil {
		return fmt.Errorf("describe offsets: %w", err)
	}
	of := offsets[g.Group]
	if of.Err != nil {
		return of.Err
	}
	return g.addShareOffsets(ctx, adm, of.Offsets)
}

func (g *groupView) addShareOffsets(ctx context.Context, adm *admin, offsets kadm.ShareOffsets) error {
	topics := kadm.TopicsSet{}
	for topic, partitions := range offsets {
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
			o := offsets[t.Topic][p]
			if o.Err != nil {
				return fmt.Errorf("partition %d of topic %s: %w", p, t.Topic, o.Err)
			}
			g.Partitions = append(g.Partitions, groupPartition{Topic: t.Topic, Partition: p, Committed: o.StartOffset, End: ends.offset(t.Topic, p), Lag: o.Lag})
			if o.Lag >= 0 {
				g.TotalLag = max(0, g.TotalLag) + o.Lag
			}
		}
	}
	return nil
}
