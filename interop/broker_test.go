package interop

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/samsalog/samsa"
)

// patience is how long any single wait may take before a test fails.
const patience = 40 * time.Second

// sharedBroker is the address that all tests but those that restart a broker use.
func sharedBroker(t *testing.T) string {
	t.Helper()
	addr := os.Getenv("BROKER")
	if addr == "" {
		t.Fatal("TestMain has set no broker")
	}
	return addr
}

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if os.Getenv("BROKER") != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "samsa-interop-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	broker, err := startBroker(dir, "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	os.Setenv("BROKER", broker.Addr())
	os.Setenv(ownBroker, "1")
	status := m.Run()
	if err := broker.Shutdown(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "shutdown:", err)
		return 1
	}
	return status
}

// ownBroker is set when the broker is Samsa and started by TestMain.
const ownBroker = "SAMSA_INTEROP_OWN"

func startBroker(dir, listen string) (*samsa.Broker, error) {
	return samsa.Start(context.Background(), samsa.Config{
		Dirs:       []string{dir},
		Listen:     listen,
		Properties: map[string]string{"group.initial.rebalance.delay.ms": "0"},
		Logger:     slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
}

// createTopic makes a topic for the test and returns its name.
func createTopic(t *testing.T, addr, prefix string, partitions int32) string {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	topic := fmt.Sprintf("%s-%d", prefix, time.Now().UnixNano())
	// Retention is off: some records are old on purpose.
	limit, before, forever := "8388608", "9223372036854775807", "-1"
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	configs := map[string]*string{"max.message.bytes": &limit, "message.timestamp.before.max.ms": &before, "retention.ms": &forever}
	if _, err := kadm.NewClient(cl).CreateTopic(ctx, partitions, 1, configs, topic); err != nil {
		t.Fatalf("create topic %s: %v", topic, err)
	}
	return topic
}
