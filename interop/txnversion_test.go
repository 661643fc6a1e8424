package interop

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A transactional producer goes on while transaction.version is taken down and up again, between its transactions and in
// the middle of one, with the connections that it has and with new ones: what it committed can be read, what it aborted
// cannot.
func TestTransactionVersionIsSwitched(t *testing.T) {
	addr := sharedBroker(t)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	topic := createTopic(t, addr, "txnversion", 2)
	admin, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	setLevel := func(level int16) {
		t.Helper()
		req := kmsg.NewPtrUpdateFeaturesRequest()
		f := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
		f.Feature, f.MaxVersionLevel, f.UpgradeType = "transaction.version", level, 1
		if level < 2 {
			f.UpgradeType = 2 // a safe downgrade
		}
		req.FeatureUpdates = append(req.FeatureUpdates, f)
		resp, err := req.RequestWith(ctx, admin)
		if err != nil {
			t.Fatal(err)
		}
		if resp.ErrorCode != 0 {
			t.Fatalf("level %d: %v", level, kerr.ErrorForCode(resp.ErrorCode))
		}
	}
	defer setLevel(2)
	producers := map[string]*kgo.Client{}
	producer := func(id string) *kgo.Client {
		if producers[id] == nil {
			cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.TransactionalID(topic+id), kgo.DefaultProduceTopic(topic))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(cl.Close)
			producers[id] = cl
		}
		return producers[id]
	}
	var want []string
	transaction := func(id string, commit kgo.TransactionEndTry, between func()) {
		t.Helper()
		cl := producer(id)
		if err := cl.BeginTransaction(); err != nil {
			t.Fatalf("%s: begin: %v", id, err)
		}
		var values []string
		for i := range 4 {
			if i == 2 && between != nil {
				between()
			}
			value := fmt.Sprintf("%s-%d-%d", id, len(want), i)
			if err := cl.ProduceSync(ctx, kgo.StringRecord(value)).FirstErr(); err != nil {
				t.Fatalf("%s: produce: %v", id, err)
			}
			values = append(values, value)
		}
		if err := cl.EndTransaction(ctx, commit); err != nil {
			t.Fatalf("%s: end: %v", id, err)
		}
		if commit {
			want = append(want, values...)
		}
	}
	for round, level := range []int16{1, 2, 1, 2} {
		transaction("old", kgo.TryCommit, nil)
		transaction("old", kgo.TryCommit, func() { setLevel(level) })
		transaction("old", kgo.TryAbort, nil)
		transaction("old", kgo.TryCommit, nil)
		id := fmt.Sprint("new", round)
		transaction(id, kgo.TryAbort, nil)
		transaction(id, kgo.TryCommit, func() { setLevel(3 - level) })
		transaction(id, kgo.TryCommit, func() { setLevel(level) })
	}
	reader, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	var got []string
	for len(got) < len(want) {
		fs := reader.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			t.Fatalf("%d of %d records: %v", len(got), len(want), err)
		}
		fs.EachRecord(func(r *kgo.Record) { got = append(got, string(r.Value)) })
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("committed:\n%v\nwant\n%v", got, want)
	}
}
