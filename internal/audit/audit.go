// Package audit records who changed what: a row for each change, written in the change's own transaction, so that there is no
// change without its row and no row without its change. Rows are never changed.
package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// Change is one thing that was done to one object.
type Change struct {
	// Tenant is the tenant of the object.
	Tenant string
	// Resource is the collection, and Object the key of the changed object. For an association each holds both sides, separated
	// by a slash: users/policies.
	Resource, Object string
	// Keys are all keys by which a path can name the object, followed by those of the second object of an association; nil if
	// there are none but those of Object. A caller who may read the object under one of them, and is denied none, may read the
	// entry.
	Keys [][]string
	// Before and After are the object as its API shows it; nil before it was created and after it was deleted.
	Before, After any
	// Stranger leaves out who did it: a user of a tenant that readers of the entry may know nothing of. The request's other entries, which
	// are in that tenant, have the same request_id.
	Stranger bool
}

// Write adds a row to the audit, with the caller and the request, at once or to the batch of ctx. It omits fields that hold secrets
// from both pictures.
func Write(ctx context.Context, tx store.Conn, r *rest.Request, c Change) error {
	var actor, session *string
	if p := r.Principal(); p != nil && !c.Stranger {
		actor, session = known(p.UserUUID), known(p.SessionUUID)
	}
	return write(ctx, tx, []any{actor, session, r.HTTP.Header.Get(rest.RequestIDHeader), r.Service().Name, r.Op().ID}, c)
}

// Note is Write for what a service does by itself, such as the end of what a request has begun. action is the operation of that
// request.
func Note(ctx context.Context, tx store.Conn, service, action string, c Change) error {
	return write(ctx, tx, []any{nil, nil, "", service, action}, c)
}

// write adds a row that says who did it.
func write(ctx context.Context, tx store.Conn, who []any, c Change) error {
	before, err := picture(c.Before)
	if err != nil {
		return err
	}
	after, err := picture(c.After)
	if err != nil {
		return err
	}
	row := slices.Concat([]any{c.Tenant}, who, []any{c.Resource, c.Object, c.names(), before, after})
	if batch, ok := ctx.Value(batchKey{}).(*Batch); ok {
		return batch.add(ctx, tx, row)
	}
	return insert(ctx, tx, [][]any{row})
}

func (c Change) names() string {
	keys := c.Keys
	if keys == nil {
		for key := range strings.SplitSeq(c.Object, "/") {
			keys = append(keys, []string{key})
		}
	}
	var b strings.Builder
	for side := range keys {
		for _, key := range keys[side] {
			b.WriteString(Name(side, key))
		}
	}
	return strings.ReplaceAll(b.String(), "  ", " ")
}

// Name returns a key of the object, or of the second object (1) of an association, as the column `names` holds it, with its
// delimiters.
func Name(side int, key string) string { return fmt.Sprintf(" %d:%s ", side, key) }

// known returns nil for a value that is no UUID: another auth server may send none, or something else.
func known(text string) *string {
	id, err := uuid.Parse(text)
	if err != nil {
		return nil
	}
	text = id.String()
	return &text
}

// picture returns an object as JSON text, without its secrets.
func picture(object any) (*string, error) {
	if object == nil {
		return nil, nil
	}
	shown, err := withoutSecrets(object)
	if err != nil {
		return nil, fmt.Errorf("picturing an object for the audit: %w", err)
	}
	text, err := json.Marshal(shown)
	if err != nil {
		return nil, fmt.Errorf("picturing an object for the audit: %w", err)
	}
	out := string(text)
	return &out, nil
}

// withoutSecrets returns what the JSON of an object has, without its secrets.
func withoutSecrets(object any) (value any, err error) {
	fields, named := object.(map[string]any)
	if !named {
		if value, err = asJSON(object); err == nil {
			Hide(value)
		}
		return value, err
	}
	out := make(map[string]any, len(fields))
	for name, field := range fields {
		if !plain(field) { // it may hold names of its own
			if field, err = asJSON(field); err != nil {
				return nil, err
			}
		}
		out[name] = field
	}
	Hide(out)
	return out, nil
}

// plain reports whether a value is as [Hide] expects values that were read from JSON: most fields of most objects are.
func plain(value any) bool {
	switch value.(type) {
	case nil, bool, string, int64:
		return true
	default:
		return false
	}
}

// asJSON returns a value as it is after it was written as JSON and read again.
func asJSON(of any) (value any, err error) {
	switch p := of.(type) {
	case *string:
		return pointed(p), nil
	case *int64:
		return pointed(p), nil
	case *bool:
		return pointed(p), nil
	}
	text, err := json.Marshal(of)
	if err == nil {
		err = json.Unmarshal(text, &value)
	}
	return value, err
}

func pointed[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

// secrets are substrings of the names of fields that hold secrets.
var secrets = []string{"password", "secret", "token", "private", "api_key", "certificate", "account_info", "md5_cred"}

// Hide replaces the secrets in a value that was read from JSON, by the names of their fields.
func Hide(value any) {
	switch v := value.(type) {
	case map[string]any:
		for name, field := range v {
			if _, flag := field.(bool); !flag && field != nil && secret(name) {
				v[name] = "(secret)"
				continue
			}
			Hide(field)
		}
	case []any:
		for _, item := range v {
			if pair, ok := item.([]any); ok {
				cleanPair(pair)
			}
			Hide(item)
		}
	}
}

// cleanPair cleans an option: a list of its name and its value, which stands in a list of such.
func cleanPair(pair []any) {
	if len(pair) != 2 {
		return
	}
	if name, ok := pair[0].(string); ok && secret(name) {
		pair[1] = "(secret)"
	}
}

func secret(name string) bool {
	for _, s := range secrets {
		if strings.Contains(strings.ToLower(name), s) {
			return true
		}
	}
	return false
}
