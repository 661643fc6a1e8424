package interop

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// message is a record independent of any client. nil bytes are null.
type message struct {
	partition   int32
	timestampMs int64
	key, value  []byte
	headers     []header
}

type header struct {
	key   string
	value []byte
}

// String shows everything; long bytes as their hash.
func (m message) String() string {
	var hs []string
	for _, h := range m.headers {
		hs = append(hs, h.key+"="+show(h.value))
	}
	return fmt.Sprintf("p%d @%d %s=%s [%s]", m.partition, m.timestampMs, show(m.key), show(m.value), strings.Join(hs, " "))
}

func show(b []byte) string {
	switch {
	case b == nil:
		return "null"
	case len(b) > 32:
		return fmt.Sprintf("%d bytes %x", len(b), sha256.Sum256(b))
	default:
		return fmt.Sprintf("%q", b)
	}
}

// largestValue is the size of the largest value in bytes: five times Kafka's default limit of a batch.
const largestValue = 5_000_000

// tableOfMessages returns the records that every producer must carry, over some partitions.
func tableOfMessages(partitions int32) []message {
	random := rand.New(rand.NewPCG(7, 7))
	blob := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(random.IntN(256))
		}
		return b
	}
	contents := [][]byte{nil, {}, []byte("text"), []byte("é✓\u0000\n"), {0xff, 0xfe, 0}, blob(1000)}
	var messages []message
	add := func(m message) {
		m.partition = int32(len(messages)) % partitions
		messages = append(messages, m)
	}
	base := int64(1_700_000_000_000)
	for i, key := range contents {
		for j, value := range contents {
			add(message{key: key, value: value, timestampMs: base + int64(i*1000+j)})
		}
	}
	// Timestamps that go back within a batch, the oldest possible, and one with a sub-second part.
	for _, ts := range []int64{base + 5, base + 3, base + 4, 1, base + 123_456_789} {
		add(message{key: []byte("time"), value: []byte("ordered by arrival"), timestampMs: ts})
	}
	hs := []header{{"a", []byte("1")}, {"a", []byte("2")}, {"binary", []byte{0, 255}}, {"", []byte("no name")}, {"null", nil}, {"empty", []byte{}}}
	add(message{key: []byte("headers"), value: []byte("many"), headers: hs, timestampMs: base})
	add(message{value: bytes.Repeat([]byte("compressible "), 40_000), timestampMs: base + 9})
	add(message{key: []byte("large"), value: blob(largestValue), timestampMs: base + 10})
	return messages
}

// compareMessages checks that got holds exactly want: per partition in order, every byte.
func compareMessages(t *testing.T, want, got []message) {
	t.Helper()
	byPartition := func(ms []message) []message {
		ms = slices.Clone(ms)
		slices.SortStableFunc(ms, func(a, b message) int { return cmp.Compare(a.partition, b.partition) })
		return ms
	}
	want, got = byPartition(want), byPartition(got)
	if len(want) != len(got) {
		t.Errorf("read %d records of %d", len(got), len(want))
	}
	for i := range min(len(want), len(got)) {
		if want[i].String() != got[i].String() {
			t.Fatalf("record %d:\n got %s\nwant %s", i, got[i], want[i])
		}
	}
}

// emptyAsNull is what a client sees that does not tell empty bytes from null.
func emptyAsNull(messages []message) []message {
	seen := slices.Clone(messages)
	for i := range seen {
		if len(seen[i].key) == 0 {
			seen[i].key = nil
		}
		if len(seen[i].value) == 0 {
			seen[i].value = nil
		}
		seen[i].headers = slices.Clone(seen[i].headers)
		for j, h := range seen[i].headers {
			if len(h.value) == 0 {
				seen[i].headers[j].value = nil
			}
		}
	}
	return seen
}
