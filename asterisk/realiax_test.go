package asterisk_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/porttest"
)

// startIAX loads the module for IAX.
func (a *pbxUnderTest) startIAX() {
	a.t.Helper()
	a.own("iaxprov.conf", "[default]\n")
	if err := os.MkdirAll(a.dir+"/data/firmware/iax", 0o755); err != nil {
		a.t.Fatal(err)
	}
	if said := a.cli("module load chan_iax2.so"); !strings.Contains(said, "Loaded chan_iax2.so") {
		a.t.Skipf("this Asterisk has no IAX: %s", said)
	}
}

// By IAX a trunk registers at another Asterisk, calls come in from there, with the secret alone, and go out.
func TestRealIAX(t *testing.T) {
	var ports []int
	for range 2 {
		n, release, err := porttest.Reserve()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(release)
		ports = append(ports, n)
	}
	carrier := startCarrier(t)
	carrier.own("iax.conf", fmt.Sprintf("[general]\nbindport = %d\nbindaddr = 127.0.0.1\n[acme]\ntype = friend\nhost = dynamic\nsecret = s3cret\ncontext = nothing\nrequirecalltoken = no\n", ports[1]))
	carrier.startIAX()
	s := company(t)
	s.Trunks = []*confdsvc.Trunk{{ID: 1, TenantUUID: acme, Context: new(public)}}
	s.EndpointsIAX = []*confdsvc.EndpointIAX{read[confdsvc.EndpointIAX](t, fmt.Sprintf(`{"id": 1, "tenant_uuid": "`+acme+`", "name": "far", "type": "friend", "host": "127.0.0.1",
		"options": [["port", "%d"], ["username", "acme"], ["secret", "s3cret"], ["requirecalltoken", "no"], ["dial", "x"]]}`, ports[1]))}
	s.RegistersIAX = []*confdsvc.RegisterIAX{read[confdsvc.RegisterIAX](t, fmt.Sprintf(`{"id": 1, "tenant_uuid": "`+acme+`", "auth_username": "acme", "auth_password": "s3cret",
		"remote_host": "127.0.0.1", "remote_port": %d, "enabled": true}`, ports[1]))}
	s.TrunkIAX, s.TrunkRegister = map[confdsvc.ID]confdsvc.ID{1: 1}, map[confdsvc.ID]confdsvc.ID{1: 1}
	callsOut(t, s, `"ring_time": 20, "trunks": [{"id": 1}]`, "")
	s.Sections = map[string]map[string]string{"iax/general": {"bindaddr": "127.0.0.1", "bindport": fmt.Sprint(ports[0]), "minregexpire": "60"}}
	a := startReal(t, s)
	a.apply() // Asterisk has no IAX yet: the job tells it, and telephones work
	a.startIAX()
	wait(t, "it is registered", func() bool { return strings.Contains(a.cli("iax2 show registry"), "Registered") },
		func() string { return a.cli("iax2 show registry") + a.log() + carrier.log() })
	alice := a.phone(t, "alice")
	calls := func(by string) {
		carrier.cli("channel originate " + by + " application Wait 60")
	}
	calls("IAX2/acme/5550100") // where it has registered
	alice.saw("answers")
	a.rest("a call by IAX", "answer", []*phone{alice})
	carrier.idle()
	c, status := alice.dial("05550199")
	if status != 200 {
		t.Fatalf("a call out by IAX: status %d\n%s", status, a.log()[a.read:])
	}
	c.hangUp()
	a.rest("a call out by IAX", "answer", []*phone{alice})

	// Without a secret nobody comes in.
	s.EndpointsIAX[0].Options.V = [][]string{{"port", fmt.Sprint(ports[1])}}
	s.Sections["iax/general"]["regcontext"] = "default"
	a.set(s)
	job := a.job()
	if told := fmt.Sprint(job.LeftOut.Items); !strings.Contains(told, "it has no secret") || !strings.Contains(told, "regcontext") {
		t.Errorf("left out are %s", told)
	}
	if got := a.cli("iax2 show users"); strings.Contains(got, "far") {
		t.Errorf("the users are %s", got)
	}
}
