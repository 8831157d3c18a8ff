package commands

import (
	"encoding/json"
	"errors"
	"fmt"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"

	"github.com/ringfence/ringfence/internal/backup"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/moving/wazo"
)

func init() {
	Register(caddycmd.Command{
		Name:  "import",
		Usage: "wazo|freepbx <file> [--dry-run] [--json] [--replace] [--data <folder>] [--database <address>]",
		Short: "Makes an installation of one of another platform",
		Long: `
Moves what another telephone platform has into an installation of this one.
docs/moving.md has the steps.
`,
		CobraFunc: func(cmd *cobra.Command) {
			cmd.AddCommand(importWazoCommand(), importFreePBXCommand())
			cmd.Args = cobra.NoArgs
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		},
	})
}

func importWazoCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "wazo <file>",
		Short: "Makes an installation of a backup of a Wazo platform",
		Long: `
Reads the platform's own backup of its database (db.tgz), or the dump in it, or
that dump's text, and makes the database and the files of the data folder of it,
or changes nothing. It needs no server of the platform, and pg_restore (Debian:
postgresql-client) for all but a text. Stop all gateways on the database before.

People keep their passwords, telephones theirs, and applications stay logged in.
What is not here, or cannot be said exactly, is left out and told: read it first,
with --dry-run, which writes nothing.

    ringfence import wazo db.tgz --dry-run
    ringfence import wazo db.tgz
` + mergeHelp,
		Args:         cobra.MaximumNArgs(1),
		SilenceUsage: true,
		RunE:         importWazo,
	}
	cmd.Flags().Bool("dry-run", false, "Only tell what would be done")
	cmd.Flags().Bool("replace", false, "Throw away what the database has")
	cmd.Flags().Bool("json", false, "Tell it as JSON, whole")
	addPlaceFlags(cmd)
	addMergeFlags(cmd)
	return cmd
}

func importWazo(cmd *cobra.Command, args []string) (err error) {
	if merges(cmd) {
		return mergeWazo(cmd, args)
	}
	if len(args) == 0 {
		return errors.New("name the file of the backup, or a platform that runs with --api and --tenant")
	}
	ctx, stop := untilInterrupted(cmd)
	defer stop()
	defer func() { err = interrupted(ctx, err, "nothing was imported") }()
	options, replace, dry := backupOptions(cmd), flagOf(cmd, "replace") == "true", flagOf(cmd, "dry-run") == "true"
	if !dry {
		if err := backup.Check(ctx, options, replace); err != nil {
			return err
		}
	}
	job := &wazo.Job{File: args[0], SealingKeys: options.SealingKeys, Program: options.Program}
	if job.Accesses, err = documentedAccesses(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, job.Close()) }()
	file, err := job.Make(ctx)
	if err != nil {
		return err
	}
	if !dry {
		if err := restored(cmd, file, options, replace); err != nil {
			return err
		}
	}
	if flagOf(cmd, "json") == "true" {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(&job.Report)
	}
	if err := job.Report.Print(cmd.OutOrStdout()); err != nil {
		return err
	}
	done := "Imported: start the gateway. Keep this report."
	if dry {
		done = "Nothing was written: this was a dry run."
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "\n%s\n", done)
	return err
}

// restored restores what the import has made. Its options are those of the command.
func restored(cmd *cobra.Command, file string, options backup.Options, replace bool) (err error) {
	ctx := cmd.Context() // half of a restore that is interrupted is undone, or completed by running again with --replace
	f, err := backup.Open(ctx, file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.Restore(ctx, options, replace)
	return err
}

// documentedAccesses are those that the operations of this program's services need.
func documentedAccesses() ([]string, error) {
	services, err := NewServices(store.NewLate())
	if err != nil {
		return nil, err
	}
	defer services.Auth.Close()
	return accessesOf(services), nil
}
