package asterisk_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/asterisk/jobs"
	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func TestMain(m *testing.M) { gatewaytest.Main(m) }

// cluster is two gateways on one database that configure a real Asterisk.
type cluster struct {
	*pbxUnderTest
	nodes []*gatewaytest.Process
	admin string
}

// startCluster starts them, the second of which speaks to Asterisk over TLS, with Alice (101) and Bob (102), who have telephones and mailboxes, and a context that changes reach at once.
func startCluster(t *testing.T) (c *cluster, context string) {
	t.Helper()
	findAsterisk(t)
	settings := gatewaytest.Settings{Database: storetest.NewDatabase(t, storetest.Server(t), false)}
	c = &cluster{pbxUnderTest: bootReal(t)}
	first := gatewaytest.Start(t, settings).Ready(t) // without an Asterisk, until its transport has a port of this test
	c.admin = first.Login(t, "admin", gatewaytest.Password)
	context = c.furnish(t, first, c.admin)
	for _, one := range [][2]string{{"alice", "101"}, {"bob", "102"}} {
		c.user(t, first, context, one[0], one[1])
	}
	first.Stop(t)
	settings.Env = append(settings.Env, c.env()...)
	first.Env = append(first.Env, settings.Env...)
	first.Run(t)
	settings.Env = append(settings.Env, "RINGFENCE_ASTERISK_MANAGER=tls://"+c.at("managers"), "SSL_CERT_FILE="+c.dir+"/etc/cert.pem")
	c.nodes = []*gatewaytest.Process{first.Ready(t), gatewaytest.Start(t, settings).Ready(t)}
	return c, context
}

// furnish gives a gateway a transport at the port of this test, and a context for numbers, which it returns.
func (a *pbxUnderTest) furnish(t *testing.T, g *gatewaytest.Process, admin string) (context string) {
	t.Helper()
	transport := g.Do(t, "GET", "/api/confd/1.1/sip/transports?name=transport-udp", admin, "").Want(200).JSON("items").([]any)[0].(map[string]any)
	g.Do(t, "PUT", "/api/confd/1.1/sip/transports/"+transport["uuid"].(string), admin, `{"options": [["protocol", "udp"], ["bind", "`+a.at("sip")+`"]]}`).Want(204)
	return g.Do(t, "POST", "/api/confd/1.1/contexts", admin, `{"label": "Office", "user_ranges": [{"start": "100", "end": "199"}]}`).Want(201).Text("name")
}

// env are the settings by which a gateway configures it.
func (a *pbxUnderTest) env() (env []string) {
	for _, v := range [][2]string{
		{"ASTERISK_MANAGER", a.at("manager")},
		{"ASTERISK_SECRET", "s"},
		{"ASTERISK_FOLDER", a.dir + "/generated"},
		{"ASTERISK_LOG", a.dir + "/log/full"},
		{"VOICEMAIL_FOLDER", a.dir + "/spool/voicemail"},
		{"MOH_FOLDER", a.dir + "/data/moh"},
	} {
		env = append(env, "RINGFENCE_"+v[0]+"="+v[1])
	}
	return env
}

// user adds a user with a telephone of that name, a number, and a mailbox.
func (c *cluster) user(t *testing.T, at *gatewaytest.Process, context, name, exten string) {
	t.Helper()
	at.Do(t, "POST", "/api/confd/1.1/users", c.admin, fmt.Sprintf(`{"firstname": %[1]q, "lines": [{"context": %[2]q, "extensions": [{"exten": %[3]q}],
		"endpoint_sip": {"name": %[1]q, "auth_section_options": [["username", %[1]q], ["password", "secret-%[1]s"]], "endpoint_section_options": [["allow", "!all,ulaw"]]}}],
		"voicemail": {"name": %[1]q, "number": %[3]q, "context": %[2]q, "password": "1234"}}`, name, context, exten)).Want(201)
}

// leader waits until exactly one of the nodes configures Asterisk, and returns it.
func (c *cluster) leader(t *testing.T, of ...*gatewaytest.Process) (leader *gatewaytest.Process) {
	t.Helper()
	gatewaytest.Eventually(t, patience, func() error {
		leaders := 0
		for _, n := range of {
			if n.Do(t, "GET", "/api/sysconfd/apply/preview", c.admin, "").Status == 200 {
				leader = n
				leaders++
			}
		}
		if leaders != 1 {
			return fmt.Errorf("%d nodes configure Asterisk", leaders)
		}
		return nil
	})
	return leader
}

