package share

import (
	"context"
	"errors"
	"time"

	"github.com/samsalog/samsa/internal/replica"
	"github.com/samsalog/samsa/internal/share/window"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/vfs"
)

// FetchRequest asks for records of some partitions.
type FetchRequest struct {
	Group, Member string
	Parts         []Part
	// Find returns the replica of a partition here, or why there is none.
	Find func(Part) (*replica.Partition, error)
	// Epoch is the session's. The partitions take turns in coming first by it.
	Epoch int32
	// MinBytes is what to wait for, up to MaxWait. The first batch of records may exceed MaxBytes.
	MinBytes, MaxBytes int
	MaxWait            time.Duration
	// MaxRecords and BatchSize are in records, see window.Request.
	MaxRecords, BatchSize int
	Mode                  window.Mode
	// Wait parks the caller until done is closed (true) or timeout is over or the client has gone (false).
	Wait func(done <-chan struct{}, timeout time.Duration) bool
}

// FetchResult is what came of one partition. Region must be released.
type FetchResult struct {
	Part Part
	Err  error
	// Read says that there was room for records of the partition, so that it was read.
	Read     bool
	Region   vfs.Region
	Acquired []window.AcquiredRecords
}

// Fetch acquires records, and waits for some if there are none. Results are in the order of the request.
// ctx ends when the client has gone: nothing is acquired for it any more.
func (m *Manager) Fetch(ctx context.Context, r FetchRequest) []FetchResult {
	r.MinBytes = min(r.MinBytes, r.MaxBytes)
	f := &fetch{m: m, FetchRequest: r, deadline: time.Now().Add(r.MaxWait), settings: m.o.Settings(r.Group)}
	f.parts = make([]fetching, len(r.Parts))
	for i, p := range r.Parts {
		f.parts[i] = fetching{Part: p}
	}
	if r.MaxRecords > 0 && r.MaxBytes > 0 {
		f.run(ctx)
	}
	out := make([]FetchResult, len(f.parts))
	for i := range f.parts {
		p := &f.parts[i]
		out[i] = FetchResult{Part: p.Part, Err: p.err, Read: p.tried, Region: p.region, Acquired: p.acquired}
	}
	return out
}

// fetch is one Fetch on its way.
type fetch struct {
	FetchRequest
	m        *Manager
	settings Settings
	deadline time.Time
	parts    []fetching
	found    int // bytes that the last read found
}

// fetching is one partition of a fetch.
type fetching struct {
	Part
	sp    *partition
	err   error
	tried bool
	// offset is where the last read began, spans the record batches that it found, ends where each ends in region.
	offset   record.Offset
	region   vfs.Region
	spans    []window.Span
	ends     []int
	aborted  []window.Span
	acquired []window.AcquiredRecords
}

// run looks for records until there are some, something went wrong, or time is over.
func (f *fetch) run(ctx context.Context) {
	if len(f.parts) == 0 {
		f.Wait(nil, f.MaxWait) // an idle session must not ask again at once
		return
	}
	f.open()
	for failed := f.failures(); failed < len(f.parts); f.open() {
		left := time.Until(f.deadline)
		if f.failures() > failed || f.pass(left <= 0) || left <= 0 || f.failures() > failed {
			return
		}
		woken, got := f.wait(left)
		if got || f.failures() > failed || ctx.Err() != nil {
			return
		}
		if !woken {
			f.deadline = time.Time{} // one last look
		}
	}
}

// open finds the share partitions, anew where one was fenced.
func (f *fetch) open() {
	for i := range f.parts {
		p := &f.parts[i]
		if p.err != nil {
			continue
		}
		leader, err := f.Find(p.Part)
		if err == nil {
			p.sp, err = f.m.partition(Key{f.Group, p.Topic, p.Partition}, leader)
		}
		if err == nil {
			if ph, cause := p.sp.state(); ph == failed {
				err = cause
			}
		}
		p.err = err
	}
}

func (f *fetch) failures() int {
	n := 0
	for i := range f.parts {
		if f.parts[i].err != nil {
			n++
		}
	}
	return n
}

// pass reads what can be acquired and acquires it, unless it is less than MinBytes and there is still time. It reports
// whether records were acquired.
func (f *fetch) pass(last bool) bool {
	for {
		f.found = f.read()
		if f.found == 0 || f.found < f.MinBytes && !last {
			f.release()
			return false
		}
		records, again := f.acquire()
		if records > 0 {
			f.m.counters.acquired.Add(int64(records))
			return true
		}
		if !again {
			return false
		}
		// All that was read is of no use to this reader, as records of aborted transactions are: what comes next may be.
	}
}

