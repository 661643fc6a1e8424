package controller

import (
	"log/slog"
	"math/rand"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/samsalog/samsa/internal/config"
	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// node is a single node with its metadata in memory.
type node struct {
	t     testing.TB
	fs    *vfs.Mem
	rand  *rand.Rand
	store *metadata.Store
	c     *Controller
	// static are settings of server.properties.
	static map[string]string
	log    slog.Handler
	dirs   []record.UUID
}

func newNode(t testing.TB, static map[string]string) *node {
	return formatted(t, static, 0)
}

// newNodeAt is a node that was formatted for a metadata.version.
func newNodeAt(t testing.TB, version int16) *node { return formatted(t, nil, version) }

func formatted(t testing.TB, static map[string]string, version int16) *node {
	n := &node{t: t, fs: vfs.NewMem(), rand: rand.New(rand.NewSource(1)), static: map[string]string{"node.id": "1", "log.dirs": "/data"}, log: slog.DiscardHandler}
	for k, v := range static {
		n.static[k] = v
	}
	err := metadata.Format(n.fs, metadata.FormatOptions{Dirs: []string{"/data"}, NodeID: 1, Controller: metadata.Endpoint{Host: "h", Port: 9093}, Rand: n.rand, MetadataVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	n.start()
	t.Cleanup(func() { n.store.Close() })
	return n
}

// start opens the Store and registers the broker.
func (n *node) start() {
	n.t.Helper()
	n.open()
	if _, err := n.c.Register(n.registration()); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) open() {
	n.t.Helper()
	meta, err := checkpoint.ReadMetaProperties(n.fs, "/data/meta.properties")
	if err != nil {
		n.t.Fatal(err)
	}
	n.dirs = []record.UUID{meta.DirectoryID}
	n.store, err = metadata.Open(metadata.Options{
		FS: n.fs, Handles: vfs.NewHandles(n.fs, 10), Dir: "/data", NodeID: 1, ClusterID: meta.ClusterID, DirectoryID: meta.DirectoryID,
		Rand: n.rand, Delay: func(time.Duration, func()) {},
	})
	if err != nil {
		n.t.Fatal(err)
	}
	static, _, err := config.Load(n.static)
	if err != nil {
		n.t.Fatal(err)
	}
	layers := func() config.Layers {
		i := n.store.Image()
		return config.Layers{
			Static: static, NodeID: 1,
			Broker:  i.Config(metadata.ConfigResource{Type: metadata.BrokerResource, Name: "1"}),
			Cluster: i.Config(metadata.ConfigResource{Type: metadata.BrokerResource}),
		}
	}
	n.c = New(Options{Store: n.store, NodeID: 1, Config: Config{Layers: layers}, Rand: n.rand, Logger: slog.New(n.log)})
}

func (n *node) registration() Registration {
	return Registration{Endpoints: []metadata.Endpoint{{Name: "PLAINTEXT", Host: "h", Port: 9092}}, LogDirs: n.dirs}
}

// restart closes the Store and begins again, as after a crash if stop is false.
func (n *node) restart(stop bool) {
	n.t.Helper()
	if stop {
		if err := n.c.Shutdown(); err != nil {
			n.t.Fatal(err)
		}
	}
	if err := n.store.Close(); err != nil {
		n.t.Fatal(err)
	}
	n.start()
}

func (n *node) topic(name string) *metadata.Topic { return n.store.Image().Topics.ByName(name) }

func (n *node) create(name string, partitions int32) *metadata.Topic {
	n.t.Helper()
	t, err := n.c.CreateTopic(name, partitions, 1, nil)
	if err != nil {
		n.t.Fatal(err)
	}
	return t
}
