package confdsvc_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func init() {
	simple["trunks"] = simpleKind{"trunk_id", object{}}
	samples["trunks"] = crudtest.Resource{
		Minimal: func(*crudtest.Client, int) object { return object{} },
	}
	maps.Copy(ours, map[string]string{"GET /trunks/{}/status": "confd.trunks.{}.status.read"})
}

// A trunk has one endpoint, which no line and no other trunk has. It shows no secret of it, is found by its name, and takes it along.
func TestTrunk(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		in := c.Create("/contexts", object{"label": "From outside", "type": "incall"})
		trunk, other := c.Create("/trunks", object{"context": in["name"]}), c.Create("/trunks", object{})
		path, second := "/trunks/"+trunk.Text("id"), "/trunks/"+other.Text("id")
		sip := c.Create("/endpoints/sip", object{
			"name": "carrier", "label": "Carrier One", "auth_section_options": pairs("username=them password=secret1"),
			"registration_section_options":               pairs("server_uri=sip:carrier.example client_uri=sip:me@carrier.example"),
			"registration_outbound_auth_section_options": pairs("username=me password=secret2"),
		})
		custom := c.Create("/endpoints/custom", object{"interface": "DAHDI/g1"})
		line := "/lines/" + c.Create("/lines", object{"context": "default"}).Text("id")
		sipPath, customPath := "/endpoints/sip/"+sip.Text("uuid"), "/endpoints/custom/"+custom.Text("id")
		refused := func(path, says string) {
			t.Helper()
			c.Do(http.MethodPut, path, nil).Want(http.StatusBadRequest).Says(says)
		}
		c.Do(http.MethodPut, path+sipPath, nil).Want(http.StatusNoContent)
		c.Do(http.MethodPut, path+sipPath, nil).Want(http.StatusNoContent)
		refused(path+customPath, "Trunk is associated with a Endpoint ('trunk_id': "+trunk.Text("id"))
		refused(second+sipPath, "Trunk is associated with a Endpoint ('trunk_id': "+trunk.Text("id"))
		refused(line+sipPath, "Trunk is associated with a Endpoint ('trunk_id': "+trunk.Text("id"))
		c.Do(http.MethodPut, line+customPath, nil).Want(http.StatusNoContent)
		refused(second+customPath, "Line is associated with a Endpoint ('line_id': "+c.Get(line).Object().Text("id"))
		theirs := w.as(t, "a1").Create("/endpoints/custom", object{"interface": "DAHDI/g2"})
		refused(second+"/endpoints/custom/"+theirs.Text("id"), "different tenants ('trunk_tenant_uuid'")

		got := c.Get(path).Object()
		if at(got, "endpoint_sip.name") != "carrier" || at(got, "endpoint_sip.label") != "Carrier One" || got["endpoint_iax"] != nil || got["register_iax"] != nil ||
			fmt.Sprint(at(got, "endpoint_sip.auth_section_options"), at(got, "endpoint_sip.registration_section_options")) !=
				"[[username them]] [[client_uri sip:me@carrier.example]]" {
			t.Errorf("the trunk is %v", got)
		}
		if got := c.Get(sipPath).Object(); fmt.Sprint(at(got, "trunk.id")) != trunk.Text("id") || got["line"] != nil {
			t.Errorf("the endpoint is %v", got)
		}
		for _, query := range []string{"?name=carrier", "?label=Carrier%20One", "?search=one&order=label", "?context=" + in.Text("name") + "&order=name"} {
			if found := c.Get("/trunks" + query).List(); len(found.Items) != 1 || found.Items[0].Text("id") != trunk.Text("id") {
				t.Errorf("%s: %v", query, found.Items)
			}
		}
		c.Do(http.MethodDelete, "/contexts/"+in.Text("id"), nil).Want(http.StatusBadRequest).Says("Context is associated with a Trunk")
		c.Do(http.MethodPut, path, object{"context": "nowhere"}).Want(http.StatusBadRequest).Says("Input Error - field 'context': Context was not found")
		below := w.as(t, "a1").Create("/contexts", object{"label": "Below", "type": "incall"})
		c.Do(http.MethodPut, path, object{"context": below["name"]}).Want(http.StatusBadRequest).Says("different tenants ('trunk_tenant_uuid'")
		c.Do(http.MethodDelete, path, nil).Want(http.StatusNoContent)
		c.Get(sipPath).Want(http.StatusNotFound)
		c.Do(http.MethodDelete, "/contexts/"+in.Text("id"), nil).Want(http.StatusNoContent)
		// The endpoint goes, and the trunk stays.
		free := c.Create("/endpoints/custom", object{"interface": "DAHDI/g3"})
		c.Do(http.MethodPut, second+"/endpoints/custom/"+free.Text("id"), nil).Want(http.StatusNoContent)
		c.Do(http.MethodDelete, "/endpoints/custom/"+free.Text("id"), nil).Want(http.StatusNoContent)
		if got := c.Get(second).Object(); got["endpoint_custom"] != nil {
			t.Errorf("without its endpoint the trunk is %v", got)
		}
	})
}

