package console

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestProfiles(t *testing.T) {
	h := Handler(&node{state: Serving}, Options{Profiles: true})
	if code, body := get(t, h, "/debug/pprof/goroutine?debug=1"); code != 200 || !strings.Contains(body, "goroutine profile: total ") {
		t.Errorf("goroutines: %d %.80q", code, body)
	}
	// The magic of gzip: what go tool pprof reads.
	for _, path := range []string{"/debug/pprof/heap", "/debug/pprof/profile?seconds=1"} {
		if code, body := get(t, h, path); code != 200 || !strings.HasPrefix(body, "\x1f\x8b") {
			t.Errorf("%s: %d %.20q", path, code, body)
		}
	}
	for path, want := range map[string]int{
		"/debug/pprof/none": 404, "/debug/pprof/profile?seconds=x": 400, "/debug/pprof/profile?seconds=-1": 400, "/debug/pprof/profile?seconds=100000": 400,
	} {
		if code, _ := get(t, h, path); code != want {
			t.Errorf("%s is %d", path, code)
		}
	}
}

func TestNoProfilesUnasked(t *testing.T) {
	if code, _ := get(t, Handler(&node{state: Serving}, Options{}), "/debug/pprof/heap"); code != 404 {
		t.Errorf("profiles are there without having been asked for: %d", code)
	}
	// A program that embeds the broker must not find them on its own server either.
	r := httptest.NewRequest(http.MethodGet, "/debug/pprof/heap", nil)
	if _, pattern := http.DefaultServeMux.Handler(r); pattern != "" {
		t.Errorf("the default mux serves %s", pattern)
	}
}
