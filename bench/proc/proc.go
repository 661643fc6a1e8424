package proc

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Usage is what a process has used since it began.
type Usage struct {
	// CPU is user and system time of all its threads, in steps of 10 ms.
	CPU time.Duration
	// Resident and Peak are bytes of memory now and at most (VmRSS, VmHWM). Private is what of Resident are no pages of
	// files, the program's own among them (RssAnon).
	Resident, Peak, Private int64
	// Read and Written are bytes that it caused to be read from and sent to disk; what is still in the page cache
	// counts as written.
	Read, Written int64
}

// tick is the unit of the times in /proc/PID/stat: USER_HZ, which is 100 on every port of Linux that Go has.
const tick = 10 * time.Millisecond

// parseStat returns the processor time in the text of /proc/PID/stat.
func parseStat(text string) (time.Duration, error) {
	// The name of the program, in brackets, may hold anything.
	at := strings.LastIndexByte(text, ')')
	fields := strings.Fields(text[at+1:])
	if at < 0 || len(fields) < 13 {
		return 0, fmt.Errorf("stat: %q", text)
	}
	var ticks int64
	for _, f := range fields[11:13] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("stat: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * tick, nil
}

// parseStatus returns the memory in the text of /proc/PID/status, in bytes.
func parseStatus(text string) (resident, peak, private int64, err error) {
	var all [3]int64
	for i, name := range []string{"VmRSS:", "VmHWM:", "RssAnon:"} {
		if all[i], err = field(text, name); err != nil {
			return 0, 0, 0, err
		}
	}
	return all[0] * 1024, all[1] * 1024, all[2] * 1024, nil
}

// parseIO returns bytes read and written in the text of /proc/PID/io.
func parseIO(text string) (read, written int64, err error) {
	if read, err = field(text, "read_bytes:"); err != nil {
		return 0, 0, err
	}
	written, err = field(text, "write_bytes:")
	return read, written, err
}

// field returns the number of the line that begins with name.
func field(text, name string) (int64, error) {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			if fields := strings.Fields(rest); len(fields) > 0 {
				return strconv.ParseInt(fields[0], 10, 64)
			}
		}
	}
	return 0, fmt.Errorf("no %s", name)
}

// parsePerf returns the number of events in the output of perf stat -x,.
func parsePerf(text string) (int64, error) {
	for line := range strings.Lines(text) {
		if fields := strings.Split(strings.TrimSpace(line), ","); len(fields) > 2 && strings.HasPrefix(fields[2], "raw_syscalls:sys_enter") {
			return strconv.ParseInt(fields[0], 10, 64)
		}
	}
	return 0, fmt.Errorf("perf: %s", strings.TrimSpace(text))
}
