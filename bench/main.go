package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/samsalog/samsa/bench/inside"
	"github.com/samsalog/samsa/bench/load"
	"github.com/samsalog/samsa/bench/peer"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx, os.Args[1:])
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// command runs a subcommand, or the benchmark.
func command(ctx context.Context, args []string) error {
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	switch name {
	case "load":
		return load.Main(ctx, os.Stdin, os.Stdout)
	case "serve":
		if len(args) != 4 {
			return errors.New("serve PEER ADDRESS DIRECTORY")
		}
		return inside.Serve(ctx, peer.Name(args[1]), args[2], args[3])
	case "report":
		if len(args) != 3 {
			return errors.New("report RESULTS DOCS writes DOCS/bench.md and its plots")
		}
		return report(args[1], args[2])
	case "text":
		if len(args) < 2 || len(args) > 3 {
			return errors.New("text RESULTS [PEER] prints the figures of a peer (samsa) in the format that benchstat reads")
		}
		return text(args[1], append(args, "samsa")[2], os.Stdout)
	default:
		return measure(ctx, args)
	}
}
