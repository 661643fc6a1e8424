package rows

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"github.com/samsalog/samsa/bench/figure"
	"github.com/samsalog/samsa/bench/peer"
	"github.com/samsalog/samsa/bench/row"
)

const lookupRow = "index lookup"

// lookupRows runs the benchmarks of storage/index. The mapped variants in them stand for Apache Kafka's way: a mapped
// file, searched as a whole or with its end first.
func lookupRows() []row.Row {
	return []row.Row{{
		Name: lookupRow, Peers: []peer.Name{peer.Samsa}, MostRounds: 3, Run: runLookup,
		Marks: []figure.Mark{
			absolute(lookupRow, "PagesTouched/13/samsa pages", 3), absolute(lookupRow, "PagesTouched/256/samsa pages", 3), absolute(lookupRow, "PagesTouched/2560/samsa pages", 3),
			absolute(lookupRow, "Lookup/262144/tail/samsa ns/op", 60), absolute(lookupRow, "Lookup/1310720/tail/samsa ns/op", 60),
			{Row: lookupRow, Figure: "Stalls/samsa late-p50-us", Peer: string(peer.Samsa), Of: figure.Of{Peer: string(peer.Samsa), Figure: "Stalls/none late-p50-us"}, AtMost: 1.5},
		},
	}}
}

func runLookup(ctx context.Context, t row.Turn) ([]figure.Value, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return nil, fmt.Errorf("%w: no go", row.ErrSkip)
	}
	time := fmt.Sprintf("-benchtime=%s", seconds(t.Bench, 0.5))
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "^Benchmark(Lookup|PagesTouched|Stalls)$", time, "./storage/index")
	cmd.Dir = t.Root
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("benchmarks of the index: %w: %s", err, out)
	}
	values := parseGoBench(string(out))
	if len(values) == 0 {
		return nil, fmt.Errorf("no figures in\n%s", out)
	}
	return values, nil
}

// told are the units that say something here; allocations and iterations do not.
var told = regexp.MustCompile(`^(ns/op|pages|late-p50-us|late-p99-us|lookups/s)$`)

// parseGoBench returns the figures of the lines of go test -bench, named after benchmark and unit.
func parseGoBench(out string) []figure.Value {
	var values []figure.Value
	processors := regexp.MustCompile(`-\d+$`)
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name := processors.ReplaceAllString(strings.TrimPrefix(fields[0], "Benchmark"), "")
		for i := 2; i+1 < len(fields); i += 2 {
			v, err := strconv.ParseFloat(fields[i], 64)
			if err != nil || !told.MatchString(fields[i+1]) {
				continue
			}
			if strings.HasPrefix(name, "Stalls") && fields[i+1] == "ns/op" {
				continue // that is the sleep
			}
			values = append(values, row.Value(name+" "+fields[i+1], fields[i+1], v))
		}
	}
	return values
}
