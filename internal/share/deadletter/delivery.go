package deadletter

import (
	"context"

	"github.com/samsalog/samsa/internal/replica"
	"github.com/samsalog/samsa/internal/share/window"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
)

// delivery is one Deliver on its way. Letters are cut and taken out as their records are done.
type delivery struct {
	w       *Writer
	group   string
	source  *replica.Partition
	letters []window.Letter
	done    int64 // records that are done
}

// attempt writes the letters, batch by batch. It returns what it failed with, and nil when all are done.
func (d *delivery) attempt(ctx context.Context) error {
	q, queue, err := d.w.open(d.group, d.source.TopicPartition().Partition)
	if err != nil {
		return err
	}
	var originals *reader
	if q.Copy {
		originals = &reader{source: d.source, most: queue.Log().Config().MaxMessageBytes}
		defer originals.close()
	}
	alone := int64(0) // so many records are written in batches of their own
	for len(d.letters) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		b := d.fill(queue.Log().Config().MaxMessageBytes, alone > 0, originals)
		n := int64(b.Count())
		err := d.append(queue, b.Build())
		switch {
		case err == nil:
			d.w.counters.written.Add(n)
		case passing(err):
			return err
		case n > 1:
			// One record may spoil a batch, as one without a key does in a compacted topic. By itself each shows what it is.
			alone = n
			continue
		default:
			d.lose(err, 1)
		}
		d.advance(n)
		alone = max(0, alone-n)
	}
	return nil
}

func (d *delivery) append(queue *replica.Partition, b record.Batch) error {
	d.w.counters.requests.Add(1)
	_, err := queue.Append(b, storage.AppendOptions{Origin: storage.Client})
	if err != nil {
		d.w.counters.failed.Add(1)
	}
	return err
}

// advance is past n records.
func (d *delivery) advance(n int64) {
	d.done += n
	for n > 0 {
		l := &d.letters[0]
		if have := int64(l.Last - l.First + 1); have <= n {
			d.letters = d.letters[1:]
			n -= have
			continue
		}
		l.First += record.Offset(n)
		n = 0
	}
}

// lose tells that n records from the next one on will not come into the queue (DLQ-1).
func (d *delivery) lose(err error, n int64) {
	d.w.counters.lost.Add(n)
	d.w.o.Logger.Error("records of a share group do not come into its dead-letter queue; they are archived all the same",
		"group", d.group, "partition", d.source.TopicPartition(), "records", n, "first", d.letters[0].First, "err", err)
}

// giveUp loses all letters that are left.
func (d *delivery) giveUp(err error) {
	n := int64(0)
	for _, l := range d.letters {
		n += int64(l.Last - l.First + 1)
	}
	d.lose(err, n)
	d.advance(n)
}
