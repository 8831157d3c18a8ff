package confdsvc_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func init() {
	samples["groups"] = crudtest.Resource{
		Minimal: func(_ *crudtest.Client, n int) object { return object{"label": fmt.Sprintf("Label %d", n)} },
		Values:  func(int) object { return object{"music_on_hold": "default"} },
		Except:  []string{"name"}, // an older word for the label
		Parts: map[string]object{
			"fallbacks":          {"noanswer_destination": object{"type": "none"}},
			"members/extensions": {"extensions": []any{object{"exten": "1234", "context": "default"}}},
		},
		Links: map[string]crudtest.Link{
			"extensions": {
				Ready: func(c *crudtest.Client, _, extension object) { moveTo(c, extension, "internal") },
				Kept:  []string{"right"},
			},
			"users": {Ready: func(c *crudtest.Client, _, user object) { giveLine(c.Client, user) }},
		},
	}
}

// giveLine gives a user a new line.
func giveLine(c *resttest.Client, user object) object {
	in := c.Create("/contexts", object{"label": "of " + user.Text("id")})
	line := c.Create("/lines", object{"context": in["name"]})
	endpoint := c.Create("/endpoints/custom", object{"interface": "Local/" + line.Text("id") + "@group"})
	c.Do(http.MethodPut, "/lines/"+line.Text("id")+"/endpoints/custom/"+endpoint.Text("id"), nil).Want(http.StatusNoContent)
	c.Do(http.MethodPut, "/users/"+user.Text("id")+"/lines/"+line.Text("id"), nil).Want(http.StatusNoContent)
	return line
}

