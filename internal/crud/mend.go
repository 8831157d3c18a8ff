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
	var columns [][]int
	for _, col := range k.Columns {
		if !col.Generated && !col.Computed && col.Of == "" && col.Name != k.Owner {
			columns = append(columns, col.Index)
		}
	}
	written, key, after, args := written(k.Schema, columns), k.Keys[0], "", []any(nil)
	for {
		objects, err := k.Rows(ctx, c, fmt.Sprintf("%[1]s IN (SELECT %[1]s FROM %[2]s%[3]s ORDER BY %[1]s LIMIT %[4]d)", key, k.Table, after, mendedAtOnce), args...)
		if err != nil || len(objects) == 0 {
			return err
		}
		for _, o := range objects {
			if err := (&mending[T]{k: k, mender: how, c: c, written: written, o: o, to: declaration.Cloned(o)}).run(ctx); err != nil {
				return err
			}
		}
		after, args = " WHERE "+key+" > $1", []any{k.Key(objects[len(objects)-1])}
	}
}

// written returns the schema of what clients write of these fields of an object, where a struct of columns is written as a part.
func written(s *rest.Schema, columns [][]int) *rest.Schema {
	out := *s
	out.Properties, out.Check = nil, nil
	for _, p := range s.Properties {
		p.Required = false
		var inside [][]int
		for _, index := range columns {
			if n := len(p.Index()); n > 0 && len(index) >= n && slices.Equal(index[:n], p.Index()) {
				inside = append(inside, index[n:])
			}
		}
		switch {
		case len(inside) == 0:
		case len(inside[0]) == 0:
			out.Properties = append(out.Properties, p)
		default:
			p.Schema, p.ReadOnly = written(p.Schema, inside), false
			out.Properties = append(out.Properties, p)
		}
	}
	return &out
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

// mending is the mending of one object.
type mending[T declaration.Pointer] struct {
	k *CollectionOf[T] // not embedded: each of its hundreds of methods would be compiled twice more for each resource
	mender
	c store.Conn
	// written is the schema of what clients write of the columns, and body the object in its form.
	written *rest.Schema
	body    map[string]any
	// o is the object as it is stored, and to what it becomes. changed are the columns that differ, and done is what is told then.
	o, to   T
	changed []declaration.Column
	done    []Mended
}

// run mends what the schema refuses, and then what only hooks know.
func (m *mending[T]) run(ctx context.Context) error {
	m.body = make(map[string]any, len(m.written.Properties))
	for i := range m.written.Properties { // and not the object: some are shown otherwise
		p := &m.written.Properties[i]
		text, err := rest.Marshal(reflect.ValueOf(m.o).Elem().FieldByIndex(p.Index()).Interface())
		if err != nil {
			return err
		}
		if m.body[p.Name], err = rest.ParseJSON(text); err != nil {
			return err
		}
	}
	for refusals := 0; refusals <= len(m.k.Columns); { // each time an attribute less
		var fault apierr.Field
		if faults := m.written.Validate("", m.body); len(faults) > 0 {
			fault = faults[0]
		} else if !m.hooks(m.k.Path) {
			return m.store(ctx)
		} else {
			err := m.refusal(ctx)
			if err == nil {
				return m.store(ctx)
			}
			refused := apierr.As(err)
			if refused == nil || refused.Kind >= apierr.Internal {
				return err
			}
			refusals++
			fault = apierr.Field{Message: refused.Message}
			if len(refused.About) > 0 {
				fault.Name = refused.About[0]
			}
			if len(refused.Fields) > 0 {
				fault = refused.Fields[0]
			}
		}
		if !m.correct(fault) {
			return m.drop(ctx, fault)
		}
	}
	return m.drop(ctx, apierr.Field{Message: "It is refused whatever it has"})
}

// refusal returns what the references and the hook of the resource refuse.
func (m *mending[T]) refusal(ctx context.Context) error {
	change := &declaration.Change[T]{Request: m.request, New: m.to, Tenant: m.k.TenantOf(m.o)}
	if err := m.k.checkRefs(ctx, m.c, change, slices.Concat(m.k.OwnerRefs, m.k.Refs)); err != nil {
		return err
	}
	if owner := m.k.TenantOf(m.o); len(m.k.OwnerRefs) > 0 && change.Tenant != owner {
		return m.k.Style.Storedf("It refers to what is of another tenant").On(m.k.OwnerRefs[0].Name)
	}
	return m.k.validate(ctx, m.c, change)
}

// attribute returns the attribute of a column that a path leads to or into, with its column, the object that has it, and the rest of the path.
func (m *mending[T]) attribute(path string) (p *rest.Property, col declaration.Column, of map[string]any, rest string) {
	of = m.body
	var index []int
	for s := m.written; of != nil; s = p.Schema {
		name := path
		if end := strings.IndexAny(path, ".["); end >= 0 {
			name = path[:end]
		}
		if p = s.Property(name); p == nil {
			return nil, col, nil, ""
		}
		path, index = path[len(name):], append(index, p.Index()...)
		if at := slices.IndexFunc(m.k.Columns, func(col declaration.Column) bool { return slices.Equal(col.Index, index) }); at >= 0 {
			return p, m.k.Columns[at], of, path
		}
		of, _ = of[name].(map[string]any)
		path = strings.TrimPrefix(path, ".")
	}
	return nil, col, nil, ""
}

// correct does what can be done about a fault, if anything can but to drop the object.
func (m *mending[T]) correct(fault apierr.Field) bool {
	p, col, of, path := m.attribute(fault.Name)
	if p == nil || slices.Contains(m.k.Keys, col.Name) { // by which other rows name the object
		return false
	}
	value, s := of[p.Name], p.Schema
	standard, err := rest.ParseJSON(s.Default)
	hasStandard := s.Default != nil && err == nil
	without, partly := withoutPart(value, path)
	partly = partly && (s.Items == nil || s.Items.Property("destination") == nil) // whose rows are by the item's place
	text, isText := value.(string)
	var done string
	switch {
	case partly:
		of[p.Name], done = without, "without it"
	case value != nil && s.Nullable && !s.NullIsDefault && m.k.Of.FieldByIndex(col.Index).Type.Kind() == reflect.Pointer:
		of[p.Name], done = nil, "null"
	case hasStandard && !reflect.DeepEqual(fmt.Sprint(standard), fmt.Sprint(value)):
		of[p.Name], done = standard, string(s.Default)
	case isText && isName(col.Name) && len(s.Validate("", like(s, text))) == 0:
		of[p.Name], done = like(s, text), strconv.Quote(like(s, text))
	case isText && s.MaxLength != nil && len([]rune(text)) > *s.MaxLength:
		of[p.Name], done = string([]rune(text)[:*s.MaxLength]), "cut"
	default:
		return false
	}
	top, _, _ := strings.Cut(fault.Name, ".")
	top, _, _ = strings.Cut(top, "[")
	if m.written.Object(map[string]any{top: m.body[top]}).Into(m.to) != nil {
		return false
	}
	if declaration.ColumnNamed(m.changed, col.Name) == nil {
		m.changed = append(m.changed, col)
	}
	m.done = append(m.done, m.mended(fault, done))
	return true
}

// isName reports whether a column names objects to people alone.
func isName(column string) bool {
	return column == "name" || column == "label" || column == "firstname"
}

// like returns a name that is as much as possible like one that a schema refuses.
func like(s *rest.Schema, name string) string {
	accepted := func(text string) bool { return len(s.Validate("", text)) == 0 }
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
	if most := s.MaxLength; most != nil && len(runes) > *most {
		runes = runes[:*most]
	}
	return strings.TrimSpace(string(runes))
}

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

// store writes what was corrected, and tells of it.
func (m *mending[T]) store(ctx context.Context) error {
	if len(m.changed) == 0 {
		return nil
	}
	err := store.Attempt(ctx, m.c, func() error { return m.k.writeColumns(ctx, m.c, m.to, m.changed) })
	if _, broken := errors.AsType[*store.ConstraintError](err); broken {
		last := m.done[len(m.done)-1]
		return m.drop(ctx, apierr.Field{Name: last.Attribute, Message: last.Fault})
	}
	for _, done := range m.done {
		if err == nil {
			err = m.tell(done)
		}
	}
	return err
}

// drop deletes the object, and with it what is only its own. One that others need stays.
func (m *mending[T]) drop(ctx context.Context, fault apierr.Field) error {
	args := &query.Arguments{}
	where := m.k.Itself(m.o, args)
	err := store.Attempt(ctx, m.c, func() error {
		_, err := m.c.Exec(ctx, "DELETE FROM "+m.k.Table+" WHERE "+where, args.Values...)
		return err
	})
	if _, broken := errors.AsType[*store.ConstraintError](err); broken {
		return m.tell(m.mended(fault, "kept, since others need it: change it"))
	}
	if err != nil {
		return err
	}
	gone := m.mended(fault, "left out")
	gone.Deleted = true
	return m.tell(gone)
}

func (m *mending[T]) mended(fault apierr.Field, done string) Mended {
	name := ""
	for _, col := range []string{"name", "label", "firstname", "username", "exten", "number", "interface"} {
		if !m.k.Has(col) || m.k.Column(col).Virtual {
			continue
		}
		if value := reflect.Indirect(reflect.ValueOf(m.to).Elem().FieldByIndex(m.k.Column(col).Index)); value.IsValid() && name == "" {
			name = fmt.Sprint(value.Interface())
		}
	}
	return Mended{
		Table: m.k.Table, Tenant: m.k.TenantOf(m.o), Object: strings.TrimSpace(m.k.Singular + " " + fmt.Sprint(m.k.Key(m.o)) + " " + name),
		Attribute: fault.Name, Fault: cmp.Or(fault.Message, "It is refused"), Done: done,
	}
}
