package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/samsalog/samsa/inspect/repair"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/vfs"
)

// repairFlags are the flags of samsa repair.
type repairFlags struct {
	options             repair.Options
	yes, dryRun, asJSON bool
	undo                string
	metadata            string
	logDirs             []string
	nodeID              int32
	free, aside         string
}

func newRepairCommand() *cobra.Command {
	f := &repairFlags{}
	cmd := &cobra.Command{
		Use:   "repair DIR",
		Short: "Make a damaged data directory usable again; shows its plan first",
		Long: `Make a damaged log directory, or one partition's directory, usable again. Without
--yes only the plan is shown. Whole batches are never taken out; what is taken
out is saved beside the partitions, and a journal tells how to put it back:

  samsa repair DIR                what would be done
  samsa repair DIR --yes          do it; prints the name of the journal
  samsa repair --undo JOURNAL     take everything back, byte for byte

What topics there are, with which ids and settings, is read from the metadata
log: that of DIR, or of --metadata if it lies in another log directory of the
broker (--log-dirs will do too). It is needed to bring back partitions that were set aside (-stray) and
to tell which topics are compacted.

A meta.properties that is lost is made again where everything that tells of it
agrees: what is left of it, the metadata log, and the broker's other directories,
which --log-dirs names. The cluster id stands in no log: if no directory tells it,
it has to be given.

--free makes room on a full disk instead: leftovers, then the oldest sealed
segments of topics that are not compacted, are moved to --aside, a directory on
another disk, until so much is free. The journal lies there too.

A broker must not be running on the directory: the lock is taken first. A repair
that was interrupted is continued by the same command.`,
		Example: `  samsa repair samsa-data
  samsa repair samsa-data --yes
  samsa repair /var/lib/kafka --free 20G --aside /mnt/spare --yes`,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.undo != "" {
				return exactly(0, "")(cmd, args)
			}
			return exactly(1, "the directory to repair")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.undo != "" {
				return undoRepair(cmd, f.undo)
			}
			return f.run(cmd, args[0])
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.yes, "yes", false, "carry the plan out")
	flags.BoolVar(&f.dryRun, "dry-run", false, "only show the plan; this is the default")
	flags.BoolVar(&f.options.Leftovers, "leftovers", false, "also take away files that deletions, compaction or writes have left")
	flags.StringVar(&f.metadata, "metadata", "", "the log `DIRECTORY` with the metadata log, if it is not DIR")
	flags.StringSliceVar(&f.logDirs, "log-dirs", nil, "the log `DIRECTORIES` of the broker, with commas, to learn from the others whose DIR is")
	flags.StringVar(&f.options.ClusterID, "cluster-id", "", "the cluster's `ID`, for a meta.properties that is lost")
	flags.Int32Var(&f.nodeID, "node-id", checkpoint.NoNodeID, "the node's `ID`, for a meta.properties that is lost")
	flags.StringVar(&f.free, "free", "", "make room until so many `BYTES` are free, as 20G; does nothing else")
	flags.StringVar(&f.aside, "aside", "", "the `DIRECTORY` on another disk that --free moves segments to")
	flags.StringVar(&f.undo, "undo", "", "take the repair of this `JOURNAL` back")
	flags.BoolVar(&f.asJSON, "json", false, "print one JSON object per action and finding")
	return cmd
}

func undoRepair(cmd *cobra.Command, journal string) error {
	n, err := repair.Undo(cmd.Context(), nil, journal)
	if err == nil {
		fmt.Fprintf(cmd.OutOrStdout(), "taken back: %s\n", count(int64(n), "step"))
	}
	return err
}

func (f *repairFlags) run(cmd *cobra.Command, dir string) error {
	o := f.options
	o.Dir = dir
	switch {
	case f.yes && f.dryRun:
		return usagef("--yes and --dry-run contradict each other")
	case (f.free == "") != (f.aside == ""):
		return usagef("--free and --aside go together: how much room, and the directory on another disk to move segments to")
	case f.free != "":
		bytes, err := parseSize("--free", f.free)
		if err != nil {
			return err
		}
		o.Free = &repair.Free{Bytes: bytes, Aside: f.aside}
	}
	if f.nodeID >= 0 {
		o.NodeID = &f.nodeID
	}
	o.Others = slices.DeleteFunc(append(f.logDirs, f.metadata), func(d string) bool { return d == "" || filepath.Clean(d) == filepath.Clean(dir) })
	at := f.metadataDir(dir, o.Others)
	o.Metadata = func() (*repair.Metadata, error) {
		k, err := lookAround(vfs.NewOS(), at)
		if k == nil || err != nil {
			return nil, err
		}
		return k.forRepair(), nil
	}
	if f.yes {
		return doRepair(cmd, o, f.asJSON)
	}
	plan, err := repair.MakePlan(cmd.Context(), o)
	if err != nil {
		return err
	}
	showPlan(cmd, plan, f.asJSON)
	return nil
}

// metadataDir is the log directory with the metadata log: the one that was named, or that of dir and others which has one.
func (f *repairFlags) metadataDir(dir string, others []string) string {
	if f.metadata != "" {
		return f.metadata
	}
	for _, d := range append([]string{dir}, others...) {
		if _, err := os.Stat(filepath.Join(d, metadataLog)); err == nil {
			return d
		}
	}
	return dir
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

func showPlan(cmd *cobra.Command, plan *repair.Plan, asJSON bool) {
	for _, a := range plan.Actions {
		showAction(cmd, a, asJSON)
	}
	showFindings(cmd, plan, asJSON)
	showShort(cmd, plan)
	if len(plan.Actions) > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s planned; nothing was changed. Repeat with --yes to carry it out.\n", count(int64(len(plan.Actions)), "action"))
		return
	}
	showNothing(cmd, plan)
}

// showFindings says what cannot be repaired.
func showFindings(cmd *cobra.Command, plan *repair.Plan, asJSON bool) {
	out := findingPrinter(cmd, asJSON)
	for _, f := range plan.Findings {
		out(f)
	}
}

// showNothing says that there is nothing to do.
func showNothing(cmd *cobra.Command, plan *repair.Plan) {
	switch {
	case len(plan.Findings) > 0:
		fmt.Fprintln(cmd.ErrOrStderr(), "Nothing that could be done here; what is missing is listed above.")
	case plan.Short == 0:
		fmt.Fprintln(cmd.ErrOrStderr(), "Nothing to repair.")
	}
}

// showShort says that --free cannot make all the room.
func showShort(cmd *cobra.Command, plan *repair.Plan) {
	if plan != nil && plan.Short > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s less than asked for will be free: active segments, compacted and internal topics, what lies beyond the high watermark and topics that the metadata log does not know stay.\n", byteSize(plan.Short))
	}
}

func doRepair(cmd *cobra.Command, o repair.Options, asJSON bool) error {
	result, err := repair.Run(cmd.Context(), o, func(a repair.Action) { showAction(cmd, a, asJSON) })
	if result != nil && result.Plan != nil {
		showFindings(cmd, result.Plan, asJSON)
	}
	if result != nil && result.Journal != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s done. To take it back: samsa repair --undo %s\n", count(int64(len(result.Done)), "action"), result.Journal)
	} else if err == nil {
		showNothing(cmd, result.Plan)
	}
	if err != nil {
		return withHint(err, "A broker that runs on the directory has to be stopped first; an interrupted repair is continued by the same command.")
	}
	showShort(cmd, result.Plan)
	return nil
}
