package txn

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/coord"
)

// invalidRegularExpression is INVALID_REGULAR_EXPRESSION.
const invalidRegularExpression = 128

// ListTransactions answers a ListTransactions request (versions 0 to 2) for the partitions that this node leads.
func (s *Service) ListTransactions(_ context.Context, req *kmsg.ListTransactionsRequest) *kmsg.ListTransactionsResponse {
	r := kmsg.NewPtrListTransactionsResponse()
	r.Version = req.Version
	q := listing{producerIDs: req.ProducerIDFilters, olderThanMs: -1, all: len(req.StateFilters) == 0}
	if req.Version >= 1 {
		q.olderThanMs = req.DurationFilterMillis
	}
	for _, name := range req.StateFilters {
		if st, ok := stateNamed(name); ok {
			q.states = append(q.states, st)
		} else {
			r.UnknownStateFilters = append(r.UnknownStateFilters, name)
		}
	}
	if p := req.TransactionalIDPattern; req.Version >= 2 && p != nil && *p != "" {
		var err error
		if q.pattern, err = regexp.Compile("^(?:" + *p + ")$"); err != nil {
			r.ErrorCode = invalidRegularExpression
			return r
		}
	}
	for _, p := range s.runtime.Partitions() {
		l := askPartition(s, p, func(m *machine, a *answer[listed]) coord.Result {
			l := listed{transactions: m.list(q)}
			return coord.After(func(err error) {
				l.code = code(err)
				a.give(l)
			})
		}, func(c int16) listed { return listed{code: c} })
		switch l.code {
		case kerr.CoordinatorLoadInProgress.Code:
			r.ErrorCode, r.TransactionStates = l.code, nil
			return r
		case 0:
			r.TransactionStates = append(r.TransactionStates, l.transactions...)
		}
	}
	slices.SortFunc(r.TransactionStates, func(a, b kmsg.ListTransactionsResponseTransactionState) int {
		return strings.Compare(a.TransactionalID, b.TransactionalID)
	})
	return r
}

// listing is what is asked for.
type listing struct {
	states      []State
	all         bool
	producerIDs []int64
	// olderThanMs leaves out transactions that have been open for less; negative: none.
	olderThanMs int64
	pattern     *regexp.Regexp
}

type listed struct {
	code         int16
	transactions []kmsg.ListTransactionsResponseTransactionState
}

func (m *machine) list(q listing) (out []kmsg.ListTransactionsResponseTransactionState) {
	nowMs := m.nowMs()
	for id, e := range m.ids {
		switch {
		case e.state == Dead,
			!q.all && !slices.Contains(q.states, e.state),
			len(q.producerIDs) > 0 && !slices.Contains(q.producerIDs, int64(e.producerID)),
			q.olderThanMs >= 0 && nowMs-e.startMs <= q.olderThanMs, // before the first transaction: infinitely old
			q.pattern != nil && !q.pattern.MatchString(id):
			continue
		}
		t := kmsg.NewListTransactionsResponseTransactionState()
		t.TransactionalID, t.ProducerID, t.TransactionState = id, int64(e.producerID), e.state.String()
		out = append(out, t)
	}
	return out
}
