package console_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/ringfence/ringfence/internal/rest/resttest"
)

// counted counts from now on the clicks, and the pages that are opened.
func (o *operator) counted() (clicks, pages func() string) {
	o.t.Helper()
	o.script(o.t, `window.clicked ? '' : (document.addEventListener('click', () => { window.clicked.clicks++; }, true), addEventListener('hashchange', () => { window.clicked.pages++; }), ''), window.clicked = { clicks: 0, pages: 0 }, ''`)
	return func() string { return o.script(o.t, `String(window.clicked.clicks)`) }, func() string { return o.script(o.t, `String(window.clicked.pages)`) }
}

// choose chooses a value of a field, as the keyboard does.
func (o *operator) choose(label, value string) {
	o.t.Helper()
	o.until(fmt.Sprintf(`((s) => s && (s.value = %q, s.dispatchEvent(new Event('change', { bubbles: true })), s.value))([...document.querySelectorAll('main select')].find((s) => (s.ariaLabel ?? s.labels[0].textContent).startsWith(%q)))`, value, label), "%s has no %s", label, value)
}

// A ring group with its number and two members is one page and one click beyond its fields. A number that is taken says by what; one that
// is outside of the ranges extends them. What is refused leaves nothing.
func TestConsoleMakesARingGroup(t *testing.T) {
	g, o, admin, in := desk(t)
	const confd = "/api/confd/1.1"
	for i, name := range []string{"Ada", "Bob", "Bobby"} {
		g.Do(t, "POST", confd+"/users", admin, fmt.Sprintf(`{"firstname":%q,"lines":[{"context":%q,"endpoint_sip":{},"extensions":[{"exten":"10%02d","context":%[2]q}]}]}`, name, in, i+1)).Want(201)
	}
	g.Do(t, "POST", confd+"/groups?recursive=true", admin, `{"label":"Support","extensions":[{"exten":"1500","context":"`+in+`"}]}`).Want(201)
	o.goTo("#/confd/groups", "Groups")
	o.press("New ring group")
	o.until(`document.querySelector('main h1')?.textContent === 'New ring group'`, "the page does not open")
	o.until(`[...document.querySelectorAll('nav [aria-current]')].map((a) => a.textContent).join() === 'Groups'`, "the menu does not tell where one is")
	o.until(`document.querySelector('[data-name=exten]')?.value === '1501'`, "the next free number is not offered")
	o.reads("499 numbers free, also 1502, 1503, 1504, 1505")
	clicks, pages := o.counted()
	o.enter("Name", "Front")
	o.enter("Ringing time, in seconds", "20")
	o.choose("When nobody takes the call", "user")
	o.enter("User", "Ada")
	o.enter("Members", "bo")
	o.hit(kb.Enter)
	o.reads("There are several with")
	o.enter("Members", "Bobby")
	o.hit(kb.Enter)
	o.until(`document.querySelectorAll('.several li').length === 1`, "Bobby is no member")
	o.enter("Members", "ad")
	o.hit(kb.Enter)
	o.until(`[...document.querySelectorAll('.several span')].map((s) => s.textContent).join() === 'Bobby,Ada'`, "the only match is not taken")
	o.press("Create")
	o.reads("Front was created with the number 1501.")
	o.until(`document.querySelector('main h1')?.textContent === 'Front'`, "the group does not open")
	if clicks() != "1" || pages() != "1" { // the group itself is the page that comes then
		t.Errorf("it took %s clicks, and %s more pages", clicks(), pages())
	}
	made := g.Do(t, "GET", confd+"/groups?search=Front", admin, "").List().Items[0]
	if members := fmt.Sprint(made["members"]); !strings.Contains(fmt.Sprint(made["extensions"]), "1501") || strings.Index(members, "Bobby") > strings.Index(members, "Ada") ||
		fmt.Sprint(made["timeout"]) != "20" || !strings.Contains(fmt.Sprint(made["fallbacks"]), "user_firstname:Ada") {
		t.Errorf("the group is %v", made)
	}

	// The order can be changed, and the keyboard stays where it was.
	o.goTo("#/ring-group", "New ring group")
	o.enter("Name", "Night")
	for i, name := range []string{"Ada", "Bobby"} {
		o.enter("Members", name)
		o.hit(kb.Enter)
		o.until(fmt.Sprintf(`document.querySelectorAll('.several li').length === %d`, i+1), "%s is no member", name)
	}
	o.click(`[aria-label="Up: Bobby"]`)
	o.until(`[...document.querySelectorAll('.several span')].map((s) => s.textContent).join() === 'Bobby,Ada' && document.activeElement.ariaLabel === 'Down: Bobby'`, "Bobby is not first")
	o.click(`[aria-label="Remove: Ada"]`)

	// A number that is taken is refused with a link to what has it, and the form stays as it is.
	for exten, owner := range map[string]string{"1001": "Ada", "1500": "Support"} {
		o.enter("Number", exten)
		o.press("Create")
		o.until(fmt.Sprintf(`((e) => e?.textContent === '%s is taken by %s.' && e.querySelector('a').hash.startsWith('#/confd/') && document.activeElement.dataset.name === 'exten')([...document.querySelectorAll('.number .error')].find((e) => e.textContent))`, exten, owner), "%s does not say that %s has it", exten, owner)
	}

	// One that is in no range makes its own.
	o.enter("Number", "2001")
	o.press("Create")
	o.reads("2001 is outside of the numbers that Inside has for this.")
	if found := g.Do(t, "GET", confd+"/extensions?exten=2001", admin, "").List().Total; found != 0 {
		t.Errorf("what was refused has left %d numbers", found)
	}
	o.press("Add 2001 to them, and go on")
	o.reads("Night was created with the number 2001.")
	o.until(`((text) => text.includes('2001') && text.includes('Bobby'))(document.querySelector('.glance').innerText)`, "its number and its member are not seen at once")
	night := g.Do(t, "GET", confd+"/groups?search=Night", admin, "").List().Items[0]
	if members := fmt.Sprint(night["members"]); !strings.Contains(members, "Bobby") || strings.Contains(members, "Ada") {
		t.Errorf("the group is %v", night)
	}

	// What the gateway refuses leaves neither the group nor its number.
	g.Do(t, "POST", confd+"/users", admin, `{"firstname":"Lineless"}`).Want(201)
	o.goTo("#/ring-group", "New ring group")
	o.enter("Name", "Refused")
	o.enter("Members", "Lineless")
	o.hit(kb.Enter)
	o.until(`document.querySelectorAll('.several li').length === 1`, "the user is not taken")
	o.press("Create")
	o.reads("must be associated with a Line")
	if left := g.Do(t, "GET", confd+"/groups?search=Refused", admin, "").List().Total + g.Do(t, "GET", confd+"/extensions?exten=1502", admin, "").List().Total; left != 0 {
		t.Errorf("what was refused has left %d objects", left)
	}
	o.clean(t, "while ring groups were made", "400")
}

