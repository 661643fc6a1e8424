package cli

import (
	"context"
	"regexp"
	"strconv"
	"time"

	"github.com/samsalog/samsa/inspect"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// followEvery is how long dump --follow waits before it looks again.
const followEvery = 200 * time.Millisecond

// wait returns false when the person asks to stop.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// selection turns the flags that pick batches and records into options, and directories into files.
func (f *dumpFlags) selection(o *inspect.DumpOptions) error {
	var err error
	if o.From, err = bound("--from", f.from); err != nil {
		return err
	}
	if o.To, err = bound("--to", f.to); err != nil {
		return err
	}
	if o.Select, err = f.records(); err != nil {
		return err
	}
	o.Files, err = inspect.Expand(vfs.NewOS(), o.Files, o.From, o.To)
	return err
}

// bound reads an offset or a time.
func bound(flag, text string) (*inspect.Bound, error) {
	if text == "" {
		return nil, nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 {
		return &inspect.Bound{Value: n}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return &inspect.Bound{Value: t.UnixMilli(), IsTime: true}, nil
		}
	}
	return nil, usagef("%s %q is neither an offset nor a time such as 2026-11-30T05:00:00Z", flag, text)
}

// records is the test that --key, --value and --header make; nil if none is given.
func (f *dumpFlags) records() (func(*record.Record) bool, error) {
	var tests []func(*record.Record) bool
	for _, x := range []struct {
		flag, text string
		test       func(*regexp.Regexp, *record.Record) bool
	}{
		{"--key", f.key, func(e *regexp.Regexp, r *record.Record) bool { return r.Key != nil && e.Match(r.Key) }},
		{"--value", f.value, func(e *regexp.Regexp, r *record.Record) bool { return r.Value != nil && e.Match(r.Value) }},
		{"--header", f.header, func(e *regexp.Regexp, r *record.Record) bool {
			for _, h := range r.Headers {
				if e.MatchString(h.Key + "=" + string(h.Value)) {
					return true
				}
			}
			return false
		}},
	} {
		if x.text == "" {
			continue
		}
		e, err := regexp.Compile(x.text)
		if err != nil {
			return nil, usagef("%s: %v", x.flag, err)
		}
		tests = append(tests, func(r *record.Record) bool { return x.test(e, r) })
	}
	if tests == nil {
		return nil, nil
	}
	return func(r *record.Record) bool {
		for _, test := range tests {
			if !test(r) {
				return false
			}
		}
		return true
	}, nil
}
