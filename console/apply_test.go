package console_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// The page of the telephone system shows what would change, object by object, and who changed it, as far as the token may read that. It applies
// that, tells what became of each module, and goes back to an earlier generation.
func TestConsoleAppliesAndGoesBack(t *testing.T) {
	t.Setenv("RINGFENCE_ASTERISK_FOLDER", filepath.Join(t.TempDir(), "generated"))
	g, o, admin, in := desk(t)
	g.Do(t, "POST", "/api/confd/1.1/users", admin, `{"firstname":"Bob","lines":[{"context":"`+in+`","endpoint_sip":{"name":"bobs","auth_section_options":[["username","bobs"],["password","his"]]},
		"extensions":[{"exten":"1043","context":"`+in+`"}]}]}`).Want(201)
	o.press("Live")
	o.reads("Live reload is on")
	o.press("Switch it off")
	o.reads("Changes wait until somebody applies them.")
	o.press("Apply")
	o.reads("It has what is stored.")
	live := func() (number string) {
		for _, item := range g.Do(t, "GET", "/api/sysconfd/apply/generations", admin, "").Want(200).List().Items {
			if item["live"] == true {
				number = fmt.Sprint(item["generation"])
			}
		}
		return number
	}
	first := live()

	const secret = "a-secret-of-a-telephone"
	olga := g.Do(t, "POST", "/api/auth/0.1/users", admin, `{"username":"olga","password":"a-long-password"}`).Want(200).Text("uuid")
	policy := g.Do(t, "POST", "/api/auth/0.1/policies", admin, `{"name":"telephony","acl":["confd.#","sysconfd.apply.preview.read","sysconfd.apply.generations.read"]}`).Want(200).Text("uuid")
	g.Do(t, "PUT", "/api/auth/0.1/users/"+olga+"/policies/"+policy, admin, "").Want(204)
	hers := g.Login(t, "olga", "a-long-password")
	g.Do(t, "POST", "/api/confd/1.1/users", hers, `{"firstname":"Ada","lines":[{"context":"`+in+`","endpoint_sip":{"name":"adas","auth_section_options":[["username","adas"],["password","`+secret+`"]]},
		"extensions":[{"exten":"1042","context":"`+in+`"}]}]}`).Want(201)
	o.goTo("#/", "Welcome, admin")
	o.press("Live")
	o.reads("It does not have what is stored yet.")
	o.until(`[...document.querySelectorAll('.objects summary')].some((s) => s.textContent.startsWith('new adas pjsip.conf'))`, "the telephone is not among what would change")
	o.until(`[...document.querySelectorAll('.objects summary')].some((s) => s.textContent.includes(' 1042 in Inside extensions.conf'))`, "the number is not among what would change")
	if stamps := o.script(t, `[...document.querySelectorAll('.objects summary')].map((s) => s.textContent).join()`); strings.Contains(stamps, "ringfence-folder") {
		t.Errorf("the sums of files are among the objects: %s", stamps)
	}
	o.until(`[...document.querySelectorAll('main tbody tr')].some((tr) => tr.textContent.includes('olga') && tr.textContent.includes('Create a user'))`, "who changed it is not told")
	if all := o.script(t, `document.querySelector('main').textContent`); strings.Contains(all, secret) || !strings.Contains(all, "password = (hidden)") {
		t.Error("the page shows a password, or not that there is one")
	}
	o.shoot(t, "apply-changes")
	o.press("Apply")
	o.reads("It has what is stored.")
	o.until(`[...document.querySelectorAll('.progress tbody tr')].some((tr) => tr.textContent.includes('res_pjsip') && tr.textContent.includes('no Asterisk is configured'))`, "the result of the modules is not told")
	second := live()
	if second == first {
		t.Fatalf("generation %s is live still", first)
	}
	g.Do(t, "PUT", "/api/confd/1.1/configuration/live_reload", admin, `{"enabled":true}`).Want(204)
	o.goTo("#/", "Welcome, admin")
	o.press("Live")
	o.reads("Live reload is on")
	o.until(fmt.Sprintf(`(document.querySelector('[aria-label="Go back to generation %s"]')?.click(), document.querySelector('dialog[open] input'))`, first), "nobody is asked")
	o.click("dialog[open] input")
	o.press("Go back")
	o.until(`document.querySelector('.progress .badge')?.textContent === 'Done'`, "the job is not done")
	o.reads("It does not have what is stored yet.")
	o.reads("Live reload is off")
	if now := live(); now != first {
		t.Errorf("generation %s is live, want %s", now, first)
	}
	o.shoot(t, "apply-back")
	o.press("Sign out")
	o.reads("Signed out.")

	// Who may only look starts nothing, and does not see who changed what.
	o.goTo("", "Sign in")
	o.signIn("olga", "a-long-password")
	o.press("Live")
	o.reads("Earlier generations")
	if seen := o.script(t, `[document.querySelector('header.title button').disabled, [...document.querySelectorAll('main td button')].every((b) => b.disabled), document.querySelector('main').textContent.includes('Who changed')].join()`); seen != "true,true,false" {
		t.Errorf("who may only look: nothing to apply, nowhere to go back, and the changes of others: %s", seen)
	}
	o.clean(t, "while it was applied and taken back")
}
