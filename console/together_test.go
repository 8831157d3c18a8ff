package console_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
)

// Two operators work on the same objects. What one has saved since the other opened a page is told, and stays; what the other has typed
// stays too.
func TestConsoleOfTwoOperators(t *testing.T) {
	g := gatewaytest.LoadDefault(t, "")
	o := &operator{newBrowser(t), t, g.URL}
	admin := g.Admin(t)
	const confd, auth = "/api/confd/1.1", "/api/auth/0.1"
	in := g.Do(t, "POST", confd+"/contexts", admin, `{"label":"Inside"}`).Want(201).Text("name")
	users := map[string]string{}
	for _, name := range []string{"Bob", "Carol", "Dave"} {
		users[name] = g.Do(t, "POST", confd+"/users", admin, `{"firstname":"`+name+`","lines":[{"context":"`+in+`","endpoint_sip":{}}]}`).Want(201).Text("uuid")
	}
	group := confd + "/groups/" + g.Do(t, "POST", confd+"/groups", admin, `{"label":"Sales"}`).Want(201).Text("uuid")
	members := func(names ...string) {
		t.Helper()
		list := []map[string]string{}
		for _, name := range names {
			list = append(list, map[string]string{"uuid": users[name]})
		}
		body, _ := json.Marshal(map[string]any{"users": list})
		g.Do(t, "PUT", group+"/members/users", admin, string(body)).Want(204)
	}
	are := func(names ...string) {
		t.Helper()
		body := g.Do(t, "GET", group, admin, "").Want(200).Body
		for name, uuid := range users {
			want := false
			for _, n := range names {
				want = want || n == name
			}
			if strings.Contains(body, uuid) != want {
				t.Errorf("%s is a member: %v; the group is %s", name, !want, body)
			}
		}
	}
	members("Bob", "Carol")
	o.goTo("", "Sign in")
	o.signIn("admin", gatewaytest.Password)

	// The members of a group: a colleague removes Bob, and the operator adds Dave to what was there before.
	o.goTo("#"+strings.Replace(group, confd, "/confd", 1), "Sales")
	o.part("Users who are members")
	o.press("Add one")
	members("Carol")
	o.script(t, fmt.Sprintf(`[...document.querySelectorAll('details.part[open] .row')].at(-1).querySelector('input').value = %q, ''`, users["Dave"]))
	o.click("details.part[open] form button.primary")
	o.reads("Somebody else has changed this since you opened it.")
	o.reads("Users was Bob, Carol and is now Carol.")
	are("Carol")
	o.shoot(t, "12-both")
	for _, violation := range o.violations() {
		t.Error(violation)
	}
	o.press("Save mine too")
	o.reads("Users who are members saved.")
	are("Carol", "Dave")
	o.until(`document.querySelector('details.part[open]') && document.activeElement.textContent === 'Users who are members'`, "the part is closed after it was saved, or has lost the focus")
	o.clean(t, "after a change of the members", "412")

	// A field of the object: both changes are kept.
	o.enter("Name", "Sales and support")
	g.Do(t, "PUT", group, admin, `{"ring_strategy":"least_recent"}`).Want(204)
	o.click("section.whole button.primary")
	o.reads("Ring strategy was All at once and is now Who was called least recently.")
	o.until(`[...document.querySelectorAll('section.whole input')].some((i) => i.value === 'Sales and support')`, "what was typed is lost")
	o.press("Save mine too")
	o.until(`document.querySelector('main h1').textContent === 'Sales and support'`, "the group is not renamed")
	if now := g.Do(t, "GET", group, admin, "").Want(200); now.Text("label") != "Sales and support" || now.Text("ring_strategy") != "least_recent" {
		t.Errorf("the group is %s", now.Body)
	}
	o.until(`document.activeElement.matches('section.whole button.primary')`, "the focus is lost after saving")

	// What a colleague has changed is not deleted unseen, neither from its page nor from the list.
	g.Do(t, "PUT", group, admin, `{"label":"Marketing"}`).Want(204)
	o.press("Delete")
	o.see("dialog[open]")
	o.click("dialog[open] .danger")
	o.reads("Nothing was done: this is how it is now.")
	o.until(`document.querySelector('main h1').textContent === 'Marketing'`, "the page shows what is not there any more")
	o.goTo("#/confd/groups", "Groups")
	o.see("td.pick input")
	o.click("td.pick input")
	g.Do(t, "PUT", group, admin, `{"label":"Support"}`).Want(204)
	o.press("Delete")
	o.see("dialog[open]")
	o.click("dialog[open] .danger")
	o.reads("It has changed since it was listed: choose it again.")
	o.reads("Support")
	g.Do(t, "GET", group, admin, "").Want(200)

	// The patterns of a policy.
	policy := auth + "/policies/" + g.Do(t, "POST", auth+"/policies", admin, `{"name":"reception","acl":["confd.users.read"]}`).Want(200).Text("uuid")
	o.goTo("#"+strings.Replace(policy, auth, "/auth", 1), "reception")
	o.press("Add a pattern")
	o.hit("confd.lines.read")
	g.Do(t, "PUT", policy, admin, `{"acl":["confd.users.read","confd.groups.read"]}`).Want(200)
	o.press("Save")
	o.reads("What it allows was confd.users.read and is now confd.users.read, confd.groups.read.")
	o.press("Save mine too")
	o.reads("Tokens that are in use have the new rights already.")
	if acl := g.Do(t, "GET", policy, admin, "").Want(200).Body; !strings.Contains(acl, `["confd.users.read","confd.lines.read","confd.groups.read"]`) {
		t.Errorf("the policy is %s", acl)
	}
	o.clean(t, "after changes of two", "412")
}

