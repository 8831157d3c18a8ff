package confdsvc_test

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// The definition is the contract: a review must see each change of it.
func TestGoldenDefinition(t *testing.T) {
	resttest.CheckDefinition(t, definition(t), *update)
}

// definition returns the definition that the gateway serves: users have accounts, which the authentication service keeps.
func definition(t *testing.T) []byte {
	t.Helper()
	svc, err := confdsvc.New(confdsvc.Options{DB: storetest.SQLite(t), Logins: new(authsvc.Service)})
	if err != nil {
		t.Fatal(err)
	}
	return svc.Definition()
}

// A body that makes a user names what it takes of the user's account, with limits, and with the descriptions of accounts.
func TestDefinitionNamesLogins(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(definition(t))
	if err != nil {
		t.Fatal(err)
	}
	auth := doc.Paths.Value("/users").Post.RequestBody.Value.Content.Get("application/json").Schema.Value.Properties["auth"].Value
	if len(auth.AllOf) != 1 || !auth.Nullable || auth.AllOf[0].Ref != "#/components/schemas/UserAuth" {
		t.Fatalf("the account is %+v", auth)
	}
	login := auth.AllOf[0].Value
	for name, want := range map[string]string{"username": "unique", "password": "Taken on create alone", "purpose": "is a person", "emails": "The addresses of the user."} {
		p := login.Properties[name]
		if p == nil || !strings.Contains(p.Value.Description, want) {
			t.Errorf("%s is %+v", name, p)
		}
	}
	if most := login.Properties["username"].Value.MaxLength; most == nil || *most != 256 {
		t.Errorf("a user name has at most %v characters", most)
	}
}

// Whoever executes in the explorer what the definition offers is not refused for it.
func TestExamplesCanBeSent(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		resttest.SendExamples(newWorld(t, db).as(t, "a"))
	})
}

// Every column is a field and every field a column, on both databases, and both are nullable or neither is.
func TestColumnsAreFields(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		for table, row := range confdsvc.Rows() {
			storetest.ColumnsAreFields(t, db, storetest.Row{Table: table, Fields: row})
		}
		columns := confdsvc.DestinationColumns()
		storetest.ColumnsAreFields(t, db, storetest.Row{Table: "confd_destination", Kept: columns["confd_destination"], Fields: struct {
			ID   int64  `db:"id"`
			Slot string `db:"slot"`
			Type string `db:"type"`
			Sub  string `db:"sub"`
			Keys string `db:"keys"`
		}{}}, storetest.Row{Table: "confd_func_key", Kept: append(columns["confd_func_key"], "filter_member_id"), Fields: struct {
			ID    int64   `db:"id"`
			Place int64   `db:"place"`
			BLF   bool    `db:"blf"`
			Label *string `db:"label"`
			Type  string  `db:"type"`
			Keys  string  `db:"keys"`
		}{}})
	})
}

// The search column holds everything that the search looks in, and nothing secret.
func TestSearchedColumns(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newWorld(t, db).as(t, "a")
		u := c.Create("/users", object{
			"firstname": "Firstname", "lastname": "Lastname", "caller_id": `"Callerid"`, "description": "Description", "userfield": "Userfield",
			"email": "Email@example.org", "mobile_phone_number": "0611223344", "preprocess_subroutine": "Preprocess",
			"outgoing_caller_id": "Outgoing", "username": "Username", "password": "Password", "call_permission_password": "123123",
		})
		v := c.Create("/voicemails", object{
			"name": "Name", "number": "1000", "context": "default", "email": "Email@example.org", "pager": "Pager", "password": "123123",
		})
		for path, searched := range map[string]struct{ found, not []string }{
			"/users": {
				[]string{
					"firstname", "lastname", "firstname lastname", "callerid", "description", "userfield", "email@", "06112", "preprocess", "outgoing",
					"username",
				},
				[]string{"password", "123123", "lastname\"", u.Text("uuid"), "30"},
			},
			"/voicemails": {[]string{"name", "1000", "email@", "pager"}, []string{"123123", "context", "default", v.Text("tenant_uuid")}},
		} {
			for _, term := range slices.Concat(searched.found, searched.not) {
				want := 0
				if slices.Contains(searched.found, term) {
					want = 1
				}
				if l := c.Do("GET", path, nil, resttest.Query("search", term)).List(); l.Total != want {
					t.Errorf("%s?search=%s: total %d, want %d", path, term, l.Total, want)
				}
			}
		}
		c.Do("PUT", "/users/"+u.Text("id"), object{"lastname": "Ünlü"}).Want(204)
		if l := c.Get("/users?search=unlu").List(); l.Total != 1 {
			t.Error("the kept column does not follow an update")
		}
	})
}

// Whatever a client may send has a limit, which the definition names.
func TestDefinitionHasLimits(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(definition(t))
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	seen := map[*openapi3.Schema]bool{}
	var walk func(at string, s *openapi3.Schema)
	limited := func(at string, s *openapi3.Schema) bool {
		checked++
		switch {
		case s.Type.Is("string"):
			return s.MaxLength != nil || s.Pattern != "" || len(s.Enum) > 0 || s.Format != ""
		case s.Type.Is("integer"), s.Type.Is("number"):
			return s.Min != nil && s.Max != nil
		case s.Type.Is("array"):
			walk(at+"[]", s.Items.Value)
			return s.MaxItems != nil
		case s.Type.Is("boolean"), s.Type.Is("object"), len(s.OneOf) > 0, len(s.AllOf) > 0:
			return true
		default: // what stands for nothing, the body of one of several requests, which has limits of its own, and a limit in words
			return strings.Contains(s.Description, "at most") || strings.HasPrefix(s.Description, "There are none") || strings.HasPrefix(s.Description, "The JSON body")
		}
	}
	walk = func(at string, s *openapi3.Schema) {
		if seen[s] || s.ReadOnly {
			return
		}
		seen[s] = true
		if !limited(at, s) {
			t.Errorf("%s: %v has no limit", at, s.Type)
		}
		for name, p := range s.Properties {
			walk(at+"."+name, p.Value)
		}
		for _, kinds := range []openapi3.SchemaRefs{s.OneOf, s.AllOf, s.AnyOf} {
			for _, kind := range kinds {
				walk(at, kind.Value)
			}
		}
		if values := s.AdditionalProperties.Schema; values != nil {
			walk(at+".*", values.Value)
		}
	}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if op.RequestBody == nil {
				continue
			}
			for kind, content := range op.RequestBody.Value.Content {
				if kind == "application/json" {
					walk(method+" "+path, content.Schema.Value)
				}
			}
		}
	}
	if checked < 500 {
		t.Errorf("only %d fields", checked)
	}
}
