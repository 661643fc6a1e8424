package record

import (
	"encoding/base64"
	"fmt"
	"io"
)

// UUID is Kafka's 128-bit id of topics, directories and incarnations, most significant byte first.
type UUID [16]byte

// ReservedUUIDs is how many of the lowest ids Kafka reserves (DirectoryId.RESERVED): ids whose high
// 8 bytes are 0 and whose low 8 bytes are below it are never generated.
const ReservedUUIDs = 100

// Directory ids with a fixed meaning (org.apache.kafka.common.DirectoryId) and the metadata topic's id.
var (
	ZeroUUID          = UUID{}
	MigratingDirID    = UUID{}
	UnassignedDirID   = UUID{15: 1}
	LostDirID         = UUID{15: 2}
	MetadataTopicUUID = UUID{15: 1}
)

// String returns the 22 characters of URL-safe base64 without padding that Kafka writes everywhere.
func (u UUID) String() string { return base64.RawURLEncoding.EncodeToString(u[:]) }

// IsZero reports whether u is the all-zero id, which stands for "none".
func (u UUID) IsZero() bool { return u == UUID{} }

// IsReserved reports whether u is one of the ids that Kafka never generates.
func (u UUID) IsReserved() bool {
	for _, b := range u[:15] {
		if b != 0 {
			return false
		}
	}
	return u[15] < ReservedUUIDs
}

// ParseUUID reads Kafka's text form: up to 24 characters of URL-safe base64 that decode to 16 bytes.
func ParseUUID(s string) (UUID, error) {
	if len(s) > 24 {
		return UUID{}, fmt.Errorf("uuid %.30q: longer than 24 characters", s)
	}
	for len(s) > 0 && s[len(s)-1] == '=' {
		s = s[:len(s)-1]
	}
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) != 16 {
		return UUID{}, fmt.Errorf("uuid %q: not 16 bytes of URL-safe base64", s)
	}
	return UUID(b), nil
}

// NewUUID draws a random version 4 id from random, which is read until the id is neither reserved nor
// begins with '-' in text (Uuid.randomUuid: tools would take such a name for an option).
func NewUUID(random io.Reader) (UUID, error) {
	for {
		var u UUID
		if _, err := io.ReadFull(random, u[:]); err != nil {
			return UUID{}, fmt.Errorf("uuid: random source: %w", err)
		}
		u[6] = u[6]&0x0f | 0x40
		u[8] = u[8]&0x3f | 0x80
		if !u.IsReserved() && u.String()[0] != '-' {
			return u, nil
		}
	}
}
