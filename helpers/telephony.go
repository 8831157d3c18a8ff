package helpers

import (
	"context"

	"github.com/ringfence/ringfence/asterisk/jobs"
	"github.com/ringfence/ringfence/internal/apierr"
)

// Telephony makes what is stored the configuration of the telephone system. It is safe for concurrent use.
//
// An error that is an *apierr.Error is shown to the client. Any other is logged, and the client reads that it could not be done.
type Telephony interface {
	// Generate makes a new generation of configuration files from what is stored, by a job. It does not touch what is live.
	Generate(ctx context.Context, asked jobs.Recorder) error
	// Apply starts a job that generates, checks and makes live, and returns it, or the one that is already waiting to do the same.
	// The job goes on when ctx ends.
	Apply(ctx context.Context, o jobs.Options) (jobs.Job, error)
	// Job returns a job that is kept. The error is an apierr.NotFound if there is none with this UUID.
	Job(ctx context.Context, uuid string) (jobs.Job, error)
	// Preview returns how the live configuration would change. It changes nothing.
	Preview(ctx context.Context) (jobs.Preview, error)
	// Generations returns the generations of files that are kept.
	Generations(ctx context.Context) (jobs.Generations, error)
	// GoBack starts a job that makes one of them live, whatever is stored, and returns it. The error is an apierr.NotFound if it is not kept,
	// and an apierr.Conflict if it was taken back.
	GoBack(ctx context.Context, generation int64, asked jobs.Recorder) (jobs.Job, error)
	// Live returns the state of the running telephone system, with all rows, which nobody may change. The error is an apierr.Unavailable if it
	// cannot be asked.
	Live(ctx context.Context) (jobs.Live, error)
}

// Commands executes commands of Asterisk's console. It is safe for concurrent use.
type Commands interface {
	// Execute executes one command, which is one of those that [jobs.Allowed] accepts, and returns when it has ended. Besides [jobs.ErrReloading]
	// and [jobs.ErrNoAsterisk] any error is a failure of the command, and its text is shown to clients.
	Execute(ctx context.Context, command string) error
}

// noTelephony is the Telephony of a gateway that has none.
type noTelephony struct{}

func noneHere() error {
	return apierr.New(apierr.NotImplemented, "This gateway configures no telephone system")
}

func (noTelephony) Generate(context.Context, jobs.Recorder) error { return noneHere() }
func (noTelephony) Apply(context.Context, jobs.Options) (jobs.Job, error) {
	return jobs.Job{}, noneHere()
}
func (noTelephony) Job(context.Context, string) (jobs.Job, error) { return jobs.Job{}, notFound() }
func (noTelephony) Preview(context.Context) (jobs.Preview, error) { return jobs.Preview{}, noneHere() }

func (noTelephony) Generations(context.Context) (jobs.Generations, error) {
	return jobs.Generations{Items: []jobs.Generation{}}, noneHere()
}

func (noTelephony) GoBack(context.Context, int64, jobs.Recorder) (jobs.Job, error) {
	return jobs.Job{}, noneHere()
}
func (noTelephony) Live(context.Context) (jobs.Live, error) { return jobs.Live{}, noneHere() }

func notFound() error { return apierr.New(apierr.NotFound, "Not found") }

// noCommands is the Commands of a gateway without an Asterisk.
type noCommands struct{}

func (noCommands) Execute(context.Context, string) error { return jobs.ErrNoAsterisk }
