// Command samsa is a Kafka broker and the tools to talk to one.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/samsalog/samsa/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// From the second signal on the system's own handling applies: it ends a stop that takes too long.
	context.AfterFunc(ctx, stop)
	status := cli.Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}
