package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/samsalog/samsa"
	"github.com/samsalog/samsa/internal/config"
	"github.com/samsalog/samsa/vfs/overlay"
)

// defaultDir is where the data is if neither a flag nor a setting says it.
const defaultDir = "./samsa-data"

// serveOptions are the flags of serve.
type serveOptions struct {
	dirs        []string
	listen      string
	http        string
	configFile  string
	set         []string
	logFormat   string
	logLevel    string
	stopTimeout time.Duration
	readOnly    bool
	scratch     string
}

func newServeCommand() *cobra.Command {
	var opts serveOptions
	cmd := &cobra.Command{
		Use:   "serve [--read-only DIR…]",
		Short: "Run a broker",
		Long: `Run a broker until Ctrl-C or SIGTERM, which stop it cleanly.

Without any flags it listens on 127.0.0.1:9092 and keeps its data in
./samsa-data, which is formatted at the first start. The directory is laid out
as Apache Kafka's.

Settings have Kafka's names and meanings. Of the same setting given twice the
later in this list counts: the file of --config, the environment
(SAMSA_LOG_RETENTION_MS is log.retention.ms), --set, --dir, --listen and --http.

With --read-only the directories are served as they are, and not a byte in them
is changed. Clients read and commit offsets; what they want to produce, create,
alter or delete is refused. What has to be written goes to --scratch.`,
		Example: `  samsa serve
  samsa serve --dir /var/lib/samsa --listen 0.0.0.0:9092 \
    --set advertised.listeners=PLAINTEXT://kafka.example:9092
  samsa serve --config server.properties --set log.retention.hours=24
  samsa serve --read-only /backup/kafka-logs`,
		Args: func(cmd *cobra.Command, args []string) error {
			if opts.readOnly {
				opts.dirs = append(opts.dirs, args...)
				return nil
			}
			return exactly(0, "")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return opts.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&opts.dirs, "dir", "d", nil, "`DIR` for the data; repeat it to spread over several disks (default "+defaultDir+")")
	flags.StringVarP(&opts.listen, "listen", "l", "", "`HOST:PORT` to listen on (default "+samsa.DefaultListen+")")
	flags.StringVar(&opts.http, "http", "", "`HOST:PORT` that answers /livez, /readyz and /metrics (default: none)")
	flags.StringVarP(&opts.configFile, "config", "c", "", "`FILE` with settings, as Kafka's server.properties")
	flags.StringArrayVarP(&opts.set, "set", "s", nil, "setting `KEY=VALUE`; may be repeated")
	flags.StringVar(&opts.logFormat, "log-format", "text", "text or json")
	flags.StringVar(&opts.logLevel, "log-level", "info", "debug, info, warn or error")
	flags.BoolVar(&opts.readOnly, "read-only", false, "serve the directories without changing anything in them")
	flags.StringVar(&opts.scratch, "scratch", "", "`DIR` for what a read-only broker writes, kept for the next start (default: a temporary one)")
	flags.DurationVar(&opts.stopTimeout, "stop-timeout", 30*time.Second, "how long to let requests finish when stopping")
	return cmd
}

func (o *serveOptions) run(cmd *cobra.Command) error {
	logger, err := o.logger(cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	c, err := o.brokerConfig(os.Environ())
	if err != nil {
		return err
	}
	c.Logger = logger
	ctx := cmd.Context()
	started := time.Now()
	broker, err := samsa.Start(ctx, c)
	if err != nil {
		return explainStart(err)
	}
	logger.Info("serving", "address", broker.Addr(), "cluster", broker.ClusterID(), "took", time.Since(started).Round(time.Millisecond))
	var failed error
	select {
	case <-ctx.Done():
		logger.Info("stopping")
	case failed = <-broker.Failed():
		failed = fmt.Errorf("the broker stopped by itself: %w", failed)
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.stopTimeout)
	defer cancel()
	if err := broker.Shutdown(stopping); err != nil {
		return errors.Join(failed, fmt.Errorf("stop: %w", err))
	}
	logger.Info("stopped")
	return failed
}

// brokerConfig merges the file, the environment and the flags.
func (o *serveOptions) brokerConfig(environ []string) (samsa.Config, error) {
	var fromFile map[string]string
	if o.configFile != "" {
		var err error
		if fromFile, err = readProperties(o.configFile); err != nil {
			return samsa.Config{}, err
		}
	}
	pairs, err := parseConfigs(o.set)
	if err != nil {
		return samsa.Config{}, err
	}
	fromFlags := make(map[string]string, len(pairs))
	for _, kv := range pairs {
		fromFlags[kv.name] = kv.value
	}
	props := config.Merge(fromFile, config.FromEnvironment(environ), fromFlags)
	if o.http != "" {
		props["samsa.http.listen"] = o.http
	}
	c := samsa.Config{Dirs: o.dirs, Listen: o.listen, Properties: props, ReadOnly: o.readOnly, Scratch: o.scratch}
	if o.scratch != "" && !o.readOnly {
		return samsa.Config{}, usagef("--scratch belongs to --read-only")
	}
	if len(c.Dirs) == 0 && props["log.dirs"] == "" && props["log.dir"] == "" {
		if o.readOnly {
			return samsa.Config{}, usagef("name the directories to serve read-only")
		}
		c.Dirs = []string{defaultDir}
	}
	return c, nil
}

func readProperties(name string) (map[string]string, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	defer f.Close()
	props, err := config.ParseProperties(f)
	if err != nil {
		return nil, fmt.Errorf("configuration %s: %w", name, err)
	}
	return props, nil
}

func (o *serveOptions) logger(w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(o.logLevel)); err != nil {
		return nil, usagef("--log-level is debug, info, warn or error, not %q", o.logLevel)
	}
	options := &slog.HandlerOptions{Level: level}
	switch o.logFormat {
	case "text":
		return slog.New(slog.NewTextHandler(w, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, options)), nil
	default:
		return nil, usagef("--log-format is text or json, not %q", o.logFormat)
	}
}

// explainStart adds what to do about the errors that meet people at the first start.
func explainStart(err error) error {
	err = fmt.Errorf("the broker did not start: %w", err)
	switch {
	case errors.Is(err, samsa.ErrLargerCluster):
		return withHint(err, `"samsa serve --read-only" reads it without changing it, "samsa adopt DIR --solo" makes it a cluster of one node.`)
	case errors.Is(err, samsa.ErrNoMetadata):
		return withHint(err, `"samsa adopt DIR --from-logs" makes metadata from what the partitions tell.`)
	}
	switch {
	case errors.Is(err, overlay.ErrChanged):
		return withHint(err, "Name another --scratch, or remove it: what is in it belongs to what the directory was.")
	case errors.Is(err, overlay.ErrInside):
		return withHint(err, "Name a --scratch elsewhere.")
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "listen" {
		return withHint(err, "Is another broker running there? Choose another address with --listen HOST:PORT.")
	}
	return err
}
