package samsa

import (
	"context"
	"fmt"
	"net"
	"slices"

	"github.com/samsalog/samsa/internal/console"
	"github.com/samsalog/samsa/storage/logdir"
)

// openConsole serves health and metrics, if that is asked for. It comes first, so that whoever watches the process
// sees it alive while its logs are loaded.
func (s *starting) openConsole(ctx context.Context) error {
	addr := s.layers(nil).String("samsa.http.listen")
	if addr == "" {
		return nil
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("samsa.http.listen=%s: %w", addr, err)
	}
	s.b.console = console.Start(l, node{s}, console.Options{Profiles: s.layers(nil).Bool("samsa.http.profiles")})
	s.undos = append(s.undos, func() { _ = s.b.console.Close(context.WithoutCancel(ctx)) })
	s.log.Info("serving health and metrics over HTTP", "address", l.Addr().String())
	return nil
}

// HTTPAddr is the host:port of /livez, /readyz and /metrics; "" without samsa.http.listen.
func (b *Broker) HTTPAddr() string {
	if b.console == nil {
		return ""
	}
	return b.console.Addr()
}

// node shows a broker to the console, from its first moment on.
type node struct{ s *starting }

// State implements console.Node.
func (n node) State() console.State {
	switch b := n.s.b; {
	case b.stopping.Load():
		return console.Stopping
	case b.ready.Load():
		return console.Serving
	case n.s.dirs.Load() != nil:
		return console.Loading
	default:
		return console.Starting
	}
}

// Loading implements console.Node.
func (n node) Loading() []console.Directory {
	m := n.s.dirs.Load()
	if m == nil {
		return nil
	}
	var list []console.Directory
	for _, p := range m.Progress() {
		d := console.Directory{Path: p.Dir, Done: p.Done, Partitions: p.Partitions, Loaded: p.Loaded, Bytes: p.Bytes, Read: p.Read, ETA: -1}
		if p.Err != nil {
			d.Offline = p.Err.Error()
		}
		if p.Current.Topic != "" {
			d.Current = p.Current.String()
		}
		if p.ETA >= 0 {
			d.ETA = p.ETA.Seconds()
		}
		list = append(list, d)
	}
	return list
}

// Counts implements console.Node.
func (n node) Counts() console.Counts {
	b := n.s.b
	if !b.ready.Load() {
		return console.Counts{}
	}
	stats := b.server.Stats()
	c := console.Counts{
		Connections: stats.Connections, Accepted: stats.Accepted, Refused: stats.Refused, Invalid: stats.Invalid,
		OpenFiles: b.dirs.Handles().OpenCount(), MaxOpenFiles: n.s.descriptors().files,
	}
	for _, r := range stats.Requests {
		c.Requests = append(c.Requests, console.RequestCount{API: r.API(), Version: r.Version, Count: r.Count})
	}
	n.s.countCoordinators(&c)
	c.Share = b.countShares()
	c.Scrub = b.countScrub()
	for _, t := range b.dirs.Tasks() {
		c.Tasks = append(c.Tasks, console.TaskCounts{Name: t.Name, Runs: t.Runs, Failures: t.Failures, LastRun: t.LastRun})
	}
	countLogs(&c, b.dirs.Dirs())
	return c
}

// countLogs sums the sizes of logs by directory and by topic.
func countLogs(c *console.Counts, dirs []logdir.DirInfo) {
	topics := map[string]*console.TopicCounts{}
	for _, d := range dirs {
		dc := console.DirCounts{Path: d.Path, Online: d.Err == nil, Logs: len(d.Logs), Total: d.Total, Usable: d.Usable}
		for _, l := range d.Logs {
			name, size := l.TopicPartition().Topic, l.SizeInBytes()
			dc.LogSize += size
			t := topics[name]
			if t == nil {
				t = &console.TopicCounts{Name: name}
				topics[name] = t
			}
			t.Partitions++
			t.LogSize += size
			if _, held := l.Held(); held {
				t.Held++
			}
		}
		c.Dirs = append(c.Dirs, dc)
	}
	for _, t := range topics {
		c.Topics = append(c.Topics, *t)
	}
	slices.SortFunc(c.Topics, func(a, b console.TopicCounts) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
}
