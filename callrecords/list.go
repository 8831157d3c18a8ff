package callrecords

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud/declaration"
	crudquery "github.com/ringfence/ringfence/internal/crud/query"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// Bounds of what a list reads.
const (
	// counted is how many calls after the page a list counts.
	counted = 1_000
	// exported is how many calls a file has at most.
	exported = 100_000
	// looked is how many calls are looked into, in the order of the list, for what no index finds, and passed how many, if the index itself tells
	// which of them match.
	looked, passed = 20_000, 100_000
	// few is how many calls an index of trigrams may find for a search to be left to it. If it finds more, they are soon met in the order of
	// the list.
	few = 5_000
	// maxOffset is how many calls may be skipped.
	maxOffset = 100_000
)

// query is what a list is asked for, and where it looks. Its conditions have placeholders for args.
type query struct {
	rest.List

	engine string
	args   []any
	scope  string // the condition for the tenants
	// lanes are where the calls are, each by an index and a condition for its columns. The calls of several are put together.
	lanes []lane
	// when are the conditions for the time. The first of args, bounds, are those of lanes and when.
	when   []string
	bounds int
	// of are further conditions, and in those for which a row must be read. The arguments of these come last.
	of []string
	in []func(add func(value any) string) string
	// needles are texts of which a row that is looked for has each, and fromID is the least number that it has.
	needles []string
	fromID  int64
	// most is how many calls of the lanes may be looked at; 0: it does not matter.
	most int
}

type lane struct{ index, where string }

func (q *query) add(value any) string {
	q.args = append(q.args, value)
	return "$" + strconv.Itoa(len(q.args))
}

// column is that of the order.
func (q *query) column() string {
	return map[string]string{"start": "start_at", "duration": "duration"}[q.Order]
}

func (q *query) order() string {
	direction := " ASC"
	if q.Desc {
		direction = " DESC"
	}
	return " ORDER BY " + q.column() + direction + ", id" + direction
}

// from names the index for SQLite, which does not count rows and often takes another one.
func (q *query) from(index string) string {
	if q.engine == "postgres" {
		return "call_record"
	}
	if index == "" {
		return "call_record NOT INDEXED"
	}
	return "call_record INDEXED BY " + index
}

// parse reads a request for a list: user is whose calls are asked for, or "" for all. It also returns the list without filters and search, which
// may be of one user.
func (s *Service) parse(ctx context.Context, r *rest.Request, user string, whose bool) (q, all *query, err error) {
	q = &query{engine: s.db.Engine(), in: visible(r.Principal())}
	if q.List, err = r.List(listSpec(whose)); err != nil {
		return nil, nil, err
	}
	if _, sent := r.Query("direction"); !sent {
		q.Desc = true
	}
	if q.Offset > maxOffset {
		return nil, nil, invalid("offset", "Must be at most %d; from, until and from_id reach further calls", maxOffset)
	}
	scope, err := tenant.Of(ctx, s.db, r)
	if err != nil {
		return nil, nil, err
	}
	tenants := []string{scope}
	if q.Recurse {
		if tenants, err = tenant.Subtree(ctx, s.db, scope); err != nil {
			return nil, nil, err
		}
	}
	places := make([]string, len(tenants))
	for i, one := range tenants {
		places[i] = q.add(one)
	}
	q.scope = "tenant_uuid IN (" + strings.Join(places, ", ") + ")"
	all = &query{List: rest.List{Order: "start", Desc: true}, engine: q.engine, args: slices.Clone(q.args), scope: q.scope, in: slices.Clone(q.in)}
	filters := map[string]string{}
	for _, f := range q.Filters {
		filters[f.Name] = f.Value
	}
	if user != "" {
		filters["user_uuid"] = user
		err = all.choose(map[string]string{"user_uuid": user}, len(tenants) > 1)
	} else {
		err = all.choose(nil, len(tenants) > 1)
	}
	return q, all, errors.Join(err, q.choose(filters, len(tenants) > 1), q.narrowed(filters))
}

