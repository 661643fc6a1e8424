package run

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/samsalog/samsa/bench/peer"
	"github.com/samsalog/samsa/bench/proc"
	"github.com/samsalog/samsa/bench/row"
)

// profile samples a standing server with perf during its first counted round. Go programs have frame pointers, so
// their stacks are whole; a JVM's would need an agent.
func (r *Runner) profile(one row.Row, n peer.Name, round int) (stop func(), err error) {
	running := r.standing[n]
	if r.options.Perf == "" || !one.Standing || round != 1 || running == nil || n == peer.Kafka {
		return func() {}, nil
	}
	if err := os.MkdirAll(r.options.Perf, 0o755); err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	name := filepath.Join(r.options.Perf, strings.NewReplacer("/", "-", " ", "-", "=", "-").Replace(one.Name+"-"+string(n)))
	cmd := exec.Command("perf", "record", "-q", "-F", "997", "-g", "-o", name+".data", "-p", strconv.Itoa(running.PID()))
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	proc.Attached(cmd.Process.Pid)
	return func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait() // interrupted, as it must be
		for suffix, flags := range map[string][]string{".flat.txt": {"--no-children", "-g", "none"}, ".tree.txt": {"--children", "-g", "none"}} {
			args := append([]string{"report", "-i", name + ".data", "--stdio", "--percent-limit", "0.5"}, flags...)
			if out, err := exec.Command("perf", args...).Output(); err == nil {
				_ = os.WriteFile(name+suffix, out, 0o644) // a profile is for looking at only
			}
		}
	}, nil
}
