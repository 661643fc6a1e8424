package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/samsalog/samsa/internal/adopt/fromlogs"
	"github.com/samsalog/samsa/internal/config"
	"github.com/samsalog/samsa/internal/metadata"
)

// fromLogsForm makes metadata for directories that have none.
type fromLogsForm struct {
	on         bool
	nodeID     int32
	clusterID  string
	controller *controllerFlag
	configs    []string
	configFile string
	partitions []string
}

// controllerFlag is the address of the controller that forms record which write metadata.
type controllerFlag struct{ address string }

// endpoint parses HOST:PORT; the port may not be 0, since nobody can be found there.
func (c *controllerFlag) endpoint() (metadata.Endpoint, error) {
	host, text, ok := cutLast(c.address, ":")
	port, err := strconv.ParseUint(text, 10, 16)
	if !ok || host == "" || err != nil || port == 0 {
		return metadata.Endpoint{}, usagef("--controller is HOST:PORT, not %q", c.address)
	}
	return metadata.Endpoint{Name: metadata.DefaultControllerListener, Host: host, Port: uint16(port)}, nil
}

func cutLast(s, sep string) (before, after string, ok bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

func (f *fromLogsForm) flags(flags *pflag.FlagSet) {
	flags.BoolVar(&f.on, "from-logs", false, "make metadata of what the partitions tell, for a directory of ZooKeeper's time or without metadata")
	flags.Int32Var(&f.nodeID, "node-id", -1, "with --from-logs: the node's `ID` (default: as meta.properties says, or 1)")
	flags.StringVar(&f.clusterID, "cluster-id", "", "with --from-logs: the cluster's `ID` (default: as meta.properties says, or a new one)")
	flags.StringArrayVar(&f.configs, "topic-config", nil, "with --from-logs: a setting `TOPIC:KEY=VALUE` that goes before what is found; TOPIC * is all; may be repeated")
	flags.StringVar(&f.configFile, "topic-configs", "", "with --from-logs: a `FILE` with lines TOPIC KEY=VALUE...")
	flags.StringArrayVar(&f.partitions, "partitions", nil, "with --from-logs: `TOPIC=COUNT` where a topic had more partitions than are here; may be repeated")
	flags.StringVar(&f.controller.address, "controller", "localhost:9093", "with --from-logs and --solo: `HOST:PORT` of the controller of an Apache Kafka that is started there")
}

func (f *fromLogsForm) asked() string {
	if f.on {
		return "--from-logs"
	}
	return ""
}

func (f *fromLogsForm) needsDirs() bool { return true }

func (f *fromLogsForm) run(cmd *cobra.Command, t adoptTarget) error {
	o, err := f.options(t)
	if err != nil {
		return err
	}
	plan, err := fromlogs.Make(cmd.Context(), o)
	switch {
	case errors.Is(err, fromlogs.ErrHasMetadata):
		return withHint(err, `"samsa serve" uses it; if it is that of a larger cluster, "samsa adopt --solo" makes it a cluster of one node.`)
	case err != nil:
		return err
	case t.asJSON && !t.yes:
		return printJSON(cmd.OutOrStdout(), plan)
	}
	if !t.asJSON {
		if err := printFromLogs(cmd.OutOrStdout(), plan, o); err != nil {
			return err
		}
	}
	if !t.yes {
		_, err := fmt.Fprintln(cmd.OutOrStdout(), "\nNothing was changed. --yes carries the plan out.")
		return err
	}
	if err := plan.Apply(); err != nil {
		return withHint(fmt.Errorf("the adoption did not finish: %w", err), "Once the cause is removed, the same command finishes it.")
	}
	if t.asJSON {
		return printJSON(cmd.OutOrStdout(), plan)
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), "\nDone: the directories can be served.")
	return err
}

