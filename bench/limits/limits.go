package limits

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/samsalog/samsa/bench/figure"
	"github.com/samsalog/samsa/bench/pagecache"
)

// block is the size of a read or write where nothing else is said, in bytes.
const block = 1 << 20

// Measure measures all limits with files of about size bytes in dir.
func Measure(dir string, size int64) ([]figure.Value, error) {
	size = max(size/block, 1) * block
	name := filepath.Join(dir, "limits")
	defer os.Remove(name)
	var values []figure.Value
	add := func(name, unit string, v float64) {
		values = append(values, figure.Value{Name: name, Unit: unit, Value: v})
	}
	for _, n := range []int{16 << 10, block} {
		took, err := write(name, size, n)
		if err != nil {
			return nil, err
		}
		add(fmt.Sprintf("write, %d KiB", n>>10), "MB/s", rate(size, took))
	}
	warm, err := Read(name)
	if err != nil {
		return nil, err
	}
	add("read, warm", "MB/s", warm)
	switch err := pagecache.Evict(name); {
	case errors.Is(err, errors.ErrUnsupported):
	case err != nil:
		return nil, err
	default:
		cold, err := Read(name)
		if err != nil {
			return nil, err
		}
		add("read, cold", "MB/s", cold)
	}
	for _, how := range []struct {
		name string
		send func(c *net.TCPConn) error
	}{
		{"loopback, write", func(c *net.TCPConn) error { return sendBlocks(c, size) }},
		{"loopback, sendfile", func(c *net.TCPConn) error { return sendFile(c, name) }},
	} {
		took, err := loopback(size, how.send)
		if err != nil {
			return nil, err
		}
		add(how.name, "MB/s", rate(size, took))
	}
	sync, err := Fsync(dir, 200)
	if err != nil {
		return nil, err
	}
	add("1 KiB and fsync", "ms", sync)
	add("CRC-32C, 1 MiB", "MB/s", checksum(1<<20, size))
	add("CRC-32C, 64 MiB", "MB/s", checksum(64<<20, size))
	add("copy, 1 MiB", "MB/s", copying(1<<20, size))
	add("copy, 64 MiB", "MB/s", copying(64<<20, size))
	return values, nil
}

func rate(bytes int64, took time.Duration) float64 { return float64(bytes) / 1e6 / took.Seconds() }

// write fills a new file with writes of n bytes.
func write(name string, size int64, n int) (time.Duration, error) {
	f, err := os.Create(name)
	if err != nil {
		return 0, fmt.Errorf("limits: %w", err)
	}
	defer f.Close()
	b := make([]byte, n)
	began := time.Now()
	for done := int64(0); done < size; done += int64(n) {
		if _, err := f.Write(b); err != nil {
			return 0, fmt.Errorf("limits: %w", err)
		}
	}
	return time.Since(began), nil
}

// Read reads files from the beginning to the end and returns MB/s.
func Read(names ...string) (float64, error) {
	b := make([]byte, block)
	var bytes int64
	began := time.Now()
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return 0, fmt.Errorf("limits: %w", err)
		}
		for err == nil {
			var n int
			n, err = f.Read(b)
			bytes += int64(n)
		}
		_ = f.Close() // it was only read
		if !errors.Is(err, io.EOF) {
			return 0, fmt.Errorf("limits: %w", err)
		}
	}
	return rate(bytes, time.Since(began)), nil
}

// Fsync appends a KiB and syncs, n times, and returns the median in milliseconds.
func Fsync(dir string, n int) (float64, error) {
	f, err := os.CreateTemp(dir, "fsync")
	if err != nil {
		return 0, fmt.Errorf("limits: %w", err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	b := make([]byte, 1024)
	var took []float64
	for range n {
		began := time.Now()
		if _, err := f.Write(b); err != nil {
			return 0, fmt.Errorf("limits: %w", err)
		}
		if err := f.Sync(); err != nil {
			return 0, fmt.Errorf("limits: %w", err)
		}
		took = append(took, float64(time.Since(began))/1e6)
	}
	slices.Sort(took)
	return figure.Percentile(took, 0.5), nil
}

// loopback times a send from one goroutine until another has read everything.
func loopback(size int64, send func(c *net.TCPConn) error) (time.Duration, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("limits: %w", err)
	}
	defer l.Close()
	received := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			received <- err
			return
		}
		defer c.Close()
		b := make([]byte, block)
		var got int64
		for err == nil && got < size {
			var n int
			n, err = c.Read(b)
			got += int64(n)
		}
		received <- err
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return 0, fmt.Errorf("limits: %w", err)
	}
	defer c.Close()
	began := time.Now()
	if err := send(c.(*net.TCPConn)); err != nil {
		return 0, fmt.Errorf("limits: %w", err)
	}
	if err := <-received; err != nil {
		return 0, fmt.Errorf("limits: %w", err)
	}
	return time.Since(began), nil
}

func sendBlocks(c *net.TCPConn, size int64) error {
	b := make([]byte, block)
	for done := int64(0); done < size; done += block {
		if _, err := c.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// sendFile lets the kernel send a file where the system can (net.TCPConn.ReadFrom).
func sendFile(c *net.TCPConn, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = c.ReadFrom(f)
	return err
}

// checksum sums n bytes again and again until size bytes are done.
func checksum(n int, size int64) float64 {
	b, table := make([]byte, n), crc32.MakeTable(crc32.Castagnoli)
	var done int64
	began := time.Now()
	for done < max(size, int64(n)) {
		b[0] = byte(crc32.Checksum(b, table)) // each depends on the one before, so that none is left out
		done += int64(n)
	}
	return rate(done, time.Since(began))
}

func copying(n int, size int64) float64 {
	from, to := make([]byte, n), make([]byte, n)
	copy(to, from) // both are there before the clock starts
	var done int64
	began := time.Now()
	for done < max(size, int64(n)) {
		copy(to, from)
		from, to = to, from
		done += int64(n)
	}
	return rate(done, time.Since(began))
}
