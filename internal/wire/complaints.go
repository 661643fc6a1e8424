package wire

import (
	"log/slog"
	"sync"
	"time"
)

// complainEvery is how often the same kind of complaint about the same address is logged. A scanner or a client
// that reconnects in a loop would write thousands of lines otherwise.
const complainEvery = 10 * time.Second

// maxComplaints bounds what is remembered; beyond it everything is forgotten, which costs some repeated lines.
const maxComplaints = 1024

// complaints writes rate-limited log lines about peers.
type complaints struct {
	log *slog.Logger
	mu  struct {
		sync.Mutex
		last map[complaint]*repeated
	}
}

type complaint struct{ host, kind string }

type repeated struct {
	logged     time.Time
	suppressed int
}

// about logs msg about a peer unless the same kind was logged for its host a moment ago; the next line then says how
// many were left out. kind must come from a small set.
func (c *complaints) about(host, kind, msg string, attrs ...any) {
	if c.log == nil {
		return
	}
	if n, ok := c.admit(complaint{host, kind}, time.Now()); ok {
		if n > 0 {
			attrs = append(attrs, "repeated", n)
		}
		c.log.Warn(msg, attrs...)
	}
}

func (c *complaints) admit(k complaint, now time.Time) (suppressed int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.mu.last[k]; r != nil {
		if now.Sub(r.logged) < complainEvery {
			r.suppressed++
			return 0, false
		}
		n := r.suppressed
		*r = repeated{logged: now}
		return n, true
	}
	if c.mu.last == nil || len(c.mu.last) >= maxComplaints {
		c.mu.last = make(map[complaint]*repeated)
	}
	c.mu.last[k] = &repeated{logged: now}
	return 0, true
}
