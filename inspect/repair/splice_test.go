package repair

import (
	"testing"
	"time"

	"github.com/samsalog/samsa/inspect/internal/testdir"
	"github.com/samsalog/samsa/vfs"
)

// A power failure in the middle of the renaming leaves the short file under both names; the undo does not write over it (REP-2).
func TestUndoOfASpliceWithBothNames(t *testing.T) {
	const path, long, short = "/data/p-0/0.log", "0123456789abcdef", "0156789bcdef"
	for _, both := range []bool{false, true} {
		fsys := vfs.NewMem()
		testdir.Put(t, fsys, path, []byte(long))
		j, err := createJournal(fsys, "/data", "/data", time.Unix(1, 0))
		if err != nil {
			t.Fatal(err)
		}
		if err := j.splice(path, "test", []span{{2, 3}, {10, 1}}); err != nil {
			t.Fatal(err)
		}
		if b, err := readFile(fsys, path); err != nil || string(b) != short {
			t.Fatalf("%q, %v", b, err)
		}
		name := j.own(j.name + journalSuffix)
		if err := j.close(); err != nil {
			t.Fatal(err)
		}
		j, ops, err := openJournal(fsys, name)
		if err != nil {
			t.Fatal(err)
		}
		o := ops[len(ops)-1]
		if both {
			if err := fsys.Link(path, j.own(o.Staged)); err != nil {
				t.Fatal(err)
			}
			if err := j.apply(o); err != nil {
				t.Fatal(err)
			}
		}
		if err := j.revert(o); err != nil {
			t.Fatalf("both names %v: %v", both, err)
		}
		if b, err := readFile(fsys, path); err != nil || string(b) != long {
			t.Errorf("both names %v: %q, %v", both, b, err)
		}
		if exists(fsys, j.own(o.Staged)) || exists(fsys, j.own(o.Saved)) {
			t.Errorf("both names %v: files are left", both)
		}
		if err := j.close(); err != nil {
			t.Fatal(err)
		}
	}
}
