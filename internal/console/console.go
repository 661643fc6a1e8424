package console

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Bounds of what a peer can hold up; a page is a few kilobytes.
const (
	headerTimeout = 5 * time.Second
	writeTimeout  = 30 * time.Second
	maxHeader     = 16 << 10
)

// Server is a running console.
type Server struct {
	l    net.Listener
	http *http.Server
	done chan struct{}
	err  error // set before done is closed
}

// Options say which pages there are besides those of every console.
type Options struct {
	// Profiles adds /debug/pprof/.
	Profiles bool
}

// Start serves the pages about n on l, which it takes over.
func Start(l net.Listener, n Node, o Options) *Server {
	s := &Server{l: l, done: make(chan struct{})}
	s.http = &http.Server{Handler: Handler(n, o), ReadHeaderTimeout: headerTimeout, WriteTimeout: writeTimeout, MaxHeaderBytes: maxHeader}
	go func() {
		defer close(s.done)
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.err = err
		}
	}()
	return s
}

// Addr is where the console listens.
func (s *Server) Addr() string { return s.l.Addr().String() }

// Close ends the console: pages that are being written get until ctx ends. It returns why the console had ended
// before, if it had.
func (s *Server) Close(ctx context.Context) error {
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close() // a page was cut off; nothing depends on it
	}
	<-s.done
	return s.err
}

// Handler serves the pages.
func Handler(n Node, o Options) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), newMetrics(n))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, health{State: n.State()}) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { ready(w, n) })
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	if o.Profiles {
		handleProfiles(mux)
	}
	return mux
}

// health is the body of /livez and /readyz.
type health struct {
	State State       `json:"state"`
	Dirs  []Directory `json:"log_dirs,omitempty"`
}

func ready(w http.ResponseWriter, n Node) {
	h := health{State: n.State(), Dirs: n.Loading()}
	code := http.StatusServiceUnavailable
	if h.State == Serving {
		code = http.StatusOK
	}
	reply(w, code, h)
}

func reply(w http.ResponseWriter, code int, h health) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(h) // the peer has gone; there is nobody to tell
}
