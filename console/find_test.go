package console_test

import (
	"fmt"
	"testing"
)

// Whoever looks for something types a part of its name, goes to any page of a long list, changes several objects at once, tells equal names apart by
// their numbers, and is asked before what was typed is lost.
func TestConsoleFindsAndChangesSeveral(t *testing.T) {
	g, o, admin, in := desk(t)
	const users = "/api/confd/1.1/users"
	for i := range 60 {
		name := fmt.Sprintf("User %02d", i)
		if i >= 58 {
			name = "Zoe"
		}
		g.Do(t, "POST", users, admin, fmt.Sprintf(`{"firstname":%q,"description":"before","lines":[{"context":%q,"endpoint_sip":{},"extensions":[{"exten":"%d","context":%[2]q}]}]}`,
			name, in, 1000+i)).Want(201)
	}
	const press = "dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true, bubbles: true })), ''"
	o.script(t, press)
	o.see("dialog.find")
	o.script(t, `((i) => { i.value = 'zoe'; i.dispatchEvent(new Event('input')) })(document.querySelector('.find input')), ''`)
	for _, name := range []string{"Zoe (1058)", "Zoe (1059)"} {
		o.until(fmt.Sprintf(`[...document.querySelectorAll('.found a')].some((a) => a.textContent.startsWith(%q))`, name), "%s is not found", name)
	}
	o.until(`[...document.querySelectorAll('.found a')].find((a) => a.textContent.startsWith('Zoe (1059)')).click() === undefined`, "what was found is no link")
	o.until(`document.querySelector('main h1')?.textContent === 'Zoe'`, "what was found does not open")

	o.enter("Description", "typed")
	if asks := o.script(t, `String(dispatchEvent(new Event('beforeunload', { cancelable: true })))`); asks != "false" { // it was prevented
		t.Error("the browser does not ask when the page is closed")
	}
	o.script(t, `location.hash = '#/confd/users', ''`)
	o.reads("What you have typed is not saved.")
	o.press("Cancel")
	o.until(`!document.querySelector('dialog') && location.hash.startsWith('#/confd/users/')`, "one does not stay")
	o.script(t, `location.hash = '#/confd/users', ''`)
	o.press("Leave")
	o.reads("60 in all, page 1 of 3")

	o.script(t, `((i) => { i.value = '3'; i.dispatchEvent(new Event('change')) })(document.querySelector('.pages input')), ''`)
	o.reads("60 in all, page 3 of 3")
	if asks := o.script(t, `String(dispatchEvent(new Event('beforeunload', { cancelable: true })))`); asks != "true" {
		t.Error("the browser asks about nothing")
	}
	o.press("First")
	o.reads("60 in all, page 1 of 3")
	o.press("Last")
	o.reads("60 in all, page 3 of 3")
	o.click("th.pick input")
	o.reads("10 chosen")
	o.press("Change…")
	o.script(t, `((s) => { s.value = 'description'; s.dispatchEvent(new Event('change')) })(document.querySelector('.bulk select')), ''`)
	o.enter("Description", "after")
	o.click(".bulk button.primary")
	o.reads("10 were changed.")
	o.click("#state .close")
	o.until(`document.querySelector('#state').textContent === ''`, "a message cannot be closed")
	counted := func(text string, want int) {
		t.Helper()
		n := 0
		for _, user := range g.Do(t, "GET", users, admin, "").List().Items {
			if user["description"] == text {
				n++
			}
		}
		if n != want {
			t.Errorf("%d have %q, want %d", n, text, want)
		}
	}
	counted("after", 10)
	counted("before", 50)
	o.clean(t, "while several were changed")
}
