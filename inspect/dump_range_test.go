package inspect

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/samsalog/samsa/inspect/internal/testdir"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// baseOffsets are the batches that a dump shows.
func baseOffsets(out string) string {
	var all []string
	for _, m := range regexp.MustCompile(`(?m)^baseOffset: (\d+)`).FindAllStringSubmatch(out, -1) {
		all = append(all, m[1])
	}
	return strings.Join(all, " ")
}

func TestRanges(t *testing.T) {
	log := smallLog()
	at := positions(t, log)
	files := map[string][]byte{logName: log, indexName: offsetIndex([2]int{103, at[1]}, [2]int{107, at[3]}),
		timeName: timeIndex([2]int{day + 3000, 103}, [2]int{day + 7000, 107})}
	for _, c := range []struct {
		from, to *Bound
		want     string
	}{
		{&Bound{Value: 104}, nil, "104 106 108 110"},
		{&Bound{Value: 107}, &Bound{Value: 109}, "106 108"},
		{nil, &Bound{Value: 102}, "100"},
		{&Bound{Value: day + 7000, IsTime: true}, nil, "106 108 110"},
		{&Bound{Value: day + 3000, IsTime: true}, &Bound{Value: day + 6000, IsTime: true}, "102 104"},
		{&Bound{Value: 500}, nil, ""},
	} {
		out, errs, err := run(t, files, func(o *DumpOptions) { o.From, o.To = c.from, c.to }, logName)
		if got := baseOffsets(out); got != c.want || errs != "" || err != nil {
			t.Errorf("%v to %v: %q, want %q: %s%v", c.from, c.to, got, c.want, errs, err)
		}
	}
}

// The walk begins where the index says: what lies before may be unreadable.
func TestFromSeeksByIndex(t *testing.T) {
	log := smallLog()
	at := positions(t, log)
	files := map[string][]byte{indexName: offsetIndex([2]int{107, at[3]})}
	clear(log[:at[3]])
	files[logName] = log
	out, errs, err := run(t, files, func(o *DumpOptions) { o.From = &Bound{Value: 108} }, logName)
	if baseOffsets(out) != "108 110" || errs != "" || err != nil {
		t.Errorf("%s%s%v", out, errs, err)
	}
}

func TestSelect(t *testing.T) {
	out, _, err := run(t, map[string][]byte{logName: smallLog()}, func(o *DumpOptions) {
		o.PrintDataLog = true
		o.Select = func(r *record.Record) bool { return string(r.Value) == "v3-1" }
	}, logName)
	if baseOffsets(out) != "106" || strings.Count(out, "| offset:") != 1 || !strings.Contains(out, "payload: v3-1") || err != nil {
		t.Errorf("%s%v", out, err)
	}
}

func TestFollow(t *testing.T) {
	log := smallLog()
	at := positions(t, log)
	fsys := vfs.NewMem()
	testdir.Put(t, fsys, logName, log[:at[2]+7])
	o := DefaultDumpOptions()
	o.FS, o.Files = fsys, []string{logName}
	var out, errs bytes.Buffer
	rounds := 0
	o.Follow = func() bool {
		rounds++
		testdir.Put(t, fsys, logName, log[:min(len(log), at[2]+7+rounds*150)])
		return rounds < 12
	}
	if err := Dump(&out, &errs, o); err != nil || baseOffsets(out.String()) != "100 102 104 106 108 110" {
		t.Errorf("%s%s%v", &out, &errs, err)
	}
}

func TestExpand(t *testing.T) {
	fsys := vfs.NewMem()
	for _, base := range []int{0, 100, 200} {
		for _, suffix := range []string{".log", ".index", ".timeindex"} {
			testdir.Put(t, fsys, fmt.Sprintf("/d/t-0/%020d%s", base, suffix), nil)
		}
	}
	testdir.Put(t, fsys, "/d/t-0/00000000000000000200.snapshot", nil)
	testdir.Put(t, fsys, "/d/t-0/leader-epoch-checkpoint", nil)
	for _, c := range []struct {
		path     string
		from, to *Bound
		want     int
	}{{"/d", nil, nil, 10}, {"/d/t-0", nil, nil, 10}, {"/d/t-0", &Bound{Value: 150}, nil, 2}, {"/d/t-0", nil, &Bound{Value: 100}, 1}, {"/d/t-0/x.log", nil, nil, 1}} {
		files, err := Expand(fsys, []string{c.path}, c.from, c.to)
		if err != nil || len(files) != c.want {
			t.Errorf("%s: %v %v", c.path, files, err)
		}
	}
}