// An incoming call to a user is one page and one click beyond its fields; the first one makes the context of such numbers in place. A number
// that has no range gets one, if the token may give it.
func TestConsoleMakesAnIncomingNumber(t *testing.T) {
	g, o, admin, _ := desk(t)
	const confd = "/api/confd/1.1"
	g.Do(t, "POST", confd+"/users", admin, `{"firstname":"Ada"}`).Want(201)
	o.press("Incoming")
	o.press("New incoming number")
	clicks, _ := o.counted()
	o.enter("Number", "4930123456")
	o.choose("Destination", "user")
	o.enter("User", "Ada")
	o.reads("It is the first number of its kind. With it comes the dialling area “From outside”.")
	o.press("Create")
	o.reads("Calls of 4930123456 go there now.")
	if clicks() != "1" {
		t.Errorf("the first number takes %s clicks", clicks())
	}
	hours := g.Do(t, "POST", confd+"/schedules", admin, `{"name":"Office","closed_destination":{"type":"none"}}`).Want(201).JSON("id")

	o.open("#/incoming-number")
	o.enter("Number", "4930123456")
	o.choose("Destination", "user")
	o.enter("User", "Ada")
	o.press("Create")
	o.reads("4930123456 is taken by incoming number 4930123456.")
	o.enter("Number", "4930123460")
	o.reads("4930123460 is new: with it, it becomes one of the numbers that From outside has for this.")
	in := g.Do(t, "GET", confd+"/contexts?type=incall", admin, "").List().Items[0]
	if ranges := fmt.Sprint(in["incall_ranges"]); ranges != "[map[did_length:10 end:4930123456 start:4930123456]]" {
		t.Errorf("the numbers are %s", ranges)
	}
	g.Do(t, "PUT", fmt.Sprint(confd, "/contexts/", in["id"]), admin, `{"incall_ranges":[{"start":"4930123400","end":"4930123499"}]}`).Want(204)
	o.open("#/confd/incalls")
	o.reads("New incoming number")
	clicks, pages := o.counted()
	o.press("New incoming number")
	o.enter("Number", "4930123457")
	o.choose("Destination", "user")
	o.enter("User", "Ada")
	o.enter("Opening hours", "Office")
	o.press("Create")
	o.reads("Calls of 4930123457 go there now.")
	if clicks() != "2" || pages() != "2" { // to the page and, with what was made, on from it
		t.Errorf("it took %s clicks on %s pages", clicks(), pages())
	}
	calls := g.Do(t, "GET", confd+"/incalls?exten=4930123457", admin, "").List().Items
	if len(calls) != 1 || !strings.Contains(fmt.Sprint(calls[0]["destination"]), "user_firstname:Ada") || !strings.Contains(fmt.Sprint(calls[0]["schedules"]), fmt.Sprintf("id:%v", hours)) {
		t.Errorf("the calls are %v", calls)
	}

	// Who may not change contexts is not offered to.
	user := g.Do(t, "POST", "/api/auth/0.1/users", admin, `{"username":"olga","password":"a-long-password"}`).Want(200).Text("uuid")
	policy := g.Do(t, "POST", "/api/auth/0.1/policies", admin, `{"name":"calls","acl":["confd.incalls.#","confd.extensions.#","confd.users.read","confd.contexts.read","confd.contexts.*.read"]}`).Want(200).Text("uuid")
	g.Do(t, "PUT", "/api/auth/0.1/users/"+user+"/policies/"+policy, admin, "").Want(204)
	o.press("Sign out")
	o.reads("Signed out.")
	o.goTo("", "Sign in")
	o.signIn("olga", "a-long-password")
	o.goTo("#/incoming-number", "New incoming number")
	o.enter("Number", "12")
	o.choose("Destination", "user")
	o.enter("User", "Ada")
	o.press("Create")
	o.reads("12 is outside of the numbers that From outside has for this.")
	if buttons := o.script(t, `[...document.querySelectorAll('.number button')].map((b) => b.textContent).join()`); buttons != "" {
		t.Errorf("one who may not is offered %s", buttons)
	}
	o.clean(t, "while incoming numbers were made")
}

// A telephone user is one page, and two clicks beyond the fields: to it, and to make it. The number is offered, the login is shown, and groups
// and a voicemail come with it.
func TestConsoleMakesATelephoneUser(t *testing.T) {
	g, o, admin, in := desk(t)
	const confd = "/api/confd/1.1"
	g.Do(t, "POST", confd+"/users", admin, `{"firstname":"Bob","lines":[{"context":"`+in+`","endpoint_sip":{},"extensions":[{"exten":"1000","context":"`+in+`"}]}]}`).Want(201)
	template := g.Do(t, "POST", confd+"/funckeys/templates", admin, `{"name":"Desk"}`).Want(201).JSON("id")
	o.press("People")
	o.reads("New telephone user")
	clicks, pages := o.counted()
	o.press("New telephone user")
	o.until(`document.querySelector('[data-name=exten]')?.value === '1001'`, "the next free number is not offered")
	o.enter("First name", "Ada")
	o.enter("Last name", "Lovelace")
	o.enter("E-mail", "ada@example.org")
	o.enter("Groups", "sal")
	o.hit(kb.Enter)
	o.until(`document.querySelector('.several span')?.textContent === 'Sales'`, "the group is not taken")
	o.enter("Template of function keys", "Desk")
	o.press("Create")
	o.reads("Ada was created with the number 1001.")
	o.until(`document.querySelector('details.part[open] svg.code path')?.getAttribute('d').length > 1000`, "the login is not shown")
	if clicks() != "2" || pages() != "2" { // to the page and, with what was made, on from it
		t.Errorf("it took %s clicks on %s pages", clicks(), pages())
	}
	made := g.Do(t, "GET", confd+"/users?search=Lovelace", admin, "").List().Items[0]
	if all := fmt.Sprint(made); !strings.Contains(all, "exten:1001") || made["voicemail"] == nil || len(made["groups"].([]any)) != 1 ||
		fmt.Sprint(made["func_key_template_id"]) != fmt.Sprint(template) || made["email"] != "ada@example.org" {
		t.Errorf("the user is %v", made)
	}

	// Another free number is one click; a login has the password that is typed, and what is refused is said beside its field.
	o.goTo("#/telephone", "New telephone user")
	o.click(`[aria-label="Take 1004"]`)
	o.enter("First name", "Cleo")
	o.enter("Telephones", "2")
	o.enter("E-mail", "cleo@example.org")
	o.click(`[data-name="login"]`)
	o.enter("Password of the login", "short")
	o.press("Create")
	o.until(`document.activeElement.dataset.name === 'password' && document.activeElement.getAttribute('aria-invalid') === 'true'`, "the password is not refused beside its field")
	o.enter("Password of the login", "a-long-password")
	o.press("Create")
	o.reads("Cleo was created with the number 1004.")
	g.Login(t, "cleo@example.org", "a-long-password")
	if lines := fmt.Sprint(g.Do(t, "GET", confd+"/users?search=cleo", admin, "").List().Items[0]["lines"]); strings.Count(lines, "exten:1004") != 2 {
		t.Errorf("the telephones are %s", lines)
	}
	o.clean(t, "while telephone users were made", "400")
}

