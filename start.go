package samsa

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/samsalog/samsa/internal/config"
	"github.com/samsalog/samsa/internal/controller"
	"github.com/samsalog/samsa/internal/loglevel"
	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/storage/logdir"
	"github.com/samsalog/samsa/vfs"
)

// Start runs a broker and returns when it is ready: topics can be created, records written and groups
// joined at once. ctx bounds the start only. Errors say what is wrong with which directory, address or setting.
func Start(ctx context.Context, c Config) (*Broker, error) {
	static, warnings, err := c.static()
	if err != nil {
		return nil, err
	}
	s := &starting{static: static, fs: c.fs(), readOnly: c.ReadOnly, scratch: c.Scratch}
	s.log = slog.New(s.levels.Handler(c.logger().Handler()))
	for _, w := range warnings {
		s.log.Warn("configuration: "+w.Text, "key", w.Key)
	}
	b := &Broker{done: make(chan struct{}), failed: make(chan error, 1)}
	b.epoch.Store(-1)
	s.b = b
	if err := s.run(ctx); err != nil {
		s.undo()
		return nil, err
	}
	b.ready.Store(true)
	return s.b, nil
}

// starting is a broker on its way up. Each step adds a room to b and to undos how to close it (SAM-3).
type starting struct {
	static *config.Static
	log    *slog.Logger
	// levels are those of log by room; admin clients change them while the node runs.
	levels loglevel.Levels
	fs     vfs.FS
	// readOnly and scratch are those of Config.
	readOnly bool
	scratch  string
	b        *Broker
	ctl      *controller.Controller
	undos    []func()
	// dirs is b.dirs for goroutines that report failures while the broker comes up.
	dirs atomic.Pointer[logdir.Manager]
}

// run goes up floor by floor: what is above a floor starts only when the floor stands (SAM-1).
func (s *starting) run(ctx context.Context) error {
	steps := []func(context.Context) error{
		s.openConsole, s.openOverlay, s.convert, s.openDirectories, s.openMetadata, s.loadLogs, s.bind, s.register, s.host, s.serve,
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (s *starting) undo() {
	for i := len(s.undos) - 1; i >= 0; i-- {
		s.undos[i]()
	}
}

// room is the logger of a room, whose level can be set apart.
func (s *starting) room(name string) *slog.Logger { return s.log.With(loglevel.Room, name) }

// layers are the settings in force under an image; a nil image has no dynamic ones.
func (s *starting) layers(i *metadata.Image) config.Layers {
	return layers(s.static, i)
}

func layers(static *config.Static, i *metadata.Image) config.Layers {
	l := config.Layers{Static: static}
	l.NodeID = int32(l.Int("node.id"))
	if i != nil {
		l.Broker = i.Config(metadata.ConfigResource{Type: metadata.BrokerResource, Name: nodeName(l.NodeID)})
		l.Cluster = i.Config(metadata.ConfigResource{Type: metadata.BrokerResource})
	}
	return l
}
