package minimum

import (
	"errors"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// sendFile has the kernel send a range of f. The offset is given with each call, so that connections can share f.
func sendFile(c *net.TCPConn, f *os.File, from, to int64) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	source := int(f.Fd())
	var failed error
	err = raw.Write(func(socket uintptr) bool {
		for from < to {
			n, err := unix.Sendfile(int(socket), source, &from, int(to-from))
			switch {
			case errors.Is(err, unix.EAGAIN):
				return false
			case errors.Is(err, unix.EINTR):
			case err != nil:
				failed = err
				return true
			case n == 0:
				failed = io.ErrUnexpectedEOF
				return true
			}
		}
		return true
	})
	return errors.Join(failed, err)
}
