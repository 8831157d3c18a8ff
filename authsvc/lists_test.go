package authsvc_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
)

// lists are what existing clients expect of lists: the columns to sort by, the default first, and the filters, in which {name}
// stands for an object of the test.
var lists = []struct {
	path    string
	order   string
	filters string // of columns
	joined  string // of joined objects: filter=value:the items that are left
}{
	{
		"/users", "username firstname lastname", "uuid username firstname lastname purpose",
		"email_address=ann@example.com:ann group_uuid={readers}:bob policy_uuid={reader}:ann policy_slug=reader:ann has_policy_uuid={reader}:ann,bob has_policy_slug=reader:ann,bob",
	},
	{"/groups", "name slug uuid read_only", "uuid name slug read_only", "user_uuid={bob}:readers,everybody policy_uuid={reader}:readers policy_slug=reader:readers"},
	{"/policies", "name slug description uuid read_only", "uuid name slug read_only tenant_uuid", "user_uuid={ann}:reader,writer group_uuid={readers}:reader"},
	{"/tenants", "name slug", "uuid name slug", "uuids={acme},{master}:acme,master uuids={acme}&uuids={master}:acme,master uuids={acme},{ann}&uuids=x:acme domain_name=acme.example.com:acme domain_name=ACME.example.com:acme"},
	{"/sessions", "uuid mobile created_at", "user_uuid", ""},
	{"/tokens", "created_at client_id mobile", "created_at client_id mobile", ""},
	{"/users/{ann}/tokens", "created_at client_id mobile", "created_at client_id mobile", ""},
	{"/users/{ann}/sessions", "uuid mobile created_at", "", ""},
	{"/users/{ann}/policies", "name slug description uuid read_only", "uuid name", "user_uuid={ann}:reader,writer group_uuid={readers}:reader tenant_uuid={acme}:"},
	{"/users/{bob}/groups", "name slug uuid read_only", "uuid name", "user_uuid={ann}:everybody"},
	{"/groups/{everybody}/users", "username firstname lastname", "uuid username firstname lastname purpose", "email_address=ann@example.com:ann group_uuid={readers}:bob"},
	{"/groups/{readers}/policies", "name slug description uuid read_only", "uuid name", "user_uuid={ann}:reader group_uuid={readers}:reader tenant_uuid={acme}:"},
}

// filled returns text with the names in braces replaced.
func filled(text string, made map[string]string) string {
	for name, value := range made {
		text = strings.ReplaceAll(text, "{"+name+"}", value)
	}
	return text
}

// listWorld creates an object of everything that can be listed, and returns the UUIDs.
func listWorld(t *testing.T, s *server, admin string) map[string]string {
	t.Helper()
	create := func(collection, body string) string {
		return s.do("POST", "/"+collection, admin, body).Want(200).Text("uuid")
	}
	made := map[string]string{
		"master": s.master(admin),
		"acme":   create("tenants", `{"name":"Acme","domain_names":["Acme.example.com","z.example.com"]}`),
		"ann":    create("users", `{"username":"ann","firstname":"Ann","lastname":"Zed","password":"x","email_address":"ann@example.com"}`),
		"bob":    create("users", `{"username":"Bob","firstname":"Bob","purpose":"external_api"}`),
		"reader": create("policies", `{"name":"Reader","slug":"reader","description":"reads"}`),
		"writer": create("policies", `{"name":"a writer","slug":"writer"}`),
	}
	create("users", `{"lastname":"Nameless"}`)
	create("tenants", `{}`)
	made["readers"] = create("groups", `{"name":"Readers"}`)
	create("groups", `{"name":"a group"}`)
	made["everybody"] = made["master"]
	for _, path := range []string{"/users/{ann}/policies/{reader}", "/users/{ann}/policies/{writer}", "/groups/{readers}/users/{bob}", "/groups/{readers}/policies/{reader}"} {
		s.do("PUT", filled(path, made), admin, "").Want(204)
	}
	for i, edits := range [][]func(r *http.Request){{}, {}, {mobile}} {
		s.do("POST", "/token", "", fmt.Sprintf(`{"access_type":"offline","client_id":"client %d"}`, 9-i), append(edits, resttest.Basic("ann", "x"))...).Want(200)
	}
	return made
}

