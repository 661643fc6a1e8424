package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/samsalog/samsa/record"
)

func newTopicsCommand() *cobra.Command {
	var conn connection
	cmd := parentCommand("topics", "Create, list, describe, alter and delete topics", "",
		newTopicsCreateCommand(&conn), newTopicsListCommand(&conn), newTopicsDescribeCommand(&conn),
		newTopicsAlterCommand(&conn), newTopicsDeleteCommand(&conn))
	conn.flags(cmd)
	return cmd
}

func newTopicsCreateCommand(conn *connection) *cobra.Command {
	var (
		partitions, replication int
		configs                 []string
		ifNotExists             bool
	)
	cmd := &cobra.Command{
		Use:   "create TOPIC…",
		Short: "Create topics",
		Example: `  samsa topics create orders
  samsa topics create orders --partitions 6 --config retention.ms=86400000
  samsa topics create latest-price --config cleanup.policy=compact`,
		Args: atLeast(1, "the topic to create"),
		RunE: func(cmd *cobra.Command, topics []string) error {
			overrides, err := parseConfigs(configs)
			if err != nil {
				return err
			}
			values := make(map[string]*string, len(overrides))
			for _, kv := range overrides {
				values[kv.name] = &kv.value
			}
			return conn.admin(cmd.Context(), func(ctx context.Context, adm *admin) error {
				created, err := adm.CreateTopics(ctx, int32(partitions), int16(replication), values, topics...)
				if err != nil {
					return fmt.Errorf("create topics: %w", err)
				}
				return eachTopic(topics, func(topic string) error {
					r := created[topic]
					switch {
					case ifNotExists && errors.Is(r.Err, kerr.TopicAlreadyExists):
						fmt.Fprintf(cmd.ErrOrStderr(), "topic %s exists already\n", topic)
						return nil
					case r.Err != nil:
						return fmt.Errorf("topic %s was not created: %w", topic, codeError(r.Err, r.ErrMessage))
					}
					fmt.Fprintf(cmd.ErrOrStderr(), "created topic %s with %s\n", topic, count(int64(max(r.NumPartitions, 0)), "partition"))
					return nil
				})
			})
		},
	}
	flags := cmd.Flags()
	flags.IntVarP(&partitions, "partitions", "p", -1, "number of partitions; -1 is the broker's default")
	flags.IntVarP(&replication, "replication-factor", "r", -1, "copies of each partition; -1 is the broker's default")
	flags.StringArrayVarP(&configs, "config", "c", nil, "topic setting `NAME=VALUE`; may be repeated")
	flags.BoolVar(&ifNotExists, "if-not-exists", false, "do not fail when the topic exists")
	return cmd
}

func newTopicsListCommand(conn *connection) *cobra.Command {
	var internal, asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the topics",
		Args:  exactly(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return conn.admin(cmd.Context(), func(ctx context.Context, adm *admin) error {
				topics, err := adm.ListTopicsWithInternal(ctx)
				if err != nil {
					return fmt.Errorf("list topics: %w", err)
				}
				type listed struct {
					Topic       string `json:"topic"`
					ID          string `json:"id"`
					Partitions  int    `json:"partitions"`
					Replication int    `json:"replicationFactor"`
					Internal    bool   `json:"internal"`
				}
				out := []listed{}
				for _, t := range topics.Sorted() {
					if t.IsInternal && !internal {
						continue
					}
					out = append(out, listed{t.Topic, record.UUID(t.ID).String(), len(t.Partitions), t.Partitions.NumReplicas(), t.IsInternal})
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), out)
				}
				tab := newTable("TOPIC", "PARTITIONS", "REPLICATION")
				for _, t := range out {
					tab.row(t.Topic, t.Partitions, t.Replication)
				}
				return tab.write(cmd.OutOrStdout())
			})
		},
	}
	cmd.Flags().BoolVarP(&internal, "internal", "i", false, "show the brokers' own topics too")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newTopicsAlterCommand(conn *connection) *cobra.Command {
	var (
		partitions     int
		configs, unset []string
	)
	cmd := &cobra.Command{
		Use:   "alter TOPIC…",
		Short: "Add partitions, change settings",
		Example: `  samsa topics alter orders --partitions 12
  samsa topics alter orders --config retention.ms=3600000 --unset segment.ms`,
		Args: atLeast(1, "the topic to alter"),
		RunE: func(cmd *cobra.Command, topics []string) error {
			changes, err := alterations(configs, unset)
			if err != nil {
				return err
			}
			if partitions == 0 && len(changes) == 0 {
				return usagef("say what to change: --partitions, --config or --unset")
			}
			return conn.admin(cmd.Context(), func(ctx context.Context, adm *admin) error {
				if len(changes) > 0 {
					if err := alterTopicConfigs(ctx, cmd, adm, changes, topics); err != nil {
						return err
					}
				}
				if partitions == 0 {
					return nil
				}
				return growTopics(ctx, cmd, adm, partitions, topics)
			})
		},
	}
	flags := cmd.Flags()
	flags.IntVarP(&partitions, "partitions", "p", 0, "grow to this `number` of partitions")
	flags.StringArrayVarP(&configs, "config", "c", nil, "set `NAME=VALUE`; may be repeated")
	flags.StringArrayVar(&unset, "unset", nil, "go back to the default of setting `NAME`; may be repeated")
	return cmd
}

