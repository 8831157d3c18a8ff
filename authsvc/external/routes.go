package external

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
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
	answer, err := route.Handle(ctx, l, body)
	if err != nil {
		return nil, err
	}
	if answer, err = h.throughPage(ctx, l, answer); err != nil || route.Method != http.MethodPost {
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
	text, err := r.ReadBody()
	if err != nil {
		return nil, err
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

func unknownType(authType string) error {
	return &apierr.Error{
		Kind: apierr.NotFound, ID: "unknown-external-auth-type", Resource: tag, Details: map[string]any{"type": authType},
		Message: fmt.Sprintf("No such external auth type: %q", authType),
	}
}

// externalItem is one plugin in the list of a user's external authentications.
type externalItem struct {
	Type    string         `json:"type"`
	Data    map[string]any `json:"data" doc:"What may be shown to those who may not read the credentials."`
	Enabled bool           `json:"enabled" doc:"Whether anything is stored for the user."`
	Info    map[string]any `json:"plugin_info" doc:"What the plugin says about itself."`
}

type externalList struct {
	Items    []externalItem `json:"items"`
	Total    int            `json:"total"`
	Filtered int            `json:"filtered"`
}

// linkedUser is one user in the list of those with something stored for a type.
type linkedUser struct {
	UUID string `db:"user_uuid" json:"uuid" format:"uuid"`
}

type linkedUsers struct {
	Items    []linkedUser `json:"items"`
	Total    int          `json:"total"`
	Filtered int          `json:"filtered"`
}

var (
	listSpec        = rest.ListSpec{Order: []string{"type"}, Filters: []string{"type"}}
	linkedUsersSpec = rest.ListSpec{Recurse: true}
)

func (h *Host) listOperations() []rest.Operation {
	return []rest.Operation{
		{
			Method: http.MethodGet, Path: "/users/{user_uuid}/external", Access: "auth.users.{user_uuid}.external.read",
			ID: "list_user_external", Summary: "List a user's external authentications, without the credentials",
			Description: "One item for each plugin, whether the user has linked it or not.",
			Query:       listSpec.Parameters(), Success: http.StatusOK, Reply: rest.ListOf(rest.SchemaOf[externalItem](), true),
			Tenanted: true, Handle: h.listLinks,
		},
		{
			Method: http.MethodGet, Path: "/external/{auth_type}/users", Access: "auth.{auth_type}.external.users.read",
			ID: "list_external_users", Summary: "List the users who have linked an external service",
			Query: linkedUsersSpec.Parameters(), Success: http.StatusOK, Reply: rest.ListOf(rest.SchemaOf[linkedUser](), true),
			Statuses: []int{http.StatusNotFound}, Tenanted: true, Handle: h.listLinkedUsers,
		},
	}
}

// listLinks returns the same for a user of another tenant as for a missing one: nothing is linked.
func (h *Host) listLinks(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	query, err := r.List(listSpec)
	if err != nil {
		return rest.Reply{}, err
	}
	stored, err := h.storedLinks(ctx, r)
	if err != nil {
		return rest.Reply{}, err
	}
	answer := externalList{Items: []externalItem{}, Total: len(h.plugins)}
	for _, p := range h.plugins {
		if !listed(query, p.Type()) {
			continue
		}
		answer.Filtered++
		item := externalItem{Type: p.Type(), Data: map[string]any{}, Info: infoOf(p)}
		if data, ok := stored[p.Type()]; ok {
			item.Enabled = true
			if item.Data, err = safeView(p, data); err != nil {
				return rest.Reply{}, refusal(p.Type(), err)
			}
		}
		answer.Items = append(answer.Items, item)
	}
	if query.Desc {
		slices.Reverse(answer.Items)
	}
	answer.Items = answer.Items[min(query.Offset, len(answer.Items)):]
	if query.Limit > 0 {
		answer.Items = answer.Items[:min(query.Limit, len(answer.Items))]
	}
	return rest.Reply{Body: answer}, nil
}

func listed(query rest.List, authType string) bool {
	for _, f := range query.Filters {
		if f.Value != authType {
			return false
		}
	}
	// As in auth's other lists, anything may stand between the words of a search.
	rest := store.Fold(authType)
	for word := range strings.FieldsSeq(store.Fold(query.Search)) {
		_, after, found := strings.Cut(rest, word)
		if !found {
			return false
		}
		rest = after
	}
	return true
}

// storedLinks returns what is stored for the path's user, by type: decrypted if the plugin has a safe view, otherwise empty.
func (h *Host) storedLinks(ctx context.Context, r *rest.Request) (map[string]json.RawMessage, error) {
	user, scope, err := h.asked(ctx, r)
	if err != nil {
		return nil, err
	}
	type row struct {
		Type   string `db:"auth_type"`
		Sealed []byte `db:"sealed"`
	}
	visible, err := store.Get[int](ctx, h.db, `SELECT count(*) FROM auth_user WHERE uuid = $1 AND `+tenant.Below("tenant_uuid", "$2"), user, scope)
	if err != nil || visible == 0 {
		return nil, err
	}
	if err := h.rights.MayActOn(ctx, h.db, r.Principal(), user); err != nil {
		return nil, err
	}
	rows, err := store.Select[row](ctx, h.db, `
		SELECT e.auth_type, e.sealed FROM auth_external e JOIN auth_user u ON u.uuid = e.user_uuid
		WHERE e.user_uuid = $1 AND `+tenant.Below("u.tenant_uuid", "$2"), user, scope)
	if err != nil {
		return nil, err
	}
	out := make(map[string]json.RawMessage, len(rows))
	for _, row := range rows {
		out[row.Type] = nil
		if _, ok := h.plugin(row.Type).(SafeViewer); !ok {
			continue
		}
		if out[row.Type], err = h.unseal(row.Sealed, linkRow(user, row.Type)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// safeView returns the part of the stored data that the list shows: an empty object if the plugin has no view.
func safeView(p Plugin, data json.RawMessage) (map[string]any, error) {
	v, ok := p.(SafeViewer)
	if !ok {
		return map[string]any{}, nil
	}
	view, err := v.SafeView(data)
	if err != nil {
		return nil, err
	}
	return objectOf(view)
}

func infoOf(p Plugin) map[string]any {
	i, ok := p.(Informer)
	if !ok {
		return map[string]any{}
	}
	info := i.Info()
	if info.RequiredACL == nil {
		info.RequiredACL = []string{}
	}
	return map[string]any{"required_acl": info.RequiredACL}
}

func objectOf(v any) (map[string]any, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	return out, json.Unmarshal(text, &out)
}

func (h *Host) listLinkedUsers(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	query, err := r.List(linkedUsersSpec)
	if err != nil {
		return rest.Reply{}, err
	}
	scope, err := tenant.Of(ctx, h.db, r)
	if err != nil {
		return rest.Reply{}, err
	}
	authType := r.Param("auth_type")
	if h.plugin(authType) == nil {
		if _, err := h.config(ctx, scope, authType); errors.Is(err, ErrNoConfig) {
			return rest.Reply{}, unknownType(authType)
		} else if err != nil {
			return rest.Reply{}, err
		}
	}
	inScope := "u.tenant_uuid = $2"
	if query.Recurse {
		inScope = tenant.Below("u.tenant_uuid", "$2")
	}
	// The type is a plugin's, or has a configuration: it is a word.
	from, args := h.engine.Visible(ctx, ` FROM auth_external e JOIN {auth_user external external.`+authType+`} u ON u.uuid = e.user_uuid
		WHERE e.auth_type = $1 AND `+inScope, authType, scope)
	narrowed := fmt.Sprintf(`%s AND CAST(e.user_uuid AS text) LIKE $%d ESCAPE '\'`, from, len(args)+1)
	pattern := store.Containing(store.Fold(query.Search))
	direction := " ASC"
	if query.Desc {
		direction = " DESC"
	}
	limit := int64(query.Limit)
	if limit == 0 {
		limit = math.MaxInt64 // SQLite has no OFFSET without LIMIT
	}
	var answer linkedUsers
	err = h.db.InReadTx(ctx, func(ctx context.Context, c store.Conn) (err error) {
		if answer.Total, err = store.Get[int](ctx, c, `SELECT count(*)`+from, args...); err != nil {
			return err
		}
		args = append(args, pattern)
		if answer.Filtered, err = store.Get[int](ctx, c, `SELECT count(*)`+narrowed, args...); err != nil {
			return err
		}
		page := fmt.Sprintf(` ORDER BY e.user_uuid%s LIMIT $%d OFFSET $%d`, direction, len(args)+1, len(args)+2)
		answer.Items, err = store.Select[linkedUser](ctx, c, `SELECT e.user_uuid`+narrowed+page, append(args, limit, query.Offset)...)
		return err
	})
	return rest.Reply{Body: answer}, err
}
