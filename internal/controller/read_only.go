package controller

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

// ReadOnly is what clients hear that want to change what a read-only broker serves. The code is one that producers and
// admin clients neither take for a passing trouble nor for a lack of rights, and that is shown with its text.
func ReadOnly() *Error {
	return &Error{kerr.PolicyViolation, "this broker serves its directories read-only: nothing can be produced, created, altered or deleted"}
}

// update is the Store's Update for what a client asks for.
func (c *Controller) update(decide func(*metadata.Image, record.Offset) ([]stored.Message, error)) (record.Offset, error) {
	if c.o.ReadOnly {
		return record.NoOffset, ReadOnly()
	}
	return c.o.Store.Update(decide)
}