func alterations(configs, unset []string) ([]kadm.AlterConfig, error) {
	pairs, err := parseConfigs(configs)
	if err != nil {
		return nil, err
	}
	var changes []kadm.AlterConfig
	for _, kv := range pairs {
		changes = append(changes, kadm.AlterConfig{Op: kadm.SetConfig, Name: kv.name, Value: &kv.value})
	}
	for _, name := range unset {
		changes = append(changes, kadm.AlterConfig{Op: kadm.DeleteConfig, Name: name})
	}
	return changes, nil
}

func alterTopicConfigs(ctx context.Context, cmd *cobra.Command, adm *admin, changes []kadm.AlterConfig, topics []string) error {
	altered, err := adm.AlterTopicConfigs(ctx, changes, topics...)
	if err != nil {
		return fmt.Errorf("alter topics: %w", err)
	}
	slices.SortFunc(altered, func(a, b kadm.AlterConfigsResponse) int { return cmp.Compare(a.Name, b.Name) })
	var failed error
	for _, r := range altered {
		if r.Err != nil {
			failed = errors.Join(failed, fmt.Errorf("topic %s was not altered: %w", r.Name, codeError(r.Err, r.ErrMessage)))
			continue
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "altered topic %s\n", r.Name)
	}
	return failed
}

func growTopics(ctx context.Context, cmd *cobra.Command, adm *admin, partitions int, topics []string) error {
	grown, err := adm.UpdatePartitions(ctx, partitions, topics...)
	if err != nil {
		return fmt.Errorf("add partitions: %w", err)
	}
	return eachTopic(topics, func(topic string) error {
		if r := grown[topic]; r.Err != nil {
			return fmt.Errorf("topic %s did not grow: %w", topic, codeError(r.Err, r.ErrMessage))
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "topic %s has %s\n", topic, count(int64(partitions), "partition"))
		return nil
	})
}

func newTopicsDeleteCommand(conn *connection) *cobra.Command {
	var ifExists bool
	cmd := &cobra.Command{
		Use:   "delete TOPIC…",
		Short: "Delete topics and all that is in them",
		Args:  atLeast(1, "the topic to delete"),
		RunE: func(cmd *cobra.Command, topics []string) error {
			return conn.admin(cmd.Context(), func(ctx context.Context, adm *admin) error {
				deleted, err := adm.DeleteTopics(ctx, topics...)
				if err != nil {
					return fmt.Errorf("delete topics: %w", err)
				}
				return eachTopic(topics, func(topic string) error {
					r := deleted[topic]
					switch {
					case ifExists && errors.Is(r.Err, kerr.UnknownTopicOrPartition):
						fmt.Fprintf(cmd.ErrOrStderr(), "there is no topic %s\n", topic)
						return nil
					case r.Err != nil:
						return fmt.Errorf("topic %s was not deleted: %w", topic, codeError(r.Err, r.ErrMessage))
					}
					fmt.Fprintf(cmd.ErrOrStderr(), "deleted topic %s\n", topic)
					return nil
				})
			})
		},
	}
	cmd.Flags().BoolVar(&ifExists, "if-exists", false, "do not fail when there is no such topic")
	return cmd
}

// eachTopic calls f for every topic, also after one has failed, and joins the errors.
func eachTopic(topics []string, f func(topic string) error) error {
	var failed error
	for _, topic := range topics {
		failed = errors.Join(failed, f(topic))
	}
	return failed
}

// pair is one NAME=VALUE of the command line.
type pair struct{ name, value string }

// parseConfigs splits NAME=VALUE arguments, keeping their order.
func parseConfigs(args []string) ([]pair, error) {
	pairs := make([]pair, 0, len(args))
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return nil, usagef("%q is not NAME=VALUE", arg)
		}
		pairs = append(pairs, pair{name: name, value: value})
	}
	return pairs, nil
}
