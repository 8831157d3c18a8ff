package console_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/ringfence/ringfence/asterisk/ami"
	"github.com/ringfence/ringfence/asterisk/ami/amitest"
)

// The page of Asterisk's state tells calls, registered telephones and trunks, and follows what happens while one looks.
func TestConsoleShowsTheStateOfAsterisk(t *testing.T) {
	pbx := amitest.New(t)
	pbx.Handle("PJSIPShowEndpoints", func(c *amitest.Session, a ami.Message) { c.Respond(a, "Error", "Message", "No endpoints found") })
	for _, action := range []string{"VoicemailUsersList", "VoicemailUserStatus", "ShowDialPlan", "PJSIPShowEndpoint", "QueueSummary", "Command"} {
		pbx.Handle(action, func(c *amitest.Session, a ami.Message) { c.Respond(a, "Error", "Message", "Permission denied") })
	}
	pbx.Handle("CoreSettings", func(c *amitest.Session, a ami.Message) { c.Respond(a, "Success", "AsteriskVersion", "20.6.0") })
	pbx.Handle("CoreStatus", func(c *amitest.Session, a ami.Message) {
		c.Respond(a, "Success", "CoreStartupDate", "2026-01-02", "CoreStartupTime", "03:04:05")
	})
	rows := func(action, event string, there func() bool, headers ...string) {
		pbx.Handle(action, func(c *amitest.Session, a ami.Message) {
			id := a.Get("ActionID")
			c.Respond(a, "Success", "EventList", "start", "Message", "A listing follows")
			if there() {
				c.Event(event, append([]string{"ActionID", id}, headers...)...)
			}
			c.Event(event+"Complete", "ActionID", id, "EventList", "Complete")
		})
	}
	var talks, logged atomic.Bool
	always := func() bool { return true }
	rows("CoreShowChannels", "CoreShowChannel", talks.Load, "Channel", "PJSIP/ada-00000001", "ChannelStateDesc", "Up", "CallerIDNum", "1042",
		"CallerIDName", "Ada", "ConnectedLineNum", "1043", "ConnectedLineName", "<unknown>", "Linkedid", "1.1", "Duration", "00:02:05")
	rows("PJSIPShowContacts", "ContactList", always, "ObjectName", "ada;@0a", "Uri", "sip:ada:hidden-word@192.0.2.7:5060;ob", "UserAgent", "Desk telephone",
		"Status", "Reachable", "RoundtripUsec", "12500", "ExpirationTime", "1800000000")
	rows("PJSIPShowRegistrationsOutbound", "OutboundRegistrationDetail", always, "ObjectName", "carrier", "ServerUri", "sip:sip.carrier.example", "Status", "Registered")
	rows("QueueStatus", "QueueMember", logged.Load, "Queue", "ringfence-queue-1", "Name", "Agent/9001", "Status", "1", "Paused", "1", "PausedReason", "12",
		"LoginTime", "1790000000", "LastPause", "1795000000")
	for name, value := range map[string]string{
		"MANAGER": pbx.Address, "USERNAME": amitest.Username, "SECRET": amitest.Secret, "FOLDER": filepath.Join(t.TempDir(), "generated"), "NAME": "",
		"RECORDINGS": t.TempDir(),
	} {
		t.Setenv("RINGFENCE_ASTERISK_"+name, value)
	}
	g, o, admin, in := desk(t)
	o.goTo("#/asterisk", "State of Asterisk")
	o.reads("Asterisk 20.6.0")
	o.reads("Nobody talks now.")
	for _, text := range []string{"192.0.2.7:5060", "12.5 ms", "Desk telephone", "sip.carrier.example", "Registered"} {
		o.reads(text)
	}
	talks.Store(true)
	o.reads("Ada, 1042")
	o.reads("2 minutes")
	if all := o.script(t, `document.querySelector('main').textContent`); len(all) == 0 || strings.Contains(all, "hidden-word") || strings.Contains(all, "<unknown>") {
		t.Errorf("the page has %s", all)
	}
	o.accessible("asterisk")
	o.clean(t, "while one looked")

	// The page of a user begins with all of that which is the user's.
	const confd = "/api/confd/1.1"
	group := g.Do(t, "GET", confd+"/groups", admin, "").List().Items[0]["uuid"]
	user := confd + "/users/" + g.Do(t, "POST", confd+"/users", admin, fmt.Sprintf(`{"firstname":"Ada","groups":[{"uuid":%q}],"auth":{"username":"ada","password":"a-long-password"},"voicemail":{"name":"Ada","number":"1042","context":%q},
		"lines":[{"context":%[2]q,"endpoint_sip":{"name":"ada"},"extensions":[{"exten":"1042","context":%[2]q}]},
			{"context":%[2]q,"endpoint_sip":{"name":"bob"},"extensions":[{"exten":"1043","context":%[2]q}]}]}`, group, in)).Want(201).Text("uuid")
	// Names that are chosen at random are told by whom they belong to, with a link, there and in the audit.
	g.Do(t, "POST", confd+"/trunks?recursive=true", admin, `{"endpoint_sip":{"name":"carrier","label":"Carrier One"}}`).Want(201)
	o.run(t, chromedp.Reload())
	o.until(fmt.Sprintf(`['Ada, 1042', 'Carrier One'].every((who) => [...document.querySelectorAll('main td a')].some((a) => a.textContent === who && a.title)) && document.querySelector('main td a[href="#%s"]')`,
		strings.Replace(user, "/api/confd/1.1", "/confd", 1)), "it is not said whose the endpoints are")
	o.goTo("#/auth/audit?service=confd", "Audit")
	o.until(`[...document.querySelectorAll('main td small a')].some((a) => a.textContent === 'Ada, 1042' && a.title === 'ada')`, "the audit does not say whose the endpoint is")
	// The first page tells the same in short, with what waits, and follows.
	o.goTo("#/", "Welcome, admin")
	o.until(`((cards) => ['Calls now 1 ', 'Telephones registered 1 of 2', 'Trunks 1 All are up', 'Last backup None yet Make one', 'Health '].every((card) => cards.some((one) => one.startsWith(card))))(
		[...document.querySelectorAll('.now li')].map((li) => [...li.children].map((e) => e.textContent).join(' ')))`, "the first page does not say what is now")
	o.shoot(t, "now")
	talks.Store(false)
	o.until(`[...document.querySelectorAll('.now li')].some((li) => li.textContent === 'Calls now0Nobody talks.')`, "the first page does not follow")
	o.accessible("now")
	o.click(`.now a[href="#/asterisk"]`)
	o.until(`document.querySelector('main h1')?.textContent === 'State of Asterisk'`, "the card leads nowhere")
	talks.Store(true)
	g.Do(t, "PUT", user+"/forwards/busy", admin, `{"enabled":true,"destination":"102"}`).Want(204)
	g.Do(t, "PUT", user+"/services/dnd", admin, `{"enabled":true}`).Want(204)
	o.goTo("#"+strings.Replace(user, "/api/confd/1.1", "/confd", 1), "Ada")
	tells := func(term, want string) {
		t.Helper()
		o.until(fmt.Sprintf(`[...document.querySelectorAll('.glance dt')].find((dt) => dt.textContent === %q)?.nextSibling.innerText.replace(/\s+/g, ' ').match(%s)`, term, want), "%s is not %s", term, want)
	}
	tells("Numbers", "/^1042, 1043$/")
	tells("Telephones", `/^1042 \(ada\) Registered from 192\.0\.2\.7:5060, since before .+, until [^,]+.*, Desk telephone In a call with 1043, for 2 minutes 1043 \(bob\) Not registered$/`)
	tells("Mailbox", "/^Ada/")
	tells("Groups", "/^Sales$/")
	tells("Forwards", "/^On busy to 102$/")
	tells("Do not disturb", "/^On$/")
	for _, violation := range o.violations() {
		t.Errorf("the user: %s", violation)
	}
	o.shoot(t, "glance")
	talks.Store(false) // the page follows
	tells("Telephones", `/^1042 \(ada\) Registered from [^I]+ 1043 \(bob\) Not registered$/`)

	// What the person signs in with is told too, and one ends a session there. The login leads back.
	tells("Policies", "/./")
	tells("Sessions", "/^none$/")
	policy := g.Do(t, "GET", "/api/auth/0.1/policies?search=ringfence_administrator", admin, "").List().Items[0]["uuid"]
	login := strings.Replace(user, confd, "/api/auth/0.1", 1)
	g.Do(t, "PUT", fmt.Sprint(login, "/policies/", policy), admin, "").Want(204)
	g.Login(t, "ada", "a-long-password")
	o.run(t, chromedp.Reload())
	tells("Login", "/^ada$/")
	tells("Policies", "/ringfence_administrator/")
	tells("Sessions", `/^From 127\.0\.0\.1.*, since .* End$/`)
	o.press("End")
	o.see("dialog[open]")
	o.click("dialog[open] .danger")
	o.reads("The session has ended.")
	tells("Sessions", "/^none$/")
	o.goTo("#"+strings.Replace(login, "/api/auth/0.1", "/auth", 1), "Ada")
	shift := "/api/auth/0.1/groups/" + g.Do(t, "POST", "/api/auth/0.1/groups", admin, `{"name":"Shift"}`).Want(200).Text("uuid")
	o.part("Groups") // which have their members from both sides
	o.enter("Add to Groups", "Shift")
	o.press("Add")
	o.reads("The link was made.")
	if members := g.Do(t, "GET", shift+"/users", admin, "").Want(200).Body; !strings.Contains(members, `"ada"`) {
		t.Errorf("the members are %s", members)
	}
	o.click(`[aria-label="Remove Shift"]`)
	o.reads("The link was removed.")
	o.shoot(t, "login")
	o.click(".glance a")
	o.until(`document.querySelector('.glance dt')?.textContent === 'Numbers'`, "the login does not lead to the person")
	// That of an agent tells whether they are logged in, or pause, since when.
	queue := g.Do(t, "POST", confd+"/queues", admin, `{"name":"hotline","label":"Hotline"}`).Want(201).JSON("id")
	agent := g.Do(t, "POST", confd+"/agents", admin, fmt.Sprintf(`{"number":"9001","queues":[{"id":%v}]}`, queue)).Want(201).JSON("id")
	o.goTo(fmt.Sprint("#/confd/agents/", agent), "9001")
	tells("Now", "/^Not logged in$/")
	logged.Store(true) // the page follows
	tells("Now", "/^Pauses 12 since .*2026/")
	o.shoot(t, "agent")
	o.clean(t, "at one look")
	seesCalls(t, g, o, admin, pbx)
}
