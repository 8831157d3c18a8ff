package confdsvc_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func init() {
	ours["PUT /agents/{}/queues"] = "confd.agents.{}.queues.update"
	simple["queues"] = simpleKind{"queue_id", object{"name": "q"}}
	simple["agents"] = simpleKind{"agent_id", object{"number": "9000"}}
	simple["agents/skills"] = simpleKind{"skill_id", object{"name": "s"}}
	samples["queues"] = crudtest.Resource{
		Minimal: func(_ *crudtest.Client, n int) object { return object{"name": fmt.Sprintf("q%d", n)} },
		Values: func(n int) object {
			busy := object{"type": "hangup", "cause": "busy", "timeout": float64(n)}
			return object{
				"music_on_hold": "default", "wait_time_destination": busy, "wait_ratio_destination": busy,
			}
		},
		Except: []string{"name", "options"}, Defaults: object{"options": confdsvc.NewQueueOptions()},
		Parts: map[string]object{"fallbacks": {"noanswer_destination": object{"type": "none"}}},
		Links: map[string]crudtest.Link{
			"extensions":    {Ready: func(c *crudtest.Client, _, extension object) { moveTo(c, extension, "internal") }, Kept: []string{"right"}},
			"members/users": {Ready: func(c *crudtest.Client, _, user object) { giveLine(c.Client, user) }},
		},
	}
	samples["agents"] = crudtest.Resource{
		Minimal: func(_ *crudtest.Client, n int) object { return object{"number": fmt.Sprint(9000 + n)} },
		Except:  []string{"number"},
	}
	samples["agents/skills"] = crudtest.Resource{
		Minimal: func(_ *crudtest.Client, n int) object { return object{"name": fmt.Sprintf("s%d", n)} },
	}
}

// A queue begins with usual options, and has only those that are known and lead nowhere else. Its name stays.
func TestQueueOptions(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		theirs := w.as(t, "b").Create("/contexts", object{"label": "theirs"}).Text("name")
		queue := c.Create("/queues", object{"name": "support", "options": []any{[]any{"timeout", "20"}}})
		path := "/queues/" + queue.Text("id")
		options := func() map[string]string {
			all := map[string]string{}
			for _, pair := range c.Get(path).Object()["options"].([]any) {
				all[pair.([]any)[0].(string)] = pair.([]any)[1].(string)
			}
			return all
		}
		if got := options(); got["timeout"] != "20" || got["strategy"] != "ringall" || got["queue-thankyou"] != "queue-thankyou" {
			t.Errorf("it begins with %v", got)
		}
		for says, pair := range map[string][]any{
			"invalid variable (no-such)' must": {"no-such", "1"},
			"Asterisk would run what it names": {"membergosub", "x"},
			"'options: membermacro' cannot be": {"membermacro", "x"},
			"a number of at most six digits":   {"timeout", "x"},
			"one of ringall":                   {"strategy", "all"},
			"the name of a sound":              {"announce", "/etc/passwd"},
			"Context was not found":            {"context", theirs},
			"penalty, paused":                  {"joinempty", "maybe"},
			"the names of sounds, with":        {"periodic-announce", "a,../b"},
		} {
			c.Do(http.MethodPut, path, object{"options": []any{pair}}).Want(http.StatusBadRequest).Says(says)
		}
		c.Do(http.MethodPut, path, object{"options": []any{[]any{"timeout", "1"}, []any{"timeout", "2"}}}).Want(http.StatusBadRequest).Says("is there twice")
		for _, wrong := range []any{[]any{"timeout"}, []any{"timeout", 1}, []any{"timeout", nil}, []any{"timeout", "1\n2"}} {
			c.Do(http.MethodPut, path, object{"options": []any{wrong}}).Want(http.StatusBadRequest).Says("options")
		}
		c.Do(http.MethodPut, path, object{"name": "other", "options": []any{[]any{"joinempty", "paused,penalty"}}}).Want(http.StatusNoContent)
		if got := options(); len(got) != 1 || got["joinempty"] != "paused,penalty" || c.Get(path).Object()["name"] != "support" {
			t.Errorf("it is %v", c.Get(path).Object())
		}
		c.Do(http.MethodPost, "/queues", object{"name": "support"}).Want(http.StatusBadRequest).Says("Queue already exists")
		c.Do(http.MethodPost, "/queues", object{"name": "general"}).Want(http.StatusBadRequest).Says("name")
		w.as(t, "b").Create("/queues", object{"name": "support"}) // another tenant's may have the same name
	})
}