// A conference and a parking place come with their numbers.
func TestConsoleMakesPlacesWithNumbers(t *testing.T) {
	g, o, admin, in := desk(t)
	const confd = "/api/confd/1.1"
	context := g.Do(t, "GET", confd+"/contexts", admin, "").List().Items[0]["id"]
	g.Do(t, "PUT", fmt.Sprint(confd, "/contexts/", context), admin, `{"conference_room_ranges":[{"start":"4000","end":"4009"}]}`).Want(204)
	o.goTo("#/confd/conferences", "Conference rooms")
	o.press("New conference room")
	o.until(`document.querySelector('[data-name=exten]')?.value === '4000'`, "the next free number is not offered")
	o.enter("Name", "Weekly")
	o.press("Create")
	o.reads("Weekly was created with the number 4000.")
	o.goTo("#/confd/parkinglots", "Parking places")
	o.press("New parking place")
	o.enter("Number to park at", "700")
	o.enter("Slots start", "701")
	o.enter("Slots end", "709")
	o.press("Create")
	o.reads("The place was created with the number 700.")
	for _, exten := range []string{"4000", "700"} {
		if found := g.Do(t, "GET", confd+"/extensions?exten="+exten, admin, "").List().Items; len(found) != 1 || found[0]["context"] != in {
			t.Errorf("%s is %v", exten, found)
		}
	}
	o.clean(t, "while places were made")
}

// The hours of a week are one page: what is typed is seen, days of the same hours are one period, and what are no hours is said at their day.
func TestConsoleMakesOpeningHours(t *testing.T) {
	g, o, admin, _ := desk(t)
	o.press("Menus and hours")
	o.goTo("#/confd/schedules", "Opening hours")
	clicks, pages := o.counted()
	o.press("New opening hours")
	o.enter("Name", "Office")
	o.enter("Friday", "9-12, 14")
	o.choose("While it is closed", "hangup")
	o.press("Create")
	o.until(`document.activeElement.labels[0].textContent === 'Friday' && document.activeElement.parentElement.textContent.includes('"14" are no hours')`, "what are no hours is not said at their day")
	o.enter("Friday", "9-12, 14-16:30")
	o.until(`document.activeElement.parentElement.querySelectorAll('.hours rect').length === 2`, "the hours are not seen")
	o.choose("Cause", "normal")
	o.press("Create")
	o.reads("Office was created.")
	if clicks() != "3" || pages() != "2" { // one for what was refused; with what was made, on from the page
		t.Errorf("it took %s clicks on %s pages", clicks(), pages())
	}
	made := fmt.Sprint(g.Do(t, "GET", "/api/confd/1.1/schedules", admin, "").List().Items[0]["open_periods"])
	for _, want := range []string{"hours_end:17:00 hours_start:09:00", "week_days:[1 2 3 4]", "hours_end:12:00 hours_start:09:00", "hours_end:16:30 hours_start:14:00", "week_days:[5]"} {
		if !strings.Contains(made, want) {
			t.Errorf("the periods have no %s: %s", want, made)
		}
	}

	// On its page they are a week too.
	o.enter("Saturday", "10-12:30")
	o.enter("Friday", "")
	o.click("section.whole form > .actions button")
	o.reads("Saved.")
	o.until(`[...document.querySelectorAll('.day')].map((day) => day.querySelector('input').value).join('; ') === '9-17; 9-17; 9-17; 9-17; ; 10-12:30; '`, "the week is not as it was saved")
	made = fmt.Sprint(g.Do(t, "GET", "/api/confd/1.1/schedules", admin, "").List().Items[0]["open_periods"])
	if !strings.Contains(made, "hours_end:12:30 hours_start:10:00") || !strings.Contains(made, "week_days:[6]") || strings.Contains(made, "week_days:[5]") {
		t.Errorf("the periods are %s", made)
	}
	o.shoot(t, "week")
	o.clean(t, "while hours were made")
}