// shows waits until a node's API shows a text, and logs how long that took.
func (c *cluster) shows(t *testing.T, n *gatewaytest.Process, path, text string) {
	t.Helper()
	since := time.Now()
	gatewaytest.Eventually(t, patience, func() error {
		a, err := n.Try(t.Context(), "GET", "/api/confd/1.1"+path, c.admin, "")
		if err == nil && !strings.Contains(a.Body, text) {
			err = errors.New("the API shows " + a.Body)
		}
		return err
	})
	t.Logf("the API shows %s after %s", text, time.Since(since).Round(time.Millisecond))
}

// has waits until Asterisk's own database has a user's state, and logs how long that took.
func (c *cluster) has(t *testing.T, user, name, value string) {
	t.Helper()
	since := time.Now()
	wait(t, name+" is "+value, func() bool { return c.inDB(user, name) == value }, c.log)
	t.Logf("%s is %q after %s", name, value, time.Since(since).Round(time.Millisecond))
}

// changes counts the entries of the audit for an operation.
func (c *cluster) changes(t *testing.T, operation string) float64 {
	t.Helper()
	return c.nodes[0].Do(t, "GET", "/api/auth/0.1/audit?limit=1&action="+operation, c.admin, "").Want(200).JSON("filtered").(float64)
}

// generation returns the number of the generation that is live.
func (c *cluster) generation() int64 {
	c.t.Helper()
	target, err := os.Readlink(c.dir + "/generated/live")
	n, parsing := strconv.ParseInt(filepath.Base(target), 10, 64)
	if err := errors.Join(err, parsing); err != nil {
		c.t.Fatal(err)
	}
	return n
}

// made returns the jobs that have ended and have made a later generation live, each as often as somebody has done it.
func (c *cluster) made(t *testing.T, after int64) (all []string) {
	t.Helper()
	var audit struct{ Items []struct{ Object string } }
	c.get(t, "/api/auth/0.1/audit?limit=50&order=id&direction=desc&action=apply", &audit)
	for _, entry := range audit.Items {
		var job jobs.Job
		c.get(t, "/api/sysconfd/apply/"+entry.Object, &job)
		if len(job.Files) > 0 && job.Generation > after {
			all = append(all, job.UUID)
		}
	}
	return all
}

func (c *cluster) get(t *testing.T, path string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(c.nodes[0].Do(t, "GET", path, c.admin, "").Want(200).Body), into); err != nil {
		t.Fatal(err)
	}
}

// chooses has the owner of a mailbox choose another PIN by telephone.
func (c *cluster) chooses(p *phone, pin, other string) {
	c.t.Helper()
	c.news()
	call, got := p.dial("*98")
	if got != 200 {
		c.t.Fatalf("own mailbox: %d", got)
	}
	for _, step := range [][2]string{
		{"vm-password", pin + "#"}, {"vm-opts", "0"}, {"vm-options", "5"}, {"vm-newpassword", other + "#"}, {"vm-reenterpassword", other + "#"},
	} {
		c.said(step[0])
		call.press(step[1])
	}
	c.said("vm-passchanged")
	call.hangUp()
	c.idle()
}