// What the telephone system says of a trunk is shown, and that it cannot be asked is said.
func TestTrunkStatus(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		var asked string
		away := false
		svc, err := confdsvc.New(confdsvc.Options{DB: db, Trunk: func(_ context.Context, endpoint string) (s confdsvc.TrunkStatus, err error) {
			if asked = endpoint; away {
				err = apierr.New(apierr.Unavailable, "Asterisk is away")
			}
			return confdsvc.TrunkStatus{Loaded: true, Registered: new(true), Reachable: new(true), Latency: new(12.5)}, err
		}})
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, db)
		c, b := resttest.To(t, svc, prefix, w.as(t, "a").Principal), resttest.To(t, svc, prefix, w.as(t, "b").Principal)
		trunk := "/trunks/" + c.Create("/trunks", object{}).Text("id")
		if got := c.Get(trunk + "/status").Object(); !got.Same("loaded", false) || got["registered"] != nil || asked != "" {
			t.Errorf("without an endpoint: %v", got)
		}
		c.Do(http.MethodPut, trunk+"/endpoints/sip/"+c.Create("/endpoints/sip", object{"name": "carrier"}).Text("uuid"), nil).Want(http.StatusNoContent)
		if got := c.Get(trunk + "/status").Object(); !got.Same("registered", true) || !got.Same("latency", 12.5) || asked != "carrier" {
			t.Errorf("%v of %q", got, asked)
		}
		b.Get(trunk + "/status").Want(http.StatusNotFound)
		away = true
		c.Get(trunk + "/status").Want(http.StatusServiceUnavailable).Says("Asterisk is away")
		w.as(t, "a").Get(trunk + "/status").Want(http.StatusServiceUnavailable).Says("no Asterisk to ask")
	})
}

