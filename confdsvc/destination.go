package confdsvc

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
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

// Keys returns a pointer to the struct of the keys: a *ToUser.
func (d *Destination) Keys() any { return d.keys }

// Kind returns the type of a destination and, of those that have several kinds, which kind.
func (d *Destination) Kind() (name, sub string) { return d.kind.name, d.kind.sub }

// key returns the value of one of the destination's keys, as JSON has it.
func (d *Destination) key(name string) any {
	property := d.kind.schema().Property(name)
	if property == nil {
		return nil
	}
	return d.field(property.Index()).Interface()
}

func (d *Destination) field(index []int) reflect.Value {
	return reflect.ValueOf(d.keys).Elem().FieldByIndex(index)
}

// nowhere returns the destination that leads nowhere.
func nowhere() Destination { return Destination{kind: &destinationKinds[0], keys: &noKeys{}} }

// same reports whether two destinations lead to the same: what is only shown of a target does not count. Either may be nil.
func (d *Destination) same(other *Destination) bool {
	if d == nil || other == nil {
		return d == other
	}
	return d.kind == other.kind && !slices.ContainsFunc(d.kind.schema().Properties, func(p rest.Property) bool {
		return !p.ReadOnly && !reflect.DeepEqual(d.key(p.Name), other.key(p.Name))
	})
}

// place is a field of objects that holds a destination, or a list of structs with such fields.
type place struct {
	// name is that of the attribute, below the object; part is the part of the object that has it, with operations of its own, or "".
	name, part string
	index      []int
	within     []place // of each in the list; nil: it is a destination
}

// placesIn finds the destinations in objects of a type. The types of their fields are all that says it.
func placesIn(t reflect.Type) []place {
	var out []place
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch of := f.Type; {
		case !f.IsExported() || name == "-":
		case of == reflect.TypeFor[Destination](), of == reflect.TypeFor[*Destination]():
			out = append(out, place{name: name, index: f.Index})
		case of.Kind() == reflect.Slice && of.Elem().Kind() == reflect.Struct:
			if within := placesIn(of.Elem()); within != nil {
				out = append(out, place{name: name, index: f.Index, within: within})
			}
		case of.Kind() == reflect.Struct:
			for _, p := range placesIn(of) {
				if p.index = append(slices.Clone(f.Index), p.index...); f.Tag.Get("readOnly") == "true" {
					p.part = name
				}
				p.name = cmp.Or(p.name, name) // a list in a column of its own
				out = append(out, p)
			}
		}
	}
	return out
}

// slot is a destination of an object, or where there is none.
type slot struct {
	// attribute is its name below the object, or below the part that has it.
	attribute, part string
	field           reflect.Value
}

// name returns what it is called in the table.
func (s slot) name() string { return strings.TrimSuffix(s.attribute, "_destination") }

// sentAs returns how the body that a client sent names it.
func (s slot) sentAs(sent rest.Object) string {
	if s.part != "" && sent.Has(s.part) {
		return s.part + "." + s.attribute
	}
	return s.attribute
}

func (s slot) get() *Destination {
	if s.field.Kind() == reflect.Pointer {
		return s.field.Interface().(*Destination)
	}
	return s.field.Addr().Interface().(*Destination)
}

// put sets the destination. Where there must be one, null leads nowhere.
func (s slot) put(d *Destination) {
	switch {
	case s.field.Kind() == reflect.Pointer:
		s.field.Set(reflect.ValueOf(d))
	case d == nil:
		s.field.Set(reflect.ValueOf(nowhere()))
	default:
		s.field.Set(reflect.ValueOf(*d))
	}
}

// slotsOf returns the slots of an object, or of an item of a list in it.
func slotsOf(o reflect.Value, places []place, at string) (out []slot) {
	for _, p := range places {
		field := o.FieldByIndex(p.index)
		if p.within == nil {
			out = append(out, slot{at + p.name, p.part, field})
			continue
		}
		for i := range field.Len() {
			out = append(out, slotsOf(field.Index(i), p.within, fmt.Sprintf("%s%s[%d].", at, p.name, i))...)
		}
	}
	return out
}

// destinationsOf are the destinations of objects of a type: rows of confd_destination that have the objects' first keys in a column.
type destinationsOf[T any] struct {
	column string
	places []place
}

// holds says by which column objects of a type have destinations.
func holds[T any](column string) destinationsOf[T] {
	return destinationsOf[T]{column, placesIn(reflect.TypeFor[T]())}
}

// beside returns where the destinations are. The collection has it among its Beside, or the service does not start.
func (h destinationsOf[T]) beside(e *crud.Engine) crud.Beside[T] {
	return crud.Beside[T]{
		From: destinationTable, By: h.column, Refers: refersTo(destinationKinds), Changes: strings.TrimPrefix(h.places[0].part+".update", "."),
		Load:  func(ctx context.Context, c store.Conn, owners []*T) error { return h.load(ctx, c, e, owners) },
		Blank: h.blank,
		Save: func(ctx context.Context, c store.Conn, change *crud.Change[T]) error {
			return h.save(ctx, c, e, change)
		},
	}
}

const destinationTable = "confd_destination"

// refersTo returns the columns that refer to what destinations lead to, and other objects that they name.
func refersTo(kinds []destinationKind) map[string]string {
	out := map[string]string{}
	for _, k := range kinds {
		for _, r := range k.refs {
			out[r.key] = r.path + "." + r.by
		}
	}
	return out
}

