package samsa_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// smallDisk mounts a file system of its own for a test.
func smallDisk(t *testing.T, megabytes int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", megabytes)); err != nil {
		t.Skipf("a tmpfs cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fillUp takes what is free, to the last page.
func fillUp(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 1<<20); len(block) > 0; {
		if _, err := f.Write(block); errors.Is(err, syscall.ENOSPC) {
			block = block[:len(block)/2]
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// produceOnce sends records of 100 kB until one is refused or n are written.
func produceOnce(t *testing.T, cl *kgo.Client, topic string, n int) (written int, err error) {
	t.Helper()
	for ; written < n; written++ {
		r := &kgo.Record{Topic: topic, Value: []byte(strings.Repeat("v", 100_000))}
		if err := cl.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			return written, err
		}
	}
	return written, nil
}

func impatient(t *testing.T, addr string) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.RecordRetries(0), kgo.DisableIdempotentWrite(), kgo.RequiredAcks(kgo.LeaderAck()), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

func countRecords(t *testing.T, addr, topic string, want int) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for got := 0; got < want; {
		fs := cl.PollFetches(t.Context())
		if err := fs.Err(); err != nil {
			t.Fatalf("consuming %s: %v", topic, err)
		}
		got += fs.NumRecords()
	}
}

// T-13, R-13: a disk that is really full, under a running broker and at the start after a kill. Producers get a storage
// error, consumers and admin clients go on, deleting a topic makes room, writing resumes.
func TestR13FullTmpfs(t *testing.T) {
	disk := smallDisk(t, 32)
	dir := filepath.Join(disk, "data")
	p := startProcess(t, dir, "127.0.0.1:0")
	cl := impatient(t, p.addr)
	createTopic(t, cl, "keep", 1)
	createTopic(t, cl, "big", 1)
	if _, err := produceOnce(t, cl, "keep", 3); err != nil {
		t.Fatal(err)
	}
	if _, err := produceOnce(t, cl, "big", 40); err != nil {
		t.Fatal(err)
	}
	fillUp(t, filepath.Join(disk, "filler"))

	refuse := func(when string, cl *kgo.Client) int {
		t.Helper()
		n, err := produceOnce(t, cl, "keep", 1000)
		if !errors.Is(err, kerr.KafkaStorageError) {
			t.Fatalf("%s: %d written, then %v", when, n, err)
		}
		return n
	}
	kept := 3 + refuse("full while serving", cl)
	countRecords(t, p.addr, "keep", kept)
	p.kill()

	p = startProcess(t, dir, "127.0.0.1:0")
	cl = impatient(t, p.addr)
	kept += refuse("full at the start", cl)
	countRecords(t, p.addr, "keep", kept)
	if r, err := kadm.NewClient(cl).DeleteTopics(t.Context(), "big"); err != nil || r.Error() != nil {
		t.Fatalf("deleting a topic on a full disk: %v %v", err, r.Error())
	}
	// The files go in the background. Clients repeat what was refused.
	for tries := 0; ; tries++ {
		n, err := produceOnce(t, cl, "keep", 5)
		kept += n
		if err == nil {
			break
		}
		if !errors.Is(err, kerr.KafkaStorageError) || tries == 1000 {
			t.Fatalf("with room again: %v", err)
		}
	}
	countRecords(t, p.addr, "keep", kept)
	p.kill()
	p = startProcess(t, dir, "127.0.0.1:0")
	countRecords(t, p.addr, "keep", kept)
	p.kill()
}

// with few descriptors and more connections than they allow, connections in use go on, others wait, and when
// some have gone everybody is served again. No directory goes offline.
func TestR29FewDescriptors(t *testing.T) {
	limited := exec.Command("sh", "-c", "ulimit -n 128 && exec "+os.Args[0]+" -test.run=^TestBrokerProcess$ -test.v")
	p := startCommand(t, limited, t.TempDir(), "127.0.0.1:0")
	cl := impatient(t, p.addr)
	for _, topic := range []string{"a", "b", "c", "d"} {
		createTopic(t, cl, topic, 8) // more files than there are descriptors
	}
	if _, err := produceOnce(t, cl, "a", 1); err != nil { // the connection that is in use
		t.Fatal(err)
	}
	var idle []net.Conn
	for range 200 {
		c, err := net.Dial("tcp", p.addr)
		if err != nil {
			t.Fatal(err)
		}
		idle = append(idle, c)
	}
	for i := range 64 {
		for _, topic := range []string{"a", "b", "c", "d"} {
			r := &kgo.Record{Topic: topic, Partition: int32(i % 8), Value: []byte("v")}
			if err := cl.ProduceSync(t.Context(), r).FirstErr(); err != nil {
				t.Fatalf("produce %d: %v", i, err)
			}
		}
	}
	for _, c := range idle {
		c.Close()
	}
	countRecords(t, p.addr, "a", 9)
	dirs, err := kadm.NewClient(cl).DescribeAllLogDirs(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	dirs.Each(func(d kadm.DescribedLogDir) {
		if d.Err != nil {
			t.Errorf("log directory %s: %v", d.Dir, d.Err)
		}
	})
}
