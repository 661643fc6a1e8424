package txn

import (
	"sync"

	"github.com/samsalog/samsa/record"
)

// ProducerIDs hands out producer ids from blocks that the controller has recorded before use, so that no id
// is ever given twice; what a block still held at a crash is lost (ProducerIdManager).
type ProducerIDs struct {
	allocate func() (first record.ProducerID, count int32, err error)
	mu       struct {
		sync.Mutex
		next, end record.ProducerID
	}
}

// NewProducerIDs returns an empty store that takes its blocks from allocate.
func NewProducerIDs(allocate func() (first record.ProducerID, count int32, err error)) *ProducerIDs {
	return &ProducerIDs{allocate: allocate}
}

// Next returns an id that was never handed out.
func (p *ProducerIDs) Next() (record.ProducerID, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.next == p.mu.end {
		first, count, err := p.allocate()
		if err != nil {
			return record.NoProducerID, err
		}
		p.mu.next, p.mu.end = first, first+record.ProducerID(count)
	}
	id := p.mu.next
	p.mu.next++
	return id, nil
}
