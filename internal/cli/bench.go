package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"
)

func newBenchCommand() *cobra.Command {
	cmd := parentCommand("bench", "Measure producing and consuming",
		`Measure how fast a broker takes and gives records, in the columns of Kafka's
kafka-producer-perf-test and kafka-consumer-perf-test, with their flags.`,
		newBenchProduceCommand(), newBenchConsumeCommand())
	return cmd
}

// benchConnection registers the connection flags of the bench commands: --timeout is Kafka's there.
func benchConnection(cmd *cobra.Command) *connection {
	conn := &connection{}
	conn.flagBootstrap(cmd)
	conn.timeout = 15 * time.Second
	cmd.Flags().StringVar(&conn.bootstrap, "bootstrap-server", conn.bootstrap, "the same as --bootstrap, as Kafka's tools call it")
	return conn
}

// clientProperties are Kafka client properties of --command-property that have a counterpart here.
type clientProperties map[string]string

// parseProperties reads KEY=VALUE arguments and rejects keys outside known: a benchmark that silently
// ignores a setting measures something else than was asked for.
func parseProperties(args []string, known ...string) (clientProperties, error) {
	props := clientProperties{}
	for _, arg := range args {
		for _, one := range strings.Fields(arg) {
			key, value, ok := strings.Cut(one, "=")
			if !ok {
				return nil, usagef("property %q is not KEY=VALUE", one)
			}
			if !slices.Contains(known, key) {
				return nil, usagef("property %q has no counterpart here; there are: %s", key, strings.Join(known, ", "))
			}
			props[key] = value
		}
	}
	return props, nil
}

func (p clientProperties) text(key, otherwise string) string {
	if v, ok := p[key]; ok {
		return v
	}
	return otherwise
}

// integer returns a property that must be a number of at least lowest.
func (p clientProperties) integer(key string, otherwise, lowest int64) (int64, error) {
	v, ok := p[key]
	if !ok {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < lowest {
		return 0, usagef("property %s=%s: not a number of at least %d", key, v, lowest)
	}
	return n, nil
}

// producerPropertyNames are the properties that producerOptions understands.
func producerPropertyNames() []string {
	return []string{"acks", "batch.size", "bootstrap.servers", "buffer.memory", "client.id", "compression.type",
		"enable.idempotence", "linger.ms", "max.in.flight.requests.per.connection", "max.request.size"}
}

// producerOptions translates the properties of a Java producer, with its defaults (ProducerConfig of
// Kafka 4.4), to those of this client, so that both tools measure the same kind of producer.
func producerOptions(props clientProperties, largestRecord int) ([]kgo.Opt, error) {
	var failed error
	number := func(key string, otherwise, lowest int64) int64 {
		n, err := props.integer(key, otherwise, lowest)
		if err != nil && failed == nil {
			failed = err
		}
		return n
	}
	batchSize := number("batch.size", 16384, 0)
	buffer := number("buffer.memory", 32<<20, 1)
	linger := number("linger.ms", 5, 0)
	inFlight := number("max.in.flight.requests.per.connection", 5, 1)
	requestSize := number("max.request.size", 1<<20, 1)
	if failed != nil {
		return nil, failed
	}
	codec, err := parseCompression(props.text("compression.type", "none"))
	if err != nil {
		return nil, err
	}
	// A Java producer sends a record that is larger than batch.size in a batch of its own; this client
	// refuses it, so the batch must be large enough for one record with its overhead.
	const batchOverhead = 128
	opts := []kgo.Opt{
		kgo.ProducerBatchMaxBytes(int32(min(max(batchSize, int64(largestRecord)+batchOverhead), max(requestSize, int64(largestRecord)+batchOverhead), 100<<20))),
		kgo.MaxBufferedBytes(int(max(buffer, int64(largestRecord)))),
		kgo.MaxBufferedRecords(1 << 30),
		kgo.ProducerLinger(time.Duration(linger) * time.Millisecond),
		kgo.ProducerBatchCompression(codec),
		kgo.ClientID(props.text("client.id", "perf-producer-client")),
		kgo.AllowAutoTopicCreation(),
	}
	acks := props.text("acks", "all")
	idempotent := props.text("enable.idempotence", strconv.FormatBool(acks == "all" || acks == "-1")) == "true"
	switch acks {
	case "all", "-1":
		opts = append(opts, kgo.RequiredAcks(kgo.AllISRAcks()))
	case "1":
		opts = append(opts, kgo.RequiredAcks(kgo.LeaderAck()))
	case "0":
		opts = append(opts, kgo.RequiredAcks(kgo.NoAck()))
	default:
		return nil, usagef("property acks=%s: use all, 1 or 0", acks)
	}
	if !idempotent {
		opts = append(opts, kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(int(inFlight)))
	}
	return opts, nil
}

// perfTime is how kafka-consumer-perf-test prints a time by default.
func perfTime(t time.Time) string {
	return t.Format("2006-01-02 15:04:05:") + fmt.Sprintf("%03d", t.Nanosecond()/int(time.Millisecond))
}
