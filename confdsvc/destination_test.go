package confdsvc_test

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// A destination reads back as it was sent, with the fields that are always shown.
func TestDestinationsReadBack(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		path := "/users/" + c.Create("/users", object{"firstname": "Al"}).Text("id") + "/fallbacks"
		target := c.Create("/users", object{"firstname": "Bo", "lastname": "Ly"})
		box := c.Create("/voicemails", voicemail("1"))
		for _, sent := range []object{
			{"type": "none"},
			{"type": "user", "user_id": target["id"]},
			{"type": "user", "user_id": target["id"], "ring_time": 2.0, "moh_uuid": nil},
			{"type": "voicemail", "voicemail_id": box["id"]},
			{"type": "voicemail", "voicemail_id": box["id"], "greeting": "busy", "skip_instructions": true},
			{"type": "extension", "exten": "1001", "context": "name"},
			{"type": "sound", "filename": "beep", "skip": true},
			{"type": "custom", "command": "Playback(toto)"},
			{"type": "hangup", "cause": "normal"},
			{"type": "hangup", "cause": "busy", "timeout": 3.0},
			{"type": "hangup", "cause": "congestion", "timeout": nil},
			{"type": "application", "application": "disa", "context": "name", "pin": "1234"},
			{"type": "application", "application": "callback_disa", "context": "name", "pin": nil},
			{"type": "application", "application": "directory", "context": "name"},
			{"type": "application", "application": "voicemail", "context": "name"},
			{"type": "application", "application": "fax_to_mail", "email": "a@example.org"},
		} {
			c.Do(http.MethodPut, path, object{"noanswer_destination": sent}).Want(http.StatusNoContent)
			got := c.Get(path).Want(http.StatusOK).Object()
			read, _ := got["noanswer_destination"].(map[string]any)
			for name, value := range sent {
				if fmt.Sprint(read[name]) != fmt.Sprint(value) {
					t.Errorf("%v reads back %v", sent, read)
				}
			}
			if got["busy_destination"] != nil {
				t.Errorf("what was not sent is %v", got["busy_destination"])
			}
		}
		// Clients can write what they read.
		c.Do(http.MethodPut, path, object{"fail_destination": object{"type": "user", "user_id": target["id"]}}).Want(http.StatusNoContent)
		read := c.Get(path).Object()
		if shown := read["fail_destination"].(map[string]any); shown["user_firstname"] != "Bo" || shown["user_lastname"] != "Ly" {
			t.Errorf("shown as %v", shown)
		}
		c.Do(http.MethodPut, path, read).Want(http.StatusNoContent)
		if again := c.Get(path).Object(); !reflect.DeepEqual(again, read) {
			t.Errorf("%v became %v", read, again)
		}
		c.Do(http.MethodPut, "/users/"+target.Text("id"), object{"lastname": nil}).Want(http.StatusNoContent)
		shown := c.Get(path).Object()["fail_destination"].(map[string]any)
		if last, there := shown["user_lastname"]; !there || last != nil {
			t.Errorf("without a lastname: %v", shown)
		}
		// Deleting a target also removes the destination.
		c.Do(http.MethodDelete, "/users/"+target.Text("id"), nil).Want(http.StatusNoContent)
		if gone := c.Get(path).Object(); gone["fail_destination"] != nil {
			t.Errorf("leads to nobody: %v", gone)
		}
	})
}

