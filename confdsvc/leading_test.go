package confdsvc_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// A dry run of a deletion says what leads to the object, by whatever kind of own data, and deletes nothing. It tells nothing of what is denied, and of
// what the token may not read how many there are.
func TestDeletionSaysWhatLeadsThere(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		group := c.Create("/groups", object{"label": "Sales"})
		to := object{"type": "group", "group_id": group["id"]}
		user := c.Create("/users", object{"firstname": "Al"})
		incall := c.Create("/incalls", object{"destination": to})
		c.Create("/incalls", object{"destination": object{"type": "none"}})
		menu := c.Create("/ivr", object{"name": "Menu", "menu_sound": "m", "choices": []any{object{"exten": "1", "destination": to}, object{"exten": "2", "destination": to}}})
		hours := c.Create("/schedules", object{"name": "Hours", "closed_destination": to})
		template := c.Create("/funckeys/templates", object{"name": "Desk", "keys": object{"1": object{"destination": to}}})
		c.Do(http.MethodPut, "/users/"+user.Text("uuid")+"/fallbacks", object{"busy_destination": to}).Want(http.StatusNoContent)
		c.Do(http.MethodPut, "/users/"+user.Text("uuid")+"/funckeys/1", object{"destination": to}).Want(http.StatusNoContent)
		c.Do(http.MethodPut, "/groups/"+group.Text("uuid")+"/fallbacks", object{"noanswer_destination": to}).Want(http.StatusNoContent) // itself
		path := "/groups/" + group.Text("uuid")
		every := []string{
			"funckeys/templates " + template.Text("id") + " Desk", "incalls " + incall.Text("id") + " ", "ivr " + menu.Text("id") + " Menu",
			"schedules " + hours.Text("id") + " Hours", "users " + user.Text("id") + " Al", "users/funckeys " + user.Text("id") + " ",
		}
		leading := func(accesses ...string) ([]string, string) { return whatLeadsTo(t, w, path, accesses...) }
		if all, others := leading("confd.#"); !slices.Equal(all, every) || others != "0" {
			t.Errorf("it is led to by %q and %s more, want %q", all, others, every)
		}
		if all, others := leading("confd.groups.#"); len(all) != 0 || others != "6" {
			t.Errorf("who may read none of them is told of %q and %s", all, others)
		}
		for i, denied := range []string{
			"confd.funckeys.templates." + template.Text("id") + ".read", "confd.incalls." + incall.Text("id") + ".read", "confd.ivr.*.read", "confd.schedules.#",
			"confd.users." + user.Text("id") + ".fallbacks.read", "confd.users." + user.Text("uuid") + ".funckeys.read",
		} {
			all, others := leading("confd.#", "!"+denied)
			if want := slices.Delete(slices.Clone(every), i, i+1); !slices.Equal(all, want) || others != "0" {
				t.Errorf("without %s it is led to by %q and %s more, want %q", denied, all, others, want)
			}
		}
		w.as(t, "b").Do(http.MethodDelete, path+"?dry_run=true", nil).Want(http.StatusNotFound)
		w.holding(t, "confd.#", "!confd.groups."+group.Text("id")+".delete").Do(http.MethodDelete, path+"?dry_run=true", nil).Want(http.StatusForbidden)
		if got := at(c.Get("/incalls/"+incall.Text("id")).Object(), "destination.group_label"); got != "Sales" {
			t.Errorf("after a dry run the incall leads to %v", got)
		}

		// What led there does not any more.
		c.Do(http.MethodDelete, path, nil).Want(http.StatusNoContent)
		if got := at(c.Get("/incalls/"+incall.Text("id")).Object(), "destination.type"); got != "none" {
			t.Errorf("the incall leads to %v", got)
		}
		if left := at(c.Get("/ivr/"+menu.Text("id")).Object(), "choices"); strings.Contains(fmt.Sprint(left), "group") {
			t.Errorf("the menu leads to %v", left)
		}
	})
}

