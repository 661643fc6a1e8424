package coordinator

import (
	"log/slog"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// failer is what *testing.T and *rapid.T have in common.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// world is a machine without a shard around it: what it wants written is written at once.
type world struct {
	failer
	m        *machine
	settings Settings
	now      time.Time
	start    record.Offset // of the log: records before it are gone
	records  []coord.Record
	topics   map[record.UUID]int32
	pruned   record.Offset
}

func newWorld(t failer) *world {
	w := &world{failer: t, settings: DefaultSettings(), now: time.UnixMilli(1_700_000_000_000), topics: map[record.UUID]int32{testTopic: 3}}
	w.restart()
	return w
}

// restart has everything read again.
func (w *world) restart() {
	w.m = newMachine(&env{
		settings: func() Settings { return w.settings }, now: func() time.Time { return w.now }, logger: slog.New(slog.DiscardHandler),
		exists: func(id record.UUID, p int32) bool { return p < w.topics[id] },
		prune:  func(_ int32, before record.Offset) { w.pruned = before },
	}, 0, coord.NewTimers())
	for i := int(w.start); i < len(w.records); i++ {
		w.replay(i)
	}
	w.do(w.m.Loaded())
}

func (w *world) replay(i int) {
	w.Helper()
	r := w.records[i]
	if err := w.m.Replay(coord.Replayed{Offset: record.Offset(i), ProducerID: record.NoProducerID, Key: r.Key, Value: r.Value}); err != nil {
		w.Fatalf("record %d: %v", i, err)
	}
}

// do carries a result out.
func (w *world) do(r coord.Result) {
	w.Helper()
	for _, x := range r.Records {
		w.records = append(w.records, x)
		w.replay(len(w.records) - 1)
	}
	if r.Done != nil {
		w.do(r.Done(nil))
	}
}

// did writes what a decision led to.
func (w *world) did(records []coord.Record, e *kerr.Error) *kerr.Error {
	w.Helper()
	w.do(coord.Result{Records: records})
	return e
}

var (
	testTopic = record.UUID{1, 2, 3}
	testKey   = Key{"g", testTopic, 1}
)

func (w *world) wantError(what string, got, want *kerr.Error) {
	w.Helper()
	if got != want {
		w.Errorf("%s: %v, want %v", what, got, want)
	}
}