// choose chooses where to look for calls.
func (q *query) choose(filters map[string]string, several bool) error {
	direction, status := filters["call_direction"], filters["call_status"]
	for name, choices := range map[string][]string{"call_direction": directions, "call_status": statuses} {
		if value, sent := filters[name]; sent && !slices.Contains(choices, value) {
			return invalid(name, "Must be one of %s", strings.Join(choices, ", "))
		}
	}
	if users, byUser := filters["user_uuid"]; byUser {
		if err := q.ofUsers(users); err != nil {
			return err
		}
	}
	plain := len(filters) == 0 && q.Search == ""
	one := lane{"call_record_start", q.scope}
	switch {
	case len(q.lanes) > 0:
	case several:
		one.index = "call_record_all"
		if direction+status != "" {
			q.most = passed
		}
	case plain && q.Order == "duration":
		one.index = "call_record_duration"
	case direction != "" && (status == "" || status == "answered"): // otherwise the status is rarer
		one = lane{"call_record_direction", q.scope + " AND direction = " + q.add(direction)}
		direction = ""
	case status != "":
		one = lane{"call_record_status", q.scope + " AND status = " + q.add(status)}
		status = ""
	}
	if len(q.lanes) == 0 {
		q.lanes = []lane{one}
	}
	if q.Order == "duration" && one.index != "call_record_duration" { // they are all sorted
		q.most = passed
	}
	if err := q.within(filters); err != nil {
		return err
	}
	if direction != "" {
		q.of = append(q.of, "direction = "+q.add(direction))
	}
	if status != "" {
		q.of = append(q.of, "status = "+q.add(status))
	}
	return nil
}

// ofUsers looks among the calls of users, by what else they are filtered.
func (q *query) ofUsers(users string) error {
	for user := range strings.SplitSeq(users, ",") {
		id, err := uuid.Parse(user)
		if err != nil || len(user) != 36 {
			return invalid("user_uuid", "Must be UUIDs, with commas between them")
		}
		is := "_user_uuid = " + q.add(id.String()) + " AND " + q.scope
		q.lanes = append(q.lanes, lane{"call_record_source", "source" + is}, lane{"call_record_destination", "destination" + is})
	}
	return nil
}

// within adds the conditions for the time. After them come no arguments of lanes.
func (q *query) within(filters map[string]string) error {
	for i, name := range []string{"from", "until"} {
		if text, sent := filters[name]; sent {
			at, err := parseTime(text)
			if err != nil {
				return invalid(name, "Must be a date and time as RFC 3339 writes them; without a zone it is in UTC")
			}
			q.when = append(q.when, "start_at "+[]string{">=", "<"}[i]+" "+q.add(at))
		}
	}
	q.bounds = len(q.args)
	return nil
}

// narrowed adds what is looked for in rows.
func (q *query) narrowed(filters map[string]string) error {
	if text, sent := filters["from_id"]; sent {
		var err error
		if q.fromID, err = strconv.ParseInt(text, 10, 64); err != nil || q.fromID < 0 {
			return invalid("from_id", "Must be a whole number")
		}
		q.of = append(q.of, "id >= "+q.add(q.fromID))
		q.most = passed
	}
	if value, sent := filters["number"]; sent {
		if err := q.number(value); err != nil {
			return err
		}
	}
	if q.Search != "" {
		text := store.Fold(q.Search)
		q.needles = append(q.needles, text)
		q.in = append(q.in, func(add func(any) string) string {
			// Not the bare column: PostgreSQL would read the whole index of trigrams for two letters. What an index finds is narrow's to say.
			return "search_text || '' LIKE " + add(store.Containing(text)) + ` ESCAPE '\'`
		})
	}
	if len(q.needles) > 0 {
		q.most = looked
	}
	return nil
}

func invalid(name, format string, args ...any) error {
	e := apierr.InvalidField(name, "value", format, args...)
	e.ID, e.Fields[0].Query = rest.InvalidListParam, true
	return e
}

// parseTime reads a time as clients of call logs write it.
func parseTime(text string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		at, err = time.Parse("2006-01-02T15:04:05", text)
	}
	if err == nil && (at.Year() < 1970 || at.Year() > 9998) {
		err = strconv.ErrRange
	}
	return at.UTC(), err
}

