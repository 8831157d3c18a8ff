package crud

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// Show is a field in which objects show linked objects. [Many] and [One] make it.
type Show interface {
	// of returns the type of the objects that have the field.
	of() reflect.Type
	// loader returns the loader of the field. near is the side that has the field, far the side that it shows.
	loader(near, far *side) loader
}

// loader fills in fields of objects from rows of another table.
type loader struct {
	// from is the table, and by its column with the objects' key. has, unless it is nil, returns a column that is null in rows for
	// another loader.
	from, by string
	has      func() string
	// field is the name of the attribute that is filled in, or of the one that it is in; "" if no attribute shows it.
	field string
	// load fills in the fields of a []*O of at most loadAtOnce, as the tenant scope sees them.
	load func(ctx context.Context, c store.Conn, scope string, objects any) error
	// blank fills them in if there are no rows.
	blank func(objects any)
}

// chosen reports whether the attribute is among those that a client chose; nil is all attributes.
func (l loader) chosen(fields []string) bool {
	return fields == nil || l.field == "" || slices.Contains(fields, l.field)
}

// exist returns the expression for whether there are rows for an object.
func (l loader) exist(key string) string {
	condition := "l." + l.by + " = " + key
	if l.has != nil {
		if column := l.has(); column != "" {
			condition += " AND l." + column + " IS NOT NULL"
		}
	}
	return "EXISTS (SELECT 1 FROM " + l.from + " l WHERE " + condition + ")"
}

type show[O, E pointer] struct {
	field string
	set   func(o O, items []E)
}

// attributeOf returns the name of an object's attribute that is the field, or that has it somewhere inside, or "".
func attributeOf[O pointer](field func(o O) any) string {
	o := fresh[O]()
	place := reflect.ValueOf(field(o)).Pointer()
	schema := rest.SchemaFor(structOf[O]())
	for i := range schema.Properties {
		p := &schema.Properties[i]
		if len(p.Index()) == 0 {
			continue
		}
		at := reflect.ValueOf(o).Elem().FieldByIndex(p.Index())
		if begins := at.Addr().Pointer(); begins <= place && place < begins+at.Type().Size() {
			return p.Name
		}
	}
	return ""
}

func (show[O, E]) of() reflect.Type { return structOf[O]() }

// joined is a row of a loader's query.
type joined[E pointer] struct {
	Owner string `db:"owner"`
	There string `db:"there"` // as in flagged
	Item  E      `db:"item"`
}

func (s show[O, E]) loader(near, far *side) loader {
	keys, items := columnsOf(structOf[O]()), columnsOf(structOf[E]())
	key := columnNamed(keys, near.collection.key().name)
	id := columnNamed(items, far.collection.key().name)
	if key == nil || id == nil {
		panic(fmt.Sprintf("%s and %s must both have a `db` tag for the key that they are linked by", structOf[O](), structOf[E]()))
	}
	order := far.collection.tableName() + "." + far.collection.key().name
	if near.position != "" {
		order = near.joining + "." + near.position + ", " + order
	}
	query := sync.OnceValue(func() (begins seenSQL) { // when everything is declared
		of, id := far.collection.tableName(), far.collection.tableName()+"."+far.collection.key().name
		return seen("SELECT CAST(" + near.joining + "." + near.column + " AS text) AS owner, " +
			flags(far.collection.loaders(structOf[E]()), id) + " AS there" + far.collection.columnsAs(items, near.joining) +
			" FROM {" + near.joining + "} AS " + near.joining + " JOIN {" + of + "} AS " + of + " ON " + id + " = " + near.joining + "." + far.column +
			" WHERE " + far.collection.on().listed(near.joining+"."+near.column, key.kind, "$1"))
	})
	load := func(ctx context.Context, c store.Conn, scope string, objects any) error {
		return s.fill(ctx, c, scope, far, key, id, query(), " ORDER BY "+order, objects.([]O))
	}
	blank := func(objects any) {
		for _, o := range objects.([]O) {
			s.set(o, []E{})
		}
	}
	has := func() string {
		if !far.collection.on().shared(near.joining) {
			return ""
		}
		return far.column
	}
	return loader{from: near.joining, by: near.column, has: has, field: s.field, load: load, blank: blank}
}

// fill loads the items of some objects with one query.
func (s show[O, E]) fill(ctx context.Context, c store.Conn, scope string, far *side, key, id *column, begins seenSQL, order string, objects []O) error {
	found := make(map[string][]E, len(objects))
	values := make([]any, 0, len(objects))
	for _, o := range objects {
		value := reflect.ValueOf(o).Elem().FieldByIndex(key.index).Interface()
		if text := fmt.Sprint(value); found[text] == nil {
			found[text], values = []E{}, append(values, value)
		}
	}
	keys, err := json.Marshal(values)
	if err != nil {
		return err
	}
	args := &arguments{[]any{string(keys)}}
	query := far.collection.on().seen(ctx, begins, args.add)
	rows, err := store.Select[*joined[E]](ctx, c, query+order, args.values...)
	if err != nil {
		return err
	}
	if err := completeItems(ctx, c, scope, far.collection, id, rows); err != nil {
		return err
	}
	keyOf := func(item E) any { return reflect.ValueOf(item).Elem().FieldByIndex(id.index).Interface() }
	for _, row := range rows {
		have := found[row.Owner]
		if n := len(have); n > 0 && keyOf(have[n-1]) == keyOf(row.Item) {
			continue // a view may join two objects in several ways
		}
		found[row.Owner] = append(have, row.Item)
	}
	for _, o := range objects {
		s.set(o, found[fmt.Sprint(reflect.ValueOf(o).Elem().FieldByIndex(key.index).Interface())])
	}
	return nil
}

// completeItems turns rows that show a part of a collection's objects into what a client reads. id is the column of E with their key.
func completeItems[E pointer](ctx context.Context, c store.Conn, scope string, of linkable, id *column, rows []*joined[E]) error {
	items := make([]E, len(rows))
	for i, row := range rows {
		items[i] = row.Item
	}
	for i, l := range of.loaders(structOf[E]()) {
		if err := loadThere(ctx, c, scope, l, items, func(row int) bool { return rows[row].There[i] != '0' }); err != nil {
			return err
		}
	}
	for _, item := range items {
		of.locate(item, reflect.ValueOf(item).Elem().FieldByIndex(id.index).Interface())
	}
	return nil
}

func columnNamed(columns []column, name string) *column {
	for i := range columns {
		if columns[i].name == name {
			return &columns[i]
		}
	}
	return nil
}
