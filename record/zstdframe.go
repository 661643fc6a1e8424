package record

import (
	"encoding/binary"
	"errors"
)

// Frame format: RFC 8878, section 3.1.

const (
	zstdMagic          = 0xfd2fb528
	zstdSkippableMagic = 0x184d2a50 // and the 15 that follow
)

var errZstdFrame = errors.New("bad zstd frame")

// zstdHeader is what the front of a frame says.
type zstdHeader struct {
	size        int    // bytes of the header, magic included
	window      uint64 // bytes a decoder must keep
	hasChecksum bool
}

func parseZstdHeader(b []byte) (zstdHeader, error) {
	if len(b) < 6 || binary.LittleEndian.Uint32(b) != zstdMagic {
		return zstdHeader{}, errZstdFrame
	}
	descriptor := b[4]
	single := descriptor&0x20 != 0
	h := zstdHeader{size: 5, hasChecksum: descriptor&0x04 != 0}
	if !single {
		exponent, mantissa := uint(b[5]>>3), uint64(b[5]&7)
		base := uint64(1) << (10 + exponent)
		h.window = base + base/8*mantissa
		h.size++
	}
	h.size += [4]int{0, 1, 2, 4}[descriptor&3] // dictionary id
	contentBytes := [4]int{0, 2, 4, 8}[descriptor>>6]
	if single && contentBytes == 0 {
		contentBytes = 1
	}
	if len(b) < h.size+contentBytes {
		return zstdHeader{}, errZstdFrame
	}
	if single {
		h.window = contentSize(b[h.size:], contentBytes)
	}
	h.size += contentBytes
	return h, nil
}

func contentSize(b []byte, bytes int) uint64 {
	switch bytes {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b)) + 256
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	default:
		return binary.LittleEndian.Uint64(b)
	}
}

// zstdWindow returns the largest window of the frames in b, found by walking their block headers. What is
// no frame ends the walk: the decoder will say so.
func zstdWindow(b []byte) uint64 {
	var window uint64
	for len(b) >= 8 {
		if magic := binary.LittleEndian.Uint32(b); magic&^15 == zstdSkippableMagic {
			b = skip(b, 8+int64(binary.LittleEndian.Uint32(b[4:])))
			continue
		}
		h, err := parseZstdHeader(b)
		if err != nil {
			return window
		}
		window = max(window, h.window)
		b = skip(b, int64(h.size))
		for last := false; !last && len(b) >= 3; {
			header := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16
			last = header&1 != 0
			size := int64(header >> 3)
			if header>>1&3 == 1 { // run length: one byte stands for size bytes
				size = 1
			}
			b = skip(b, 3+size)
		}
		if h.hasChecksum {
			b = skip(b, 4)
		}
	}
	return window
}

func skip(b []byte, n int64) []byte {
	if n > int64(len(b)) {
		return nil
	}
	return b[n:]
}
