package row

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/samsalog/samsa/bench/figure"
	"github.com/samsalog/samsa/bench/peer"
)

// ErrSkip is what a row returns, wrapped with the reason, when something that it needs is not there.
var ErrSkip = errors.New("left out")

// Row is one row of the table.
type Row struct {
	// Name is "group/what"; rows of one group come one after the other.
	Name string
	// Peers take part, in this order in every round.
	Peers []peer.Name
	// Standing rows are measured against brokers that stay up from one row to the next, with a first round that is
	// thrown away; other rows start what they need.
	Standing bool
	// MostRounds bounds the rounds of a row that takes long; 0 for no bound.
	MostRounds int
	// Needs tells how many bytes of memory a turn takes, of the page cache and of programs that it starts; nil: few.
	Needs func(b *Bench) int64
	// Full rows run only when everything is asked for.
	Full bool
	// Prepare, if set, runs once against each peer before the first round; Finish after the last.
	Prepare func(ctx context.Context, t Turn) error
	Run     func(ctx context.Context, t Turn) ([]figure.Value, error)
	Finish  func(ctx context.Context, t Turn) error
	Marks   []figure.Mark
}

// Group is the first part of the name.
func (r Row) Group() string {
	group, _, _ := strings.Cut(r.Name, "/")
	return group
}

// Bench is what all turns share.
type Bench struct {
	Launcher *peer.Launcher
	// Self is the program itself, which is also the client.
	Self string
	// Root is Samsa's source tree.
	Root string
	// Dir is where everything is written.
	Dir string
	// Scale is a factor for numbers of records and for times.
	Scale float64
	// Rdkafka is the program rdkafka_performance; "" when it is not there.
	Rdkafka string
}

// Records scales a number of records.
func (b *Bench) Records(n int64) int64 { return max(int64(float64(n)*b.Scale), 200) }

// Turn is one round of a row against one peer.
type Turn struct {
	*Bench
	Row  string
	Peer peer.Name
	// Running is the broker of a standing row, else nil.
	Running *peer.Running
	Round   int
}

// Topic returns a name that no other turn has.
func (t Turn) Topic() string { return fmt.Sprintf("%s-%d", t.Base(), t.Round) }

// Base returns a name that is the same in all rounds of the row.
func (t Turn) Base() string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, t.Row)
}

// Own returns a directory for the peer in this row. It is the same in all rounds.
func (t Turn) Own() string {
	return filepath.Join(t.Dir, t.Base()+"-"+strings.ReplaceAll(string(t.Peer), " ", "-"))
}

// RemoveOwn removes what is in and beside Own.
func (t Turn) RemoveOwn() error {
	return errors.Join(os.RemoveAll(t.Own()), os.RemoveAll(t.Own()+"-home"))
}

// Value makes a figure.
func Value(name, unit string, v float64) figure.Value {
	return figure.Value{Name: name, Unit: unit, Value: v}
}
