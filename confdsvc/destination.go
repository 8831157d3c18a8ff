package confdsvc

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// Destination says where a call is sent: one of destinationKinds, with its keys. All are stored in one table, with a row for
// each slot of each owner; a row refers to its target, and is deleted with it and with its owner.
type Destination struct {
	kind *destinationKind
	keys any
}

var destinationOnce = sync.OnceValue(destinationSchema)

// JSONSchema returns the union of all kinds.
func (Destination) JSONSchema() *rest.Schema { return destinationOnce() }

// MarshalJSON writes the type, and the keys beside it.
func (d Destination) MarshalJSON() ([]byte, error) {
	head := map[string]string{"type": d.kind.name}
	if d.kind.sub != "" {
		head[subKeys[d.kind.name]] = d.kind.sub
	}
	begin, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	rest, err := json.Marshal(d.keys)
	if err != nil || len(rest) == len("{}") {
		return begin, err
	}
	return append(append(begin[:len(begin)-1], ','), rest[1:]...), nil
}

// UnmarshalJSON reads a destination that its schema has accepted.
func (d *Destination) UnmarshalJSON(text []byte) error {
	var head map[string]any
	if err := json.Unmarshal(text, &head); err != nil {
		return err
	}
	name, _ := head["type"].(string)
	sub, _ := head[subKeys[name]].(string)
	return d.readAs(destinationKinds, name, sub, text)
}

// readAs makes the destination one of these kinds, with these keys.
func (d *Destination) readAs(kinds []destinationKind, name, sub string, keys []byte) error {
	i := slices.IndexFunc(kinds, func(k destinationKind) bool { return k.name == name && k.sub == sub })
	if i < 0 {
		return fmt.Errorf("there is no destination %s %s", name, sub)
	}
	d.kind = &kinds[i]
	d.keys = d.kind.keys()
	return json.Unmarshal(keys, d.keys)
}

// key returns the value of one of the destination's keys, as JSON has it.
func (d *Destination) key(name string) any {
	v := reflect.ValueOf(d.keys).Elem()
	property := d.kind.schema().Property(name)
	if property == nil {
		return nil
	}
	return v.FieldByIndex(property.Index()).Interface()
}

// same reports whether two destinations lead to the same: what is only shown of a target does not count. Either may be nil.
func (d *Destination) same(other *Destination) bool {
	if d == nil || other == nil {
		return d == other
	}
	return d.kind == other.kind && !slices.ContainsFunc(d.kind.schema().Properties, func(p rest.Property) bool {
		return !p.ReadOnly && !reflect.DeepEqual(d.key(p.Name), other.key(p.Name))
	})
}

// slots are an owner's destinations, by their names in the table.
type slots map[string]slot

// slot is a field that holds a destination.
type slot interface {
	get() *Destination // nil: there is none
	put(d *Destination)
}

// nullable returns the slot of a field that may be null.
type nullable struct{ field **Destination }

func (s nullable) get() *Destination  { return *s.field }
func (s nullable) put(d *Destination) { *s.field = d }

// always returns the slot of a field that may not be null: without a destination it leads nowhere.
type always struct{ field *Destination }

func (s always) get() *Destination { return s.field }

func (s always) put(d *Destination) {
	if d == nil {
		d = &Destination{kind: &destinationKinds[0], keys: &noKeys{}}
	}
	*s.field = *d
}

// destinationOwner says how a collection's objects own destinations: by which column of confd_destination, with the value of which column of
// theirs, and what access below an object changes where its calls lead.
type destinationOwner[T any] struct {
	column, keyColumn, change string

	key   func(o *T) any
	slots func(o *T) slots
}

// destinationOwners are all that may lead calls to an object. Each file that declares one adds it, by holdsDestinations.
var destinationOwners []interface {
	mayLose(ctx context.Context, c store.Conn, e *crud.Engine, r *rest.Request, target string, key any) error
}

// holdsDestinations adds a kind of owners to all.
func holdsDestinations[T any](w destinationOwner[T]) destinationOwner[T] {
	destinationOwners = append(destinationOwners, w)
	return w
}

// mayLose refuses a caller who is denied to change an owner of which a destination leads to the object with a key, by a column.
func (w destinationOwner[T]) mayLose(ctx context.Context, c store.Conn, e *crud.Engine, r *rest.Request, target string, key any) error {
	return crud.Of[T](e).NoneDenied(ctx, c, r, w.change, w.keyColumn+" IN (SELECT "+w.column+" FROM confd_destination WHERE "+target+" = $1)", key)
}

// destinationRow is a row of confd_destination, for one kind of owner.
type destinationRow struct {
	Owner string `db:"owner"`
	Slot  string `db:"slot"`
	Type  string `db:"type"`
	Sub   string `db:"sub"`
	Keys  []byte `db:"keys"`
	// MOH is null once the music that the keys name is deleted.
	MOH *string `db:"moh"`
}

// beside returns where the destinations of the owners are.
func (w destinationOwner[T]) beside(e *crud.Engine) crud.Beside[T] {
	return crud.Beside[T]{
		From: "confd_destination", By: w.column, Blank: w.blank,
		Load: func(ctx context.Context, c store.Conn, owners []*T) error { return w.load(ctx, c, e, owners) },
	}
}

