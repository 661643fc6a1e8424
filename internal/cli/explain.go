package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/samsalog/samsa/inspect/explain"
	"github.com/samsalog/samsa/internal/config"
	"github.com/samsalog/samsa/storage/logdir"
	"github.com/samsalog/samsa/vfs"
)

// explainFlags are the flags of samsa explain. Settings come from the metadata log; those that are given go before.
type explainFlags struct {
	dir, metadata, configFile string
	asJSON                    bool
	given                     explain.Settings
	retentionMs, lagMs        int64
	policy                    string
}

func newExplainCommand() *cobra.Command {
	f := &explainFlags{given: explain.DefaultSettings()}
	cmd := parentCommand("explain", "Why is it so? Answers from the files of a data directory",
		`Answer why a record is read as it is, why a segment is still there, why a log is not
compacted, what holds consumers back, and who uses the disk. Only files are read;
a broker may be using them.

Settings of topics are read from the metadata log in the log directory (or in
--metadata, if the broker has several); the broker's own defaults from --config,
its server.properties. Flags go before both; Kafka's defaults come last.`)
	flags := cmd.PersistentFlags()
	flags.StringVarP(&f.dir, "dir", "d", "samsa-data", "the log directory")
	each := func(use, short string, answer func(p *explain.Partition, s explain.Settings) (string, any, error)) *cobra.Command {
		return &cobra.Command{Use: use, Short: short, Args: exactly(1, "a topic, or a partition as topic-0"),
			RunE: func(cmd *cobra.Command, args []string) error { return f.each(cmd, args[0], answer) }}
	}
	retention := each("retention TOPIC", "What keeps each segment, and when it goes", func(p *explain.Partition, s explain.Settings) (string, any, error) {
		a := p.Retention(s)
		return a.String(), a, nil
	})
	compaction := each("compaction TOPIC", "What is clean, dirty or cannot be compacted, and why", func(p *explain.Partition, s explain.Settings) (string, any, error) {
		return p.Compaction(s), p, nil
	})
	visibility := each("visibility TOPIC", "Log start, last stable offset, high watermark and end, and what holds them", func(p *explain.Partition, _ explain.Settings) (string, any, error) {
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
		flags.StringVar(&f.metadata, "metadata", "", "the log `DIRECTORY` with the metadata log, if it is not --dir")
		flags.StringVarP(&f.configFile, "config", "c", "", "the broker's server.properties `FILE`")
		flags.StringVar(&f.policy, "policy", "", "cleanup.policy: delete, compact or both with a comma")
		flags.Int64Var(&f.retentionMs, "retention-ms", f.given.Retention.Milliseconds(), "retention.ms")
		flags.Int64Var(&f.given.RetentionBytes, "retention-bytes", -1, "retention.bytes")
		flags.Int64Var(&f.given.SegmentBytes, "segment-bytes", f.given.SegmentBytes, "segment.bytes")
		flags.Float64Var(&f.given.MinDirtyRatio, "min-dirty-ratio", f.given.MinDirtyRatio, "min.cleanable.dirty.ratio")
		flags.Int64Var(&f.lagMs, "min-compaction-lag-ms", 0, "min.compaction.lag.ms")
	}
}

// policies are the values of --policy.
func (f *explainFlags) policies(s *explain.Settings) error {
	switch f.policy {
	case "":
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

// topics finds the settings of topics.
type topics struct {
	known  *knownCluster
	static *config.Static
	where  string
}

func (f *explainFlags) topics() (*topics, error) {
	t := &topics{where: f.metadata}
	if t.where == "" {
		t.where = f.dir
	}
	var err error
	if t.known, err = lookAround(vfs.NewOS(), t.where); err != nil {
		return nil, withHint(err, "Settings can be given by flags, with --metadata naming an empty directory.")
	}
	if f.configFile != "" {
		props, err := readProperties(f.configFile)
		if err != nil {
			return nil, err
		}
		if t.static, _, err = config.Load(props); err != nil {
			return nil, fmt.Errorf("configuration %s: %w", f.configFile, err)
		}
	}
	return t, nil
}

// settings are those of a topic, and where they come from.
func (f *explainFlags) settings(cmd *cobra.Command, t *topics, topic string) (s explain.Settings, err error) {
	s = explain.DefaultSettings()
	if t.known == nil {
		s.Source = "Kafka's defaults, since there is no metadata log in " + t.where
		s.Delete, s.Compact = cmd.Name() == "retention", cmd.Name() == "compaction"
	} else if c, partitions, ok := t.known.topic(t.static, topic); !ok {
		s.Source = "Kafka's defaults, since the metadata log knows no such topic"
	} else {
		s.Source = "of the metadata log"
		if t.static != nil {
			s.Source += " and " + filepath.Base(f.configFile)
		}
		s.Delete, s.Compact, s.Partitions = c.CleanupDelete, c.CleanupCompact, partitions
		s.Retention, s.RetentionBytes, s.SegmentBytes = explain.Milliseconds(c.RetentionMs), c.RetentionBytes, int64(c.SegmentBytes)
		s.MinDirtyRatio, s.MinCompactionLag = c.MinCleanableDirtyRatio, explain.Milliseconds(c.MinCompactionLagMs)
		s.MaxCompactionLag, s.SegmentAge = explain.Milliseconds(c.MaxCompactionLagMs), explain.Milliseconds(c.SegmentMs)
	}
	flags := cmd.Flags()
	for name, set := range map[string]func(){
		"retention-ms":          func() { s.Retention = explain.Milliseconds(f.retentionMs) },
		"retention-bytes":       func() { s.RetentionBytes = f.given.RetentionBytes },
		"segment-bytes":         func() { s.SegmentBytes = f.given.SegmentBytes },
		"min-dirty-ratio":       func() { s.MinDirtyRatio = f.given.MinDirtyRatio },
		"min-compaction-lag-ms": func() { s.MinCompactionLag = explain.Milliseconds(f.lagMs) },
		"policy":                func() { err = f.policies(&s) },
	} {
		if flags.Changed(name) {
			set()
		}
	}
	return s, err
}

func (f *explainFlags) each(cmd *cobra.Command, topic string, answer func(p *explain.Partition, s explain.Settings) (string, any, error)) error {
	fsys := vfs.NewOS()
	dirs, err := explain.Partitions(fsys, f.dir, topic)
	if err != nil {
		return withHint(err, "Name the log directory with --dir.")
	}
	var known *topics
	asks := cmd.Flags().Lookup("policy") != nil
	if asks {
		if known, err = f.topics(); err != nil {
			return err
		}
	}
	for i, dir := range dirs {
		p, err := explain.Load(cmd.Context(), fsys, dir)
		if err != nil {
			return err
		}
		var s explain.Settings
		if asks {
			n, err := logdir.ParseName(p.Name)
			if err != nil {
				return err
			}
			if s, err = f.settings(cmd, known, n.TopicPartition.Topic); err != nil {
				return err
			}
			if i == 0 && !f.asJSON {
				fmt.Fprintln(cmd.OutOrStdout(), s)
			}
		}
		text, doc, err := answer(p, s)
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
			return f.each(cmd, args[0], func(p *explain.Partition, _ explain.Settings) (string, any, error) {
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
