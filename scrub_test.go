package samsa_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/samsalog/samsa"
)

// lineOf hands over the messages of a logger that contain one of some texts.
type lineOf struct {
	texts []string
	lines chan string
}

func (h lineOf) Enabled(context.Context, slog.Level) bool { return true }
func (h lineOf) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h lineOf) WithGroup(string) slog.Handler            { return h }
func (h lineOf) Handle(_ context.Context, r slog.Record) error {
	for _, text := range h.texts {
		if strings.Contains(r.Message, text) {
			h.lines <- r.Message
		}
	}
	return nil
}

// TestScrubTellsOfRottenBytes: a bit that flipped in a sealed segment is in the log and in the metrics, although no client has
// read it; clients go on, and the next start goes on with the pass.
func TestScrubTellsOfRottenBytes(t *testing.T) {
	dir := t.TempDir()
	b := startIn(t, dir, map[string]string{"samsa.scrub.interval.ms": "0"})
	cl := clientOf(t, b, kgo.ProducerBatchCompression(kgo.NoCompression()))
	size := "1048576"
	if _, err := kadm.NewClient(cl).CreateTopic(t.Context(), 1, 1, map[string]*string{"segment.bytes": &size}, "old"); err != nil {
		t.Fatal(err)
	}
	for range 12 {
		if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "old", Value: bytes.Repeat([]byte("v"), 200_000)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	cl.Close()
	stop(t, b)
	path := filepath.Join(dir, "old-0", "00000000000000000000.log")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	raw[300_000] ^= 8
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 100)
	start := func() *samsa.Broker {
		b, err := samsa.Start(t.Context(), samsa.Config{Dirs: []string{dir}, Listen: "127.0.0.1:0", Logger: slog.New(lineOf{[]string{"scrub"}, lines}),
			Properties: map[string]string{"samsa.scrub.initial.delay.ms": "0", "samsa.scrub.max.bytes.per.second": "1000000000", "samsa.http.listen": "127.0.0.1:0"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { stop(t, b) })
		return b
	}
	b = start()
	if got := <-lines; !strings.Contains(got, "scrub found error: "+path+": batch-checksum at byte 2") {
		t.Error(got)
	}
	if got := <-lines; !strings.Contains(got, "is through") {
		t.Error(got)
	}
	if _, body := page(b.HTTPAddr(), "/metrics"); !strings.Contains(body, `samsa_scrub_findings{dir="`+dir+`",severity="error"} 1`) || !strings.Contains(body, "samsa_scrub_passes_total 1") {
		t.Errorf("metrics: %s", body)
	}
	cl = clientOf(t, b, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"old": {0: kgo.NewOffset().At(11)}}))
	if got := cl.PollFetches(t.Context()); got.NumRecords() != 1 {
		t.Errorf("%d records, %v", got.NumRecords(), got.Err())
	}
	cl.Close()
	stop(t, b)
	if b = start(); len(lines) != 0 {
		t.Errorf("a pass that was through began anew: %s", <-lines)
	}
	if _, body := page(b.HTTPAddr(), "/metrics"); !strings.Contains(body, "samsa_scrub_passes_total 0") {
		t.Errorf("metrics: %s", body)
	}
}
