package proc

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Of returns what process pid has used until now.
func Of(pid int) (Usage, error) {
	var u Usage
	read := func(name string) (string, error) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
		return string(b), err
	}
	stat, err := read("stat")
	if err != nil {
		return u, err
	}
	if u.CPU, err = parseStat(stat); err != nil {
		return u, err
	}
	status, err := read("status")
	if err != nil {
		return u, err
	}
	if u.Resident, u.Peak, u.Private, err = parseStatus(status); err != nil {
		return u, err
	}
	io, err := read("io")
	if err != nil {
		return u, err
	}
	u.Read, u.Written, err = parseIO(io)
	return u, err
}

// ForgetPeak makes Usage.Peak begin anew at what is resident now.
func ForgetPeak(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}

// Memory returns the memory of the machine in bytes.
func Memory() (int64, error) {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	kib, err := field(string(b), "MemTotal:")
	return kib * 1024, err
}

// Processor returns the name of the processor.
func Processor() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(b)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

// Calls counts the system calls of process pid while during runs. It needs perf and the right to use it.
func Calls(ctx context.Context, pid int, during func() error) (int64, error) {
	cmd := exec.CommandContext(ctx, "perf", "stat", "-x,", "-e", "raw_syscalls:sys_enter", "-p", strconv.Itoa(pid))
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("perf: %w", err)
	}
	Attached(cmd.Process.Pid)
	failed := during()
	_ = cmd.Process.Signal(os.Interrupt)
	_ = cmd.Wait() // interrupted, as it must be
	if failed != nil {
		return 0, failed
	}
	return parsePerf(out.String())
}

// Attached waits until perf, the process of that number, has opened its counters; if it cannot, it will say so itself.
func Attached(perf int) {
	for range 200 {
		names, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", perf))
		if err != nil {
			return
		}
		for _, name := range names {
			if to, err := os.Readlink(name); err == nil && strings.Contains(to, "perf_event") {
				time.Sleep(20 * time.Millisecond) // one counter per thread, opened in a row
				return
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
}
