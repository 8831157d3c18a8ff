package confdsvc

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/store"
)

// reference is a key of a destination that names an object. The column of that name, in the table of the destinations, refers to the object.
type reference struct {
	key, path, by string // ref:"users.id"
	index         []int
}

// shown is a read-only key that shows an attribute of the object that the destination leads to.
type shown struct {
	column string // shows:"firstname"
	index  []int
}

// referencesOf returns what the tags of a struct of keys say: ref of keys that name objects, of which the first is where it leads, and
// shows of keys that show an attribute of that.
func referencesOf(keys reflect.Type) (refs []reference, shows []shown) {
	for _, f := range reflect.VisibleFields(keys) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if path, by, named := strings.Cut(f.Tag.Get("ref"), "."); named {
			refs = append(refs, reference{name, path, by, f.Index})
		}
		if column := f.Tag.Get("shows"); column != "" {
			shows = append(shows, shown{column, f.Index})
		}
	}
	return refs, shows
}

// value returns what a destination has there, unless it is null.
func (r reference) value(d *Destination) (value any, named bool) {
	v := d.field(r.index)
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil, false
		}
		v = v.Elem()
	}
	return v.Interface(), true
}

// columnsOf returns the columns of the objects that a destination names, and their values. It refuses an object that the tenant itself does not
// have, as missing does.
func (d *Destination) columnsOf(ctx context.Context, c store.Conn, e *crud.Engine, tenantUUID string,
	missing func(r reference, title string, value any) error,
) (columns []string, values []any, err error) {
	for _, r := range d.kind.refs {
		value, named := r.value(d)
		if !named {
			continue
		}
		known, err := e.Has(ctx, c, tenantUUID, r.path, r.by, value)
		if err != nil {
			return nil, nil, err
		}
		if !known {
			_, title := e.Declared(r.path)
			return nil, nil, missing(r, cmp.Or(title, laterTitles[r.path]), value)
		}
		columns, values = append(columns, r.key), append(values, value)
	}
	return columns, values, nil
}

// showTargets fills in the names of the destinations' targets, with one query for each attribute of each kind that occurs. Those of a target
// that the caller of ctx is denied to read stay null.
func showTargets(ctx context.Context, c store.Conn, e *crud.Engine, destinations []*Destination) error {
	byKind := map[*destinationKind][]*Destination{}
	for _, d := range destinations {
		if len(d.kind.shows) > 0 {
			byKind[d.kind] = append(byKind[d.kind], d)
		}
	}
	for k, some := range byKind {
		if err := k.showTarget(ctx, c, e, some); err != nil {
			return err
		}
	}
	return nil
}

// showTarget fills in the attributes of their targets that destinations of this kind show.
func (k *destinationKind) showTarget(ctx context.Context, c store.Conn, e *crud.Engine, destinations []*Destination) error {
	type attribute struct {
		Key   string  `db:"key"`
		Value *string `db:"value"`
	}
	to := k.refs[0]
	table, _ := e.Declared(to.path)
	keys := make([]any, len(destinations))
	for i, d := range destinations {
		keys[i], _ = to.value(d)
	}
	for _, s := range k.shows {
		query, args := e.Seen(ctx, "SELECT CAST("+to.by+" AS text) AS key, "+s.column+" AS value FROM {"+table+"} t WHERE "+to.by+" IN ("+
			crud.Placeholders(1, len(keys))+")", keys...)
		rows, err := store.Select[attribute](ctx, c, query, args...)
		if err != nil {
			return err
		}
		values := make(map[string]*string, len(rows))
		for _, row := range rows {
			values[row.Key] = row.Value
		}
		for i, d := range destinations {
			d.field(s.index).Set(reflect.ValueOf(values[fmt.Sprint(keys[i])]))
		}
	}
	return nil
}
