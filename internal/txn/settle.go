package txn

import (
	"context"
	"time"

	"github.com/samsalog/samsa/internal/coord"
)

// settlePause is how long Settle waits before it looks again.
const settlePause = 5 * time.Millisecond

// Settle waits until every transaction whose end is decided has its markers and is complete; false when ctx ended before.
// Who is started next on the directories then finds nothing decided and not done; an Apache Kafka that has to write markers
// before its metadata tells it of the partitions takes these for deleted ones. Call it when no more requests come.
func (s *Service) Settle(ctx context.Context) bool {
	for ctx.Err() == nil {
		if s.deciding() == 0 {
			return true
		}
		pausedFor(ctx, settlePause)
	}
	return false
}

// deciding is how many transactions are decided and not done; a partition that is not read yet has none.
func (s *Service) deciding() int {
	n := 0
	for _, p := range s.runtime.Partitions() {
		n += askPartition(s, p, func(m *machine, a *answer[int]) coord.Result {
			a.give(m.deciding())
			return coord.Result{}
		}, func(int16) int { return 0 })
	}
	return n
}

func (m *machine) deciding() int {
	n := 0
	for _, e := range m.ids {
		if e.state.deciding() {
			n++
		}
	}
	return n
}
