package controller

import (
	"math"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

// producerIDBlock is how many ids a broker gets at once (ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE).
const producerIDBlock = 1000

// AllocateProducerIDs reserves the next block of producer ids: count ids from first on, which nobody has got
// before or will get again (CTL-3).
func (c *Controller) AllocateProducerIDs() (first record.ProducerID, count int32, err error) {
	_, err = c.o.Store.Update(func(i *metadata.Image, _ record.Offset) ([]stored.Message, error) {
		first = i.NextProducerID
		if first > math.MaxInt64-producerIDBlock {
			return nil, refuse(kerr.UnknownServerError, "all producer ids have been handed out")
		}
		epoch := int64(-1)
		if b := i.Brokers[c.o.NodeID]; b != nil {
			epoch = b.Epoch
		}
		return []stored.Message{&stored.ProducerIdsRecord{
			BrokerID: c.o.NodeID, BrokerEpoch: epoch, NextProducerID: int64(first) + producerIDBlock,
		}}, nil
	})
	if err != nil {
		return record.NoProducerID, 0, err
	}
	return first, producerIDBlock, nil
}
