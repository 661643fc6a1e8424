package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/samsalog/samsa/inspect/repair"
)

func newRepairCommand() *cobra.Command {
	var o repair.Options
	var yes, dryRun, asJSON bool
	var undo string
	cmd := &cobra.Command{
		Use:   "repair DIR",
		Short: "Make a damaged data directory usable again; shows its plan first",
		Long: `Make a damaged log directory, or one partition's directory, usable again. Without
--yes only the plan is shown. Whole batches are never taken out; what is taken
out is saved beside the partitions, and a journal tells how to put it back:

  samsa repair DIR                what would be done
  samsa repair DIR --yes          do it; prints the name of the journal
  samsa repair --undo JOURNAL     take everything back, byte for byte

A broker must not be running on the directory: the lock is taken first. A repair
that was interrupted is continued by the same command.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if undo != "" {
				return exactly(0, "")(cmd, args)
			}
			return exactly(1, "the directory to repair")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if undo != "" {
				n, err := repair.Undo(cmd.Context(), nil, undo)
				if err == nil {
					fmt.Fprintf(cmd.OutOrStdout(), "taken back: %s\n", count(int64(n), "step"))
				}
				return err
			}
			o.Dir = args[0]
			if yes && dryRun {
				return usagef("--yes and --dry-run contradict each other")
			}
			if yes {
				return doRepair(cmd, o, asJSON)
			}
			plan, err := repair.MakePlan(cmd.Context(), o)
			if err != nil {
				return err
			}
			return showPlan(cmd, plan, asJSON)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&yes, "yes", false, "carry the plan out")
	flags.BoolVar(&dryRun, "dry-run", false, "only show the plan; this is the default")
	flags.BoolVar(&o.Leftovers, "leftovers", false, "also take away files that deletions, compaction or writes have left")
	flags.StringVar(&undo, "undo", "", "take the repair of this `JOURNAL` back")
	flags.BoolVar(&asJSON, "json", false, "print one JSON object per action and finding")
	return cmd
}

func showAction(cmd *cobra.Command, a repair.Action, asJSON bool) {
	if !asJSON {
		fmt.Fprintln(cmd.OutOrStdout(), a)
		return
	}
	if line, err := appendJSONLine(nil, struct {
		Kind   string        `json:"kind"`
		Action repair.Action `json:"action"`
	}{"action", a}); err == nil {
		_, _ = cmd.OutOrStdout().Write(line) // a broken pipe ends the command soon
	}
}

func showPlan(cmd *cobra.Command, plan *repair.Plan, asJSON bool) error {
	for _, a := range plan.Actions {
		showAction(cmd, a, asJSON)
	}
	out := findingPrinter(cmd, asJSON)
	for _, f := range plan.Findings {
		out(f)
	}
	switch {
	case len(plan.Actions) > 0:
		fmt.Fprintf(cmd.ErrOrStderr(), "%s planned; nothing was changed. Repeat with --yes to carry it out.\n", count(int64(len(plan.Actions)), "action"))
	case len(plan.Findings) > 0:
		fmt.Fprintln(cmd.ErrOrStderr(), "Nothing that could be done here; what is missing is listed above.")
	default:
		fmt.Fprintln(cmd.ErrOrStderr(), "Nothing to repair.")
	}
	return nil
}

func doRepair(cmd *cobra.Command, o repair.Options, asJSON bool) error {
	result, err := repair.Run(cmd.Context(), o, func(a repair.Action) { showAction(cmd, a, asJSON) })
	if result != nil && result.Journal != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s done. To take it back: samsa repair --undo %s\n", count(int64(len(result.Done)), "action"), result.Journal)
	} else if err == nil {
		fmt.Fprintln(cmd.ErrOrStderr(), "Nothing to repair.")
	}
	if err != nil {
		return withHint(err, "A broker that runs on the directory has to be stopped first; an interrupted repair is continued by the same command.")
	}
	return nil
}
