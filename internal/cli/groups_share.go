package cli

import (
	"context"
	"fmt"
)

// addShareMembers adds the members of a share group.
func (g *groupView) addShareMembers(ctx context.Context, adm *admin) error {
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
	return nil
}
