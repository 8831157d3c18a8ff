package helpers

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/asterisk/jobs"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/audit"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// Names are the names that the configuration service has given, by which the telephone system calls its folders. It is safe for
// concurrent use.
type Names interface {
	// InternalContexts returns the names of the internal contexts of a tenant, or of all tenants if the tenant is "".
	InternalContexts(ctx context.Context, tenantUUID string) ([]string, error)
	// HasContext reports whether the tenant has a context of that name.
	HasContext(ctx context.Context, tenantUUID, name string) (bool, error)
	// Endpoints returns the names of the SIP endpoints of a tenant.
	Endpoints(ctx context.Context, tenantUUID string) ([]string, error)
	// Waiting returns what the queues and the switchboards of a tenant, or of all tenants if the tenant is "", are called: queues by their
	// numbers, and switchboards by their UUIDs.
	Waiting(ctx context.Context, tenantUUID string) (map[string]string, error)
	// Denied returns what of a tenant, or of all if the tenant is "", the caller of ctx is denied to know of: SIP endpoints by their names, queues and
	// switchboards as in Waiting, and agents by their numbers.
	Denied(ctx context.Context, tenantUUID string) (endpoints, waiting, agents []string, err error)
	// HasMOH reports whether the tenant has a music on hold of that name.
	HasMOH(ctx context.Context, tenantUUID, name string) (bool, error)
	// Hides reports whether the caller of ctx is denied to know of a context, of a voicemail in it or, if number is "", of any, or of a music on hold.
	Hides(ctx context.Context, name, number, moh string) (bool, error)
}

// scope is on what a request may work: on the folders of one tenant or, on the plain port and in the master tenant, on all of them. Those of
// a context that is stored no more belong to the master tenant.
type scope struct {
	service *Service
	tenant  string // "" on the plain port
	all     bool
}

func (e *endpoints) scope(ctx context.Context, r *rest.Request) (scope, error) {
	s := scope{service: e.Service, all: e.plain}
	if e.plain {
		return s, nil
	}
	var err error
	if s.tenant, err = tenant.Of(ctx, e.db, r); err != nil {
		return scope{}, err
	}
	s.all, err = tenant.IsMaster(ctx, e.db, s.tenant)
	return s, err
}

// conceals returns a denial by which a caller may not read all that confd stores, or "". What tells of all of it at once, whoever's it is, is not told them.
func conceals(p *principal.Principal) string {
	if p == nil { // on the plain port
		return ""
	}
	for _, denial := range p.ACL.Denials() {
		words := strings.Split(denial, ".")
		if slices.Contains([]string{"confd", "*", "#"}, words[0]) && slices.Contains([]string{"read", "*", "#"}, words[len(words)-1]) {
			return denial
		}
	}
	return ""
}

// installation returns the handler of what concerns all tenants, which it refuses to every tenant but the master.
func (e *endpoints) installation(handle func(ctx context.Context, r *rest.Request, s scope) (rest.Reply, error)) rest.Handler {
	return func(ctx context.Context, r *rest.Request) (rest.Reply, error) {
		s, err := e.scope(ctx, r)
		if err == nil && !s.all {
			err = apierr.New(apierr.Forbidden, "Only the master tenant may do this")
		}
		if err != nil {
			return rest.Reply{}, err
		}
		return handle(ctx, r, s)
	}
}

// ofInstallation declares that [endpoints.installation] decides who may do something.
func ofInstallation(ops []rest.Operation) []rest.Operation {
	for i := range ops {
		ops[i].Master = rest.InMaster
	}
	return ops
}

// asked returns what records a request for a job.
func (s scope) asked(r *rest.Request) jobs.Recorder {
	return func(ctx context.Context, tx store.Conn, job string) error {
		return s.record(ctx, tx, r, audit.Change{Resource: "apply", Object: job, After: map[string]string{"state": jobs.Waiting}})
	}
}

// has refuses what is not in the scope, or what the caller is denied to know of, as if it did not exist. A voicemail without a context is in the
// tenant's internal one.
func (s scope) has(ctx context.Context, f *Following) (err error) {
	if f.Context == "" && f.MOH == "" {
		if f.Context, err = s.internal(ctx); err != nil {
			return err
		}
	}
	ok := true
	if f.MOH != "" && !s.all {
		ok, err = s.service.names.HasMOH(ctx, s.tenant, f.MOH)
	}
	for _, at := range []mailbox{{f.Number, f.Context}, {f.ToNumber, f.ToContext}} {
		if at.Context != "" && !s.all && ok && err == nil {
			ok, err = s.service.names.HasContext(ctx, s.tenant, at.Context)
		}
		if ok && err == nil {
			var hidden bool
			hidden, err = s.service.names.Hides(ctx, at.Context, at.Number, f.MOH)
			ok = !hidden
		}
	}
	if err == nil && !ok {
		err = notFound()
	}
	return err
}

// internal returns the context that a request means that names none: the only internal context of its tenant or, on the plain port, of
// all tenants.
func (s scope) internal(ctx context.Context) (string, error) {
	names, err := s.service.names.InternalContexts(ctx, s.tenant)
	switch {
	case err != nil:
		return "", err
	case len(names) == 0:
		return "", notFound()
	case len(names) > 1:
		return "", apierr.InvalidField("context", "required", "Is required, since there are several internal contexts")
	}
	return names[0], nil
}

// change returns a function that records a change of files in the audit. What is done on the plain port is recorded for the master
// tenant, without a user.
func (s scope) change(ctx context.Context, r *rest.Request, c audit.Change) func() error {
	return func() error {
		slog.Info("the helper endpoints change files", "operation", r.Op().ID, "resource", c.Resource, "object", c.Object,
			"request_id", r.HTTP.Header.Get("X-Request-Id"))
		return s.service.db.InTx(ctx, func(ctx context.Context, tx store.Conn) error { return s.record(ctx, tx, r, c) })
	}
}

func (s scope) record(ctx context.Context, tx store.Conn, r *rest.Request, c audit.Change) (err error) {
	if c.Tenant = s.tenant; c.Tenant == "" {
		if c.Tenant, err = tenant.Master(ctx, tx); err != nil {
			return err
		}
	}
	return audit.Write(ctx, tx, r, c)
}
