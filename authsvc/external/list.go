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

	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// externalItem is one plugin in the list of a user's external authentications.
type externalItem struct {
	Type    string         `json:"type"`
	Data    map[string]any `json:"data" doc:"What may be shown to those who may not read the credentials."`
	Enabled bool           `json:"enabled" doc:"Whether anything is stored for the user."`
	Info    map[string]any `json:"plugin_info"`
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
	args := []any{authType, scope}
	from := ` FROM auth_external e JOIN auth_user u ON u.uuid = e.user_uuid WHERE e.auth_type = $1 AND ` + inScope +
		" AND " + h.engine.Visible(ctx, "users", "u", &args)
	narrowed := fmt.Sprintf(`%s AND CAST(e.user_uuid AS text) LIKE $%d ESCAPE '\'`, from, len(args)+1)
	pattern := "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(store.Fold(query.Search)) + "%"
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
