package helpers

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strconv"

	"github.com/ringfence/ringfence/asterisk/jobs"
	"github.com/ringfence/ringfence/asterisk/leftout"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest"
)

// commonOperations are those that existing tools call. Both methods of /commonconf_apply do the same and need the same access, which is
// that of a change.
func (e *endpoints) commonOperations() []rest.Operation {
	const path, access = "/commonconf_apply", "sysconfd.commonconf.update"
	apply := rest.Operation{
		Method: http.MethodPost, Path: path, Access: access, ID: "apply_commonconf", Tag: "configuration",
		Summary:     "Make the stored configuration the live one",
		Description: "Returns when it is done, or when it has failed.",
		Success:     http.StatusOK, Reply: doneSchema(), Statuses: []int{http.StatusNotImplemented},
		Handle: e.installation(e.applyCommon),
	}
	get := apply
	get.Method, get.ID, get.Handle = http.MethodGet, "commonconf_apply", e.byGet(apply.Handle)
	get.Description += " The same as POST, for existing tools."
	return []rest.Operation{apply, get, {
		Method: http.MethodPost, Path: "/commonconf_generate", Access: "sysconfd.commonconf_generate.create",
		ID: "commonconf_generate", Tag: "configuration", Summary: "Generate the configuration, without making it live",
		Success: http.StatusOK, Reply: doneSchema(), Statuses: []int{http.StatusNotImplemented},
		Handle: e.installation(func(ctx context.Context, r *rest.Request, s scope) (rest.Reply, error) {
			if err := e.telephony.Generate(ctx, s.asked(r)); err != nil {
				return rest.Reply{}, failed(ctx, err, "can't generate commonconf file")
			}
			return done, nil
		}),
	}}
}

func (e *endpoints) applyCommon(ctx context.Context, r *rest.Request, s scope) (rest.Reply, error) {
	job, err := e.telephony.Apply(ctx, jobs.Options{Wait: true, Asked: s.asked(r)})
	if err != nil {
		return rest.Reply{}, failed(ctx, err, "can't apply commonconf changes")
	}
	if job.State != jobs.Done {
		return rest.Reply{}, apierr.New(apierr.Internal, "can't apply commonconf changes: %s", forReader(r, job).Message)
	}
	return done, nil
}

// failed keeps what a client must not read in the log, and says the rest in the words that existing clients know.
func failed(ctx context.Context, err error, message string) error {
	if apierr.As(err) != nil || apierr.OfSentinel(err) != nil || ctx.Err() != nil {
		return err
	}
	return &apierr.Error{Kind: apierr.Internal, Message: message, Err: err}
}

// forReader is a job without what the files lack and what was said about what is in them, if its reader may not read all that is stored.
func forReader(r *rest.Request, job jobs.Job) jobs.Job {
	job.Modules = slices.Clone(job.Modules)
	said := []*string{&job.Message}
	for i := range job.Modules {
		said = append(said, &job.Modules[i].Message)
	}
	if unsaid(r, said...) {
		job.LeftOut, job.Log = leftout.Of(nil), []jobs.JobEntry{}
	}
	return job
}

// unsaid replaces what Asterisk said about what is in its files, if who reads it may not read all that is stored, and reports whether.
func unsaid(r *rest.Request, said ...*string) bool {
	denial := conceals(r.Principal())
	for _, message := range said {
		if denial != "" && *message != "" {
			*message = "Your token denies " + denial + ", and the reason may tell of it"
		}
	}
	return denial != ""
}

// applyOperations are the same for new tools: they return a job, and show what it would change.
func (e *endpoints) applyOperations() []rest.Operation {
	return []rest.Operation{
		{
			Method: http.MethodPost, Path: "/apply", Access: "sysconfd.apply.create", ID: "apply", Tag: "configuration",
			Summary: "Start to make the stored configuration the live one", Success: http.StatusOK, Reply: rest.SchemaOf[jobs.Job](),
			Query:    []rest.Parameter{{Name: "force", Schema: &rest.Schema{Type: "boolean"}, Description: "Whether Asterisk reads all files again, changed or not."}},
			Statuses: []int{http.StatusNotImplemented},
			Handle: e.installation(func(ctx context.Context, r *rest.Request, s scope) (rest.Reply, error) {
				job, err := e.telephony.Apply(ctx, jobs.Options{Asked: s.asked(r), Force: r.Bool("force")})
				if err == nil {
					slog.Info("the configuration is applied", "job", job.UUID)
				}
				return rest.Reply{Body: forReader(r, job)}, err
			}),
		},
		{
			Method: http.MethodGet, Path: "/apply/preview", Access: "sysconfd.apply.preview.read", ID: "preview_apply", Tag: "configuration",
			Summary: "How the live configuration would change", Success: http.StatusOK, Reply: rest.SchemaOf[jobs.Preview](),
			Statuses: []int{http.StatusNotImplemented},
			Handle: e.installation(func(ctx context.Context, r *rest.Request, _ scope) (rest.Reply, error) {
				if denial := conceals(r.Principal()); denial != "" {
					return rest.Reply{}, apierr.New(apierr.Forbidden, "Your token denies %s, and this shows all that is stored", denial)
				}
				preview, err := e.telephony.Preview(ctx)
				return rest.Reply{Body: preview}, err
			}),
		},
		{
			Method: http.MethodGet, Path: "/apply/generations", Access: "sysconfd.apply.generations.read", ID: "list_generations", Tag: "configuration",
			Summary: "The generations of configuration files that are kept", Success: http.StatusOK, Reply: rest.SchemaOf[jobs.Generations](),
			Statuses: []int{http.StatusNotImplemented, http.StatusServiceUnavailable},
			Handle: e.installation(func(ctx context.Context, r *rest.Request, _ scope) (rest.Reply, error) {
				kept, err := e.telephony.Generations(ctx)
				for i := range kept.Items {
					unsaid(r, &kept.Items[i].Failed)
				}
				return rest.Reply{Body: kept}, err
			}),
		},
		{
			Method: http.MethodPost, Path: "/apply/generations/{generation}", Access: "sysconfd.apply.generations.{generation}.update", ID: "go_back",
			Tag: "configuration", Summary: "Start to make an earlier generation the live one",
			Description: "What is stored stays as it is, and differs from what is live until it is applied again. While live reload is on, the next change applies it.",
			Success:     http.StatusOK, Reply: rest.SchemaOf[jobs.Job](),
			Statuses: []int{http.StatusNotFound, http.StatusConflict, http.StatusNotImplemented, http.StatusServiceUnavailable},
			Handle: e.installation(func(ctx context.Context, r *rest.Request, s scope) (rest.Reply, error) {
				n, err := strconv.ParseInt(r.Param("generation"), 10, 64)
				if err != nil {
					return rest.Reply{}, notFound()
				}
				job, err := e.telephony.GoBack(ctx, n, s.asked(r))
				return rest.Reply{Body: forReader(r, job)}, err
			}),
		},
		{
			Method: http.MethodGet, Path: "/apply/{job_uuid}", Access: "sysconfd.apply.{job_uuid}.read", ID: "read_apply", Tag: "configuration",
			Summary: "What became of a job", Success: http.StatusOK, Reply: rest.SchemaOf[jobs.Job](), Statuses: []int{http.StatusNotFound},
			Handle: e.installation(func(ctx context.Context, r *rest.Request, _ scope) (rest.Reply, error) {
				id, err := r.UUIDParam("job_uuid")
				if err != nil {
					return rest.Reply{}, err
				}
				job, err := e.telephony.Job(ctx, id)
				return rest.Reply{Body: forReader(r, job)}, err
			}),
		},
	}
}
