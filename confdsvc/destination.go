package confdsvc

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ringfence/ringfence/internal/apierr"
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
func slotsOf(o reflect.Value, places []place, at string) []slot {
	out := make([]slot, 0, len(places))
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

// in returns those that a part has, or for "" those that no part has: each is changed by operations of its own.
func (h destinationsOf[T]) in(part string) destinationsOf[T] {
	h.places = slices.DeleteFunc(slices.Clone(h.places), func(p place) bool { return p.part != part })
	return h
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
			if e.Declared(r.path) == nil {
				panic(fmt.Sprintf("the destination %s leads to %s, which nobody declares", k.name, r.path))
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
	// MOH and SkillRule are null once what the keys name is deleted.
	MOH       *string `db:"moh"`
	SkillRule *ID     `db:"skill_rule"`
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
const selectDestinations = `SELECT CAST(%[1]s AS text) AS owner, slot, type, sub, keys, CAST(moh_uuid AS text) AS moh, skill_rule_id AS skill_rule
	FROM confd_destination WHERE %[1]s `

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
		switch to := d.keys.(type) {
		case *ToUser:
			to.MOHUUID = row.MOH
		case *ToQueue:
			if to.SkillRuleID = row.SkillRule; to.SkillRuleID == nil {
				to.SkillRuleVariables = nil
			}
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

// destinationKind is one kind of destination that a call may be sent to, or of what a function key does.
type destinationKind struct {
	// name is the destination's type; sub says which kind of that type it is, if the type has several.
	name, sub string
	keys      func() any // a pointer to the struct of its keys
	schema    func() *rest.Schema
	// refs are the keys that name objects, the one where it leads first. shows are those that show an attribute of that object.
	refs  []reference
	shows []shown
	// check, if set, refuses keys because of what they lead to, which exists.
	check func(ctx context.Context, c store.Conn, keys any) error
}

// kind returns a kind with the keys of T. The file of a resource that calls, or keys, lead to adds it to destinationKinds, or funcKeyKinds.
func kind[T any](name, sub string) destinationKind {
	k := destinationKind{name: name, sub: sub, keys: func() any { return new(T) }, schema: rest.SchemaOf[T]}
	k.refs, k.shows = referencesOf(reflect.TypeFor[T]())
	return k
}

// The keys of the kinds that lead to no resource of this service.
type (
	noKeys struct{}
	// ToExtension leads calls to a number.
	ToExtension struct {
		Exten   string `json:"exten" required:"true" pattern:"^[0-9*#]{1,255}$" example:"1000"`
		Context string `json:"context" required:"true" format:"context-name" names:"contexts.name"`
	}
	// ToSound plays a sound.
	ToSound struct {
		Filename string `json:"filename" required:"true" maxLength:"255" names:"sounds.path" example:"tt-weasels" doc:"The name of the file."`
		Skip     bool   `json:"skip" default:"false" doc:"Whether the sound is skipped if the call is not answered."`
		NoAnswer bool   `json:"no_answer" default:"false" doc:"Whether the sound is played without answering the call."`
	}
	// ToCommand runs an application of the dialplan.
	ToCommand struct {
		Command string `json:"command" required:"true" format:"dialplan-command" maxLength:"255"`
	}
	// ToTone plays a tone.
	ToTone struct {
		Timeout *float64 `json:"timeout" minimum:"0" maximum:"2147483647" doc:"In seconds."`
	}
	// ToDISA lets callers dial.
	ToDISA struct {
		Context string  `json:"context" required:"true" format:"context-name" names:"contexts.name"`
		PIN     *string `json:"pin" pattern:"^[0-9]{1,40}$" example:"1234" doc:"The digits that are asked for."`
	}
	// ToContext runs an application with a context.
	ToContext struct {
		Context string `json:"context" required:"true" format:"context-name" names:"contexts.name"`
	}
	// ToMail receives faxes, which the gateway sends on by mail.
	ToMail struct {
		Email string `json:"email" required:"true" format:"email" maxLength:"80"`
	}
)

// Key names a tenant's address where the address itself must not be: in the dialplan, and in the names of files.
func (to *ToMail) Key(tenantUUID string) string {
	sum := sha256.Sum256([]byte(tenantUUID + " " + to.Email))
	return hex.EncodeToString(sum[:16])
}

// FaxAddress returns the address that has a [ToMail.Key] among the destinations of a tenant, or "" if none of them has it any more.
func (r *Snapshots) FaxAddress(ctx context.Context, tenantUUID, key string) (string, error) {
	queries := destinationsInTenant(r.engine, "d.sub = 'fax_to_mail'")
	found, err := store.Select[destinationInTenant](ctx, r.engine.DB, strings.Join(queries, " UNION ALL "), tenantUUID)
	if err != nil {
		return "", fmt.Errorf("reading where a fax goes: %w", err)
	}
	for _, one := range found {
		var to ToMail
		if err := json.Unmarshal([]byte(one.Keys), &to); err != nil {
			return "", err
		}
		if to.Key(tenantUUID) == key {
			return to.Email, nil
		}
	}
	return "", nil
}

// destinationInTenant is a destination, and the title of what has it. Played is empty.
type destinationInTenant struct{ Title, Played, Keys string }

// destinationsInTenant returns queries of the destinations of tenant $1, one for each kind of objects that have some.
func destinationsInTenant(e *crud.Engine, condition string) (queries []string) {
	for _, k := range e.Entities() {
		if k.KeptBeside[destinationTable] != nil && placesIn(k.Of) != nil {
			queries = append(queries, "SELECT '"+k.Title+"' AS title, '' AS played, d.keys AS keys FROM confd_destination d JOIN "+k.Table+" o ON o."+k.Keys[0]+
				" = d.of_"+k.Singular+"_"+k.Keys[0]+" WHERE "+condition+" AND o.tenant_uuid = $1")
		}
	}
	return queries
}

// subKeys are the keys that say which kind of its type a destination is.
var subKeys = map[string]string{"hangup": "cause", "application": "application"}

// destinationKinds are all kinds of destinations.
var destinationKinds = []destinationKind{
	kind[noKeys]("none", ""),
	kind[ToExtension]("extension", ""),
	kind[ToSound]("sound", ""),
	kind[ToCommand]("custom", ""),
	kind[noKeys]("hangup", "normal"),
	kind[ToTone]("hangup", "busy"),
	kind[ToTone]("hangup", "congestion"),
	kind[ToDISA]("application", "callback_disa"),
	kind[ToDISA]("application", "disa"),
	kind[ToContext]("application", "directory"),
	kind[ToContext]("application", "voicemail"),
	kind[ToMail]("application", "fax_to_mail"),
}

// byName returns kinds in the order of their names: files add them in any order.
func byName(kinds []destinationKind) []destinationKind {
	return slices.SortedStableFunc(slices.Values(kinds), func(a, b destinationKind) int { return cmp.Compare(a.name, b.name) })
}

func destinationSchema() *rest.Schema {
	var kinds []rest.Kind
	subs := map[string][]rest.Kind{}
	for _, k := range byName(destinationKinds) {
		if k.sub == "" {
			schema := k.schema()
			if k.name == "queue" {
				schema = queueSchema(schema)
			}
			kinds = append(kinds, rest.Kind{Value: k.name, Schema: schema})
			continue
		}
		if subs[k.name] == nil {
			kinds = append(kinds, rest.Kind{Value: k.name})
		}
		subs[k.name] = append(subs[k.name], rest.Kind{Value: k.sub, Schema: k.schema()})
	}
	for i := range kinds {
		if of := subs[kinds[i].Value]; of != nil {
			kinds[i].Schema = rest.UnionOf("", subKeys[kinds[i].Value], of...)
		}
	}
	return rest.UnionOf("Destination", "type", kinds...)
}

// skillVariable is the form of the name or the value of a skill rule's variable: they must not contain its separators.
var skillVariable = regexp.MustCompile(`^[^[;|\]]+$`)

// queueSchema returns the schema of a queue's keys, with the checks that concern several of them.
func queueSchema(s *rest.Schema) *rest.Schema {
	out := *s
	out.Properties = slices.Clone(s.Properties)
	for i := range out.Properties {
		if p := &out.Properties[i]; p.Name == "skill_rule_variables" {
			variables, value, longest := *p.Schema, *p.Schema.Values, 255
			value.MaxLength, variables.Values, variables.Nullable, p.Schema = &longest, &value, true, &variables
		}
	}
	out.Check = func(value any) []apierr.Field {
		keys := value.(map[string]any)
		variables, _ := keys["skill_rule_variables"].(map[string]any)
		if variables == nil {
			return nil
		}
		if keys["skill_rule_id"] == nil {
			return []apierr.Field{{Name: ".skill_rule_id", Constraint: "required", Value: "required", Message: "Is required with skill_rule_variables"}}
		}
		for name, value := range variables {
			if text, _ := value.(string); !skillVariable.MatchString(name) || !skillVariable.MatchString(text) {
				return []apierr.Field{{Name: ".skill_rule_variables", Constraint: "regex", Message: "May not hold [ ; |"}}
			}
		}
		return nil
	}
	return &out
}

// commandForm is an application of the dialplan with its arguments in parentheses.
var commandForm = regexp.MustCompile(`^[a-zA-Z]{3,}\(.*\)$`)

// forbiddenCalls match calls by which a command could reach the machine itself, in upper or lower case.
var forbiddenCalls = regexp.MustCompile(`(?i)^(try)?system\(|\b(shell|env|file|eval|system|db|odbc_[a-z_]*|curl|realtime)\s*\(|\$\{`)

func isCommand(text string) bool {
	return commandForm.MatchString(text) && !forbiddenCalls.MatchString(text) && !strings.ContainsAny(text, "\r\n")
}

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
			return nil, nil, missing(r, e.Declared(r.path).Title, value)
		}
		columns, values = append(columns, r.key), append(values, value)
	}
	if d.kind.check != nil {
		return columns, values, d.kind.check(ctx, c, d.keys)
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
	table := e.Declared(to.path).Table
	keys := make([]any, len(destinations))
	for i, d := range destinations {
		keys[i], _ = to.value(d)
	}
	for _, s := range k.shows {
		query, args := e.Visible(ctx, "SELECT CAST("+to.by+" AS text) AS key, "+s.column+" AS value FROM {"+table+"} t WHERE "+to.by+" IN ("+
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
