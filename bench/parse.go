package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// produceResult is the last line of a producer perf tool.
type produceResult struct {
	records    int64
	perSecond  float64
	mbSecond   float64
	p50, p99   float64 // milliseconds
	avgLatency float64
}

// consumeResult is the line of a consumer perf tool. Rates leave out the time until the group had its
// partitions (fetch.nMsg.sec, fetch.MB.sec).
type consumeResult struct {
	records   int64
	perSecond float64
	mbSecond  float64
}

func parseProduce(out string) (produceResult, error) {
	line := regexp.MustCompile(`(?m)^(\d+) records sent, ([\d.]+) records/sec \(([\d.]+) MB/sec\), ([\d.]+) ms avg latency, [\d.]+ ms max latency, (\d+) ms 50th, \d+ ms 95th, (\d+) ms 99th`)
	m := line.FindStringSubmatch(out)
	if m == nil {
		return produceResult{}, fmt.Errorf("no summary in the producer's output:\n%s", out)
	}
	return produceResult{records: int64(number(m[1])), perSecond: number(m[2]), mbSecond: number(m[3]), avgLatency: number(m[4]), p50: number(m[5]), p99: number(m[6])}, nil
}

func parseConsume(out string) (consumeResult, error) {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	fields := strings.Split(lines[len(lines)-1], ", ")
	if len(fields) != 10 || strings.HasPrefix(fields[0], "start.time") {
		return consumeResult{}, fmt.Errorf("no summary in the consumer's output:\n%s", out)
	}
	return consumeResult{records: int64(number(fields[4])), mbSecond: number(fields[8]), perSecond: number(fields[9])}, nil
}

// number reads a figure of a perf tool, which has been matched or printed as one.
func number(s string) float64 {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0
	}
	return n
}
