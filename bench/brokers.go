package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// broker is a running broker of one kind.
type broker struct {
	name, addr string
	cmd        *exec.Cmd
	// startup is how long it took from the start of the process to the first answered request.
	startup time.Duration
}

func (b *broker) stop() {
	if err := b.cmd.Process.Signal(os.Interrupt); err != nil {
		return
	}
	done := make(chan error, 1)
	go func() { done <- b.cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		_ = b.cmd.Process.Kill()
		<-done
	}
}

func startSamsa(ctx context.Context, t tools, dir string) (*broker, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	return start(ctx, t, "Samsa", addr, dir, []string{t.samsa, "serve", "--dir", dir, "--listen", addr, "--set", "group.initial.rebalance.delay.ms=0"})
}

// startKafka runs Apache Kafka with the heap of its own start script and its default collector.
func startKafka(ctx context.Context, t tools, dir string) (*broker, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	controller, err := freePort()
	if err != nil {
		return nil, err
	}
	home := dir + "-home"
	if err := os.MkdirAll(home, 0o755); err != nil {
		return nil, err
	}
	properties := strings.Join([]string{
		"process.roles=broker,controller", "node.id=1",
		fmt.Sprintf("listeners=PLAINTEXT://127.0.0.1:%d,CONTROLLER://127.0.0.1:%d", port, controller),
		"controller.listener.names=CONTROLLER", fmt.Sprintf("controller.quorum.bootstrap.servers=127.0.0.1:%d", controller),
		"listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT", "log.dirs=" + dir,
		"offsets.topic.replication.factor=1", "transaction.state.log.replication.factor=1", "transaction.state.log.min.isr=1",
		"share.coordinator.state.topic.replication.factor=1", "share.coordinator.state.topic.min.isr=1", "group.initial.rebalance.delay.ms=0", "",
	}, "\n")
	config := filepath.Join(home, "server.properties")
	if err := os.WriteFile(config, []byte(properties), 0o644); err != nil {
		return nil, err
	}
	format := t.java("256m", "kafka.tools.StorageTool", "format", "-t", "c2Ftc2EtYmVuY2htYXJrMQ", "-c", config, "--standalone")
	if _, err := output(ctx, format[0], format[1:]...); err != nil {
		return nil, err
	}
	return start(ctx, t, "Apache Kafka 4.4.0", fmt.Sprintf("127.0.0.1:%d", port), dir, t.java("1g", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20",
		"-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent", "kafka.Kafka", config))
}

func start(ctx context.Context, t tools, name, addr, dir string, args []string) (*broker, error) {
	log, err := os.Create(dir + ".log")
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	b := &broker{name: name, addr: addr, cmd: cmd}
	for time.Since(began) < time.Minute && ctx.Err() == nil {
		if _, err := output(ctx, t.samsa, "topics", "list", "--bootstrap", addr, "--timeout", "2s"); err == nil {
			b.startup = time.Since(began)
			return b, nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	b.stop()
	return nil, errors.Join(fmt.Errorf("%s did not start; its log is %s", name, log.Name()), ctx.Err())
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// printMemory adds what the brokers cost besides time, where the system tells.
func printMemory(w io.Writer, brokers []*broker) {
	fmt.Fprint(w, "\n| broker | start to first answer | resident memory at the end |\n|---|---|---|\n")
	for _, b := range brokers {
		fmt.Fprintf(w, "| %s | %d ms | %s |\n", b.name, b.startup.Milliseconds(), residentMemory(b.cmd.Process.Pid))
	}
}

func residentMemory(pid int) string {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			var kib int64
			if _, err := fmt.Sscan(value, &kib); err == nil {
				return fmt.Sprintf("%d MiB", kib/1024)
			}
		}
	}
	return "unknown"
}
