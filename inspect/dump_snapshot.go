package inspect

import (
	"errors"
	"fmt"
	"io"

	"github.com/samsalog/samsa/storage/producer"
)

type producerEntry = producer.Entry

// maxSnapshotSize bounds what is read of a producer snapshot: 46 bytes for each of 20 million producers.
const maxSnapshotSize = 1 << 30

// snapshot dumps a producer snapshot.
func (d *dumper) snapshot(path string) error {
	f, size, err := d.open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if size > maxSnapshotSize {
		return fmt.Errorf("a producer snapshot of %d bytes", size)
	}
	raw := make([]byte, size)
	if _, err := f.ReadAt(raw, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	list, err := producer.DecodeSnapshot(raw)
	if err != nil {
		d.out.problem(path, err) // a broker takes the snapshot before this one; to Kafka's tool too it is no failure
		return nil
	}
	for _, e := range list {
		d.out.producer(e)
	}
	return nil
}
