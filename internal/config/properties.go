package config

import (
	"bytes"
	"fmt"
	"io"

	"github.com/samsalog/samsa/storage/checkpoint"
)

// maxPropertiesBytes bounds a properties file; a real one is a few KiB.
const maxPropertiesBytes = 4 << 20

// ParseProperties reads a server.properties, in the syntax of java.util.Properties and UTF-8. A later line wins over
// an earlier one.
func ParseProperties(r io.Reader) (map[string]string, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxPropertiesBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading properties: %w", err)
	}
	if len(data) > maxPropertiesBytes {
		return nil, fmt.Errorf("properties are larger than %d bytes", maxPropertiesBytes)
	}
	return checkpoint.ParseProperties(bytes.TrimPrefix(data, []byte("\ufeff"))) // some editors begin files so
}
