package console_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
)

// company is the gateway of a company that has some of everything, and an administrator at its console.
func company(t *testing.T) (g *gatewaytest.Inside, o *operator, admin string) {
	t.Helper()
	t.Setenv("RINGFENCE_ASTERISK_FOLDER", filepath.Join(t.TempDir(), "generated"))
	g = gatewaytest.LoadDefault(t, "")
	admin = g.Admin(t)
	const confd, auth = "/api/confd/1.1", "/api/auth/0.1"
	made := func(path, body string) map[string]any {
		t.Helper()
		var object map[string]any
		if err := json.Unmarshal([]byte(g.Do(t, "POST", confd+path, admin, body).Want(201).Body), &object); err != nil {
			t.Fatal(err)
		}
		return object
	}
	in := fmt.Sprint(made("/contexts", `{"label":"Inside","user_ranges":[{"start":"1000","end":"1199"}],"group_ranges":[{"start":"1200","end":"1299"}],"conference_room_ranges":[{"start":"1300","end":"1309"}]}`)["name"])
	out := fmt.Sprint(made("/contexts", `{"label":"From outside","type":"incall","incall_ranges":[{"start":"493055500","end":"493055599","did_length":9}]}`)["name"])
	var users []map[string]any
	for i, name := range []string{"Ada Lovelace", "Grace Hopper", "Alan Turing", "Hedy Lamarr", "Claude Shannon", "Katherine Johnson", "Tim Berners-Lee", "Radia Perlman"} {
		first, last, _ := strings.Cut(name, " ")
		users = append(users, made("/users", fmt.Sprintf(`{"firstname":%q,"lastname":%q,"email":"%s@example.org","lines":[{"context":%q,"endpoint_sip":{"generate_login":true},"extensions":[{"exten":"%d","context":%q}]}],
			"voicemail":{"name":%q,"number":"%d","context":%q}}`, first, last, strings.ToLower(first), in, 1001+i, in, name, 1001+i, in)))
	}
	group := made("/groups", fmt.Sprintf(`{"label":"Sales","ring_strategy":"linear","extensions":[{"exten":"1200","context":%q}],"members":{"users":[{"uuid":%q},{"uuid":%q},{"uuid":%q}]}}`, in, users[0]["uuid"], users[1]["uuid"], users[2]["uuid"]))
	made("/groups", fmt.Sprintf(`{"label":"Workshop","extensions":[{"exten":"1201","context":%q}],"members":{"users":[{"uuid":%q}]}}`, in, users[3]["uuid"]))
	ivr := made("/ivr", fmt.Sprintf(`{"name":"Welcome","menu_sound":"welcome","choices":[{"exten":"1","destination":{"type":"group","group_id":%v}},{"exten":"2","destination":{"type":"user","user_id":%v}}]}`, group["id"], users[4]["id"]))
	made("/incalls", fmt.Sprintf(`{"destination":{"type":"ivr","ivr_id":%v},"description":"Head office","extensions":[{"exten":"493055500","context":%q}]}`, ivr["id"], out))
	made("/incalls", fmt.Sprintf(`{"destination":{"type":"user","user_id":%v},"extensions":[{"exten":"493055501","context":%q}]}`, users[0]["id"], out))
	made("/schedules", fmt.Sprintf(`{"name":"Office","timezone":"Europe/Berlin","open_periods":[{"hours_start":"09:00","hours_end":"17:30","week_days":[1,2,3,4],"month_days":[1,2,3],"months":[1]}],
		"closed_destination":{"type":"voicemail","voicemail_id":%v}}`, users[0]["voicemail"].(map[string]any)["id"]))
	made("/conferences", `{"name":"Monday","extensions":[{"exten":"1300","context":"`+in+`"}]}`)
	made("/parkinglots", `{"name":"Desk","slots_start":"701","slots_end":"709"}`)
	made("/pagings", `{"number":"50","name":"Shop floor"}`)
	made("/callpickups", `{"name":"Sales"}`)
	made("/callpermissions", `{"name":"No calls abroad","extensions":["00X."]}`)
	made("/funckeys/templates", `{"name":"Desk","keys":{"1":{"destination":{"type":"service","service":"enablednd"}}}}`)
	made("/phone-numbers", `{"number":"+493055500"}`)
	made("/moh", `{"label":"Piano","mode":"files"}`)
	made("/trunks", `{"context":"`+out+`","endpoint_sip":{"label":"Carrier"}}`)
	made("/outcalls", `{"name":"Everywhere"}`)
	g.Do(t, "POST", auth+"/users", admin, `{"username":"olga","firstname":"Olga","lastname":"Ladyzhenskaya","password":"a-long-password"}`).Want(200)
	g.Do(t, "POST", auth+"/groups", admin, `{"name":"reception"}`).Want(200)
	g.Do(t, "POST", auth+"/tenants", admin, `{"name":"A customer with a long name","slug":"west"}`).Want(200)
	o = &operator{newBrowser(t), t, g.URL}
	o.run(t, emulate(1400, 900, "light"))
	o.goTo("", "Sign in")
	o.signIn("admin", gatewaytest.Password)
	return g, o, admin
}

