package confdsvc

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/crud/rights"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// UserFuncKeys are a user's keys: their own and, at the other positions, those of the template that they were given.
type UserFuncKeys struct {
	ID   *int64   `json:"id" readOnly:"true" doc:"That of the user's private template; null until something was written."`
	Name *string  `json:"name" maxLength:"128"`
	Keys FuncKeys `json:"keys" default:"{}"`
}

// keySet holds the keys of a path: a template of its own, which may not exist yet, and an inherited one, or nil.
type keySet struct {
	own, inherited *FuncKeyTemplate
}

// keyHolder finds the keys that a request's path names. A new template is not stored yet.
type keyHolder func(ctx context.Context, c store.Conn, r *rest.Request, scope string) (*keySet, error)

// all returns the keys as they are shown.
func (s *keySet) all() FuncKeys {
	keys := FuncKeys{}
	if s.inherited != nil {
		maps.Copy(keys, s.inherited.Keys)
	}
	maps.Copy(keys, s.own.Keys)
	return keys
}

func (s *keySet) shown() *UserFuncKeys {
	shown := &UserFuncKeys{Name: s.own.Name, Keys: s.all()}
	if s.own.ID != 0 {
		shown.ID = (*int64)(&s.own.ID)
	}
	return shown
}

func (s *keySet) one(keys FuncKeys, position string) (*FuncKey, error) {
	if err := checkPosition(position); err != nil {
		return nil, err
	}
	key, ok := keys[position]
	if !ok {
		return nil, apierr.New(apierr.NotFound, "FuncKey was not found ('template_id': %d, 'position': %s)", s.own.ID, position).
			Naming("FuncKey was not found", "template_id", s.own.ID)
	}
	return &key, nil
}

// checkPosition refuses what no key can have as its position.
func checkPosition(text string) error {
	if _, ok := positionOf(text); ok {
		return nil
	}
	if text == "0" {
		return apierr.InvalidField("position", "range", "Must be 1 or more")
	}
	return apierr.New(apierr.NotFound, "FuncKey was not found")
}

func init() { resources = append(resources, declareFuncKeys) }

func declareFuncKeys(e *crud.Engine) {
	e.Add(rest.Operation{
		Method: http.MethodGet, Path: "/funckeys/destinations", Access: "confd.funckeys.destinations.read", ID: "list_func_key_destinations", Tag: "funckeys",
		Summary: "List what function keys can do", Success: http.StatusOK, Reply: rest.SchemaOf[[]FuncKeyType](),
		Handle: func(context.Context, *rest.Request) (rest.Reply, error) { return rest.Reply{Body: funcKeyTypes()}, nil },
	})
	ofUser := func(ctx context.Context, c store.Conn, r *rest.Request, scope string) (*keySet, error) {
		user, err := crud.Of[User](e).NamedIn(ctx, c, r, scope)
		if err != nil {
			return nil, err
		}
		return keysOfUser(ctx, c, e, user)
	}
	ofTemplate := func(ctx context.Context, c store.Conn, r *rest.Request, scope string) (*keySet, error) {
		t, err := crud.Of[FuncKeyTemplate](e).NamedIn(ctx, c, r, scope)
		return &keySet{own: t}, err
	}
	user := rest.Operation{Path: "/users/{user_id}/funckeys", Access: "confd.users.{user_id}.funckeys", Tag: "users", Tenanted: true}
	get, put := user, user
	get.Method, get.Access, get.ID, get.Summary = http.MethodGet, user.Access+".read", "list_user_func_keys", "Read the function keys of a user"
	get.Success, get.Reply, get.Statuses, get.Conditional = http.StatusOK, rest.SchemaOf[UserFuncKeys](), []int{404}, true
	put.Method, put.Access, put.ID, put.Summary = http.MethodPut, user.Access+".update", "update_user_func_keys", "Change the function keys of a user"
	put.Description = "The keys that are sent replace all of the user's own."
	put.Success, put.Body, put.Statuses = http.StatusNoContent, rest.SchemaOf[UserFuncKeys]().Partial(), []int{404, 412}
	put.Transactional = true
	whole := func(_ *rest.Request, s *keySet) (any, error) { return s.shown(), nil }
	each := func(r *rest.Request, s *keySet) (any, error) { // a caller who is denied one of the keys does not read it among all
		return s.shown(), rights.NotDenied(r, s.all().accesses("read", s.own.userAccesses()...)...)
	}
	get.Handle, put.Handle = readKeys(e, ofUser, each), writeKeys(e, ofUser, replaceKeys, whole)
	e.Add(get)
	e.Add(put)
	addPositions(e, ofUser, user.Path, user.Access, "user_func_key", "users")
	addPositions(e, ofTemplate, "/funckeys/templates/{template_id}", "confd.funckeys.templates.{template_id}", "func_key", "funckeys_templates")
}

