package explain

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Settings are those of a topic that decide what is kept.
type Settings struct {
	// Source says where they come from, for people.
	Source string `json:"source"`
	// Delete and Compact are the cleanup policies.
	Delete  bool `json:"delete"`
	Compact bool `json:"compact"`
	// Retention and RetentionBytes bound age and size; negative: no bound.
	Retention      time.Duration `json:"retentionNs"`
	RetentionBytes int64         `json:"retentionBytes"`
	// SegmentBytes and SegmentAge say when the active segment is rolled.
	SegmentBytes int64         `json:"segmentBytes"`
	SegmentAge   time.Duration `json:"segmentAgeNs"`
	// MinDirtyRatio, MinCompactionLag and MaxCompactionLag decide when compaction begins.
	MinDirtyRatio    float64       `json:"minDirtyRatio"`
	MinCompactionLag time.Duration `json:"minCompactionLagNs"`
	MaxCompactionLag time.Duration `json:"maxCompactionLagNs"`
	// Partitions of the topic, for its worst case; 0: not known.
	Partitions int `json:"partitions"`
	// Now counts as the present.
	Now time.Time `json:"now"`
}

// DefaultSettings are Kafka's.
func DefaultSettings() Settings {
	return Settings{Source: "Kafka's defaults", Delete: true, Retention: 7 * 24 * time.Hour, RetentionBytes: -1, SegmentBytes: 1 << 30, SegmentAge: 7 * 24 * time.Hour,
		MinDirtyRatio: 0.5, MaxCompactionLag: math.MaxInt64, Now: time.Now()}
}

// Milliseconds is a setting's value as a duration; what is too long becomes the longest.
func Milliseconds(ms int64) time.Duration {
	if ms > math.MaxInt64/int64(time.Millisecond) {
		return math.MaxInt64
	}
	return time.Duration(max(ms, -1)) * time.Millisecond
}

// policy is cleanup.policy.
func (s Settings) policy() string {
	switch {
	case s.Delete && s.Compact:
		return "compact,delete"
	case s.Compact:
		return "compact"
	}
	return "delete"
}

// String is one line.
func (s Settings) String() string {
	line := fmt.Sprintf("settings %s: cleanup.policy=%s retention.ms=%s retention.bytes=%d segment.bytes=%d segment.ms=%s", s.Source, s.policy(), ms(s.Retention), s.RetentionBytes, s.SegmentBytes, ms(s.SegmentAge))
	if s.Compact {
		line += fmt.Sprintf(" min.cleanable.dirty.ratio=%g min.compaction.lag.ms=%s max.compaction.lag.ms=%s", s.MinDirtyRatio, ms(s.MinCompactionLag), ms(s.MaxCompactionLag))
	}
	return line
}

// ms prints a duration as settings have it.
func ms(d time.Duration) string {
	switch {
	case d < 0:
		return "-1"
	case d == math.MaxInt64:
		return strconv.FormatInt(math.MaxInt64, 10)
	}
	return strconv.FormatInt(d.Milliseconds(), 10)
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
	// Settings are what it was judged by.
	Settings Settings `json:"settings"`
}

// Retention says of each segment what keeps it and when it goes, as LogManager's retention task would decide now.
func (p *Partition) Retention(s Settings) RetentionAnswer {
	a := RetentionAnswer{Partition: p.Name, Bytes: p.Bytes, Worst: -1, Settings: s}
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
	l.add("%s: %s in %s", a.Partition, size(a.Bytes), count(len(a.Segments), "segment"))
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
		all := ""
		if n := a.Settings.Partitions; n > 1 {
			all = fmt.Sprintf(", %s for the %d of the topic", size(int64(n)*a.Worst), n)
		}
		l.add("  worst case: %s for this partition%s (retention.bytes counts per partition, and whole sealed segments only)", size(a.Worst), all)
	} else {
		l.add("  worst case: no bound on size is set")
	}
	return l.String()
}