func (w destinationOwner[T]) blank(o *T) {
	for _, slot := range w.slots(o) {
		slot.put(nil)
	}
}

// selectDestinations is the query of an owner's column's destinations, without a condition.
const selectDestinations = "SELECT CAST(%[1]s AS text) AS owner, slot, type, sub, keys, CAST(moh_uuid AS text) AS moh FROM confd_destination WHERE %[1]s "

// load fills in the destinations of some owners, and shows their targets.
func (w destinationOwner[T]) load(ctx context.Context, c store.Conn, e *crud.Engine, owners []*T) error {
	keys := make([]any, len(owners))
	for i, o := range owners {
		keys[i] = w.key(o)
	}
	rows, err := store.Select[destinationRow](ctx, c, fmt.Sprintf(selectDestinations, w.column)+"IN ("+crud.Placeholders(1, len(keys))+")", keys...)
	if err != nil {
		return err
	}
	found, err := w.assign(owners, rows)
	if err != nil {
		return err
	}
	return showTargets(ctx, c, e, found)
}

// loadAll fills in the destinations of all owners with one statement, and does not show their targets.
func (w destinationOwner[T]) loadAll(ctx context.Context, c store.Conn, owners []*T) error {
	rows, err := store.Select[destinationRow](ctx, c, fmt.Sprintf(selectDestinations, w.column)+"IS NOT NULL")
	if err != nil {
		return err
	}
	_, err = w.assign(owners, rows)
	return err
}

// assign puts destinations into the slots of their owners, and returns them.
func (w destinationOwner[T]) assign(owners []*T, rows []destinationRow) (found []*Destination, err error) {
	byKey := make(map[string]*T, len(owners))
	for _, o := range owners {
		byKey[fmt.Sprint(w.key(o))] = o
		w.blank(o)
	}
	for _, row := range rows {
		d := &Destination{}
		if err := d.readAs(destinationKinds, row.Type, row.Sub, row.Keys); err != nil {
			return nil, err
		}
		if to, ok := d.keys.(*toUser); ok {
			to.MOHUUID = row.MOH
		}
		if slot := w.slots(byKey[row.Owner])[row.Slot]; slot != nil {
			slot.put(d)
			found = append(found, slot.get())
		}
	}
	return found, nil
}

// save writes the destinations of an owner that differ from its old ones. old is nil for a new owner.
func (w destinationOwner[T]) save(ctx context.Context, c store.Conn, e *crud.Engine, tenantUUID string, old, changed *T) error {
	was := slots{}
	if old != nil {
		was = w.slots(old)
	}
	is := w.slots(changed)
	both := maps.Clone(was)
	maps.Copy(both, is)
	for _, name := range slices.Sorted(maps.Keys(both)) {
		var d *Destination
		if slot, has := is[name]; has {
			d = slot.get()
		}
		if before := was[name]; before != nil && before.get().same(d) || before == nil && d == nil {
			continue
		}
		if _, err := c.Exec(ctx, "DELETE FROM confd_destination WHERE "+w.column+" = $1 AND slot = $2", w.key(changed), name); err != nil {
			return err
		}
		if d == nil {
			continue
		}
		if err := w.insert(ctx, c, e, tenantUUID, w.key(changed), name, d); err != nil {
			return err
		}
	}
	return nil
}

// insert writes one destination, whose target must belong to the owner's tenant.
func (w destinationOwner[T]) insert(ctx context.Context, c store.Conn, e *crud.Engine, tenantUUID string, owner any, slot string, d *Destination) error {
	columns, values := w.column+", slot, type, sub, keys", "$1, $2, $3, $4, $5"
	keys, err := json.Marshal(d.keys)
	if err != nil {
		return err
	}
	args := []any{owner, slot, d.kind.name, d.kind.sub, string(keys)}
	if t := d.kind.target; t != nil {
		value := d.key(t.key)
		known, err := e.Has(ctx, c, tenantUUID, t.path, t.by, value)
		if err != nil {
			return err
		}
		if !known {
			return crud.Missing("actionarg1", t.title, "actionarg1", fmt.Sprint(value)) // in quotes, even if it is a number
		}
		columns, values, args = columns+", "+t.key, values+", $6", append(args, value)
	}
	if moh, _ := d.key("moh_uuid").(*string); moh != nil {
		known, err := e.Has(ctx, c, tenantUUID, "moh", "uuid", *moh)
		if err != nil {
			return err
		}
		if !known {
			return crud.Missing("moh_uuid", "MOH", "moh_uuid", *moh)
		}
		args = append(args, *moh)
		columns, values = columns+", moh_uuid", fmt.Sprintf("%s, $%d", values, len(args))
	}
	if in, named := d.key("context").(string); named {
		if err := notForeign(ctx, c, tenantUUID, "context", "context", in); err != nil {
			return err
		}
	}
	_, err = c.Exec(ctx, "INSERT INTO confd_destination ("+columns+") VALUES ("+values+")", args...)
	return err
}