// number looks for a number: as a whole or, where the value begins or ends with an underline, for one that ends or begins with it.
func (q *query) number(value string) error {
	digits := strings.TrimSuffix(strings.TrimPrefix(value, "_"), "_")
	if digits == "" || len(digits) > rest.MaxSearch || strings.Contains(digits, "_") {
		return invalid("number", "Must be a number; an underline stands for anything before or after it")
	}
	q.needles = append(q.needles, store.Fold(digits))
	pattern := store.Containing(digits)
	if !strings.HasPrefix(value, "_") {
		pattern = pattern[1:]
	}
	if !strings.HasSuffix(value, "_") {
		pattern = pattern[:len(pattern)-1]
	}
	q.in = append(q.in, func(add func(any) string) string {
		is := ` LIKE ` + add(pattern) + ` ESCAPE '\'`
		return "(source_extension" + is + " OR destination_extension" + is + " OR requested_extension" + is + ")"
	})
	return nil
}

// visible returns the conditions for calls that the caller is not denied: by their number, or because one of the users is one of whom the
// caller is denied the calls, or to know them at all.
func visible(p *principal.Principal) (conditions []func(add func(any) string) string) {
	if p == nil || !p.HasDenials() {
		return nil
	}
	for _, denied := range []struct {
		before, after string
		columns       []string
	}{
		{"call-logd.cdr.", ".read", []string{"id"}},
		{"call-logd.users.", ".cdr.read", userColumns},
		{"confd.users.", ".read", userColumns},
		{"auth.users.", ".read", userColumns},
	} {
		words, all := p.DeniedWords(denied.before, denied.after)
		for _, column := range denied.columns {
			if all {
				conditions = append(conditions, func(func(any) string) string { return column + " IS NULL" })
			} else if keys := keysOf(words, column); len(keys) > 0 {
				conditions = append(conditions, func(add func(any) string) string {
					places := make([]string, len(keys))
					for i, key := range keys {
						places[i] = add(key)
					}
					return "(" + column + " IS NULL OR " + column + " NOT IN (" + strings.Join(places, ", ") + "))"
				})
			}
		}
	}
	return conditions
}

var userColumns = []string{"source_user_uuid", "destination_user_uuid"}

// keysOf returns the words that can be keys in a column.
func keysOf(words []string, column string) (keys []any) {
	for _, word := range words {
		if id, err := strconv.ParseInt(word, 10, 64); column == "id" && err == nil {
			keys = append(keys, id)
		} else if id, err := uuid.Parse(word); column != "id" && err == nil {
			keys = append(keys, id.String())
		}
	}
	return keys
}

// mostTrigrams is how many trigrams of a text SQLite looks up.
const mostTrigrams = 24

// tail is how many characters of a number are looked up: its beginning is that of many.
const tail = 8

// trigrams returns what the index of SQLite is asked for a text, or "" if it cannot tell.
func trigrams(text string) string {
	letters := []rune(text)
	if len(letters) > tail && strings.Trim(text, "+0123456789") == "" {
		letters = letters[len(letters)-tail:]
	}
	var grams []string
	for i := 0; i+3 <= len(letters) && len(grams) < mostTrigrams; i++ {
		grams = append(grams, `"`+strings.ReplaceAll(string(letters[i:i+3]), `"`, `""`)+`"`)
	}
	return strings.Join(grams, " ")
}

