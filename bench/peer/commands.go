package peer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// port returns a port that is free now.
func (l *Launcher) port() (int, error) {
	if l.FirstPort == 0 {
		return listenable(0)
	}
	l.nextPort = max(l.nextPort, l.FirstPort)
	for range 1000 {
		l.nextPort++
		if port, err := listenable(l.nextPort); err == nil {
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free port after %d", l.FirstPort)
}

func listenable(port int) (int, error) {
	s, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return 0, fmt.Errorf("port: %w", err)
	}
	defer s.Close()
	return s.Addr().(*net.TCPAddr).Port, nil
}

// settings merges what every start has with more. A single broker needs single replicas, and members of groups are
// not waited for.
func (l *Launcher) settings(more map[string]string) map[string]string {
	all := map[string]string{"offsets.topic.replication.factor": "1", "group.initial.rebalance.delay.ms": "0"}
	maps.Copy(all, l.Settings)
	maps.Copy(all, more)
	return all
}

func samsaCommand(program, addr, dir string, settings map[string]string) []string {
	args := []string{program, "serve", "--dir", dir, "--listen", addr}
	for _, k := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "--set", k+"="+settings[k])
	}
	return args
}

// kafkaCommand formats dir when it is new. Heap and collector are those of Kafka's own start script.
func (l *Launcher) kafkaCommand(ctx context.Context, port int, dir string, settings map[string]string) ([]string, error) {
	controller, err := l.port()
	if err != nil {
		return nil, err
	}
	home := dir + "-home"
	if err := os.MkdirAll(home, 0o755); err != nil {
		return nil, fmt.Errorf("start kafka: %w", err)
	}
	config := filepath.Join(home, "server.properties")
	if err := os.WriteFile(config, []byte(kafkaProperties(port, controller, dir, settings)), 0o644); err != nil {
		return nil, fmt.Errorf("start kafka: %w", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "meta.properties")); errors.Is(err, fs.ErrNotExist) {
		args := l.Java("256m", "kafka.tools.StorageTool", "format", "-t", "c2Ftc2EtYmVuY2htYXJrMQ", "-c", config, "--standalone")
		if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("format for kafka: %w: %s", err, out)
		}
	}
	return l.Java("1g", append(performanceOptions(), "kafka.Kafka", config)...), nil
}

func kafkaProperties(port, controller int, dir string, settings map[string]string) string {
	lines := []string{
		"process.roles=broker,controller", "node.id=1",
		fmt.Sprintf("listeners=PLAINTEXT://127.0.0.1:%d,CONTROLLER://127.0.0.1:%d", port, controller),
		"controller.listener.names=CONTROLLER", fmt.Sprintf("controller.quorum.bootstrap.servers=127.0.0.1:%d", controller),
		"listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT", "log.dirs=" + dir,
		"transaction.state.log.replication.factor=1", "transaction.state.log.min.isr=1",
		"share.coordinator.state.topic.replication.factor=1", "share.coordinator.state.topic.min.isr=1",
	}
	for _, k := range slices.Sorted(maps.Keys(settings)) {
		lines = append(lines, k+"="+settings[k])
	}
	return strings.Join(lines, "\n") + "\n"
}

// performanceOptions are those that Apache Kafka's scripts give brokers and tools alike.
func performanceOptions() []string {
	return []string{"-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent"}
}

// Java returns the command line of a class of Apache Kafka with the given heap.
func (l *Launcher) Java(heap string, args ...string) []string {
	return append([]string{"java", "-Xmx" + heap, "-Xms" + heap, "-cp", filepath.Join(l.Jars, "*")}, args...)
}

// Tool returns the command line of one of Apache Kafka's tools as its script (kafka-run-class.sh) starts it when nothing is set, the JMX
// agent included; the script's own time is not.
func (l *Launcher) Tool(heap string, args ...string) []string {
	command := append([]string{"java", "-Xmx" + heap}, performanceOptions()...)
	command = append(command, "-XX:MaxInlineLevel=15", "-Djava.awt.headless=true", "-Dcom.sun.management.jmxremote=true",
		"-Dcom.sun.management.jmxremote.authenticate=false", "-Dcom.sun.management.jmxremote.ssl=false", "-cp", filepath.Join(l.Jars, "*"))
	return append(command, args...)
}
