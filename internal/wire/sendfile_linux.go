package wire

import (
	"errors"
	"io"
	"net"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/samsalog/samsa/vfs"
)

// maxSendfile is the most that one call of sendfile is asked for; the kernel's own limit is 2 GiB less a page.
const maxSendfile = 1 << 30

// sendfile hands a region to the kernel, with an explicit offset so that one descriptor serves any number of readers.
// It returns false when the socket or the file is of a kind that cannot; nothing was sent then.
func (o *outbound) sendfile(g *vfs.Region) (bool, error) {
	file, ok := g.File.(vfs.OS)
	if !ok {
		return false, nil
	}
	tcp, ok := o.c.nc.(*net.TCPConn)
	if !ok {
		return false, nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return false, nil
	}
	if err := o.flushMore(raw); err != nil {
		return false, err
	}
	in, offset, left := int(file.Fd()), g.Offset, g.Length
	for left > 0 {
		o.arm()
		n, err := sendfileSome(raw, in, &offset, min(left, maxSendfile))
		left -= n
		switch {
		case err != nil && n == 0 && left == g.Length && (errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS)):
			return false, nil // a file system without it
		case err != nil:
			return false, err
		case n == 0:
			return false, io.ErrUnexpectedEOF
		}
	}
	return true, nil
}

// sendfileSome sends up to n bytes, waiting for room in the socket when there is none. The offset is advanced.
func sendfileSome(raw syscall.RawConn, in int, offset *int64, n int) (sent int, err error) {
	werr := raw.Write(func(fd uintptr) bool {
		for {
			sent, err = unix.Sendfile(int(fd), in, offset, n)
			if err == unix.EINTR {
				continue
			}
			return err != unix.EAGAIN
		}
	})
	sent = max(sent, 0)
	if werr != nil {
		return sent, werr
	}
	return sent, err
}

// flushMore writes what is pending and tells the kernel that more follows at once, so that the header shares its
// segment with the first bytes of the file.
func (o *outbound) flushMore(raw syscall.RawConn) error {
	for b := o.b; len(b) > 0; {
		o.arm()
		var n int
		var err error
		werr := raw.Write(func(fd uintptr) bool {
			for {
				n, err = unix.SendmsgN(int(fd), b, nil, nil, unix.MSG_MORE|unix.MSG_NOSIGNAL)
				if err == unix.EINTR {
					continue
				}
				return err != unix.EAGAIN
			}
		})
		if werr != nil {
			err = werr
		}
		if err != nil {
			return err
		}
		b = b[n:]
	}
	o.reset()
	return nil
}