// narrow leaves the list to an index that finds few calls, of whichever tenants: by a text or by their numbers. It reports whether one does.
func (s *Service) narrow(ctx context.Context, c store.Conn, q *query) (bool, error) {
	type finder struct {
		sql   string
		value any
	}
	var finders []finder
	if q.fromID > 0 {
		finders = append(finders, finder{"SELECT id FROM " + q.from("") + " WHERE id >= $%d", q.fromID})
	}
	for _, needle := range q.needles {
		if grams := trigrams(needle); grams == "" {
			continue
		} else if q.engine == "postgres" {
			finders = append(finders, finder{`SELECT id FROM call_record WHERE search_text LIKE $%d ESCAPE '\'`, store.Containing(needle)})
		} else {
			finders = append(finders, finder{"SELECT rowid AS id FROM call_record_search WHERE call_record_search MATCH $%d", grams})
		}
	}
	for _, f := range finders {
		n, err := store.Get[int](ctx, c, fmt.Sprintf("SELECT count(*) FROM ("+f.sql+" LIMIT %d) AS found", 1, few+1), f.value)
		if err != nil {
			return false, err
		}
		if n > few {
			continue
		}
		q.add(f.value)
		found := fmt.Sprintf(f.sql, len(q.args))
		if q.engine == "postgres" { // as an array: it looks each up, and reads no index in the order of the list
			found = "id = ANY (ARRAY(" + found + "))"
		} else {
			found = "id IN (" + found + ")"
		}
		for i := range q.lanes {
			q.lanes[i] = lane{"", q.lanes[i].where + " AND " + found}
		}
		return true, nil
	}
	return false, nil
}

// errFar refuses a search for what may be nowhere.
func errFar() error {
	return apierr.New(apierr.Invalid, "Too many calls would have to be looked at, one by one: bring from and until closer together, or search for more characters")
}

// ids returns the numbers of at most so many calls after the offset, in the order of the list. whole says that there must be all of them.
func (s *Service) ids(ctx context.Context, c store.Conn, asked *query, most int, whole bool) ([]int64, error) {
	q := new(*asked)
	q.args, q.lanes, q.of = slices.Clone(q.args), slices.Clone(q.lanes), slices.Clone(q.of)
	narrow, err := s.narrow(ctx, c, q)
	if err != nil {
		return nil, err
	}
	far := false
	if q.most > 0 && !narrow {
		if far, err = s.bound(ctx, c, q); err != nil {
			return nil, err
		}
	}
	if far && q.Order == "duration" {
		return nil, errFar()
	}
	conditions := slices.Concat(q.when, q.of)
	for _, in := range q.in {
		conditions = append(conditions, in(q.add))
	}
	found, err := store.Select[int64](ctx, c, q.sql(conditions, most), q.args...)
	if err == nil && far && (whole || len(found) < min(most, cmp.Or(q.Limit, rest.MaxLimit))) {
		err = errFar()
	}
	return found, err
}

// sql returns the statement that finds the numbers of calls.
func (q *query) sql(conditions []string, most int) string {
	end := " LIMIT " + strconv.Itoa(q.Offset+most)
	lanes := make([]string, len(q.lanes))
	for i, l := range q.lanes {
		where := strings.Join(append([]string{l.where}, conditions...), " AND ")
		lanes[i] = "SELECT * FROM (SELECT id, " + q.column() + " FROM " + q.from(l.index) + " WHERE " + where + q.order() + end + ") AS lane" + strconv.Itoa(i)
	}
	all := strings.Join(lanes, " UNION ")
	if len(lanes) > 1 {
		all = "SELECT id, " + q.column() + " FROM (" + all + ") AS lanes" + q.order() + end
	}
	return "SELECT id FROM (" + all + ") AS found LIMIT " + strconv.Itoa(most) + " OFFSET " + strconv.Itoa(q.Offset)
}

// bound keeps a list within the first calls of each lane, by their time, and reports whether there are further ones.
func (s *Service) bound(ctx context.Context, c store.Conn, q *query) (far bool, err error) {
	direction, sign := " DESC", " >= "
	if !q.Desc && q.Order == "start" {
		direction, sign = " ASC", " <= "
	}
	lanes := make([]string, len(q.lanes))
	for i, l := range q.lanes {
		where := strings.Join(append([]string{l.where}, q.when...), " AND ")
		lanes[i] = fmt.Sprintf("SELECT * FROM (SELECT %d AS lane, start_at FROM %s WHERE %s ORDER BY start_at%s, id%[4]s LIMIT 1 OFFSET %[5]d) AS lane%[1]d",
			i, q.from(l.index), where, direction, q.most/len(q.lanes))
	}
	ends, err := store.Select[struct {
		Lane  int       `db:"lane"`
		Start time.Time `db:"start_at"`
	}](ctx, c, strings.Join(lanes, " UNION ALL "), q.args[:q.bounds]...)
	for _, end := range ends {
		q.lanes[end.Lane].where += " AND start_at" + sign + q.add(end.Start)
	}
	return len(ends) > 0, err
}

