package controller

import (
	"context"
	"math"
	"net"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

// Types of quota entities (KIP-546, KIP-612).
const (
	userEntity   = "user"
	clientEntity = "client-id"
	ipEntity     = "ip"
)

// resolveTimeout bounds looking up the name of an ip entity.
const resolveTimeout = 5 * time.Second

// wholeEpsilon is how far a number may be from a whole one and count as it (ClientQuotaControlManager).
const wholeEpsilon = 1e-6

// quotaLimit returns the largest value of a quota key that an entity may have; whole: no fractions. 0: no such key.
func quotaLimit(e metadata.QuotaEntity, key string) (limit float64, whole bool) {
	_, ip := e[ipEntity]
	switch key {
	case "connection_creation_rate":
		if ip {
			return math.MaxInt32, true
		}
	case "producer_byte_rate", "consumer_byte_rate":
		if !ip {
			return math.MaxInt64, true
		}
	case "request_percentage", "controller_mutation_rate":
		if !ip {
			return math.MaxFloat64, false
		}
	}
	return 0, false
}

// AlterClientQuotas sets and removes limits. Each entity's changes are made as a whole or, with an error, not at all.
func (c *Controller) AlterClientQuotas(ctx context.Context, req *kmsg.AlterClientQuotasRequest) *kmsg.AlterClientQuotasResponse {
	resp := req.ResponseKind().(*kmsg.AlterClientQuotasResponse)
	changes := make([]quotaChange, len(req.Entries))
	seen := map[string]int{}
	for n, e := range req.Entries {
		changes[n] = newQuotaChange(ctx, e)
		seen[changes[n].entity.Key()]++
	}
	_, err := c.update(func(i *metadata.Image, _ record.Offset) ([]stored.Message, error) {
		var out []stored.Message
		for n := range changes {
			if ch := &changes[n]; ch.err == nil && seen[ch.entity.Key()] == 1 && !req.ValidateOnly {
				out = append(out, ch.records(i.ClientQuota(ch.entity))...)
			}
		}
		if len(out) > maxRecordsPerOperation {
			return nil, refuse(kerr.PolicyViolation, "one request can make %d changes", maxRecordsPerOperation)
		}
		return out, nil
	})
	told := map[string]bool{}
	for _, ch := range changes {
		key := ch.entity.Key()
		if told[key] {
			continue
		}
		told[key] = true
		failed := ch.err
		switch {
		case err != nil:
			failed = asError(err)
		case seen[key] > 1:
			failed = refuse(kerr.InvalidRequest, "the entity stands twice in the request")
		}
		resp.Entries = append(resp.Entries, quotaResult(ch.entity, failed))
	}
	return resp
}

func quotaResult(e metadata.QuotaEntity, err *Error) kmsg.AlterClientQuotasResponseEntry {
	out := kmsg.NewAlterClientQuotasResponseEntry()
	out.ErrorCode, out.ErrorMessage = err.code(), err.message()
	for _, d := range e.Data() {
		part := kmsg.NewAlterClientQuotasResponseEntryEntity()
		part.Type, part.Name = d.EntityType, d.EntityName
		out.Entity = append(out.Entity, part)
	}
	return out
}

// quotaChange is what one entry of a request asks for.
type quotaChange struct {
	entity metadata.QuotaEntity
	ops    []kmsg.AlterClientQuotasRequestEntryOp
	err    *Error
}

func newQuotaChange(ctx context.Context, e kmsg.AlterClientQuotasRequestEntry) quotaChange {
	ch := quotaChange{entity: metadata.QuotaEntity{}, ops: e.Ops}
	for _, part := range e.Entity {
		ch.entity[part.Type] = part.Name // a type named twice is merged, as Kafka's maps do
	}
	if ch.err = checkEntity(ctx, ch.entity); ch.err != nil {
		return ch
	}
	keys := map[string]bool{}
	for _, op := range e.Ops {
		if keys[op.Key] {
			ch.err = refuse(kerr.InvalidRequest, "the key %s stands twice", op.Key)
			return ch
		}
		keys[op.Key] = true
		if ch.err = checkQuota(ch.entity, op); ch.err != nil {
			return ch
		}
	}
	return ch
}

func checkEntity(ctx context.Context, e metadata.QuotaEntity) *Error {
	if len(e) == 0 {
		return refuse(kerr.InvalidRequest, "the entity is empty")
	}
	for kind, name := range e {
		switch {
		case !slices.Contains([]string{userEntity, clientEntity, ipEntity}, kind):
			return refuse(kerr.InvalidRequest, "there is no entity type %q", kind)
		case name != nil && *name == "":
			return refuse(kerr.InvalidRequest, "the name of the %s is empty", kind)
		}
	}
	ip, ok := e[ipEntity]
	switch {
	case !ok:
		return nil
	case len(e) > 1:
		return refuse(kerr.InvalidRequest, "an ip entity stands alone")
	case ip != nil && !resolvable(ctx, *ip):
		return refuse(kerr.InvalidRequest, "%q is neither an address nor a host that can be resolved", *ip)
	}
	return nil
}

func resolvable(ctx context.Context, host string) bool {
	if net.ParseIP(host) != nil {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	_, err := net.DefaultResolver.LookupHost(ctx, host)
	return err == nil
}

func checkQuota(e metadata.QuotaEntity, op kmsg.AlterClientQuotasRequestEntryOp) *Error {
	if op.Remove {
		return nil
	}
	limit, whole := quotaLimit(e, op.Key)
	switch v := op.Value; {
	case limit == 0:
		return refuse(kerr.InvalidRequest, "%q is no quota of such an entity", op.Key)
	case !(v > 0) || v > limit:
		return refuse(kerr.InvalidRequest, "%s is %g, outside of its range", op.Key, v)
	case whole && math.Abs(math.Round(v)-v) > wholeEpsilon:
		return refuse(kerr.InvalidRequest, "%s is %g, not a whole number", op.Key, v)
	}
	return nil
}

// records are what changes of an entity's present limits. Removing what is not there is fine.
func (ch *quotaChange) records(now map[string]float64) []stored.Message {
	var out []stored.Message
	for _, op := range ch.ops {
		old, set := now[op.Key]
		if op.Remove && !set || !op.Remove && set && old == op.Value {
			continue
		}
		m := &stored.ClientQuotaRecord{Entity: ch.entity.Data(), Key: op.Key, Remove: op.Remove}
		if !op.Remove {
			m.Value = op.Value
		}
		out = append(out, m)
	}
	return out
}
