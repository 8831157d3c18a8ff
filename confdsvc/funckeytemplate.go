package confdsvc

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/audit"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/crud/rights"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// FuncKeyTemplate is a set of function keys: a user's own, which is private, or one that any number of users can have.
type FuncKeyTemplate struct {
	ID         ID       `db:"id" json:"id" readOnly:"true"`
	TenantUUID string   `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	UserID     *ID      `db:"user_id" json:"-" fixed:"true"`
	UserUUID   *string  `db:"user_uuid" json:"-" computed:"true"`
	Name       *string  `db:"name" json:"name" maxLength:"128"`
	Keys       FuncKeys `json:"keys" default:"{}"`
	crud.Hrefs
}

// FuncKey is one key of a telephone.
type FuncKey struct {
	ID *int64 `json:"id" readOnly:"true"`
	//nolint:lll // a tag cannot be wrapped
	BLF bool `json:"blf" default:"true" when:"destination.type=agent,bsfilter,conference,custom,forward,groupmember,park_position,user;destination.service=callrecord,enablednd,enablevm,incallfilter"`

	Inherited   bool               `json:"inherited" default:"false" doc:"Whether a user has it from a template: it is left out of what is written."`
	Label       *string            `json:"label" maxLength:"128"`
	Destination FuncKeyDestination `json:"destination" required:"true"`

	// stored is the destination's keys as in the database, if it has them.
	stored string
}

// FuncKeys are keys by their positions.
type FuncKeys map[string]FuncKey

const maxFuncKeys = 1000

// JSONSchema returns an object whose names are positions.
func (FuncKeys) JSONSchema() *rest.Schema {
	return &rest.Schema{
		Type: "object", Values: rest.SchemaOf[FuncKey](), Doc: "The keys by their positions: 1, 2 and so on.",
		Check: func(value any) []apierr.Field {
			keys := value.(map[string]any)
			if len(keys) > maxFuncKeys {
				return []apierr.Field{{Constraint: "length", Value: maxFuncKeys, Message: fmt.Sprintf("Must have at most %d keys", maxFuncKeys)}}
			}
			for position := range keys {
				if _, ok := positionOf(position); !ok {
					return []apierr.Field{{Constraint: "range", Message: "The name of a key is its position: a whole number of 1 or more"}}
				}
			}
			return nil
		},
	}
}

// positionOf reads a position, which has one spelling.
func positionOf(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 32)
	return n, err == nil && n >= 1 && strconv.FormatInt(n, 10) == text
}

func init() { resources = append(resources, declareFuncKeyTemplates) }

func declareFuncKeyTemplates(e *crud.Engine) {
	columns := []string{"name"}
	crud.Collect(e, crud.Resource[FuncKeyTemplate]{
		Path: "funckeys/templates", Singular: "func_key_template", Param: "template_id", Title: "FuncKeyTemplate", Table: "confd_func_key_template",
		About: "Sets of function keys, for several users.", Lists: []string{"name", "keys"},
		Keys: []string{"id"}, Order: columns, Filters: columns, SearchText: "search_text",
		Virtual: map[string]string{"user_uuid": "SELECT CAST(u.uuid AS text) FROM {+confd_user} u WHERE u.id = confd_func_key_template.user_id"},
		Also:    alsoOfFuncKeys,
		Apart:   map[string]func(*FuncKeyTemplate) []string{"keys": func(t *FuncKeyTemplate) []string { return t.Keys.positions() }},
		Audited: auditUserFuncKeys,
		Readable: func(r *rest.Request, _ func(any) string) string {
			if r.Param("template_id") != "" {
				return ""
			}
			return "user_id IS NULL" // a list has only the public ones
		},
		Beside: []crud.Beside[FuncKeyTemplate]{{
			From: "confd_func_key", By: "template_id", Refers: refersTo(funcKeyKinds), Loses: losesFuncKeys, Blank: func(t *FuncKeyTemplate) { t.Keys = FuncKeys{} },
			Load: func(ctx context.Context, c store.Conn, templates []*FuncKeyTemplate) error {
				return loadFuncKeys(ctx, c, e, templates)
			},
			Save: func(ctx context.Context, c store.Conn, change *crud.Change[FuncKeyTemplate]) error {
				return saveFuncKeys(ctx, c, e, change)
			},
		}},
		Prepare: func(_ context.Context, _ store.Conn, change *crud.Change[FuncKeyTemplate]) error {
			change.New.Keys = change.New.Keys.settled(change.New.UserID == nil)
			return nil
		},
		Validate: func(_ context.Context, _ store.Conn, change *crud.Change[FuncKeyTemplate]) error {
			return change.New.Keys.checkTwins()
		},
		Guard: func(ctx context.Context, c store.Conn, change *crud.Change[FuncKeyTemplate]) error {
			t := change.Old
			if t.UserID != nil {
				return style.NotPermitted("Deleting private templates is not allowed.", "template_id", t.ID)
			}
			return crud.Of[User](e).NoneDenied(ctx, c, change.Request, fmt.Sprintf("funckeys.templates.%d.delete", t.ID), "func_key_template_id = $1", t.ID)
		},
	})
}

// settled returns the keys as they are stored: without lamps if they cannot have one and, in a user's own, without inherited
// ones.
func (keys FuncKeys) settled(public bool) FuncKeys {
	out := make(FuncKeys, len(keys))
	for position, key := range keys {
		if key.Inherited && !public {
			continue
		}
		key.BLF, key.Inherited = key.BLF && key.Destination.mayHaveLamp(), public
		out[position] = key
	}
	return out
}

func (keys FuncKeys) positions() []string {
	return slices.SortedFunc(maps.Keys(keys), func(a, b string) int {
		first, _ := positionOf(a)
		second, _ := positionOf(b)
		return int(first - second)
	})
}

// text returns the key's destination as in the database.
func (k *FuncKey) text() (string, error) {
	if k.stored != "" {
		return k.stored, nil
	}
	text, err := json.Marshal(k.Destination.keys)
	return string(text), err
}

func (keys FuncKeys) checkTwins() error {
	seen := map[string]bool{}
	for _, position := range keys.positions() {
		key := keys[position]
		text, err := key.text()
		if err != nil {
			return err
		}
		if does := key.Destination.kind.name + " " + text; !seen[does] {
			seen[does] = true
			continue
		}
		name, value := key.Destination.first()
		return style.Storedf("destination already exists ('%s': %s)", name, value).On("destination")
	}
	return nil
}

// first returns the first attribute that says where the key leads, as refusals show it.
func (d *FuncKeyDestination) first() (name, value string) {
	schema := d.kind.schema()
	for i := range schema.Properties {
		p := &schema.Properties[i]
		if p.ReadOnly {
			continue
		}
		switch v := d.key(p.Name).(type) {
		case string:
			return p.Name, "'" + v + "'"
		case ID:
			return p.Name, fmt.Sprint(v)
		}
	}
	return "type", "'" + d.kind.name + "'"
}

type funcKeyRow struct {
	ID         ID      `db:"id"`
	TemplateID ID      `db:"template_id"`
	Position   int64   `db:"place"`
	BLF        bool    `db:"blf"`
	Label      *string `db:"label"`
	Type       string  `db:"type"`
	Keys       string  `db:"keys"`
}

func loadFuncKeys(ctx context.Context, c store.Conn, e *crud.Engine, templates []*FuncKeyTemplate) error {
	byID, ids := make(map[ID]*FuncKeyTemplate, len(templates)), make([]any, len(templates))
	for i, t := range templates {
		t.Keys, ids[i], byID[t.ID] = FuncKeys{}, t.ID, t
	}
	rows, err := store.Select[funcKeyRow](ctx, c, "SELECT id, template_id, place, blf, label, type, keys FROM confd_func_key WHERE template_id IN ("+
		crud.Placeholders(1, len(ids))+")", ids...)
	if err != nil {
		return err
	}
	found := make([]*Destination, len(rows))
	for i, row := range rows {
		t := byID[row.TemplateID]
		key := FuncKey{ID: (*int64)(&rows[i].ID), BLF: row.BLF, Inherited: t.UserID == nil, Label: row.Label, stored: row.Keys}
		d := &Destination{}
		if err := d.readAs(funcKeyKinds, row.Type, "", []byte(row.Keys)); err != nil {
			return err
		}
		// The attributes of the destination's target are filled in through the pointer that both share.
		key.Destination.Destination, found[i] = *d, d
		t.Keys[strconv.FormatInt(row.Position, 10)] = key
	}
	return showKeyTargets(ctx, c, e, found)
}

// saveFuncKeys writes the keys of a template that differ from its old ones; the others keep their ids.
func saveFuncKeys(ctx context.Context, c store.Conn, e *crud.Engine, change *crud.Change[FuncKeyTemplate]) error {
	was := FuncKeys{}
	if change.Old != nil {
		was = change.Old.Keys
	}
	if err := mayChangeFuncKeys(change, was); err != nil {
		return err
	}
	for _, position := range was.positions() {
		if old, is := was[position], change.New.Keys; !is.has(position, &old) {
			if _, err := c.Exec(ctx, "DELETE FROM confd_func_key WHERE id = $1", *old.ID); err != nil {
				return err
			}
		}
	}
	for _, position := range change.New.Keys.positions() {
		if key := change.New.Keys[position]; !was.has(position, &key) {
			if err := insertFuncKey(ctx, c, e, change.New, position, &key); err != nil {
				return err
			}
		}
	}
	return nil
}

// mayChangeFuncKeys refuses a caller who is denied to set or to delete, by the operation for one position, any of the keys that a request
// changes. A user's own keys have two paths: a denial on the user's path counts on the private template's too.
func mayChangeFuncKeys(change *crud.Change[FuncKeyTemplate], was FuncKeys) error {
	var changed []string // "2.update"
	for _, position := range was.positions() {
		if _, kept := change.New.Keys[position]; !kept {
			changed = append(changed, position+".delete")
		}
	}
	for _, position := range change.New.Keys.positions() {
		if key := change.New.Keys[position]; !was.has(position, &key) {
			changed = append(changed, position+".update")
		}
	}
	r, t := change.Request, change.New
	paths := t.userAccesses()
	if t.UserID == nil || r.Param("template_id") != "" {
		paths = append(paths, t.access())
	}
	for _, path := range paths {
		for _, what := range changed {
			if err := rights.NotDenied(r, path+what); err != nil {
				return err
			}
		}
	}
	return nil
}

// access returns the beginning of the accesses of a template and its keys.
func (t *FuncKeyTemplate) access() string { return fmt.Sprintf("confd.funckeys.templates.%d.", t.ID) }

// userAccesses returns the beginnings of the accesses of a user's own keys: none for a public template.
func (t *FuncKeyTemplate) userAccesses() []string {
	if t.UserID == nil {
		return nil
	}
	return []string{fmt.Sprintf("confd.users.%d.funckeys.", *t.UserID), "confd.users." + *t.UserUUID + ".funckeys."}
}

// alsoOfFuncKeys returns the accesses of a request for a template by other paths: a user's own keys also have the
// user's paths, and a request that reads or deletes all keys reads or deletes each of them.
func alsoOfFuncKeys(r *rest.Request, t *FuncKeyTemplate) []string {
	does, is := strings.CutPrefix(r.Match().Access(), t.access())
	if !is {
		return nil // it is an operation on something else
	}
	paths := t.userAccesses()
	var out []string
	for _, path := range paths {
		out = append(out, path+does)
	}
	if does == "read" || does == "delete" {
		out = append(out, t.Keys.accesses(does, append(paths, t.access())...)...)
	}
	return out
}

// auditUserFuncKeys records a user's own keys under the user's path: a caller who is denied to read them by that path does not read them in
// the audit either.
func auditUserFuncKeys(t *FuncKeyTemplate, a *audit.Change) {
	if t.UserID != nil {
		id := fmt.Sprint(*t.UserID)
		a.Resource, a.Object, a.Keys = "users/funckeys", id, [][]string{{id, *t.UserUUID}}
	}
}

// accesses returns the accesses of an action on each of the keys, below these paths.
func (keys FuncKeys) accesses(action string, paths ...string) []string {
	var out []string
	for _, path := range paths {
		for _, position := range keys.positions() {
			out = append(out, path+position+"."+action)
		}
	}
	return out
}

// has reports whether this key is at this position, ignoring the attributes of its target.
func (keys FuncKeys) has(position string, key *FuncKey) bool {
	other, ok := keys[position]
	if !ok || other.BLF != key.BLF || other.Destination.kind != key.Destination.kind || (other.Label == nil) != (key.Label == nil) ||
		key.Label != nil && *other.Label != *key.Label {
		return false
	}
	one, err := other.text()
	two, otherErr := key.text()
	return err == nil && otherErr == nil && one == two
}

// insertFuncKey writes one key, whose target must belong to the template's tenant.
func insertFuncKey(ctx context.Context, c store.Conn, e *crud.Engine, t *FuncKeyTemplate, position string, key *FuncKey) error {
	text, err := key.text()
	if err != nil {
		return err
	}
	at, _ := positionOf(position)
	columns, args, err := key.Destination.columnsOf(ctx, c, e, t.TenantUUID, func(r reference, title string, value any) error {
		return crud.Missing(r.key, title, r.key, value)
	})
	if err != nil {
		return err
	}
	if filters, is := key.Destination.keys.(*KeyFilters); is {
		if err := filters.mayFilter(ctx, c, t); err != nil {
			return err
		}
		columns, args = append(columns, "filter_member_id"), append(args, filters.FilterMemberID)
	}
	columns = append(columns, "template_id", "place", "blf", "label", "type", "keys")
	args = append(args, t.ID, at, key.BLF, key.Label, key.Destination.kind.name, text)
	_, err = c.Exec(ctx, "INSERT INTO confd_func_key ("+strings.Join(columns, ", ")+") VALUES ("+crud.Placeholders(1, len(args))+")", args...)
	return err
}

// losesFuncKeys refuses a caller who is denied to delete the function keys that lead to an object which is deleted.
func losesFuncKeys(ctx context.Context, c store.Conn, r *rest.Request, column string, value any) error {
	keys, err := store.Select[keyOfTarget](ctx, c, `
		SELECT t.id AS "template.id", t.user_id AS "template.user_id", CAST(u.uuid AS text) AS "template.user_uuid", k.place
		FROM confd_func_key k JOIN confd_func_key_template t ON t.id = k.template_id LEFT JOIN confd_user u ON u.id = t.user_id
		WHERE k.`+column+` = $1`, value)
	if err != nil {
		return err
	}
	for _, k := range keys {
		for _, path := range append(k.Template.userAccesses(), k.Template.access()) {
			if err := rights.NotDenied(r, path+strconv.FormatInt(k.Position, 10)+".delete"); err != nil {
				return err
			}
		}
	}
	return nil
}

type keyOfTarget struct {
	Template FuncKeyTemplate `db:"template"`
	Position int64           `db:"place"`
}
