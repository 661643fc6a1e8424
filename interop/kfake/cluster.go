package kfake

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The environment names the binary, and a file that gets what the brokers log.
const (
	binaryVariable = "SAMSA"
	logVariable    = "SAMSA_TEST_LOG"
)

// Opt is an option of NewCluster.
type Opt func(*options)

type options struct {
	topics  []seeded
	configs map[string]string
}

type seeded struct {
	name       string
	partitions int32
}

// NumBrokers does nothing: Samsa is one node.
func NumBrokers(int) Opt { return func(*options) {} }

// SeedTopics has topics made at the start.
func SeedTopics(partitions int32, names ...string) Opt {
	return func(o *options) {
		for _, name := range names {
			o.topics = append(o.topics, seeded{name, partitions})
		}
	}
}

// BrokerConfigs sets settings of the broker.
func BrokerConfigs(configs map[string]string) Opt {
	return func(o *options) {
		for k, v := range configs {
			o.configs[k] = v
		}
	}
}

// Cluster is one broker.
type Cluster struct {
	addr   string
	dir    string
	broker *exec.Cmd
	client *kgo.Client
	log    io.Closer
}

// NewCluster starts a broker on a free port, with an empty directory.
func NewCluster(opts ...Opt) (*Cluster, error) {
	o := &options{configs: map[string]string{
		// What the stand-in's original lets tests set has bounds in a broker: they are as wide as they can be.
		"group.initial.rebalance.delay.ms": "0", "group.streams.initial.rebalance.delay.ms": "0", "group.min.session.timeout.ms": "1",
		"group.consumer.min.heartbeat.interval.ms": "1", "group.consumer.min.session.timeout.ms": "1",
		"group.share.min.heartbeat.interval.ms": "1", "group.share.min.session.timeout.ms": "1",
		"group.consumer.assignment.interval.ms": "0", "group.share.assignment.interval.ms": "0",
		"auto.create.topics.enable": "false",
		// The first answer to a member of a new share group assigns nothing yet; tests do not wait for another one for long.
		"group.share.heartbeat.interval.ms": "100",
	}}
	for _, opt := range opts {
		opt(o)
	}
	dir, err := os.MkdirTemp("", "samsa-kfake-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{dir: dir}
	args := []string{"serve", "--dir", dir, "--listen", "127.0.0.1:0"}
	for k, v := range o.configs {
		args = append(args, "--set", k+"="+v)
	}
	if err := c.start(args); err != nil {
		c.Close()
		return nil, err
	}
	if c.client, err = kgo.NewClient(kgo.SeedBrokers(c.addr)); err != nil {
		c.Close()
		return nil, err
	}
	for _, t := range o.topics {
		if err := c.CreateTopic(t.name, t.partitions, nil); err != nil {
			c.Close()
			return nil, err
		}
	}
	return c, nil
}

// start starts the broker and waits until it serves.
func (c *Cluster) start(args []string) error {
	log, err := os.OpenFile(os.Getenv(logVariable), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("%s: %w", logVariable, err)
	}
	c.log = log
	c.broker = exec.Command(os.Getenv(binaryVariable), args...)
	out, err := c.broker.StderrPipe()
	if err != nil {
		return err
	}
	if err := c.broker.Start(); err != nil {
		return fmt.Errorf("%s: %w", binaryVariable, err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		fmt.Fprintln(log, lines.Text())
		if !strings.Contains(lines.Text(), "msg=serving ") {
			continue
		}
		_, after, _ := strings.Cut(lines.Text(), "address=")
		c.addr, _, _ = strings.Cut(after, " ")
		go func() { _, _ = io.Copy(log, out) }()
		return nil
	}
	return errors.New("the broker did not start: see " + os.Getenv(logVariable))
}

// Close ends the broker and removes what it has written.
func (c *Cluster) Close() {
	if c.client != nil {
		c.client.Close()
	}
	if c.broker != nil && c.broker.Process != nil {
		_ = c.broker.Process.Signal(syscall.SIGKILL)
		_ = c.broker.Wait()
	}
	if c.log != nil {
		c.log.Close()
	}
	os.RemoveAll(c.dir)
}

// ListenAddrs are the addresses of the brokers.
func (c *Cluster) ListenAddrs() []string { return []string{c.addr} }

// ListenPorts are their ports.
func (c *Cluster) ListenPorts() []int {
	_, port, _ := net.SplitHostPort(c.addr)
	n, _ := strconv.Atoi(port)
	return []int{n}
}

// LeaderFor is the node that leads a partition; -1 if there is no such partition.
func (c *Cluster) LeaderFor(topic string, partition int32) int32 {
	req := kmsg.NewPtrMetadataRequest()
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = kmsg.StringPtr(topic)
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(context.Background(), c.client)
	if err != nil {
		return -1
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if p.Partition == partition {
				return p.Leader
			}
		}
	}
	return -1
}

// CreateTopic creates a topic with the given configs, nil for none.
func (c *Cluster) CreateTopic(topic string, partitions int32, configs map[string]string) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = topic, partitions, 1
	for k, v := range configs {
		x := kmsg.NewCreateTopicsRequestTopicConfig()
		x.Name, x.Value = k, kmsg.StringPtr(v)
		t.Configs = append(t.Configs, x)
	}
	req.Topics = append(req.Topics, t)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	resp, err := req.RequestWith(ctx, c.client)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.Topics[0].ErrorCode)
}

// SetGroupConfigs sets settings of a group.
func (c *Cluster) SetGroupConfigs(group string, configs map[string]string) {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeGroupConfig, group
	for k, v := range configs {
		x := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		x.Name, x.Value = k, kmsg.StringPtr(v)
		r.Configs = append(r.Configs, x)
	}
	req.Resources = append(req.Resources, r)
	if resp, err := req.RequestWith(context.Background(), c.client); err != nil || resp.Resources[0].ErrorCode != 0 {
		panic(fmt.Sprint("group configs: ", resp, err))
	}
}
