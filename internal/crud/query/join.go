package query

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/store"
)

// Show is a field in which objects show linked objects. [Many] and [One] make it.
type Show interface {
	// Of returns the type of the objects that have the field, and Item that of each linked object in it.
	Of() reflect.Type
	Item() reflect.Type
	// Loader returns the loader of the field. near is the side that has the field, far the side that it shows. shared reports whether
	// several relations have the joining table, each with a column of its own.
	Loader(near, far *Side, shared func() bool) Loader
}

// Side is one side of a joining table.
type Side struct {
	*declaration.Entity
	// Joined reads the objects of the side.
	Joined Joined
	// Joining is the table; Refers is this side's column in it; Position is the column, or "", with the order of the other side's objects
	// in the list of one of this side.
	Joining, Refers, Position string
}

// Joined is a [Reader], whatever the type of its objects is.
type Joined interface {
	loaders(of reflect.Type) []Loader
	columnsAs(item []declaration.Column, joining string) string
	visibleSQL(ctx context.Context, sql declaration.SQL, add func(value any) (placeholder string)) string
	locate(o, key any)
}

// Loader fills in fields of objects from rows of another table.
type Loader struct {
	// from is the table, and by its column with the objects' key. has, unless it is nil, returns a column that is null in rows for
	// another loader.
	from, by string
	has      func() string
	// field is the name of the attribute that is filled in, or of the one that it is in; "" if no attribute shows it.
	Field string
	// load fills in the fields of a []*O of at most LoadAtOnce, as the tenant scope sees them.
	load func(ctx context.Context, c store.Conn, scope string, objects any) error
	// blank fills them in for an object without rows.
	blank func(object any)
}

// chosen reports whether the attribute is among those that a client chose; nil is all attributes.
func (l Loader) chosen(fields []string) bool {
	return fields == nil || l.Field == "" || slices.Contains(fields, l.Field)
}

// exist returns the expression for whether there are rows for an object.
func (l Loader) exist(key string) string {
	condition := "l." + l.by + " = " + key
	if l.has != nil {
		if column := l.has(); column != "" {
			condition += " AND l." + column + " IS NOT NULL"
		}
	}
	return "EXISTS (SELECT 1 FROM " + l.from + " l WHERE " + condition + ")"
}

type show[O, E declaration.Pointer] struct {
	field string
	set   func(o O, items []E)
}

func (show[O, E]) Of() reflect.Type   { return declaration.StructOf[O]() }
func (show[O, E]) Item() reflect.Type { return declaration.StructOf[E]() }

// joined is a row of a loader's query.
type joined[E declaration.Pointer] struct {
	Owner string `db:"owner"`
	There string `db:"there"` // as in flagged
	Item  E      `db:"item"`
}

func (s show[O, E]) Loader(near, far *Side, shared func() bool) Loader {
	keys, items := declaration.ColumnsOf(declaration.StructOf[O]()), declaration.ColumnsOf(declaration.StructOf[E]())
	key := declaration.ColumnNamed(keys, near.KeyColumn().Name)
	id := declaration.ColumnNamed(items, far.KeyColumn().Name)
	if key == nil || id == nil {
		panic(fmt.Sprintf("%s and %s must both have a `db` tag for the key that they are linked by", declaration.StructOf[O](), declaration.StructOf[E]()))
	}
	order := far.Table + "." + far.KeyColumn().Name
	if near.Position != "" {
		order = near.Joining + "." + near.Position + ", " + order
	}
	query := sync.OnceValue(func() (begins declaration.SQL) { // when everything is declared
		of, id := far.Table, far.Table+"."+far.KeyColumn().Name
		return declaration.ParseSQL("SELECT CAST(" + near.Joining + "." + near.Refers + " AS text) AS owner, " +
			flags(far.Joined.loaders(declaration.StructOf[E]()), id) + " AS there" + far.Joined.columnsAs(items, near.Joining) +
			" FROM {" + near.Joining + "} AS " + near.Joining + " JOIN {" + of + "} AS " + of + " ON " + id + " = " + near.Joining + "." + far.Refers +
			" WHERE " + Listed(near.DB, near.Joining+"."+near.Refers, key.Kind, "$1"))
	})
	load := func(ctx context.Context, c store.Conn, scope string, objects any) error {
		return s.fill(ctx, c, scope, far, key, id, query(), " ORDER BY "+order, objects.([]O))
	}
	blank := func(object any) { s.set(object.(O), []E{}) }
	has := func() string {
		if !shared() {
			return ""
		}
		return far.Refers
	}
	return Loader{from: near.Joining, by: near.Refers, has: has, Field: s.field, load: load, blank: blank}
}

