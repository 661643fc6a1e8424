package txn

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/samsalog/samsa/record"
)

// An orderly stop leaves nothing that is decided and not done to who comes next, but does not wait for ever.
func TestSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		a, b := record.TopicPartition{Topic: "t"}, record.TopicPartition{Topic: "t", Partition: 1}
		h.open("open", a) // waits for its producer, not for us
		if !h.Settle(t.Context()) {
			t.Error("nothing is decided, and it does not settle")
		}
		h.answer(b, errNotHosted)
		h.end("x", h.open("x", a, b), true)
		limit, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if began := time.Now(); h.Settle(limit) || time.Since(began) != time.Second {
			t.Errorf("settled, or gave up after %v, while a partition takes no marker", time.Since(began))
		}
		settled := make(chan bool)
		go func() { settled <- h.Settle(t.Context()) }()
		synctest.Wait()
		h.answer(b, nil)
		if !<-settled || h.state("x") != "CompleteCommit" || h.markers(b)[0] != 1 {
			t.Errorf("it settled in state %s, with %v markers", h.state("x"), h.markers(b))
		}
		h.Close()
		if !h.Settle(t.Context()) {
			t.Error("a service without partitions has something decided")
		}
		if err := h.part.log.Close(); err != nil {
			t.Error(err)
		}
	})
}
