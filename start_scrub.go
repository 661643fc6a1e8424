package samsa

import (
	"log/slog"

	"github.com/samsalog/samsa/inspect/scrub"
	"github.com/samsalog/samsa/inspect/verify"
	"github.com/samsalog/samsa/internal/console"
)

// startScrub checks the checksums of sealed segments in the background, unless that is turned off.
func (s *starting) startScrub() {
	l := s.layers(nil)
	every := l.Duration("samsa.scrub.interval.ms")
	if every == 0 {
		return
	}
	told := &tellSome{log: s.room("scrub")}
	s.b.scrub = scrub.Start(scrub.Options{
		FS: s.b.dirs.FS(), Dirs: s.onlineDirs, Interval: every,
		BytesPerSecond: l.Int64("samsa.scrub.max.bytes.per.second"), Delay: l.Duration("samsa.scrub.initial.delay.ms"),
		Found: told.finding, Passed: told.passed,
		Failed: func(dir string, err error) {
			told.log.Warn("the place in the scrub could not be saved; after a restart the pass begins where it was saved last", "dir", dir, "err", err)
		},
	})
	s.undos = append(s.undos, s.b.scrub.Close)
}

// onlineDirs are the log directories that are used now.
func (s *starting) onlineDirs() (dirs []string) {
	for _, d := range s.b.dirs.Dirs() {
		if d.Err == nil {
			dirs = append(dirs, d.Path)
		}
	}
	return dirs
}

// tellSome tells of the first findings of a pass one by one and counts the rest, so that a bad disk does not fill the log.
type tellSome struct {
	log  *slog.Logger
	told int
}

// mostFindings is how many findings of a pass are told one by one.
const mostFindings = 100

func (t *tellSome) finding(f verify.Finding) {
	tell := t.log.Warn
	if f.Severity == verify.Error {
		tell = t.log.Error
	}
	switch t.told++; {
	case t.told <= mostFindings:
		tell("scrub found "+f.String(), "rule", string(f.Rule), "file", f.File, "position", f.Position)
	case t.told == mostFindings+1:
		t.log.Warn("scrub found more; \"samsa verify\" tells all")
	}
}

func (t *tellSome) passed(dir string, p scrub.Pass) {
	t.told = 0
	tell := t.log.Info
	if p.Warnings+p.Errors > 0 {
		tell = t.log.Warn
	}
	tell("scrub of a log directory is through", "dir", dir, "segments", p.Segments, "bytes", p.Bytes, "errors", p.Errors, "warnings", p.Warnings)
}

// countScrub shows the scrub to the console.
func (b *Broker) countScrub() console.ScrubCounts {
	if b.scrub == nil {
		return console.ScrubCounts{}
	}
	s := b.scrub.Status()
	c := console.ScrubCounts{On: true, Bytes: s.Bytes, Segments: s.Segments, Passes: s.Passes, Dirs: map[string]console.ScrubDir{}}
	for dir, p := range s.Dirs {
		d := console.ScrubDir{Running: p.Current != nil, Ended: p.Ended}
		d.Warnings, d.Errors = p.Findings()
		c.Dirs[dir] = d
	}
	return c
}
