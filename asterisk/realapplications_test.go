package asterisk_test

import (
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/websocket"

	"github.com/ringfence/ringfence/confdsvc"
)

// event is what a program hears of a call at ARI.
type event struct {
	Type    string
	Channel struct{ ID, Name string }
}

// A program takes the calls to its application, and those of its lines; without one callers hear so. Others wait, as the application's options say.
func TestRealApplications(t *testing.T) {
	const (
		survey = "eeeeeeee-0000-4000-8000-000000000001"
		lounge = "eeeeeeee-0000-4000-8000-000000000002"
		porch  = "eeeeeeee-0000-4000-8000-000000000003"
	)
	s := office(t)
	s.Applications = []*confdsvc.Application{
		read[confdsvc.Application](t, `{"uuid": "`+survey+`", "tenant_uuid": "`+acme+`", "name": "Survey"}`),
		read[confdsvc.Application](t, `{"uuid": "`+lounge+`", "tenant_uuid": "`+acme+`", "destination": "node",
			"destination_options": {"type": "holding", "answer": true, "music_on_hold": "default"}}`),
		read[confdsvc.Application](t, `{"uuid": "`+porch+`", "tenant_uuid": "`+acme+`", "destination": "node", "destination_options": {"type": "holding"}}`),
	}
	for i, o := range s.Applications {
		outside(t, s, confdsvc.ID(10+i), "555011"+string(rune('0'+i)), `{"type": "application", "application": "custom", "application_uuid": "`+o.UUID+`"}`)
	}
	s.LineApplication = map[confdsvc.ID]string{5: survey} // Dave's
	s.Emergencies = []*confdsvc.EmergencyNumber{read[confdsvc.EmergencyNumber](t, `{"id": 1, "tenant_uuid": "`+acme+`", "number": "112"}`)}
	a := startReal(t, s)
	carrier := outsideOf(t, a, s)[0]
	s.Includes = map[confdsvc.ID][]confdsvc.ID{1: {2, 6}}
	a.set(s)
	a.apply()
	a.clean("the first apply")
	alice, dave := a.phone(t, "alice"), a.phone(t, "dave")
	all := []*phone{carrier, alice, dave}
	rest := func(when string) { t.Helper(); a.rest(when, "answer", all) }

	if _, got := alice.dial("5550110"); got != 404 {
		t.Errorf("without a program: %d", got)
	}
	a.said("ss-noservice")
	rest("no program")

	config, err := websocket.NewConfig("ws://"+a.at("http")+"/ari/events?app=wazo-app-"+survey+"&api_key=program:s", "http://"+a.at("http"))
	if err != nil {
		t.Fatal(err)
	}
	program, err := config.DialContext(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	does := func(method, path string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+a.at("http")+"/ari/channels/"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.SetBasicAuth("program", "s")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != 204 {
			t.Errorf("%s %s: %d", method, path, answer.StatusCode)
		}
	}
	for number, who := range map[string]*phone{"5550110": alice, "4242": dave, "*25": dave} {
		dialled := make(chan int)
		go func() { _, got := who.dial(number); dialled <- got }()
		var e event
		for e.Type != "StasisStart" {
			if err := websocket.JSON.Receive(program, &e); err != nil {
				t.Fatal(err)
			}
		}
		if !strings.Contains(e.Channel.Name, who.name) {
			t.Errorf("%s: the program gets %s", number, e.Channel.Name)
		}
		does("POST", e.Channel.ID+"/answer")
		if got := <-dialled; got != 200 {
			t.Errorf("%s dials %s: %d", who.name, number, got)
		}
		does("DELETE", e.Channel.ID)
		who.saw("hung up")
		rest(number)
	}
	if _, got := dave.dial("112"); got != 200 {
		t.Errorf("an emergency call: %d", got)
	}
	carrier.saw("answers")
	rest("an emergency call")

	if _, got := alice.dial("5550111"); got != 200 {
		t.Errorf("who is to be answered: %d", got)
	}
	a.said("joined 'holding_bridge'")
	rest("answered")
	dialled := make(chan int)
	go func() { _, got := alice.dial("5550112"); dialled <- got }()
	a.said("joined 'holding_bridge'")
	alice.saw("hears 180")
	a.cli("channel request hangup all")
	if got := <-dialled; got < 400 {
		t.Errorf("who is not to be answered: %d", got)
	}
	rest("not answered")
	_ = program.Close()
	a.said("Deactivating Stasis app")
}