// fill loads the items of some objects with one query.
func (s show[O, E]) fill(
	ctx context.Context, c store.Conn, scope string, far *Side, key, id *declaration.Column, begins declaration.SQL, order string, objects []O,
) error {
	found := make(map[string][]E, len(objects))
	values := make([]any, 0, len(objects))
	for _, o := range objects {
		value := reflect.ValueOf(o).Elem().FieldByIndex(key.Index).Interface()
		if text := fmt.Sprint(value); found[text] == nil {
			found[text], values = []E{}, append(values, value)
		}
	}
	keys, err := json.Marshal(values)
	if err != nil {
		return err
	}
	args := &Arguments{[]any{string(keys)}}
	query := far.Joined.visibleSQL(ctx, begins, args.Add)
	rows, err := store.Select[*joined[E]](ctx, c, query+order, args.Values...)
	if err != nil {
		return err
	}
	if err := completeItems(ctx, c, scope, far.Joined, id, rows); err != nil {
		return err
	}
	keyOf := func(item E) any { return reflect.ValueOf(item).Elem().FieldByIndex(id.Index).Interface() }
	for _, row := range rows {
		have := found[row.Owner]
		if n := len(have); n > 0 && keyOf(have[n-1]) == keyOf(row.Item) {
			continue // a view may join two objects in several ways
		}
		found[row.Owner] = append(have, row.Item)
	}
	for _, o := range objects {
		s.set(o, found[fmt.Sprint(reflect.ValueOf(o).Elem().FieldByIndex(key.Index).Interface())])
	}
	return nil
}

// completeItems turns rows that show a part of a collection's objects into what a client reads. id is the column of E with their key.
func completeItems[E declaration.Pointer](ctx context.Context, c store.Conn, scope string, of Joined, id *declaration.Column, rows []*joined[E]) error {
	items := make([]E, len(rows))
	for i, row := range rows {
		items[i] = row.Item
	}
	for i, l := range of.loaders(declaration.StructOf[E]()) {
		if err := loadThere(ctx, c, scope, l, items, func(row int) bool { return rows[row].There[i] != '0' }); err != nil {
			return err
		}
	}
	for _, item := range items {
		of.locate(item, reflect.ValueOf(item).Elem().FieldByIndex(id.Index).Interface())
	}
	return nil
}

// Many shows all objects of the other side as a list, in the link's order, otherwise in the order of their keys. E has `db` tags
// that name columns of the other side, or, with the tag joining:"true", of the joining table; one of them is the other side's
// first key.
func Many[O, E any](field func(o *O) *[]E) Show {
	return show[*O, *E]{field: declaration.AttributeOf(func(o *O) any { return field(o) }), set: func(o *O, items []*E) {
		values := make([]E, len(items))
		for i, item := range items {
			values[i] = *item
		}
		*field(o) = values
	}}
}

// One shows the one object of the other side, or null. E is as for [Many].
func One[O, E any](field func(o *O) **E) Show {
	return show[*O, *E]{field: declaration.AttributeOf(func(o *O) any { return field(o) }), set: func(o *O, items []*E) {
		*field(o) = nil
		if len(items) > 0 {
			*field(o) = items[0]
		}
	}}
}