// Every list sorts and filters by its columns, on both databases.
func TestLists(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(definition(t))
	if err != nil {
		t.Fatal(err)
	}
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		made := listWorld(t, s, admin)
		for _, c := range lists {
			t.Run(c.path, func(t *testing.T) {
				s := s.in(t)
				template := strings.NewReplacer("{ann}", "{user_uuid}", "{bob}", "{user_uuid}", "{everybody}", "{group_uuid}", "{readers}", "{group_uuid}").Replace(c.path)
				order := doc.Paths.Value(template).Get.Parameters.GetByInAndName("query", "order")
				if got := fmt.Sprint(order.Schema.Value.Enum); got != "["+c.order+"]" {
					t.Errorf("sorted by %s, want %s", got, c.order)
				}
				path := filled(c.path, made)
				get := func(query string) resttest.List {
					t.Helper()
					return s.do("GET", path+"?"+query, admin, "").List()
				}
				all := get("")
				if all.Total != len(all.Items) || all.Filtered != all.Total || all.Total == 0 {
					t.Fatalf("%+v", all)
				}
				for column := range strings.FieldsSeq(c.order) {
					wantSorted(t, column, get("order="+column), get("order="+column+"&direction=desc"), all)
				}
				wantSorted(t, strings.Fields(c.order)[0], all, get("direction=desc"), all)
				if page := get("limit=1&offset=1"); page.Total != all.Total || page.Filtered != all.Total || len(page.Items) != min(1, all.Total-1) {
					t.Errorf("a page: %+v", page)
				}
				if none := get("search=qqq"); none.Total != all.Total || none.Filtered != 0 {
					t.Errorf("a search: %+v", none)
				}
				for column := range strings.FieldsSeq(c.filters) {
					for _, item := range all.Items {
						wantFiltered(t, column, item[column], get, all)
					}
				}
				for joined := range strings.FieldsSeq(c.joined) {
					query, names, _ := strings.Cut(joined, ":")
					want := []string{}
					for name := range strings.SplitSeq(names, ",") {
						if name != "" {
							want = append(want, made[name])
						}
					}
					l := get(filled(query, made))
					if got := l.Column("uuid"); !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) || l.Total != all.Total || l.Filtered != len(want) {
						t.Errorf("%s: %+v", joined, l)
					}
				}
				for column := range strings.FieldsSeq(c.filters) {
					if _, isBool := all.Items[0][column].(bool); isBool {
						s.do("GET", path+"?"+column+"=maybe", admin, "").Refused(400, "invalid-list-param")
						for yes, no := range map[string]string{"True": "False", "1": "0", "TRUE": "false"} {
							if a, b := get(column+"="+yes), get(column+"="+no); a.Filtered+b.Filtered != all.Total {
								t.Errorf("%s: %+v and %+v", column, a, b)
							}
						}
					}
				}
				s.do("GET", path+"?order=password_hash", admin, "").Refused(400, "invalid-list-param")
				for _, bad := range []string{"limit=0", "limit=-1", "limit=abc", "offset=-1", "direction=up", "limit=1&limit=2"} {
					s.do("GET", path+"?"+bad, admin, "").Want(400)
				}
			})
		}
	})
}

// A list of tenants accepts 25 UUIDs, however they are sent.
func TestTenantsByUUIDs(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		made := make([]string, 25)
		for i := range made {
			made[i] = s.tenant(admin, fmt.Sprint("tenant ", i))
		}
		comma, repeated := strings.Join(made, ","), strings.Join(made, "&uuids=")
		for _, query := range []string{comma, repeated, strings.Join(made[:12], ",") + "&uuids=" + strings.Join(made[12:], "&uuids=")} {
			if l := s.do("GET", "/tenants?uuids="+query, admin, "").List(); l.Filtered != 25 || l.Total != 26 {
				t.Errorf("%d of %d", l.Filtered, l.Total)
			}
			for _, more := range []string{"," + made[0], "&uuids=" + made[0], ","} {
				s.do("GET", "/tenants?uuids="+query+more, admin, "").Refused(400, "invalid-list-param").JSON("details.uuids")
			}
		}
		if l := s.do("GET", "/tenants?uuids=", admin, "").List(); l.Filtered != 0 {
			t.Errorf("no UUID names %+v", l)
		}
	})
}

// Policies are filtered and sorted by what the reading tenant is shown.
func TestPoliciesByWhatIsShown(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		master, acme := s.master(admin), s.tenant(admin, "acme")
		s.do("POST", "/policies", admin, `{"name":"from above","shared":true}`).Want(200)
		s.do("POST", "/policies", admin, `{"name":"own","shared":true}`, resttest.In(acme)).Want(200)
		for _, scope := range []string{master, acme} {
			for _, recurse := range []string{"", "&recurse=true"} {
				get := func(query string) resttest.List {
					return s.do("GET", "/policies?"+query+recurse, admin, "", resttest.In(scope)).List()
				}
				all := get("order=name")
				for _, item := range all.Items {
					for _, column := range []string{"read_only", "tenant_uuid"} {
						wantFiltered(t, column, item[column], get, all)
					}
				}
				wantSorted(t, "read_only", get("order=read_only"), get("order=read_only&direction=desc"), all)
			}
		}
		if l := s.do("GET", "/policies?read_only=true", admin, "", resttest.In(acme)).List(); l.Filtered != 1 {
			t.Errorf("read-only for a tenant below: %+v", l)
		}
	})
}

// wantSorted compares a list with its reverse: null comes last in both.
func wantSorted(t *testing.T, column string, up, down, all resttest.List) {
	t.Helper()
	values := func(l resttest.List) (out []string) {
		for _, item := range l.Items {
			if v := item[column]; v != nil {
				out = append(out, strings.ToLower(fmt.Sprint(v)))
			} else if len(l.Items) != all.Total {
				t.Errorf("%+v", l)
			}
		}
		return out
	}
	a, d := values(up), values(down)
	slices.Reverse(d)
	if !slices.IsSorted(a) || !slices.Equal(a, d) || len(up.Items) != all.Total || len(down.Items) != all.Total {
		t.Errorf("by %s: %q, and the other way %q", column, a, d)
	}
	for _, l := range []resttest.List{up, down} {
		if first := slices.IndexFunc(l.Items, func(i resttest.Object) bool { return i[column] == nil }); first >= 0 && first != len(a) {
			t.Errorf("by %s: a null before a value: %+v", column, l.Items)
		}
	}
}

// wantFiltered checks that a filter keeps exactly the items with a value.
func wantFiltered(t *testing.T, column string, value any, get func(string) resttest.List, all resttest.List) {
	t.Helper()
	if value == nil {
		return
	}
	n := 0
	for _, item := range all.Items {
		if item[column] == value {
			n++
		}
	}
	l := get(column + "=" + url.QueryEscape(fmt.Sprint(value)))
	if l.Total != all.Total || l.Filtered != n || len(l.Items) != n {
		t.Errorf("%s=%v: %+v", column, value, l)
	}
	for _, item := range l.Items {
		if item[column] != value {
			t.Errorf("%s=%v left %v", column, value, item)
		}
	}
}
