package cleaner

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/samsalog/samsa/internal/longtest"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/vfs"
)

// TestCrashWhileSwappingSeveral cuts the power before every operation of a swap whose output is several segments, in the
// place of one and of several: a start goes on with all of them or with none (KAFKA-20036). The order of the renames
// decides: was the lowest base first, a start would take it for the whole output and lose what follows.
func TestCrashWhileSwappingSeveral(t *testing.T) {
	for name, segmentBytes := range map[string]int{"of one": 1 << 20, "of several": 4000} {
		t.Run(name, func(t *testing.T) {
			mem := disk(t)
			var cuts []cut
			var w *world
			var c cut
			armed := false
			w = newWorld(t, vfs.NewFault(mem, func(op vfs.Op) error {
				if armed && op.Kind.Changes() {
					c.op, c.rp, c.saved = op.String(), w.log.RecoveryPoint(), maps.Clone(w.saved)
					c.images = []*vfs.Mem{mem.Crash()}
					for seed := range longtest.Pick(uint64(3), 100) {
						c.images = append(c.images, mem.CrashKeeping(seed<<32+uint64(len(cuts))))
					}
					cuts = append(cuts, c)
				}
				return nil
			}), func(c *storage.Config) { c.SegmentBytes = segmentBytes })
			w.open()
			for i := range 60 {
				w.put(fmt.Sprintf("k%d=%0100d", i, i))
			}
			w.roll()
			if err := w.log.Flush(w.log.LogEndOffset()); err != nil {
				t.Fatal(err)
			}
			w.pass(0)
			c = cut{latest: w.latest(), known: known(w.log.Producers()), end: w.log.LogEndOffset()}
			armed = true
			w.rewriteInto(2000)
			armed = false
			if n := len(w.log.Segments()); n < 5 {
				t.Fatalf("%d segments", n)
			}
			w.log.Abandon()
			between := 0
			for _, c := range cuts {
				if strings.Contains(c.op, ".swap") {
					between++
				}
				for i, image := range c.images {
					c.verify(t, i, image, false)
				}
			}
			if between < 20 {
				t.Fatalf("only %d cuts between renames", between)
			}
			t.Logf("%d cuts, %d of them between renames, %d images each", len(cuts), between, len(c.images))
		})
	}
}
