package share

import (
	"context"

	"github.com/samsalog/samsa/internal/replica"
	"github.com/samsalog/samsa/internal/share/window"
)

// DeadLetters takes records of share groups that were given up (KIP-1191).
type DeadLetters interface {
	// Deliver puts letters about records of source into the group's dead-letter queue, and blocks until each is there or
	// cannot come there. It returns an error only when ctx ended before: then letters are to be delivered again.
	Deliver(ctx context.Context, group string, source *replica.Partition, letters []window.Letter) error
}

// nowhere is where letters go when there is nobody to take them.
type nowhere struct{}

func (nowhere) Deliver(ctx context.Context, _ string, _ *replica.Partition, _ []window.Letter) error {
	return ctx.Err()
}

// deliverLocked sets letters on their way. One goroutine of a share partition delivers at a time; there are never more letters
// than records in flight.
func (p *partition) deliverLocked(letters []window.Letter) {
	if len(letters) == 0 {
		return
	}
	p.mu.letters = append(p.mu.letters, letters...)
	if !p.mu.delivering && p.mu.phase == active {
		p.mu.delivering = true
		ctx, stop := context.WithCancel(p.m.ctx)
		p.mu.stop = stop
		p.m.running.Go(func() {
			defer stop()
			p.deliver(ctx)
		})
	}
}

// deliver sees to letters, all that wait together, and archives what they are about afterwards (SHR-6).
func (p *partition) deliver(ctx context.Context) {
	for {
		letters := p.nextLetters(ctx)
		if len(letters) == 0 {
			return
		}
		if p.m.o.DeadLetters.Deliver(ctx, p.key.Group, p.leader, letters) != nil {
			continue // broken off: what is persisted has them delivered by whoever comes next
		}
		p.mu.Lock()
		if p.mu.phase == active {
			if c := p.mu.window.Archive(letters); c != nil {
				p.persistLocked(c, false)
			}
		}
		p.mu.Unlock()
	}
}

// nextLetters takes letters off the queue; none when there are none or ctx ended.
func (p *partition) nextLetters(ctx context.Context) []window.Letter {
	p.mu.Lock()
	letters := p.mu.letters
	p.mu.letters = nil
	if len(letters) > 0 && ctx.Err() == nil {
		p.mu.Unlock()
		return letters
	}
	p.mu.delivering = false
	retired := p.mu.retired && p.idleLocked()
	p.mu.Unlock()
	if retired {
		p.fence()
	}
	return nil
}
