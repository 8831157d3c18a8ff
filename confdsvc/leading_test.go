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
		leading := func(accesses ...string) (all []string, others string) {
			t.Helper()
			reply := w.holding(t, accesses...).Do(http.MethodDelete, path+"?dry_run=true", nil).Want(http.StatusOK).Object()
			for _, one := range reply["leading"].([]any) {
				all = append(all, fmt.Sprintf("%v %v %v", at(one, "resource"), at(one, "id"), at(one, "title")))
			}
			slices.Sort(all)
			return all, fmt.Sprint(reply["others"])
		}
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
