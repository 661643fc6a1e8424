package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// benchCase is one row of the table: produce so many records of a size, then consume them.
type benchCase struct {
	name       string
	records    int
	size       int
	partitions int
	properties []string // of the producer
}

// cases are the rows. Sizes and settings are those that people try first: the defaults of the perf tools.
func cases(scale float64) []benchCase {
	n := func(records int) int { return max(1000, int(float64(records)*scale)) }
	return []benchCase{
		{"100 B, acks=all", n(1_000_000), 100, 1, []string{"acks=all"}},
		{"1 KiB, acks=all", n(400_000), 1024, 1, []string{"acks=all"}},
		{"1 KiB, acks=1", n(400_000), 1024, 1, []string{"acks=1"}},
		{"1 KiB, acks=all, 64 KiB batches", n(400_000), 1024, 1, []string{"acks=all", "batch.size=65536"}},
		{"1 KiB, acks=all, lz4", n(300_000), 1024, 1, []string{"acks=all", "compression.type=lz4"}},
		{"1 KiB, acks=all, zstd", n(200_000), 1024, 1, []string{"acks=all", "compression.type=zstd"}},
		{"1 KiB, acks=all, 12 partitions", n(400_000), 1024, 12, []string{"acks=all"}},
		{"100 KiB, acks=all", n(5_000), 100 << 10, 1, []string{"acks=all"}},
	}
}

func (c benchCase) matches(only string) bool { return only == "" || strings.Contains(c.name, only) }

// measure runs the case once in a topic of its own, which is deleted afterwards.
func (c benchCase) measure(ctx context.Context, client client, b *broker, round int) (produceResult, consumeResult, error) {
	topic := fmt.Sprintf("bench-%s-%d-%d-%d", client.name, c.size, c.records, round)
	admin := func(args ...string) error {
		_, err := output(ctx, client.tools.samsa, append([]string{"topics"}, append(args, "--bootstrap", b.addr)...)...)
		return err
	}
	// An interrupted run may have left the topic.
	if err := admin("delete", topic, "--if-exists"); err != nil {
		return produceResult{}, consumeResult{}, err
	}
	if err := admin("create", topic, "--partitions", strconv.Itoa(c.partitions)); err != nil {
		return produceResult{}, consumeResult{}, err
	}
	out, err := client.produce(ctx, b.addr, topic, c)
	if err != nil {
		return produceResult{}, consumeResult{}, err
	}
	produced, err := parseProduce(out)
	if err != nil {
		return produceResult{}, consumeResult{}, err
	}
	if out, err = client.consume(ctx, b.addr, topic, c); err != nil {
		return produced, consumeResult{}, err
	}
	consumed, err := parseConsume(out)
	if err != nil {
		return produced, consumed, err
	}
	if produced.records != int64(c.records) || consumed.records < int64(c.records) {
		return produced, consumed, fmt.Errorf("produced %d and consumed %d of %d records", produced.records, consumed.records, c.records)
	}
	return produced, consumed, admin("delete", topic)
}
