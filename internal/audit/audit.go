// Package audit records who changed what: a row for each change, written in the change's own transaction, so that there is no
// change without its row and no row without its change. Rows are never changed.
package audit

import (
	"cmp"
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
	// Service is the service that has the object, if it is not the one of the request.
	Service string
	// Resource is the collection, and Object the key of the changed object. For an association each holds both sides, separated
	// by a slash: users/policies.
	Resource, Object string
	// Keys are all keys by which a path can name the object, followed by those of the second object of an association; nil if
	// there are none but those of Object. A caller who may read the object under one of them, and is denied none, may read the
	// entry.
	Keys [][]string
	// Sides are the collections of the objects that Keys are of. Without them, they are read from Resource: users/policies is of users and
	// policies, users/emails of users.
	Sides []string
	// Also are further objects that the change is about, as a collection and a key with a slash between: users/17, of a group's members.
	Also []string
	// Title is what people call the object, or the objects of an association; without one, it is read from its pictures.
	Title string
	// Before and After are the object as its API shows it; nil before it was created and after it was deleted.
	Before, After any
}

// Write adds a row to the audit, with the caller and the request, at once or to the batch of ctx. It omits fields that hold secrets
// from both pictures.
func Write(ctx context.Context, tx store.Conn, r *rest.Request, c Change) error {
	var actor, session *string
	if p := r.Principal(); p != nil {
		actor, session = known(p.UserUUID), known(p.SessionUUID)
	}
	return write(ctx, tx, []any{actor, session, r.HTTP.Header.Get(rest.RequestIDHeader), cmp.Or(c.Service, r.Service().Name), r.Op().ID}, c)
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
	row := slices.Concat([]any{c.Tenant}, who, []any{c.Resource, c.Object, c.names(), before, after, c.said(), c.about(fmt.Sprint(who[3]))})
	if batch, ok := ctx.Value(batchKey{}).(*Batch); ok {
		return batch.add(ctx, tx, row)
	}
	return insert(ctx, tx, [][]any{row})
}

// keys returns the keys of each object.
func (c Change) keys() [][]string {
	keys := c.Keys
	if keys == nil {
		for key := range strings.SplitSeq(c.Object, "/") {
			keys = append(keys, []string{key})
		}
	}
	return keys
}

// about returns all objects that the change is about, as lines: confd/users/17.
func (c Change) about(service string) string {
	sides := c.Sides
	if sides == nil {
		of, part, _ := strings.Cut(c.Resource, "/")
		sides = []string{of, part}
	}
	also := c.Also
	for side, keys := range c.keys() {
		for _, key := range keys {
			if side < len(sides) && sides[side] != "" {
				also = append(slices.Clip(also), sides[side]+"/"+key)
			}
		}
	}
	objects := make([]string, len(also))
	for i, object := range also {
		objects[i] = service + "/" + object
	}
	return strings.Join(objects, "\n")
}

// titles are the attributes by which people know an object.
var titles = []string{"name", "label", "username", "firstname", "lastname", "exten", "number", "uri"}

// Called returns what people call an object, by its attributes.
func Called(attributes map[string]any) string {
	var words []string
	for _, name := range titles {
		word, ok := attributes[name].(string)
		if p, pointed := attributes[name].(*string); pointed && p != nil {
			word, ok = *p, true
		}
		if ok && word != "" {
			words = append(words, word)
		}
	}
	return strings.Join(words, " ")
}

// longestTitle bounds what is searched of a title, in characters.
const longestTitle = 200

// said returns the folded text in which a search looks: what people call the object, before the change too.
func (c Change) said() string {
	title := c.Title
	if title == "" {
		before, _ := c.Before.(map[string]any)
		after, _ := c.After.(map[string]any)
		if title = Called(before); title != Called(after) {
			title = strings.TrimSpace(Called(after) + " " + title)
		}
	}
	if runes := []rune(title); len(runes) > longestTitle {
		title = string(runes[:longestTitle])
	}
	return store.Fold(title)
}

func (c Change) names() string {
	keys := c.keys()
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
	return new(id.String())
}

// picture returns an object as JSON text, without its secrets.
func picture(object any) (*string, error) {
	if object == nil {
		return nil, nil
	}
	shown, err := withoutSecrets(object)
	var text []byte
	if err == nil {
		text, err = json.Marshal(shown)
	}
	if err != nil {
		return nil, fmt.Errorf("picturing an object for the audit: %w", err)
	}
	return new(string(text)), nil
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
			if pair, ok := item.([]any); ok && len(pair) == 2 { // an option: its name and its value
				if name, ok := pair[0].(string); ok && secret(name) {
					pair[1] = "(secret)"
				}
			}
			Hide(item)
		}
	}
}

func secret(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(secrets, func(s string) bool { return strings.Contains(name, s) })
}
