package cli

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/samsalog/samsa/inspect/explain"
	"github.com/samsalog/samsa/vfs"
)

// explainFlags are the settings that the answers about deletion and compaction need; files do not tell them.
type explainFlags struct {
	dir            string
	asJSON         bool
	settings       explain.Settings
	retentionMs    int64
	compactionLag  int64
	policy         string
	retentionBytes int64
}

func newExplainCommand() *cobra.Command {
	f := &explainFlags{settings: explain.DefaultSettings()}
	cmd := parentCommand("explain", "Why is it so? Answers from the files of a data directory",
		`Answer why a record is read as it is, why a segment is still there, why a log is not
compacted, what holds consumers back, and who uses the disk. Only files are read;
a broker may be using them. Settings of the topic are given by flags; Kafka's
defaults count otherwise.`)
	flags := cmd.PersistentFlags()
	flags.StringVarP(&f.dir, "dir", "d", "samsa-data", "the log directory")
	each := func(use, short string, answer func(p *explain.Partition) (string, any, error)) *cobra.Command {
		return &cobra.Command{Use: use, Short: short, Args: exactly(1, "a topic, or a partition as topic-0"),
			RunE: func(cmd *cobra.Command, args []string) error { return f.each(cmd, args[0], answer) }}
	}
	retention := each("retention TOPIC", "What keeps each segment, and when it goes", func(p *explain.Partition) (string, any, error) {
		a := p.Retention(f.settings)
		return a.String(), a, nil
	})
	compaction := each("compaction TOPIC", "What is clean, dirty or cannot be compacted, and why", func(p *explain.Partition) (string, any, error) {
		return p.Compaction(f.settings), p, nil
	})
	visibility := each("visibility TOPIC", "Log start, last stable offset, high watermark and end, and what holds them", func(p *explain.Partition) (string, any, error) {
		return p.Visibility(), p, nil
	})
	f.settingFlags(retention, compaction)
	cmd.AddCommand(f.offset(), retention, compaction, visibility, f.disk())
	flags.BoolVar(&f.asJSON, "json", false, "print JSON; not for offset and disk")
	return cmd
}

func (f *explainFlags) settingFlags(cmds ...*cobra.Command) {
	for _, cmd := range cmds {
		flags := cmd.Flags()
		flags.StringVar(&f.policy, "policy", "", "cleanup.policy: delete, compact or both with a comma")
		flags.Int64Var(&f.retentionMs, "retention-ms", f.settings.Retention.Milliseconds(), "retention.ms")
		flags.Int64Var(&f.retentionBytes, "retention-bytes", -1, "retention.bytes")
		flags.Int64Var(&f.settings.SegmentBytes, "segment-bytes", f.settings.SegmentBytes, "segment.bytes")
		flags.Float64Var(&f.settings.MinDirtyRatio, "min-dirty-ratio", f.settings.MinDirtyRatio, "min.cleanable.dirty.ratio")
		flags.Int64Var(&f.compactionLag, "min-compaction-lag-ms", 0, "min.compaction.lag.ms")
		cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return f.complete(cmd.Name()) }
	}
}

// complete turns the flags into settings; who asks about compaction means a compacted topic, unless --policy says otherwise.
func (f *explainFlags) complete(question string) error {
	s := &f.settings
	s.Retention, s.RetentionBytes = time.Duration(f.retentionMs)*time.Millisecond, f.retentionBytes
	s.MinCompactionLag = time.Duration(f.compactionLag) * time.Millisecond
	switch f.policy {
	case "":
		s.Delete, s.Compact = question == "retention", question == "compaction"
	case "delete":
		s.Delete, s.Compact = true, false
	case "compact":
		s.Delete, s.Compact = false, true
	case "compact,delete", "delete,compact":
		s.Delete, s.Compact = true, true
	default:
		return usagef("--policy %q: delete, compact, or compact,delete", f.policy)
	}
	return nil
}

func (f *explainFlags) each(cmd *cobra.Command, topic string, answer func(p *explain.Partition) (string, any, error)) error {
	fsys := vfs.NewOS()
	dirs, err := explain.Partitions(fsys, f.dir, topic)
	if err != nil {
		return withHint(err, "Name the log directory with --dir.")
	}
	for _, dir := range dirs {
		p, err := explain.Load(cmd.Context(), fsys, dir)
		if err != nil {
			return err
		}
		text, doc, err := answer(p)
		if err != nil {
			return err
		}
		if f.asJSON {
			if err := printJSON(cmd.OutOrStdout(), doc); err != nil {
				return err
			}
			continue
		}
		fmt.Fprint(cmd.OutOrStdout(), text)
	}
	return nil
}

func (f *explainFlags) offset() *cobra.Command {
	return &cobra.Command{Use: "offset PARTITION OFFSET", Short: "Where a record lies, and how a read finds it", Args: exactly(2, "a partition as topic-0, and an offset"),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.ParseInt(args[1], 10, 64)
			if err != nil || n < 0 {
				return usagef("%q is no offset", args[1])
			}
			return f.each(cmd, args[0], func(p *explain.Partition) (string, any, error) {
				text, err := p.Offset(n)
				return text, text, err
			})
		}}
}

func (f *explainFlags) disk() *cobra.Command {
	return &cobra.Command{Use: "disk", Short: "Who uses the disk, and what could be freed", Args: exactly(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return printDisk(cmd.Context(), cmd, f.dir)
		}}
}

func printDisk(ctx context.Context, cmd *cobra.Command, dir string) error {
	text, err := explain.Disk(ctx, vfs.NewOS(), dir)
	if err == nil {
		fmt.Fprint(cmd.OutOrStdout(), text)
	}
	return err
}
