package group

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/samsalog/samsa/internal/coord"
)

// kind is what a group is.
type kind int8

const (
	classicKind kind = iota
	consumerKind
	shareKind
	streamsKind
)

// kindOf says to which kind of group a record type belongs; false for offsets, classic groups and types that
// nobody writes (9, 18) or knows.
func kindOf(recordType int16) (kind, bool) {
	switch {
	case recordType >= 3 && recordType <= 8, recordType == 16:
		return consumerKind, true
	case recordType >= 10 && recordType <= 15:
		return shareKind, true
	case recordType == 17, recordType >= 19 && recordType <= 23:
		return streamsKind, true
	}
	return 0, false
}

// shareMemberType is the record type that describes a member of a share group.
const shareMemberType = 10

// foreignGroup is a group of a kind that is not served: its records are only remembered, so that its id is not
// taken by a classic group and so that it can be deleted.
type foreignGroup struct {
	kind kind
	// keys are the record keys that have a value.
	keys    map[string]struct{}
	members int
}

func (f *foreignGroup) empty() bool { return f.members == 0 }

// tombstones remove every record of the group, members' before the group's: types in falling order, as Kafka
// writes them.
func (f *foreignGroup) tombstones() []coord.Record {
	keys := make([]string, 0, len(f.keys))
	for k := range f.keys {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int {
		if d := int(typeIn(b)) - int(typeIn(a)); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	out := make([]coord.Record, len(keys))
	for i, k := range keys {
		out[i] = coord.Record{Key: []byte(k)}
	}
	return out
}

func typeIn(key string) int16 { return int16(binary.BigEndian.Uint16([]byte(key[:2]))) }

// replayForeign remembers one record of a group of another kind. A simple group of that id, made because
// offsets were replayed first, gives way: no record stands behind it.
func (m *machine) replayForeign(k kind, group string, r coord.Replayed) {
	f := m.foreign[group]
	recordType := int16(binary.BigEndian.Uint16(r.Key))
	if r.Value == nil {
		if f == nil {
			return
		}
		if _, there := f.keys[string(r.Key)]; there && recordType == shareMemberType {
			f.members--
		}
		delete(f.keys, string(r.Key))
		if len(f.keys) == 0 {
			delete(m.foreign, group)
		}
		return
	}
	if f == nil || f.kind != k {
		f = &foreignGroup{kind: k, keys: map[string]struct{}{}}
		m.foreign[group] = f
	}
	if _, there := f.keys[string(r.Key)]; !there && recordType == shareMemberType {
		f.members++
	}
	f.keys[string(r.Key)] = struct{}{}
	m.dropConsumer(m.consumers[group])
	m.dropStreams(m.streams[group])
	if g := m.groups[group]; g != nil && g.isSimple() {
		m.remove(g)
	}
}

// foreignTo returns the group of another kind that owns the id, nil if a classic group or nobody does.
func (m *machine) foreignTo(group string) *foreignGroup {
	if m.groups[group] != nil || m.consumers[group] != nil || m.streams[group] != nil {
		return nil
	}
	return m.foreign[group]
}
