package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/samsalog/samsa/bench/figure"
)

// Page is what the page is made of.
type Page struct {
	Table *figure.Table
	Marks []figure.Mark
	// Notes are paragraphs for groups, by the name of the group; "" is for the beginning of the page.
	Notes map[string]string
	// Charts are the plots that stand below the tables of their groups.
	Charts []Chart
}

// names are how peers are called on the page.
var names = [...]struct{ peer, name string }{
	{"samsa", "Samsa"}, {"samsa before", "Samsa before"}, {"kafka", "Apache Kafka 4.4.0"}, {"minimum", "minimum broker"}, {"answers", "only answers"},
	{"kfake", "kfake"}, {"nats", "NATS JetStream"}, {"raw", "bare request"}, {"machine", "machine"},
}

func title(peer string) string {
	for _, n := range names {
		if n.peer == peer {
			return n.name
		}
	}
	return peer
}

// order sorts peers as they are listed above.
func order(peers []string) []string {
	at := func(p string) int {
		return slices.IndexFunc(names[:], func(n struct{ peer, name string }) bool { return n.peer == p })
	}
	return slices.SortedStableFunc(slices.Values(peers), func(a, b string) int { return at(a) - at(b) })
}

func group(row string) string {
	g, _, _ := strings.Cut(row, "/")
	return g
}

const intro = `# Samsa and others, side by side

Written by ` + "`make bench`" + `; how it measures is said in ` + "`bench/`" + `. All peers ran on one machine in one run, taking turns in every
round, each with a fresh directory on the same disk, under the same client processes. The client shares the processors with the
broker: rates say what client and broker do together, CPU per record is the broker's alone. A figure is the median of the rounds
[lowest–highest]; a ratio is the median of the ratios of the rounds. The minimum broker reads the frame, checks the checksum,
makes one write and answers: no index, no state. Losing rows stay.

`

// Write writes the page.
func (p Page) Write(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprint(out, intro)
	p.circumstances(out)
	p.note(out, "")
	p.verdicts(out)
	for _, g := range p.groups() {
		fmt.Fprintf(out, "## %s\n\n", g)
		p.table(out, g)
		for _, c := range p.Charts {
			if c.Group == g && p.Has(c) {
				fmt.Fprintf(out, "![%s: %s](bench/%s)\n\n", g, c.Figure, c.File())
			}
		}
		p.note(out, g)
	}
	p.skips(out)
	if err := out.Flush(); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	return nil
}

func (p Page) circumstances(w io.Writer) {
	r := p.Table.Run
	fmt.Fprintf(w, "%s, revision %s, %s, %s, %d cores, %s MiB of memory, %s. Profile %s: %d rounds, scale %s.\n\n",
		r.Date, r.Revision, r.System, r.CPU, r.Cores, figure.Short(float64(r.MemoryMB)), r.Go, r.Profile, r.Rounds, figure.Short(r.Scale))
	for _, n := range r.Notes {
		fmt.Fprintf(w, "- %s\n", n)
	}
	if len(r.Notes) > 0 {
		fmt.Fprintln(w)
	}
}

func (p Page) note(w io.Writer, group string) {
	if text := strings.TrimSpace(p.Notes[group]); text != "" {
		fmt.Fprintf(w, "%s\n\n", text)
	}
}

// verdicts lists the marks.
func (p Page) verdicts(w io.Writer) {
	if len(p.Marks) == 0 {
		return
	}
	fmt.Fprint(w, "## Marks\n\n| row | figure | should be | is | |\n|---|---|---|---|---|\n")
	reached, known := 0, 0
	for _, m := range p.Marks {
		v := p.Table.Judge(m)
		is, verdict := "–", "not measured"
		if v.Known {
			known++
			is, verdict = figure.Short(v.Value), "**missed**"
			if v.Reached {
				reached++
				verdict = "reached"
			}
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s |\n", m.Row, m.Figure, m.Wanted(p.unit(m.Row, m.Figure)), is, verdict)
	}
	fmt.Fprintf(w, "\n%d of %d marks that were measured are reached.\n\n", reached, known)
}

func (p Page) unit(row, name string) string {
	for _, v := range p.Table.Names(row) {
		if v.Name == name {
			return v.Unit
		}
	}
	return ""
}

func (p Page) groups() []string {
	var all []string
	for _, r := range p.Table.Rows() {
		if !slices.Contains(all, group(r)) {
			all = append(all, group(r))
		}
	}
	return all
}

// table writes the rows of a group: a line per figure, a column per peer, and how Samsa compares.
func (p Page) table(w io.Writer, g string) {
	var peers []string
	for _, r := range p.Table.Rows() {
		for _, n := range p.Table.Peers(r) {
			if group(r) == g && !slices.Contains(peers, n) {
				peers = append(peers, n)
			}
		}
	}
	peers = order(peers)
	compared := p.compared(peers)
	fmt.Fprint(w, "| row | figure |")
	for _, n := range peers {
		fmt.Fprintf(w, " %s |", title(n))
	}
	for _, n := range compared {
		fmt.Fprintf(w, " ÷ %s |", title(n))
	}
	fmt.Fprintf(w, "\n|---|---|%s\n", strings.Repeat("---|", len(peers)+len(compared)))
	for _, r := range p.Table.Rows() {
		if group(r) != g {
			continue
		}
		for _, v := range p.Table.Names(r) {
			p.line(w, r, v, peers, compared)
		}
	}
	fmt.Fprintln(w)
}

// compared are those of peers that Samsa's figures are divided by.
func (p Page) compared(peers []string) []string {
	var all []string
	if !slices.Contains(peers, "samsa") {
		return nil
	}
	for _, n := range []string{"samsa before", "kafka", "minimum"} {
		if slices.Contains(peers, n) {
			all = append(all, n)
		}
	}
	return all
}

func (p Page) line(w io.Writer, r string, v figure.Value, peers, compared []string) {
	what := v.Name
	if v.Unit != "" && !strings.HasSuffix(v.Name, " "+v.Unit) {
		what += ", " + v.Unit
	}
	fmt.Fprintf(w, "| %s | %s |", r, what)
	for _, n := range peers {
		fmt.Fprintf(w, " %s |", p.Table.Summary(r, n, v.Name))
	}
	for _, n := range compared {
		if ratio, ok := p.Table.Ratio(r, "samsa", v.Name, r, n, v.Name); ok {
			fmt.Fprintf(w, " %s |", figure.Short(ratio))
		} else {
			fmt.Fprint(w, " – |")
		}
	}
	fmt.Fprintln(w)
}

// skips lists what has no figures.
func (p Page) skips(w io.Writer) {
	if len(p.Table.Skips()) == 0 {
		return
	}
	fmt.Fprint(w, "## Left out\n\n| row | peer | reason |\n|---|---|---|\n")
	for _, s := range p.Table.Skips() {
		reason, _, _ := strings.Cut(s.Reason, "\n")
		fmt.Fprintf(w, "| %s | %s | %s |\n", s.Row, title(s.Peer), strings.ReplaceAll(reason, "|", "\\|"))
	}
	fmt.Fprintln(w)
}

// ParseNotes reads notes: text before the first heading of the second level belongs to "", text below "## group" to
// that group.
func ParseNotes(text string) map[string]string {
	notes := map[string]string{}
	at := ""
	for line := range strings.Lines(text) {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			at = strings.TrimSpace(heading)
			continue
		}
		if strings.HasPrefix(line, "# ") && at == "" {
			continue
		}
		notes[at] += line
	}
	return notes
}