// loaded is whether a page shows its content.
const loaded = `document.querySelector('main h1') && !document.querySelector('main [aria-busy=true]')`

// visit opens a page, also the one that is shown, and waits until it shows something.
func (o *operator) visit(page, shows string) {
	o.t.Helper()
	o.script(o.t, fmt.Sprintf(`document.querySelector('main').firstElementChild.id = 'before', window.held = 0,
		location.hash === %[1]q ? dispatchEvent(new HashChangeEvent('hashchange')) : (location.hash = %[1]q), ''`, page))
	o.until(`!document.getElementById('before') && (`+shows+`)`, "the page %s does not show %s", page, shows)
}

// pages are all pages of the console: those in its menu, those of the work, and those that make an object of a kind. Of each list that has
// objects, each visit adds the page of the first.
func (o *operator) pages() []string {
	o.t.Helper()
	o.script(o.t, `Promise.all([import('/console/app/definitions.js'), import('/console/app/menu.js')]).then(([{ resources }, { makers }]) => {
		window.pages = [...new Set([...[...document.querySelectorAll('nav a')].map((a) => a.getAttribute('href')).filter((to) => to.startsWith('#/')),
			...Object.keys(makers).map((address) => '#/' + address), ...[...resources.values()].filter((r) => r.create).map((r) => '#/' + r.key + '/+new')])];
	}), ''`)
	o.until(`window.pages`, "there are no pages")
	return strings.Split(o.script(o.t, `window.pages.join('\n')`), "\n")
}

// first returns the page of the first object of the list that is shown, if it has one.
func (o *operator) first() []string {
	o.t.Helper()
	return strings.Fields(o.script(o.t, `[...document.querySelectorAll('main tbody td a')].map((a) => a.getAttribute('href')).find((to) => to.startsWith(location.hash.split('?')[0] + '/')) ?? ''`))
}

// Every page of the console can be read by everybody, in both looks and on a telephone; and every page says so while it waits, when it has
// nothing, when it is refused something, and when it fails.
func TestConsolePages(t *testing.T) {
	_, o, _ := company(t)
	pages := o.pages()
	t.Run("accessible", func(t *testing.T) {
		o := &operator{o.browser, t, o.url}
		for i := 0; i < len(pages); i++ {
			o.visit(pages[i], loaded)
			pages = append(pages, o.first()...)
			o.accessible(pages[i])
		}
		if len(pages) < 100 {
			t.Errorf("there are only %d pages: %q", len(pages), pages)
		}
		o.clean(t, "on all pages", "404", "503") // there is no main phone number, and no Asterisk
	})

	// The answers to what a page reads are held back, fail, are refused, or are lists with nothing in them.
	o.script(t, `((real) => {
		const refused = (status, detail) => Response.json({ status, detail }, { status, headers: { 'Content-Type': 'application/problem+json' } });
		window.fetch = async (url, options = {}) => {
			if (!window.mode || (options.method ?? 'GET') !== 'GET') return real(url, options);
			window.held += 1;
			if (window.mode === 'failed') return refused(500, 'The database is away.');
			if (window.mode === 'refused') return refused(403, 'You may not see this.');
			if (window.mode === 'loading') return new Promise((_, reject) => options.signal?.addEventListener('abort', () => reject(options.signal.reason)));
			const answer = await real(url, options), text = await answer.text(), data = /json/.test(answer.headers.get('Content-Type')) && JSON.parse(text);
			if (!data || !('total' in data)) return new Response(text, { status: answer.status, headers: answer.headers });
			const none = Object.fromEntries(Object.entries(data).map(([name, value]) => [name, Array.isArray(value) ? [] : typeof value === 'number' ? 0 : value]));
			return Response.json(none, { status: answer.status });
		};
	})(window.fetch), ''`)
	const form = `document.querySelector('main form button.primary, main #file')` // it can be filled in without what was asked for it
	for _, state := range []struct{ mode, shows string }{
		{"loading", `document.querySelector('main [aria-busy=true]')?.textContent.includes('Loading') || document.querySelector('main h1') && (held === 0 || ` + form + `)`},
		{"failed", loaded + ` && ([...document.querySelectorAll('main [role=alert]')].some((e) => e.textContent.includes('The database is away.')) || held === 0 || ` + form + `)`},
		{"refused", loaded + ` && ([...document.querySelectorAll('main [role=alert]')].some((e) => e.textContent.includes('You may not see this.') && e.querySelector('a')) || held === 0 || location.hash === '#/' || ` + form + `)`}, // the start shows what one may see
		{"empty", loaded + ` && (!document.getElementById('search') || document.querySelector('main .empty') && !document.querySelector('main tbody'))`},
	} {
		t.Run(state.mode, func(t *testing.T) {
			o := &operator{o.browser, t, o.url}
			o.script(t, fmt.Sprintf(`window.mode = %q`, state.mode))
			for _, page := range pages {
				o.visit(page, state.shows)
				if said := o.said(t); strings.Contains(said, "fault") {
					t.Errorf("%s: %s", page, said)
				}
			}
			o.clean(t, "on all pages", "404", "503")
		})
	}
}

