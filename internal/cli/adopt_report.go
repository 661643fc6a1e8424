package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/samsalog/samsa/internal/adopt"
)

// adoption prints a report in sections.
type adoption struct {
	w   io.Writer
	r   *adopt.Report
	all bool // each of what there may be many of
	err error
}

// printAdoption prints a report for people.
func printAdoption(w io.Writer, r *adopt.Report, all bool) error {
	p := &adoption{w: w, r: r, all: all}
	p.identity()
	p.directories()
	p.metadata()
	p.topics()
	p.aside()
	p.groups()
	p.transactions()
	p.serve()
	return p.err
}

func (p *adoption) line(format string, args ...any) {
	if _, err := fmt.Fprintf(p.w, format+"\n", args...); err != nil && p.err == nil {
		p.err = err
	}
}

func (p *adoption) table(t *table) {
	if err := t.write(p.w); err != nil && p.err == nil {
		p.err = err
	}
}

func (p *adoption) list(title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	p.line("%s", title)
	for _, l := range lines {
		p.line("  - %s", l)
	}
}

func (p *adoption) identity() {
	r := p.r
	era := map[string]string{"kraft": "KRaft", "zookeeper": "ZooKeeper's time", "none": "no meta.properties"}[r.Era]
	node, program := "unknown", map[string]string{"kafka": "Apache Kafka", "samsa": "Samsa", "unknown": "unknown"}[r.Writer.Program]
	if r.NodeID >= 0 {
		node = strconv.Itoa(int(r.NodeID))
	}
	if r.Writer.Version != "" {
		program += " " + r.Writer.Version
	}
	p.line("cluster %s, node %s (%s)", orDash(r.ClusterID), node, era)
	p.line("last written by %s", program)
	for _, e := range r.Writer.Evidence {
		p.line("  - %s", e)
	}
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func (p *adoption) directories() {
	t := newTable("DIRECTORY", "STATE", "DIRECTORY ID", "PARTITIONS", "SIZE", "METADATA LOG")
	for _, d := range p.r.Directories {
		log := ""
		if d.Metadata {
			log = "yes"
		}
		state := d.State
		if d.BrokerEpoch >= 0 {
			state += fmt.Sprintf(" (broker epoch %d)", d.BrokerEpoch)
		}
		t.row(d.Path, state, d.DirectoryID, d.Partitions, byteSize(d.Bytes), log)
	}
	p.line("")
	p.table(t)
}

func (p *adoption) metadata() {
	m := p.r.Metadata
	if m == nil {
		return
	}
	var features []string
	for _, name := range slices.Sorted(maps.Keys(m.Features)) {
		if name != "metadata.version" {
			features = append(features, fmt.Sprintf("%s %d", name, m.Features[name]))
		}
	}
	p.line("")
	p.line("metadata log: %s quorum of voters %v, leader epoch %d, offsets %d to %d, %s with %s", m.Quorum, m.Voters, m.LeaderEpoch, m.LogStart, m.LogEnd,
		byteSize(m.Bytes), count(int64(len(m.Snapshots)), "snapshot"))
	p.line("metadata.version %s; %s", orDash(m.MetadataVersion), orDash(strings.Join(features, ", ")))
	var brokers []string
	for _, b := range m.Brokers {
		state := ""
		if b.Fenced {
			state = ", fenced"
		}
		brokers = append(brokers, fmt.Sprintf("%d (epoch %d%s)", b.ID, b.Epoch, state))
	}
	p.line("brokers: %s; producer ids from %d", orDash(strings.Join(brokers, ", ")), m.NextProducerID)
	for _, name := range slices.Sorted(maps.Keys(m.Configs)) {
		if !strings.HasPrefix(name, "topic ") && !strings.HasPrefix(name, "client metrics ") {
			p.line("settings of %s: %s", name, settings(m.Configs[name]))
		}
	}
	for _, k := range m.Kept {
		p.line("%s: %d", k.What, k.Count)
		for i, each := range k.Each {
			if i == 5 && !p.all {
				p.line("  … %d more, with --verbose", k.Count-i)
				break
			}
			p.line("  %s", each)
		}
	}
}

// settings prints configs on one line, in order.
func settings(m map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, k+"="+m[k])
	}
	return strings.Join(out, " ")
}

