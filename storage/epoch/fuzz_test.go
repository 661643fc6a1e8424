package epoch

import (
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/samsalog/samsa/vfs"
)

// FuzzOpen opens arbitrary bytes as a leader-epoch-checkpoint: nothing may panic, epochs and offsets rise in what is accepted,
// and it is read again as it was.
func FuzzOpen(f *testing.F) {
	kafkas, err := os.ReadFile("testdata/leader-epoch-checkpoint")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(kafkas)
	f.Add([]byte("0\n3\n0 0\n4 20\n5 20\n"))
	f.Add([]byte("0\n99999999999\n0 0\n"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		mem := vfs.NewMem()
		file, err := mem.OpenFile("/e", os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteAt(data, 0); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		c, err := Open(mem, "/e")
		if err != nil {
			return
		}
		list := c.Entries()
		for i := 1; i < len(list); i++ {
			if list[i].Epoch <= list[i-1].Epoch || list[i].StartOffset < list[i-1].StartOffset {
				t.Fatalf("accepted %+v", list)
			}
		}
		if len(list) == 0 {
			return
		}
		last := list[len(list)-1]
		if last.Epoch > 1<<30 || last.StartOffset > 1<<60 {
			return
		}
		if err := errors.Join(c.Assign(last.Epoch+1, last.StartOffset+1), c.Save(last.StartOffset+2)); err != nil {
			t.Fatal(err)
		}
		again, err := Open(mem, "/e")
		if err != nil || !slices.Equal(again.Entries(), c.Entries()) {
			t.Fatalf("%v, read again %v, %v", c.Entries(), again, err)
		}
	})
}
