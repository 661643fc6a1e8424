package samsa_test

import (
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestA12MoveBetweenDirectories moves a partition into another log directory and back while a client produces and a group
// commits to it: no record is lost or doubled, the directories tell where it is, also after a restart.
func TestA12MoveBetweenDirectories(t *testing.T) {
	dir := t.TempDir()
	one, other := filepath.Join(dir, "one"), filepath.Join(dir, "other")
	dirs := []string{one, other}
	b := startOn(t, dirs, nil)
	cl := clientOf(t, b, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MetadataMinAge(10*time.Millisecond))
	createTopic(t, cl, "wander", 1)
	adm := kadm.NewClient(cl)
	where := func(topic string, p int32) (dir string, futures int) {
		described, err := adm.DescribeAllLogDirs(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		described.Each(func(d kadm.DescribedLogDir) {
			for _, l := range d.Topics[topic] {
				if l.Partition == p && l.IsFuture {
					futures++
				} else if l.Partition == p {
					dir += d.Dir
				}
			}
		})
		return dir, futures
	}
	n := 0
	write := func(k int) {
		for range k {
			r := &kgo.Record{Topic: "wander", Value: []byte(strconv.Itoa(n))}
			if err := cl.ProduceSync(t.Context(), r).FirstErr(); err != nil {
				t.Fatal(err)
			}
			n++
		}
	}
	write(500)
	from, _ := where("wander", 0)
	for _, target := range []string{map[string]string{one: other, other: one}[from], from} {
		var req kadm.AlterReplicaLogDirsReq
		req.Add(target, kadm.TopicsSet{"wander": {0: {}}})
		resps, err := adm.AlterAllReplicaLogDirs(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		resps.Each(func(r kadm.AlterReplicaLogDirsResponse) {
			if r.Err != nil {
				t.Fatal(r.Err)
			}
		})
		eventually(t, "move to "+target, func() bool {
			write(1)
			at, futures := where("wander", 0)
			return at == target && futures == 0
		})
		write(10)
	}
	stop(t, b)
	b = startOn(t, dirs, nil)
	for i, r := range consumeAll(t, b, "wander", n) {
		if string(r.Value) != strconv.Itoa(i) || r.Offset != int64(i) {
			t.Fatalf("record %d at %d is %s", i, r.Offset, r.Value)
		}
	}
}
