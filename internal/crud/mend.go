package crud

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/crud/query"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// Mended is an attribute of a stored object that no request could have written, and what was done about it.
type Mended struct {
	Table, Tenant, Object, Attribute string
	// Fault says what is wrong, and never repeats the value. Done says what the attribute, or the object, is now.
	Fault, Done string
	// Deleted says that the object is no more.
	Deleted bool
}

// Mend goes through all objects that are stored, and what links have, and makes them such as requests could have written: it is for rows that came
// in another way. What their schemas, references or Validate refuse gets null or its default, loses the item of the list, is cut, or is deleted with the
// object, whichever comes first. Of collections of which hooks says no, only schemas refuse. It writes no audit, and does not look at what objects have in
// other tables. It may tell of the same again.
func (e *Engine) Mend(ctx context.Context, hooks func(path string) bool, tell func(m Mended) error) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.Prefix, http.NoBody)
	if err != nil {
		return err
	}
	return e.InTx(ctx, func(ctx context.Context, c store.Conn) error {
		for _, t := range slices.Concat(e.tables(), e.documents) {
			if err := t.mend(ctx, c, mender{&rest.Request{HTTP: r}, hooks, tell}); err != nil {
				return fmt.Errorf("%s: %w", t.entity().Path, err)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(e.relations)) {
			if err := e.relations[name].mend(ctx, c, tell); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	})
}

// mender says how objects are mended.
type mender struct {
	request *rest.Request
	hooks   func(path string) bool
	tell    func(m Mended) error
}

// mendedAtOnce is how many objects are read at once.
const mendedAtOnce = 500

// mend is [Engine.Mend] of one collection.
func (k *CollectionOf[T]) mend(ctx context.Context, c store.Conn, how mender) error {
	written, key, after, args := k.written(), k.Keys[0], "", []any(nil)
	for {
		objects, err := k.Rows(ctx, c, fmt.Sprintf("%[1]s IN (SELECT %[1]s FROM %[2]s%[3]s ORDER BY %[1]s LIMIT %[4]d)", key, k.Table, after, mendedAtOnce), args...)
		if err != nil || len(objects) == 0 {
			return err
		}
		for _, o := range objects {
			if err := (&mending[T]{k: k, mender: how, c: c, written: written, o: o}).run(ctx); err != nil {
				return err
			}
		}
		after, args = " WHERE "+key+" > $1", []any{k.Key(objects[len(objects)-1])}
	}
}

// mend gives links null, the default or the least value instead of what the schema of their attributes refuses.
func (r *DeclaredRelation) mend(ctx context.Context, c store.Conn, tell func(m Mended) error) error {
	if len(r.row.Columns) == 0 {
		return nil
	}
	rows, err := r.row.Stored(ctx, c, "SELECT DISTINCT '' AS key, 0 AS place"+r.row.Selected()+" FROM "+r.table)
	if err != nil {
		return err
	}
	mended := map[string]bool{} // by attribute and value: several rows may have one
	for _, l := range rows {
		text, err := rest.Marshal(l.Row)
		if err != nil {
			return err
		}
		value, err := rest.ParseJSON(text)
		if err != nil {
			return err
		}
		for _, fault := range r.row.Schema.Validate("", value) {
			p := r.row.Schema.Property(fault.Name)
			if p == nil {
				continue
			}
			col := r.row.Columns[slices.IndexFunc(r.row.Columns, func(col declaration.Column) bool { return slices.Equal(col.Index, p.Index()) })]
			is := reflect.Indirect(r.row.Field(l.Row, col)).Interface()
			if key := fmt.Sprint(col.Name, " ", is); !mended[key] {
				mended[key] = true
				err = errors.Join(err, r.mendColumn(ctx, c, tell, col, p, is, fault))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mendColumn gives the links that have a value in a column another one.
func (r *DeclaredRelation) mendColumn(ctx context.Context, c store.Conn, tell func(m Mended) error, col declaration.Column, p *rest.Property, is any,
	fault apierr.Field,
) error {
	var to any
	switch s := p.Schema; {
	case s.Nullable && !s.NullIsDefault:
	case s.Default != nil:
		if err := json.Unmarshal(s.Default, &to); err != nil {
			return err
		}
	case s.Minimum != nil:
		to = *s.Minimum
	default:
		return nil
	}
	links, err := store.Select[string](ctx, c, fmt.Sprintf("SELECT CAST(%[1]s AS text) || ', ' || CAST(%[2]s AS text) FROM %[3]s WHERE %[4]s = $1 ORDER BY 1",
		r.Left.Refers, r.Right.Refers, r.table, col.Name), is)
	if err != nil {
		return err
	}
	if _, err := c.Exec(ctx, fmt.Sprintf("UPDATE %[1]s SET %[2]s = $1 WHERE %[2]s = $2", r.table, col.Name), to, is); err != nil {
		return err
	}
	done, err := rest.Marshal(to)
	if err != nil {
		return err
	}
	for _, link := range links {
		if err := tell(Mended{Table: r.table, Object: link, Attribute: fault.Name, Fault: fault.Message, Done: string(done)}); err != nil {
			return err
		}
	}
	return nil
}

// writtenColumn is a column that clients write, with the path of its attribute.
type writtenColumn struct {
	declaration.Column
	path   string
	schema *rest.Schema
}

// written returns the columns that clients write.
func (k *CollectionOf[T]) written() (out []writtenColumn) {
	for _, col := range k.Columns {
		if col.Generated || col.Computed || col.Of != "" || col.Name == k.Owner {
			continue
		}
		names, of := []string{}, k.Of
		for _, i := range col.Index {
			f := of.Field(i)
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
				names = append(names, name)
			}
			of = f.Type
		}
		if len(names) == 0 {
			continue
		}
		schema := k.Schema
		for i, name := range names {
			p := schema.Property(name)
			if p == nil || p.ReadOnly && (i > 0 || len(names) == 1) { // a struct of columns is written as a part
				schema = nil
				break
			}
			schema = p.Schema
		}
		if schema != nil {
			out = append(out, writtenColumn{col, strings.Join(names, "."), schema})
		}
	}
	return out
}

// mending is the mending of one object.
type mending[T declaration.Pointer] struct {
	k *CollectionOf[T] // not embedded: each of its hundreds of methods would be compiled twice more for each resource
	mender
	c       store.Conn
	written []writtenColumn
	o       T
	// gone: nothing more can be mended. deleted: and the object is no more.
	gone, deleted bool
}

// run mends what the schema refuses, and then what only hooks know.
func (m *mending[T]) run(ctx context.Context) error {
	for i := range m.written {
		for {
			faults, err := m.faults(&m.written[i])
			if err == nil && len(faults) > 0 {
				err = m.correct(ctx, &m.written[i], faults[0])
			}
			if err != nil || m.gone {
				return err
			}
			if len(faults) == 0 {
				break
			}
		}
	}
	if !m.hooks(m.k.Path) {
		return nil
	}
	return m.runHooks(ctx)
}

// runHooks mends what the references and the hook of the resource refuse.
func (m *mending[T]) runHooks(ctx context.Context) error {
	for range len(m.written) + 1 { // each time an attribute less
		err := m.refusal(ctx)
		refused := apierr.As(err)
		if refused == nil || refused.Kind >= apierr.Internal {
			return err
		}
		fault := apierr.Field{Message: refused.Message}
		if len(refused.About) > 0 {
			fault.Name = refused.About[0]
		}
		if len(refused.Fields) > 0 {
			fault = refused.Fields[0]
		}
		at := slices.IndexFunc(m.written, func(w writtenColumn) bool {
			return w.path == fault.Name || strings.HasPrefix(fault.Name, w.path+"[") || strings.HasPrefix(fault.Name, w.path+".")
		})
		if at < 0 {
			return m.drop(ctx, fault)
		}
		if err := m.correct(ctx, &m.written[at], fault); err != nil || m.gone {
			return err
		}
	}
	return m.drop(ctx, apierr.Field{Message: "It is refused whatever it has"})
}

// refusal returns what the references and the hook of the resource refuse.
func (m *mending[T]) refusal(ctx context.Context) error {
	change := &declaration.Change[T]{Request: m.request, New: m.o, Tenant: m.k.TenantOf(m.o)}
	if err := m.k.checkRefs(ctx, m.c, change, slices.Concat(m.k.OwnerRefs, m.k.Refs)); err != nil {
		return err
	}
	if owner := m.k.TenantOf(m.o); len(m.k.OwnerRefs) > 0 && change.Tenant != owner {
		return m.k.Style.Storedf("It refers to what is of another tenant").On(m.k.OwnerRefs[0].Name)
	}
	return m.k.validate(ctx, m.c, change)
}

func (m *mending[T]) faults(w *writtenColumn) ([]apierr.Field, error) {
	value, err := m.value(w)
	if err != nil {
		return nil, err
	}
	return w.schema.Validate(w.path, value), nil
}

// value returns the value of a column in the form of ParseJSON.
func (m *mending[T]) value(w *writtenColumn) (any, error) {
	field := reflect.ValueOf(m.o).Elem().FieldByIndex(w.Index)
	if field.Kind() == reflect.Pointer {
		if field.IsNil() {
			return nil, nil
		}
		field = field.Elem()
	}
	switch {
	case field.Kind() == reflect.String && field.Type().NumMethod() == 0:
		return field.String(), nil
	case field.Kind() == reflect.Bool:
		return field.Bool(), nil
	case field.CanInt() && field.Type().PkgPath() != "time":
		return json.Number(strconv.FormatInt(field.Int(), 10)), nil
	}
	text, err := rest.Marshal(field.Interface())
	if err != nil {
		return nil, err
	}
	return rest.ParseJSON(text)
}

// correct does what can be done about a fault.
func (m *mending[T]) correct(ctx context.Context, w *writtenColumn, fault apierr.Field) error {
	value, err := m.value(w)
	if err != nil {
		return err
	}
	field := reflect.ValueOf(m.o).Elem().FieldByIndex(w.Index)
	var standard any
	hasStandard := w.schema.Default != nil && json.Unmarshal(w.schema.Default, &standard) == nil
	without, partly := withoutPart(value, strings.TrimPrefix(fault.Name, w.path))
	partly = partly && (w.schema.Items == nil || w.schema.Items.Property("destination") == nil) // whose rows are by the item's place
	text, isText := value.(string)
	switch {
	case m.fixedKey(w):
	case partly:
		return m.set(ctx, w, without, fault, "without it")
	case value != nil && w.schema.Nullable && !w.schema.NullIsDefault && field.Kind() == reflect.Pointer:
		return m.set(ctx, w, nil, fault, "null")
	case hasStandard && !reflect.DeepEqual(fmt.Sprint(standard), fmt.Sprint(value)):
		return m.set(ctx, w, standard, fault, string(w.schema.Default))
	case isText && isName(w.Name) && len(w.schema.Validate(w.path, m.like(w, text))) == 0:
		return m.set(ctx, w, m.like(w, text), fault, strconv.Quote(m.like(w, text)))
	case isText && w.schema.MaxLength != nil && len([]rune(text)) > *w.schema.MaxLength:
		return m.set(ctx, w, string([]rune(text)[:*w.schema.MaxLength]), fault, "cut")
	}
	return m.drop(ctx, fault)
}

// isName reports whether a column names objects to people alone.
func isName(column string) bool {
	return column == "name" || column == "label" || column == "firstname"
}

// like returns a name that is as much as possible like one that is refused.
func (m *mending[T]) like(w *writtenColumn, name string) string {
	accepted := func(text string) bool { return len(w.schema.Validate(w.path, text)) == 0 }
	var out strings.Builder
	for _, r := range name {
		plain := store.Fold(string(r))
		if unicode.IsUpper(r) {
			plain = strings.ToUpper(plain)
		}
		for _, as := range []string{string(r), plain, "_"} {
			if accepted(as) {
				out.WriteString(as)
				break
			}
		}
	}
	runes := []rune(out.String())
	if most := w.schema.MaxLength; most != nil && len(runes) > *most {
		runes = runes[:*most]
	}
	return strings.TrimSpace(string(runes))
}

// fixedKey reports whether other rows name the object by the column.
func (m *mending[T]) fixedKey(w *writtenColumn) bool { return slices.Contains(m.k.Keys, w.Name) }

// withoutPart returns a list or an object without the part of it that a path begins with: "[2].exten", ".name".
func withoutPart(value any, path string) (any, bool) {
	switch v := value.(type) {
	case []any:
		number, _, _ := strings.Cut(strings.TrimPrefix(path, "["), "]")
		if i, err := strconv.Atoi(number); err == nil && i < len(v) && strings.HasPrefix(path, "[") {
			return slices.Delete(slices.Clone(v), i, i+1), true
		}
	case map[string]any:
		if name, is := strings.CutPrefix(path, "."); is {
			if _, has := v[name]; has {
				delete(v, name)
				return v, true
			}
		}
	}
	return nil, false
}

// set stores another value of a column.
func (m *mending[T]) set(ctx context.Context, w *writtenColumn, value any, fault apierr.Field, done string) error {
	text, err := rest.Marshal(value)
	if err != nil {
		return err
	}
	field := reflect.ValueOf(m.o).Elem().FieldByIndex(w.Index)
	before := reflect.New(field.Type()).Elem()
	before.Set(field)
	field.SetZero()
	if err := json.Unmarshal(text, field.Addr().Interface()); err != nil {
		return err
	}
	args := &query.Arguments{}
	stored := args.Add(field.Interface())
	err = store.Attempt(ctx, m.c, func() error {
		_, err := m.c.Exec(ctx, "UPDATE "+m.k.Table+" SET "+w.Name+" = "+stored+" WHERE "+m.k.Itself(m.o, args), args.Values...)
		return err
	})
	if _, broken := errors.AsType[*store.ConstraintError](err); broken {
		field.Set(before)
		return m.drop(ctx, fault)
	}
	if err != nil {
		return err
	}
	return m.say(fault, done)
}

// drop deletes the object, and with it what is only its own. One that others need stays.
func (m *mending[T]) drop(ctx context.Context, fault apierr.Field) error {
	m.gone = true
	args := &query.Arguments{}
	where := m.k.Itself(m.o, args)
	err := store.Attempt(ctx, m.c, func() error {
		_, err := m.c.Exec(ctx, "DELETE FROM "+m.k.Table+" WHERE "+where, args.Values...)
		return err
	})
	if _, broken := errors.AsType[*store.ConstraintError](err); broken {
		return m.say(fault, "kept, since others need it: change it")
	}
	if err != nil {
		return err
	}
	m.deleted = true
	return m.say(fault, "left out")
}

func (m *mending[T]) say(fault apierr.Field, done string) error {
	name := ""
	for _, col := range []string{"name", "label", "firstname", "username", "exten", "number", "interface"} {
		if !m.k.Has(col) || m.k.Column(col).Virtual {
			continue
		}
		if value := reflect.Indirect(reflect.ValueOf(m.o).Elem().FieldByIndex(m.k.Column(col).Index)); value.IsValid() && name == "" {
			name = fmt.Sprint(value.Interface())
		}
	}
	return m.tell(Mended{
		Table: m.k.Table, Tenant: m.k.TenantOf(m.o), Object: strings.TrimSpace(m.k.Singular + " " + fmt.Sprint(m.k.Key(m.o)) + " " + name),
		Attribute: fault.Name, Fault: cmp.Or(fault.Message, "It is refused"), Done: done, Deleted: m.deleted,
	})
}