// exact reports whether it is known how many calls there are: those of tenants.
func (q *query) exact() bool { return len(q.lanes) == 1 && len(q.in) == 0 }

// total returns how many calls there are where the list looks, whatever is filtered and searched.
func (s *Service) total(ctx context.Context, c store.Conn, all *query) (int, error) {
	if all.exact() {
		return store.Get[int](ctx, c, "SELECT CAST(coalesce(sum(n), 0) AS bigint) FROM row_count WHERE table_name = 'call_record' AND "+all.scope, all.args...)
	}
	found, err := s.ids(ctx, c, all, counted, false)
	return len(found), err
}

// list answers a list; who says whose calls are asked for, if it is not nil.
func (s *Service) list(ctx context.Context, r *rest.Request, who func(*rest.Request) (string, error)) (reply rest.Reply, err error) {
	user := ""
	if who != nil {
		if user, err = who(r); err != nil {
			return reply, err
		}
	}
	q, all, err := s.parse(ctx, r, user, who == nil)
	if err != nil {
		return reply, err
	}
	if r.PrefersAlso() {
		return s.export(ctx, q)
	}
	page := Calls{}
	err = s.db.InReadTx(ctx, func(ctx context.Context, c store.Conn) (err error) {
		if page.Total, err = s.total(ctx, c, all); err != nil {
			return err
		}
		limit := cmp.Or(q.Limit, rest.MaxLimit)
		most := limit + counted
		plain := all.exact() && len(q.Filters) == 0 && q.Search == ""
		if plain {
			most = limit
		}
		ids, err := s.ids(ctx, c, q, most, false)
		if err != nil {
			return err
		}
		page.Filtered = q.Offset + len(ids)
		if q.Offset > 0 && len(ids) == 0 { // beyond the end
			first := *q
			first.Offset = 0
			before, err := s.ids(ctx, c, &first, min(q.Offset, most), false)
			if err != nil {
				return err
			}
			page.Filtered = len(before)
		}
		if plain {
			page.Filtered = page.Total
		}
		page.Total = max(page.Total, page.Filtered)
		page.Items, err = s.calls(ctx, c, q, ids[:min(limit, len(ids))])
		return err
	})
	return rest.Reply{Body: page}, err
}

// calls reads calls by their numbers, in the order of the list.
func (s *Service) calls(ctx context.Context, c store.Conn, q *query, ids []int64) ([]*Call, error) {
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	listed := crudquery.Listed(s.db, "id", declaration.Integer, "$1")
	calls, err := store.Select[*Call](ctx, c, "SELECT "+columns+" FROM call_record WHERE "+listed+q.order(), string(list))
	for _, call := range calls {
		call.complete()
	}
	if err == nil {
		err = showRecordings(ctx, c, calls...)
	}
	return calls, err
}

// read answers one call.
func (s *Service) read(ctx context.Context, r *rest.Request) (reply rest.Reply, err error) {
	scope, err := tenant.Of(ctx, s.db, r)
	if err != nil {
		return reply, err
	}
	id, err := strconv.ParseInt(r.Param("cdr_id"), 10, 64)
	if err != nil || strconv.FormatInt(id, 10) != r.Param("cdr_id") { // another spelling would evade a denial
		return reply, errNoCall()
	}
	q := &query{}
	conditions := []string{"id = " + q.add(id), tenant.Below("tenant_uuid", q.add(scope))}
	for _, in := range visible(r.Principal()) {
		conditions = append(conditions, in(q.add))
	}
	call, err := store.Get[*Call](ctx, s.db, "SELECT "+columns+" FROM call_record WHERE "+strings.Join(conditions, " AND "), q.args...)
	if errors.Is(err, store.ErrNotFound) {
		return reply, errNoCall()
	}
	if err != nil {
		return reply, err
	}
	call.complete()
	return rest.Reply{Body: call}, showRecordings(ctx, s.db, call)
}

func errNoCall() error { return apierr.New(apierr.NotFound, "There is no such call") }