// checkDestinations panics because of what a declaration forgets, which every start reports: destinations that are kept nowhere, and what
// they lead to and nobody declares.
func checkDestinations(e *crud.Engine) {
	for _, k := range e.Entities() {
		if k.KeptBeside[destinationTable] == nil && placesIn(k.Of) != nil {
			panic(fmt.Sprintf("%s has destinations, and its collection no destinationsOf", k.Of))
		}
	}
	for _, k := range slices.Concat(destinationKinds, funcKeyKinds) {
		for _, r := range k.refs {
			if table, _ := e.Declared(r.path); (table == "") != (laterTitles[r.path] != "") {
				panic(fmt.Sprintf("the destination %s leads to %s, which must either be declared or come later", k.name, r.path))
			}
		}
	}
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

func (h destinationsOf[T]) slots(o *T) []slot {
	return slotsOf(reflect.ValueOf(o).Elem(), h.places, "")
}

func (h destinationsOf[T]) blank(o *T) {
	for _, slot := range h.slots(o) {
		slot.put(nil)
	}
}

// selectDestinations is the query of an owner's column's destinations, without a condition.
const selectDestinations = "SELECT CAST(%[1]s AS text) AS owner, slot, type, sub, keys, CAST(moh_uuid AS text) AS moh FROM confd_destination WHERE %[1]s "

func (h destinationsOf[T]) load(ctx context.Context, c store.Conn, e *crud.Engine, owners []*T) error {
	keys := make([]any, len(owners))
	for i, o := range owners {
		keys[i] = crud.Of[T](e).Key(o)
	}
	rows, err := store.Select[destinationRow](ctx, c, fmt.Sprintf(selectDestinations, h.column)+"IN ("+crud.Placeholders(1, len(keys))+")", keys...)
	if err != nil {
		return err
	}
	found, err := h.assign(e, owners, rows)
	if err != nil {
		return err
	}
	return showTargets(ctx, c, e, found)
}

// all fills in the destinations of all owners with one statement, and does not show their targets.
func (h destinationsOf[T]) all(ctx context.Context, c store.Conn, e *crud.Engine, owners []*T) error {
	rows, err := store.Select[destinationRow](ctx, c, fmt.Sprintf(selectDestinations, h.column)+"IS NOT NULL")
	if err == nil {
		_, err = h.assign(e, owners, rows)
	}
	return err
}

// assign puts destinations into the slots of their owners, and returns them.
func (h destinationsOf[T]) assign(e *crud.Engine, owners []*T, rows []destinationRow) (found []*Destination, err error) {
	byKey := make(map[string][]slot, len(owners))
	for _, o := range owners {
		h.blank(o)
		byKey[fmt.Sprint(crud.Of[T](e).Key(o))] = h.slots(o)
	}
	for _, row := range rows {
		d := &Destination{}
		if err := d.readAs(destinationKinds, row.Type, row.Sub, row.Keys); err != nil {
			return nil, err
		}
		if to, ok := d.keys.(*ToUser); ok {
			to.MOHUUID = row.MOH
		}
		for _, slot := range byKey[row.Owner] {
			if slot.name() == row.Slot {
				slot.put(d)
				found = append(found, slot.get())
			}
		}
	}
	return found, nil
}

// save writes the destinations of an owner that differ from its old ones.
func (h destinationsOf[T]) save(ctx context.Context, c store.Conn, e *crud.Engine, change *crud.Change[T]) error {
	was, key := map[string]*Destination{}, crud.Of[T](e).Key(change.New)
	if change.Old != nil {
		for _, slot := range h.slots(change.Old) {
			if d := slot.get(); d != nil {
				was[slot.name()] = d
			}
		}
	}
	var fresh []slot
	for _, slot := range h.slots(change.New) {
		d := slot.get()
		switch before := was[slot.name()]; {
		case d.same(before):
			delete(was, slot.name())
		case d != nil:
			fresh = append(fresh, slot)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if _, err := c.Exec(ctx, "DELETE FROM confd_destination WHERE "+h.column+" = $1 AND slot = $2", key, name); err != nil {
			return err
		}
	}
	for _, slot := range fresh {
		if err := h.insert(ctx, c, e, change, slot); err != nil {
			return err
		}
	}
	return nil
}

// insert writes one destination, of which everything that it names must belong to the owner's tenant.
func (h destinationsOf[T]) insert(ctx context.Context, c store.Conn, e *crud.Engine, change *crud.Change[T], slot slot) error {
	d := slot.get()
	keys, err := json.Marshal(d.keys)
	if err != nil {
		return err
	}
	tenantUUID := crud.Of[T](e).TenantOf(change.New)
	columns, args, err := d.columnsOf(ctx, c, e, tenantUUID, func(r reference, title string, value any) error {
		key := r.key
		if key == d.kind.refs[0].key {
			key, value = "actionarg1", fmt.Sprint(value) // as clients know it, in quotes even if it is a number
		}
		refusal := crud.Missing(key, title, key, value)
		refusal.About = []string{slot.sentAs(change.Sent) + "." + r.key}
		return refusal
	})
	if err != nil {
		return err
	}
	columns = append(columns, h.column, "slot", "type", "sub", "keys")
	args = append(args, crud.Of[T](e).Key(change.New), slot.name(), d.kind.name, d.kind.sub, string(keys))
	if in, named := d.key("context").(string); named {
		if err := notForeign(ctx, c, tenantUUID, "context", "context", in); err != nil {
			return err
		}
	}
	_, err = c.Exec(ctx, "INSERT INTO confd_destination ("+strings.Join(columns, ", ")+") VALUES ("+crud.Placeholders(1, len(args))+")", args...)
	return err
}