func TestDestinationsThatAreRefused(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		user := "/users/" + c.Create("/users", object{"firstname": "Al"}).Text("id")
		elsewhere := w.as(t, "b").Create("/users", object{"firstname": "Eve"})
		below := w.as(t, "a1").Create("/users", object{"firstname": "Di"})
		before := c.Get(user).Body
		for _, sent := range []any{
			"none", 1,
			[]any{},
			object{},
			object{"type": nil},
			object{"type": 1},
			object{"type": "x"},
			object{"type": "user"},
			object{"type": "user", "user_id": nil},
			object{"type": "user", "user_id": "x"},
			object{"type": "user", "user_id": true},
			object{"type": "user", "user_id": 99},
			object{"type": "user", "user_id": elsewhere["id"]},
			object{"type": "user", "user_id": below["id"]},
			object{"type": "voicemail", "voicemail_id": 99},
			object{"type": "group", "group_id": 1},
			object{"type": "queue", "queue_id": 1},
			object{"type": "conference", "conference_id": 1},
			object{"type": "ivr", "ivr_id": 1},
			object{"type": "outcall", "outcall_id": 1, "exten": "1"},
			object{"type": "switchboard", "switchboard_uuid": "00000000-0000-4000-8000-000000000000"},
			object{"type": "application", "application": "custom", "application_uuid": "00000000-0000-4000-8000-000000000000"},
			object{"type": "custom", "command": "invalid"},
			object{"type": "custom", "command": "System(id)"},
			object{"type": "custom", "command": "trysystem(id)"},
			object{"type": "custom", "command": "Set(X=${SHELL(id)})"},
			object{"type": "custom", "command": "Playback(a)\nx"},
			object{"type": "extension", "exten": "1", "context": "a@b"},
			object{"type": "extension", "exten": "a", "context": "b"},
			object{"type": "hangup"},
			object{"type": "hangup", "cause": "x"},
			object{"type": "hangup", "cause": "busy", "timeout": -1},
			object{"type": "application", "application": "disa", "context": "c", "pin": "12#"},
			object{"type": "application"},
			object{"type": "voicemail", "voicemail_id": 1, "greeting": "x"},
			object{"type": "voicemail", "voicemail_id": 1, "skip_instructions": nil},
			object{"type": "sound", "filename": "x", "skip": "true"},
			object{"type": "user", "user_id": 1, "ring_time": -1},
			object{"type": "queue", "queue_id": 1, "skill_rule_variables": object{"a": "b"}},
			object{"type": "queue", "queue_id": 1, "skill_rule_id": 1, "skill_rule_variables": object{"a": "b|c"}},
		} {
			c.Do(http.MethodPut, user+"/fallbacks", object{"busy_destination": sent}).Want(http.StatusBadRequest)
		}
		c.Do(http.MethodPut, user+"/fallbacks", object{"busy_destination": object{"type": "user", "user_id": 99}}).
			Want(http.StatusBadRequest).Says("Input Error - field 'actionarg1': User was not found ('actionarg1': '99')")
		if after := c.Get(user).Body; after != before {
			t.Errorf("a refused destination changed the user: %s", after)
		}
	})
}

// What has destinations, and what they lead to, is declared once, and what is forgotten does not start.
func TestForgottenDestinations(t *testing.T) {
	start := func(what string) (panicked any) {
		defer func() { panicked = recover() }()
		confdsvc.Forgets(what)
		return nil
	}
	for what, want := range map[string]any{
		"": nil, "holder": "confdsvc.shelf has destinations, and its collection no destinationsOf",
		"target": "the destination shelf leads to shelves, which nobody declares",
		"use":    "confd_shelf_extension joins something with extensions, and no extensionUse says what they lead to",
		"loser":  "shelves: confd_destination refers to other objects, and nothing says who may lose that",
	} {
		if got := start(what); got != want {
			t.Errorf("without the %s: %v", what, got)
		}
	}
	if got, want := confdsvc.SlotsOfShelf(), []string{"to", "levels[0].destination", "levels[1].destination"}; !slices.Equal(got, want) {
		t.Errorf("the slots are %q", got)
	}
}

// A refusal of a destination says by which name the client sent it.
func TestMissingTargets(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newWorld(t, db).as(t, "a")
		to := object{"type": "user", "user_id": 99}
		user := "/users/" + c.Create("/users", object{"firstname": "Al"}).Text("id")
		for _, sent := range []struct {
			method, path string
			body         object
			pointer      string
		}{
			{http.MethodPut, user + "/fallbacks", object{"busy_destination": to}, "/busy_destination/user_id"},
			{http.MethodPost, "/users", object{"firstname": "Bo", "fallbacks": object{"busy_destination": to}}, "/fallbacks/busy_destination/user_id"},
			{http.MethodPost, "/incalls", object{"destination": to}, "/destination/user_id"},
			{http.MethodPost, "/schedules", object{"closed_destination": to}, "/closed_destination/user_id"},
			{http.MethodPost, "/schedules", object{"closed_destination": object{"type": "none"}, "exceptional_periods": []any{
				object{"hours_start": "08:00", "hours_end": "09:00", "destination": to},
			}}, "/exceptional_periods/0/destination/user_id"},
		} {
			refused := c.With(resttest.Header("Accept", "application/problem+json")).Do(sent.method, sent.path, sent.body).Want(http.StatusBadRequest)
			if !strings.Contains(refused.Body, `"#`+sent.pointer+`"`) || !strings.Contains(refused.Body, "User was not found") {
				t.Errorf("%s %s: %s", sent.method, sent.path, refused.Body)
			}
		}
	})
}