// A menu is one page: its keys, each with where it leads, and one save.
func TestConsoleMakesAMenu(t *testing.T) {
	g, o, admin, in := desk(t)
	o.goTo("#/confd/ivr", "Menus")
	clicks, pages := o.counted()
	o.press("New menu")
	o.enter("Name", "Welcome")
	o.enter("Menu sound", "vm-options")
	o.press("Add one")
	o.enter("Key", "1")
	o.choose("Destination", "group")
	o.enter("Group", "Sales")
	o.press("Create")
	o.reads("Welcome was created.")
	if clicks() != "3" || pages() != "2" { // to the page, a key, to make it; with what was made, on from the page
		t.Errorf("it took %s clicks on %s pages", clicks(), pages())
	}
	if made := fmt.Sprint(g.Do(t, "GET", "/api/confd/1.1/ivr", admin, "").List().Items[0]["choices"]); !strings.Contains(made, "group_label:Sales") || !strings.Contains(made, "exten:1") {
		t.Errorf("the choices are %s", made)
	}

	// Each choice is a line, and has its place among them.
	o.press("Add one")
	o.hit("0")
	for _, kind := range []string{"hangup", "normal"} {
		o.script(t, fmt.Sprintf(`((s) => { s.value = %q; s.dispatchEvent(new Event('change', { bubbles: true })); })([...document.querySelectorAll('.row select')].at(-1)), ''`, kind))
	}
	if heights := o.script(t, `[...document.querySelectorAll('.row')].map((r) => r.offsetHeight).join()`); o.script(t, `String([...document.querySelectorAll('.row')].every((r) => r.offsetHeight < 90))`) != "true" {
		t.Errorf("the choices are %s pixels high", heights)
	}
	o.click(`.row:last-child [aria-label="Up"]`)
	o.until(`document.activeElement.matches('.row:first-child [aria-label="Down"]')`, "the focus does not go with what is moved")
	o.click("section.whole form > .actions button")
	o.reads("Saved.")
	if made := fmt.Sprint(g.Do(t, "GET", "/api/confd/1.1/ivr", admin, "").List().Items[0]["choices"]); strings.Index(made, "exten:0") > strings.Index(made, "exten:1") || !strings.Contains(made, "exten:0") {
		t.Errorf("the choices are %s", made)
	}
	o.accessible("menu")
	o.run(t, emulate(1280, 900, "light"))

	// What is deleted says first what leads to it, with links.
	g.Do(t, "POST", "/api/confd/1.1/schedules", admin, fmt.Sprintf(`{"name":"Nights","closed_destination":{"type":"ivr","ivr_id":%v}}`,
		g.Do(t, "GET", "/api/confd/1.1/ivr", admin, "").List().Items[0]["id"])).Want(201)
	o.press("Delete")
	o.until(`document.querySelector('dialog li')?.textContent === 'Nights (Opening hours)'`, "it is not said what leads to the menu")
	o.shoot(t, "leads")
	o.click("dialog li a")
	o.until(`document.querySelector('main h1')?.textContent === 'Nights' && !document.querySelector('dialog[open]')`, "the link does not lead to the schedule")

	// What it should lead to is made in place. Every kind that the definition has is offered.
	const sounds = "/api/confd/1.1/sounds"
	g.Do(t, "POST", sounds, admin, `{"name":"menus"}`).Want(201)
	g.Do(t, "PUT", sounds+"/menus/files/night", admin, silence, resttest.Header("Content-Type", ""), resttest.Header("Content-Type", "application/octet-stream")).Want(204)
	o.goTo("#/voice-menu", "New menu")
	o.enter("Name", "Night")
	o.enter("Menu sound", "nig")
	o.until(`document.querySelector('main datalist option')?.value === 'menus/night'`, "what was recorded is not offered")
	o.enter("Menu sound", "menus/night")
	o.press("Hear it")
	o.until(`document.querySelector('main audio[aria-label="Sound"]')?.duration > 0`, "what was recorded cannot be heard")

	// What is to be heard is uploaded in place; nothing is replaced by that.
	upload := func(input, name string) {
		t.Helper()
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(silence), 0o600); err != nil {
			t.Fatal(err)
		}
		o.run(t, chromedp.SetUploadFiles(chromedp.CSS(input), []string{path}))
	}
	const ofMenu = `main .field:has([data-name="menu_sound"]) input[type="file"]`
	plays := func(name string) {
		t.Helper()
		o.until(fmt.Sprintf(`document.querySelector('main [data-name="menu_sound"]').value === %q`, name), "what was uploaded is not taken")
	}
	upload(ofMenu, "At night.wav")
	plays("uploads/At-night")
	upload(ofMenu, "At night.wav")
	plays("uploads/At-night-2")
	o.press("Hear it")
	o.until(`document.querySelector('main audio[aria-label="Sound"]')?.duration > 0`, "what was uploaded cannot be heard")
	o.enter("Menu sound", "menus/night")
	var kinds []string
	for kind := range g.Do(t, "GET", "/api/confd/1.1/api/openapi.json", admin, "").JSON("components.schemas.Destination.discriminator.mapping").(map[string]any) {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	o.until(fmt.Sprintf(`[...[...document.querySelectorAll('main select')].find((s) => [...s.options].some((one) => one.value === 'group')).options].map((one) => one.value).filter(Boolean).sort().join() === %q`,
		strings.Join(kinds, ",")), "not every kind is offered")
	o.choose("When nothing is chosen", "group")
	o.enter("Group", "Watch")
	o.press("New …")
	o.until(`document.querySelector('dialog[open] [data-name=exten]')?.value === '1500' && document.querySelector('dialog [data-name=label]').value === 'Watch'`, "the form of a new group does not open")
	o.shoot(t, "in-place")
	o.press("Create")
	o.until(`!document.querySelector('dialog') && document.activeElement.value === 'Watch'`, "the new group is not taken")
	o.press("Create")
	o.reads("Night was created.")
	if made := fmt.Sprint(g.Do(t, "GET", "/api/confd/1.1/ivr?search=Night", admin, "").List().Items[0]["timeout_destination"]); !strings.Contains(made, "group_label:Watch") {
		t.Errorf("it leads to %s", made)
	}
	if sound := g.Do(t, "GET", "/api/confd/1.1/ivr?search=Night", admin, "").List().Items[0]["menu_sound"]; sound != "menus/night" {
		t.Errorf("it plays %s", sound)
	}

	// The files of sounds and of music are heard, uploaded, replaced and removed at what they belong to.
	o.goTo("#/confd/sounds/menus", "menus")
	const ofSound = `main details[data-name="files"] input[type="file"]`
	o.until(`document.querySelector('main details[data-name="files"] li span')?.textContent === 'night'`, "the files of a sound are not shown")
	upload(ofSound, "day.wav")
	o.reads("day was uploaded.")
	upload(ofSound, "day.wav")
	o.press("Replace")
	o.reads("day was replaced.")
	o.click(`main button[aria-label="Hear day"]`)
	o.until(`document.querySelector('main audio[aria-label="day"]')?.duration > 0`, "a file cannot be heard")
	o.shoot(t, "files")
	o.click(`main button[aria-label="Remove day"]`)
	o.click(`dialog button[value="yes"]`)
	o.reads("day was removed.")
	o.click(`main button[aria-label="Remove night"]`)
	o.click(`dialog button[value="yes"]`)
	o.reads("Sound is associated with a IVR") // the menu
	music := g.Do(t, "POST", "/api/confd/1.1/moh", admin, `{"label":"Piano","mode":"files"}`).Want(201).JSON("uuid")
	o.goTo(fmt.Sprintf("#/confd/moh/%s", music), "Piano")
	o.click(`main details[data-name="files"] summary`)
	upload(ofSound, "piano.wav")
	o.reads("piano.wav was uploaded.")

	// Where calls go from it is a tree that one walks, to a circle too.
	const confd = "/api/confd/1.1"
	menu := g.Do(t, "GET", confd+"/ivr?search=Welcome", admin, "").List().Items[0]["id"]
	sales := g.Do(t, "GET", confd+"/groups?search=Sales", admin, "").List().Items[0]["uuid"]
	ada := g.Do(t, "POST", confd+"/users", admin, `{"firstname":"Ada","lines":[{"context":"`+in+`","endpoint_sip":{}}]}`).Want(201).Text("uuid")
	g.Do(t, "PUT", fmt.Sprint(confd, "/groups/", sales, "/members/users"), admin, `{"users":[{"uuid":"`+ada+`"}]}`).Want(204)
	g.Do(t, "PUT", fmt.Sprint(confd, "/groups/", sales, "/fallbacks"), admin, fmt.Sprintf(`{"noanswer_destination":{"type":"ivr","ivr_id":%v}}`, menu)).Want(204)
	schedule := g.Do(t, "POST", confd+"/schedules", admin, `{"name":"Office","closed_destination":{"type":"hangup","cause":"normal"}}`).Want(201).JSON("id")
	call := g.Do(t, "POST", confd+"/incalls?recursive=true", admin, fmt.Sprintf(`{"destination":{"type":"ivr","ivr_id":%v},"extensions":[]}`, menu)).Want(201).JSON("id")
	g.Do(t, "PUT", fmt.Sprint(confd, "/incalls/", call, "/schedules/", schedule), admin, "").Want(204)
	o.script(t, fmt.Sprintf(`location.hash = '#/confd/incalls/%v', ''`, call))
	o.part("Where calls go")
	o.click(`[aria-label="Follow: By the hours of: Office"]`)
	o.reads("While it is closed: Hangup: normal")
	o.click(`[aria-label="Follow: To: Menu: Welcome"]`)
	o.click(`[aria-label="Follow: Key 1: Group: Sales"]`)
	o.reads("Rings: Ada")
	o.reads("When nobody answers: Menu: Welcome – back to where it was already: a circle")
	o.until(`['/ivr/', '/groups/', '/users/', '/schedules/'].every((of) => document.querySelector('.tree a[href*="' + of + '"]'))`, "what is on the way has no links")
	for _, violation := range o.violations() {
		t.Errorf("the tree: %s", violation)
	}
	o.shoot(t, "tree")
	o.clean(t, "while a menu was made", "sounds/menus/files/night") // which is refused
}