// No two trunks have one address, of whichever tenants, unless a registration tells them apart.
func TestTrunkAddresses(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		trunk := func(c *resttest.Client, options object) (path, sip string) {
			endpoint := c.Create("/endpoints/sip", options)
			sip = "/endpoints/sip/" + endpoint.Text("uuid")
			return "/trunks/" + c.Create("/trunks", object{}).Text("id") + sip, sip
		}
		at := func(addresses string) object { return object{"identify_section_options": pairs("match=" + addresses)} }
		a, b := w.as(t, "a"), w.as(t, "b")
		first, _ := trunk(a, at("192.0.2.10,198.51.100.0/24"))
		a.Do(http.MethodPut, first, nil).Want(http.StatusNoContent)
		a.Do(http.MethodPut, first, nil).Want(http.StatusNoContent)
		second, sip := trunk(b, at("203.0.113.1,198.51.100.7"))
		const taken = "Another trunk has the address 198.51.100.0/24"
		b.Do(http.MethodPut, second, nil).Want(http.StatusBadRequest).Says(taken)
		b.Do(http.MethodPut, sip, at("203.0.113.1")).Want(http.StatusNoContent)
		b.Do(http.MethodPut, second, nil).Want(http.StatusNoContent)
		b.Do(http.MethodPut, sip, at("198.51.100.7")).Want(http.StatusBadRequest).Says(taken)
		told := at("198.51.100.7")
		told["registration_section_options"] = pairs("server_uri=sip:carrier.example client_uri=sip:me@carrier.example line=yes")
		told["registration_outbound_auth_section_options"] = pairs("username=me password=x")
		b.Do(http.MethodPut, sip, told).Want(http.StatusNoContent)

		// Those of a template are the endpoint's, whichever of the two changes.
		b.Do(http.MethodPut, sip, object{"registration_section_options": []any{}, "identify_section_options": []any{}}).Want(http.StatusNoContent)
		shared := b.Create("/endpoints/sip/templates", at("198.51.100.7"))
		template, uses := "/endpoints/sip/templates/"+shared.Text("uuid"), object{"templates": []any{object{"uuid": shared["uuid"]}}}
		b.Do(http.MethodPut, sip, uses).Want(http.StatusBadRequest).Says(taken)
		b.Do(http.MethodPut, template, at("198.51.101.0/255.255.255.0")).Want(http.StatusNoContent)
		b.Do(http.MethodPut, sip, uses).Want(http.StatusNoContent)
		b.Do(http.MethodPut, template, at("198.51.100.0/255.255.255.0")).Want(http.StatusBadRequest).Says(taken)
		for _, wide := range []string{"0.0.0.0/0", "0.0.0.0", "10.0.0.0/8", "10.0.0.0/255.0.0.0", "::/0", "carrier.example", "198.51.101.1,"} {
			b.Do(http.MethodPut, template, at(wide)).Want(http.StatusBadRequest).Says("must be an address, or a network of 65,536 addresses at most").Says("identify_section_options")
		}
		alone := "/endpoints/sip/" + b.Create("/endpoints/sip", at("carrier.example")).Text("uuid")
		b.Do(http.MethodPut, "/trunks/"+b.Create("/trunks", object{}).Text("id")+alone, nil).Want(http.StatusBadRequest).Says("a network of 65,536 addresses")
	})
}

// A trunk leads to another telephone system than its own, and what registers, or calls, with a login has a whole one.
func TestTrunkEndpointIsRefused(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		w.as(t, "master").Create("/sip/transports", object{"name": "udp-5070", "options": pairs("protocol=udp bind=0.0.0.0:5070")})
		c := w.as(t, "a")
		sip := "/endpoints/sip/" + c.Create("/endpoints/sip", object{}).Text("uuid")
		trunk := "/trunks/" + c.Create("/trunks", object{}).Text("id")
		const registers = "server_uri=sip:carrier.example client_uri=sip:me@carrier.example"
		template := c.Create("/endpoints/sip/templates", object{"auth_section_options": pairs("username=them password=x")}).Text("uuid")
		itself, whoRegisters := "leads to this telephone system itself", "who registers needs a login"
		for options, says := range map[string]string{
			"aor contact=sip:127.0.0.1:5070":                                     itself,
			"endpoint outbound_proxy=sip:LOCALHOST:5070;lr":                      itself,
			"registration server_uri=sip:[::1]:5070 client_uri=sip:me@[::1]":     itself,
			"aor contact=sip:127.0.0.1:5090":                                     "",
			"registration " + registers:                                          whoRegisters,
			"registration server_uri=sip:carrier.example":                        "",
			"registration " + registers + "/auth username=them password=x":       "",
			"registration " + registers + "/outbound_auth username=x password=x": "",
			"registration " + registers + "/templates":                           "",
			"outbound_auth username=me":                                          "outbound_auth_section_options needs a username and a password",
			"registration_outbound_auth username=me":                             "",
			"registration " + registers + "/registration_outbound_auth realm=*":  "registration_outbound_auth_section_options needs a username and a password",
		} {
			body := object{}
			for section := range strings.SplitSeq(options, "/") {
				if name, values, has := strings.Cut(section, " "); has {
					body[name+"_section_options"] = pairs(values)
				} else {
					body["templates"] = []any{object{"uuid": template}}
				}
			}
			c.Do(http.MethodPut, sip, body).Want(http.StatusNoContent) // of nobody's trunk it may be anything
			linked := c.Do(http.MethodPut, trunk+sip, nil)
			if says == "" {
				linked.Want(http.StatusNoContent)
				c.Do(http.MethodDelete, trunk+sip, nil).Want(http.StatusNoContent)
			} else {
				linked.Want(http.StatusBadRequest).Says(says)
			}
			c.Do(http.MethodPut, sip, object{
				"aor_section_options": []any{}, "endpoint_section_options": []any{}, "registration_section_options": []any{},
				"registration_outbound_auth_section_options": []any{}, "outbound_auth_section_options": []any{}, "auth_section_options": []any{}, "templates": []any{},
			}).Want(http.StatusNoContent)
		}
	})
}

