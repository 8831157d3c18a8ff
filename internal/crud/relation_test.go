package crud_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/crud/transaction"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// The model of the tests: every shape of relation, between shelves, books and covers.
type (
	Shelf struct {
		UUID       string    `db:"uuid" json:"uuid" format:"uuid" readOnly:"true"`
		TenantUUID string    `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
		Name       string    `db:"name" json:"name" required:"true"`
		Books      []BookRef `json:"books" readOnly:"true"`
		Lends      []BookRef `json:"lends" readOnly:"true"`
		Seals      []NameRef `json:"seals" readOnly:"true"`
	}
	Book struct {
		UUID       string    `db:"uuid" json:"uuid" format:"uuid" readOnly:"true"`
		TenantUUID string    `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
		Name       string    `db:"name" json:"name" required:"true"`
		Shelves    []NameRef `json:"shelves" readOnly:"true"`
		Lenders    []NameRef `json:"lenders" readOnly:"true"`
		Sequels    []NameRef `json:"sequels" readOnly:"true"`
		Prequels   []NameRef `json:"prequels" readOnly:"true"`
		Cover      *NameRef  `json:"cover" readOnly:"true"`
	}
	Cover struct {
		UUID       string   `db:"uuid" json:"uuid" format:"uuid" readOnly:"true"`
		TenantUUID string   `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
		Name       string   `db:"name" json:"name" required:"true"`
		Book       *NameRef `json:"book" readOnly:"true"`
	}
	NameRef struct {
		UUID string `db:"uuid" json:"uuid" format:"uuid"`
		Name string `db:"name" json:"name"`
	}
	BookRef struct {
		NameRef

		Days *int64 `db:"days" json:"days" joining:"true"`
		Paid bool   `db:"paid" json:"paid" joining:"true"`
	}
	loan struct {
		Place int64  `db:"place" json:"place" minimum:"0"`
		Days  *int64 `db:"days" json:"days" minimum:"1"`
		Paid  bool   `db:"paid" json:"paid" default:"false"`
	}
)

const (
	shelfBooks crud.Relation[Shelf, Book]  = "shelf_book"
	shelfLends crud.Relation[Shelf, Book]  = "shelf_lend"
	sequels    crud.Relation[Book, Book]   = "book_sequel"
	bookCover  crud.Relation[Book, Cover]  = "book_cover"
	shelfSeals crud.Relation[Shelf, Cover] = "shelf_seal"
)

// library is a service with that model, of a tenant and of one below it.
type library struct {
	t            *testing.T
	db           store.DB
	engine       *crud.Engine
	svc          *rest.Service
	tenant, sub  string
	told         []string // what was heard of after the commit
	events       []string
	sealsRefused bool
}

func eachLibrary(t *testing.T, test func(t *testing.T, l *library)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		l := &library{t: t, db: db, tenant: uuid.NewString(), sub: uuid.NewString()}
		kind := map[bool]string{true: "uuid", false: "text"}[db.Engine() == "postgres"]
		object := " (uuid " + kind + " PRIMARY KEY, tenant_uuid " + kind + " NOT NULL, name text NOT NULL)"
		joins := func(one, other, more, unique string) string {
			return " (" + one + " " + kind + " NOT NULL, " + other + " " + kind + " NOT NULL" + more + ", PRIMARY KEY (" + one + ", " + other + ")" + unique + ")"
		}
		lent := ", place bigint NOT NULL, days bigint, paid boolean NOT NULL"
		for _, sql := range []string{
			"CREATE TABLE shelf" + object, "CREATE TABLE book" + object, "CREATE TABLE cover" + object,
			"CREATE TABLE shelf_book" + joins("shelf_uuid", "book_uuid", lent+" DEFAULT false", ""), "CREATE TABLE shelf_lend" + joins("shelf_uuid", "book_uuid", lent, ""),
			"CREATE TABLE book_sequel" + joins("book_uuid", "sequel_uuid", "", ""), "CREATE TABLE book_cover" + joins("book_uuid", "cover_uuid", "", ", UNIQUE (book_uuid), UNIQUE (cover_uuid)"),
			"CREATE TABLE shelf_seal" + joins("shelf_uuid", "cover_uuid", "", ""),
			`INSERT INTO auth_tenant (uuid, parent_uuid, slug) VALUES ('` + l.tenant + `', '` + l.tenant + `', 'master'), ('` + l.sub + `', '` + l.tenant + `', 'sub')`,
		} {
			if _, err := db.Exec(t.Context(), sql); err != nil {
				t.Fatal(sql, err)
			}
		}
		l.engine = crud.New(crud.Base{
			Service: "test", Prefix: "/api/test", DB: rerun{db},
			Style: crud.Style{CreateStatus: http.StatusOK, UpdateReply: true, Duplicate: apierr.Conflict},
		})
		l.engine.Notify = func(events []crud.Event) {
			for _, event := range events {
				l.events = append(l.events, event.Resource+"/"+event.Key)
			}
		}
		l.declare()
		l.svc = &rest.Service{Name: "test", Prefix: "/api/test", Errors: rest.AuthErrors, Operations: l.engine.Operations()}
		if err := l.svc.Mount(); err != nil {
			t.Fatal(err)
		}
		test(t, l)
	})
}

func (l *library) declare() {
	e := l.engine
	crud.Collect(e, crud.Resource[Shelf]{
		Path: "shelves", Singular: "shelf", Param: "shelf_uuid", Table: "shelf", Keys: []string{"uuid"}, Order: []string{"name"}, Nested: []string{"books"},
		Prepare: func(_ context.Context, _ store.Conn, change *crud.Change[Shelf]) error { return name(&change.New.UUID) },
	})
	crud.Collect(e, crud.Resource[Book]{
		Path: "books", Singular: "book", Param: "book_uuid", Table: "book", Keys: []string{"uuid"}, Order: []string{"name"}, Nested: []string{"lenders"},
		Prepare: func(_ context.Context, _ store.Conn, change *crud.Change[Book]) error { return name(&change.New.UUID) },
	})
	crud.Collect(e, crud.Resource[Cover]{
		Path: "covers", Singular: "cover", Param: "cover_uuid", Table: "cover", Keys: []string{"uuid"}, Order: []string{"name"},
		Prepare: func(_ context.Context, _ store.Conn, change *crud.Change[Cover]) error { return name(&change.New.UUID) },
	})
	crud.Link[Shelf, Book]{
		Relation: shelfBooks, Position: "place", Only: []string{"put", "delete", "delete_all", "set", "create", "list"},
		LeftShows:  []crud.Show{crud.Many(func(s *Shelf) *[]BookRef { return &s.Books })},
		RightShows: []crud.Show{crud.Many(func(b *Book) *[]NameRef { return &b.Shelves })},
		Set:        &crud.List{Repeated: "Not twice."},
		MayEnd: crud.Each(func(_ context.Context, _ store.Conn, pair *crud.Pair[Shelf, Book]) error {
			if pair.Right.Name == "chained" {
				return e.Style.NotPermitted("It is chained.")
			}
			return nil
		}),
		Changed: crud.Each(func(ctx context.Context, _ store.Conn, pair *crud.Pair[Shelf, Book]) error {
			transaction.AfterCommit(ctx, func() { l.told = append(l.told, fmt.Sprintf("%s %s %t", pair.Left.Name, pair.Right.Name, pair.Ends)) })
			return nil
		}),
	}.On(e)
	crud.Link[Shelf, Book]{
		Relation: shelfLends, Position: "place", Row: crud.RowOf[loan](), Path: "lends/books", Only: []string{"put", "delete", "set", "set_back"},
		LeftShows:  []crud.Show{crud.Many(func(s *Shelf) *[]BookRef { return &s.Lends })},
		RightShows: []crud.Show{crud.Many(func(b *Book) *[]NameRef { return &b.Lenders })},
		Set:        &crud.List{ID: "replace_lends", Repeated: "Not twice."}, SetBack: &crud.List{Path: "lenders", Nested: "lenders", Repeated: "Not twice."},
	}.On(e)
	crud.Link[Book, Book]{
		Relation: sequels, RightColumn: "sequel_uuid", Path: "sequels", Only: []string{"put", "delete", "list"},
		LeftShows:  []crud.Show{crud.Many(func(b *Book) *[]NameRef { return &b.Sequels })},
		RightShows: []crud.Show{crud.Many(func(b *Book) *[]NameRef { return &b.Prequels })},
	}.On(e)
	crud.Link[Book, Cover]{
		Relation: bookCover, LeftHas: crud.AtMostOne, RightHas: crud.AtMostOne, LeftDeleted: crud.Cascade, Only: []string{"put", "delete", "create", "one"},
		LeftShows:  []crud.Show{crud.One(func(b *Book) **NameRef { return &b.Cover })},
		RightShows: []crud.Show{crud.One(func(c *Cover) **NameRef { return &c.Book })},
	}.On(e)
	sealed := crud.Each(func(context.Context, store.Conn, *crud.Pair[Shelf, Cover]) error {
		if l.sealsRefused {
			return apierr.New(apierr.Forbidden, "No seals")
		}
		return nil
	})
	crud.Link[Shelf, Cover]{
		Relation: shelfSeals, Path: "seals", GivesRights: true, RightDeleted: crud.Refuse, Allow: crud.All(crud.SameTenant, sealed), MayEnd: sealed,
		LeftShows: []crud.Show{crud.Many(func(s *Shelf) *[]NameRef { return &s.Seals })},
	}.On(e)
	crud.Nest[Shelf, Book]{Name: "books", Relation: shelfBooks, Many: true}.On(e)
}

func name(key *string) error {
	if *key == "" {
		*key = uuid.NewString()
	}
	return nil
}

// as returns a client of a tenant with these accesses.
func (l *library) as(tenant string, accesses ...string) *resttest.Client {
	l.t.Helper()
	set, err := acl.Compile(append([]string{"test.#"}, accesses...))
	if err != nil {
		l.t.Fatal(err)
	}
	return resttest.To(l.t, l.svc, "/api/test", &principal.Principal{UserUUID: uuid.NewString(), Affiliation: &principal.Affiliation{TenantUUID: tenant}, ACL: set})
}

// make makes an object and returns its path.
func (l *library) make(path, name string) string {
	l.t.Helper()
	return path + "/" + l.as(l.tenant).Do("POST", path, object{"name": name}).Want(200).Object().Text("uuid")
}

type object = map[string]any

// keyOf returns the end of a path.
func keyOf(path string) string { return path[strings.LastIndex(path, "/")+1:] }

// named are the names of the objects in an attribute, or what it is.
func (l *library) named(path, attribute string) string {
	l.t.Helper()
	var out []string
	for _, one := range l.as(l.tenant).Get(path).Want(200).Object()[attribute].([]any) {
		o := one.(map[string]any)
		text := o["name"].(string)
		if o["days"] != nil {
			text += fmt.Sprint(" ", o["days"], " ", o["paid"])
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

func listOf(field string, paths ...string) object {
	items := []any{}
	for _, path := range paths {
		items = append(items, object{"uuid": keyOf(path)})
	}
	return object{field: items}
}

// audited returns the last entry of the audit: "shelves/books {before} {after}", and how many there are.
func (l *library) audited() (last string, n int) {
	l.t.Helper()
	type row struct {
		Resource string  `db:"resource"`
		Before   *string `db:"before"`
		After    *string `db:"after"`
	}
	rows, err := store.Select[row](l.t.Context(), l.db, `SELECT resource, CAST(before AS text) AS before, CAST(after AS text) AS after FROM audit ORDER BY id`)
	if err != nil {
		l.t.Fatal(err)
	}
	text := func(s *string) string {
		if s == nil {
			return "-"
		}
		return strings.ReplaceAll(*s, " ", "")
	}
	r := rows[len(rows)-1]
	return r.Resource + " " + text(r.Before) + " " + text(r.After), len(rows)
}

func TestLinksOfOneObject(t *testing.T) {
	eachLibrary(t, func(t *testing.T, l *library) {
		c, shelf := l.as(l.tenant), l.make("/shelves", "s")
		a, b, d := l.make("/books", "a"), l.make("/books", "b"), l.make("/books", "d")
		is := func(want string) {
			t.Helper()
			if got := l.named(shelf, "books"); got != want {
				t.Errorf("the books are %s, want %s", got, want)
			}
		}
		steps := []struct {
			method, path string
			body         any
			want         string
			audits       int
			told         []string
		}{
			{"PUT", shelf + b, nil, "b", 1, []string{"s b false"}},
			{"PUT", shelf + b, nil, "b", 0, nil},
			{"PUT", shelf + a, nil, "b, a", 1, []string{"s a false"}},
			{"PUT", shelf + "/books", listOf("books", a, b), "a, b", 1, []string{"s a false", "s b false"}},
			{"PUT", shelf + "/books", listOf("books", a, b), "a, b", 0, nil},
			{"PUT", shelf + "/books", listOf("books", d, a), "d, a", 1, []string{"s b true", "s d false", "s a false"}},
			{"DELETE", shelf + d, nil, "a", 1, []string{"s d true"}},
			{"DELETE", shelf + d, nil, "a", 0, nil},
			{"PUT", shelf + d, nil, "a, d", 1, []string{"s d false"}},
			{"DELETE", shelf + "/books", nil, "", 2, []string{"s a true", "s d true"}},
			{"DELETE", shelf + "/books", nil, "", 0, nil},
		}
		for i, step := range steps {
			_, before := l.audited()
			l.told, l.events = nil, nil
			c.Do(step.method, step.path, step.body).Want(204)
			is(step.want)
			_, after := l.audited()
			slices.Sort(l.told)
			slices.Sort(step.told)
			if after-before != step.audits || !slices.Equal(l.told, step.told) {
				t.Errorf("step %d: %d entries of the audit, want %d; told %q, want %q", i, after-before, step.audits, l.told, step.told)
			}
			if heard := slices.Contains(l.events, shelf[1:]); heard != (step.audits > 0) {
				t.Errorf("step %d: events %q", i, l.events)
			}
		}
		c.Do("PUT", shelf+"/books", listOf("books", a, a)).Want(409).Says("Not twice.")
		chained := l.make("/books", "chained")
		c.Do("PUT", shelf+"/books", listOf("books", chained, b)).Want(204)
		for _, refused := range []struct {
			method, path string
			body         any
		}{{"PUT", shelf + "/books", listOf("books", b)}, {"DELETE", shelf + chained, nil}, {"DELETE", shelf + "/books", nil}, {"PUT", shelf + "?recursive=true", listOf("books", b)}} {
			c.Do(refused.method, refused.path, refused.body).Want(409).Says("It is chained.")
		}
		is("chained, b")
		if got := l.named(b, "shelves"); got != "s" {
			t.Errorf("the book is on %s", got)
		}
		if l := c.Get(shelf + "/books").List(); l.Total != 2 {
			t.Errorf("the list has %d books", l.Total)
		}
	})
}

// Two relations of one pair of types do not know of each other; what a link has beside its keys is part of it.
func TestTwoRelationsOfOnePair(t *testing.T) {
	eachLibrary(t, func(t *testing.T, l *library) {
		c, shelf, other := l.as(l.tenant), l.make("/shelves", "s"), l.make("/shelves", "o")
		a, b := l.make("/books", "a"), l.make("/books", "b")
		lend := func(path string, body any, want string, change string) {
			t.Helper()
			_, before := l.audited()
			c.Do("PUT", path, body).Want(204)
			if got := l.named(shelf, "lends"); got != want {
				t.Errorf("it lends %s, want %s", got, want)
			}
			last, after := l.audited()
			if (change == "") != (after == before) || change != "" && !strings.Contains(last, change) {
				t.Errorf("the audit has %s, want %s", last, change)
			}
		}
		row := func(path string, days, place any) object {
			o := object{"uuid": keyOf(path)}
			if days != nil {
				o["days"] = days
			}
			if place != nil {
				o["place"] = place
			}
			return o
		}
		lend(shelf+"/lends"+a, object{"days": 3}, "a 3 false", "shelves/lends/books")
		lend(shelf+"/lends"+a, object{"paid": true}, "a 3 true", "shelves/lends/books")
		lend(shelf+"/lends"+a, object{"paid": true}, "a 3 true", "")
		lend(shelf+"/lends/books", object{"books": []any{row(b, 7, nil), row(a, 5, nil)}}, "b 7 false, a 5 false", "(place1,days5,paidfalse)")
		lend(shelf+"/lends/books", object{"books": []any{row(b, 7, nil), row(a, 5, nil)}}, "b 7 false, a 5 false", "")
		lend(shelf+"/lends/books", object{"books": []any{row(b, 7, 9), row(a, 5, 2)}}, "a 5 false, b 7 false", "(place9,")
		lend(a+"/lenders", object{"lenders": []any{row(shelf, 5, nil), row(other, nil, nil)}}, "a 5 false, b 7 false", "(place0,daysnull,paidfalse)")
		lend(a+"/lenders", object{"lenders": []any{row(other, nil, nil)}}, "b 7 false", "books/lenders")
		c.Do("DELETE", shelf+"/lends"+b, nil).Want(204)
		if got := l.named(shelf, "books") + l.named(shelf, "lends"); got != "" {
			t.Errorf("there are %s", got)
		}
		c.Do("PUT", shelf+a, nil).Want(204)
		if got := l.named(shelf, "books") + "/" + l.named(shelf, "lends"); got != "a/" {
			t.Errorf("there are %s", got)
		}
		made := c.Do("POST", "/books", object{"name": "new", "lenders": []any{object{"uuid": keyOf(shelf)}}}).Want(200).Object()
		if got := l.named(shelf, "lends"); got != "new" {
			t.Errorf("it lends %s after %v", got, made)
		}
	})
}

func TestRelationsOfAKindWithItself(t *testing.T) {
	eachLibrary(t, func(t *testing.T, l *library) {
		c, one, two := l.as(l.tenant), l.make("/books", "one"), l.make("/books", "two")
		path := one + "/sequels/" + keyOf(two)
		c.Do("PUT", path, nil).Want(204)
		if got := l.named(one, "sequels") + "/" + l.named(one, "prequels") + " " + l.named(two, "sequels") + "/" + l.named(two, "prequels"); got != "two/ /one" {
			t.Errorf("they are %s", got)
		}
		if last, _ := l.audited(); !strings.Contains(last, `"other_book":"`+keyOf(two)) || !strings.Contains(last, `"book":"`+keyOf(one)) {
			t.Errorf("the audit has %s", last)
		}
		for _, denied := range []string{keyOf(one) + ".sequels.*.delete", "*.sequels." + keyOf(two) + ".delete"} {
			for _, gone := range []string{path, one, two} {
				l.as(l.tenant, "!test.books."+denied).Do("DELETE", gone, nil).Want(403)
			}
		}
		c.Do("DELETE", two+"/sequels/"+keyOf(one), nil).Want(204) // the other way round there is none
		if got := c.Get(one + "/sequels").List().Total; got != 1 {
			t.Errorf("there are %d", got)
		}
		c.Do("DELETE", path, nil).Want(204)
		if got := l.named(one, "sequels"); got != "" {
			t.Errorf("there is %s", got)
		}
	})
}

// A parent tenant sees the objects of those below it, and links none of them with its own, by whichever operation.
func TestNoLinksAcrossTenants(t *testing.T) {
	eachLibrary(t, func(t *testing.T, l *library) {
		c, shelf, book := l.as(l.tenant), l.make("/shelves", "s"), l.make("/books", "b")
		below := func(path string) string {
			return path + "/" + l.as(l.sub).Do("POST", path, object{"name": "below"}).Want(200).Object().Text("uuid")
		}
		theirs, cover, theirShelf := below("/books"), below("/covers"), below("/shelves")
		for _, refused := range []struct {
			method, path string
			body         any
		}{
			{"PUT", shelf + theirs, nil},
			{"PUT", shelf + "/lends" + theirs, object{}},
			{"PUT", shelf + "/books", listOf("books", book, theirs)},
			{"PUT", shelf + "/lends/books", listOf("books", theirs)},
			{"PUT", theirs + "/lenders", listOf("lenders", shelf)},
			{"PUT", book + "/lenders", listOf("lenders", shelf, theirShelf)},
			{"PUT", book + "/sequels/" + keyOf(theirs), nil},
			{"PUT", theirs + "/sequels/" + keyOf(book), nil},
			{"PUT", book + cover, nil},
			{"POST", "/shelves", object{"name": "n", "books": []any{object{"uuid": keyOf(theirs)}}}},
			{"POST", "/books", object{"name": "n", "lenders": []any{object{"uuid": keyOf(theirShelf)}}}},
			{"PUT", book + "?recursive=true", listOf("lenders", theirShelf)},
		} {
			_, before := l.audited()
			c.Do(refused.method, refused.path, refused.body).Want(409).Says("different tenants")
			if _, after := l.audited(); after != before {
				t.Errorf("%s %s left something", refused.method, refused.path)
			}
		}
		made := "/books/" + c.Do("POST", theirShelf+"/books", object{"name": "made"}).Want(200).Object().Text("uuid")
		if got := c.Get(made).Object().Text("tenant_uuid"); got != l.sub {
			t.Errorf("it is of %s", got)
		}
		c.Do("PUT", shelf+"/seals/"+keyOf(cover), nil).Want(204) // this relation lets them
		l.as(l.sub).Do("PUT", shelf+"/seals/"+keyOf(cover), nil).Want(404)
	})
}

func TestDeletionsOfWhatIsLinked(t *testing.T) {
	eachLibrary(t, func(t *testing.T, l *library) {
		c, shelf, book, cover := l.as(l.tenant), l.make("/shelves", "s"), l.make("/books", "b"), l.make("/covers", "c")
		c.Do("PUT", book+cover, nil).Want(204)
		other := l.make("/covers", "other")
		c.Do("PUT", book+other, nil).Want(409).Says("Book is associated with a Cover")
		c.Do("PUT", l.make("/books", "second")+cover, nil).Want(409).Says("Book is associated with a Cover")
		c.Do("POST", book+"/covers", object{"name": "more"}).Want(409).Says("Book is associated with a Cover")
		if got := c.Get(book + "/cover").Object().Text("name"); got != "c" {
			t.Errorf("the cover is %s", got)
		}
		for _, denied := range []string{"covers." + keyOf(cover) + ".delete", "books.*.covers.*.delete"} {
			l.as(l.tenant, "!test."+denied).Do("DELETE", book, nil).Want(403)
		}
		c.Do("DELETE", book, nil).Want(204)
		c.Get(cover).Want(404)
		c.Do("PUT", shelf+"/seals/"+keyOf(other), nil).Want(204)
		c.Do("DELETE", other, nil).Want(409).Says("is associated with a Shelf")
		l.sealsRefused = true
		for _, there := range []string{other, l.make("/covers", "third")} {
			for _, method := range []string{"PUT", "DELETE"} {
				c.Do(method, shelf+"/seals/"+keyOf(there), nil).Want(403).Says("No seals")
			}
		}
	})
}

// The links of an object end with it by the same way as by themselves: the audit has each, and who reads the other objects hears of it.
func TestDeletionsEndLinks(t *testing.T) {
	eachLibrary(t, func(t *testing.T, l *library) {
		c, shelf, book, sequel := l.as(l.tenant), l.make("/shelves", "s"), l.make("/books", "b"), l.make("/books", "second")
		for _, path := range []string{shelf + book, shelf + "/lends" + book, book + "/sequels/" + keyOf(sequel)} {
			c.Do("PUT", path, nil).Want(204)
		}
		_, before := l.audited()
		l.events = nil
		c.Do("DELETE", book, nil).Want(204)
		if _, after := l.audited(); after-before != 4 {
			t.Errorf("%d entries of the audit, want three links and the book", after-before)
		}
		if !slices.Contains(l.events, shelf[1:]) || !slices.Contains(l.events, sequel[1:]) {
			t.Errorf("only these are heard of: %q", l.events)
		}
		ended, err := store.Get[int](t.Context(), l.db, `SELECT count(*) FROM audit WHERE resource IN ('shelves/books', 'shelves/lends/books', 'books/sequels') AND after IS NULL`)
		if err != nil || ended != 3 {
			t.Errorf("the audit has the end of %d links (%v)", ended, err)
		}
	})
}

// Who is denied an operation does nothing by another that it would do alone, by whichever name of its objects.
func TestDeniedLinksAreNotMadeOtherwise(t *testing.T) {
	eachLibrary(t, func(t *testing.T, l *library) {
		c, shelf, a, b := l.as(l.tenant), l.make("/shelves", "s"), l.make("/books", "a"), l.make("/books", "b")
		c.Do("PUT", shelf+"/books", listOf("books", a)).Want(204)
		c.Do("PUT", shelf+"/lends/books", listOf("books", a)).Want(204)
		s, one, other := keyOf(shelf), keyOf(a), keyOf(b)
		type ask struct {
			method, path string
			body         any
		}
		for denied, asks := range map[string][]ask{
			"shelves." + s + ".books." + other + ".update": {{"PUT", shelf + b, nil}, {"PUT", shelf + "/books", listOf("books", a, b)}},
			"shelves." + s + ".books.update":               {{"PUT", shelf + b, nil}, {"DELETE", shelf + a, nil}, {"DELETE", shelf + "/books", nil}, {"DELETE", a, nil}},
			"shelves." + s + ".books.*.delete":             {{"PUT", shelf + "/books", listOf("books", b)}, {"DELETE", shelf + "/books", nil}, {"DELETE", shelf, nil}, {"DELETE", a, nil}, {"PUT", shelf + "?recursive=true", object{"books": []any{}}}},
			"shelves." + s + ".books.delete":               {{"DELETE", shelf + a, nil}, {"PUT", shelf + "/books", listOf("books", b)}},
			"shelves.*.books.*.update":                     {{"POST", shelf + "/books", object{"name": "n"}}, {"POST", "/shelves", object{"name": "n", "books": []any{object{"name": "m"}}}}},
			"shelves.*.books.create":                       {{"POST", "/shelves", object{"name": "n", "books": []any{object{"name": "m"}}}}},
			"books.create":                                 {{"POST", shelf + "/books", object{"name": "n"}}, {"POST", "/shelves", object{"name": "n", "books": []any{object{"name": "m"}}}}},
			"books." + one + ".lenders.update":             {{"PUT", shelf + "/lends/books", listOf("books")}, {"DELETE", shelf + "/lends" + a, nil}, {"DELETE", shelf, nil}},
			"shelves." + s + ".lends.books.update":         {{"PUT", a + "/lenders", listOf("lenders")}, {"PUT", b + "/lenders", listOf("lenders", shelf)}, {"PUT", b + "?recursive=true", listOf("lenders", shelf)}},
			"books." + one + ".read":                       {{"PUT", shelf + "/books", listOf("books", b)}},
		} {
			for _, refused := range asks {
				_, before := l.audited()
				l.as(l.tenant, "!test."+denied).Do(refused.method, refused.path, refused.body).Want(403)
				if _, after := l.audited(); after != before {
					t.Errorf("%s %s without %s left something", refused.method, refused.path, denied)
				}
			}
		}
	})
}

// An object has no more links than a client may send as its list.
func TestFullLists(t *testing.T) {
	eachLibrary(t, func(t *testing.T, l *library) {
		c, shelf, book := l.as(l.tenant), l.make("/shelves", "s"), l.make("/books", "b")
		for _, sql := range []string{
			`INSERT INTO shelf_lend (shelf_uuid, book_uuid, place, paid) SELECT '` + keyOf(shelf) + `', uuid, 0, false FROM many`,
			`INSERT INTO shelf_lend (shelf_uuid, book_uuid, place, paid) SELECT uuid, '` + keyOf(book) + `', 0, false FROM many`,
		} {
			if l.db.Engine() == "postgres" {
				sql = strings.Replace(strings.Replace(sql, "FROM many", "FROM (SELECT gen_random_uuid() AS uuid FROM generate_series(1, 1000)) AS many", 1), "SELECT '", "SELECT uuid '", 1)
			} else {
				sql = strings.Replace(sql, "FROM many", "FROM (WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 1000) SELECT lower(hex(randomblob(16))) AS uuid FROM n) AS many", 1)
			}
			if _, err := l.db.Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
		free, spare := l.make("/shelves", "free"), l.make("/books", "spare")
		c.Do("PUT", shelf+"/lends"+spare, object{}).Want(409).Says("A shelf has at most 1000 books.")
		c.Do("PUT", free+"/lends"+book, object{}).Want(409).Says("A book has at most 1000 lenders.")
		c.Do("PUT", free+"/lends/books", listOf("books", spare, book)).Want(409).Says("A book has at most 1000 lenders.")
		c.Do("PUT", spare+"/lenders", listOf("lenders", shelf)).Want(409).Says("A shelf has at most 1000 books.")
		c.Do("POST", "/books", object{"name": "n", "lenders": []any{object{"uuid": keyOf(shelf)}}}).Want(409).Says("A shelf has at most 1000 books.")
		c.Do("PUT", free+"/lends"+spare, object{}).Want(204)
	})
}

// What a transaction has read in an attempt that is undone is read again, and what the attempt left for after the commit is not done.
func TestNothingIsRememberedOfAnUndoneAttempt(t *testing.T) {
	eachLibrary(t, func(t *testing.T, l *library) {
		c, shelf, book := l.as(l.tenant), l.make("/shelves", "s"), l.make("/books", "b")
		c.Do("PUT", shelf+book, nil).Want(204)
		var done []string
		l.engine.Notify = func(events []transaction.Event) {
			for _, e := range events {
				done = append(done, "told of "+e.Key)
			}
		}
		err := l.engine.InTx(t.Context(), func(ctx context.Context, conn store.Conn) error {
			leave := func(what string) {
				transaction.AfterCommit(ctx, func() { done = append(done, what) })
				transaction.Emit(ctx, transaction.Event{Resource: "books", Key: what})
			}
			leave("before")
			read := func() int {
				n, err := transaction.Remember(ctx, "shelf_book", "n", func() (int, error) { return store.Get[int](ctx, conn, `SELECT count(*) FROM shelf_book`) })
				if err != nil {
					t.Fatal(err)
				}
				return n
			}
			if n := read(); n != 1 {
				t.Errorf("there are %d", n)
			}
			undone := errors.New("undone")
			if err := transaction.Attempt(ctx, conn, func() error {
				if _, err := conn.Exec(ctx, `DELETE FROM shelf_book`); err != nil {
					return err
				}
				transaction.RememberAs(ctx, "shelf_book", "n", 0)
				leave("undone")
				return undone
			}); !errors.Is(err, undone) {
				return err
			}
			if n := read(); n != 1 {
				t.Errorf("after the attempt there are %d", n)
			}
			leave("after")
			return nil
		})
		if got := strings.Join(done, ", "); err != nil || got != "before, after, told of before, told of after" {
			t.Errorf("%v, done: %s", err, got)
		}
	})
}

// Nested objects are made and linked in their order, changed, and taken away with what nothing else has.
func TestNestedObjectsAreLinks(t *testing.T) {
	eachLibrary(t, func(t *testing.T, l *library) {
		c := l.as(l.tenant)
		made := c.Do("POST", "/shelves", object{"name": "s", "books": []any{object{"name": "z"}, object{"name": "a"}, object{"uuid": keyOf(l.make("/books", "there"))}}}).Want(200).Object()
		shelf := "/shelves/" + made.Text("uuid")
		if got := l.named(shelf, "books"); got != "z, a, there" {
			t.Errorf("the books are %s", got)
		}
		var keys []string
		for _, one := range c.Get(shelf).Object()["books"].([]any) {
			keys = append(keys, one.(map[string]any)["uuid"].(string))
		}
		shared := l.make("/shelves", "shares")
		c.Do("PUT", shared+"/books/"+keys[2], nil).Want(204)
		c.Do("PUT", shelf+"?recursive=true", object{"books": []any{object{"name": "new"}, object{"uuid": keys[0], "name": "y"}}}).Want(200)
		if got := l.named(shelf, "books"); got != "new, y" {
			t.Errorf("the books are %s", got)
		}
		c.Get("/books/" + keys[1]).Want(404)
		c.Get("/books/" + keys[2]).Want(200) // another shelf has it
		c.Do("PUT", shelf+"?recursive=true", object{"books": []any{object{"uuid": keys[1]}}}).Want(400).Says("was not found")
		c.Do("DELETE", shelf+"?recursive=true", nil).Want(204)
		c.Get("/books/" + keys[0]).Want(404)
	})
}

func TestMistakesInRelationsAreSeenAtOnce(t *testing.T) {
	for want, links := range map[string][]crud.Link[Thing, Thing]{
		"the relation pair: there are two of this name":           {{Table: "pair", LeftColumn: "one", RightColumn: "other"}, {Table: "pair", LeftColumn: "one", RightColumn: "other"}},
		"the relation pair: both sides have the column":           {{Table: "pair"}},
		"the relation pair: there is no operation mend":           {{Table: "pair", LeftColumn: "one", RightColumn: "other", Only: []string{"mend"}}},
		"the relation pair: there is no such list":                {{Table: "pair", LeftColumn: "one", RightColumn: "other", Only: []string{"set"}}},
		"the relation pair: an item of things is named by number": {{Table: "pair", LeftColumn: "one", RightColumn: "other", Only: []string{"set"}, Set: &crud.List{By: []string{"number"}}}},
	} {
		e := crud.New(crud.Base{Service: "test"})
		crud.Collect(e, crud.Resource[Thing]{Path: "things", Singular: "thing", Param: "thing_uuid", Table: "thing", Keys: []string{"uuid"}})
		for _, link := range links {
			link.On(e)
		}
		mistake(t, want, func() { e.Operations() })
	}
}

// What is nested takes the accesses of its own operations, but for a POST, which includes what it makes.
func TestAccessesOfWhatIsNested(t *testing.T) {
	eachLibrary(t, func(t *testing.T, l *library) {
		shelf := l.make("/shelves", "s")
		nested := object{"name": "n", "books": []any{object{"name": "b"}}}
		for _, ask := range []struct {
			held, method, path string
			status             int
		}{
			{"test.shelves.create", "POST", "/shelves", 200},
			{"test.shelves.*.update", "PUT", shelf + "?recursive=true", 403},
			{"test.shelves.*.update test.books.create", "PUT", shelf + "?recursive=true", 403},
			{"test.shelves.# test.books.create", "PUT", shelf + "?recursive=true", 200},
		} {
			set, err := acl.Compile(strings.Fields(ask.held))
			if err != nil {
				t.Fatal(err)
			}
			p := &principal.Principal{UserUUID: uuid.NewString(), Affiliation: &principal.Affiliation{TenantUUID: l.tenant}, ACL: set}
			t.Log(ask)
			resttest.To(t, l.svc, "/api/test", p).Do(ask.method, ask.path, nested).Want(ask.status)
		}
	})
}
