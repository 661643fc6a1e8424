package samsa_test

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/samsalog/samsa/record"
)

// TestI09LatestOffsetByIsolation: for a reader of everything the latest offset is the high watermark, for one of committed
// records the last stable offset. They differ while a transaction is open, and only then: a tool that takes one for
// the other sees a lag that never goes.
func TestI09LatestOffsetByIsolation(t *testing.T) {
	b := startBroker(t, map[string]string{"transaction.state.log.num.partitions": "1", "transaction.state.log.replication.factor": "1"})
	cl := clientOf(t, b)
	createTopic(t, cl, "lag", 1)
	txn := clientOf(t, b, kgo.TransactionalID("lag"), kgo.DefaultProduceTopic("lag"))
	compare := func(when string, all, committed int64) {
		t.Helper()
		const uncommitted, readCommitted = 0, 1
		hw, _ := listOffset(t, cl, "lag", -1, uncommitted)
		lso, _ := listOffset(t, cl, "lag", -1, readCommitted)
		if hw != all || lso != committed {
			t.Errorf("%s: latest is %d, of committed records %d; want %d and %d", when, hw, lso, all, committed)
		}
	}
	compare("empty", 0, 0)
	for i := range int64(2) {
		if err := txn.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		if err := txn.ProduceSync(t.Context(), &kgo.Record{Value: []byte("a")}).FirstErr(); err != nil {
			t.Fatal(err)
		}
		compare("open", 2*i+1, 2*i)
		if err := txn.EndTransaction(t.Context(), kgo.TransactionEndTry(i == 0)); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the marker", func() bool { hw, _ := listOffset(t, cl, "lag", -1, 0); return hw == 2*i+2 })
		compare("ended", 2*i+2, 2*i+2) // the marker counts
	}
}

// TestT03TimestampBounds: records more than an hour ahead are refused with the record's index, and both bounds are each
// topic's own and can be changed (KIP-937).
func TestT03TimestampBounds(t *testing.T) {
	cl := clientOf(t, startBroker(t, nil))
	createTopic(t, cl, "bounds", 1)
	now := time.Now().UnixMilli()
	hour := time.Hour.Milliseconds()
	refused := func(ts int64) {
		t.Helper()
		p := produceBatch(t, cl, "bounds", 0, batchOf(record.None, 1, now, ts, now))
		if p.ErrorCode != kerr.InvalidTimestamp.Code || p.BaseOffset != -1 || len(p.ErrorRecords) != 1 || p.ErrorRecords[0].RelativeOffset != 1 {
			t.Fatalf("timestamp now%+d ms: %+v", ts-now, p)
		}
	}
	accepted := func(ts, offset int64) {
		t.Helper()
		if p := produceBatch(t, cl, "bounds", 0, batchOf(record.None, 1, now, ts, now)); p.ErrorCode != 0 || p.BaseOffset != offset {
			t.Fatalf("timestamp now%+d ms: code %d, offset %d", ts-now, p.ErrorCode, p.BaseOffset)
		}
	}
	set := func(name, value string) {
		t.Helper()
		res, err := kadm.NewClient(cl).AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: name, Value: &value}}, "bounds")
		if err != nil || res[0].Err != nil {
			t.Fatal(err, res)
		}
	}
	refused(now + 2*hour)
	accepted(now+hour/2, 0)
	accepted(now-1000*hour, 3)
	set("message.timestamp.after.max.ms", "10000000")
	accepted(now+2*hour, 6)
	set("message.timestamp.before.max.ms", "3600000")
	refused(now - 2*hour)
	accepted(now-hour/2, 9)
}
