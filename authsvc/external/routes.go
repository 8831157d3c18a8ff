package external

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

const tag = "external"

// maxBody is the largest body of external authentication, in bytes: a configuration may hold certificates.
const maxBody = 64 << 10

// Operations returns the operations of external authentication: those that all plugins share, and each plugin's own. The engine
// has those of the tenants' configurations.
func (h *Host) Operations() []rest.Operation {
	ops := append(h.listOperations(), h.connectOperations()...)
	ops = append(ops, h.authorizeOperation())
	for _, p := range h.plugins {
		ops = append(ops, h.pluginOperations(p)...)
	}
	for i := range ops {
		ops[i].Tag = tag
	}
	return ops
}

// pluginOperations returns the operations of a plugin's resource and of those below it.
func (h *Host) pluginOperations(p Plugin) []rest.Operation {
	var shapes Schemas
	if d, ok := p.(Documenter); ok {
		shapes = d.Schemas()
	}
	fetch := func(ctx context.Context, l *Link, _ json.RawMessage) (any, error) {
		return fetchLink(ctx, p, l)
	}
	ops := []rest.Operation{
		h.operation(p, Route{
			Method: http.MethodGet, Summary: "Read what is stored for a user, credentials included", Reply: shapes.Fetched, Handle: fetch,
		}),
		h.operation(p, Route{
			Method: http.MethodDelete, Summary: "Remove all that is stored for a user",
			Handle: func(ctx context.Context, l *Link, _ json.RawMessage) (any, error) {
				if r, ok := p.(Remover); ok {
					if err := r.Remove(ctx, l); err != nil {
						return nil, err
					}
				}
				return nil, l.removeAll(ctx)
			},
		}),
	}
	if c, ok := p.(Creator); ok {
		ops = append(ops, h.operation(p, Route{
			Method: http.MethodPost, Summary: "Link a user", Body: anyObject(shapes.Create), Reply: shapes.Created, Handle: c.Create,
		}))
	}
	if u, ok := p.(Updater); ok {
		ops = append(ops, h.operation(p, Route{
			Method: http.MethodPut, Summary: "Change what is stored for a user", Body: anyObject(shapes.Update), Reply: shapes.Updated, Handle: u.Update,
		}))
	}
	if r, ok := p.(Router); ok {
		for _, route := range r.Routes() {
			ops = append(ops, h.operation(p, route))
		}
	}
	return ops
}

// anyObject is the schema of a body that the plugin does not describe.
func anyObject(s *Schema) *Schema {
	if s == nil {
		return &Schema{Type: "object", Values: &Schema{Nullable: true}}
	}
	return s
}

func fetchLink(ctx context.Context, p Plugin, l *Link) (any, error) {
	if f, ok := p.(Fetcher); ok {
		return f.Fetch(ctx, l)
	}
	found, err := l.load(ctx)
	return found.data, err
}

// actions are the last words of accesses.
var actions = map[string]string{
	http.MethodGet: "read", http.MethodPost: "create", http.MethodPut: "update", http.MethodDelete: "delete",
}

// operation is a route of a plugin. Browsers must not cache credentials, although they have an entity tag.
func (h *Host) operation(p Plugin, route Route) rest.Operation {
	path, name := "/users/{user_uuid}/external/"+p.Type(), p.Type()
	if route.Path != "" {
		path += "/" + route.Path
		name += "_" + strings.ReplaceAll(route.Path, "/", "_")
	}
	op := rest.Operation{
		Method: route.Method, Path: path,
		Access: "auth" + strings.ReplaceAll(path, "/", ".") + "." + actions[route.Method],
		ID:     actions[route.Method] + "_external_" + name, Summary: route.Summary + ": " + p.Type(),
		Body: route.Body, MaxBody: maxBody,
		Success: http.StatusOK, Reply: route.Reply, Statuses: []int{http.StatusNotFound, http.StatusNotImplemented}, Tenanted: true,
		Conditional: route.Method == http.MethodGet,
	}
	if op.Reply == nil && (route.Method == http.MethodGet || route.Method == http.MethodPost) {
		op.Reply = &rest.Schema{Nullable: true} // whatever the plugin returns
	}
	switch route.Method {
	case http.MethodPost:
		op.Success, op.Statuses = http.StatusCreated, append(op.Statuses, http.StatusConflict)
	case http.MethodDelete:
		op.Success = http.StatusNoContent
	}
	if conditional(route) {
		op.Statuses = append(op.Statuses, http.StatusPreconditionFailed)
	}
	op.Handle = func(ctx context.Context, r *rest.Request) (rest.Reply, error) {
		answer, err := h.serve(ctx, r, p, route)
		switch {
		case errors.Is(err, ErrNoConfig) && route.Method == http.MethodGet:
			return rest.Reply{}, noConfig(p.Type()) // clients know it by another name there
		case err != nil:
			return rest.Reply{}, refusal(p.Type(), err)
		}
		reply := rest.Reply{Body: answer, Header: http.Header{"Cache-Control": {"no-store"}}}
		if op.Success == http.StatusNoContent {
			reply.Body = nil
		}
		return reply, nil
	}
	return op
}

