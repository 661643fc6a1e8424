package samsa_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/samsalog/samsa"
	"github.com/samsalog/samsa/vfs"
)

// page fetches a page of the console; code 0 when nobody answers.
func page(addr, path string) (int, string) {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get("http://" + addr + path)
	if err != nil {
		return 0, err.Error()
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return 0, err.Error()
	}
	return r.StatusCode, string(body)
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// while a broker recovers its logs it is alive, not ready, and says how far it is; then it is ready.
func TestR26AliveWhileRecovering(t *testing.T) {
	mem := vfs.NewMem()
	var blocking atomic.Bool
	reached, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	fsys := vfs.NewFault(mem, func(op vfs.Op) error {
		if blocking.Load() && op.Kind == vfs.OpRead && strings.Contains(op.Path, "slow-0") && strings.HasSuffix(op.Path, ".log") {
			once.Do(func() { close(reached) })
			<-goOn
		}
		return nil
	})
	start := func(fsys vfs.FS, http string) (*samsa.Broker, error) {
		return samsa.Start(t.Context(), samsa.Config{Dirs: []string{"/data"}, Listen: "127.0.0.1:0", FS: fsys, Properties: map[string]string{"samsa.http.listen": http}})
	}
	b, err := start(fsys, freeAddr(t))
	if err != nil {
		t.Fatal(err)
	}
	cl := clientOf(t, b)
	createTopic(t, cl, "slow", 1)
	if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "slow", Value: []byte("v")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	cl.Close()
	if code, _ := page(b.HTTPAddr(), "/readyz"); code != 200 {
		t.Errorf("a serving broker is not ready: %d", code)
	}
	if _, body := page(b.HTTPAddr(), "/metrics"); !strings.Contains(body, `samsa_requests_total{api="Produce",version=`) || !strings.Contains(body, `samsa_topic_partitions{topic="slow"} 1`) {
		t.Errorf("metrics of a serving broker:\n%s", body)
	}
	stop(t, b)
	if code, _ := page(b.HTTPAddr(), "/livez"); code != 0 {
		t.Errorf("a stopped broker answers %d", code)
	}
	if err := mem.Remove("/data/.kafka_cleanshutdown"); err != nil { // as after a crash
		t.Fatal(err)
	}

	blocking.Store(true)
	addr := freeAddr(t)
	started := make(chan error, 1)
	var again *samsa.Broker
	go func() {
		var err error
		again, err = start(fsys, addr)
		started <- err
	}()
	select {
	case <-reached:
	case err := <-started:
		t.Fatalf("nothing was recovered: %v", err)
	}
	if code, body := page(addr, "/livez"); code != 200 {
		t.Errorf("/livez while recovering: %d %s", code, body)
	}
	if code, body := page(addr, "/readyz"); code != 503 || !strings.Contains(body, `"state": "loading"`) || !strings.Contains(body, `"recovery_bytes": `) || strings.Contains(body, `"recovery_bytes": 0`) {
		t.Errorf("/readyz while recovering: %d %s", code, body)
	}
	if _, body := page(addr, "/metrics"); !strings.Contains(body, `samsa_recovery_bytes{dir="/data"} `) || !strings.Contains(body, `samsa_state{state="loading"} 1`) {
		t.Errorf("/metrics while recovering:\n%s", body)
	}
	close(goOn)
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	defer stop(t, again)
	if code, body := page(addr, "/readyz"); code != 200 {
		t.Errorf("/readyz after recovery: %d %s", code, body)
	}
}

// A console that cannot listen stops the start, with the setting's name; nothing is left behind.
func TestConsoleAddressInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dir := t.TempDir()
	_, err = samsa.Start(context.Background(), samsa.Config{Dirs: []string{dir}, Listen: "127.0.0.1:0", Properties: map[string]string{"samsa.http.listen": l.Addr().String()}})
	if err == nil || !strings.Contains(err.Error(), "samsa.http.listen") {
		t.Errorf("start: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v %v", entries, err)
	}
}