// manager opens Asterisk's manager interface ("yes"), or closes it and ends its connections ("no").
func (c *cluster) manager(open string) {
	c.t.Helper()
	name := c.dir + "/etc/manager.conf"
	text, err := os.ReadFile(name)
	if err == nil {
		before, after, _ := strings.Cut(string(text), "enabled = ")
		_, after, _ = strings.Cut(after, "\n")
		err = os.WriteFile(name, []byte(before+"enabled = "+open+"\n"+after), 0o600)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	c.cli("module reload manager")
	if open == "yes" {
		return
	}
	for line := range strings.Lines(c.cli("manager show connected")) {
		if fields := strings.Fields(line); len(fields) > 4 && fields[0] == "ringfence" {
			c.cli("manager kick session " + fields[4])
		}
	}
}

// Of two gateways one configures Asterisk, and another one does when it is killed. What telephones and the API change reaches the other side,
// also what they change while the connection to Asterisk, Asterisk itself, or all gateways are away.
func TestRealNodes(t *testing.T) {
	c, context := startCluster(t)
	wait(t, "the start is applied", func() bool { return strings.Contains(c.cli("pjsip show endpoints"), "Objects found: 3") }, c.log)
	alicePhone, bobPhone := c.phone(t, "alice"), c.phone(t, "bob")
	leads := c.leader(t, c.nodes...)
	follows := c.nodes[0]
	if leads == follows {
		follows = c.nodes[1]
	}
	bobUUID := follows.Do(t, "GET", "/api/confd/1.1/users?search=bob", c.admin, "").Want(200).JSON("items").([]any)[0].(map[string]any)["uuid"].(string)
	dial := func(p *phone, number string, want int) {
		t.Helper()
		call, got := p.dial(number)
		if got != want {
			t.Fatalf("%s: %d, want %d\n%s", number, got, want, c.news())
		}
		if call != nil {
			call.hangUp()
		}
		c.idle()
	}
	dial(alicePhone, "102", 200)

	live := c.generation()
	c.user(t, follows, context, "carol", "103")
	wait(t, "a change through the other node is live", func() bool { return strings.Contains(c.cli("pjsip show endpoints"), "Objects found: 4") }, c.log)
	carolPhone := c.phone(t, "carol")
	dial(carolPhone, "102", 200)
	var made []string
	wait(t, "the job has ended", func() bool { made = c.made(t, live); return len(made) > 0 }, nil)
	if len(made) != 1 || c.generation() != live+1 { // others, which the start has asked for, find nothing to do
		t.Errorf("one change has made the generations %d to %d live, by the jobs %v", live+1, c.generation(), made)
	}
	dial(bobPhone, "*25", 200)
	for _, n := range c.nodes {
		c.shows(t, n, "/users/"+bobUUID+"/services/dnd", `"enabled":true`)
	}
	bobPhone.log()
	dial(alicePhone, "102", 200) // the mailbox
	if bobPhone.count("rings") > 0 {
		t.Error("it rings")
	}
	follows.Do(t, "PUT", "/api/confd/1.1/users/"+bobUUID+"/services/dnd", c.admin, `{"enabled": false}`).Want(204)
	c.has(t, bobUUID, "dnd", "0")
	c.chooses(bobPhone, "1234", "56785678")
	c.shows(t, follows, "/voicemails?number=102", `"password":"56785678"`)

	leads.Kill(t)
	c.nodes = []*gatewaytest.Process{follows}
	dial(bobPhone, "*21101", 200)
	c.shows(t, follows, "/users/"+bobUUID+"/forwards/unconditional", `"destination":"101"`)
	killed := time.Now()
	c.user(t, follows, context, "dave", "104")
	wait(t, "a change is live without the node that was killed", func() bool { return strings.Contains(c.cli("pjsip show endpoints"), "Objects found: 5") }, c.log)
	t.Logf("another node has configured Asterisk after %s", time.Since(killed).Round(time.Millisecond))
	davePhone := c.phone(t, "dave")
	leads.Run(t)
	c.nodes = append(c.nodes, leads.Ready(t))
	if c.leader(t, c.nodes...) != follows {
		t.Error("the node that was killed configures Asterisk as soon as it is back")
	}

	c.manager("no")
	wait(t, "the connections are lost", func() bool {
		return strings.Contains(leads.Output(), "cannot be used; trying again") && strings.Contains(follows.Output(), "cannot be used; trying again")
	}, func() string { return c.cli("manager show connected") + c.log()[c.read:] })
	dial(davePhone, "102", 200) // Alice answers
	dial(bobPhone, "*20", 200)
	c.chooses(bobPhone, "56785678", "90129012")
	leads.Do(t, "PUT", "/api/confd/1.1/users/"+bobUUID+"/services/dnd", c.admin, `{"enabled": true}`).Want(204)
	c.manager("yes")
	c.has(t, bobUUID, "dnd", "1")
	c.shows(t, leads, "/users/"+bobUUID+"/forwards/unconditional", `"enabled":false`)
	c.shows(t, leads, "/voicemails?number=102", `"password":"90129012"`)

	c.cli("core stop now")
	<-c.ended
	leads.Do(t, "PUT", "/api/confd/1.1/users/"+bobUUID+"/services/dnd", c.admin, `{"enabled": false}`).Want(204)
	live = c.generation()
	c.user(t, leads, context, "erin", "105")
	c.boot()
	c.has(t, bobUUID, "dnd", "0")
	wait(t, "what was changed while Asterisk was away is live", func() bool { return strings.Contains(c.cli("pjsip show endpoints"), "Objects found: 6") }, c.log)
	dial(c.phone(t, "erin"), "102", 200)
	wait(t, "the job has ended", func() bool { return len(c.made(t, live)) > 0 }, nil) // otherwise it is taken back, and made again by the next node

	for _, n := range c.nodes {
		n.Stop(t)
	}
	dial(bobPhone, "*25", 200)
	follows.Run(t)
	c.nodes = []*gatewaytest.Process{follows.Ready(t)}
	c.shows(t, follows, "/users/"+bobUUID+"/services/dnd", `"enabled":true`)
	for operation, want := range map[string]float64{"update_user_service": 5, "update_user_forward": 2, "update_voicemail": 2} {
		if got := c.changes(t, operation); got != want {
			t.Errorf("the audit has %v entries of %s, want %v", got, operation, want)
		}
	}
	for _, n := range []*gatewaytest.Process{leads, follows} {
		if strings.Contains(n.Output(), "56785678") || strings.Contains(n.Output(), "90129012") {
			t.Errorf("a PIN is in the log:\n%s", n.Output())
		}
	}
}
