package samsa

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"strconv"

	"github.com/samsalog/samsa/internal/config"
	"github.com/samsalog/samsa/internal/controller"
	"github.com/samsalog/samsa/internal/handler"
	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/replica"
	"github.com/samsalog/samsa/internal/wire"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
)

// bind opens the listeners. Nobody is accepted yet: who connects now waits in the backlog (SAM-1).
func (s *starting) bind(ctx context.Context) error {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	ls, err := s.layers(s.b.store.Image()).Listeners(host)
	if err != nil {
		return err
	}
	var lc net.ListenConfig
	for _, e := range ls.Bind {
		l, err := lc.Listen(ctx, "tcp", net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))))
		if err != nil {
			return fmt.Errorf("listener %s: %w", e, err)
		}
		s.undos = append(s.undos, func() { _ = l.Close() })
		s.b.bound = append(s.b.bound, l)
		s.b.listeners = append(s.b.listeners, advertised(ls, e, l))
	}
	return nil
}

// advertised is a listener as clients see it; where the system chose the port, that port.
func advertised(ls config.Listeners, bind config.Endpoint, l net.Listener) *wire.Listener {
	at := &wire.Listener{Name: bind.Name, AdvertisedHost: bind.Host, AdvertisedPort: bind.Port}
	for _, a := range ls.Advertised {
		if a.Name == bind.Name {
			at.AdvertisedHost, at.AdvertisedPort = a.Host, a.Port
		}
	}
	if tcp, ok := l.Addr().(*net.TCPAddr); ok && at.AdvertisedPort == 0 {
		at.AdvertisedPort = int32(tcp.Port)
	}
	return at
}

// register makes this node known to the cluster and gives it the leadership of its partitions.
func (s *starting) register(context.Context) error {
	s.ctl = controller.New(controller.Options{
		Store: s.b.store, NodeID: s.nodeID(), Config: s.controllerConfig(), Rand: rand.Reader, Logger: s.room("controller"), ReadOnly: s.readOnly,
	})
	incarnation, err := record.NewUUID(rand.Reader)
	if err != nil {
		return err
	}
	r := controller.Registration{IncarnationID: incarnation, LogDirs: s.b.dirs.DirIDs(), Features: metadata.SupportedFeatures()}
	if rack := s.layers(nil).String("broker.rack"); rack != "" {
		r.Rack = &rack
	}
	for _, l := range s.b.listeners {
		r.Endpoints = append(r.Endpoints, metadata.Endpoint{Name: l.Name, Host: l.AdvertisedHost, Port: uint16(l.AdvertisedPort)})
	}
	epoch, err := s.ctl.Register(r)
	if err != nil {
		return err
	}
	s.b.epoch.Store(epoch)
	s.b.ctl = s.ctl
	return nil
}

func (s *starting) nodeID() int32 { return s.layers(nil).NodeID }

// current are the settings in force now.
func (s *starting) current() config.Layers { return s.layers(s.b.store.Image()) }

func (s *starting) controllerConfig() controller.Config {
	return controller.Config{Layers: s.current}
}

// host starts the partitions and the coordinators that live on them.
func (s *starting) host(context.Context) error {
	b := s.b
	b.replicas = replica.New(replica.Options{
		NodeID: s.nodeID(), Dirs: b.dirs, Logger: s.room("replica"),
		Config: func(overrides map[string]string) storage.Config { return s.current().TopicConfig(overrides) },
		Assign: func(_ context.Context, placed []replica.Placement) error { return assign(s.ctl, placed) },
	})
	s.undos = append(s.undos, b.replicas.Close)
	s.startCoordinators()
	s.startShareLeader()
	b.replicas.Observe(coordinatorObserver{b})
	b.replicas.Observe(b.share)
	b.replicas.Start(b.store.Image())
	b.store.Subscribe(b.replicas)
	b.store.Subscribe(b.groups)
	b.store.Subscribe(shareObserver{b})
	b.dirs.Start()
	s.startScrub()
	return nil
}

// assign records in the metadata which directories new replicas were placed in.
func assign(c *controller.Controller, placed []replica.Placement) error {
	out := make([]controller.Placement, len(placed))
	for i, p := range placed {
		out[i] = controller.Placement(p)
	}
	return c.AssignDirectories(out)
}

// serve accepts clients on all listeners.
func (s *starting) serve(context.Context) error {
	b, l := s.b, s.current()
	h := handler.New(handler.Deps{
		Config: s.current, Metadata: b.store, Controller: s.ctl, Replicas: b.replicas, Groups: b.groups, LogDirs: b.dirs,
		Transactions: b.txns, CreateOffsetsTopic: s.createOffsetsTopic, CreateTransactionsTopic: s.createTransactionsTopic,
		Share: b.share, ShareState: b.shareState, CreateShareStateTopic: s.createShareStateTopic,
		Logger: s.room("handler"), Levels: &s.levels, NodeID: s.nodeID(), ReadOnly: s.readOnly,
	})
	b.server = wire.NewServer(wire.Options{Handler: h, Logger: s.room("wire"), Limits: s.limits(l), Gone: b.clientGone})
	for i, ln := range b.bound {
		at := b.listeners[i]
		b.serving.Go(func() {
			if err := b.server.Serve(ln, at); err != nil {
				b.fail(fmt.Errorf("listener %s: %w", at.Name, err))
			}
		})
		s.log.Info("serving Kafka clients", "listener", at.Name, "address", ln.Addr().String(), "advertised", net.JoinHostPort(at.AdvertisedHost, strconv.Itoa(int(at.AdvertisedPort))))
	}
	return nil
}

func (s *starting) limits(l config.Layers) wire.Limits {
	return wire.Limits{
		MaxRequestBytes: l.Int("socket.request.max.bytes"), IdleTimeout: l.Duration("connections.max.idle.ms"),
		MaxConnections: min(l.Int("max.connections"), s.descriptors().connections), MaxConnectionsPerIP: l.Int("max.connections.per.ip"), PerIP: l.ConnectionsPerIPOverrides(),
		SendBufferBytes: socketBuffer(l, "socket.send.buffer.bytes"), ReceiveBufferBytes: socketBuffer(l, "socket.receive.buffer.bytes"),
	}
}

// socketBuffer is a socket buffer in bytes, 0 to leave it to the system: a buffer that was set does not grow, and one of
// Kafka's default size holds a tenth of a batch of 1 MiB, which then takes eight reads or writes, each with a wake-up.
func socketBuffer(l config.Layers, name string) int {
	if !l.IsSet(name) {
		return 0
	}
	return l.Int(name)
}
