package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"time"
)

// options are the flags of the command.
type options struct {
	root, jars, dir string
	rounds          int
	scale           float64
	only            string
}

func main() {
	var o options
	flag.StringVar(&o.root, "root", "..", "Samsa's source tree")
	flag.StringVar(&o.jars, "jars", "", "directory of Apache Kafka's jars (required)")
	flag.StringVar(&o.dir, "dir", "", "directory for the brokers' data (default: a temporary one)")
	flag.IntVar(&o.rounds, "rounds", 3, "measured rounds, after one that is thrown away")
	flag.Float64Var(&o.scale, "scale", 1, "factor for the number of records")
	flag.StringVar(&o.only, "only", "", "run only cases whose name contains this")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	if o.jars == "" {
		return fmt.Errorf("name the directory of Apache Kafka's jars with -jars (make bench does)")
	}
	if o.dir == "" {
		dir, err := os.MkdirTemp("", "samsa-bench-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		o.dir = dir
	}
	samsa := filepath.Join(o.dir, "samsa")
	if err := build(ctx, o.root, samsa); err != nil {
		return err
	}
	tools := tools{samsa: samsa, jars: o.jars}
	var brokers []*broker
	defer func() {
		for _, b := range brokers {
			b.stop()
		}
	}()
	for _, start := range []func(context.Context) (*broker, error){
		func(ctx context.Context) (*broker, error) {
			return startSamsa(ctx, tools, filepath.Join(o.dir, "samsa-data"))
		},
		func(ctx context.Context) (*broker, error) {
			return startKafka(ctx, tools, filepath.Join(o.dir, "kafka-data"))
		},
	} {
		b, err := start(ctx)
		if err != nil {
			return err
		}
		brokers = append(brokers, b)
	}
	results := newResults()
	for round := range o.rounds + 1 {
		for _, c := range cases(o.scale) {
			if !c.matches(o.only) {
				continue
			}
			for _, client := range clients(tools) {
				for _, b := range brokers {
					fmt.Fprintf(os.Stderr, "round %d/%d: %s, %s, %s\n", round, o.rounds, c.name, client.name, b.name)
					produced, consumed, err := c.measure(ctx, client, b, round)
					if err != nil {
						return fmt.Errorf("%s with %s against %s: %w", c.name, client.name, b.name, err)
					}
					if round > 0 {
						results.add(c.name, client.name, b.name, produced, consumed)
					}
				}
			}
		}
	}
	fmt.Printf("%s, %s/%s, %d cores, %s. Medians of %d rounds [lowest–highest]; one more round before them is not counted.\n\n",
		time.Now().UTC().Format(time.DateOnly), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), o.rounds)
	results.print(os.Stdout)
	printMemory(os.Stdout, brokers)
	return nil
}
