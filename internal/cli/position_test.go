package cli

import (
	"errors"
	"testing"
	"time"
)

func TestParsePosition(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]position{
		"earliest":                       {kind: positionEarliest},
		"start":                          {kind: positionEarliest},
		"latest":                         {kind: positionLatest},
		"end":                            {kind: positionLatest},
		"0":                              {kind: positionOffset, value: 0},
		"42":                             {kind: positionOffset, value: 42},
		"-10":                            {kind: positionFromEnd, value: 10},
		"@1767225600000":                 {kind: positionFromTime, value: 1767225600000},
		"@15m":                           {kind: positionFromTime, value: now.UnixMilli() - 15*60*1000},
		"@2026-01-31":                    {kind: positionFromTime, value: 1769817600000},
		"@2026-01-31T15:04:05":           {kind: positionFromTime, value: 1769817600000 + (15*3600+4*60+5)*1000},
		"@2026-01-31T15:04:05.250+01:00": {kind: positionFromTime, value: 1769817600000 + (14*3600+4*60+5)*1000 + 250},
	} {
		got, err := parsePosition(text, now)
		if err != nil || got != want {
			t.Errorf("parsePosition(%q) = %+v, %v; want %+v", text, got, err, want)
		}
	}
}

func TestParsePositionRejects(t *testing.T) {
	for _, text := range []string{"", "soon", "1.5", "@", "@yesterday", "@-5m", "9223372036854775808"} {
		_, err := parsePosition(text, time.Now())
		var usage *usageError
		if !errors.As(err, &usage) {
			t.Errorf("parsePosition(%q) = %v; want a usage error", text, err)
		}
	}
}
