package cli

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// positionHelp explains positions in --help.
const positionHelp = `A position is one of
  earliest          the first record there is
  latest, end       behind the last record there is now
  42                an offset
  -10               ten records before the end
  @2026-01-31       the first record at or after a time: a date, an RFC 3339 time
                    (@2026-01-31T15:04:05Z), Unix milliseconds (@1767225600000)
                    or how long ago (@15m)`

type positionKind int

const (
	positionEarliest positionKind = iota
	positionLatest
	positionOffset   // value is the offset
	positionFromEnd  // value is how many offsets before the end
	positionFromTime // value is a timestamp in milliseconds
)

// position is a place in a partition, given in one of the ways that positionHelp tells.
type position struct {
	kind  positionKind
	value int64
}

// parsePosition reads the text of a position; "how long ago" counts from now.
func parsePosition(s string, now time.Time) (position, error) {
	switch s {
	case "earliest", "start", "beginning":
		return position{kind: positionEarliest}, nil
	case "latest", "end":
		return position{kind: positionLatest}, nil
	}
	if at, ok := strings.CutPrefix(s, "@"); ok {
		ms, err := parseTime(at, now)
		if err != nil {
			return position{}, err
		}
		return position{kind: positionFromTime, value: ms}, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case err != nil:
		return position{}, usagef("%q is not a position\n%s", s, positionHelp)
	case strings.HasPrefix(s, "-"):
		return position{kind: positionFromEnd, value: -n}, nil
	default:
		return position{kind: positionOffset, value: n}, nil
	}
}

// parseTime reads a time as positionHelp tells and returns Unix milliseconds.
func parseTime(s string, now time.Time) (int64, error) {
	if ms, err := strconv.ParseInt(s, 10, 64); err == nil && ms >= 0 {
		return ms, nil
	}
	if ago, err := time.ParseDuration(s); err == nil && ago >= 0 {
		return now.Add(-ago).UnixMilli(), nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, s, now.Location()); err == nil {
			return t.UnixMilli(), nil
		}
	}
	return 0, usagef("%q is no time: use 2026-01-31, 2026-01-31T15:04:05Z, Unix milliseconds, or 15m for 15 minutes ago", s)
}

// resolve turns the position into an offset for every partition of topics, within the partition's bounds.
func (p position) resolve(ctx context.Context, cl *kgo.Client, topics kadm.TopicsSet, committed bool) (partitionOffsets, error) {
	if p.kind == positionEarliest {
		return listOffsets(ctx, cl, topics, timestampEarliest, committed)
	}
	ends, err := listOffsets(ctx, cl, topics, timestampLatest, committed)
	if err != nil || p.kind == positionLatest {
		return ends, err
	}
	starts, err := listOffsets(ctx, cl, topics, timestampEarliest, committed)
	if err != nil {
		return nil, err
	}
	var at partitionOffsets
	if p.kind == positionFromTime {
		if at, err = listOffsets(ctx, cl, topics, p.value, committed); err != nil {
			return nil, err
		}
	}
	resolved := partitionOffsets{}
	for topic, partitions := range ends {
		for partition, end := range partitions {
			offset := end
			switch p.kind {
			case positionOffset:
				offset = p.value
			case positionFromEnd:
				offset = end - p.value
			case positionFromTime:
				if found := at.offset(topic, partition); found >= 0 {
					offset = found
				}
			}
			resolved.set(topic, partition, min(max(offset, starts.offset(topic, partition)), end))
		}
	}
	return resolved, nil
}