func TestGroup(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		in := c.Create("/contexts", object{"label": "inside", "group_ranges": []any{object{"start": "2000", "end": "2999"}}})
		made := c.Do(http.MethodPost, "/groups", object{"name": "Old name"}).Want(http.StatusCreated) // an older attribute for the label
		group := made.Object()
		path := "/groups/" + group.Text("uuid")
		if group["label"] != "Old name" || group["name"] != "grp-a-"+group.Text("uuid") || made.Header.Get("Location") != prefix+path {
			t.Errorf("at %s: %v", made.Header.Get("Location"), group)
		}
		if byID := c.Get("/groups/" + group.Text("id")).Want(http.StatusOK).Body; byID != made.Body {
			t.Errorf("by its id: %s", byID)
		}
		c.Create("/groups", object{"label": "Old name"}) // another group may have the same label

		// Its number: in an internal context, within the ranges for groups.
		extension := func(exten string, context any) object {
			return c.Create("/extensions", object{"exten": exten, "context": context})
		}
		inside, outside := extension("2001", in["name"]), extension("3001", in["name"])
		c.Do(http.MethodPut, path+"/extensions/"+outside.Text("id"), nil).Want(http.StatusBadRequest).
			Says("Input Error - Extension '3001' is outside of range for context '" + in.Text("name") + "'")
		c.Do(http.MethodPut, path+"/extensions/"+inside.Text("id"), nil).Want(http.StatusNoContent)
		c.Do(http.MethodPut, "/extensions/"+inside.Text("id"), object{"exten": "3000"}).Want(http.StatusBadRequest).Says("outside of range")
		c.Do(http.MethodDelete, "/extensions/"+inside.Text("id"), nil).Want(http.StatusBadRequest).Says("Extension is associated with a group")
		if shown := c.Get("/extensions/" + inside.Text("id")).Object()["group"]; fmt.Sprint(shown) !=
			fmt.Sprintf("map[id:%s links:%v name:%s uuid:%s]", group["id"], group["links"], group["name"], group["uuid"]) {
			t.Errorf("the extension shows %v", shown)
		}
		for _, query := range []string{"exten=2001", "search=2001", "search=OLD%20NAME&order=exten", "id=" + group.Text("id"), "name=" + group.Text("name")} {
			if l := c.Get("/groups?" + query).List(); l.Total < 1 || l.Items[0].Text("uuid") != group.Text("uuid") {
				t.Errorf("%s: %v", query, l.Items)
			}
		}

		// An incall leads to it, and shows its label; when the group is deleted, the incall leads nowhere, and so does the
		// fallback of another group.
		incall := c.Create("/incalls", object{"destination": object{"type": "group", "group_id": group["id"], "ring_time": 1.5}})
		got, _ := c.Get("/incalls/" + incall.Text("id")).Object()["destination"].(map[string]any)
		if got["group_label"] != "Old name" || got["group_name"] != group["name"] || fmt.Sprint(got["ring_time"]) != "1.5" {
			t.Errorf("the destination is %v", got)
		}
		if shown := c.Get(path).Object()["incalls"]; fmt.Sprint(shown) != fmt.Sprintf("[map[extensions:[] id:%s links:%v]]", incall["id"], incall["links"]) {
			t.Errorf("the group shows %v", shown)
		}
		other := c.Create("/groups", object{"label": "Other", "music_on_hold": "default"})
		c.Do(http.MethodPut, "/groups/"+other.Text("id")+"/fallbacks", object{"congestion_destination": object{"type": "group", "group_id": group["id"]}}).
			Want(http.StatusNoContent)
		below := w.as(t, "a1").Create("/groups", object{"label": "Below"})
		for _, of := range []any{below["id"], 99999} {
			c.Do(http.MethodPut, "/incalls/"+incall.Text("id"), object{"destination": object{"type": "group", "group_id": of}}).
				Want(http.StatusBadRequest).Says("field 'actionarg1': Group was not found")
		}
		c.Do(http.MethodPut, path, object{"music_on_hold": "no such"}).Want(http.StatusBadRequest).
			Says("Input Error - field 'music_on_hold': MOH was not found ('music_on_hold': 'no such')")
		c.Do(http.MethodPut, path, object{"label": "a/b"}).Want(http.StatusBadRequest).Says("label")
		c.Do(http.MethodPut, path, object{"name": "x", "label": "New"}).Want(http.StatusNoContent)
		if now := c.Get(path).Object(); now["name"] != group["name"] || now["label"] != "New" {
			t.Errorf("it is %v", now)
		}
		c.Do(http.MethodPost, "/groups", object{"name": "a/b"}).Want(http.StatusBadRequest).Says("label")
		c.Do(http.MethodPost, "/groups", object{}).Want(http.StatusBadRequest).Says("label")

		c.Do(http.MethodDelete, path, nil).Want(http.StatusNoContent)
		if got := c.Get("/incalls/" + incall.Text("id")).Object()["destination"]; fmt.Sprint(got) != "map[type:none]" {
			t.Errorf("the incall leads to %v", got)
		}
		if got := c.Get("/groups/" + other.Text("uuid") + "/fallbacks").Object(); got["congestion_destination"] != nil {
			t.Errorf("the fallback leads to %v", got)
		}
		c.Do(http.MethodDelete, "/extensions/"+inside.Text("id"), nil).Want(http.StatusNoContent)
	})
}

