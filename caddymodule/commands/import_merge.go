package commands

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ringfence/ringfence/internal/operator"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/moving/merge"
	"github.com/ringfence/ringfence/moving/report"
	"github.com/ringfence/ringfence/moving/wazo"
)

const mergeHelp = `
With --tenant, one tenant comes into an installation that is in use: of a file, or
of a platform that runs (--api), whose token has the accesses to read it. All is
done as the API does it, with new numbers and UUIDs, in a new tenant or in that of
--into. What was brought is noted in the file of --names: run it again, and it goes
on where it was interrupted, and tries once more what was refused. Passwords of
people do not come along; --mails asks the gateway to send them mails for new ones.

    ringfence import wazo --api https://pbx.example.com --api-token-file token --tenant acme
    ringfence import wazo db.tgz --tenant acme --into acme
`

// addMergeFlags adds the flags by which one tenant is brought into an installation that is in use.
func addMergeFlags(cmd *cobra.Command) {
	cmd.Flags().String("tenant", "", "Only this tenant, by its name or UUID, into an installation that is in use")
	cmd.Flags().String("api", "", "The platform that has it: https://host[:port] (default: the file)")
	cmd.Flags().String("api-token-file", "", "A file with a token of the platform (default: the variable RINGFENCE_API_TOKEN)")
	cmd.Flags().String("api-cacert", "", "A file with the certificate of the platform or of its authority (default: those of this system)")
	cmd.Flags().String("into", "", "The tenant here, by its name or UUID (default: a new one)")
	cmd.Flags().String("names", "", "The file with the old and the new names of what was brought (default: moved-<UUID of the tenant>.jsonl)")
	cmd.Flags().Bool("mails", false, "Send a mail for a new password to everybody who has a confirmed address")
	addServerFlags(cmd)
}

// merges reports whether one tenant is to be brought into an installation that is in use.
func merges(cmd *cobra.Command) bool {
	return flagOf(cmd, "tenant") != "" || flagOf(cmd, "api") != ""
}

func mergeWazo(cmd *cobra.Command, args []string) error {
	switch api := flagOf(cmd, "api"); {
	case flagOf(cmd, "tenant") == "":
		return errors.New("--tenant must name the tenant to bring")
	case (api == "") == (len(args) == 0):
		return errors.New("name either a file or, with --api, a platform that runs")
	case flagOf(cmd, "replace") == "true":
		return errors.New("--replace is for the import of a whole installation: with --tenant nothing is replaced")
	}
	return runIn("into", func(c *operator.Client, cmd *cobra.Command, args []string) (err error) {
		ctx, stop := untilInterrupted(cmd)
		defer stop()
		if flagOf(cmd, "mails") == "true" && c.Server == localServer {
			return errors.New("--mails needs a gateway that runs: name it with --server")
		}
		services, err := NewServices(store.NewLate())
		if err != nil {
			return err
		}
		defer services.Auth.Close()
		documented := accessesOf(services)
		job := &merge.Job{
			Operations: services.Confd.Operations, Mails: flagOf(cmd, "mails") == "true", DryRun: flagOf(cmd, "dry-run") == "true",
			Accesses: func(old string) ([]string, string) { return wazo.Translate(old, documented) },
			Progress: progressOn[int](cmd.ErrOrStderr(), "steps"), Into: c.Tenant,
		}
		closeSource, err := sourceOf(ctx, cmd, args, job, documented)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, closeSource()) }()
		to, closeTo, err := rehearsed(ctx, cmd, c)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, closeTo()) }()
		job.To = to
		if job.Names = flagOf(cmd, "names"); job.Names == "" {
			job.Names = "moved-" + job.From.Tenant + ".jsonl"
		}
		if err := job.Run(ctx); err != nil {
			return interrupted(ctx, err, "what was brought is in "+job.Names+"; run it again, and it goes on")
		}
		return reported(cmd, &job.Report, "")
	})(cmd, args)
}

// sourceOf gives the job a client of the old installation: of its API, or of one that is made of its dump, in a temporary folder.
func sourceOf(ctx context.Context, cmd *cobra.Command, args []string, job *merge.Job, documented []string) (closeAll func() error, err error) {
	if api := flagOf(cmd, "api"); api != "" {
		if err := operator.CheckServer(api); err != nil {
			return nil, err
		}
		if job.From, err = clientOf(api, "RINGFENCE_API_TOKEN", flagOf(cmd, "api-token-file"), flagOf(cmd, "api-cacert")); err != nil {
			return nil, err
		}
		job.Source = api
		job.From.Tenant, err = job.From.FindTenant(ctx, flagOf(cmd, "tenant"))
		return func() error { return nil }, err
	}
	dump := &wazo.Job{File: args[0], Accesses: documented, Program: backupOptions(cmd).Program}
	file, err := dump.Make(ctx)
	if err == nil {
		job.From, closeAll, err = opened(ctx, file)
	}
	if err = errors.Join(err, dump.Close()); err != nil {
		return nil, err
	}
	tenant, err := job.From.Show(ctx, operator.Find("tenant"), flagOf(cmd, "tenant"))
	if err != nil {
		return nil, errors.Join(err, closeAll())
	}
	name, _ := tenant["name"].(string)
	slug, _ := tenant["slug"].(string)
	job.Source = filepath.Base(args[0])
	job.From.Tenant, _ = tenant["uuid"].(string)
	tellOf(&job.Report, &dump.Report, cmp.Or(name, slug))
	return closeAll, nil
}

// tellOf tells of a tenant's rows that the import of a dump left out.
func tellOf(r *report.Report, dump *wazo.Report, tenant string) {
	for _, d := range dump.Decisions {
		if d.Tenant == tenant {
			r.Note("%s: %s", d.Object, d.Reason)
		}
	}
	for _, l := range dump.Left {
		if l.Tenant == tenant {
			r.Leave(report.Told{Kind: "table " + l.Kind, Object: l.Object, Reason: l.Reason})
		}
	}
}

// accessesOf are those that the operations of the services need.
func accessesOf(services Services) (out []string) {
	for _, s := range []*rest.Service{services.Auth.REST(), services.Confd} {
		for _, op := range s.Operations {
			if op.Access != "" {
				out = append(out, op.Access)
			}
		}
	}
	return out
}
