package modern

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/samsalog/samsa/internal/stored"
)

// epochs is a group of nothing but an epoch, in records of consumer groups.
type epochs struct{ epoch int32 }

func (e *epochs) Clone() *epochs { c := *e; return &c }

func (e *epochs) Apply(_, value []byte) error {
	if value == nil {
		e.epoch = 0
		return nil
	}
	v, err := Decode[*stored.ConsumerGroupMetadataValue](value, 3)
	if err == nil {
		e.epoch = v.Epoch
	}
	return err
}

// What is written changes the copy and leaves the group as it was; the records bring the group to where the copy is.
func TestDraft(t *testing.T) {
	g := &epochs{epoch: 4}
	d := Draft[*epochs]{Group: g}
	key := &stored.ConsumerGroupMetadataKey{GroupID: "g"}
	d.Write(key, &stored.ConsumerGroupMetadataValue{Epoch: 5})
	first := d.Group
	d.Write(key, &stored.ConsumerGroupMetadataValue{Epoch: 6})
	if g.epoch != 4 || d.Group.epoch != 6 || d.Group != first || len(d.Records) != 2 {
		t.Fatalf("given %v, drafted %v, %d records", g, d.Group, len(d.Records))
	}
	if want := []byte{0, 3, 0, 1, 'g'}; !bytes.Equal(d.Records[0].Key, want) {
		t.Errorf("the key is %x, want %x", d.Records[0].Key, want)
	}
	d.Write(key, nil)
	if d.Group.epoch != 0 || d.Records[2].Value != nil {
		t.Errorf("a tombstone: %v, %v", d.Group, d.Records[2])
	}
	for _, r := range d.Records[:2] {
		if err := g.Apply(r.Key, r.Value); err != nil {
			t.Fatal(err)
		}
	}
	if g.epoch != 6 {
		t.Errorf("applied: %v", g)
	}
	defer func() {
		if x, _ := recover().(string); !strings.Contains(x, "BUG") {
			t.Errorf("a record that cannot be read back: %q", x)
		}
	}()
	d.Write(key, &stored.ShareGroupMetadataValue{Epoch: 1 << 20})
	d.Write(key, &stored.GroupMetadataKey{})
}

func TestDecode(t *testing.T) {
	value := stored.AppendValue(nil, &stored.ConsumerGroupMetadataValue{Epoch: 7}, 0)
	if _, err := Decode[*stored.ShareGroupMetadataValue](value, 3); !errors.Is(err, errValueType) {
		t.Errorf("a value of another type: %v", err)
	}
	for n := range value {
		if _, err := Decode[*stored.ConsumerGroupMetadataValue](value[:n], 3); err == nil {
			t.Errorf("%d of %d bytes are no error", n, len(value))
		}
	}
}

type person struct{ id, instance string }

func (p *person) Key() string { return p.id }

func (p *person) Instance() *string {
	if p.instance == "" {
		return nil
	}
	return &p.instance
}

// An instance id belongs to whoever took it last, and is free when that one has gone (MODERN-2).
func TestRoster(t *testing.T) {
	r := NewRoster[*person]()
	a, b := &person{"a", "i"}, &person{"b", ""}
	if r.Admit(a) != nil || r.Admit(b) != nil || r.Static("i") != a {
		t.Fatal("two members join")
	}
	c := &person{"c", "i"}
	r.Admit(c)
	before := r.Copy()
	if r.Dismiss("a") != a || r.Static("i") != c {
		t.Error("the one before takes the instance id of the next away")
	}
	if before.Members["a"] != a {
		t.Error("the copy changes with the roster")
	}
	moved := &person{"c", "j"}
	if r.Admit(moved) != c || r.Static("i") != nil || r.Static("j") != moved {
		t.Error("a member changes its instance id")
	}
	if got := r.InOrder(); len(got) != 2 || got[0] != b || got[1] != moved {
		t.Errorf("in order: %v", got)
	}
	if r.Dismiss("nobody") != nil || r.Dismiss("c") != moved || r.Static("j") != nil {
		t.Error("a member goes")
	}
	r.Admit(c)
	instance, other := "i", "x"
	for _, x := range []struct {
		id       string
		instance *string
		want     *kerr.Error
	}{
		{"b", nil, nil}, {"z", nil, kerr.UnknownMemberID}, {"c", &instance, nil},
		{"b", &instance, kerr.FencedInstanceID}, {"c", &other, kerr.UnknownMemberID},
	} {
		if m, e := r.Named(x.id, x.instance); e != x.want || (m == nil) == (e == nil) {
			t.Errorf("%v: %v, %v; want %v", x, m, e, x.want)
		}
	}
}

func TestCheckEpoch(t *testing.T) {
	for _, x := range []struct {
		said, epoch, previous int32
		own                   bool
		want                  *kerr.Error
	}{
		{5, 5, 4, false, nil},
		{Join, 5, 4, false, nil},
		{4, 5, 4, true, nil},
		{4, 5, 4, false, kerr.FencedMemberEpoch},
		{3, 5, 4, true, kerr.FencedMemberEpoch},
		{6, 5, 4, true, kerr.FencedMemberEpoch},
		{6, 5, 6, true, kerr.FencedMemberEpoch},
	} {
		if e := CheckEpoch(x.said, x.epoch, x.previous, x.own); e != x.want {
			t.Errorf("%+v: %v", x, e)
		}
	}
}

func TestProgress(t *testing.T) {
	p := Begun()
	if p.Wants() || !p.Rested(1000, 0) {
		t.Errorf("a new group: %+v", p)
	}
	p.Epoch++
	p.Assigned(1, 5000)
	if !p.Wants() || p.Rested(2e9, 6999) || !p.Rested(2e9, 7000) {
		t.Errorf("two seconds after an assignment: %+v", p)
	}
	p.Unassigned()
	if p.AssignmentEpoch != -1 || p.AssignmentMs != 0 {
		t.Errorf("without an assignment: %+v", p)
	}
}
