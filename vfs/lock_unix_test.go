//go:build linux || darwin

package vfs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// lockHelper names the environment variable that turns this test binary into a process that holds a lock.
const lockHelper = "VFS_TEST_LOCK"

// holdLock takes a plain POSIX record lock, as Java does, says so, and waits for the end of its input.
func holdLock() {
	f, err := os.OpenFile(os.Getenv(lockHelper), os.O_RDWR|os.O_CREATE, 0o644)
	if err == nil {
		err = unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart})
	}
	fmt.Println(err)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func startHelper(t *testing.T, name string) (said string, stop func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), lockHelper+"="+name)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(said), func() {
		_ = in.Close()
		_ = cmd.Wait()
	}
}

func TestLockExcludesOtherProcesses(t *testing.T) {
	name := filepath.Join(t.TempDir(), ".lock")
	said, stop := startHelper(t, name)
	if said != "<nil>" {
		t.Fatalf("the other process: %s", said)
	}
	if _, err := NewOS().Lock(name); !errors.Is(err, ErrLocked) {
		t.Fatalf("lock that another process holds: %v", err)
	}
	stop()
	lock, err := NewOS().Lock(name)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	said, stop = startHelper(t, name)
	defer stop()
	if said == "<nil>" {
		t.Error("the other process got a lock that we hold")
	}
}
