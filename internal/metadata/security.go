package metadata

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

// QuotaEntity names whom quotas are for: a name by entity type (user, client-id, ip), nil for the default of the type.
type QuotaEntity map[string]*string

// Key is the same for equal entities and differs for others.
func (e QuotaEntity) Key() string { return entityKey(e.Data()) }

// Data is the entity as records have it, in order of the types.
func (e QuotaEntity) Data() []stored.ClientQuotaRecordEntityData {
	out := make([]stored.ClientQuotaRecordEntityData, 0, len(e))
	for _, t := range sortedKeys(e) {
		out = append(out, stored.ClientQuotaRecordEntityData{EntityType: t, EntityName: e[t]})
	}
	return out
}

// ClientQuotas yields entities with their limits by quota key, in a stable order. The maps must not be changed.
func (i *Image) ClientQuotas() iter.Seq2[QuotaEntity, map[string]float64] {
	return func(yield func(QuotaEntity, map[string]float64) bool) {
		for _, q := range inOrder(i.quotas) {
			if !yield(entityOf(q.entity), q.values) {
				return
			}
		}
	}
}

// ClientQuota returns the limits of one entity, nil when it has none. The map must not be changed.
func (i *Image) ClientQuota(e QuotaEntity) map[string]float64 {
	q, _ := i.quotas.get(e.Key())
	if q == nil {
		return nil
	}
	return q.values
}

func entityOf(data []stored.ClientQuotaRecordEntityData) QuotaEntity {
	e := make(QuotaEntity, len(data))
	for _, d := range data {
		e[d.EntityType] = d.EntityName
	}
	return e
}

// ScramCredentials yields all credentials, by user and then by mechanism. They must not be changed.
func (i *Image) ScramCredentials() iter.Seq[*stored.UserScramCredentialRecord] {
	return func(yield func(*stored.UserScramCredentialRecord) bool) {
		all := maps.Collect(i.scram.all())
		for _, k := range slices.SortedFunc(maps.Keys(all), compareScramKeys) {
			if !yield(all[k]) {
				return
			}
		}
	}
}

// ScramCredential returns a user's credential for a mechanism (1 SCRAM-SHA-256, 2 SCRAM-SHA-512), nil when there is none.
func (i *Image) ScramCredential(user string, mechanism int8) *stored.UserScramCredentialRecord {
	c, _ := i.scram.get(scramKey{user, mechanism})
	return c
}

func compareScramKeys(a, b scramKey) int {
	return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.mechanism, b.mechanism))
}

// AccessControlEntries yields all ACLs, by id. They must not be changed.
func (i *Image) AccessControlEntries() iter.Seq[*stored.AccessControlEntryRecord] {
	return func(yield func(*stored.AccessControlEntryRecord) bool) {
		all := maps.Collect(i.acls.all())
		for _, id := range slices.SortedFunc(maps.Keys(all), func(a, b record.UUID) int { return slices.Compare(a[:], b[:]) }) {
			if !yield(all[id]) {
				return
			}
		}
	}
}

// DelegationTokens yields all delegation tokens, by id. They must not be changed; what authenticates with them is in no record.
func (i *Image) DelegationTokens() iter.Seq[*stored.DelegationTokenRecord] {
	return slices.Values(inOrder(i.tokens))
}

// ControllerRegistered reports whether a controller has registered under an id.
func (i *Image) ControllerRegistered(id int32) bool { return i.controllers[id] != nil }
