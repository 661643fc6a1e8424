package samsa

import "github.com/samsalog/samsa/storage/cleaner"

// cleaner returns where compaction gets its settings from, as they are now; nil if it is turned off.
func (s *starting) cleaner() func() cleaner.Settings {
	if !s.layers(nil).Bool("log.cleaner.enable") {
		return nil
	}
	return func() cleaner.Settings {
		l := s.current()
		return cleaner.Settings{
			Threads:             l.Int("log.cleaner.threads"),
			DedupeBufferBytes:   l.Int64("log.cleaner.dedupe.buffer.size"),
			LoadFactor:          l.Float("log.cleaner.io.buffer.load.factor"),
			IOBufferBytes:       l.Int("log.cleaner.io.buffer.size"),
			IOMaxBytesPerSecond: l.Float("log.cleaner.io.max.bytes.per.second"),
			Backoff:             l.Duration("log.cleaner.backoff.ms"),
		}
	}
}