// keysOfUser finds a user's keys. If they have none of their own yet, the template is a new one.
func keysOfUser(ctx context.Context, c store.Conn, e *crud.Engine, user *User) (*keySet, error) {
	templates, err := crud.Of[FuncKeyTemplate](e).Select(ctx, c,
		"user_id = $1 OR id = (SELECT func_key_template_id FROM confd_user WHERE id = $1)", user.ID)
	if err != nil {
		return nil, err
	}
	set := &keySet{own: &FuncKeyTemplate{TenantUUID: user.TenantUUID, UserID: &user.ID, UserUUID: &user.UUID, Keys: FuncKeys{}}}
	for _, t := range templates {
		if t.UserID != nil {
			set.own = t
		} else if inheritsFor(ctx, e, user, t) {
			set.inherited = t
		}
	}
	return set, nil
}

// inheritsFor reports whether the caller of ctx may see that a user has a template, and all of its keys.
func inheritsFor(ctx context.Context, e *crud.Engine, user *User, t *FuncKeyTemplate) bool {
	return e.MayRead(ctx, "funckeys/templates", fmt.Sprint(t.ID)) == nil && !crud.Of[FuncKeyTemplate](e).Withholds(ctx, t, "keys") &&
		!crud.Of[User](e).Withholds(ctx, user, "func_key_template_id")
}

func addPositions(e *crud.Engine, of keyHolder, path, access, id, tag string) {
	shown := func(r *rest.Request, s *keySet) (any, error) { return s.one(s.all(), r.Param("position")) }
	schema := rest.SchemaOf[FuncKey]()
	for _, op := range []rest.Operation{
		{
			Method: http.MethodGet, ID: "get_" + id, Access: ".read", Summary: "Read a function key", Success: http.StatusOK, Reply: schema,
			Statuses: []int{400, 404}, Conditional: true, Handle: readKeys(e, of, shown),
		},
		{
			Method: http.MethodPut, ID: "update_" + id, Access: ".update", Summary: "Set a function key", Success: http.StatusNoContent, Body: schema,
			Statuses: []int{404, 412}, Handle: writeKeys(e, of, setKey, shown),
		},
		{
			Method: http.MethodDelete, ID: "delete_" + id, Access: ".delete", Summary: "Delete a function key", Success: http.StatusNoContent,
			Statuses: []int{400, 404, 412}, Handle: writeKeys(e, of, dropKey, shown),
		},
	} {
		op.Path, op.Access, op.Tag, op.Tenanted = path+"/{position}", access+".{position}"+op.Access, tag, true
		op.Transactional = op.Method != http.MethodGet
		e.Add(op)
	}
}

// replaceKeys replaces all keys of a user by the body's.
func replaceKeys(r *rest.Request) (keyEdit, error) {
	sent, err := r.Object()
	if err != nil {
		return nil, err
	}
	return func(_ *keySet, t *FuncKeyTemplate) error {
		view := &UserFuncKeys{Name: t.Name, Keys: t.Keys}
		err := sent.Into(view)
		t.Name, t.Keys = view.Name, view.Keys
		return err
	}, nil
}

// setKey stores the body's key at the path's position. Setting an inherited key changes nothing.
func setKey(r *rest.Request) (keyEdit, error) {
	position := r.Param("position")
	if err := checkPosition(position); err != nil {
		return nil, err
	}
	key, err := rest.Decode[FuncKey](r)
	if err != nil {
		return nil, err
	}
	return func(_ *keySet, t *FuncKeyTemplate) error {
		if key.Inherited && t.UserID != nil {
			return nil
		}
		if t.Keys = maps.Clone(t.Keys); len(t.Keys) >= maxFuncKeys {
			return apierr.InvalidField("position", "length", "There are too many keys")
		}
		t.Keys[position] = key
		return nil
	}, nil
}

