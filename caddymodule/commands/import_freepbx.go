package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ringfence/ringfence/internal/operator"
	"github.com/ringfence/ringfence/moving/freepbx"
)

func importFreePBXCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "freepbx <extensions.csv> [<dids.csv>]",
		Short: "Brings the extensions of a FreePBX into an installation that is in use",
		Long: `
Reads the files that FreePBX exports at Admin, Bulk Handler: "Extensions" and
"DIDs". Each extension becomes a user with a line, a telephone that keeps its
login, its number and its mailbox; each DID an incoming call. All is done as the
API does it, in the tenant that --tenant names. Imported again, the files change
what has the numbers: so what was interrupted is completed.

A row that is short or repeated is an error, and nothing is changed then. What
cannot be said here is left out and told. Try it first with --dry-run: it works
on a copy of the database, which is thrown away.

    ringfence import freepbx extensions.csv dids.csv --tenant acme --dry-run
`,
		Args: cobra.RangeArgs(1, 2),
		RunE: importFreePBX,
	}
	cmd.Flags().String("context", "", "The context of the extensions, by its name or label (default: the only internal one, or a new one)")
	cmd.Flags().String("incall-context", "", "The context of the DIDs (default: the only one for incoming calls, or a new one)")
	cmd.Flags().Bool("dry-run", false, "Do it in a copy of the database, and tell what was done")
	return addFlags(cmd)
}

func importFreePBX(cmd *cobra.Command, args []string) error {
	return run(func(c *operator.Client, cmd *cobra.Command, args []string) (err error) {
		ctx, stop := untilInterrupted(cmd)
		defer stop()
		c, closeAll, err := rehearsed(ctx, cmd, c)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, closeAll()) }()
		job := &freepbx.Job{
			Client: c, Extensions: args[0], Inside: flagOf(cmd, "context"), Outside: flagOf(cmd, "incall-context"),
			Progress: progressOn[int](cmd.ErrOrStderr(), "rows"),
		}
		if len(args) > 1 {
			job.DIDs = args[1]
		}
		if err := job.Run(ctx); err != nil {
			return interrupted(ctx, err, "each extension is there whole or not at all; import the files once more")
		}
		return reported(cmd, &job.Report, "")
	})(cmd, args)
}

// reported shows what has become of an import, and then says that it is done, unless it was a dry run.
func reported(cmd *cobra.Command, r interface{ Print(w io.Writer) error }, done string) error {
	if flagOf(cmd, "json") == "true" {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(r)
	}
	if flagOf(cmd, "dry-run") == "true" {
		done = "Nothing was written: this was a dry run."
	}
	if err := r.Print(cmd.OutOrStdout()); err != nil || done == "" {
		return err
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "\n%s\n", done)
	return err
}

// rehearsed returns the client of a command that changes an installation, or with --dry-run one of a copy of it.
func rehearsed(ctx context.Context, cmd *cobra.Command, c *operator.Client) (_ *operator.Client, closeAll func() error, err error) {
	if flagOf(cmd, "dry-run") != "true" {
		return c, func() error { return nil }, nil
	}
	if flagOf(cmd, "server") != "" {
		return nil, nil, errors.New("--dry-run works on a copy of the database: run it on the gateway's machine, without --server")
	}
	twin, closeAll, err := copied(ctx, backupOptions(cmd))
	if err == nil {
		twin.Tenant = c.Tenant
	}
	return twin, closeAll, err
}