// What pages ask for does not grow with the number of users, and the definitions are small.
func TestConsolePagesAreSmall(t *testing.T) {
	g, o, admin := company(t)
	// asked are the requests since the last time: how many, and the bytes of their answers as they were sent, those of one kind apart.
	asked := func(only string) (requests, bytes int) {
		t.Helper()
		text := o.script(t, fmt.Sprintf(`((all) => (performance.clearResourceTimings(), [all.length, all.reduce((n, e) => n + e.encodedBodySize, 0)].join(' ')))(performance.getEntriesByType('resource').filter((e) => e.name.includes(%q)))`, only))
		if _, err := fmt.Sscan(text, &requests, &bytes); err != nil {
			t.Fatal(text, err)
		}
		return requests, bytes
	}
	if requests, bytes := asked("openapi.json"); requests < 3 || bytes < 10_000 || bytes > 150_000 {
		t.Errorf("the definitions are %d bytes in %d requests", bytes, requests)
	} else {
		t.Logf("the definitions are %d bytes", bytes)
	}
	addUsers(t, filepath.Join(g.Dir, "data", "ringfence.db"), 20_000)
	ada := g.Do(t, "GET", "/api/confd/1.1/users?search=Lovelace", admin, "").List().Items[0]["uuid"]
	for _, page := range []struct {
		address, shows string
		requests       int
	}{
		{"#/", `document.querySelector('.counts')`, 8},
		{"#/confd/users", `document.querySelectorAll('main tbody tr').length === 25`, 4},
		{"#/confd/users?search=lovelace", `document.querySelectorAll('main tbody tr').length === 1`, 4},
		{fmt.Sprint("#/confd/users/", ada), `document.querySelector('main h1').textContent === 'Ada Lovelace' && [...document.querySelectorAll('details.part[open]')].every((d) => d.querySelector('form'))`, 10},
		{"#/ring-group", `document.querySelector('.number input')`, 6},
	} {
		asked("")
		start := time.Now()
		o.visit(page.address, loaded+" && "+page.shows)
		took := time.Since(start)
		requests, bytes := asked("/api/")
		t.Logf("%s: %v, %d requests, %d bytes", page.address, took.Round(time.Millisecond), requests, bytes)
		if requests > page.requests || bytes > 60_000 {
			t.Errorf("%s asks %d times, for %d bytes", page.address, requests, bytes)
		}
	}
	// So it is with what one looks for everywhere.
	asked("")
	o.script(t, `dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true, bubbles: true })), ''`)
	o.see("dialog.find")
	o.script(t, `((i) => { i.value = 'lovelace'; i.dispatchEvent(new Event('input')) })(document.querySelector('.find input')), ''`)
	o.until(`[...document.querySelectorAll('.found a')].some((a) => a.textContent.startsWith('Ada Lovelace')) && !document.querySelector('.find [role=status]').textContent.startsWith('Looking')`, "she is not found")
	if requests, bytes := asked("/api/"); requests > 40 || bytes > 60_000 {
		t.Errorf("to find somebody everywhere takes %d requests for %d bytes", requests, bytes)
	} else {
		t.Logf("to find somebody everywhere: %d requests, %d bytes", requests, bytes)
	}
	o.clean(t, "among many users")
}