func TestGroupMembers(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		group := "/groups/" + c.Create("/groups", object{"label": "Sales"}).Text("uuid")
		al, bo, cy := c.Create("/users", object{"firstname": "Al"}), c.Create("/users", object{"firstname": "Bo"}), c.Create("/users", object{"firstname": "Cy"})
		one := func(u object, priority ...any) object {
			o := object{"uuid": u["uuid"]}
			for _, p := range priority {
				o["priority"] = p
			}
			return o
		}
		set := func(users ...any) answer { return c.Do(http.MethodPut, group+"/members/users", object{"users": users}) }
		members := func() string {
			var out []string
			shown, _ := c.Get(group).Object()["members"].(map[string]any)
			for _, of := range []string{"users", "extensions"} {
				items, _ := shown[of].([]any)
				for _, item := range items {
					o := object(item.(map[string]any))
					if of == "users" {
						out = append(out, o.Text("firstname")+o.Text("priority"))
					} else {
						out = append(out, o.Text("exten")+"@"+o.Text("context")+o.Text("priority"))
					}
				}
			}
			return strings.Join(out, " ")
		}
		is := func(want string) {
			t.Helper()
			if got := members(); got != want {
				t.Errorf("members %s, want %s", got, want)
			}
		}
		set(one(al)).Want(http.StatusBadRequest).Says("Resource Error - User must be associated with a Line")
		line := giveLine(c, al)
		giveLine(c, bo)
		set(one(bo), one(al)).Want(http.StatusNoContent)
		is("Bo0 Al1")
		set(one(bo, 7), one(al, 3)).Want(http.StatusNoContent)
		is("Al3 Bo7")
		set(one(bo), one(al, 0)).Want(http.StatusNoContent)
		is("Al0 Bo0")
		set(one(al, -1)).Want(http.StatusBadRequest).Says("priority")
		set(one(al, "1")).Want(http.StatusBadRequest).Says("priority")
		set(one(al), one(al)).Want(http.StatusBadRequest).Says("Operation not permitted. Cannot associate same user more than once.")

		// Two users with the same main line would ring it twice, by either of the two lists.
		c.Do(http.MethodPut, "/users/"+cy.Text("id")+"/lines/"+line.Text("id"), nil).Want(http.StatusNoContent)
		set(one(al), one(cy)).Want(http.StatusBadRequest).Says("Operation not permitted. Cannot associate different users with the same line.")
		join := func(u object, groups ...any) answer {
			return c.Do(http.MethodPut, "/users/"+u.Text("uuid")+"/groups", object{"groups": append([]any{}, groups...)})
		}
		id := c.Get(group).Object()["id"]
		join(cy, object{"id": id}).Want(http.StatusBadRequest).Says("different users with the same line")
		join(cy).Want(http.StatusNoContent)
		join(c.Create("/users", object{"firstname": "Di"}), object{"id": id}).Want(http.StatusBadRequest).Says("User must be associated with a Line")
		is("Al0 Bo0")
		join(al).Want(http.StatusNoContent)
		is("Bo0")
		join(al, object{"id": id}).Want(http.StatusNoContent) // the last member of the group
		is("Bo0 Al1")
		join(al, object{"id": id}, object{"uuid": strings.TrimPrefix(group, "/groups/")}).Want(http.StatusBadRequest).Says("same group more than once")
		foreign := w.as(t, "b").Create("/groups", object{"label": "Theirs"})
		join(al, object{"id": foreign["id"]}).Want(http.StatusBadRequest).Says("Input Error - field 'groups': Group was not found ('id': " + foreign.Text("id") + ")")
		if shown := c.Get("/users/" + al.Text("id")).Object()["groups"]; !strings.HasPrefix(fmt.Sprint(shown), "[map[id:"+fmt.Sprint(id)+" links:[map[href:"+prefix+group+" rel:groups]] name:grp-a-") {
			t.Errorf("the user shows %v", shown)
		}

		// Numbers need not exist here, but may not be in another tenant's dialplan.
		numbers := func(list ...any) answer {
			return c.Do(http.MethodPut, group+"/members/extensions", object{"extensions": append([]any{}, list...)})
		}
		numbers(object{"exten": "2", "context": "default"}, object{"exten": "1", "context": "nobodys"}).Want(http.StatusNoContent)
		is("Bo0 Al1 2@default0 1@nobodys1")
		numbers(object{"exten": "2", "context": "default", "priority": 5}, object{"exten": "2", "context": "other"}).Want(http.StatusNoContent)
		is("Bo0 Al1 2@other1 2@default5")
		for _, bad := range []any{
			object{"exten": "2", "context": "of-b"},
			object{"exten": "2", "context": "of-a1"},
			object{"exten": "2"},
			object{"context": "default"},
			object{"exten": "2", "context": "a b"},
			object{"exten": "2,1", "context": "default"},
			object{"exten": "2", "context": "default", "priority": nil},
			object{"exten": "2", "context": "default", "priority": -1},
			nil, 1,
		} {
			numbers(bad).Want(http.StatusBadRequest)
		}
		numbers(object{"exten": "2", "context": "default"}, object{"exten": "2", "context": "default", "priority": 4}).Want(http.StatusBadRequest).
			Says("Operation not permitted. Cannot associate same extensions more than once.")
		for _, bad := range []any{object{}, object{"extensions": nil}, object{"extensions": object{}}, "[]", "null"} {
			c.Do(http.MethodPut, group+"/members/extensions", bad).Want(http.StatusBadRequest)
		}
		w.as(t, "b").Do(http.MethodPut, group+"/members/extensions", object{"extensions": []any{}}).Want(http.StatusNotFound)
		c.Get(group + "/members/extensions").Want(http.StatusMethodNotAllowed)
		is("Bo0 Al1 2@other1 2@default5")
		c.Do(http.MethodPut, group, c.Get(group).Object()).Want(http.StatusNoContent)
		is("Bo0 Al1 2@other1 2@default5")

		c.Do(http.MethodDelete, "/users/"+bo.Text("id"), nil).Want(http.StatusNoContent)
		numbers().Want(http.StatusNoContent)
		is("Al1")
		c.Do(http.MethodDelete, group, nil).Want(http.StatusNoContent)
		if shown := c.Get("/users/" + al.Text("id")).Object()["groups"]; fmt.Sprint(shown) != "[]" {
			t.Errorf("the user shows %v", shown)
		}
	})
}

