package confdsvc_test

import (
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// What has a number is made with it, and a group with its members, in one request that asks for it: all of it, or nothing. A request that
// does not ask sends back what was read, and means nothing by it.
func TestNumbersAreMadeWithWhatHasThem(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		in := c.Create("/contexts", object{
			"label": "inside", "group_ranges": []any{object{"start": "2000", "end": "2999"}}, "conference_room_ranges": []any{object{"start": "4000", "end": "4999"}},
		})["name"]
		from := c.Create("/contexts", object{"label": "outside", "type": "incall"})
		al, bo := c.Create("/users", object{"firstname": "Al"}), c.Create("/users", object{"firstname": "Bo"})
		giveLine(c, al)
		giveLine(c, bo)
		numbers := func(exten string, in any) []any { return []any{object{"exten": exten, "context": in}} }
		group := func(exten string, users ...object) object {
			var list []any
			for _, u := range users {
				list = append(list, object{"uuid": u["uuid"]})
			}
			return object{"label": "Sales", "extensions": numbers(exten, in), "members": object{"users": list, "extensions": numbers("5551", in)}}
		}
		made := c.Do(http.MethodPost, "/groups?recursive=true", group("2001", bo, al)).Want(http.StatusCreated)
		read := c.Get("/groups/" + made.Text("uuid")).Want(http.StatusOK)
		if read.Body != made.Body || at(read.Object(), "extensions.0.exten") != "2001" || at(read.Object(), "members.users.0.firstname") != "Bo" ||
			at(read.Object(), "members.users.1.firstname") != "Al" || at(read.Object(), "members.extensions.0.exten") != "5551" {
			t.Errorf("the group is %s, made was %s", read.Body, made.Body)
		}
		path := "/groups/" + made.Text("uuid")

		// What was read can be sent back, and what of it is refused leaves nothing.
		c.Do(http.MethodPut, path+"?recursive=true", read.Object()).Want(http.StatusNoContent)
		c.Do(http.MethodPut, path, group("2002", al)).Want(http.StatusNoContent)
		if now := c.Get(path).Body; now != read.Body {
			t.Errorf("sent back, it is %s, and was %s", now, read.Body)
		}
		copied := c.Do(http.MethodPost, "/groups", read.Object()).Want(http.StatusCreated)
		if len(copied.JSON("extensions").([]any)) != 0 || len(copied.JSON("members.users").([]any)) != 0 {
			t.Errorf("the copy has %s", copied.Body)
		}
		bare, theirs := c.Create("/users", object{"firstname": "Cy"}), w.as(t, "b").Create("/contexts", object{"label": "theirs"})["name"]
		before := counts(t, db)
		for exten, said := range map[string]string{"2001": "associated", "3001": "outside of range", "x": "exten"} {
			c.Do(http.MethodPost, "/groups?recursive=true", group(exten, al)).Want(http.StatusBadRequest).Says(said)
		}
		c.Do(http.MethodPost, "/groups?recursive=true", group("2003", bare)).Want(http.StatusBadRequest).Says("associated with a Line")
		c.Do(http.MethodPost, "/groups?recursive=true", group("2003", al, al)).Want(http.StatusBadRequest).Says("more than once")
		c.Do(http.MethodPost, "/groups?recursive=true", object{"label": "S", "extensions": numbers("2003", theirs)}).
			Want(http.StatusBadRequest)
		if after := counts(t, db); !reflect.DeepEqual(after, before) {
			t.Errorf("what was refused left something: %v, before %v", after, before)
		}

		// The others that have numbers.
		to := object{"type": "group", "group_id": read.JSON("id")}
		for path, body := range map[string]object{
			"/conferences": {"name": "Weekly", "extensions": numbers("4001", in)},
			"/parkinglots": {"slots_start": "801", "slots_end": "809", "extensions": numbers("800", in)},
			"/incalls":     {"destination": to, "extensions": numbers("4930123", from["name"])},
		} {
			made := c.Do(http.MethodPost, path+"?recursive=true", body).Want(http.StatusCreated).Object()
			if want := at(body, "extensions.0.exten"); at(made, "extensions.0.exten") != want || c.Get(path+"/"+made.Text("id")).Object().Text("id") != made.Text("id") {
				t.Errorf("POST %s: the number is not %v: %v", path, want, made)
			}
			if plain := c.Do(http.MethodPost, path, body).Want(http.StatusCreated).Object(); at(plain, "extensions.0") != nil {
				t.Errorf("POST %s without asking for it makes a number: %v", path, plain)
			}
		}
		if ranges := c.Get("/contexts/" + from.Text("id")).Body; !strings.Contains(ranges, `"start":"4930123"`) {
			t.Errorf("the ranges do not hold the number: %s", ranges)
		}

		// It takes the accesses of all that it contains.
		as := func(patterns ...string) *resttest.Client {
			t.Helper()
			set, err := acl.Compile(patterns)
			if err != nil {
				t.Fatal(err)
			}
			return resttest.To(t, w.svc, prefix, &principal.Principal{UserUUID: al.Text("uuid"), ACL: set, Affiliation: &principal.Affiliation{TenantUUID: w.tenants["a"], Purpose: "user"}})
		}
		needed := []string{"confd.groups.create", "confd.extensions.create", "confd.groups.*.extensions.*.update", "confd.groups.*.members.users.update", "confd.groups.*.members.extensions.update"}
		for i := 1; i < len(needed); i++ { // the gate checks the first
			held := append(append([]string{}, needed[:i]...), needed[i+1:]...)
			if answer := as(held...).Do(http.MethodPost, "/groups?recursive=true", group("2004", al)); answer.Status != http.StatusForbidden {
				t.Errorf("without %s it is %d: %s", needed[i], answer.Status, answer.Body)
			}
			as(append(needed, "!"+needed[i])...).Do(http.MethodPost, "/groups?recursive=true", group("2004", al)).Want(http.StatusForbidden)
		}
		as("confd.groups.create").Do(http.MethodPost, "/groups", group("2004", al)).Want(http.StatusCreated)
		as(needed...).Do(http.MethodPost, "/groups?recursive=true", group("2004", al)).Want(http.StatusCreated)

		// A delete that asks takes the number with it.
		c.Do(http.MethodDelete, path+"?recursive=true", nil).Want(http.StatusNoContent)
		if left := c.Get("/extensions?exten=2001").List().Total; left != 0 {
			t.Errorf("%d numbers are left", left)
		}
	})
}
