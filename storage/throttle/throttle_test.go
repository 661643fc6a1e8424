package throttle

import (
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// TestThrottle counts what all threads together get through in a minute.
func TestThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rate := 1000.0
		th := New(func() float64 { return rate })
		sum := make(chan int)
		for range 2 {
			go func() {
				began, n := time.Now(), 0
				for time.Since(began) < time.Minute {
					if err := th.Wait(t.Context(), 500); err != nil {
						break
					}
					n += 500
				}
				sum <- n
			}()
		}
		if n := <-sum + <-sum; n < 55000 || n > 65000 {
			t.Fatalf("%d bytes in a minute at 1000 a second", n)
		}
		rate = math.MaxFloat64
		began := time.Now()
		for range 1000 {
			if err := th.Wait(t.Context(), 1<<20); err != nil {
				t.Fatal(err)
			}
		}
		if d := time.Since(began); d > time.Second {
			t.Fatalf("%v without a limit", d)
		}
	})
}
