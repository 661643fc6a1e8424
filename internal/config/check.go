package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// check is a rule for the value of one key (ConfigDef.Validator).
type check interface {
	// refuse returns why v is not accepted, "" when it is.
	refuse(v Value) string
	// String says in words what is accepted.
	String() string
}

// rangeCheck bounds int, short and long.
type rangeCheck struct{ min, max int64 }

func atLeast(min int64) check      { return rangeCheck{min, math.MaxInt64} }
func between(min, max int64) check { return rangeCheck{min, max} }

func (c rangeCheck) refuse(v Value) string {
	switch {
	case v.Int < c.min:
		return fmt.Sprintf("value must be at least %d", c.min)
	case v.Int > c.max:
		return fmt.Sprintf("value must be no more than %d", c.max)
	}
	return ""
}

func (c rangeCheck) String() string {
	if c.max == math.MaxInt64 {
		return fmt.Sprintf("≥ %d", c.min)
	}
	return fmt.Sprintf("%d to %d", c.min, c.max)
}

// floatCheck bounds double. NaN passes, as it does in Kafka, whose comparisons it fails.
type floatCheck struct{ min, max float64 }

func fraction(min, max float64) check { return floatCheck{min, max} }

func (c floatCheck) refuse(v Value) string {
	switch {
	case v.Float < c.min:
		return "value must be at least " + javaDouble(c.min)
	case v.Float > c.max:
		return "value must be no more than " + javaDouble(c.max)
	}
	return ""
}

func (c floatCheck) String() string { return fmt.Sprintf("%v to %v", c.min, c.max) }

// wordCheck accepts certain words.
type wordCheck struct {
	words []string
	fold  bool // upper and lower case are the same
}

func oneOf(words ...string) check     { return wordCheck{words, false} }
func oneOfFold(words ...string) check { return wordCheck{words, true} }

func (c wordCheck) refuse(v Value) string {
	if !slices.ContainsFunc(c.words, func(w string) bool { return w == v.Text || c.fold && strings.EqualFold(w, v.Text) }) {
		return "string must be one of: " + strings.Join(c.words, ", ")
	}
	return ""
}

func (c wordCheck) String() string { return strings.Join(c.words, ", ") }

// listCheck accepts lists without empty elements; duplicates were dropped when the list was parsed.
type listCheck struct {
	words []string // nil: any
	empty bool     // may be empty
}

func listOf(words ...string) check        { return listCheck{words, false} }
func listOfOrEmpty(words ...string) check { return listCheck{words, true} }
func anyList() check                      { return listCheck{nil, true} }
func someList() check                     { return listCheck{nil, false} }

func (c listCheck) refuse(v Value) string {
	if len(v.List) == 0 && !c.empty {
		return "the list must not be empty"
	}
	for _, e := range v.List {
		if e == "" {
			return "the list must not hold an empty element"
		}
		if c.words != nil && !slices.Contains(c.words, e) {
			return "list elements must be among: " + strings.Join(c.words, ", ")
		}
	}
	return ""
}

func (c listCheck) String() string {
	s := strings.Join(c.words, ", ")
	if c.words == nil {
		s = "a list"
	} else {
		s = "any of " + s
	}
	if !c.empty {
		s += ", at least one"
	}
	return s
}

// nonEmpty accepts every text but the empty one.
type nonEmpty struct{}

func (nonEmpty) refuse(v Value) string {
	if strings.TrimSpace(v.Text) == "" {
		return "string must not be empty"
	}
	return ""
}

func (nonEmpty) String() string { return "not empty" }

// gzipLevel accepts the levels of gzip, and -1 for its default.
type gzipLevel struct{}

func (gzipLevel) refuse(v Value) string {
	if v.Int != -1 && (v.Int < 1 || v.Int > 9) {
		return "value must be between 1 and 9, or -1"
	}
	return ""
}

func (gzipLevel) String() string { return "-1, 1 to 9" }

// throttledReplicas accepts "*" alone, or pairs partition:broker.
type throttledReplicas struct{}

func (throttledReplicas) refuse(v Value) string {
	if len(v.List) == 1 && v.List[0] == "*" {
		return ""
	}
	for _, e := range v.List {
		p, b, ok := strings.Cut(e, ":")
		if !ok || !digits(p) || !digits(b) {
			return "value must be * or a list of partition:broker"
		}
	}
	return ""
}

func (throttledReplicas) String() string { return "*, or partition:broker, …" }

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// quorumVoters accepts id@host:port, ….
type quorumVoters struct{}

func (quorumVoters) refuse(v Value) string {
	for _, e := range v.List {
		id, addr, ok := strings.Cut(e, "@")
		if n, err := strconv.ParseInt(id, 10, 32); !ok || err != nil || n < 0 {
			return "each voter must be id@host:port"
		}
		if _, _, err := splitHostPort(addr); err != nil {
			return "each voter must be id@host:port"
		}
	}
	return ""
}

func (quorumVoters) String() string { return "id@host:port, …" }

// bootstrapServers accepts host:port, ….
type bootstrapServers struct{}

func (bootstrapServers) refuse(v Value) string {
	for _, e := range v.List {
		if _, _, err := splitHostPort(e); err != nil {
			return "each server must be host:port"
		}
	}
	return ""
}

func (bootstrapServers) String() string { return "host:port, …" }

// offsetReset accepts where a share group may begin.
type offsetReset struct{}

func (offsetReset) refuse(v Value) string {
	if v.Text == "latest" || v.Text == "earliest" {
		return ""
	}
	if d, ok := strings.CutPrefix(v.Text, "by_duration:"); ok && isoDuration(d) {
		return ""
	}
	return "value must be latest, earliest or by_duration:PnDTnHnMn.nS"
}

func (offsetReset) String() string { return "latest, earliest, by_duration:PnDTnHnMn.nS" }

// isoDuration tells whether s is a duration of days, hours, minutes and seconds as java.time.Duration reads
// it, and not negative.
func isoDuration(s string) bool {
	rest, ok := strings.CutPrefix(strings.ToUpper(s), "P")
	if !ok || rest == "" {
		return false
	}
	date, clock, hasClock := strings.Cut(rest, "T")
	if date != "" {
		n, ok := strings.CutSuffix(date, "D")
		if !ok || !digits(strings.TrimPrefix(n, "+")) {
			return false
		}
	}
	if !hasClock {
		return true
	}
	if clock == "" {
		return false
	}
	for _, unit := range "HMS" {
		n, after, ok := strings.Cut(clock, string(unit))
		if !ok {
			continue
		}
		if whole, frac, hasFrac := strings.Cut(n, "."); !digits(strings.TrimPrefix(whole, "+")) || hasFrac && (unit != 'S' || len(frac) > 9 || frac != "" && !digits(frac)) {
			return false
		}
		clock = after
	}
	return clock == ""
}