// read reads the partitions that have something to be acquired, and returns the bytes found.
func (f *fetch) read() int {
	var can []*fetching
	for i := range f.parts {
		p := &f.parts[(i+f.first())%len(f.parts)]
		if p.err == nil && p.sp.ready(f.settings, &p.offset) {
			can = append(can, p)
		}
	}
	bytes := 0
	for _, p := range can {
		p.tried = true
		p.read(f.settings.isolation(), max(1, f.MaxBytes/len(can)), bytes == 0, f.MaxRecords)
		bytes += p.region.Length
	}
	return bytes
}

// first is the position of the partition whose turn it is.
func (f *fetch) first() int { return int(uint32(f.Epoch) % uint32(len(f.parts))) }

// ready reports whether records can be acquired, and where the read should begin.
func (p *partition) ready(s Settings, offset *record.Offset) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	log := p.leader.Log()
	if p.mu.phase != active || log == nil {
		return false
	}
	p.fitLocked(log)
	*offset = p.mu.window.FetchOffset()
	return p.mu.window.MayAcquire(s.limits())
}

func (p *fetching) read(iso storage.Isolation, maxBytes int, atLeastOne bool, maxRecords int) {
	got, err := p.sp.leader.Fetch(replica.Read{
		Offset: p.offset, MaxBytes: maxBytes, AtLeastOne: atLeastOne, Isolation: iso,
		CurrentLeaderEpoch: record.NoLeaderEpoch, LastFetchedEpoch: record.NoLeaderEpoch, Replica: -1,
	})
	if err != nil {
		if !errors.Is(err, storage.ErrOffsetOutOfRange) { // the log's bounds moved: the next look fits the window to them
			p.err = err
		}
		return
	}
	p.region = got.Region
	if p.region.Length == 0 {
		return
	}
	if err := p.scan(p.offset+record.Offset(maxRecords), got.Aborted); err != nil {
		p.region.Release()
		p.region, p.err = vfs.Region{}, err
	}
}

// acquire takes the records that were read, and cuts the regions to them. again says that nothing was acquired but the
// windows moved, so that another read finds other records.
func (f *fetch) acquire() (records int, again bool) {
	for i := range f.parts {
		p := &f.parts[(i+f.first())%len(f.parts)]
		if p.region.Length == 0 {
			continue
		}
		if len(p.spans) > 0 {
			p.acquired = p.sp.acquire(f, p, f.MaxRecords-records)
			for _, a := range p.acquired {
				records += int(a.Last - a.First + 1)
			}
			again = again || len(p.acquired) == 0 && p.sp.moved(p.offset)
		}
		p.slice()
	}
	return records, again
}

func (p *partition) acquire(f *fetch, part *fetching, max int) []window.AcquiredRecords {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.phase != active {
		return nil
	}
	until := time.Now().Add(f.settings.LockDuration)
	got := p.mu.window.Acquire(window.Request{
		Member: f.Member, Mode: f.Mode, BatchSize: f.BatchSize, MaxRecords: max, FetchOffset: part.offset,
		Batches: part.spans, Aborted: part.aborted, Deadline: until, Limits: f.settings.limits(),
	})
	if len(got) > 0 {
		p.m.alarm.at(p, until)
	}
	return got
}

// moved reports whether a read would begin elsewhere now.
func (p *partition) moved(from record.Offset) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.phase == active && p.mu.window.FetchOffset() != from
}

// release gives up what was read.
func (f *fetch) release() {
	for i := range f.parts {
		f.parts[i].region.Release()
		f.parts[i].region = vfs.Region{}
	}
}

// wait parks the fetch until there may be more to acquire (SHR-5). got says that records came between the last look and
// the watches, and were acquired.
func (f *fetch) wait(left time.Duration) (woken, got bool) {
	w := replica.NewWait(f.settings.isolation(), int64(max(1, f.MinBytes-f.found)))
	defer w.Stop()
	for i := range f.parts {
		p := &f.parts[i]
		if p.err != nil {
			continue
		}
		p.sp.watch(w)
		defer p.sp.forget(w)
		// Appends are of no interest while there is no room for more records.
		var offset record.Offset
		if p.sp.ready(f.settings, &offset) {
			w.Watch(p.sp.leader)
		}
	}
	f.open()
	if f.pass(false) {
		return true, true
	}
	return f.Wait(w.Done(), left), false
}