// conditional reports whether a route changes what a GET of the same path returns, with its entity tag.
func conditional(route Route) bool {
	return route.Path == "" && (route.Method == http.MethodPut || route.Method == http.MethodDelete)
}

func (h *Host) serve(ctx context.Context, r *rest.Request, p Plugin, route Route) (any, error) {
	l, err := h.linkOf(ctx, r, p.Type())
	if err != nil {
		return nil, err
	}
	defer l.over.Store(true)
	body, err := bodyOf(r)
	if err != nil {
		return nil, err
	}
	if conditional(route) && len(r.HTTP.Header.Values("If-Match")) > 0 {
		now, err := fetchLink(ctx, p, l)
		if err != nil {
			return nil, err
		}
		if err := rest.CheckIfMatch(r.HTTP.Header, now); err != nil {
			return nil, err
		}
	}
	ctx, begun := withAttempts(ctx)
	answer, err := route.Handle(ctx, l, body)
	if err != nil {
		return nil, err
	}
	if answer, err = h.throughPage(ctx, l, begun, answer); err != nil || route.Method != http.MethodPost {
		return answer, err
	}
	return answer, l.auditBegun(ctx)
}

// asked returns the user that the path names, and the tenant in which the request acts, whether it sees that user or not.
func (h *Host) asked(ctx context.Context, r *rest.Request) (user, scope string, err error) {
	if user, err = r.UUIDParam("user_uuid"); err != nil {
		return "", "", err
	}
	scope, err = tenant.Of(ctx, h.db, r)
	return user, scope, err
}

// linkOf returns the link that the path names, if the request's tenant sees its user and the caller may act on that user.
func (h *Host) linkOf(ctx context.Context, r *rest.Request, authType string) (*Link, error) {
	user, scope, err := h.asked(ctx, r)
	if err != nil {
		return nil, err
	}
	l := &Link{Type: authType, UserUUID: user, Host: h, request: r}
	l.TenantUUID, err = store.Get[string](ctx, h.db, `SELECT tenant_uuid FROM auth_user WHERE uuid = $1 AND `+tenant.Below("tenant_uuid", "$2"), user, scope)
	if errors.Is(err, store.ErrNotFound) {
		return nil, errUnknownUser(user, nil)
	}
	if err != nil {
		return nil, err
	}
	return l, l.mayAct(ctx, h.db)
}

// bodyOf reads the body by the operation's schema: of an object with known properties, only those. It returns nil if the
// operation takes no body.
func bodyOf(r *rest.Request) (json.RawMessage, error) {
	schema := r.Op().Body
	if schema == nil {
		return nil, nil
	}
	sent, err := parseObject(r)
	if err != nil {
		return nil, err
	}
	if fields := schema.Validate("", sent); len(fields) > 0 {
		return nil, &apierr.Error{Kind: apierr.Invalid, Fields: fields}
	}
	if len(schema.Properties) > 0 {
		for name := range sent {
			if p := schema.Property(name); p == nil || p.ReadOnly {
				delete(sent, name)
			}
		}
	}
	return rest.Marshal(sent)
}

// parseObject reads a body whose property names the client may choose.
func parseObject(r *rest.Request) (map[string]any, error) {
	var text []byte
	var err error
	if r.HTTP.Body != nil {
		text, err = io.ReadAll(r.HTTP.Body)
	}
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge), errors.Is(err, context.Canceled):
		return nil, err
	case err != nil:
		return nil, Refuse(http.StatusBadRequest, err, "The body ended before all of it had come")
	}
	value, err := rest.ParseJSON(text)
	if err != nil {
		return nil, err
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, Refuse(http.StatusBadRequest, nil, "The body must be a JSON object")
	}
	return object, nil
}

// unknownType refuses an unknown type.
func unknownType(authType string) error {
	return &apierr.Error{
		Kind: apierr.NotFound, ID: "unknown-external-auth-type", Resource: tag, Details: map[string]any{"type": authType},
		Message: fmt.Sprintf("No such external auth type: %q", authType),
	}
}