// dropKey deletes the key at the path's position, which must exist.
func dropKey(r *rest.Request) (keyEdit, error) {
	position := r.Param("position")
	return func(s *keySet, t *FuncKeyTemplate) error {
		if _, err := s.one(s.own.Keys, position); err != nil {
			return err
		}
		t.Keys = maps.Clone(t.Keys)
		delete(t.Keys, position)
		return nil
	}, nil
}

func readKeys(e *crud.Engine, of keyHolder, show func(r *rest.Request, s *keySet) (any, error)) rest.Handler {
	return e.Reading(func(ctx context.Context, c store.Conn, r *rest.Request, scope string) (any, error) {
		set, err := of(ctx, c, r, scope)
		if err != nil {
			return nil, err
		}
		return show(r, set)
	})
}

// keyEdit changes t, which is a copy of the set's own template.
type keyEdit func(s *keySet, t *FuncKeyTemplate) error

// writeKeys returns a handler that changes a set of keys. shown returns the part of it that the client has read, and names in
// If-Match.
func writeKeys(e *crud.Engine, of keyHolder, read func(r *rest.Request) (keyEdit, error), shown func(r *rest.Request, s *keySet) (any, error)) rest.Handler {
	return func(ctx context.Context, r *rest.Request) (rest.Reply, error) {
		scope, err := e.TenantOf(ctx, r)
		if err != nil {
			return rest.Reply{}, err
		}
		edit, err := read(r)
		if err != nil {
			return rest.Reply{}, err
		}
		return rest.Reply{}, e.InTx(ctx, func(ctx context.Context, c store.Conn) error {
			set, err := of(ctx, c, r, scope)
			if err != nil {
				return err
			}
			was, err := shown(r, set)
			if err != nil {
				was = nil // there is no such key, so no tag matches it
			}
			if err := rest.CheckIfMatch(r.HTTP.Header, was); err != nil {
				return err
			}
			return set.write(ctx, c, e, r, scope, edit)
		})
	}
}

// write changes the set's own template, and creates it if there is none yet.
func (s *keySet) write(ctx context.Context, c store.Conn, e *crud.Engine, r *rest.Request, scope string, edit keyEdit) error {
	templates := crud.Of[FuncKeyTemplate](e)
	if s.own.ID != 0 {
		change := &crud.Change[FuncKeyTemplate]{Request: r, Tenant: scope, Old: s.own}
		return templates.Update(ctx, c, change, func(t *FuncKeyTemplate) error { return edit(s, t) })
	}
	// If two requests create it at once, one waits here for the other, and runs again.
	if _, err := c.Exec(ctx, "UPDATE confd_user SET func_key_template_id = func_key_template_id WHERE id = $1", *s.own.UserID); err != nil {
		return err
	}
	fresh := *s.own
	if err := edit(s, &fresh); err != nil {
		return err
	}
	if fresh.Name == nil && len(fresh.Keys.settled(false)) == 0 {
		return nil // nothing was written
	}
	return templates.Insert(ctx, c, &crud.Change[FuncKeyTemplate]{Request: r, Tenant: fresh.TenantUUID, New: &fresh})
}

// FuncKeyDestination is the action of a function key: one of funcKeyKinds, with its keys.
type FuncKeyDestination struct{ Destination }

var funcKeyDestinationOnce = sync.OnceValue(func() *rest.Schema {
	var kinds []rest.Kind
	for _, k := range byName(funcKeyKinds) {
		kinds = append(kinds, rest.Kind{Value: k.name, Schema: k.schema()})
	}
	return rest.UnionOf("FuncKeyDestination", "type", kinds...)
})

// JSONSchema returns the union of all kinds.
func (FuncKeyDestination) JSONSchema() *rest.Schema { return funcKeyDestinationOnce() }

// UnmarshalJSON reads a destination that its schema has accepted.
func (d *FuncKeyDestination) UnmarshalJSON(text []byte) error {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return err
	}
	if err := d.readAs(funcKeyKinds, head.Type, "", text); err != nil {
		return err
	}
	switch keys := d.keys.(type) {
	case *KeyDials:
		keys.Exten = strings.TrimSpace(keys.Exten)
	case *KeyForwards:
		if keys.Exten != nil {
			exten := strings.TrimSpace(*keys.Exten)
			keys.Exten = &exten
		}
	}
	return nil
}