// A trunk is made with its endpoint in one request that asks for it, all of it or nothing, and what a trunk hides of the endpoint is not lost when a
// client sends back what it has read.
func TestTrunkIsMadeWithItsEndpoint(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		body := object{"outgoing_caller_id_format": "national", "endpoint_sip": object{
			"label": "Carrier One", "auth_section_options": pairs("username=them password=secret1"), "identify_section_options": pairs("match=192.0.2.1"),
			"registration_section_options":               pairs("server_uri=sip:carrier.example client_uri=sip:me@carrier.example"),
			"registration_outbound_auth_section_options": pairs("username=me password=secret2"),
		}}
		made := c.Do(http.MethodPost, "/trunks?recursive=true", body).Want(http.StatusCreated)
		path, endpoint := "/trunks/"+made.Object().Text("id"), "/endpoints/sip/"+fmt.Sprint(made.JSON("endpoint_sip.uuid"))
		read, sip := c.Get(path).Want(http.StatusOK), c.Get(endpoint).Want(http.StatusOK)
		if read.Body != made.Body || at(read.Object(), "endpoint_sip.label") != "Carrier One" || read.JSON("outgoing_caller_id_format") != "national" {
			t.Errorf("the trunk is %s, made was %s", read.Body, made.Body)
		}
		for _, kept := range []string{"secret1", "secret2", "server_uri", "192.0.2.1"} {
			if !strings.Contains(sip.Body, kept) {
				t.Errorf("the endpoint lacks %s: %s", kept, sip.Body)
			}
		}
		c.Do(http.MethodPut, path+"?recursive=true", read.Object()).Want(http.StatusNoContent)
		if now := c.Get(endpoint).Body; now != sip.Body {
			t.Errorf("sent back, the endpoint is %s, and was %s", now, sip.Body)
		}

		before := counts(t, db)
		c.Do(http.MethodPost, "/trunks?recursive=true", body).Want(http.StatusBadRequest).Says("Another trunk has the address 192.0.2.1")
		c.Do(http.MethodPost, "/trunks?recursive=true", object{"context": "nowhere", "endpoint_sip": object{}}).Want(http.StatusBadRequest)
		w.holding(t, "confd.trunks.create").Do(http.MethodPost, "/trunks?recursive=true", object{"endpoint_sip": object{}}).Want(http.StatusForbidden)
		if after := counts(t, db); !maps.Equal(after, before) {
			t.Errorf("what was refused left something: %v, before %v", after, before)
		}
		if plain := c.Do(http.MethodPost, "/trunks", body).Want(http.StatusCreated).Object(); plain["endpoint_sip"] != nil {
			t.Errorf("a request that does not ask for it makes %v", plain["endpoint_sip"])
		}
	})
}
