package adopt

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/stored"
)

// Kept is a kind of metadata that is kept and not acted on.
type Kept struct {
	What  string `json:"what"`
	Count int    `json:"count"`
	// Each has a line for each, without what is secret.
	Each []string `json:"each"`
	// Hidden: no admin client is told while Samsa serves, as by a Kafka that is not set up for them.
	Hidden bool `json:"hidden"`
}

// kept lists what is kept and not acted on. Quotas, credentials and client metrics can be described and changed, and limit,
// admit or ask nobody; ACLs and tokens can be seen here only, and by an Apache Kafka that has an authorizer.
func (m *Metadata) kept() {
	kinds := []Kept{{What: "access control entries", Hidden: true}, {What: "client quotas"}, {What: "SCRAM credentials"}, {What: "delegation tokens", Hidden: true}, {What: "client metrics subscriptions"}}
	for a := range m.image.AccessControlEntries() {
		kinds[0].Each = append(kinds[0].Each, aclText(a))
	}
	for e, limits := range m.image.ClientQuotas() {
		kinds[1].Each = append(kinds[1].Each, quotaText(e, limits))
	}
	for c := range m.image.ScramCredentials() {
		kinds[2].Each = append(kinds[2].Each, fmt.Sprintf("user %s: %s, %d iterations", c.Name, named(c.Mechanism, "", "SCRAM-SHA-256", "SCRAM-SHA-512"), c.Iterations))
	}
	for t := range m.image.DelegationTokens() {
		kinds[3].Each = append(kinds[3].Each, tokenText(t))
	}
	for r := range m.image.ConfigResources() {
		if r.Type == metadata.ClientMetricsResource {
			kinds[4].Each = append(kinds[4].Each, r.Name+": "+pairs(m.image.Config(r)))
		}
	}
	slices.Sort(kinds[4].Each)
	for _, k := range kinds {
		if k.Count = len(k.Each); k.Count > 0 {
			m.Kept = append(m.Kept, k)
		}
	}
}

// named is the name of a code of the protocol, or its number.
func named(code int8, names ...string) string {
	if code > 0 && int(code) < len(names) {
		return names[code]
	}
	return strconv.Itoa(int(code))
}

// aclText has the names of AclPermissionType, AclOperation, ResourceType and PatternType of Kafka's clients.
func aclText(a *stored.AccessControlEntryRecord) string {
	permission := named(a.PermissionType, "", "ANY", "DENY", "ALLOW")
	operation := named(a.Operation, "", "ANY", "ALL", "READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "CLUSTER_ACTION", "DESCRIBE_CONFIGS",
		"ALTER_CONFIGS", "IDEMPOTENT_WRITE", "CREATE_TOKENS", "DESCRIBE_TOKENS", "TWO_PHASE_COMMIT")
	resource := named(a.ResourceType, "", "ANY", "TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID", "DELEGATION_TOKEN", "USER")
	pattern := named(a.PatternType, "", "ANY", "MATCH", "LITERAL", "PREFIXED")
	return fmt.Sprintf("%s %s from %s: %s on %s %s (%s)", permission, a.Principal, a.Host, operation, resource, a.ResourceName, pattern)
}

func quotaText(e metadata.QuotaEntity, limits map[string]float64) string {
	var who, what []string
	for _, d := range e.Data() {
		name := "(default)"
		if d.EntityName != nil {
			name = *d.EntityName
		}
		who = append(who, d.EntityType+" "+name)
	}
	for _, key := range slices.Sorted(maps.Keys(limits)) {
		what = append(what, key+"="+strconv.FormatFloat(limits[key], 'f', -1, 64))
	}
	return strings.Join(who, ", ") + ": " + strings.Join(what, " ")
}

func tokenText(t *stored.DelegationTokenRecord) string {
	at := func(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }
	return fmt.Sprintf("%s of %s, requested by %s, renewed by %s, expires %s, at the latest %s", t.TokenID, t.Owner, t.Requester, orNobody(t.Renewers),
		at(t.ExpirationTimestamp), at(t.MaxTimestamp))
}

func orNobody(names []string) string {
	if len(names) == 0 {
		return "nobody else"
	}
	return strings.Join(names, ", ")
}

func pairs(m map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, k+"="+m[k])
	}
	return strings.Join(out, " ")
}
