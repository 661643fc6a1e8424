package longtest

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// Variable is the name of the environment variable that asks for the long forms.
const Variable = "SAMSA_TEST_LONG"

// On reports whether the long forms are asked for.
func On() bool { return os.Getenv(Variable) != "" }

// Pick returns the second value in the long form, the first otherwise.
func Pick[T any](short, long T) T {
	if On() {
		return long
	}
	return short
}

// given are the flags of the command line, before Check sets any.
var given = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { names[f.Name] = true })
	return names
})

// running keeps two models from setting rapid's flags under each other.
var running sync.Mutex

// Check is rapid.Check with so many random histories in the short form and so many in the long one, from a seed of its
// own. -rapid.checks and -rapid.seed go before. It prints how many there were and the seed.
func Check(t *testing.T, short, long int, property func(*rapid.T)) {
	t.Helper()
	flags := given()
	running.Lock()
	defer running.Unlock()
	set := func(name string, value any) {
		if flags[name] {
			return
		}
		if err := flag.Set(name, fmt.Sprint(value)); err != nil {
			t.Fatal(err)
		}
	}
	set("rapid.checks", Pick(short, long))
	set("rapid.seed", rand.Uint64()|1)
	n := 0
	defer func() {
		t.Logf("%d histories, -rapid.seed=%s", n, flag.Lookup("rapid.seed").Value)
	}()
	rapid.Check(t, func(rt *rapid.T) {
		n++
		property(rt)
	})
}
