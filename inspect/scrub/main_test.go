package scrub

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/samsalog/samsa/inspect/internal/testdir"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// batches are n batches of one record each from offset base on.
func batches(base, n int) (b []byte) {
	for i := range n {
		o := record.DefaultBuilderOptions()
		o.BaseOffset, o.LeaderEpoch = record.Offset(base+i), 0
		builder := record.NewBuilder(o)
		builder.Append(int64(1000+base+i), nil, bytes.Repeat([]byte("v"), 100), nil)
		b = append(b, builder.Build()...)
	}
	return b
}

const perSegment = 10

func path(dir, partition string, segment int) string {
	return fmt.Sprintf("%s/%s/%020d.log", dir, partition, segment*perSegment)
}

// directory is a log directory with two partitions of four segments each, the last of which is active.
func directory(t *testing.T) *vfs.Mem {
	t.Helper()
	fsys := vfs.NewMem()
	for _, p := range []string{"a-0", "b-0"} {
		for i := range 4 {
			testdir.Put(t, fsys, path("/data", p, i), batches(i*perSegment, perSegment))
			last := binary.BigEndian.AppendUint64(nil, uint64(1000+(i+1)*perSegment-1))
			last = binary.BigEndian.AppendUint32(last, perSegment-1)
			testdir.Put(t, fsys, strings.TrimSuffix(path("/data", p, i), ".log")+".timeindex", last)
		}
	}
	testdir.Put(t, fsys, "/data/meta.properties", []byte("version=1\ncluster.id=c\nnode.id=1\n"))
	testdir.Complete(t, fsys, "/data")
	return fsys
}
