package metadata

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/samsalog/samsa/internal/stored"
)

// security applies records about ACLs, credentials, tokens and quotas. It reports false for any other record.
func (f *fold) security(m stored.Message) bool {
	i := &f.img
	switch m := m.(type) {
	case *stored.AccessControlEntryRecord:
		i.acls = i.acls.with(m.ID, m, f.edit)
	case *stored.RemoveAccessControlEntryRecord:
		i.acls = i.acls.without(m.ID, f.edit)
	case *stored.UserScramCredentialRecord:
		i.scram = i.scram.with(scramKey{m.Name, m.Mechanism}, m, f.edit)
	case *stored.RemoveUserScramCredentialRecord:
		i.scram = i.scram.without(scramKey{m.Name, m.Mechanism}, f.edit)
	case *stored.DelegationTokenRecord:
		i.tokens = i.tokens.with(m.TokenID, m, f.edit)
	case *stored.RemoveDelegationTokenRecord:
		i.tokens = i.tokens.without(m.TokenID, f.edit)
	case *stored.ClientQuotaRecord:
		f.quota(m)
	default:
		return false
	}
	return true
}

func (f *fold) quota(m *stored.ClientQuotaRecord) {
	key := entityKey(m.Entity)
	old, _ := f.img.quotas.get(key)
	next := &quota{entity: m.Entity, values: map[string]float64{}}
	if old != nil {
		next.values = maps.Clone(old.values)
	}
	if m.Remove {
		delete(next.values, m.Key)
	} else {
		next.values[m.Key] = m.Value
	}
	if len(next.values) == 0 {
		f.img.quotas = f.img.quotas.without(key, f.edit)
		return
	}
	f.img.quotas = f.img.quotas.with(key, next, f.edit)
}

// entityKey is the same for entities that differ only in the order of their parts. Types and names are free
// text, so each part is written with marks that no part can imitate: lengths.
func entityKey(entity []stored.ClientQuotaRecordEntityData) string {
	parts := make([]string, len(entity))
	for i, e := range entity {
		name := "-"
		if e.EntityName != nil {
			name = "+" + *e.EntityName
		}
		parts[i] = strings.Join([]string{lengthOf(e.EntityType), e.EntityType, lengthOf(name), name}, ":")
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}

func lengthOf(s string) string { return strconv.Itoa(len(s)) }
