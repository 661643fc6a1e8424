//go:build !linux

package proc

import (
	"context"
	"errors"
)

// Of is not there on this system.
func Of(int) (Usage, error) { return Usage{}, errors.ErrUnsupported }

// ForgetPeak is not there on this system.
func ForgetPeak(int) error { return errors.ErrUnsupported }

// Memory is not there on this system.
func Memory() (int64, error) { return 0, errors.ErrUnsupported }

// Processor is not there on this system.
func Processor() string { return "unknown" }

// Calls is not there on this system.
func Calls(context.Context, int, func() error) (int64, error) { return 0, errors.ErrUnsupported }

// Attached is not there on this system.
func Attached(int) {}
