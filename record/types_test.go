package record

import (
	"bytes"
	"math"
	"testing"
)

func TestSequenceWraps(t *testing.T) {
	const top = Sequence(math.MaxInt32)
	for _, c := range []struct {
		s    Sequence
		n    int32
		want Sequence
	}{{0, 1, 1}, {top, 1, 0}, {top - 1, 3, 1}, {5, math.MaxInt32, 4}} {
		if got := c.s.Add(c.n); got != c.want {
			t.Errorf("%d + %d = %d, want %d", c.s, c.n, got, c.want)
		}
		if got := c.want.Back(c.n); got != c.s {
			t.Errorf("%d - %d = %d, want %d", c.want, c.n, got, c.s)
		}
	}
}

func TestUUIDText(t *testing.T) {
	id := UUID{0xfb, 0xff, 15: 1}
	if got := id.String(); got != "-_8AAAAAAAAAAAAAAAAAAQ" {
		t.Error(got)
	}
	for _, s := range []string{id.String(), id.String() + "=="} {
		if got, err := ParseUUID(s); err != nil || got != id {
			t.Errorf("%q: %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "AAAA", "AAAAAAAAAAAAAAAAAAAAAAAAA", "!!!!!!!!!!!!!!!!!!!!!!"} {
		if _, err := ParseUUID(s); err == nil {
			t.Errorf("%q was read", s)
		}
	}
}

// Ids that would be reserved, or begin with a dash in text, are drawn again.
func TestNewUUIDDrawsAgain(t *testing.T) {
	dash, good := bytes.Repeat([]byte{0xfb}, 16), bytes.Repeat([]byte{0x11}, 16)
	id, err := NewUUID(bytes.NewReader(append(dash, good...)))
	if err != nil || id[0] != 0x11 || id[6]>>4 != 4 || id[8]>>6 != 2 {
		t.Errorf("%v, %v", id, err)
	}
	if _, err := NewUUID(bytes.NewReader(dash)); err == nil {
		t.Error("no error from an empty source")
	}
	if !UnassignedDirID.IsReserved() || !(UUID{15: 99}).IsReserved() || (UUID{15: 100}).IsReserved() || (UUID{7: 1, 15: 5}).IsReserved() {
		t.Error("reserved ids")
	}
}

func TestControlTypes(t *testing.T) {
	for typ := ControlAbort; typ <= ControlKRaftVoters; typ++ {
		got, err := ParseControlKey(append(ControlKey(typ), 9))
		if err != nil || got != typ || !typ.Known() {
			t.Errorf("%v: %v, %v", typ, got, err)
		}
	}
	if s := ControlType(9).String(); s != "UNKNOWN(9)" || ControlType(-1).Known() {
		t.Error(s)
	}
	for _, key := range [][]byte{nil, {0, 0, 0}, {0xff, 0xff, 0, 1}} {
		if _, err := ParseControlKey(key); err == nil {
			t.Errorf("key %x was read", key)
		}
	}
	long := append(EndTxnMarker{Type: ControlAbort, CoordinatorEpoch: -7}.Value(), 1, 2)
	if m, err := ParseEndTxnMarker(ControlKey(ControlAbort), long); err != nil || m.CoordinatorEpoch != -7 || m.Type != ControlAbort {
		t.Errorf("longer value: %+v, %v", m, err)
	}
	for _, value := range [][]byte{nil, {0, 0, 0, 0, 0}, {0x80, 0, 0, 0, 0, 0}} {
		if _, err := ParseEndTxnMarker(ControlKey(ControlCommit), value); err == nil {
			t.Errorf("value %x was read", value)
		}
	}
	if _, err := ParseEndTxnMarker(ControlKey(ControlLeaderChange), long); err == nil {
		t.Error("a leader change was read as an end marker")
	}
}
