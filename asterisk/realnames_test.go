package asterisk_test

import (
	"bytes"
	"os"
	"testing"
)

// Telephones show how a line is called now, whoever of the two calls, without a reload of the telephones; who hides stays hidden.
func TestRealNames(t *testing.T) {
	s := office(t)
	s.Endpoints[2].Endpoint.V = append(s.Endpoints[2].Endpoint.V, []string{"send_pai", "yes"}) // Bob's telephone is told whom it talks to
	s.Endpoints[3].Endpoint.V = append(s.Endpoints[3].Endpoint.V, []string{"send_pai", "yes"})
	s.Endpoints[3].Endpoint.V = append(s.Endpoints[3].Endpoint.V, []string{"named_pickup_group", "sales"}, []string{"callerid", `"Carla" <103>`}) // as the API writes it
	s.Endpoints[4].Endpoint.V = append(s.Endpoints[4].Endpoint.V, []string{"callerid_privacy", "prohib"}, []string{"named_call_group", "sales"})
	a := startReal(t, s)
	a.apply()
	a.clean("the first apply")
	alice, bobPhone, carolPhone, davePhone := a.phone(t, "alice"), a.phone(t, "bob"), a.phone(t, "carol"), a.phone(t, "dave")
	calls := func(from *phone, number string, to *phone, shows string) {
		t.Helper()
		from.log()
		to.log()
		if _, got := from.dial(number); got != 200 {
			t.Fatalf("%s calls %s: %d", from.name, number, got)
		}
		to.saw("rings: " + shows)
		from.hangUpAll()
		a.idle()
	}
	telephones := func() []byte {
		text, err := os.ReadFile(a.dir + "/generated/live/pjsip.conf")
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	calls(alice, "102", bobPhone, `"Alice Martin" <sip:101@`)
	calls(carolPhone, "102", bobPhone, `"Carla" <sip:103@`)
	calls(davePhone, "102", bobPhone, `"Anonymous" <sip:anonymous@`)
	calls(bobPhone, "103", carolPhone, `"Bob" <sip:102@`)
	bobPhone.saw(`talks to "Carla" <sip:103@`)
	before := telephones()
	s.Users[0].CallerID = new(`Zoë, "${SHELL(id)}"; (Zé) 100%41`)
	s.Endpoints[3].Endpoint.V[len(s.Endpoints[3].Endpoint.V)-1][1] = `"Carmen" <103>`
	a.set(s)
	a.apply()
	if !bytes.Equal(before, telephones()) {
		t.Error("the telephones are reloaded")
	}
	calls(alice, "102", bobPhone, `"Zoë, \"${SHELL(id)}\"; (Zé) 100%41" <sip:101@`)
	calls(bobPhone, "103", carolPhone, `"Bob" <sip:102@`)
	bobPhone.saw(`talks to "Carmen" <sip:103@`)
	// Who picks up a call, and who is transferred, are known by their names too.
	for _, code := range []string{"*8104", "*8"} {
		bobPhone.log()
		carolPhone.log()
		davePhone.log()
		davePhone.when("ring")
		answered := make(chan int)
		go func() {
			_, got := bobPhone.dial("104")
			answered <- got
		}()
		davePhone.saw("rings")
		if _, got := carolPhone.dial(code); got != 200 || <-answered != 200 {
			t.Errorf("a pickup by %s: %d", code, got)
		}
		bobPhone.saw(`talks to "Carmen" <sip:103@`)
		carolPhone.saw(`talks to "Bob" <sip:102@`)
		carolPhone.hangUpAll()
		a.idle()
	}
}
