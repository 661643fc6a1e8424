package cli

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// payloadOptions say what records hold; exactly one of size, file and monotonic is given.
type payloadOptions struct {
	size      int
	file      string
	delimiter string
	monotonic bool
	seed      uint64
}

func (o *payloadOptions) flags(flags *pflag.FlagSet) {
	flags.IntVar(&o.size, "record-size", -1, "`bytes` a record, random capital letters")
	flags.StringVar(&o.file, "payload-file", "", "`file` to pick records from at random")
	flags.StringVar(&o.delimiter, "payload-delimiter", `\n`, "what stands between the records of --payload-file")
	flags.BoolVar(&o.monotonic, "payload-monotonic", false, "records are the numbers 0, 1, 2, …")
	flags.Uint64Var(&o.seed, "random-seed", 0, "seed of everything random; the same seed gives the same records")
}

// payloadSource makes values. They are shared between records and must not be changed.
type payloadSource struct {
	next func() []byte
	// largest is the size of the largest value in bytes.
	largest int
}

// randomPoolBytes is how many different random bytes there are before they repeat: far more than the
// window of any codec, so that repetition does not help compression.
const randomPoolBytes = 16 << 20

func (o *payloadOptions) source() (*payloadSource, error) {
	given := 0
	for _, is := range []bool{o.size >= 0, o.file != "", o.monotonic} {
		if is {
			given++
		}
	}
	if given != 1 {
		return nil, usagef("say what the records hold with one of --record-size, --payload-file and --payload-monotonic")
	}
	random := rand.New(rand.NewPCG(o.seed, 0))
	switch {
	case o.file != "":
		return filePayload(o.file, o.delimiter, random)
	case o.monotonic:
		n := int64(-1)
		return &payloadSource{largest: 20, next: func() []byte { n++; return strconv.AppendInt(nil, n, 10) }}, nil
	case o.size == 0 || o.size > 1<<30:
		return nil, usagef("--record-size must be between 1 and %d", 1<<30)
	default:
		return randomPayload(o.size, random), nil
	}
}

// randomPayload slices records out of one pool of letters, which costs nothing while measuring.
func randomPayload(size int, random *rand.Rand) *payloadSource {
	pool := make([]byte, max(randomPoolBytes, size))
	for i := range pool {
		pool[i] = byte('A' + random.IntN(26))
	}
	at := 0
	return &payloadSource{largest: size, next: func() []byte {
		if at+size > len(pool) {
			at = 0
		}
		value := pool[at : at+size : at+size]
		at += size
		return value
	}}
}

func filePayload(name, delimiter string, random *rand.Rand) (*payloadSource, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("payload file: %w", err)
	}
	delimiter = strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\t`, "\t").Replace(delimiter)
	if delimiter == "" {
		return nil, usagef("--payload-delimiter is empty")
	}
	var values [][]byte
	largest := 0
	for _, value := range bytes.Split(content, []byte(delimiter)) {
		if len(value) > 0 {
			values = append(values, value)
			largest = max(largest, len(value))
		}
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("payload file %s holds no record", name)
	}
	return &payloadSource{largest: largest, next: func() []byte { return values[random.IntN(len(values))] }}, nil
}