// The keys of the kinds that lead to no resource of this service.
type (
	keyHref struct {
		Href *string `json:"href" readOnly:"true"`
	}
	// KeyService switches a service.
	KeyService struct {
		keyHref

		Service keyService `json:"service" required:"true"`
	}
	// KeyDials dials a number.
	KeyDials struct {
		keyHref

		Exten string `json:"exten" required:"true" maxLength:"255" pattern:"^ *[A-Z0-9+*]+ *$" example:"1000"`
	}
	// KeyForwards switches a forward.
	KeyForwards struct {
		keyHref

		Forward string  `json:"forward" required:"true" enum:"busy,noanswer,unconditional" doc:"Which calls are forwarded: busy, noanswer or unconditional."`
		Exten   *string `json:"exten" maxLength:"255" pattern:"^ *[A-Z0-9+*]+ *$" example:"1000"`
	}
	keyTransfers struct {
		keyHref

		Transfer string `json:"transfer" required:"true" enum:"blind,attended" doc:"The kind of transfer: blind or attended."`
	}
	keyRecords struct{ keyHref }
)

// funcKeyKinds are the types of a function key's destination.
var funcKeyKinds = []destinationKind{
	kind[KeyService]("service", ""),
	kind[KeyDials]("custom", ""),
	kind[KeyForwards]("forward", ""),
	kind[keyTransfers]("transfer", ""),
	kind[keyRecords]("onlinerec", ""),
}

func (d *FuncKeyDestination) mayHaveLamp() bool {
	when := rest.SchemaOf[FuncKey]().Property("blf").When
	if keys, ok := d.keys.(*KeyService); ok {
		return slices.Contains(when["destination.service"], string(keys.Service))
	}
	return slices.Contains(when["destination.type"], d.kind.name)
}

// keyService is a service that a key switches.
type keyService string

// JSONSchema returns the choice of the services.
func (keyService) JSONSchema() *rest.Schema {
	return &rest.Schema{Type: "string", Enum: []string{
		"enablevm", "vmusermsg", "vmuserpurge", "phonestatus", "recsnd", "directoryaccess", "fwdundoall", "pickup", "callrecord", "incallfilter",
		"enablednd",
	}}
}

// showKeyTargets fills in the attributes of their targets that the destinations of keys show.
func showKeyTargets(ctx context.Context, c store.Conn, e *crud.Engine, destinations []*Destination) error {
	for _, d := range destinations {
		if keys, ok := d.keys.(*keyToUser); ok {
			href := fmt.Sprintf("%s/users/%d", prefix, keys.UserID)
			keys.Href = &href
		}
	}
	if err := showFilterMembers(ctx, c, e, destinations); err != nil {
		return err
	}
	return showTargets(ctx, c, e, destinations)
}

// FuncKeyType is a type of action of a function key.
type FuncKeyType struct {
	Type       string             `json:"type"`
	Parameters []FuncKeyParameter `json:"parameters"`
}

// FuncKeyParameter is a further attribute of such a key's destination.
type FuncKeyParameter struct {
	Name       string   `json:"name"`
	Collection *string  `json:"collection" doc:"Where the objects are that it names one of; null: it names none."`
	Values     []string `json:"values" doc:"What it may be; empty: anything of its form."`
}

func funcKeyTypes() []FuncKeyType {
	types := make([]FuncKeyType, len(funcKeyKinds))
	for i, k := range byName(funcKeyKinds) {
		types[i] = FuncKeyType{Type: k.name, Parameters: []FuncKeyParameter{}}
		for _, p := range k.schema().Properties {
			if p.ReadOnly {
				continue
			}
			parameter := FuncKeyParameter{Name: p.Name, Values: append([]string{}, p.Schema.Enum...)}
			if len(k.refs) > 0 && k.refs[0].key == p.Name {
				collection := prefix + "/" + k.refs[0].path
				parameter.Collection = &collection
			}
			types[i].Parameters = append(types[i].Parameters, parameter)
		}
	}
	return types
}