// Of two kinds of object that take one number at once, one gets it, in whichever tables they are stored.
func TestOneNumberForOneKind(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		in := c.Create("/contexts", object{
			"label": "inside", "group_ranges": []any{object{"start": "2000", "end": "2999"}}, "user_ranges": []any{object{"start": "2000", "end": "2999"}},
		})
		for n := range 5 {
			x := c.Create("/extensions", object{"exten": fmt.Sprint(2000 + n), "context": in["name"]})
			user := c.Create("/users", object{"firstname": "Al"})
			line := giveLine(c, user)
			paths := []string{"/groups/" + c.Create("/groups", object{"label": "G"}).Text("uuid"), "/lines/" + line.Text("id"), "/groups/" + c.Create("/groups", object{"label": "G"}).Text("uuid")}
			statuses := make([]int, len(paths))
			var wait sync.WaitGroup
			for i, path := range paths {
				wait.Go(func() { statuses[i] = c.Do(http.MethodPut, path+"/extensions/"+x.Text("id"), nil).Status })
			}
			wait.Wait()
			made := 0
			for _, status := range statuses {
				switch status {
				case http.StatusNoContent:
					made++
				case http.StatusBadRequest:
				default:
					t.Errorf("status %d", status)
				}
			}
			if made != 1 {
				t.Errorf("%d have the number: %v", made, statuses)
			}
		}
	})
}

// A destination does not lead into another tenant's dialplan by the name of its context, in any object that has destinations.
func TestDestinationsInOtherContexts(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		user := "/users/" + c.Create("/users", object{"firstname": "Al"}).Text("id") + "/fallbacks"
		for context, status := range map[string]int{
			"default": http.StatusNoContent, "nobodys": http.StatusNoContent, "of-b": http.StatusBadRequest, "of-a1": http.StatusBadRequest,
		} {
			for _, sent := range []object{
				{"type": "extension", "exten": "1"},
				{"type": "application", "application": "disa"},
				{"type": "application", "application": "callback_disa"},
				{"type": "application", "application": "directory"},
				{"type": "application", "application": "voicemail"},
			} {
				sent["context"] = context
				got := c.Do(http.MethodPut, user, object{"fail_destination": sent}).Want(status)
				if status == http.StatusBadRequest {
					got.Says("Input Error - field 'context': Context was not found ('context': '" + context + "')")
				}
			}
		}
	})
}
