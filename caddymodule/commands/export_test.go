package commands

import (
	"context"
	"io"
	"time"
)

// Apply is the command apply.
func Apply(ctx context.Context, address string, dryRun bool, out io.Writer) error {
	p := plainPort{address, time.Hour, time.Hour}
	if dryRun {
		return p.preview(ctx, out)
	}
	return p.apply(ctx, false, out)
}

// ApplyWithin is Apply with other times; see plainPort.
func ApplyWithin(ctx context.Context, address string, quiet, patience time.Duration, out io.Writer) error {
	return plainPort{address, quiet, patience}.apply(ctx, false, out)
}
