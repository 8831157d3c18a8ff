package commands

import (
	"context"
	"io"
	"time"
)

// ApplyWithin is Apply with other times; see plainPort.
func ApplyWithin(ctx context.Context, address string, quiet, patience time.Duration, out io.Writer) error {
	return plainPort{address, quiet, patience}.apply(ctx, false, out)
}
