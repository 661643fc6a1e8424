package figure

import "slices"

// key names a figure of a row against a peer.
type key struct{ row, peer, name string }

// Table holds the samples of a run in the order of their coming.
type Table struct {
	Run     Run
	rows    []string
	peers   map[string][]string // by row
	names   map[string][]Value  // by row; their values mean nothing
	rounds  map[key]map[int]float64
	skipped []Skipped
}

// NewTable returns an empty table.
func NewTable() *Table {
	return &Table{peers: map[string][]string{}, names: map[string][]Value{}, rounds: map[key]map[int]float64{}}
}

// Add adds a sample. A second one of the same round counts in place of the first.
func (t *Table) Add(s Sample) {
	if !slices.Contains(t.rows, s.Row) {
		t.rows = append(t.rows, s.Row)
	}
	if !slices.Contains(t.peers[s.Row], s.Peer) {
		t.peers[s.Row] = append(t.peers[s.Row], s.Peer)
	}
	if !slices.ContainsFunc(t.names[s.Row], func(v Value) bool { return v.Name == s.Name }) {
		t.names[s.Row] = append(t.names[s.Row], s.Value)
	}
	k := key{s.Row, s.Peer, s.Name}
	if t.rounds[k] == nil {
		t.rounds[k] = map[int]float64{}
	}
	t.rounds[k][s.Round] = s.Value.Value
}

// Skip notes why something has no figures.
func (t *Table) Skip(s Skipped) {
	if !slices.Contains(t.skipped, s) {
		t.skipped = append(t.skipped, s)
	}
}

// Rows returns the names of the rows that have figures.
func (t *Table) Rows() []string { return t.rows }

// Peers returns the peers with figures in row.
func (t *Table) Peers(row string) []string { return t.peers[row] }

// Skips returns what was left out.
func (t *Table) Skips() []Skipped { return t.skipped }

// Names returns the figures of row with their units.
func (t *Table) Names(row string) []Value { return t.names[row] }

// Summary sums up a figure of a row against a peer.
func (t *Table) Summary(row, peer, name string) Summary {
	return Summarise(t.values(row, peer, name))
}

// values returns the rounds in order.
func (t *Table) values(row, peer, name string) []float64 {
	rounds := t.rounds[key{row, peer, name}]
	var numbers []int
	for n := range rounds {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	var values []float64
	for _, n := range numbers {
		values = append(values, rounds[n])
	}
	return values
}

// Ratio returns a figure divided by another of the same or a different row (FIG-2); false when one is missing or 0.
func (t *Table) Ratio(row, peer, name, ofRow, ofPeer, ofName string) (float64, bool) {
	a, b := t.rounds[key{row, peer, name}], t.rounds[key{ofRow, ofPeer, ofName}]
	var ratios []float64
	for n, v := range a {
		if w := b[n]; w != 0 {
			ratios = append(ratios, v/w)
		}
	}
	if row == ofRow && len(ratios) == len(a) && len(ratios) == len(b) && len(ratios) > 0 {
		return Summarise(ratios).Median, true
	}
	over, under := t.Summary(row, peer, name), t.Summary(ofRow, ofPeer, ofName)
	if over.N == 0 || under.Median == 0 {
		return 0, false
	}
	return over.Median / under.Median, true
}
