package commands

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"

	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/audio"
	"github.com/ringfence/ringfence/internal/backup"
	"github.com/ringfence/ringfence/internal/operator"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/open"
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
		},
	})
}

func importWazoCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "wazo [<file>]",
		Short: "Makes an installation of a backup of a Wazo platform",
		Long: `
Reads the platform's own backup of its database (db.tgz), or the dump in it, or
that dump's text, and makes the database and the files of the data folder of it,
or changes nothing. It needs no server of the platform, and pg_restore (Debian:
postgresql-client) for all but a text. Stop all gateways on the database before.

People keep their passwords, telephones theirs, and applications stay logged in.
What is not here, or cannot be said exactly, is left out and told: read it first,
with --dry-run, which writes nothing.

    ringfence import wazo db.tgz --dry-run --verify
    ringfence import wazo db.tgz
    ringfence import wazo --files /srv/unpacked-data.tgz

With --verify, --api and --api-token-file name a platform that still runs, whose
lists are compared with what the import makes of its dump.

--from reads the database of a platform that runs instead of a file, in one
snapshot and without writing. PGPASSWORD may have its password.

--files copies music, sounds, voicemails and recordings of a folder into which
the platform's data.tgz was unpacked, into the folders that the gateway would use
with the same environment. Without a file it does only that, as often as you like.
` + mergeHelp,
		Args: cobra.MaximumNArgs(1),
		RunE: importWazo,
	}
	cmd.Flags().Bool("dry-run", false, "Only tell what would be done")
	cmd.Flags().Bool("replace", false, "Throw away what the database has")
	cmd.Flags().Bool("json", false, "Tell it as JSON, whole")
	cmd.Flags().Bool("verify", false, "Decide each user with each operation by the platform's rules too, and tell what differs")
	cmd.Flags().String("from", "", "Read the platform's own database: postgres://user@host/asterisk")
	cmd.Flags().String("files", "", "Copy the files of a folder into which the platform's data.tgz was unpacked")
	addPlaceFlags(cmd)
	addMergeFlags(cmd)
	return cmd
}

func importWazo(cmd *cobra.Command, args []string) (err error) {
	verify := flagOf(cmd, "verify") == "true"
	compares := verify && flagOf(cmd, "api") != "" && flagOf(cmd, "tenant") == ""
	if merges(cmd) && !compares {
		for _, name := range []string{"from", "files", "verify"} {
			if cmd.Flags().Changed(name) {
				return fmt.Errorf("--%s is for the import of a whole installation, not for one tenant", name)
			}
		}
		return mergeWazo(cmd, args)
	}
	ctx, stop := untilInterrupted(cmd)
	defer stop()
	defer func() { err = interrupted(ctx, err, "nothing was imported") }()
	options, replace, dry := backupOptions(cmd), flagOf(cmd, "replace") == "true", flagOf(cmd, "dry-run") == "true"
	from, files := flagOf(cmd, "from"), flagOf(cmd, "files")
	if err := askedFor(args, from, files, dry); err != nil {
		return err
	}
	if len(args) == 0 && from == "" {
		return copyFiles(cmd, files, options)
	}
	if !dry {
		if err := backup.Check(ctx, options, replace); err != nil {
			return err
		}
	}
	job := &wazo.Job{
		File: strings.Join(args, ""), From: from, SealingKeys: options.SealingKeys, KeyFile: filepath.Join(options.Data, "sealing-key"),
		Program: options.Program, Verify: verify,
	}
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
	if compares {
		if err := compared(cmd, file, job); err != nil {
			return err
		}
	}
	if err := reported(cmd, &job.Report, "Imported: start the gateway. Keep this report."); err != nil || files == "" {
		return err
	}
	return copyFiles(cmd, files, options)
}

// compared asks a platform that runs, and what an import has made of its dump, for the same.
func compared(cmd *cobra.Command, made string, job *wazo.Job) (err error) {
	api := flagOf(cmd, "api")
	if err := operator.CheckServer(api); err != nil {
		return err
	}
	theirs, err := clientOf(api, "RINGFENCE_API_TOKEN", flagOf(cmd, "api-token-file"), flagOf(cmd, "api-cacert"))
	if err != nil {
		return err
	}
	ours, closeOurs, err := opened(cmd.Context(), made)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeOurs()) }()
	services, err := NewServices(store.NewLate())
	if err != nil {
		return err
	}
	defer services.Auth.Close()
	job.Report.Comparison, err = wazo.Compare(cmd.Context(), theirs, ours, services.Auth.REST(), services.Confd)
	return err
}

// askedFor refuses what cannot be meant.
func askedFor(args []string, from, files string, dry bool) error {
	switch {
	case len(args) == 1 && from != "":
		return errors.New("name a file, or the platform's database with --from, not both")
	case len(args) == 0 && from == "" && files == "":
		return errors.New("name the file of the backup, or a platform that runs with --api and --tenant, its database with --from, or its files with --files")
	case files != "" && dry:
		return errors.New("--files copies; leave --dry-run out")
	}
	return nil
}

// copyFiles copies the platform's files to where a gateway with the same environment has them.
func copyFiles(cmd *cobra.Command, from string, options backup.Options) (err error) {
	ctx, stop := untilInterrupted(cmd)
	defer stop()
	defer func() { err = interrupted(ctx, err, "run it again to go on") }()
	db, err := open.Open(ctx, options.Database)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	folder := func(env, name string) string {
		return cmp.Or(os.Getenv(env), filepath.Join(options.Data, "asterisk", name))
	}
	files := &wazo.Files{
		DB: db, From: from, Voicemail: folder("RINGFENCE_VOICEMAIL_FOLDER", "voicemail"), Recordings: filepath.Join(options.Data, "recordings"),
		Audio: confdsvc.AudioFolders{
			MOH: audio.Folder(folder("RINGFENCE_MOH_FOLDER", "moh")), Sounds: audio.Folder(folder("RINGFENCE_SOUNDS_FOLDER", "sounds")),
		},
	}
	if err := files.Copy(ctx); err != nil {
		return err
	}
	if flagOf(cmd, "json") == "true" {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(files)
	}
	return files.Print(cmd.OutOrStdout())
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
