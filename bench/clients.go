package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// tools says where the programs are.
type tools struct{ samsa, jars string }

// java returns the command line of a class of Apache Kafka with the given heap.
func (t tools) java(heap string, args ...string) []string {
	return append([]string{"java", "-Xmx" + heap, "-Xms" + heap, "-cp", filepath.Join(t.jars, "*")}, args...)
}

// client is a pair of perf tools.
type client struct {
	name  string
	tools tools
	// run returns the command lines for producing and consuming.
	produceArgs, consumeArgs func(addr, topic string, c benchCase) []string
}

// clients are samsa bench (franz-go) and Kafka's own tools (the Java client), with the same flags.
func clients(t tools) []client {
	return []client{
		{"samsa-bench", t, func(addr, topic string, c benchCase) []string {
			return append([]string{t.samsa, "bench", "produce"}, produceFlags(addr, topic, c)...)
		}, func(addr, topic string, c benchCase) []string {
			return append([]string{t.samsa, "bench", "consume"}, consumeFlags(addr, topic, c)...)
		}},
		{"kafka-perf-test", t, func(addr, topic string, c benchCase) []string {
			return t.java("512m", append([]string{"org.apache.kafka.tools.ProducerPerformance"}, produceFlags(addr, topic, c)...)...)
		}, func(addr, topic string, c benchCase) []string {
			return t.java("512m", append([]string{"org.apache.kafka.tools.ConsumerPerformance"}, consumeFlags(addr, topic, c)...)...)
		}},
	}
}

func produceFlags(addr, topic string, c benchCase) []string {
	return append([]string{"--bootstrap-server", addr, "--topic", topic, "--num-records", strconv.Itoa(c.records),
		"--record-size", strconv.Itoa(c.size), "--throughput", "-1", "--command-property"}, c.properties...)
}

func consumeFlags(addr, topic string, c benchCase) []string {
	return []string{"--bootstrap-server", addr, "--topic", topic, "--num-records", strconv.Itoa(c.records)}
}

func (c client) produce(ctx context.Context, addr, topic string, bc benchCase) (string, error) {
	args := c.produceArgs(addr, topic, bc)
	return output(ctx, args[0], args[1:]...)
}

func (c client) consume(ctx context.Context, addr, topic string, bc benchCase) (string, error) {
	args := c.consumeArgs(addr, topic, bc)
	return output(ctx, args[0], args[1:]...)
}

// output runs a program and returns its standard output; what it said on standard error is in the error.
func output(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("%s: %w: %s", filepath.Base(name), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.String(), nil
}

func build(ctx context.Context, root, target string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", target, "./cmd/samsa")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	return cmd.Run()
}
