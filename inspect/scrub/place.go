package scrub

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/storage/logdir"
	"github.com/samsalog/samsa/vfs"
)

// File is the name of the file in a log directory that says how far the scrub of it is. Brokers pass over it.
const File = ".samsa-scrub"

// Place is where a directory stands: one JSON object in File.
type Place struct {
	// Began is when the newest pass began, Ended when the last whole one ended; zero: there was none.
	Began time.Time `json:"began"`
	Ended time.Time `json:"ended"`
	// Current is the pass that is going on, nil: none. Last is the last whole one.
	Current *Pass `json:"current,omitempty"`
	Last    Pass  `json:"last"`
}

// Pass is what one pass has done.
type Pass struct {
	// Partition and Base are the segment that was looked at last; of a pass that has ended they are empty.
	Partition string `json:"partition,omitempty"`
	Base      int64  `json:"baseOffset,omitempty"`
	Segments  int64  `json:"segments"`
	Bytes     int64  `json:"bytes"`
	Warnings  int64  `json:"warnings"`
	Errors    int64  `json:"errors"`
}

// nothing is the base of a partition of which no segment was looked at.
const nothing = -1

// Findings are those of the pass that goes on, or of the last whole one if it found more: damage stays told until a whole pass
// has not met it.
func (p Place) Findings() (warnings, errors int64) {
	warnings, errors = p.Last.Warnings, p.Last.Errors
	if p.Current != nil {
		warnings, errors = max(warnings, p.Current.Warnings), max(errors, p.Current.Errors)
	}
	return warnings, errors
}

// current leaves out partitions that are being deleted, copied, or were set aside.
func current(name string) bool {
	n, err := logdir.ParseName(name)
	return err == nil && n.Kind == logdir.Current
}

// maxFile bounds what is read as a File.
const maxFile = 64 << 10

// load reads where a directory stands. A file that is missing or makes no sense counts as none: the pass begins anew.
func (s *Scrubber) load(dir string) Place {
	var p Place
	f, err := s.o.FS.OpenFile(filepath.Join(dir, File), os.O_RDONLY, 0)
	if err == nil {
		p = read(f)
		_ = f.Close() // it was only read
	}
	if now := s.o.Now(); p.Began.After(now) {
		p.Began = time.Time{} // the clock was set back; a pass too many is better than none for years
	}
	s.show(dir, p)
	return p
}

func read(f vfs.File) (p Place) {
	size, err := f.Size()
	if err != nil || size > maxFile {
		return Place{}
	}
	b := make([]byte, size)
	if n, _ := f.ReadAt(b, 0); n < len(b) || json.Unmarshal(b, &p) != nil {
		return Place{}
	}
	return p
}

func (s *Scrubber) save(dir string, p Place) {
	b, err := json.Marshal(p)
	if err == nil {
		err = checkpoint.WriteAtomic(s.o.FS, filepath.Join(dir, File), append(b, '\n'))
	}
	if err != nil && s.o.Failed != nil {
		s.o.Failed(dir, err)
	}
}

// show lets Status see where a directory stands.
func (s *Scrubber) show(dir string, p Place) {
	if p.Current != nil {
		c := *p.Current
		p.Current = &c
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.Dirs[dir] = p
}
