package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// resetOptions are the flags of "groups reset".
type resetOptions struct {
	topics    []string
	allTopics bool
	to        string
	shift     int64
	execute   bool
	asJSON    bool
	share     bool
}

// plannedOffset is one line of a reset's plan; Current is -1 where nothing is committed yet.
type plannedOffset struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Current   int64  `json:"current"`
	New       int64  `json:"new"`
}

func newGroupsResetCommand(conn *connection) *cobra.Command {
	var opts resetOptions
	cmd := &cobra.Command{
		Use:   "reset GROUP",
		Short: "Move a group's committed offsets",
		Long: `Move the committed offsets of a group whose members are stopped. The plan is
shown first; nothing changes without --execute. A share group begins at the new
offsets with everything that lies behind them, whatever it has done of that.

` + positionHelp,
		Example: `  samsa groups reset billing --topic orders --to earliest
  samsa groups reset billing --topic orders:0,1 --to @2026-01-31T00:00:00Z --execute
  samsa groups reset billing --all-topics --shift -100 --execute
  samsa groups reset workers --share --topic jobs --to earliest --execute`,
		Args: exactly(1, "the group to reset"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := opts.check(cmd); err != nil {
				return err
			}
			return conn.admin(cmd.Context(), func(ctx context.Context, adm *admin) error {
				if err := opts.findType(ctx, adm, args[0]); err != nil {
					return err
				}
				plan, err := opts.plan(ctx, adm, args[0], time.Now())
				if err != nil {
					return err
				}
				return opts.run(ctx, cmd, adm, args[0], plan)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&opts.topics, "topic", "t", nil, "topic to reset, `TOPIC[:PARTITION,…]`; may be repeated")
	flags.BoolVar(&opts.allTopics, "all-topics", false, "reset every topic that the group has committed")
	flags.StringVar(&opts.to, "to", "", "the `POSITION` to go to")
	flags.Int64Var(&opts.shift, "shift", 0, "move by this many `records`, backward if negative")
	flags.BoolVar(&opts.execute, "execute", false, "do it")
	flags.BoolVar(&opts.asJSON, "json", false, "print the plan as JSON")
	flags.BoolVar(&opts.share, "share", false, "the group is a share group; needs to be said of one that does not exist yet")
	return cmd
}

// findType finds out whether the group is a share group, where that was not said.
func (o *resetOptions) findType(ctx context.Context, adm *admin, group string) error {
	listed, err := adm.ListGroups(ctx)
	if err != nil {
		return fmt.Errorf("list groups: %w", err)
	}
	g, exists := listed[group]
	if exists && o.share && g.GroupType != shareType {
		return fmt.Errorf("group %s is not a share group but of type %s", group, g.GroupType)
	}
	o.share = o.share || exists && g.GroupType == shareType
	return nil
}

func (o *resetOptions) check(cmd *cobra.Command) error {
	if (len(o.topics) > 0) == o.allTopics {
		return usagef("say what to reset: --topic or --all-topics")
	}
	if (o.to != "") == cmd.Flags().Changed("shift") {
		return usagef("say where to go: --to or --shift")
	}
	return nil
}

// plan works out the new offsets without changing anything.
func (o *resetOptions) plan(ctx context.Context, adm *admin, group string, now time.Time) ([]plannedOffset, error) {
	fetch := fetchCommits
	if o.share {
		fetch = fetchShareCommits
	}
	commits, err := fetch(ctx, adm, group)
	if err != nil {
		return nil, fmt.Errorf("group %s: %w", group, err)
	}
	targets, err := o.targets(ctx, adm, commits)
	if err != nil {
		return nil, err
	}
	current := func(topic string, partition int32) int64 { return commits.lookup(topic, partition).at }
	var resolved partitionOffsets
	if o.to != "" {
		to, err := parsePosition(o.to, now)
		if err != nil {
			return nil, err
		}
		if resolved, err = to.resolve(ctx, adm.raw, targets, false); err != nil {
			return nil, err
		}
	} else if resolved, err = o.shifted(ctx, adm, targets, current); err != nil {
		return nil, err
	}
	plan := []plannedOffset{}
	for _, t := range targets.Sorted() {
		slices.Sort(t.Partitions)
		for _, p := range t.Partitions {
			if offset := resolved.offset(t.Topic, p); offset >= 0 {
				plan = append(plan, plannedOffset{Topic: t.Topic, Partition: p, Current: current(t.Topic, p), New: offset})
			}
		}
	}
	if len(plan) == 0 {
		return nil, withHint(errors.New("there is nothing to move: the group has committed nothing there"), "Use --to instead of --shift.")
	}
	return plan, nil
}

// shifted moves each committed offset by o.shift, within the partition's bounds.
func (o *resetOptions) shifted(ctx context.Context, adm *admin, targets kadm.TopicsSet, current func(string, int32) int64) (partitionOffsets, error) {
	starts, err := listOffsets(ctx, adm.raw, targets, timestampEarliest, false)
	if err != nil {
		return nil, err
	}
	ends, err := listOffsets(ctx, adm.raw, targets, timestampLatest, false)
	if err != nil {
		return nil, err
	}
	shifted := partitionOffsets{}
	for topic, partitions := range ends {
		for p, end := range partitions {
			if at := current(topic, p); at >= 0 {
				shifted.set(topic, p, min(max(at+o.shift, starts.offset(topic, p)), end))
			}
		}
	}
	return shifted, nil
}

// targets returns the partitions that the flags name.
func (o *resetOptions) targets(ctx context.Context, adm *admin, commits groupCommits) (kadm.TopicsSet, error) {
	if o.allTopics {
		set := commits.topics()
		if len(set) == 0 {
			return nil, withHint(errors.New("the group has committed no offsets"), "Name the topics with --topic.")
		}
		return set, nil
	}
	set := kadm.TopicsSet{}
	for _, arg := range o.topics {
		topic, list, some := strings.Cut(arg, ":")
		all, err := partitionsOf(ctx, adm, []string{topic})
		if err != nil {
			return nil, err
		}
		if !some {
			set.Merge(all)
			continue
		}
		for _, text := range strings.Split(list, ",") {
			p, err := strconv.ParseInt(text, 10, 32)
			if err != nil {
				return nil, usagef("%q in %q is not a partition", text, arg)
			}
			if !all.Lookup(topic, int32(p)) {
				return nil, fmt.Errorf("partition %d of topic %s: %w", p, topic, kerr.UnknownTopicOrPartition)
			}
			set.Add(topic, int32(p))
		}
	}
	return set, nil
}

// run shows the plan and carries it out if asked to.
func (o *resetOptions) run(ctx context.Context, cmd *cobra.Command, adm *admin, group string, plan []plannedOffset) error {
	if o.asJSON {
		if err := printJSON(cmd.OutOrStdout(), plan); err != nil {
			return err
		}
	} else {
		tab := newTable("TOPIC", "PARTITION", "CURRENT", "NEW")
		for _, p := range plan {
			current := ""
			if p.Current >= 0 {
				current = strconv.FormatInt(p.Current, 10)
			}
			tab.row(p.Topic, p.Partition, current, p.New)
		}
		if err := tab.write(cmd.OutOrStdout()); err != nil {
			return err
		}
	}
	if !o.execute {
		fmt.Fprintln(cmd.ErrOrStderr(), "nothing was changed; add --execute to do it")
		return nil
	}
	offsets := kadm.Offsets{}
	for _, p := range plan {
		offsets.AddOffset(p.Topic, p.Partition, p.New, -1)
	}
	commit := adm.CommitAllOffsets
	if o.share {
		commit = adm.alterShareOffsets
	}
	if err := commit(ctx, group, offsets); err != nil {
		if errors.Is(err, kerr.UnknownMemberID) || errors.Is(err, kerr.NonEmptyGroup) {
			return withHint(fmt.Errorf("group %s has members: %w", group, err), "Stop them first; a running member would overwrite the reset.")
		}
		return fmt.Errorf("commit offsets of group %s: %w", group, err)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "moved %s of group %s\n", count(int64(len(plan)), "partition"), group)
	return nil
}

// alterShareOffsets moves a share group. The first partition that was refused is the error.
func (a *admin) alterShareOffsets(ctx context.Context, group string, offsets kadm.Offsets) error {
	altered, err := a.AlterShareGroupOffsets(ctx, group, offsets)
	if err != nil {
		return err
	}
	for _, topic := range slices.Sorted(maps.Keys(altered)) {
		for _, p := range slices.Sorted(maps.Keys(altered[topic])) {
			if err := altered[topic][p]; err != nil {
				return fmt.Errorf("partition %d of topic %s: %w", p, topic, err)
			}
		}
	}
	return nil
}
