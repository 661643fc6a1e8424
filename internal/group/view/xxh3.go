package view

import (
	"encoding/binary"
	"math/bits"
)

// What follows is XXH3 with 64 bits, seed 0 and the default secret, as the xxHash specification describes it.

const (
	xxh32Prime1 = 0x9E3779B1
	xxh32Prime2 = 0x85EBCA77
	xxh32Prime3 = 0xC2B2AE3D
	xxh64Prime1 = 0x9E3779B185EBCA87
	xxh64Prime2 = 0xC2B2AE3D27D4EB4F
	xxh64Prime3 = 0x165667B19E3779F9
	xxh64Prime4 = 0x85EBCA77C2B2AE63
	xxh64Prime5 = 0x27D4EB2F165667C5
	xxh3PrimeMX = 0x165667919E3779F9
	xxh3PrimeRR = 0x9FB21C651E98DF25
)

// xxh3Secret is the default secret of the specification.
const xxh3Secret = "\xb8\xfe\x6c\x39\x23\xa4\x4b\xbe\x7c\x01\x81\x2c\xf7\x21\xad\x1c\xde\xd4\x6d\xe9\x83\x90\x97\xdb\x72\x40\xa4\xa4\xb7\xb3\x67\x1f" +
	"\xcb\x79\xe6\x4e\xcc\xc0\xe5\x78\x82\x5a\xd0\x7d\xcc\xff\x72\x21\xb8\x08\x46\x74\xf7\x43\x24\x8e\xe0\x35\x90\xe6\x81\x3a\x26\x4c" +
	"\x3c\x28\x52\xbb\x91\xc3\x00\xcb\x88\xd0\x65\x8b\x1b\x53\x2e\xa3\x71\x64\x48\x97\xa2\x0d\xf9\x4e\x38\x19\xef\x46\xa9\xde\xac\xd8" +
	"\xa8\xfa\x76\x3f\xe3\x9c\x34\x3f\xf9\xdc\xbb\xc7\xc7\x0b\x4f\x1d\x8a\x51\xe0\x4b\xcd\xb4\x59\x31\xc8\x9f\x7e\xc9\xd9\x78\x73\x64" +
	"\xea\xc5\xac\x83\x34\xd3\xeb\xc3\xc5\x81\xa0\xff\xfa\x13\x63\xeb\x17\x0d\xdd\x51\xb7\xf0\xda\x49\xd3\x16\x55\x26\x29\xd4\x68\x9e" +
	"\x2b\x16\xbe\x58\x7d\x47\xa1\xfc\x8f\xf8\xb8\xd1\x7a\xd0\x31\xce\x45\xcb\x3a\x8f\x95\x16\x04\x28\xaf\xd7\xfb\xca\xbb\x4b\x40\x7e"

func secret64(at int) uint64 { return binary.LittleEndian.Uint64([]byte(xxh3Secret[at : at+8])) }

func word64(b []byte, at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }

// fold multiplies to 128 bits and folds the halves.
func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

func avalanche(h uint64) uint64 {
	h = (h ^ h>>37) * xxh3PrimeMX
	return h ^ h>>32
}

func avalanche64(h uint64) uint64 {
	h = (h ^ h>>33) * xxh64Prime2
	h = (h ^ h>>29) * xxh64Prime3
	return h ^ h>>32
}

func xxh3(b []byte) uint64 {
	switch n := len(b); {
	case n <= 16:
		return xxh3Short(b)
	case n <= 128:
		return xxh3Medium(b)
	case n <= 240:
		return xxh3Middle(b)
	}
	return xxh3Long(b)
}

func xxh3Short(b []byte) uint64 {
	n := len(b)
	switch {
	case n > 8:
		lo := word64(b, 0) ^ (secret64(24) ^ secret64(32))
		hi := word64(b, n-8) ^ (secret64(40) ^ secret64(48))
		return avalanche(uint64(n) + bits.ReverseBytes64(lo) + hi + fold(lo, hi))
	case n >= 4:
		first, last := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[n-4:])
		h := (uint64(last) + uint64(first)<<32) ^ (secret64(8) ^ secret64(16))
		h ^= bits.RotateLeft64(h, 49) ^ bits.RotateLeft64(h, 24)
		h *= xxh3PrimeRR
		h ^= h>>35 + uint64(n)
		h *= xxh3PrimeRR
		return h ^ h>>28
	case n > 0:
		x := uint64(b[0])<<16 | uint64(b[n>>1])<<24 | uint64(b[n-1]) | uint64(n)<<8
		key := binary.LittleEndian.Uint64([]byte(xxh3Secret[:8]))
		return avalanche64(x ^ uint64(uint32(key)^uint32(key>>32)))
	}
	return avalanche64(secret64(56) ^ secret64(64))
}

// mix16 takes in 16 bytes at an offset with the secret at another.
func mix16(b []byte, at, secret int) uint64 {
	return fold(word64(b, at)^secret64(secret), word64(b, at+8)^secret64(secret+8))
}

func xxh3Medium(b []byte) uint64 {
	n := len(b)
	h := uint64(n) * xxh64Prime1
	for i := (n - 1) / 32; i >= 0; i-- {
		h += mix16(b, 16*i, 32*i) + mix16(b, n-16*(i+1), 32*i+16)
	}
	return avalanche(h)
}

func xxh3Middle(b []byte) uint64 {
	n := len(b)
	h := uint64(n) * xxh64Prime1
	for i := range 8 {
		h += mix16(b, 16*i, 16*i)
	}
	h = avalanche(h)
	for i := 8; i < n/16; i++ {
		h += mix16(b, 16*i, 16*(i-8)+3)
	}
	return avalanche(h + mix16(b, n-16, 136-17))
}

const (
	stripe   = 64 // bytes taken in at a time
	perBlock = (len(xxh3Secret) - stripe) / 8
)

func xxh3Long(b []byte) uint64 {
	acc := [8]uint64{xxh32Prime3, xxh64Prime1, xxh64Prime2, xxh64Prime3, xxh64Prime4, xxh32Prime2, xxh64Prime5, xxh32Prime1}
	n, block := len(b), stripe*perBlock
	blocks := (n - 1) / block
	for i := range blocks {
		for s := range perBlock {
			accumulate(&acc, b[i*block+s*stripe:], 8*s)
		}
		for j := range acc {
			acc[j] = (acc[j] ^ acc[j]>>47 ^ secret64(len(xxh3Secret)-stripe+8*j)) * xxh32Prime1
		}
	}
	rest := b[blocks*block:]
	for s := range (len(rest) - 1) / stripe {
		accumulate(&acc, rest[s*stripe:], 8*s)
	}
	accumulate(&acc, b[n-stripe:], len(xxh3Secret)-stripe-7)
	h := uint64(n) * xxh64Prime1
	for j := 0; j < 8; j += 2 {
		h += fold(acc[j]^secret64(11+8*j), acc[j+1]^secret64(11+8*j+8))
	}
	return avalanche(h)
}

func accumulate(acc *[8]uint64, b []byte, secret int) {
	for j := range acc {
		x := word64(b, 8*j)
		key := x ^ secret64(secret+8*j)
		acc[j^1] += x
		acc[j] += uint64(uint32(key)) * (key >> 32)
	}
}
