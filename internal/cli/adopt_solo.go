package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/samsalog/samsa/internal/adopt/solo"
)

// soloForm makes a member of a larger cluster a cluster of one node.
type soloForm struct {
	on         bool
	controller *controllerFlag
}

func (f *soloForm) flags(flags *pflag.FlagSet) {
	flags.BoolVar(&f.on, "solo", false, "make the directories of one member of a larger cluster a cluster of one node")
}

func (f *soloForm) asked() string {
	if f.on {
		return "--solo"
	}
	return ""
}

func (f *soloForm) needsDirs() bool { return true }

func (f *soloForm) run(cmd *cobra.Command, t adoptTarget) error {
	endpoint, err := f.controller.endpoint()
	if err != nil {
		return err
	}
	plan, err := solo.Make(cmd.Context(), solo.Options{Dirs: t.dirs, MetadataDir: t.metadataDir, Controller: endpoint})
	switch {
	case errors.Is(err, solo.ErrAlone):
		return withHint(err, `"samsa serve" serves them as they are.`)
	case errors.Is(err, solo.ErrNoMetadata):
		return withHint(err, `"samsa adopt DIR --from-logs" makes metadata of what the partitions tell.`)
	case err != nil:
		return err
	case t.asJSON && !t.yes:
		return printJSON(cmd.OutOrStdout(), plan)
	}
	if !t.asJSON {
		if err := printSolo(cmd.OutOrStdout(), plan); err != nil {
			return err
		}
	}
	if !t.yes {
		_, err := fmt.Fprintln(cmd.OutOrStdout(), "\nNothing was changed. --yes carries the plan out.")
		return err
	}
	if err := plan.Apply(); err != nil {
		return withHint(fmt.Errorf("it did not finish: %w", err), "Once the cause is removed, the same command finishes it.")
	}
	if t.asJSON {
		return printJSON(cmd.OutOrStdout(), plan)
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), "\nDone: the directories are those of a cluster of one node.")
	return err
}

// printSolo prints a plan for people.
func printSolo(w io.Writer, p *solo.Plan) error {
	fmt.Fprintf(w, "cluster %s: node %d will be all of it\n", p.ClusterID, p.NodeID)
	fmt.Fprintf(w, "voters were %s; forgotten brokers: %s\n\n", joinIDs(p.Voters), joinIDs(p.Brokers))
	t := newTable("PARTITION", "HERE", "REPLICAS", "HIGH WATERMARK", "LOG END", "WHAT IS LOST")
	rows := func(list []solo.Partition, here, lost string) {
		for _, x := range list {
			t.row(fmt.Sprintf("%s-%d", x.Topic, x.Partition), here, joinIDs(x.Replicas), x.HighWatermark, x.LogEnd, lost)
		}
	}
	rows(p.Whole, "whole", "")
	rows(p.Behind, "not in sync", "what came after its end")
	rows(p.Empty, "no", "all; it begins empty")
	if err := t.write(w); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if len(p.Removed) > 0 {
		fmt.Fprintf(w, "  - nothing is here of these topics, which are removed: %s\n", strings.Join(p.Removed, ", "))
	}
	for _, name := range p.MinInsync {
		if name == "" {
			name = "the cluster's default"
		}
		fmt.Fprintf(w, "  - min.insync.replicas becomes 1: %s\n", name)
	}
	for _, n := range p.Notes {
		fmt.Fprintf(w, "  - %s\n", n)
	}
	fmt.Fprintln(w, "\nWhat will be written: records at the end of the metadata log, and quorum-state. Topic ids, settings, users, quotas and")
	_, err := fmt.Fprintln(w, "producer ids stay; segments, indexes, snapshots and checkpoints are not touched.")
	return err
}

// joinIDs lists node ids.
func joinIDs(ids []int32) string {
	if len(ids) == 0 {
		return "-"
	}
	return strings.Trim(fmt.Sprint(ids), "[]")
}
