package record

// appendVarint appends a zigzag varint, at most 5 bytes for values of 32 bits, 10 for 64.
func appendVarint(dst []byte, n int64) []byte {
	z := uint64(n<<1) ^ uint64(n>>63)
	for z >= 0x80 {
		dst = append(dst, byte(z)|0x80)
		z >>= 7
	}
	return append(dst, byte(z))
}

// varintSize is the number of bytes that appendVarint appends.
func varintSize(n int64) int {
	z := uint64(n<<1) ^ uint64(n>>63)
	size := 1
	for z >= 0x80 {
		z >>= 7
		size++
	}
	return size
}

// varint32 reads a zigzag varint of 32 bits from b. size is 0 if b ends inside it, or if it is longer than 5 bytes.
// Like Kafka's reader it drops the bits that the fifth byte has above 32.
func varint32(b []byte) (n int32, size int) {
	if len(b) > 0 && b[0] < 0x80 { // one byte: nearly every field
		return int32(b[0]>>1) ^ -int32(b[0]&1), 1
	}
	var z uint32
	for i := 0; i < len(b) && i < 5; i++ {
		z |= uint32(b[i]&0x7f) << (7 * i)
		if b[i] < 0x80 {
			return int32(z>>1) ^ -int32(z&1), i + 1
		}
	}
	return 0, 0
}

// varint64 reads a zigzag varint of 64 bits, at most 10 bytes; see varint32.
func varint64(b []byte) (n int64, size int) {
	var z uint64
	for i := 0; i < len(b) && i < 10; i++ {
		z |= uint64(b[i]&0x7f) << (7 * i)
		if b[i] < 0x80 {
			return int64(z>>1) ^ -int64(z&1), i + 1
		}
	}
	return 0, 0
}
