package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/samsalog/samsa/bench/figure"
	"github.com/samsalog/samsa/bench/level"
	"github.com/samsalog/samsa/bench/peer"
	"github.com/samsalog/samsa/bench/row"
)

// Options say what runs.
type Options struct {
	// Rounds is how many rounds a row has at most; SlowRounds bounds those of rows that start servers of their own, 0
	// for no bound.
	Rounds, SlowRounds int
	// Only selects rows by name, nil for all; Peers selects peers, empty for all.
	Only  *regexp.Regexp
	Peers []peer.Name
	// All includes the rows that are Full.
	All bool
	// Compare measures Before next to Samsa in every row, and no other peer unless Peers names it.
	Compare bool
	// Standing are settings of the brokers of standing rows.
	Standing map[string]string
	// Within, if not 0, is the time after which no further row begins.
	Within time.Duration
	// Perf, if not "", is a directory for profiles of the servers that are Go programs.
	Perf string
	// Progress takes a line per turn.
	Progress io.Writer
}

// Runner runs rows.
type Runner struct {
	options  Options
	bench    *row.Bench
	out      *figure.Writer
	standing map[peer.Name]*peer.Running
	failed   []error
}

// New returns a runner that writes to out.
func New(o Options, b *row.Bench, out *figure.Writer) *Runner {
	return &Runner{options: o, bench: b, out: out, standing: map[peer.Name]*peer.Running{}}
}

// Selected returns those rows that the options want.
func (o Options) Selected(rows []row.Row) []row.Row {
	var all []row.Row
	for _, r := range rows {
		if (o.Only == nil || o.Only.MatchString(r.Name)) && (!r.Full || o.All) {
			all = append(all, r)
		}
	}
	return all
}

// Rows runs rows and returns what failed.
func (r *Runner) Rows(ctx context.Context, rows []row.Row) error {
	defer r.stopStanding()
	started := time.Now()
	for _, one := range rows {
		if ctx.Err() != nil {
			break
		}
		if within := r.options.Within; within > 0 && time.Since(started) > within {
			if err := r.out.Skipped(figure.Skipped{Row: one.Name, Reason: fmt.Sprintf("no time: the run was to take %s", within)}); err != nil {
				return err
			}
			continue
		}
		if !one.Standing {
			r.stopStanding()
		}
		began := time.Now()
		if err := r.row(ctx, one); err != nil {
			return err // the results cannot be written
		}
		fmt.Fprintf(r.options.Progress, "%s took %s\n", one.Name, time.Since(began).Round(100*time.Millisecond))
	}
	return errors.Join(append(r.failed, ctx.Err())...)
}

// peers returns who takes part in a row, and writes down who does not.
func (r *Runner) peers(one row.Row) ([]peer.Name, error) {
	var all []peer.Name
	for _, n := range one.Peers {
		if len(r.options.Peers) > 0 && !slices.Contains(r.options.Peers, n) {
			continue
		}
		if r.options.Compare && len(r.options.Peers) == 0 && n != peer.Samsa {
			continue
		}
		if reason := r.bench.Launcher.Missing(n); reason != "" {
			if err := r.out.Skipped(figure.Skipped{Row: one.Name, Peer: string(n), Reason: reason}); err != nil {
				return nil, err
			}
			continue
		}
		if r.options.Compare && n == peer.Samsa {
			all = append(all, peer.Before)
		}
		all = append(all, n)
	}
	return all, nil
}

// row runs one row. Its error is one of writing results; what failed in a turn is noted.
func (r *Runner) row(ctx context.Context, one row.Row) error {
	peers, err := r.peers(one)
	if err != nil {
		return err
	}
	out := map[peer.Name]bool{}
	try := func(n peer.Name, what string, do func() error) error {
		err := do()
		if err == nil || ctx.Err() != nil {
			return nil
		}
		out[n] = true
		return r.note(one, n, what, err)
	}
	for _, n := range peers {
		if err := try(n, "prepare", func() error { return r.prepare(ctx, one, n) }); err != nil {
			return err
		}
	}
	rounds, first := r.rounds(one)
	for round := range rounds {
		for _, n := range peers {
			if out[n] || ctx.Err() != nil {
				continue
			}
			if err := try(n, "run", func() error { return r.turn(ctx, one, n, round, round >= first) }); err != nil {
				return err
			}
		}
	}
	for _, n := range peers {
		if one.Finish != nil && !out[n] {
			if err := try(n, "finish", func() error { return one.Finish(ctx, r.at(one, n, rounds)) }); err != nil {
				return err
			}
		}
		if !one.Standing {
			if err := r.at(one, n, rounds).RemoveOwn(); err != nil {
				return err
			}
		}
	}
	return nil
}

