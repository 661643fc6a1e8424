package record

import (
	"encoding/binary"
	"math/bits"
)

// The five primes of xxHash32 (github.com/Cyan4973/xxHash, doc/xxhash_spec.md).
const (
	xxPrime1 uint32 = 2654435761
	xxPrime2 uint32 = 2246822519
	xxPrime3 uint32 = 3266489917
	xxPrime4 uint32 = 668265263
	xxPrime5 uint32 = 374761393
)

// xxh32 is xxHash32 with seed 0, the checksum of LZ4 frames.
func xxh32(b []byte) uint32 {
	var h uint32
	size := uint32(len(b))
	if len(b) < 16 {
		h = xxPrime5
	} else {
		var seed uint32
		lanes := [4]uint32{seed + xxPrime1 + xxPrime2, seed + xxPrime2, seed, seed - xxPrime1}
		for ; len(b) >= 16; b = b[16:] {
			for i := range lanes {
				lanes[i] = bits.RotateLeft32(lanes[i]+binary.LittleEndian.Uint32(b[4*i:])*xxPrime2, 13) * xxPrime1
			}
		}
		for i, rotate := range [4]int{1, 7, 12, 18} {
			h += bits.RotateLeft32(lanes[i], rotate)
		}
	}
	h += size
	for ; len(b) >= 4; b = b[4:] {
		h = bits.RotateLeft32(h+binary.LittleEndian.Uint32(b)*xxPrime3, 17) * xxPrime4
	}
	for _, c := range b {
		h = bits.RotateLeft32(h+uint32(c)*xxPrime5, 11) * xxPrime1
	}
	h = (h ^ h>>15) * xxPrime2
	h = (h ^ h>>13) * xxPrime3
	return h ^ h>>16
}
