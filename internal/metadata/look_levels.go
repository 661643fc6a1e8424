package metadata

// Levels are the finalized feature levels, or before the first start those that the records of formatting will set.
func (f *Found) Levels() map[string]int16 {
	if f.Image.MetadataVersion() == 0 {
		return bootstrapLevels(f.reading.bootstrap)
	}
	return f.Image.Features
}

// OpenTransaction reports whether a metadata transaction has begun and not ended; opening the log aborts it.
func (f *Found) OpenTransaction() bool { return f.reading.replay.before != nil }
