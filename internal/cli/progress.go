package cli

import (
	"fmt"
	"io"
	"os"
	"time"
)

// progress says on a terminal how far long work is; elsewhere it is silent.
type progress struct {
	w       io.Writer
	started time.Time
	shown   time.Time
	bytes   int64
	total   int64
	printed bool
}

// progressEvery is how often the line changes, progressAfter when it appears; the clock is looked at every progressStep bytes.
const (
	progressStep  = 1 << 20
	progressEvery = 200 * time.Millisecond
	progressAfter = time.Second
)

func newProgress(w io.Writer, off bool) *progress {
	p := &progress{started: time.Now()}
	if f, ok := w.(*os.File); ok && !off {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			p.w = w
		}
	}
	return p
}

// add counts n more bytes.
func (p *progress) add(n int64) {
	before := p.bytes / progressStep
	p.bytes += n
	if p.w == nil || p.bytes/progressStep == before {
		return
	}
	now := time.Now()
	if now.Sub(p.started) < progressAfter || now.Sub(p.shown) < progressEvery {
		return
	}
	p.shown, p.printed = now, true
	rate := int64(float64(p.bytes) / now.Sub(p.started).Seconds())
	if p.total > 0 {
		const width = 30
		filled := int(min(width, width*p.bytes/p.total))
		fmt.Fprintf(p.w, "\r[%-*s] %s of %s, %s/s ", width, bars[:filled], byteSize(p.bytes), byteSize(p.total), byteSize(rate))
		return
	}
	fmt.Fprintf(p.w, "\r%s, %s/s ", byteSize(p.bytes), byteSize(rate))
}

const bars = "=============================="

// done removes the line.
func (p *progress) done() {
	if p.printed {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.printed = false
	}
}
