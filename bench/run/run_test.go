package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"testing"

	"github.com/samsalog/samsa/bench/figure"
	"github.com/samsalog/samsa/bench/peer"
	"github.com/samsalog/samsa/bench/row"
)

func runRows(t *testing.T, o Options, rows ...row.Row) (*figure.Table, error) {
	t.Helper()
	o.Progress = io.Discard
	var b bytes.Buffer
	launcher := &peer.Launcher{Binaries: map[peer.Name]string{peer.Samsa: "a", peer.Before: "b"}}
	failed := New(o, &row.Bench{Launcher: launcher, Dir: t.TempDir(), Scale: 1}, figure.NewWriter(&b)).Rows(context.Background(), rows)
	table, err := figure.Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	return table, failed
}

// TestPeersTakeTurns checks RUN-1 and that rounds are bounded.
func TestPeersTakeTurns(t *testing.T) {
	var order []string
	one := row.Row{Name: "g/a", Peers: []peer.Name{peer.Samsa, peer.Kafka, peer.Minimum}, MostRounds: 2,
		Run: func(_ context.Context, turn row.Turn) ([]figure.Value, error) {
			order = append(order, fmt.Sprint(turn.Peer, turn.Round))
			return []figure.Value{row.Value("rate", "records/s", float64(turn.Round))}, nil
		}}
	table, err := runRows(t, Options{Rounds: 5}, one)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"samsa0", "minimum0", "samsa1", "minimum1"}; !slices.Equal(order, want) {
		t.Errorf("%q", order)
	}
	if s := table.Summary("g/a", "samsa", "rate"); s.N != 2 {
		t.Errorf("%+v", s)
	}
	if skips := table.Skips(); len(skips) != 1 || skips[0].Peer != "kafka" {
		t.Errorf("%+v", skips)
	}
}

func TestSlowRowsHaveFewerRounds(t *testing.T) {
	n := 0
	one := row.Row{Name: "g/a", Peers: []peer.Name{peer.Minimum}, Run: func(context.Context, row.Turn) ([]figure.Value, error) {
		n++
		return nil, nil
	}}
	if _, err := runRows(t, Options{Rounds: 5, SlowRounds: 2}, one); err != nil || n != 2 {
		t.Errorf("%d rounds, %v", n, err)
	}
}

func TestNoRowBeginsAfterTheTime(t *testing.T) {
	one := row.Row{Name: "g/a", Peers: []peer.Name{peer.Minimum}, Run: func(context.Context, row.Turn) ([]figure.Value, error) {
		t.Error("the row ran")
		return nil, nil
	}}
	table, err := runRows(t, Options{Rounds: 1, Within: 1}, one)
	if err != nil || len(table.Skips()) != 1 || table.Skips()[0].Row != "g/a" {
		t.Errorf("%+v, %v", table.Skips(), err)
	}
}

func TestComparing(t *testing.T) {
	var order []peer.Name
	one := row.Row{Name: "g/a", Peers: []peer.Name{peer.Samsa, peer.Minimum}, Run: func(_ context.Context, turn row.Turn) ([]figure.Value, error) {
		order = append(order, turn.Peer)
		return nil, nil
	}}
	if _, err := runRows(t, Options{Rounds: 1, Compare: true}, one); err != nil {
		t.Fatal(err)
	}
	if want := []peer.Name{peer.Before, peer.Samsa}; !slices.Equal(order, want) {
		t.Errorf("%q", order)
	}
}

// TestAFailureIsWrittenDown checks RUN-4: the peer is out, the other goes on, a skip is no failure.
func TestAFailureIsWrittenDown(t *testing.T) {
	broken := errors.New("broken")
	run := func(what error) func(context.Context, row.Turn) ([]figure.Value, error) {
		return func(_ context.Context, turn row.Turn) ([]figure.Value, error) {
			if turn.Peer == peer.Samsa {
				return nil, what
			}
			return []figure.Value{row.Value("rate", "records/s", 1)}, nil
		}
	}
	peers := []peer.Name{peer.Samsa, peer.Minimum}
	table, err := runRows(t, Options{Rounds: 3}, row.Row{Name: "g/a", Peers: peers, Run: run(broken)},
		row.Row{Name: "g/b", Peers: peers, Run: run(fmt.Errorf("%w: no tool", row.ErrSkip))})
	if !errors.Is(err, broken) || errors.Is(err, row.ErrSkip) {
		t.Errorf("%v", err)
	}
	if table.Summary("g/a", "minimum", "rate").N != 3 || table.Summary("g/b", "minimum", "rate").N != 3 || len(table.Skips()) != 2 {
		t.Errorf("%+v", table.Skips())
	}
}

func TestSelected(t *testing.T) {
	rows := []row.Row{{Name: "a/1"}, {Name: "a/2", Full: true}, {Name: "b/1"}}
	for _, c := range []struct {
		o    Options
		want []string
	}{
		{Options{}, []string{"a/1", "b/1"}},
		{Options{All: true}, []string{"a/1", "a/2", "b/1"}},
		{Options{Only: regexp.MustCompile("^a")}, []string{"a/1"}},
	} {
		var got []string
		for _, r := range c.o.Selected(rows) {
			got = append(got, r.Name)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q", c.o, got)
		}
	}
}
