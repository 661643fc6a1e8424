package record

// fields are the parts of a magic 2 record body, cut out of b by parseFields.
type fields struct {
	attributes     int8
	timestampDelta int64
	offsetDelta    int32
	key, value     []byte
	headers        []byte // headerCount headers, well formed
	headerCount    int32
}

// parseFields cuts the record body b (what follows its length) into fields; false if the fields do not fill
// it exactly. Nothing is copied or allocated.
func parseFields(b []byte) (f fields, ok bool) {
	if len(b) == 0 {
		return f, false
	}
	f.attributes = int8(b[0])
	b = b[1:]
	var n int
	if f.timestampDelta, n = varint64(b); n == 0 {
		return f, false
	}
	b = b[n:]
	if f.offsetDelta, n = varint32(b); n == 0 {
		return f, false
	}
	b = b[n:]
	if f.key, b, ok = cutBytes(b); !ok {
		return f, false
	}
	if f.value, b, ok = cutBytes(b); !ok {
		return f, false
	}
	if f.headerCount, n = varint32(b); n == 0 || f.headerCount < 0 || int(f.headerCount) > len(b)-n {
		return f, false
	}
	f.headers = b[n:]
	b = b[n:]
	for range f.headerCount {
		size, n := varint32(b)
		if n == 0 || size < 0 || int64(size) > int64(len(b)-n) {
			return f, false
		}
		if _, b, ok = cutBytes(b[n+int(size):]); !ok {
			return f, false
		}
	}
	return f, len(b) == 0
}

// sizes is what validation needs of a record: -1 is the size of a null key or value.
type sizes struct {
	timestampDelta     int64
	offsetDelta        int32
	keySize, valueSize int
}

func (f *fields) sizes() sizes {
	s := sizes{timestampDelta: f.timestampDelta, offsetDelta: f.offsetDelta, keySize: -1, valueSize: -1}
	if f.key != nil {
		s.keySize = len(f.key)
	}
	if f.value != nil {
		s.valueSize = len(f.value)
	}
	return s
}

// cutBytes cuts a length (negative: null) and that many bytes from b.
func cutBytes(b []byte) (field, rest []byte, ok bool) {
	size, n := varint32(b)
	if n == 0 {
		return nil, nil, false
	}
	b = b[n:]
	if size < 0 {
		return nil, b, true
	}
	if int64(size) > int64(len(b)) {
		return nil, nil, false
	}
	return b[:size:size], b[size:], true
}

// appendHeaders parses the header section that parseFields accepted. Keys that equal the one at the same
// place in previous are taken from there, so that a batch of like records allocates its keys once.
func (f fields) appendHeaders(dst, previous []RecordHeader) []RecordHeader {
	b := f.headers
	for i := range int(f.headerCount) {
		size, n := varint32(b)
		raw := b[n : n+int(size)]
		var key string
		if i < len(previous) && previous[i].Key == string(raw) {
			key = previous[i].Key
		} else {
			key = string(raw)
		}
		var value []byte
		value, b, _ = cutBytes(b[n+int(size):])
		dst = append(dst, RecordHeader{Key: key, Value: value})
	}
	return dst
}
