package inside

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/samsalog/samsa/bench/load"
	"github.com/samsalog/samsa/bench/minimum"
	"github.com/samsalog/samsa/bench/peer"
)

// Serve runs the peer named n on addr with its data in dir until ctx ends.
func Serve(ctx context.Context, n peer.Name, addr, dir string) error {
	switch n {
	case peer.Minimum, peer.Answers, peer.Raw:
		return listen(ctx, n, addr, dir)
	case peer.Kfake:
		return fake(ctx, addr)
	case peer.NATS:
		return jetStream(ctx, addr, dir)
	default:
		return fmt.Errorf("there is no peer %q inside", n)
	}
}

func listen(ctx context.Context, n peer.Name, addr, dir string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("%s: %w", n, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	if n == peer.Raw {
		return raw(l, dir)
	}
	return minimum.Serve(l, minimum.Options{Dir: dir, OnlyAnswers: n == peer.Answers})
}

// rawRequest is the size of a request of the raw server, in bytes.
const rawRequest = 1024

// raw serves one connection after the other: a read, a write to the end of a file, a write.
func raw(l net.Listener, dir string) error {
	f, err := os.Create(filepath.Join(dir, "raw.log"))
	if err != nil {
		return fmt.Errorf("raw: %w", err)
	}
	defer f.Close()
	request, reply := make([]byte, rawRequest), make([]byte, load.RawReply)
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("raw: %w", err)
		}
		for err == nil {
			if _, err = io.ReadFull(c, request); err == nil {
				if _, err := f.Write(request); err != nil {
					return fmt.Errorf("raw: %w", err)
				}
				_, err = c.Write(reply)
			}
		}
		_ = c.Close() // the client has gone
	}
}

func fake(ctx context.Context, addr string) error {
	_, text, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("kfake: %w", err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("kfake: %w", err)
	}
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.Ports(port))
	if err != nil {
		return fmt.Errorf("kfake: %w", err)
	}
	defer c.Close()
	<-ctx.Done()
	return nil
}

func jetStream(ctx context.Context, addr, dir string) error {
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("nats: %w", err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("nats: %w", err)
	}
	s, err := natsserver.NewServer(&natsserver.Options{Host: host, Port: port, JetStream: true, StoreDir: dir, NoSigs: true})
	if err != nil {
		return fmt.Errorf("nats: %w", err)
	}
	go s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		s.Shutdown()
		return errors.New("nats does not start")
	}
	<-ctx.Done()
	s.Shutdown()
	s.WaitForShutdown()
	return nil
}