// Every change of what has a version names the version, whatever page makes it.
func TestConsoleNamesVersions(t *testing.T) {
	g := gatewaytest.LoadDefault(t, "")
	o := &operator{newBrowser(t), t, g.URL}
	admin := g.Admin(t)
	const confd, auth = "/api/confd/1.1", "/api/auth/0.1"
	in := g.Do(t, "POST", confd+"/contexts", admin, `{"label":"Inside","user_ranges":[{"start":"1000","end":"1999"}]}`).Want(201).Text("name")
	ada := g.Do(t, "POST", confd+"/users", admin, `{"firstname":"Ada","lines":[{"context":"`+in+`","endpoint_sip":{},"extensions":[{"exten":"1042","context":"`+in+`"}]}],"voicemail":{"name":"Ada","number":"1042","context":"`+in+`"}}`).Want(201).Text("uuid")
	login := g.Do(t, "POST", auth+"/users", admin, `{"username":"ada"}`).Want(200).Text("uuid")
	o.goTo("", "Sign in")
	o.signIn("admin", gatewaytest.Password)
	o.script(t, `window.changes = [], ((real) => { window.fetch = (url, options = {}) => {
		if (['PUT', 'DELETE', 'PATCH'].includes(options.method) && !new URL(url).searchParams.has('dry_run')) window.changes.push(options.method + ' ' + new URL(url).pathname + ' ' + (options.headers['If-Match'] ?? 'none'));
		return real(url, options);
	}; })(window.fetch), ''`)
	o.open(fmt.Sprintf("#/confd/users/%s", ada))
	o.until(`document.querySelector('main h1')?.textContent === 'Ada'`, "the user's page does not open")
	o.enter("Last name", "Lovelace")
	o.click("section.whole button.primary")
	o.reads("Saved.")
	for _, part := range []string{"Forwards", "Do not disturb settings", "Destinations of unanswered calls", "Function keys"} {
		o.part(part)
		o.until(fmt.Sprintf(`[...document.querySelectorAll('details.part[open]')].some((d) => d.querySelector('summary').textContent === %q && d.querySelector('form button.primary'))`, part), "%s are not shown", part)
		o.script(t, fmt.Sprintf(`[...document.querySelectorAll('details.part[open]')].find((d) => d.querySelector('summary').textContent === %q).querySelector('form button.primary').click(), ''`, part))
		o.reads(part + " saved.")
	}
	o.part("Voicemails")
	o.until(`document.querySelector('[aria-label="Remove Ada"]')`, "the voicemail cannot be taken away")
	o.click(`[aria-label="Remove Ada"]`)
	o.reads("The link was removed.")
	o.open(fmt.Sprintf("#/auth/users/%s", login))
	o.until(`document.querySelector('main h1')?.textContent === 'ada'`, "the login's page does not open")
	o.part("Password, with the old one")
	o.until(`document.querySelectorAll('details.part[open] input[type=password]').length === 2`, "passwords are shown while they are typed")
	o.part("E-mails")
	o.until(`[...document.querySelectorAll('details.part[open]')].some((d) => d.querySelector('summary').textContent === 'E-mails' && d.querySelector('form button.primary'))`, "the addresses are not shown")
	o.script(t, `[...document.querySelectorAll('details.part[open]')].find((d) => d.querySelector('summary').textContent === 'E-mails').querySelector('form button.primary').click(), ''`)
	o.reads("E-mails saved.")
	o.press("Delete")
	o.see("dialog[open]")
	o.click("dialog[open] .danger")
	o.reads("ada was deleted.")
	var changes []string
	if err := json.Unmarshal([]byte(o.script(t, `JSON.stringify(window.changes)`)), &changes); err != nil {
		t.Fatal(err)
	}
	if len(changes) != 8 {
		t.Errorf("the changes are %q", changes)
	}
	for _, change := range changes {
		if strings.HasSuffix(change, " none") {
			t.Errorf("a change names no version: %s", change)
		}
	}
	o.clean(t, "after changes")
}