func (p *adoption) topics() {
	if len(p.r.Topics) == 0 {
		p.line("\nno topics")
		return
	}
	t := newTable("TOPIC", "TOPIC ID", "PARTITIONS", "OFFSETS", "SIZE", "UNFINISHED", "SETTINGS")
	for _, topic := range p.r.Topics {
		t.row(topic.Name, topic.ID, len(topic.Partitions), topic.Records, byteSize(topic.Bytes), unfinished(topic), settings(topic.Configs))
	}
	p.line("")
	p.table(t)
}

// unfinished tells what of a topic is under way.
func unfinished(t *adopt.Topic) string {
	var missing, torn, open, deleted, cleaned, swap int
	for _, p := range t.Partitions {
		if p.Missing {
			missing++
		}
		if p.TornBytes > 0 {
			torn++
		}
		open += len(p.Open)
		deleted += len(p.Deleted)
		cleaned += len(p.Cleaned)
		swap += len(p.Swap)
	}
	var out []string
	for _, x := range []struct {
		n    int
		what string
	}{{missing, "missing"}, {torn, "torn"}, {open, "open txn"}, {deleted, ".deleted"}, {cleaned, ".cleaned"}, {swap, ".swap"}} {
		if x.n > 0 {
			out = append(out, fmt.Sprintf("%d %s", x.n, x.what))
		}
	}
	return strings.Join(out, ", ")
}

func (p *adoption) aside() {
	if len(p.r.Aside) == 0 {
		return
	}
	t := newTable("ASIDE", "KIND", "SIZE", "WHEN SERVED")
	for _, a := range p.r.Aside {
		t.row(a.Path, a.Kind, byteSize(a.Bytes), a.Fate)
	}
	p.line("")
	p.table(t)
}

func (p *adoption) groups() {
	if len(p.r.Groups) == 0 {
		return
	}
	t := newTable("GROUP", "TYPE", "MEMBERS", "EPOCH", "OFFSETS")
	for _, g := range p.r.Groups {
		var offsets []string
		for _, o := range g.Offsets {
			offsets = append(offsets, fmt.Sprintf("%s-%d:%d", o.Topic, o.Partition, o.Offset))
		}
		t.row(g.ID, g.Type, g.Members, g.Epoch, some(offsets, 6))
	}
	p.line("")
	p.table(t)
}

// some joins the first few.
func some(list []string, n int) string {
	if len(list) > n {
		return strings.Join(list[:n], " ") + fmt.Sprintf(" and %d more", len(list)-n)
	}
	return strings.Join(list, " ")
}

func (p *adoption) transactions() {
	if len(p.r.Transactions) > 0 {
		t := newTable("TRANSACTIONAL ID", "PRODUCER", "EPOCH", "STATE", "BEGAN", "PARTITIONS")
		for _, x := range p.r.Transactions {
			began := ""
			if x.StartMs > 0 {
				began = time.UnixMilli(x.StartMs).UTC().Format(time.RFC3339)
			}
			t.row(x.ID, x.ProducerID, x.ProducerEpoch, x.State, began, some(x.Partitions, 6))
		}
		p.line("")
		p.table(t)
	}
	t := newTable("OPEN IN", "PRODUCER", "EPOCH", "SINCE OFFSET")
	producers := 0
	for _, topic := range p.r.Topics {
		for _, part := range topic.Partitions {
			producers += part.Producers
			for _, o := range part.Open {
				t.row(fmt.Sprintf("%s-%d", topic.Name, part.Partition), o.ProducerID, o.ProducerEpoch, o.FirstOffset)
			}
		}
	}
	if len(t.rows) > 0 {
		p.line("")
		p.table(t)
	}
	p.line("\n%s remembered by the partitions", count(int64(producers), "producer"))
}

func (p *adoption) serve() {
	v := p.r.Serve
	p.line("")
	if v.Takes {
		p.line("samsa serve would take it.")
	} else {
		p.list("samsa serve would refuse it:", v.Refusals)
	}
	p.list("To know:", v.Notes)
	p.list("What would change on disk:", v.Changes)
	p.list("What would stay:", v.Stays)
}
