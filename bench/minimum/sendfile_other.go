//go:build !linux

package minimum

import (
	"io"
	"net"
	"os"
)

// sendFile copies a range of f.
func sendFile(c *net.TCPConn, f *os.File, from, to int64) error {
	_, err := io.Copy(c, io.NewSectionReader(f, from, to-from))
	return err
}