func (f *fromLogsForm) options(t adoptTarget) (fromlogs.Options, error) {
	o := fromlogs.Options{
		Dirs: t.dirs, MetadataDir: t.metadataDir, NodeID: f.nodeID, ClusterID: f.clusterID,
		Configs: map[string]map[string]string{}, Partitions: map[string]int32{}, Retention: retentionOf(t.properties),
	}
	var err error
	if o.Controller, err = f.controller.endpoint(); err != nil {
		return o, err
	}
	for _, text := range f.configs {
		topic, setting, ok := strings.Cut(text, ":")
		if !ok {
			return o, usagef("--topic-config is TOPIC:KEY=VALUE, not %q", text)
		}
		if err := addTopicConfig(o.Configs, topic, setting); err != nil {
			return o, err
		}
	}
	if f.configFile != "" {
		if err := readTopicConfigs(f.configFile, o.Configs); err != nil {
			return o, err
		}
	}
	for _, text := range f.partitions {
		topic, count, _ := cutLast(text, "=")
		n, err := strconv.ParseInt(count, 10, 32)
		if err != nil || n < 1 {
			return o, usagef("--partitions is TOPIC=COUNT, not %q", text)
		}
		o.Partitions[topic] = int32(n)
	}
	for topic, configs := range o.Configs {
		if err := checkTopicConfigs(configs); err != nil {
			return o, usagef("settings of topic %s: %v", topic, err)
		}
	}
	return o, nil
}

func addTopicConfig(all map[string]map[string]string, topic, setting string) error {
	key, value, ok := strings.Cut(setting, "=")
	if !ok || key == "" || topic == "" {
		return usagef("%q is no setting KEY=VALUE of a topic", setting)
	}
	if all[topic] == nil {
		all[topic] = map[string]string{}
	}
	all[topic][key] = value
	return nil
}

// readTopicConfigs reads lines of a topic and its settings, apart by blanks; # begins a comment.
func readTopicConfigs(name string, all map[string]map[string]string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(text)
		for i := 1; i < len(fields); i++ {
			if err := addTopicConfig(all, fields[0], fields[i]); err != nil {
				return fmt.Errorf("%s, line %d: %w", name, n, err)
			}
		}
	}
	return lines.Err()
}

// checkTopicConfigs checks settings as a broker would; empty ones are taken away.
func checkTopicConfigs(configs map[string]string) error {
	given := map[string]string{}
	for key, value := range configs {
		if value != "" {
			given[key] = value
		}
	}
	static, _, err := config.Load(map[string]string{"node.id": "1", "log.dirs": "-"})
	if err != nil {
		return err
	}
	return config.ValidateTopic(config.Layers{Static: static}, given)
}

// retentionOf is how long a broker with such settings keeps records; 0: they do not say.
func retentionOf(props map[string]string) time.Duration {
	for _, x := range []struct {
		key  string
		unit time.Duration
	}{{"log.retention.ms", time.Millisecond}, {"log.retention.minutes", time.Minute}, {"log.retention.hours", time.Hour}} {
		if n, err := strconv.ParseInt(props[x.key], 10, 64); err == nil {
			return time.Duration(n) * x.unit
		}
	}
	return 0
}

// printFromLogs prints a plan for people.
func printFromLogs(w io.Writer, p *fromlogs.Plan, o fromlogs.Options) error {
	fmt.Fprintf(w, "cluster %s, node %d: metadata will be made in %s\n\n", p.ClusterID, p.NodeID, p.MetadataDir)
	t := newTable("TOPIC", "ID", "PARTITIONS", "HERE", "SETTING", "BECAUSE")
	for _, topic := range p.Topics {
		here := 0
		for _, x := range topic.Partitions {
			if x.Dir != "" {
				here++
			}
		}
		id := topic.ID.String()
		if topic.NewID {
			id = "(new)"
		}
		if len(topic.Settings) == 0 {
			t.row(topic.Name, id, len(topic.Partitions), here, "", "")
		}
		for i, s := range topic.Settings {
			if i == 0 {
				t.row(topic.Name, id, len(topic.Partitions), here, s.Key+"="+s.Value, s.Why)
			} else {
				t.row(" ", " ", " ", " ", s.Key+"="+s.Value, s.Why)
			}
		}
	}
	if err := t.write(w); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nSettings are told from samples of the logs; --topic-config and --topic-configs go before them.")
	for _, n := range p.Notes {
		fmt.Fprintf(w, "  - %s\n", n)
	}
	fmt.Fprintln(w, "\nWhat will be written: __cluster_metadata-0, meta.properties of version 1, and partition.metadata where it is missing.")
	_, err := fmt.Fprintln(w, "Segments, indexes, snapshots and checkpoints stay as they are. docs/swap.md tells how to go back.")
	return err
}