// rounds returns how many there are and the first that counts.
func (r *Runner) rounds(one row.Row) (rounds, first int) {
	rounds = r.options.Rounds
	if one.MostRounds > 0 {
		rounds = min(rounds, one.MostRounds)
	}
	if one.Standing {
		return rounds + 1, 1
	}
	if r.options.SlowRounds > 0 {
		rounds = min(rounds, r.options.SlowRounds)
	}
	return rounds, 0
}

func (r *Runner) at(one row.Row, n peer.Name, round int) row.Turn {
	return row.Turn{Bench: r.bench, Row: one.Name, Peer: n, Running: r.standing[n], Round: round}
}

// prepare starts what a standing row needs, and lets the row prepare itself.
func (r *Runner) prepare(ctx context.Context, one row.Row, n peer.Name) error {
	if one.Standing && n != peer.Machine && r.standing[n] == nil {
		dir := filepath.Join(r.bench.Dir, "standing-"+strings.ReplaceAll(string(n), " ", "-"))
		if err := errors.Join(os.RemoveAll(dir), os.RemoveAll(dir+"-home")); err != nil {
			return err
		}
		running, err := r.bench.Launcher.Start(ctx, n, dir, r.options.Standing)
		if err != nil {
			return err
		}
		r.standing[n] = running
	}
	if one.Prepare == nil {
		return nil
	}
	return one.Prepare(ctx, r.at(one, n, 0))
}

// turn runs one round against one peer and writes down what came out if it counts.
func (r *Runner) turn(ctx context.Context, one row.Row, n peer.Name, round int, counts bool) error {
	if err := r.level(one); err != nil {
		return err
	}
	stop, err := r.profile(one, n, round)
	if err != nil {
		return err
	}
	values, err := one.Run(ctx, r.at(one, n, round))
	stop()
	if err != nil {
		return err
	}
	for _, v := range values {
		if counts {
			if err := r.out.Sample(figure.Sample{Row: one.Name, Peer: string(n), Round: round, Value: v}); err != nil {
				return err
			}
		}
	}
	fmt.Fprintf(r.options.Progress, "%s  round %d  %s:%s\n", one.Name, round, n, brief(values))
	return nil
}

// level has nothing of the turn before act on the one to come.
func (r *Runner) level(one row.Row) error {
	var needs int64
	if one.Needs != nil {
		needs = one.Needs(r.bench)
	}
	return level.Ground(needs)
}

// brief writes the first figures on one line.
func brief(values []figure.Value) string {
	var b strings.Builder
	for _, v := range values[:min(len(values), 4)] {
		fmt.Fprintf(&b, "  %s %s %s", v.Name, figure.Short(v.Value), v.Unit)
	}
	return b.String()
}

// note writes down what went wrong. A broker that stayed up is given up: the next row gets a fresh one.
func (r *Runner) note(one row.Row, n peer.Name, what string, err error) error {
	reason := err.Error()
	fmt.Fprintf(r.options.Progress, "%s  %s against %s: %s\n", one.Name, what, n, reason)
	if !errors.Is(err, row.ErrSkip) {
		reason = "failed: " + reason
		r.failed = append(r.failed, fmt.Errorf("%s against %s: %w", one.Name, n, err))
		if running := r.standing[n]; running != nil {
			running.Kill()
			delete(r.standing, n)
		}
	}
	return r.out.Skipped(figure.Skipped{Row: one.Name, Peer: string(n), Reason: reason})
}

// stopStanding stops the brokers that stayed up and removes what they wrote.
func (r *Runner) stopStanding() {
	for n, running := range r.standing {
		if err := running.Stop(); err != nil {
			r.failed = append(r.failed, err)
		}
		if err := errors.Join(os.RemoveAll(running.Dir), os.RemoveAll(running.Dir+"-home")); err != nil {
			r.failed = append(r.failed, err)
		}
		delete(r.standing, n)
	}
}
