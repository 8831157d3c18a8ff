package caddymodule_test

import (
	"fmt"
	"strings"
	"testing"
)

// A denial of a person holds by each of their names: the telephone user's number and UUID, the login, and `me`. It holds for what other paths
// do to them, too.
func TestADenialOfAPersonByAnyName(t *testing.T) {
	g := loadDefault(t, "")
	admin := g.Admin(t)
	const confd, auth = "/api/confd/1.1", "/api/auth/0.1"
	in := g.Do(t, "POST", confd+"/contexts", admin, `{"label":"Inside"}`).Want(201).Text("name")
	ada := g.Do(t, "POST", confd+"/users", admin, `{"firstname":"Ada",
		"lines":[{"context":"`+in+`","endpoint_sip":{"auth_section_options":[["password","secret"]]}}],
		"auth":{"username":"ada","password":"Correct.horse-ada"}}`).Want(201)
	id, uuid := ada.JSON("id"), ada.Text("uuid")
	group := g.Do(t, "POST", auth+"/groups", admin, `{"name":"g"}`).Want(200).Text("uuid")
	session := g.Do(t, "GET", auth+"/token/"+g.Login(t, "ada", "Correct.horse-ada"), "", "").Want(200).Text("data.session_uuid")
	sip := "/lines/main/associated/endpoints/sip"
	if got := g.Do(t, "GET", confd+"/users/"+uuid+sip, admin, "").Want(200); !strings.Contains(got.Body, "secret") {
		t.Fatalf("there is nothing to hide: %s", got.Body)
	}
	for i, denial := range []string{
		fmt.Sprintf("confd.users.%v.#", id), "confd.users." + uuid + ".#", "auth.users." + uuid + ".#", fmt.Sprintf("*.users.%v.#", id),
	} {
		helper, _, held := g.Account(t, admin, fmt.Sprint("helpdesk", i), "#", "!"+denial)
		for _, way := range [][3]string{
			{"GET", fmt.Sprintf("%s/users/%v", confd, id), ""},
			{"GET", confd + "/users/" + uuid, ""},
			{"GET", confd + "/users/" + uuid + sip, ""},
			{"PUT", confd + "/users/" + uuid + "?recursive=true", `{"auth":{"lastname":"x"}}`},
			{"DELETE", fmt.Sprintf("%s/users/%v?recursive=true", confd, id), ""},
			{"GET", auth + "/users/" + uuid, ""},
			{"PUT", auth + "/users/" + uuid, `{"lastname":"x"}`},
			{"DELETE", auth + "/users/" + uuid, ""},
			{"POST", auth + "/users/password/reset?user_uuid=" + uuid, `{"password":"Correct.horse-new"}`},
			{"PUT", auth + "/admin/users/" + uuid + "/emails", `{"emails":[]}`},
			{"PUT", auth + "/idp/native/users/" + uuid, ""},
			{"PUT", auth + "/groups/" + group + "/users/" + uuid, ""},
			{"DELETE", auth + "/sessions/" + session, ""},
		} {
			if a := g.Do(t, way[0], way[1], held, way[2]); a.Status != 403 {
				t.Errorf("!%s: %s %s: %d %s", denial, way[0], way[1], a.Status, a.Body)
			}
		}
		for _, list := range []string{confd + "/users", auth + "/users"} {
			if got := g.Do(t, "GET", list, held, "").Want(200); strings.Contains(got.Body, uuid) {
				t.Errorf("!%s: %s lists the user", denial, list)
			}
		}
		if why := g.Do(t, "GET", auth+"/explain?method=GET&path="+confd+"/users/"+uuid, held, "").Want(200); why.JSON("allowed") != false ||
			why.Text("pattern") != "!"+denial || !strings.Contains(why.Body, "helpdesk") {
			t.Errorf("!%s is explained as %s", denial, why.Body)
		}
		// By the name that is asked for, to those who may not know the person's others.
		_, _, blind := g.Account(t, admin, fmt.Sprint("blind", i), "#", "!confd.users."+uuid+".read")
		if why := g.Do(t, "GET", auth+"/explain?method=GET&path="+confd+"/users/"+uuid+"&user_uuid="+helper, blind, "").Want(200); why.JSON("allowed") != false ||
			strings.Contains(why.Body, fmt.Sprintf(".%v.", id)) || !strings.Contains(why.Body, "helpdesk") {
			t.Errorf("!%s is explained to others as %s", denial, why.Body)
		}
	}
	// Their own number is `me` as well. Somebody else's is not theirs.
	policy := g.Do(t, "POST", auth+"/policies", admin, `{"name":"own","acl":["confd.#","!confd.users.me.forwards.#"]}`).Want(200).Text("uuid")
	g.Do(t, "PUT", auth+"/users/"+uuid+"/policies/"+policy, admin, "").Want(204)
	mine := g.Login(t, "ada", "Correct.horse-ada")
	g.Do(t, "GET", fmt.Sprintf("%s/users/%v/forwards", confd, id), mine, "").Want(403)
	g.Do(t, "GET", fmt.Sprintf("%s/users/%v", confd, id), mine, "").Want(200)
	other := g.Do(t, "POST", confd+"/users", admin, `{"firstname":"Bo"}`).Want(201).JSON("id")
	g.Do(t, "GET", fmt.Sprintf("%s/users/%v/forwards", confd, other), mine, "").Want(200)
}
