package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"

	"github.com/ringfence/ringfence/asterisk/jobs"
	"github.com/ringfence/ringfence/asterisk/leftout"
	"github.com/ringfence/ringfence/internal/operator"
)

func init() {
	Register(caddycmd.Command{
		Name:  "apply",
		Usage: "[--dry-run | --force] [--address <url>]",
		Short: "Makes the stored configuration that of Asterisk",
		Long: `
Asks the gateway that runs on this machine, on its plain port, to generate the
configuration of Asterisk, to check it, to make it live and to reload what has
changed, and shows what becomes of it. It names what is stored and not in the
files, such as lines without a login, and why. The command fails if that fails;
then the configuration from before is live. It also fails if no gateway begins
within a minute, and says what it waits for.

With --dry-run it only shows how the live files would change, without passwords.
With --force Asterisk reads all files, whether they have changed or not.

    ringfence apply --dry-run
    ringfence apply
`,
		CobraFunc: func(cmd *cobra.Command) {
			cmd.Args = cobra.NoArgs
			cmd.RunE = runApply
			cmd.Flags().Bool("dry-run", false, "Show how the live files would change")
			cmd.Flags().Bool("force", false, "Make Asterisk read all files, whether they have changed or not")
			cmd.MarkFlagsMutuallyExclusive("dry-run", "force")
			cmd.Flags().String("address", "", "The plain port of the gateway (default: http://127.0.0.1:$RINGFENCE_HELPERS_PORT, else port 8668)")
		},
	})
}

func runApply(cmd *cobra.Command, _ []string) error {
	address := cmp.Or(flagOf(cmd, "address"), "http://127.0.0.1:"+cmp.Or(os.Getenv("RINGFENCE_HELPERS_PORT"), "8668"))
	p := plainPort{address: address, quiet: 3 * time.Second, patience: time.Minute}
	if flagOf(cmd, "dry-run") == "true" {
		return p.preview(cmd.Context(), cmd.OutOrStdout())
	}
	return p.apply(cmd.Context(), flagOf(cmd, "force") == "true", cmd.OutOrStdout())
}

// plainPort is the plain port of a gateway.
type plainPort struct {
	address string
	// A job that has waited for quiet is said to wait, and one that has waited for patience is given up.
	quiet, patience time.Duration
}

func (p plainPort) call(ctx context.Context, method, path string, into any) error {
	c := operator.Client{Server: p.address, HTTP: http.DefaultClient}
	err := c.Call(ctx, method, path, nil, into)
	if _, answered := errors.AsType[*operator.RefusedError](err); err != nil && !answered {
		err = fmt.Errorf("%w; start the gateway, or name its plain port with --address", err)
	}
	return err
}

func (p plainPort) preview(ctx context.Context, out io.Writer) error {
	var preview jobs.Preview
	if err := p.call(ctx, http.MethodGet, "/apply/preview", &preview); err != nil {
		return err
	}
	if !preview.Changed {
		if _, err := fmt.Fprintln(out, "nothing would change"); err != nil {
			return err
		}
	}
	for _, f := range preview.Files {
		if _, err := io.WriteString(out, f.Diff); err != nil {
			return err
		}
	}
	return writeLeftOut(out, preview.LeftOut)
}

func writeLeftOut(out io.Writer, l leftout.Omissions) error {
	for _, line := range l.Lines() {
		if _, err := fmt.Fprintln(out, "left out: "+line); err != nil {
			return err
		}
	}
	return nil
}

const jobEvery = 200 * time.Millisecond

// waiting is since when a job has waited, and whether that was said.
type waiting struct {
	since time.Time
	said  bool
}

// waitsFor says why a job may wait.
const waitsFor = "The gateway that configures this Asterisk may have stopped, or have something else to do first: its log tells. The job is done when it can"

// awaits says once that a job waits, if it does so for long, and gives it up in the end.
func (p plainPort) awaits(job *jobs.Job, w *waiting, out io.Writer) (err error) {
	switch waits := time.Since(w.since); {
	case job.State != jobs.Waiting:
	case waits >= p.patience:
		err = fmt.Errorf("no gateway has begun the job %s. %s", job.UUID, waitsFor)
	case waits >= p.quiet && !w.said:
		w.said = true
		_, err = fmt.Fprintf(out, "waiting until a gateway begins the job %s\n%s\n", job.UUID, waitsFor)
	}
	return err
}

// apply starts a job and shows its log until it has ended.
func (p plainPort) apply(ctx context.Context, force bool, out io.Writer) error {
	path := "/apply"
	if force {
		path += "?force=true"
	}
	var job jobs.Job
	if err := p.call(ctx, http.MethodPost, path, &job); err != nil {
		return err
	}
	shown, w := 0, waiting{since: time.Now()}
	for !job.Ended() {
		if err := p.awaits(&job, &w, out); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(jobEvery):
		}
		job = jobs.Job{UUID: job.UUID}
		if err := p.call(ctx, http.MethodGet, "/apply/"+job.UUID, &job); err != nil {
			return err
		}
		for ; shown < len(job.Log); shown++ {
			if _, err := fmt.Fprintln(out, job.Log[shown].Message); err != nil {
				return err
			}
		}
	}
	if err := writeLeftOut(out, job.LeftOut); err != nil {
		return err
	}
	for _, m := range job.Modules {
		if _, err := fmt.Fprintf(out, "%s: %s %s\n", m.Module, m.State, m.Message); err != nil {
			return err
		}
	}
	if job.State != jobs.Done {
		return errors.New("the configuration was not applied: " + job.Message)
	}
	return nil
}