// A dry run tells of links and of columns that name the object, too, under the same rights.
func TestDeletionSaysWhatUsesIt(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		in := withRanges(c, "internal", object{"conference_room_ranges": []object{{"start": "1000", "end": "1999"}}})
		link := func(format string, args ...any) {
			c.Do(http.MethodPut, fmt.Sprintf(format, args...), nil).Want(http.StatusNoContent)
		}
		music := c.Create("/moh", object{"label": "Waltz", "mode": "files"})
		template := c.Create("/funckeys/templates", object{"name": "Desk"})
		user := c.Create("/users", object{"firstname": "Al", "music_on_hold": music["name"], "func_key_template_id": template["id"]})
		group := c.Create("/groups", object{"label": "Sales"})
		outcall := c.Create("/outcalls", object{"name": "Out"})
		trunk := c.Create("/trunks", object{})
		c.Do(http.MethodPut, "/outcalls/"+outcall.Text("id")+"/trunks", object{"trunks": []any{object{"id": trunk["id"]}}}).Want(http.StatusNoContent)
		hours, permission := c.Create("/schedules", object{"name": "Hours", "closed_destination": object{"type": "none"}}), c.Create("/callpermissions", object{"name": "Abroad", "extensions": []string{"00"}})
		for kind, o := range map[string]string{"users": user.Text("id"), "groups": group.Text("id"), "outcalls": outcall.Text("id")} {
			link("/%s/%s/schedules/%s", kind, o, hours.Text("id"))
			link("/%s/%s/callpermissions/%s", kind, o, permission.Text("id"))
		}
		room := c.Create("/conferences", object{"name": "Room"})
		number := c.Create("/extensions", object{"exten": "1000", "context": in})
		link("/conferences/%s/extensions/%s", room.Text("id"), number.Text("id"))
		al, sales, out := "users "+user.Text("id")+" Al", "groups "+group.Text("uuid")+" Sales", "outcalls "+outcall.Text("id")+" Out"
		for _, it := range []struct {
			path   string
			by     []string
			denied map[string][]string // what it is led to by without an access
		}{
			{"/trunks/" + trunk.Text("id"), []string{out}, map[string][]string{"confd.outcalls." + outcall.Text("id") + ".read": nil}},
			{"/schedules/" + hours.Text("id"), []string{sales, out, al}, map[string][]string{"confd.groups." + group.Text("id") + ".read": {out, al}}},
			{"/callpermissions/" + permission.Text("id"), []string{sales, out, al}, map[string][]string{"confd.users.*.read": {sales, out}}},
			{"/moh/" + music.Text("uuid"), []string{al}, map[string][]string{"confd.users." + user.Text("uuid") + ".read": nil}},
			{
				"/funckeys/templates/" + template.Text("id"),
				[]string{al},
				map[string][]string{"confd.users." + user.Text("id") + ".funckeys.templates.read": nil},
			},
			{"/conferences/" + room.Text("id"), []string{"extensions " + number.Text("id") + " " + number.Text("exten")}, nil},
			{"/extensions/" + number.Text("id"), []string{"conferences " + room.Text("id") + " Room"}, nil},
		} {
			if all, others := whatLeadsTo(t, w, it.path, "confd.#"); !slices.Equal(all, it.by) || others != "0" {
				t.Errorf("%s is led to by %q and %s more, want %q", it.path, all, others, it.by)
			}
			for access, left := range it.denied {
				if all, others := whatLeadsTo(t, w, it.path, "confd.#", "!"+access); !slices.Equal(all, left) || others != "0" {
					t.Errorf("without %s, %s is led to by %q and %s more, want %q", access, it.path, all, others, left)
				}
			}
			own := "confd." + strings.ReplaceAll(strings.Trim(it.path, "/"), "/", ".") + ".#"
			if all, others := whatLeadsTo(t, w, it.path, own); all != nil || others != fmt.Sprint(len(it.by)) {
				t.Errorf("who may read nothing else is told of %q and %s more", all, others)
			}
		}
	})
}

// whatLeadsTo returns what a dry run of a deletion names for a token, and how many more objects there are.
func whatLeadsTo(t *testing.T, w *world, path string, accesses ...string) (all []string, others string) {
	t.Helper()
	reply := w.holding(t, accesses...).Do(http.MethodDelete, path+"?dry_run=true", nil).Want(http.StatusOK).Object()
	for _, one := range reply["leading"].([]any) {
		all = append(all, fmt.Sprintf("%v %v %v", at(one, "resource"), at(one, "id"), at(one, "title")))
	}
	slices.Sort(all)
	return all, fmt.Sprint(reply["others"])
}
