package console

import (
	"fmt"
	"net/http"
	"runtime/pprof"
	"strconv"
	"time"
)

// Bounds of a processor profile.
const (
	defaultProfile = 30 * time.Second
	longestProfile = 10 * time.Minute
)

// handleProfiles adds the pages that go tool pprof asks for. They are not those of net/http/pprof: importing that adds
// them to the default mux of whatever program the broker is embedded in.
func handleProfiles(mux *http.ServeMux) {
	mux.HandleFunc("GET /debug/pprof/profile", processorProfile)
	mux.HandleFunc("GET /debug/pprof/{name}", namedProfile)
}

// processorProfile samples for ?seconds=. One profile can be taken at a time in a process.
func processorProfile(w http.ResponseWriter, r *http.Request) {
	d := defaultProfile
	if s := r.FormValue("seconds"); s != "" {
		n, err := strconv.Atoi(s)
		if d = time.Duration(n) * time.Second; err != nil || n <= 0 || d > longestProfile {
			http.Error(w, fmt.Sprintf("seconds is between 1 and %.0f", longestProfile.Seconds()), http.StatusBadRequest)
			return
		}
	}
	// A recorder in a test has no deadline to move.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(d + writeTimeout))
	w.Header().Set("Content-Type", "application/octet-stream")
	if err := pprof.StartCPUProfile(w); err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	defer pprof.StopCPUProfile()
	select {
	case <-time.After(d):
	case <-r.Context().Done():
	}
}

// namedProfile writes a profile that the runtime keeps: heap, allocs, goroutine, mutex, block, threadcreate. With ?debug=1
// it is text.
func namedProfile(w http.ResponseWriter, r *http.Request) {
	p := pprof.Lookup(r.PathValue("name"))
	if p == nil {
		http.Error(w, "no such profile", http.StatusNotFound)
		return
	}
	debug, _ := strconv.Atoi(r.FormValue("debug")) // what is no number is 0, the format of pprof
	if debug > 0 {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	} else {
		w.Header().Set("Content-Type", "application/octet-stream")
	}
	_ = p.WriteTo(w, debug) // the peer has gone; there is nobody to tell
}
