//go:build linux || darwin

package vfs

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
)

const limitChild = "VFS_TEST_PRINT_LIMIT"

// the soft limit is raised to the hard one at the start of a program, and a child gets back what was set outside.
func TestR29SoftLimitIsRaised(t *testing.T) {
	if os.Getenv(limitChild) != "" {
		child, err := exec.Command("sh", "-c", "ulimit -S -n").Output()
		if err != nil {
			t.Fatal(err)
		}
		os.Stdout.WriteString("limits " + strconv.Itoa(DescriptorLimit()) + " " + string(child))
		return
	}
	if testing.Short() {
		t.Skip("starts a process")
	}
	cmd := exec.Command("sh", "-c", "ulimit -S -n 96 && ulimit -H -n 200 && exec "+os.Args[0]+" -test.run=TestR29SoftLimitIsRaised")
	cmd.Env = append(os.Environ(), limitChild+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var limit, child int
	if _, err := fmt.Sscanf(string(out), "limits %d %d", &limit, &child); err != nil || limit < 199 || limit > 200 || child != 96 {
		t.Errorf("got %q: the runtime raises to the hard limit or one below", out) // the one tells it from a limit set by hand
	}
}
