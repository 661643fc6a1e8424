package cli

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	defaultBootstrap = "127.0.0.1:9092"
	bootstrapEnv     = "SAMSA_BOOTSTRAP"
	// clientID is how this command names itself to brokers, in their logs and quotas.
	clientID = "samsa-cli"
)

// connection holds the flags that say which broker to talk to.
type connection struct {
	bootstrap string
	timeout   time.Duration
}

// flags registers the connection's flags on cmd and its subcommands.
func (c *connection) flags(cmd *cobra.Command) {
	c.flagBootstrap(cmd)
	cmd.PersistentFlags().DurationVar(&c.timeout, "timeout", 15*time.Second, "how long to wait for an answer")
}

func (c *connection) flagBootstrap(cmd *cobra.Command) {
	address := defaultBootstrap
	if env := os.Getenv(bootstrapEnv); env != "" {
		address = env
	}
	cmd.PersistentFlags().StringVarP(&c.bootstrap, "bootstrap", "b", address, "broker to ask first, `HOST:PORT[,…]`; also "+bootstrapEnv)
}

// client connects to the broker, so that a wrong address is told at once and not after retries.
func (c *connection) client(ctx context.Context, opts ...kgo.Opt) (*kgo.Client, error) {
	seeds := strings.Split(c.bootstrap, ",")
	for i := range seeds {
		seeds[i] = strings.TrimSpace(seeds[i])
	}
	base := []kgo.Opt{
		kgo.SeedBrokers(seeds...),
		kgo.ClientID(clientID),
		kgo.DialTimeout(c.timeout),
		kgo.DisableClientMetrics(),
	}
	cl, err := kgo.NewClient(append(base, opts...)...)
	if err != nil {
		return nil, usagef("%w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	if err := cl.Ping(ctx); err != nil {
		cl.Close()
		return nil, unreachable(c.bootstrap, err)
	}
	return cl, nil
}

// admin is a connected admin client with the client under it, for requests that kadm has no call for.
type admin struct {
	*kadm.Client
	raw *kgo.Client
}

// admin runs f with an admin client; ctx is bounded by --timeout.
func (c *connection) admin(ctx context.Context, f func(context.Context, *admin) error) error {
	cl, err := c.client(ctx)
	if err != nil {
		return err
	}
	adm := &admin{Client: kadm.NewClient(cl), raw: cl}
	defer adm.Close()
	adm.SetTimeoutMillis(int32(min(c.timeout.Milliseconds(), 1<<30)))
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	return f(ctx, adm)
}
