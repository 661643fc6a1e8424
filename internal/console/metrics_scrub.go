package console

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// ScrubCounts are the figures of the background scrub. The first three count since the start.
type ScrubCounts struct {
	// On: it is not turned off.
	On                      bool
	Bytes, Segments, Passes int64
	Dirs                    map[string]ScrubDir
}

// ScrubDir is where the scrub of a log directory stands.
type ScrubDir struct {
	Running bool
	// Ended is when the last whole pass was through; zero: there was none.
	Ended time.Time
	// Warnings and Errors are what the last whole pass found, or the one that goes on if it has found more.
	Warnings, Errors int64
}

// scrubMetrics show ScrubCounts.
type scrubMetrics struct {
	bytes, segments, passes, running, ended, findings *prometheus.Desc
}

func newScrubMetrics(desc func(name, help string, labels ...string) *prometheus.Desc) scrubMetrics {
	return scrubMetrics{
		bytes:    desc("scrub_bytes_total", "Bytes of sealed segments that the background scrub has read."),
		segments: desc("scrub_segments_total", "Sealed segments that it has checked."),
		passes:   desc("scrub_passes_total", "Passes over a log directory that it has ended."),
		running:  desc("scrub_running", "1 while a pass over a log directory goes on.", "dir"),
		ended:    desc("scrub_last_pass_timestamp_seconds", "When the last whole pass over a log directory was through.", "dir"),
		findings: desc("scrub_findings", "What the last whole pass found, or the one that goes on if it has found more.", "dir", "severity"),
	}
}

func (m scrubMetrics) collect(out sink, c ScrubCounts) {
	if !c.On {
		return
	}
	out.counter(m.bytes, float64(c.Bytes))
	out.counter(m.segments, float64(c.Segments))
	out.counter(m.passes, float64(c.Passes))
	for dir, d := range c.Dirs {
		out.gauge(m.running, bool2float(d.Running), dir)
		out.gauge(m.findings, float64(d.Warnings), dir, "warning")
		out.gauge(m.findings, float64(d.Errors), dir, "error")
		if !d.Ended.IsZero() {
			out.gauge(m.ended, float64(d.Ended.UnixMilli())/1000, dir)
		}
	}
}
