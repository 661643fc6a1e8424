package storage

import (
	"fmt"
	"math"
	"testing"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// what a crash costs, by flush.messages. With 1 nothing that was acknowledged is lost when the power fails, at
// whatever moment; with n fewer than n records of a partition; by default what the system had not written, down to the
// recovery point, and never anything below it. The end of the process alone costs nothing.
func TestR20WhatACrashCosts(t *testing.T) {
	for _, c := range []struct {
		flushMessages int64
		mayLose       int // records of those that were acknowledged
	}{{1, 0}, {10, 10}, {math.MaxInt64, math.MaxInt}} {
		t.Run(fmt.Sprintf("flush.messages=%d", c.flushMessages), func(t *testing.T) {
			mem := disk(t)
			type moment struct {
				image *vfs.Mem
				acked int
				rp    record.Offset
			}
			var moments []moment
			var s *story
			take := func() {
				rp := record.Offset(0)
				if l := s.log.Load(); l != nil {
					rp = l.RecoveryPoint()
				}
				moments = append(moments, moment{mem.Crash(), s.acked, rp})
			}
			s = &story{world: worldOn(t, vfs.NewFault(mem, func(op vfs.Op) error {
				if op.Kind.Changes() {
					take()
				}
				return nil
			})).small()}
			s.config.FlushMessages = c.flushMessages
			l := s.open()
			s.log.Store(l)
			if err := s.say(40); err != nil {
				t.Fatal(err)
			}
			take()
			l.Abandon() // the process ends; the system goes on
			again := s.open(recoverFrom(l.RecoveryPoint()))
			if n := len(s.contents(again)); n != len(s.asked) {
				t.Errorf("the end of the process cost %d records", len(s.asked)-n)
			}
			again.Abandon()

			most := 0
			for i, m := range moments {
				w := worldOn(t, m.image).small()
				l := w.open(recoverFrom(m.rp))
				left := len(w.contents(l))
				if left < int(m.rp) {
					t.Errorf("cut %d: %d records left, the recovery point was %d", i, left, m.rp)
				}
				most = max(most, m.acked-left)
				l.Abandon()
			}
			if most > c.mayLose {
				t.Errorf("lost %d acknowledged records", most)
			}
			if c.mayLose > 0 && most == 0 {
				t.Error("nothing was ever lost: the power was not cut")
			}
			t.Logf("%d cuts, at most %d acknowledged records lost", len(moments), most)
		})
	}
}
