package caddymodule_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// counted counts from now on the clicks, and the pages that are opened.
func (o *operator) counted() (clicks, pages func() string) {
	o.t.Helper()
	o.script(o.t, `window.clicked ? '' : (document.addEventListener('click', () => { window.clicked.clicks++; }, true), addEventListener('hashchange', () => { window.clicked.pages++; }), ''), window.clicked = { clicks: 0, pages: 0 }, ''`)
	return func() string { return o.script(o.t, `String(window.clicked.clicks)`) }, func() string { return o.script(o.t, `String(window.clicked.pages)`) }
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
	o.until(`document.querySelector('[data-name=exten]')?.value === '1501'`, "the next free number is not offered")
	o.reads("499 numbers free, also 1502, 1503, 1504, 1505")
	clicks, pages := o.counted()
	o.enter("Label", "Front")
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
	if members := fmt.Sprint(made["members"]); !strings.Contains(fmt.Sprint(made["extensions"]), "1501") || strings.Index(members, "Bobby") > strings.Index(members, "Ada") {
		t.Errorf("the group is %v", made)
	}

	// The order can be changed, and the keyboard stays where it was.
	o.goTo("#/ring-group", "New ring group")
	o.enter("Label", "Night")
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
	night := g.Do(t, "GET", confd+"/groups?search=Night", admin, "").List().Items[0]
	if members := fmt.Sprint(night["members"]); !strings.Contains(members, "Bobby") || strings.Contains(members, "Ada") {
		t.Errorf("the group is %v", night)
	}

	// What the gateway refuses leaves neither the group nor its number.
	g.Do(t, "POST", confd+"/users", admin, `{"firstname":"Lineless"}`).Want(201)
	o.goTo("#/ring-group", "New ring group")
	o.enter("Label", "Refused")
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
