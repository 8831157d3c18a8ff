package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/caddyserver/caddy/v2"
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"

	"github.com/ringfence/ringfence/internal/backup"
	"github.com/ringfence/ringfence/internal/private"
)

func init() {
	Register(caddycmd.Command{
		Name:  "backup",
		Usage: "--output <file> [--data <folder>] [--database <address>] [--without-keys] [--json]",
		Short: "Writes everything that an installation is to one file",
		Long: `
Writes the database, the sealing keys, and the self-signed certificate with its
key to one file, which only its owner may read. The gateway may run: the file has
what was committed when the backup began. It is the same for both databases, and
can be restored into either. Keep it where only you can read it: it has all keys.

Run it as the user that the gateway runs as, with the same RINGFENCE_DATA,
RINGFENCE_DATABASE and RINGFENCE_SEALING_KEYS. A file that exists is not replaced.
With --output - the backup goes to standard output, to be encrypted or sent away.

It does not have the Caddyfile, the logs, voicemails, music on hold, and what is
made from the database, such as the configuration of Asterisk.

    ringfence backup --output ringfence-2026-11-22.zip
    ringfence backup --output - | age -r age1... > ringfence.zip.age
`,
		CobraFunc: func(cmd *cobra.Command) {
			cmd.Args = cobra.NoArgs
			cmd.RunE = runBackup
			cmd.Flags().StringP("output", "o", "", "The file to write, or - for standard output")
			cmd.Flags().Bool("without-keys", false, "Make the backup even if a sealing key that the database needs is missing here")
			cmd.Flags().Bool("json", false, "Say as JSON what was written")
			addPlaceFlags(cmd)
		},
	})
	Register(caddycmd.Command{
		Name:  "restore",
		Usage: "<file> [--replace] [--data <folder>] [--database <address>] [--without-keys] [--json]",
		Short: "Makes an installation of a backup",
		Long: `
Checks all of a backup, and then makes the database and the files of the data
folder what they were, or changes nothing. Stop all gateways on the database
before. A backup of SQLite can be restored into PostgreSQL, and the other way
round; one of an earlier release is brought to the schema of this one.

A database that is not empty is left alone, unless you say --replace: then
everything in it is thrown away. A session that was ended, or a password that was
changed, after the backup is again what it was.

    ringfence restore ringfence-2026-11-22.zip
    RINGFENCE_DATABASE=postgres://user@host/database ringfence restore ringfence-2026-11-22.zip
`,
		CobraFunc: func(cmd *cobra.Command) {
			cmd.Args = cobra.ExactArgs(1)
			cmd.RunE = runRestore
			cmd.Flags().Bool("replace", false, "Throw away what the database has")
			cmd.Flags().Bool("without-keys", false, "Restore even if a sealing key that the database needs is missing: what is sealed with it is lost")
			cmd.Flags().Bool("json", false, "Say as JSON what was restored")
			addPlaceFlags(cmd)
		},
	})
}

func backupOptions(cmd *cobra.Command) backup.Options {
	at := placeOf(cmd)
	_, version := caddy.Version()
	version, _, _ = strings.Cut(version, ",") // "ringfence v1.2.3, go1.26.0, Caddy v2.11.9"
	return backup.Options{
		Data: at.data, Database: at.database, SealingKeys: os.Getenv("RINGFENCE_SEALING_KEYS"), Program: version,
		WithoutKeys: flagOf(cmd, "without-keys") == "true",
		Progress:    progressOn[int64](cmd.ErrOrStderr(), "rows"),
	}
}

// untilInterrupted returns a context that ends when the process is asked to end, so that a command removes what it has not finished,
// which has secrets. What the shell has let it ignore, as nohup does, stays ignored.
func untilInterrupted(cmd *cobra.Command) (context.Context, context.CancelFunc) {
	signals := slices.DeleteFunc([]os.Signal{os.Interrupt, syscall.SIGHUP}, signal.Ignored)
	return signal.NotifyContext(cmd.Context(), append(signals, syscall.SIGTERM)...)
}

// interrupted says what has become of a command that failed because it was interrupted.
func interrupted(ctx context.Context, err error, outcome string) error {
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("interrupted: %s", outcome)
	}
	return err
}

func runBackup(cmd *cobra.Command, _ []string) (err error) {
	ctx, stop := untilInterrupted(cmd)
	defer stop()
	defer func() { err = interrupted(ctx, err, "there is no backup") }()
	file := flagOf(cmd, "output")
	out := cmd.OutOrStdout()
	var m *backup.Manifest
	create := func(w io.Writer) error {
		m, err = backup.Create(ctx, backupOptions(cmd), w)
		return err
	}
	switch {
	case file == "":
		return errors.New("--output must name the file to write, or be - for standard output")
	case file == "-" && isTerminal(out):
		return errors.New("standard output is a terminal: name a file with --output, or send the output to a file or a program")
	case file == "-":
		if err := create(out); err != nil {
			return err
		}
		out = cmd.ErrOrStderr()
	default:
		if _, err := os.Lstat(file); err == nil {
			return fmt.Errorf("%s exists, and is not replaced: name another file", file)
		}
		err := private.CreateBy(file, create)
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%s was made by somebody else meanwhile, and is not replaced: name another file", file)
		}
		if err != nil {
			return err
		}
	}
	return tell(cmd, out, file, m, "written")
}

func runRestore(cmd *cobra.Command, args []string) error {
	ctx, stop := untilInterrupted(cmd)
	defer stop()
	options, replace := backupOptions(cmd), flagOf(cmd, "replace") == "true"
	if _, err := os.Stat(args[0]); err != nil {
		return err
	}
	if err := backup.Check(ctx, options, replace); err != nil {
		return interrupted(ctx, err, "nothing was restored")
	}
	f, err := backup.Open(ctx, args[0])
	if err != nil {
		return interrupted(ctx, err, "nothing was restored")
	}
	defer func() { _ = f.Close() }()
	if _, err := f.Restore(ctx, options, replace); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted: restore once more, with --replace if the database is not empty: %w", err)
		}
		return err
	}
	return tell(cmd, cmd.OutOrStdout(), args[0], &f.Manifest, "restored")
}

// tell says what a backup has.
func tell(cmd *cobra.Command, out io.Writer, file string, m *backup.Manifest, done string) error {
	if flagOf(cmd, "json") == "true" {
		return json.NewEncoder(out).Encode(map[string]any{
			"file": file, "made": m.Made, "engine": m.Engine, "schema": m.Schema, "tables": len(m.Tables), "rows": m.Rows(), "files": len(m.Files),
		})
	}
	_, err := fmt.Fprintf(out, "%s: %d rows of %d tables and %d files (made from %s with %s, schema %d) %s\n",
		file, m.Rows(), len(m.Tables), len(m.Files), m.Engine, m.Program, m.Schema, done)
	return err
}