// A trunk is made of what a carrier tells its customers, and its page shows its state.
func TestConsoleMakesATrunk(t *testing.T) {
	g, o, admin, _ := desk(t)
	const confd = "/api/confd/1.1"
	g.Do(t, "POST", confd+"/contexts", admin, `{"label":"From outside","type":"incall"}`).Want(201)
	o.press("Outgoing")
	o.press("Trunks")
	o.reads("New trunk")
	clicks, _ := o.counted()
	o.press("New trunk")
	o.enter("Name", "Carrier One")
	o.enter("Server", "sip.carrier.example")
	o.enter("User name", "4930123")
	o.enter("Password", "a-secret")
	o.enter("Addresses of the carrier", "192.0.2.1, 198.51.100.0/24")
	o.press("Create")
	o.reads("Carrier One was created. An outgoing route can go by it.")
	if clicks() != "2" {
		t.Errorf("it took %s clicks", clicks())
	}
	o.until(`document.querySelector('.glance').innerText.includes('Carrier One')`, "it is not told by what one reaches the carrier")
	trunk := g.Do(t, "GET", confd+"/trunks", admin, "").List().Items[0]
	if in := g.Do(t, "GET", confd+"/contexts?type=incall", admin, "").List().Items[0]["name"]; trunk["context"] != in {
		t.Errorf("its calls come in by %v, and not by %v, which is the only way", trunk["context"], in)
	}
	endpoint := g.Do(t, "GET", fmt.Sprint(confd, "/endpoints/sip/", trunk["endpoint_sip"].(map[string]any)["uuid"]), admin, "").Want(200)
	for name, want := range map[string]string{
		"label": "Carrier One", "registration_section_options": "[[server_uri sip:sip.carrier.example] [client_uri sip:4930123@sip.carrier.example]]",
		"registration_outbound_auth_section_options": "[[username 4930123] [password a-secret]]", "outbound_auth_section_options": "[[username 4930123] [password a-secret]]",
		"identify_section_options": "[[match 192.0.2.1] [match 198.51.100.0/24]]", "aor_section_options": "[[contact sip:sip.carrier.example]]",
	} {
		if got := fmt.Sprint(endpoint.JSON(name)); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	o.clean(t, "while a trunk was made", "status of 503") // there is no Asterisk that could tell its state
}

// An outgoing route is made with what is dialled, its trunks in their order, and whose telephones may dial it, and a paging with its callers and its
// members: one page and one save each, and what is refused leaves nothing.
func TestConsoleMakesARouteAndAPaging(t *testing.T) {
	g, o, admin, in := desk(t)
	const confd = "/api/confd/1.1"
	o.press("Outgoing")
	o.press("New outgoing route")
	o.enter("Name", "Everywhere")
	o.press("Create")
	o.reads("There is no trunk by which calls could go: make one first.")
	for _, label := range []string{"Carrier One", "Carrier Two"} {
		g.Do(t, "POST", confd+"/trunks?recursive=true", admin, fmt.Sprintf(`{"endpoint_sip":{"label":%q}}`, label)).Want(201)
	}
	others := g.Do(t, "POST", confd+"/contexts", admin, `{"label":"Other numbers","type":"services"}`).Want(201)
	inside := fmt.Sprint(confd, "/contexts/", g.Do(t, "GET", confd+"/contexts?name="+in, admin, "").List().Items[0]["id"])
	o.goTo("#/confd/outcalls", "Outgoing routes")
	o.reads("New outgoing route")
	clicks, pages := o.counted()
	o.press("New outgoing route")
	o.until(`document.querySelector('.several span')?.textContent === 'Inside'`, "the only context of telephones is not offered")
	o.enter("Name", "Everywhere")
	o.enter("Dialled before the number", "0")
	for i, name := range []string{"Two", "One"} {
		o.enter("Trunks", name)
		o.hit(kb.Enter)
		o.until(fmt.Sprintf(`document.querySelectorAll('.several li').length === %d`, i+2), "%s is not taken", name)
	}
	// What somebody else has changed after the page was opened stays.
	g.Do(t, "PUT", inside+"/contexts", admin, fmt.Sprintf(`{"contexts":[{"id":%v}]}`, others.JSON("id"))).Want(204)
	o.press("Create")
	o.reads("Everywhere was created: calls go out by it.")
	if clicks() != "2" || pages() != "2" { // to the page and, with what was made, on from it
		t.Errorf("it took %s clicks on %s pages", clicks(), pages())
	}
	made := fmt.Sprint(g.Do(t, "GET", confd+"/outcalls", admin, "").List().Items[0])
	if !strings.Contains(made, "exten:_0X.") || !strings.Contains(made, "strip_digits:1") || strings.Index(made, "Carrier Two") > strings.Index(made, "Carrier One") {
		t.Errorf("the route is %s", made)
	}
	if dial := fmt.Sprint(g.Do(t, "GET", inside, admin, "").JSON("contexts")); !strings.Contains(dial, "Other numbers") || !strings.Contains(dial, "To the outside") {
		t.Errorf("the telephones may dial %s", dial)
	}

	// What is dialled already says by what; a half that is refused leaves nothing.
	route := func(name, dialled string) {
		o.goTo("#/outgoing-route", "New outgoing route")
		o.enter("Name", name)
		o.enter("Dialled before the number", dialled)
		o.enter("Trunks", "Carrier One")
		o.hit(kb.Enter)
		o.until(`document.querySelectorAll('.several li').length === 2`, "the trunk is not taken")
		o.press("Create")
	}
	route("Again", "0")
	o.until(`document.querySelector('.number .error a')?.textContent === 'Everywhere'`, "it is not said which route has it")
	g.Do(t, "PUT", inside+"/contexts", admin, `{"contexts":[]}`).Want(204)
	route("Everywhere", "9")
	o.until(`document.querySelector('[data-name=name]').closest('.field').querySelector('.error').textContent.includes('Outcall already exists')`, "the refusal is not beside its field")
	if left := g.Do(t, "GET", confd+"/extensions?exten=_9X.", admin, "").List().Total; left != 0 || fmt.Sprint(g.Do(t, "GET", inside, admin, "").JSON("contexts")) != "[]" {
		t.Error("what was refused has left something")
	}

	for _, name := range []string{"Ada", "Bob"} {
		g.Do(t, "POST", confd+"/users", admin, fmt.Sprintf(`{"firstname":%q}`, name)).Want(201)
	}
	o.goTo("#/confd/pagings", "Paging groups")
	o.press("New paging group")
	paging := func(number string) {
		o.enter("Number", number)
		o.enter("Name", "Warehouse")
		o.enter("Who may speak", "Ada")
		o.hit(kb.Enter)
		o.until(`document.querySelectorAll('.several li').length === 1`, "Ada is not taken")
		o.enter("Whose telephones speak", "Bob")
		o.hit(kb.Enter)
		o.until(`document.querySelectorAll('.several li').length === 2`, "Bob is not taken")
		o.press("Create")
	}
	paging("600")
	o.reads("Warehouse was created with the number 600.")
	if made := fmt.Sprint(g.Do(t, "GET", confd+"/pagings", admin, "").List().Items); strings.Count(made, "firstname:Ada") != 1 || strings.Count(made, "firstname:Bob") != 1 {
		t.Errorf("the paging is %s", made)
	}
	o.goTo("#/announcement", "New paging group")
	paging("600")
	o.reads("600 is taken by Warehouse.")
	o.clean(t, "while they were made", "400")
}

// A call filter is one page: whose calls, who takes them, in plain words, and a key for each that switches it; so is a switchboard, with who takes its
// calls and where those go that nobody takes. What is refused leaves nothing, also of what is done once the filter is there.
func TestConsoleMakesAFilterAndASwitchboard(t *testing.T) {
	g, o, admin, in := desk(t)
	const confd = "/api/confd/1.1"
	uuids := map[string]string{}
	for i, name := range []string{"Ada", "Bob"} {
		uuids[name] = g.Do(t, "POST", confd+"/users", admin, fmt.Sprintf(`{"firstname":%q,"lines":[{"context":%q,"endpoint_sip":{},"extensions":[{"exten":"10%02d","context":%[2]q}]}]}`, name, in, i+1)).Want(201).Text("uuid")
	}
	fill := func(name, surrogate string) {
		t.Helper()
		o.enter("Name", name)
		o.enter("Whose calls", "Ada")
		o.enter("Who takes them", surrogate)
		o.hit(kb.Enter)
		o.until(`document.querySelectorAll('.several li').length === 1`, "%s is not taken", surrogate)
		o.choose("Who rings first", "all-surrogates-then-all-recipients")
		o.choose("Which calls", "external")
	}
	o.press("Groups")
	o.press("Call filters")
	o.reads("New call filter")
	clicks, pages := o.counted()
	o.press("New call filter")
	fill("Chief", "Bob")
	o.enter("Seconds that their telephone rings", "12")
	for label, said := range map[string]string{"Who rings first": "The others at once, then the called person", "Which calls": "Calls from outside"} {
		o.until(fmt.Sprintf(`[...document.querySelectorAll('main select')].find((s) => s.labels[0]?.textContent.startsWith(%q)).selectedOptions[0].textContent === %q`, label, said), "%s is not said in plain words", label)
	}
	o.choose("When nobody takes the call", "hangup")
	o.choose("Cause", "busy")
	o.click(`[data-name="keys"]`)
	o.press("Create")
	o.reads("Chief was created.")
	if clicks() != "3" || pages() != "2" { // to the page, for the keys, to make it; with what was made, on from the page
		t.Errorf("it took %s clicks on %s pages", clicks(), pages())
	}
	o.until(`((text) => text.includes('Ada, whose telephone rings for 12 seconds') && text.includes('Bob, switched by *37'))(document.querySelector('.glance').innerText)`, "it is not told who is in it, and by what they switch it")
	made := fmt.Sprint(g.Do(t, "GET", confd+"/callfilters", admin, "").List().Items)
	for _, want := range []string{"source:external", "strategy:all-surrogates-then-all-recipients", "timeout:12", "type:hangup"} {
		if !strings.Contains(made, want) {
			t.Errorf("the filter has no %s: %s", want, made)
		}
	}
	for name, uuid := range uuids {
		if keys := g.Do(t, "GET", confd+"/users/"+uuid+"/funckeys", admin, "").Body; !strings.Contains(keys, `"type":"bsfilter"`) {
			t.Errorf("%s has the keys %s", name, keys)
		}
	}

	// The key names whom it is for, and another is picked by name.
	o.goTo("#/confd/users/"+uuids["Bob"], "Bob")
	o.part("Function keys")
	o.until(`document.querySelector('table.keyed [data-name="filter_member_id"], table.keyed input[list]')?.value === 'Chief: Bob'`, "the key does not say whom it is for")
	template := g.Do(t, "POST", confd+"/funckeys/templates", admin, `{"name":"Desk"}`).Want(201).JSON("id")
	o.goTo(fmt.Sprint("#/confd/funckeys/templates/", template), "Desk")
	o.press("Add a position")
	o.script(t, `((s) => { s.value = 'bsfilter'; s.dispatchEvent(new Event('change', { bubbles: true })) })([...document.querySelectorAll('table.keyed select')].at(-1)), ''`)
	o.until(`[...document.querySelectorAll('table.keyed tbody tr')].at(-1).querySelectorAll('datalist option').length === 1`, "those who take calls are not offered")
	o.script(t, `((i) => { i.value = 'Chief: Bob' })([...document.querySelectorAll('table.keyed input[list]')].at(-1)), ''`)
	o.click("section.whole form > .actions button")
	o.reads("Saved.")
	if keys := g.Do(t, "GET", fmt.Sprint(confd, "/funckeys/templates/", template), admin, "").Body; !strings.Contains(keys, `"filter_member_firstname":"Bob"`) {
		t.Errorf("the keys are %s", keys)
	}

	// One who would take their own calls is refused beside the field, and nothing is left.
	o.goTo("#/call-filter", "New call filter")
	fill("Circle", "Ada")
	o.press("Create")
	o.until(`document.querySelector('main form [aria-invalid=true]')?.closest('.field').querySelector('label').textContent.startsWith('Who takes them')`, "the refusal is not beside its field")
	if left := g.Do(t, "GET", confd+"/callfilters?search=Circle", admin, "").List().Total; left != 0 {
		t.Errorf("what was refused has left %d filters", left)
	}
	for _, violation := range o.violations() {
		t.Errorf("the page of a new filter: %s", violation)
	}

	o.goTo("#/confd/switchboards", "Switchboards")
	o.press("New switchboard")
	o.enter("Name", "Reception")
	o.enter("Timeout", "90")
	o.enter("Who takes the calls", "Bob")
	o.hit(kb.Enter)
	o.until(`document.querySelectorAll('.several li').length === 1`, "Bob is not taken")
	o.choose("When nobody takes the call", "user")
	o.enter("User", "Ada")
	o.press("Create")
	o.reads("Reception was created.")
	o.until(`((text) => text.includes('They dial *38') && text.includes('Bob'))(document.querySelector('.glance').innerText)`, "it is not told how one takes a call")
	board := g.Do(t, "GET", confd+"/switchboards", admin, "").List().Items[0]
	if all := fmt.Sprint(board); !strings.Contains(all, "firstname:Bob") || !strings.Contains(all, "user_firstname:Ada") || !strings.Contains(all, "timeout:90") {
		t.Errorf("the switchboard is %s", all)
	}

	// A queue comes with its agents, its users, and where the calls go that none of them takes.
	g.Do(t, "PUT", fmt.Sprint(confd, "/contexts/", g.Do(t, "GET", confd+"/contexts?name="+in, admin, "").List().Items[0]["id"]), admin, `{"queue_ranges":[{"start":"3000","end":"3009"}]}`).Want(204)
	g.Do(t, "POST", confd+"/agents", admin, `{"number":"9001","firstname":"Ann"}`).Want(201)
	o.goTo("#/queue", "New queue")
	o.enter("Name", "Support")
	o.enter("Internal name", "support")
	for i, of := range [][2]string{{"Agents", "Ann"}, {"Users", "Bob"}} {
		o.enter(of[0], of[1])
		o.hit(kb.Enter)
		o.until(fmt.Sprintf(`document.querySelectorAll('.several li').length === %d`, i+1), "%s is not taken", of[1])
	}
	o.choose("When nobody takes the call", "user")
	o.enter("User", "Ada")
	o.press("Create")
	o.reads("Support was created with the number 3000.")
	o.until(`((text) => ['3000', 'Ann', 'Bob'].every((one) => text.includes(one)))(document.querySelector('.glance').innerText)`, "it is not told who takes its calls")
	if all := fmt.Sprint(g.Do(t, "GET", confd+"/queues", admin, "").List().Items); !strings.Contains(all, "firstname:Ann") || !strings.Contains(all, "firstname:Bob") || !strings.Contains(all, "user_firstname:Ada") {
		t.Errorf("the queue is %s", all)
	}
	o.until(loaded, "the queue is not shown whole")
	g.Do(t, "DELETE", fmt.Sprint(confd, "/queues/", g.Do(t, "GET", confd+"/queues", admin, "").List().Items[0]["id"]), admin, "").Want(204)

	// A kind of destination of which there is no object says so, and how to get one.
	o.goTo("#/voice-menu", "New menu")
	o.choose("When nothing is chosen", "queue")
	o.until(`document.querySelector('.picked .without')?.textContent === 'There is none yet. ' && document.querySelector('.picked:has(.without) button').textContent === 'New …'`, "a queue that is not there can be chosen")
	o.choose("When nothing is chosen", "switchboard")
	o.until(`document.querySelectorAll('main datalist option').length === 1 && !document.querySelector('.picked .without')?.textContent`, "the switchboard is not offered")
	o.clean(t, "while they were made", "400")
}

// An agent is one page, with who it is, the queues and the skills, and so is a call pickup, of users and groups. What is refused leaves nothing.
func TestConsoleMakesAnAgentAndAPickup(t *testing.T) {
	g, o, admin, _ := desk(t)
	const confd = "/api/confd/1.1"
	for _, name := range []string{"Ada", "Bob"} {
		g.Do(t, "POST", confd+"/users", admin, fmt.Sprintf(`{"firstname":%q,"lastname":"Lovelace"}`, name)).Want(201)
	}
	g.Do(t, "POST", confd+"/queues", admin, `{"name":"support","label":"Support"}`).Want(201)
	g.Do(t, "POST", confd+"/agents/skills", admin, `{"name":"french"}`).Want(201)
	taken := 0
	take := func(label, name string) {
		t.Helper()
		o.enter(label, name)
		o.hit(kb.Enter)
		taken++
		o.until(fmt.Sprintf(`document.querySelectorAll('.several li').length === %d`, taken), "%s is not taken", name)
	}
	fill := func(number, who string) {
		t.Helper()
		taken = 0
		o.enter("Who it is", who)
		o.enter("Number", number)
		take("Queues", "Support")
		o.press("Add one")
		o.enter("Skill", "french")
		o.enter("Skill weight", "7")
		o.press("Create")
	}
	o.press("Groups")
	o.press("Agents")
	o.reads("New agent")
	clicks, pages := o.counted()
	o.press("New agent")
	fill("9001", "Ada Lovelace")
	o.reads("The agent 9001 was created.")
	if clicks() != "3" || pages() != "2" { // to the page, for a skill, to make it; with what was made, on from the page
		t.Errorf("it took %s clicks on %s pages", clicks(), pages())
	}
	o.until(`((text) => ['Ada Lovelace', 'Support', 'french 7'].every((one) => text.includes(one)))(document.querySelector('.glance').innerText)`, "it is not told who it is, and what they can")
	o.part("Skills") // which says, and changes, how well
	o.until(`document.querySelector('details.part[open] .links li').innerText.startsWith('french, skill weight 7')`, "it is not told how well")
	o.enter("Add to Skills", "french")
	o.enter("Skill weight", "9")
	o.press("Add")
	o.until(`document.querySelector('.glance').innerText.includes('french 9')`, "the weight stays")
	agent := fmt.Sprint(g.Do(t, "GET", confd+"/agents", admin, "").List().Items)
	for _, want := range []string{"firstname:Ada", "lastname:Lovelace", "name:support", "skill_weight:9"} {
		if !strings.Contains(agent, want) {
			t.Errorf("the agent has no %s: %s", want, agent)
		}
	}
	o.accessible("agent")
	o.goTo("#/agent", "New agent")
	o.accessible("new-agent")
	fill("9001", "Bob Lovelace")
	o.until(`document.querySelector('main form [aria-invalid=true]')?.closest('.field').querySelector('label').textContent.startsWith('Number')`, "the refusal is not beside its field")
	if left := g.Do(t, "GET", confd+"/agents", admin, "").List().Total; left != 1 {
		t.Errorf("what was refused has left %d agents", left-1)
	}

	o.goTo("#/confd/callpickups", "Call pickups")
	o.press("New call pickup")
	taken = 0
	o.enter("Name", "Front desk")
	take("Who may answer", "Ada")
	take("And all who are in these groups", "Sales")
	take("Whose calls they may answer", "Bob")
	o.press("Create")
	o.reads("Front desk was created.")
	o.until(`((text) => text.includes('Ada Lovelace, all of Sales') && text.includes('Bob Lovelace'))(document.querySelector('.glance').innerText)`, "it is not told who may answer whose calls")
	o.accessible("call-pickup")
	if made := fmt.Sprint(g.Do(t, "GET", confd+"/callpickups", admin, "").List().Items); strings.Count(made, "firstname:") != 2 || strings.Count(made, "name:grp-") != 1 {
		t.Errorf("the pickup is %s", made)
	}
	o.clean(t, "while they were made", "400")
}

// The keys of a call filter are made once it is there, since they name who is in it: where they are refused, it goes again.
func TestConsoleTakesAFilterAwayWithoutItsKeys(t *testing.T) {
	g, o, admin, in := desk(t)
	const confd, auth = "/api/confd/1.1", "/api/auth/0.1"
	for i, name := range []string{"Ada", "Bob"} {
		g.Do(t, "POST", confd+"/users", admin, fmt.Sprintf(`{"firstname":%q,"lines":[{"context":%q,"endpoint_sip":{},"extensions":[{"exten":"10%02d","context":%[2]q}]}]}`, name, in, i+1)).Want(201)
	}
	olga := g.Do(t, "POST", auth+"/users", admin, `{"username":"olga","password":"a-long-password"}`).Want(200).Text("uuid")
	policy := g.Do(t, "POST", auth+"/policies", admin, `{"name":"filters","acl":["confd.#","!confd.users.*.funckeys.*.update"]}`).Want(200).Text("uuid")
	g.Do(t, "PUT", auth+"/users/"+olga+"/policies/"+policy, admin, "").Want(204)
	o.press("Sign out")
	o.signIn("olga", "a-long-password")
	o.goTo("#/call-filter", "New call filter")
	o.enter("Name", "Chief")
	o.enter("Whose calls", "Ada")
	o.enter("Who takes them", "Bob")
	o.hit(kb.Enter)
	o.until(`document.querySelectorAll('.several li').length === 1`, "Bob is not taken")
	o.click(`[data-name="keys"]`)
	o.press("Create")
	o.until(`document.querySelector('main form div.error')?.textContent`, "the keys are not refused")
	if left := g.Do(t, "GET", confd+"/callfilters", admin, "").List().Total; left != 0 {
		t.Errorf("%d filters are left without their keys", left)
	}
	o.shoot(t, "keys-refused")
	o.until(`location.hash === '#/call-filter' && document.querySelector('[data-name="name"]').value === 'Chief'`, "what was typed is lost")
	o.click(`[data-name="keys"]`)
	o.press("Create")
	o.reads("Chief was created.")
	o.clean(t, "while keys were refused", "400", "403")
}
