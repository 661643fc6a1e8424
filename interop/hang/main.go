// Command hang leaves a hanging transaction behind: a transactional batch, an hour old, that no coordinator knows of, as
// brokers without verification of partitions could get it (KIP-890). Verification is switched off for as long as it takes.
//
//	hang -bootstrap HOST:PORT -topic TOPIC
//
// It prints the offset of the batch and the producer id.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/samsalog/samsa/record"
)

// The last version of Produce in which clients add partitions to transactions themselves, and its acks of all replicas.
const (
	produceVersion = 11
	allReplicas    = -1
	timeoutMs      = 10_000
)

const verification = "transaction.partition.verification.enable"

func main() {
	bootstrap := flag.String("bootstrap", "127.0.0.1:9092", "a broker")
	topic := flag.String("topic", "", "a topic that exists; the batch goes to partition 0")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := hang(ctx, *bootstrap, *topic); err != nil {
		fmt.Fprintln(os.Stderr, "hang:", err)
		os.Exit(1)
	}
}

func hang(ctx context.Context, bootstrap, topic string) error {
	newest := kversion.Stable()
	newest.SetMaxKeyVersion(kmsg.Produce.Int16(), produceVersion)
	cl, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.MaxVersions(newest))
	if err != nil {
		return err
	}
	defer cl.Close()
	admin := kadm.NewClient(cl)
	if err := verify(ctx, admin, "false"); err != nil {
		return err
	}
	pid, offset, err := produce(ctx, cl, topic)
	if err := verify(ctx, admin, "true"); err != nil {
		return err
	}
	if err == nil {
		fmt.Println(offset, pid)
	}
	return err
}

func verify(ctx context.Context, admin *kadm.Client, value string) error {
	answers, err := admin.AlterBrokerConfigs(ctx, []kadm.AlterConfig{{Name: verification, Value: &value}})
	if err != nil {
		return err
	}
	for _, a := range answers {
		if a.Err != nil {
			return a.Err
		}
	}
	return nil
}

func produce(ctx context.Context, cl *kgo.Client, topic string) (pid, offset int64, err error) {
	init := kmsg.NewPtrInitProducerIDRequest()
	id, err := init.RequestWith(ctx, cl)
	if err == nil {
		err = kerr.ErrorForCode(id.ErrorCode)
	}
	if err != nil {
		return 0, 0, err
	}
	nowMs := time.Now().Add(-time.Hour).UnixMilli()
	o := record.DefaultBuilderOptions()
	o.ProducerID, o.ProducerEpoch = record.ProducerID(id.ProducerID), record.ProducerEpoch(id.ProducerEpoch)
	o.BaseSequence, o.Transactional = 0, true
	b := record.NewBuilder(o)
	b.Append(nowMs, nil, []byte("hanging"), nil)
	p, t := kmsg.NewProduceRequestTopicPartition(), kmsg.NewProduceRequestTopic()
	p.Records = b.Build()
	t.Topic, t.Partitions = topic, append(t.Partitions, p)
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis, req.TransactionID, req.Topics = allReplicas, timeoutMs, new("hang"), append(req.Topics, t)
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return 0, 0, err
	}
	got := resp.Topics[0].Partitions[0]
	return id.ProducerID, got.BaseOffset, kerr.ErrorForCode(got.ErrorCode)
}
