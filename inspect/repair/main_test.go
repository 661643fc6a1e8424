package repair

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/samsalog/samsa/inspect/internal/testdir"
	"github.com/samsalog/samsa/inspect/verify"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// whole is a log directory that Apache Kafka 4.4.0 left after a clean stop, with "made-0", three segments that were made here.
func whole(t testing.TB) *vfs.Mem {
	t.Helper()
	fsys := testdir.Unpack(t, "../testdata/kafka-4.4.0-directory.tar.gz", "/data")
	rolled(t, fsys)
	testdir.SyncAll(t, fsys, "/")
	return fsys
}

// rolled writes a partition of three segments with indexes as Kafka would.
func rolled(t testing.TB, fsys vfs.FS) {
	t.Helper()
	offset := record.Offset(0)
	for range 3 {
		base := offset
		var log []byte
		for range 40 {
			o := record.DefaultBuilderOptions()
			o.BaseOffset, o.LeaderEpoch = offset, 0
			b := record.NewBuilder(o)
			for range 5 {
				b.Append(1700000000000+int64(offset)*10, []byte("key"), bytes.Repeat([]byte{byte(offset)}, 100), nil)
				offset++
			}
			log = append(log, b.Build()...)
		}
		testdir.Put(t, fsys, "/data/made-0/"+name(base)+".log", log)
		offsets, times, err := indexContent(fsys, "/data/made-0/"+name(base)+".log", int64(base))
		if err != nil {
			t.Fatal(err)
		}
		testdir.Put(t, fsys, "/data/made-0/"+name(base)+".index", offsets)
		testdir.Put(t, fsys, "/data/made-0/"+name(base)+".timeindex", times)
	}
	testdir.Put(t, fsys, "/data/made-0/leader-epoch-checkpoint", []byte("0\n1\n0 0\n"))
	testdir.Put(t, fsys, "/data/made-0/partition.metadata", []byte("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAJQ"))
}

func name(base record.Offset) string { return fmt.Sprintf("%020d", base) }

// findings are what verify says of a directory.
func findings(t testing.TB, fsys vfs.FS, dir string) (all []verify.Finding) {
	t.Helper()
	_, err := verify.Run(context.Background(), verify.Options{FS: fsys, Path: dir}, func(f verify.Finding) { all = append(all, f) })
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func options(fsys vfs.FS) Options {
	return Options{FS: fsys, Dir: "/data", Now: func() time.Time { return time.Unix(1700000000, 0) }}
}

// batches are the bytes of all batches with a right checksum in a `.log`.
func batches(b []byte) map[string]int {
	all := map[string]int{}
	for s := record.NewScanner(b); s.Next(); {
		if s.Batch().CheckCRC() == nil {
			all[string(s.Batch())]++
		}
	}
	return all
}