// Agents and users are members, each with their place, and both sides show it. What leads to a queue goes with it.
func TestQueueMembersAndWhatLeadsThere(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		in := c.Create("/contexts", object{"label": "in", "queue_ranges": []any{object{"start": "3000", "end": "3999"}}})
		queue, other := c.Create("/queues", object{"name": "support", "label": "Support"}), c.Create("/queues", object{"name": "sales"})
		path := "/queues/" + queue.Text("id")
		for exten, status := range map[string]int{"3001": http.StatusNoContent, "4001": http.StatusBadRequest} {
			x := c.Create("/extensions", object{"exten": exten, "context": in["name"]})
			c.Do(http.MethodPut, path+"/extensions/"+x.Text("id"), nil).Want(status)
			if got := c.Get("/extensions/" + x.Text("id")).Object(); (at(got, "queue.label") == "Support") != (status == http.StatusNoContent) {
				t.Errorf("%s is of %v", exten, got["queue"])
			}
		}
		ann := c.Create("/agents", object{"number": "9001", "firstname": "Ann", "queues": []any{object{"id": queue["id"], "penalty": 3}}})
		ben := c.Create("/agents", object{"number": "9002"})
		c.Do(http.MethodPost, "/agents", object{"number": "9003", "queues": []any{object{"id": 99999}}}).Want(http.StatusBadRequest).Says("Queue was not found")
		c.Do(http.MethodPost, "/agents", object{"number": "9003", "queues": []any{object{"penalty": 1}}}).Want(http.StatusBadRequest)
		c.Do(http.MethodPost, "/agents", object{"number": "9001"}).Want(http.StatusBadRequest).Says("Agent already exists")
		member := path + "/members/agents/" + ben.Text("id")
		c.Do(http.MethodPut, member, object{"penalty": -1}).Want(http.StatusBadRequest).Says("penalty")
		c.Do(http.MethodPut, member, object{}).Want(http.StatusNoContent)
		c.Do(http.MethodPut, member, object{"penalty": 2, "priority": 7}).Want(http.StatusNoContent)
		c.Do(http.MethodPut, member, object{"penalty": 1}).Want(http.StatusNoContent) // the priority stays
		al := c.Create("/users", object{"firstname": "Al"})
		user := path + "/members/users/" + al.Text("uuid")
		c.Do(http.MethodPut, user, object{}).Want(http.StatusBadRequest).Says("User must be associated with a Line")
		line := giveLine(c, al)
		bo := c.Create("/users", object{"firstname": "Bo"})
		c.Do(http.MethodPut, "/users/"+bo.Text("id")+"/lines/"+line.Text("id"), nil).Want(http.StatusNoContent)
		c.Do(http.MethodPut, user, object{"priority": 4}).Want(http.StatusNoContent)
		c.Do(http.MethodPut, path+"/members/users/"+bo.Text("uuid"), object{}).Want(http.StatusBadRequest).Says("different users with the same line")

		c.Do(http.MethodPut, "/users/"+al.Text("id")+"/agents/"+ann.Text("id"), nil).Want(http.StatusNoContent)
		c.Do(http.MethodPut, "/users/"+al.Text("id")+"/agents/"+ben.Text("id"), nil).Want(http.StatusBadRequest).Says("User is associated with a Agent")
		skill := c.Create("/agents/skills", object{"name": "french"})
		c.Do(http.MethodPut, "/agents/"+ann.Text("id")+"/skills/"+skill.Text("id"), object{"skill_weight": 60}).Want(http.StatusNoContent)
		shows := func(path string, wants map[string]any) {
			t.Helper()
			got := c.Get(path).Object()
			for attribute, want := range wants {
				if has := at(got, attribute); fmt.Sprint(has) != fmt.Sprint(want) {
					t.Errorf("%s: %s is %v, want %v", path, attribute, has, want)
				}
			}
		}
		shows(path, map[string]any{
			"members.agents.0.number": "9001", "members.agents.0.firstname": "Ann", "members.agents.0.penalty": 3, "members.agents.1.penalty": 1,
			"members.agents.1.priority": 7, "members.users.0.firstname": "Al", "members.users.0.priority": 4, "extensions.0.exten": "3001",
		})
		shows("/agents/"+ann.Text("id"), map[string]any{
			"queues.0.label": "Support", "queues.0.penalty": 3, "skills.0.name": "french", "skills.0.skill_weight": 60, "users.0.firstname": "Al",
		})
		shows("/agents/skills/"+skill.Text("id"), map[string]any{"agents.0.number": "9001", "agents.0.skill_weight": 60})
		shows("/users/"+al.Text("id"), map[string]any{"queues.0.name": "support", "agent.number": "9001"})
		if entry := c.Get("/users?view=directory&firstname=Al").List().Items[0]; entry.Text("agent_id") != ann.Text("id") {
			t.Errorf("the directory shows %v", entry)
		}

		// A call may be led to it by a rule, whose end leaves the destination; the end of the queue ends it.
		rule := c.Create("/queues/skillrules", object{"name": "r"})
		to := object{"type": "queue", "queue_id": queue["id"], "ring_time": 5.5, "skill_rule_id": rule["id"], "skill_rule_variables": object{"lang": "fr"}}
		incall := "/incalls/" + c.Create("/incalls", object{"destination": to}).Text("id")
		shows(incall, map[string]any{"destination.queue_label": "Support", "destination.skill_rule_id": rule["id"], "destination.skill_rule_variables.lang": "fr"})
		c.Do(http.MethodPut, incall, object{"destination": object{"type": "queue", "queue_id": queue["id"], "skill_rule_id": 99999}}).
			Want(http.StatusBadRequest).Says("field 'skill_rule_id': SkillRule was not found")
		c.Do(http.MethodPut, "/queues/"+other.Text("id")+"/fallbacks", object{"busy_destination": to, "fail_destination": object{"type": "none"}}).Want(http.StatusNoContent)
		c.Do(http.MethodPut, "/queues/"+other.Text("id"), object{"wait_time_threshold": 3, "wait_time_destination": to}).Want(http.StatusNoContent)
		shows("/queues/"+other.Text("id")+"/fallbacks", map[string]any{"busy_destination.queue_id": queue["id"], "fail_destination.type": "none"})
		keys := "/users/" + al.Text("uuid") + "/funckeys/"
		c.Do(http.MethodPut, keys+"1", object{"destination": object{"type": "queue", "queue_id": queue["id"]}}).Want(http.StatusNoContent)
		c.Do(http.MethodPut, keys+"2", object{"destination": object{"type": "agent", "agent_id": ann["id"], "action": "toggle"}}).Want(http.StatusNoContent)
		c.Do(http.MethodDelete, "/queues/skillrules/"+rule.Text("id"), nil).Want(http.StatusNoContent)
		shows(incall, map[string]any{"destination.queue_id": queue["id"], "destination.skill_rule_id": nil, "destination.skill_rule_variables": nil})
		w.holding(t, "confd.#", "!confd.queues."+other.Text("id")+".fallbacks.update").Do(http.MethodDelete, path, nil).Want(http.StatusForbidden)
		w.holding(t, "confd.#", "!confd.queues."+other.Text("id")+".update").Do(http.MethodDelete, path, nil).Want(http.StatusForbidden)
		c.Do(http.MethodDelete, path, nil).Want(http.StatusNoContent)
		c.Do(http.MethodDelete, "/agents/"+ann.Text("id"), nil).Want(http.StatusNoContent)
		shows(incall, map[string]any{"destination.type": "none"})
		shows("/queues/"+other.Text("id"), map[string]any{"wait_time_destination": nil, "fallbacks.busy_destination": nil, "fallbacks.fail_destination.type": "none"})
		shows("/users/"+al.Text("id"), map[string]any{"queues": []any{}, "agent": nil})
		c.Get(keys + "1").Want(http.StatusNotFound)
		c.Get(keys + "2").Want(http.StatusNotFound)

		// A user's own agent is made with them, with their names and their number.
		company := newCompany(c)
		cy := company.user("1001")
		cy["agent"] = object{}
		made := c.Create("/users", cy)
		if at(made, "agent.number") != "1001" || at(made, "agent.lastname") != "One" {
			t.Errorf("the agent of a new user is %v", made["agent"])
		}
		c.Do(http.MethodPost, "/users", object{"firstname": "Di", "agent": object{}}).Want(http.StatusBadRequest).Says("the user has no number")
	})
}