// Of many contexts and tenants any can be chosen: the server searches them. A list of tenants that does not come is told.
func TestConsoleChoosesAmongMany(t *testing.T) {
	g := gatewaytest.LoadDefault(t, "")
	o := &operator{newBrowser(t), t, g.URL}
	admin := g.Admin(t)
	for i := range 120 {
		g.Do(t, "POST", "/api/confd/1.1/contexts", admin, fmt.Sprintf(`{"label":"Place %03d","user_ranges":[{"start":"1000","end":"1999"}]}`, i)).Want(201)
	}
	for i := range 60 {
		g.Do(t, "POST", "/api/auth/0.1/tenants", admin, fmt.Sprintf(`{"name":"Branch %03d"}`, i)).Want(200)
	}
	o.goTo("", "Sign in")
	o.script(t, `window.real = window.fetch, window.fetch = (url, options) => new URL(url, location).pathname.endsWith('/tenants')
		? Promise.resolve(new Response('{"message": "The database is away"}', { status: 503, headers: { 'Content-Type': 'application/json' } })) : window.real(url, options), ''`)
	o.signIn("admin", gatewaytest.Password)
	o.reads("The tenants could not be loaded: The database is away")
	o.script(t, `window.fetch = window.real, ''`)
	o.click("#head .tenant button")
	o.see("input#tenant")
	o.goTo("#/telephone", "New telephone user")
	o.until(`document.querySelector('[data-name=context]')?.value === 'Place 000'`, "no context is proposed")
	o.enter("First name", "Ada")
	o.enter("Number", "1042")
	o.enter("Dialling area", "Place 117")
	o.until(`[...document.querySelector('[data-name=context]').list.options].some((o) => o.value === 'Place 117')`, "the context is not suggested")
	o.press("Create")
	o.reads("Ada was created with the number 1042.")
	o.until(`document.activeElement?.tagName === 'H1'`, "the page of Ada is not there") // it takes the focus
	context := g.Do(t, "GET", "/api/confd/1.1/contexts?search=Place+117", admin, "").List().Items[0]["name"]
	if made := g.Do(t, "GET", "/api/confd/1.1/extensions", admin, "").List().Items; len(made) != 1 || made[0]["context"] != context {
		t.Errorf("the numbers are %v, the context is %v", made, context)
	}

	// A tenant that is not among the first, which a reload keeps.
	o.enter("Tenant", "Branch 058")
	o.until(`[...document.getElementById('tenant').list.options].some((o) => o.value === 'Branch 058')`, "the tenant is not suggested")
	o.script(t, `document.getElementById('tenant').blur(), ''`)
	o.goTo("#/confd/users", "People")
	o.reads("There is nothing here yet. Make the first one")
	o.run(t, chromedp.Reload())
	o.until(`document.getElementById('tenant')?.value === 'Branch 058'`, "a reload forgets the tenant")
	o.reads("There is nothing here yet. Make the first one")
	o.clean(t, "among many")
}

