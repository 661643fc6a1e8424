package load

import (
	"fmt"
	"math/rand/v2"
	"strconv"
)

// poolBytes is how much there is before values repeat: more than the window of any codec.
const poolBytes = 8 << 20

// payload hands out values of one size, slices of one pool: no work while measuring.
type payload struct {
	pool []byte
	size int
	at   int
}

func newPayload(size int, text bool) *payload {
	random := rand.New(rand.NewPCG(1, 2))
	pool := make([]byte, 0, max(poolBytes, size)+64)
	for n := 0; len(pool) < max(poolBytes, size); n++ {
		if text {
			pool = fmt.Appendf(pool, `{"time":"2026-11-30T%02d:%02d:%02d.%03dZ","level":"info","service":"checkout","trace":"%08x","user":%d,"path":"/api/v1/orders/%d","took_ms":%d}`+"\n",
				n/3600%24, n/60%60, n%60, random.IntN(1000), random.Uint32(), random.IntN(100_000), random.IntN(10_000), random.IntN(300))
			continue
		}
		for v, i := random.Uint64(), 0; i < 8; i++ {
			pool = append(pool, 'A'+byte(v>>(8*i)&15))
		}
	}
	return &payload{pool: pool, size: size}
}

// share returns another that hands out the same values.
func (p *payload) share() *payload { return &payload{pool: p.pool, size: p.size} }

func (p *payload) next() []byte {
	if p.at+p.size > len(p.pool) {
		p.at = 0
	}
	v := p.pool[p.at : p.at+p.size : p.at+p.size]
	p.at += p.size
	return v
}

// keys hands out keys in an order that looks random and is the same each time.
type keys struct {
	random *rand.Rand
	n      int
}

func newKeys(n int) *keys { return &keys{rand.New(rand.NewPCG(3, 4)), n} }

func (k *keys) next() []byte {
	if k.n == 0 {
		return nil
	}
	return strconv.AppendInt([]byte("key-"), int64(k.random.IntN(k.n)), 10)
}
