package explain

import (
	"fmt"
	"time"
)

// Settings are those of a topic that decide what is kept.
type Settings struct {
	// Delete and Compact are the cleanup policies.
	Delete, Compact bool
	// Retention and RetentionBytes bound age and size; negative: no bound.
	Retention      time.Duration
	RetentionBytes int64
	SegmentBytes   int64
	// Now counts as the present.
	Now time.Time
	// MinDirtyRatio and MinCompactionLag decide when compaction begins.
	MinDirtyRatio    float64
	MinCompactionLag time.Duration
	// Partitions of the topic, for its worst case; 0: those that are here.
	Partitions int
}

// DefaultSettings are Kafka's.
func DefaultSettings() Settings {
	return Settings{Delete: true, Retention: 7 * 24 * time.Hour, RetentionBytes: -1, SegmentBytes: 1 << 30, MinDirtyRatio: 0.5, Now: time.Now()}
}

// Kept says why a segment is still there.
type Kept struct {
	Segment
	// Goes is true if the next round of retention takes it, At when time alone takes it (zero: never, or not known).
	Goes bool      `json:"goes"`
	At   time.Time `json:"at"`
	Why  string    `json:"why"`
	// Future: the largest timestamp lies ahead, so the segment outlives its records' real age (T-01).
	Future bool `json:"future"`
}

// RetentionAnswer is about one partition.
type RetentionAnswer struct {
	Partition string `json:"partition"`
	Bytes     int64  `json:"bytes"`
	Segments  []Kept `json:"segments"`
	// Worst is the largest size the partition can have: its bound and one more segment; -1: no bound (T-15).
	Worst int64 `json:"worstCaseBytes"`
}

// Retention says of each segment what keeps it and when it goes, as LogManager's retention task would decide now.
func (p *Partition) Retention(s Settings) RetentionAnswer {
	a := RetentionAnswer{Partition: p.Name, Bytes: p.Bytes, Worst: -1}
	if s.RetentionBytes >= 0 && s.Delete {
		a.Worst = s.RetentionBytes + s.SegmentBytes
	}
	over := p.Bytes - s.RetentionBytes
	stopped, bySize := "", true // the rule of size takes a run of the oldest segments
	for i, seg := range p.Segments {
		k := Kept{Segment: seg}
		next, byTime := p.LogEnd, false
		if i+1 < len(p.Segments) {
			next = p.Segments[i+1].Base
		}
		stamp := seg.ModTime
		source := "the file's time, since no record has one"
		if seg.Largest >= 0 {
			stamp, source = time.UnixMilli(seg.Largest), "its largest timestamp"
		}
		k.Future = stamp.After(s.Now)
		if s.Delete && s.Retention >= 0 {
			k.At = stamp.Add(s.Retention)
		}
		switch {
		case stopped != "":
			k.Why = stopped
		case i+1 < len(p.Segments) && next <= p.LogStart:
			over -= seg.Bytes
			k.Goes, k.Why = true, fmt.Sprintf("it ends below the log start, %d", p.LogStart)
		case !s.Delete:
			k.Why = "cleanup.policy does not include delete"
		case p.HighWatermark >= 0 && next > p.HighWatermark && i+1 < len(p.Segments):
			k.Why = fmt.Sprintf("it reaches beyond the high watermark, %d", p.HighWatermark)
		case seg.Active && seg.Bytes == 0:
			k.Why = "it is the active segment and empty"
		case bySize && s.RetentionBytes >= 0 && over-seg.Bytes >= 0:
			k.Goes, k.Why = true, fmt.Sprintf("without it the partition still has retention.bytes=%d", s.RetentionBytes)
			over -= seg.Bytes
		case s.Retention >= 0 && s.Now.Sub(stamp) > s.Retention:
			byTime = true
			k.Goes, k.Why = true, fmt.Sprintf("%s, %s, is older than retention.ms=%d", source, when(stamp.UnixMilli()), s.Retention.Milliseconds())
		default:
			k.Why = p.whyKept(s, k, stamp, source)
		}
		bySize = bySize && k.Goes && !byTime
		if !k.Goes && stopped == "" {
			stopped = fmt.Sprintf("segments go oldest first, and %d is kept", seg.Base)
		}
		a.Segments = append(a.Segments, k)
	}
	return a
}

func (p *Partition) whyKept(s Settings, k Kept, stamp time.Time, source string) string {
	if s.Retention < 0 {
		return "retention.ms=-1: no bound on age"
	}
	why := fmt.Sprintf("%s is %s; it goes after %s", source, when(stamp.UnixMilli()), when(k.At.UnixMilli()))
	if k.Future {
		why += fmt.Sprintf(". That lies %s ahead: a producer's clock or unit is wrong, and the segment and all behind it stay until then", stamp.Sub(s.Now).Round(time.Second))
	}
	return why
}

// String is the answer in lines.
func (a RetentionAnswer) String() string {
	var l lines
	l.add("%s: %s in %d segments", a.Partition, size(a.Bytes), len(a.Segments))
	for _, k := range a.Segments {
		verb := "stays"
		if k.Goes {
			verb = "goes with the next round"
		}
		name := fmt.Sprintf("segment %d to %d", k.Base, k.End-1)
		if k.End == k.Base {
			name = fmt.Sprintf("empty segment %d", k.Base)
		}
		if k.Active {
			name += " (active)"
		}
		l.add("  %s, %s: %s: %s", name, size(k.Bytes), verb, k.Why)
	}
	if a.Worst >= 0 {
		l.add("  worst case: %s for this partition (retention.bytes counts per partition, and whole sealed segments only)", size(a.Worst))
	} else {
		l.add("  worst case: no bound on size is set")
	}
	return l.String()
}
