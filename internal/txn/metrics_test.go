package txn

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/samsalog/samsa/record"
)

// What waits for markers, or to be recorded, is counted while it does; verifications are counted for good.
func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		tp := record.TopicPartition{Topic: "t"}
		h.answer(tp, errNotHosted)
		p := h.open("x", tp)
		ask := func(partition int32) {
			h.Verify(t.Context(), Verification{
				TransactionalID: "x", ProducerID: p.id, ProducerEpoch: p.epoch, Partitions: []record.TopicPartition{{Topic: "t", Partition: partition}},
			})
		}
		ask(0)
		ask(7)
		h.end("x", p, true)
		time.Sleep(time.Second)
		if m := h.Metrics(); m.WithoutMarkers != 1 || m.Unrecorded != 0 || m.Verifications != 2 || m.VerificationFailures != 1 || m.Shards.Active != 1 || m.Shards.Loads != 1 {
			t.Errorf("without its marker: %+v", m)
		}
		h.part.fail(errors.New("no space"))
		h.answer(tp, nil)
		time.Sleep(time.Minute)
		if m := h.Metrics(); m.WithoutMarkers != 0 || m.Unrecorded != 1 {
			t.Errorf("unrecorded: %+v", m)
		}
		h.part.fail(nil)
		time.Sleep(time.Minute)
		if m := h.Metrics(); m.Unrecorded != 0 || h.state("x") != "CompleteCommit" {
			t.Errorf("at the end: %+v, %s", m, h.state("x"))
		}
		h.Close()
		if err := h.part.log.Close(); err != nil {
			t.Error(err)
		}
	})
}
