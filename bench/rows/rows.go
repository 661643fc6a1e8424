package rows

import (
	"slices"
	"time"

	"github.com/samsalog/samsa/bench/figure"
	"github.com/samsalog/samsa/bench/peer"
	"github.com/samsalog/samsa/bench/row"
)

// recordBytes is the size of a record unless a row says otherwise.
const recordBytes = 1024

// All returns every row in the order in which they are measured: standing rows first, so that brokers are started once, and
// those last for which Apache Kafka needs minutes.
func All() []row.Row {
	return slices.Concat(
		limitRows(), produceRows(), consumeRows(), latencyRows(), singleRows(), fsyncRows(), connectionRows(),
		callRows(), perfToolRows(), rdkafkaRows(), compactionRows(),
		startRows(), memoryRows(), dumpRows(), recoveryRows(), lookupRows(), sizeRows(), manyRows(),
	)
}

// filed is how much memory records take on their way into files, with something to spare.
func filed(records int64) int64 { return records * recordBytes * 3 / 2 }

// both are the brokers themselves.
func both() []peer.Name { return []peer.Name{peer.Samsa, peer.Kafka} }

// ofKafka makes marks of Samsa's figure as a multiple of Apache Kafka's.
func ofKafka(rowName, name string, atLeast, atMost float64) figure.Mark {
	return figure.Mark{Row: rowName, Figure: name, Peer: string(peer.Samsa), Of: figure.Of{Peer: string(peer.Kafka)}, AtLeast: atLeast, AtMost: atMost}
}

// ofMinimum makes a mark of Samsa's figure as a multiple of the minimum broker's.
func ofMinimum(rowName, name string, atLeast float64) figure.Mark {
	return figure.Mark{Row: rowName, Figure: name, Peer: string(peer.Samsa), Of: figure.Of{Peer: string(peer.Minimum)}, AtLeast: atLeast}
}

// absolute makes a mark of a figure of Samsa.
func absolute(rowName, name string, atMost float64) figure.Mark {
	return figure.Mark{Row: rowName, Figure: name, Peer: string(peer.Samsa), AtMost: atMost}
}

// seconds scales a time, but not below what makes sense.
func seconds(b *row.Bench, s float64) time.Duration {
	return max(time.Duration(s*b.Scale*float64(time.Second)), 200*time.Millisecond)
}
