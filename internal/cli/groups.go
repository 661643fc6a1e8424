package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

func newGroupsCommand() *cobra.Command {
	var conn connection
	cmd := parentCommand("groups", "List, describe, reset and delete groups", "",
		newGroupsListCommand(&conn), newGroupsDescribeCommand(&conn), newGroupsResetCommand(&conn), newGroupsDeleteCommand(&conn))
	conn.flags(cmd)
	return cmd
}

func newGroupsListCommand(conn *connection) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the groups and their states",
		Args:  exactly(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return conn.admin(cmd.Context(), func(ctx context.Context, adm *admin) error {
				groups, err := adm.ListGroups(ctx)
				if err != nil {
					return fmt.Errorf("list groups: %w", err)
				}
				type listed struct {
					Group       string `json:"group"`
					Type        string `json:"type"`
					State       string `json:"state"`
					Protocol    string `json:"protocol"`
					Coordinator int32  `json:"coordinator"`
				}
				out := []listed{}
				for _, g := range groups.Sorted() {
					out = append(out, listed{g.Group, g.GroupType, g.State, g.ProtocolType, g.Coordinator})
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), out)
				}
				tab := newTable("GROUP", "TYPE", "STATE", "PROTOCOL", "COORDINATOR")
				for _, g := range out {
					tab.row(g.Group, g.Type, g.State, g.Protocol, g.Coordinator)
				}
				return tab.write(cmd.OutOrStdout())
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newGroupsDescribeCommand(conn *connection) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "describe GROUP…",
		Short: "Show members, committed offsets and lag",
		Args:  atLeast(1, "the group to describe"),
		RunE: func(cmd *cobra.Command, names []string) error {
			return conn.admin(cmd.Context(), func(ctx context.Context, adm *admin) error {
				groups := make([]*groupView, 0, len(names))
				for _, name := range names {
					g, err := describeGroup(ctx, adm, name)
					if err != nil {
						return fmt.Errorf("group %s: %w", name, err)
					}
					groups = append(groups, g)
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), groups)
				}
				for i, g := range groups {
					if i > 0 {
						fmt.Fprintln(cmd.OutOrStdout())
					}
					if err := g.write(cmd.OutOrStdout()); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (g *groupView) write(w io.Writer) error {
	fmt.Fprintf(w, "group     %s\ntype      %s\nstate     %s\n", g.Group, g.Type, g.State)
	if g.Assignor != "" {
		fmt.Fprintf(w, "assignor  %s\n", g.Assignor)
	}
	fmt.Fprintf(w, "members   %d\n", len(g.Members))
	if g.TotalLag >= 0 {
		fmt.Fprintf(w, "lag       %d\n", g.TotalLag)
	}
	if len(g.Partitions) == 0 {
		return nil
	}
	tab := newTable("TOPIC", "PARTITION", "COMMITTED", "END", "LAG", "MEMBER", "HOST")
	dash := func(n int64) string {
		if n < 0 {
			return ""
		}
		return fmt.Sprint(n)
	}
	for _, p := range g.Partitions {
		tab.row(p.Topic, p.Partition, dash(p.Committed), dash(p.End), dash(p.Lag), p.Member, p.Host)
	}
	return tab.write(w)
}

func newGroupsDeleteCommand(conn *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "delete GROUP…",
		Short: "Delete groups and their committed offsets",
		Args:  atLeast(1, "the group to delete"),
		RunE: func(cmd *cobra.Command, names []string) error {
			return conn.admin(cmd.Context(), func(ctx context.Context, adm *admin) error {
				deleted, err := adm.DeleteGroups(ctx, names...)
				if err != nil && len(deleted) == 0 {
					return fmt.Errorf("delete groups: %w", err)
				}
				var failed error
				for _, name := range names {
					if r := deleted[name]; r.Err != nil {
						failed = errors.Join(failed, fmt.Errorf("group %s was not deleted: %w", name, r.Err))
						continue
					}
					fmt.Fprintf(cmd.ErrOrStderr(), "deleted group %s\n", name)
				}
				return failed
			})
		},
	}
}