// Titles, labels, values and columns are those that the definitions say.
func TestConsoleSpeaks(t *testing.T) {
	g := gatewaytest.LoadDefault(t, "")
	o := &operator{newBrowser(t), t, g.URL}
	admin := g.Admin(t)
	const confd = "/api/confd/1.1"
	in := g.Do(t, "POST", confd+"/contexts", admin, `{"label":"Inside","user_ranges":[{"start":"1000","end":"1999"}],"group_ranges":[{"start":"2000","end":"2999"}]}`).Want(201).Text("name")
	user := g.Do(t, "POST", confd+"/users", admin, `{"firstname":"Ada","lines":[{"context":"`+in+`","endpoint_sip":{}}]}`).Want(201)
	ada := user.JSON("id")
	sales := g.Do(t, "POST", confd+"/groups", admin, `{"label":"Sales","ring_strategy":"memorized_round_robin"}`).Want(201)
	for _, destination := range []string{
		fmt.Sprintf(`{"type":"user","user_id":%v}`, ada), fmt.Sprintf(`{"type":"group","group_id":%v,"ring_time":30}`, sales.JSON("id")),
		`{"type":"hangup","cause":"busy","timeout":5}`,
	} {
		g.Do(t, "POST", confd+"/incalls", admin, `{"destination":`+destination+`}`).Want(201)
	}
	exten := g.Do(t, "POST", confd+"/extensions", admin, `{"exten":"2000","context":"`+in+`"}`).Want(201).JSON("id")
	g.Do(t, "PUT", confd+"/groups/"+sales.Text("uuid")+"/members/users", admin, `{"users":[{"uuid":"`+user.Text("uuid")+`"}]}`).Want(204)
	g.Do(t, "PUT", fmt.Sprint(confd, "/groups/", sales.Text("uuid"), "/extensions/", exten), admin, "").Want(204)
	g.Do(t, "PUT", confd+"/asterisk/voicemail/general", admin, `{"options":{"maxmsg":"100"}}`).Want(204)
	o.goTo("", "Sign in")
	o.signIn("admin", gatewaytest.Password)
	for _, title := range []string{"Function key templates", "SIP endpoint templates", "Incoming numbers", "Music on hold", "Service codes", "Ways to log in", "LDAP directory"} {
		o.until(fmt.Sprintf(`[...document.querySelectorAll('nav a')].some((a) => a.textContent === %q)`, title), "no page is called %s", title)
	}
	o.goTo("#/confd/groups", "Groups")
	o.until(`[...document.querySelectorAll('tbody td')].map((td) => td.dataset.label + '=' + td.textContent).join().includes('Name=Sales,Numbers=2000,Members=Ada,Ring strategy=In turn, from the last one called,Enabled=yes')`, "the columns are not those")
	o.goTo("#/confd/groups/+new", "Create a group")
	o.until(`[...document.querySelectorAll('option')].some((o) => o.value === 'least_recent' && o.textContent === 'Who was called least recently')`, "the values are shown raw")
	o.goTo("#/confd/incalls", "Incoming numbers")
	for _, destination := range []string{"User: Ada", "Group: Sales", "Hangup: busy: timeout 5"} {
		o.until(fmt.Sprintf(`[...document.querySelectorAll('tbody td')].some((td) => td.textContent === %q)`, destination), "the destination %s is not told", destination)
	}

	// What other objects have for a name of their own is shown by the names that these have for people.
	cell := func(label, text string) {
		t.Helper()
		o.until(fmt.Sprintf(`[...document.querySelectorAll('tbody td[data-label="%s"]')].some((td) => td.textContent === %q)`, label, text), "the column %s does not have %s", label, text)
	}
	o.goTo("#/confd/users", "People")
	cell("Groups", "Sales")
	o.goTo("#/confd/lines", "Telephones")
	cell("Dialling area", "Inside")
	o.goTo("#/confd/extensions", "Numbers")
	cell("Group", "Sales")
	o.goTo("#/confd/groups/"+sales.Text("uuid"), "Sales")
	o.until(`[...document.querySelectorAll('details.facts dt')].some((dt) => dt.textContent === 'Tenant' && dt.nextSibling.textContent === 'master')`, "the tenant is not named")
	o.goTo("#/confd/sip/transports", "SIP transports")
	o.until(`[...document.querySelectorAll('tbody td')].some((td) => /^protocol = udp, bind = /.test(td.textContent))`, "options are not told as names and values")

	o.goTo("#/confd/extensions/features", "Service codes")
	cell("Feature", "End all forwards")
	o.goTo("#/confd/moh/+new", "Create a music on hold")

	// A form speaks of its own fields, and has no JSON.
	o.goTo("#/confd/voicemails/+new", "Create a voicemail")
	o.until(`document.querySelector('main').textContent.includes('Needs email and “Attach audio”')`, "a hint names a field as the API does")
	o.until(`document.querySelector('main form') && !/\bnull\b/.test(document.querySelector('main form').textContent)`, "a hint speaks of null")
	o.goTo("#/confd/incalls/+new", "Create an incoming number")
	o.until(`document.querySelector('main form > *').textContent.startsWith('Destination *')`, "what must be there is not the first field")
	o.goTo("#/auth/users/+new", "Create a user")
	o.until(`document.querySelector('main form') && !/Taken (from|on)|is not sent|user is a person/.test(document.querySelector('main form').textContent)`, "a hint speaks to programs")
	o.goTo("#/auth/idp", "Ways to log in")
	cell("Name", "Password kept here")
	o.goTo("#/confd/asterisk/voicemail/general", "General settings of voicemails")
	o.until(`document.querySelector('main form textarea')?.value === 'maxmsg = 100'`, "the options are no names and values")
	o.enter("Options", "maxmsg = 200\ngreeting = a = b")
	o.press("Save")
	o.reads("Saved.")
	if now := g.Do(t, "GET", confd+"/asterisk/voicemail/general", admin, "").Want(200).Body; !strings.Contains(now, `{"greeting":"a = b","maxmsg":"200"}`) {
		t.Errorf("the settings are %s", now)
	}
	o.goTo("#/auth/audit", "Audit")
	o.until(`[...document.querySelectorAll('tbody td[data-label="Who"]')].some((td) => td.textContent === 'admin')`, "who did it is no name")
	row := func(id, action, resource, object string) {
		t.Helper()
		o.until(fmt.Sprintf(`[...document.querySelectorAll('tbody tr')].some((tr) => ['Action', 'Resource', 'Object'].map((name) => tr.querySelector('[data-label="' + name + '"]').textContent).join(' | ') === %q
			&& tr.querySelector('[data-label="Action"] span').title === %q)`, action+" | "+resource+" | "+object, id), "%s is not told in words", id)
	}
	row("create_group", "Create a group", "Groups", "Sales")
	row("create_user", "Create a user", "People", "Ada")
	row("associate_group_extension", summary(t, g, "associate_group_extension"), "Groups: numbers", "Sales, 2000")
	cell("Service", "Telephony")
	o.enter("Search Audit", "create a GROUP") // as the page tells it
	o.until(`((rows) => rows.length > 0 && rows.every((row) => row.textContent === 'Create a group'))([...document.querySelectorAll('tbody td[data-label="Action"]')])`, "what people read does not find an action")
	o.script(t, `[...document.querySelectorAll('tbody tr')].find((tr) => tr.textContent.includes('Create a group')).querySelector('a').click(), ''`)
	o.until(`document.querySelector('main h1')?.textContent === 'Create a group'`, "an entry has a number for a title")
	o.until(`[...document.querySelectorAll('main dd a')].some((a) => a.textContent === 'Sales' && a.hash.startsWith('#/confd/groups/'))`, "an entry does not lead to what was made")
	g.Do(t, "DELETE", confd+"/groups/"+sales.Text("uuid"), admin, "").Want(204)
	o.goTo("#/auth/audit", "Audit")
	row("delete_group", "Delete a group", "Groups", "Sales") // by what it was
	team := g.Do(t, "POST", "/api/auth/0.1/groups", admin, `{"name":"team","slug":"first"}`).Want(200).Text("uuid")
	o.goTo("#/auth/groups/"+team, "team")
	o.until(`[...document.querySelectorAll('main label')].some((l) => l.textContent === 'Slug' && document.getElementById(l.htmlFor).disabled && document.getElementById(l.htmlFor).value === 'first')`, "what never changes can be written")
	o.enter("Name", "reception")
	o.click("section.whole button.primary")
	o.reads("Saved.")
	o.clean(t, "while titles were read", "404") // of the group that is gone
}
