package cleaner

import (
	"math"
	"time"
)

// Settings are what Kafka calls log.cleaner.*; all may change at run time.
type Settings struct {
	// Threads is how many logs are compacted at a time (log.cleaner.threads), at least 1.
	Threads int
	// DedupeBufferBytes bounds the memory for keys of all threads together (log.cleaner.dedupe.buffer.size), LoadFactor
	// is how full it may get (log.cleaner.io.buffer.load.factor).
	DedupeBufferBytes int64
	LoadFactor        float64
	// IOBufferBytes is for the buffers of all threads, half for reading, half for writing (log.cleaner.io.buffer.size);
	// reading ahead takes several of that half. A batch that is larger gets what it needs.
	IOBufferBytes int
	// IOMaxBytesPerSecond bounds what all threads read and write (log.cleaner.io.max.bytes.per.second); 0 or less: no bound.
	IOMaxBytesPerSecond float64
	// Backoff is the pause when there is nothing to do (log.cleaner.backoff.ms).
	Backoff time.Duration
}

// DefaultSettings are those of Apache Kafka 4.4.
func DefaultSettings() Settings {
	return Settings{Threads: 1, DedupeBufferBytes: 128 << 20, LoadFactor: 0.9, IOBufferBytes: 512 << 10,
		IOMaxBytesPerSecond: math.MaxFloat64, Backoff: 15 * time.Second}
}

const (
	// minBuffer is the smallest buffer: a page.
	minBuffer = 4096
	// maxMapBytes bounds what one thread's map takes, as in Kafka.
	maxMapBytes = math.MaxInt32
)

// mapBytes is one thread's share of the memory for keys.
func (s *Settings) mapBytes() int64 {
	return min(s.DedupeBufferBytes/int64(max(1, s.Threads)), maxMapBytes)
}

// bufferBytes is the size of one thread's pieces for reading, and of its buffer for writing.
func (s *Settings) bufferBytes() int { return max(minBuffer, s.IOBufferBytes/max(1, s.Threads)/2) }
