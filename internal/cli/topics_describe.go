package cli

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/record"
)

// describedTopic is what "topics describe" tells of one topic.
type describedTopic struct {
	Topic      string               `json:"topic"`
	ID         string               `json:"id"`
	Internal   bool                 `json:"internal"`
	Configs    map[string]string    `json:"configs"`
	Partitions []describedPartition `json:"partitions"`
}

// describedPartition is one partition; -1 stands for what the broker did not tell.
type describedPartition struct {
	Partition   int32   `json:"partition"`
	Leader      int32   `json:"leader"`
	LeaderEpoch int32   `json:"leaderEpoch"`
	Replicas    []int32 `json:"replicas"`
	ISR         []int32 `json:"isr"`
	StartOffset int64   `json:"startOffset"`
	EndOffset   int64   `json:"endOffset"`
	SizeBytes   int64   `json:"sizeBytes"`
	Error       string  `json:"error,omitempty"`
}

func newTopicsDescribeCommand(conn *connection) *cobra.Command {
	var allConfigs, asJSON bool
	cmd := &cobra.Command{
		Use:   "describe TOPIC…",
		Short: "Show partitions, offsets, sizes and settings",
		Long: `Show the partitions of topics with their leaders, offsets and sizes, and the
settings that are not the broker's defaults.`,
		Args: atLeast(1, "the topic to describe"),
		RunE: func(cmd *cobra.Command, topics []string) error {
			return conn.admin(cmd.Context(), func(ctx context.Context, adm *admin) error {
				described, err := describeTopics(ctx, adm, topics, allConfigs)
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), described)
				}
				for i, d := range described {
					if i > 0 {
						fmt.Fprintln(cmd.OutOrStdout())
					}
					if err := d.write(cmd.OutOrStdout()); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&allConfigs, "all-configs", false, "show every setting, defaults too")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func describeTopics(ctx context.Context, adm *admin, topics []string, allConfigs bool) ([]describedTopic, error) {
	details, err := adm.ListTopicsWithInternal(ctx, topics...)
	if err != nil {
		return nil, fmt.Errorf("describe topics: %w", err)
	}
	for _, topic := range topics {
		d, ok := details[topic]
		if !ok {
			return nil, fmt.Errorf("topic %s: %w", topic, kerr.UnknownTopicOrPartition)
		}
		if d.Err != nil {
			return nil, fmt.Errorf("topic %s: %w", topic, d.Err)
		}
	}
	starts, err := listOffsets(ctx, adm.raw, details.TopicsSet(), timestampEarliest, false)
	if err != nil {
		return nil, err
	}
	ends, err := listOffsets(ctx, adm.raw, details.TopicsSet(), timestampLatest, false)
	if err != nil {
		return nil, err
	}
	configs, err := adm.DescribeTopicConfigs(ctx, topics...)
	if err != nil {
		return nil, fmt.Errorf("describe configs: %w", err)
	}
	sizes := partitionSizes(ctx, adm, details)
	described := make([]describedTopic, 0, len(topics))
	for _, topic := range topics {
		d := details[topic]
		out := describedTopic{Topic: topic, ID: record.UUID(d.ID).String(), Internal: d.IsInternal, Configs: map[string]string{}, Partitions: []describedPartition{}}
		for _, p := range d.Partitions.Sorted() {
			part := describedPartition{
				Partition: p.Partition, Leader: p.Leader, LeaderEpoch: p.LeaderEpoch, Replicas: p.Replicas, ISR: p.ISR,
				StartOffset: starts.offset(topic, p.Partition), EndOffset: ends.offset(topic, p.Partition), SizeBytes: -1,
			}
			if size, ok := sizes[topic][p.Partition]; ok {
				part.SizeBytes = size
			}
			if p.Err != nil {
				part.Error = p.Err.Error()
			}
			out.Partitions = append(out.Partitions, part)
		}
		config, err := configs.On(topic, nil)
		if err == nil {
			err = config.Err
		}
		if err != nil {
			return nil, fmt.Errorf("configs of topic %s: %w", topic, err)
		}
		for _, c := range config.Configs {
			if allConfigs || c.Source == kmsg.ConfigSourceDynamicTopicConfig {
				out.Configs[c.Key] = c.MaybeValue()
			}
		}
		described = append(described, out)
	}
	return described, nil
}

// partitionSizes returns the bytes of each partition on the leader's disk. Sizes are an extra: a broker
// that does not tell them is no reason to fail.
func partitionSizes(ctx context.Context, adm *admin, details kadm.TopicDetails) map[string]map[int32]int64 {
	sizes := map[string]map[int32]int64{}
	all, err := adm.DescribeAllLogDirs(ctx, details.TopicsSet())
	if err != nil && len(all) == 0 {
		return sizes
	}
	for _, dirs := range all {
		dirs.EachPartition(func(p kadm.DescribedLogDirPartition) {
			if details[p.Topic].Partitions[p.Partition].Leader != p.Broker || p.IsFuture {
				return
			}
			if sizes[p.Topic] == nil {
				sizes[p.Topic] = map[int32]int64{}
			}
			sizes[p.Topic][p.Partition] = p.Size
		})
	}
	return sizes
}

func (d *describedTopic) write(w io.Writer) error {
	fmt.Fprintf(w, "topic %s\nid    %s\n", d.Topic, d.ID)
	names := make([]string, 0, len(d.Configs))
	for name := range d.Configs {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(w, "set   %s=%s\n", name, d.Configs[name])
	}
	tab := newTable("PARTITION", "LEADER", "EPOCH", "REPLICAS", "ISR", "START", "END", "SIZE")
	for _, p := range d.Partitions {
		size := ""
		if p.SizeBytes >= 0 {
			size = byteSize(p.SizeBytes)
		}
		tab.row(p.Partition, p.Leader, p.LeaderEpoch, joinInts(p.Replicas), joinInts(p.ISR), p.StartOffset, p.EndOffset, size)
	}
	return tab.write(w)
}
