package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/samsalog/samsa/bench/peer"
)

// options are the flags.
type options struct {
	root, jars, rdkafka, dir, docs, results, samsa, against, perf string
	rounds, port                                                  int
	scale                                                         float64
	within                                                        time.Duration
	quick, all, list                                              bool
	only                                                          *regexp.Regexp
	peers                                                         []peer.Name
	settings                                                      map[string]string
}

// profile names the extent of a run.
func (o options) profile() string {
	switch {
	case o.all:
		return "all"
	case o.quick:
		return "quick"
	default:
		return "ordinary"
	}
}

const usage = `usage: bench [flags]         measure, and write docs/bench.md when -docs is given
       bench report RESULTS DOCS
       bench text RESULTS [PEER]   for benchstat

`

// quickScale and quickSlowRounds, the rounds of rows that start servers of their own, make a run of all rows and peers
// last about twenty minutes on two cores.
const (
	quickScale      = 0.25
	quickSlowRounds = 2
)

func parseFlags(args []string) (options, error) {
	o := options{settings: map[string]string{}}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.Usage = func() {
		fmt.Fprint(f.Output(), usage)
		f.PrintDefaults()
	}
	f.StringVar(&o.root, "root", "..", "Samsa's source `tree`")
	f.StringVar(&o.samsa, "samsa", "", "`program` of Samsa (default: built from -root)")
	f.StringVar(&o.against, "against", "", "compare with this `revision` of Samsa (git) instead of other peers; prints what benchstat says")
	f.StringVar(&o.jars, "jars", defaultJars(), "`directory` of Apache Kafka's jars")
	f.StringVar(&o.rdkafka, "rdkafka", defaultRdkafka(), "`program` rdkafka_performance")
	f.StringVar(&o.dir, "dir", "", "`directory` for the data (default: a temporary one); it decides which disk is measured")
	f.StringVar(&o.docs, "docs", "", "write bench.md, plots and results into this `directory`")
	f.StringVar(&o.results, "results", "", "write results into this `file` (default: bench/results.jsonl in -docs, or a temporary one)")
	f.IntVar(&o.rounds, "rounds", 5, "measured rounds; rows that take long have fewer")
	f.Float64Var(&o.scale, "scale", 0, "factor for numbers of records and times (default 1, with -quick 0.25)")
	f.BoolVar(&o.quick, "quick", false, "a run of about twenty minutes")
	f.BoolVar(&o.all, "all", false, "every combination, and the rows that take an hour")
	f.BoolVar(&o.list, "list", false, "print the names of the rows and stop")
	f.DurationVar(&o.within, "within", 0, "begin no row after this `time`; rows are in the order of their weight")
	f.IntVar(&o.port, "port", 0, "use ports from here on (default: any)")
	f.StringVar(&o.perf, "perf", "", "write profiles (perf) of the servers written in Go into this `directory`")
	f.Func("only", "only rows whose name matches this `regexp`", func(s string) (err error) {
		o.only, err = regexp.Compile(s)
		return err
	})
	f.Func("peers", "only these `peers`, with commas: samsa,kafka,minimum,answers,kfake,nats,raw,machine", func(s string) error {
		for _, n := range strings.Split(s, ",") {
			o.peers = append(o.peers, peer.Name(n))
		}
		return nil
	})
	f.Func("set", "`KEY=VALUE` for Samsa and Apache Kafka; may be repeated", func(s string) error {
		k, v, ok := strings.Cut(s, "=")
		if !ok {
			return fmt.Errorf("%q is not KEY=VALUE", s)
		}
		o.settings[k] = v
		return nil
	})
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unknown command %q", f.Arg(0))
	}
	if o.scale == 0 {
		o.scale = 1
		if o.quick {
			o.scale = quickScale
		}
	}
	if o.rounds < 1 || o.scale < 0 {
		return o, fmt.Errorf("-rounds and -scale must be positive")
	}
	return o, nil
}

// cache returns where the project's scripts put what they fetched.
func cache(parts ...string) string {
	base := os.Getenv("XDG_CACHE_HOME")
	if base == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		base = filepath.Join(home, ".cache")
	}
	name := filepath.Join(append([]string{base}, parts...)...)
	if _, err := os.Stat(name); err != nil {
		return ""
	}
	return name
}

// defaultJars are those that scripts/interop.sh install has fetched; "" when there are none.
func defaultJars() string { return cache("samsa-interop", "kafka-4.4.0") }

// defaultRdkafka is what scripts/bench-rdkafka.sh has built; "" when it has not.
func defaultRdkafka() string { return cache("samsa-bench", "rdkafka_performance") }
