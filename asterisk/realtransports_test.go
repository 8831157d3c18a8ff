package asterisk_test

import (
	"crypto/x509"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/porttest"
)

// browserOptions are those of the template webrtc of every tenant, with those of global, which it is made from.
const (
	browserOptions = `["rtp_timeout", "7200"], ["allow_transfer", "yes"], ["direct_media", "no"], ["dtmf_mode", "rfc4733"], ["allow", "!all,opus,g722,alaw,ulaw,vp9,vp8,h264"],
		["language", "en_US"], ["allow_subscribe", "yes"], ["timers", "yes"], ["timers_min_se", "90"], ["timers_sess_expires", "600"],
		["webrtc", "yes"], ["dtls_auto_generate_cert", "yes"], ["max_video_streams", "25"]`
	browserAOR = `["max_contacts", "10"], ["remove_existing", "no"], ["qualify_frequency", "60"], ["minimum_expiration", "60"], ["default_expiration", "120"], ["maximum_expiration", "3600"]`
)

// daveInBrowser gives Dave a telephone in a browser, with the transport of a new installation.
func daveInBrowser(t *testing.T, s *confdsvc.Snapshot, options string) {
	t.Helper()
	s.Transports = append(s.Transports, read[confdsvc.SIPTransport](t, `{"uuid": "wss", "name": "transport-wss", "options": [["protocol", "wss"], ["bind", "0.0.0.0:5060"]]}`))
	*s.Endpoints[4] = *read(t, `{"uuid": "dave", "tenant_uuid": "`+acme+`", "name": "dave", "auth_section_options": [["username", "dave"], ["password", "secret-dave"]],
		"endpoint_section_options": [`+options+`], "aor_section_options": [`+browserAOR+`]}`, func(e *confdsvc.EndpointSIP) {
		e.Transport = &confdsvc.SIPTransportRef{UUID: "wss", Name: new("transport-wss")}
	})
}

// Telephones register and call over TCP, TLS, and as browsers do.
func TestRealTransports(t *testing.T) {
	s := office(t)
	transport := func(name, options string) {
		s.Transports = append(s.Transports, read[confdsvc.SIPTransport](t, `{"uuid": "`+name+`", "name": "transport-`+name+`", "options": [`+options+`]}`))
	}
	transport("tcp", `["protocol", "tcp"], ["bind", "0.0.0.0:5060"]`)
	transport("tls", `["protocol", "tls"], ["bind", "0.0.0.0:5061"], ["cert_file", "/cert.pem"], ["priv_key_file", "/key.pem"], ["method", "tlsv1_2"]`)
	over := func(place int, transport string) {
		s.Endpoints[place].Transport = &confdsvc.SIPTransportRef{UUID: transport, Name: new("transport-" + transport)}
	}
	over(2, "tcp") // Bob
	over(3, "tls") // Carol
	daveInBrowser(t, s, browserOptions)
	s.UserVoicemail = map[confdsvc.ID]confdsvc.ID{}
	a := startReal(t, s)
	a.apply()
	a.clean("the first apply")
	udp := a.phone(t, "alice")
	tcp := a.phoneOver(t, overTCP(t, a.at("sip")), "bob")
	encrypted := a.phoneOver(t, overTLS(t, a.at("sips"), a.authority), "carol")
	first := a.phoneOver(t, overWebSocket(t, a.at("http"), nil), "dave")
	second := a.phoneOver(t, overWebSocket(t, a.at("https"), a.authority), "dave")
	first.browser, second.browser = true, true
	if got := a.cli("pjsip show contacts"); !strings.Contains(got, "Objects found: 5") {
		t.Errorf("not all are registered: %s", got)
	}
	phones := []*phone{udp, tcp, encrypted, first, second}
	rest := func(when string) {
		t.Helper()
		a.rest(when, "answer", phones)
	}
	plain := map[string]*phone{"101": udp, "102": tcp, "103": encrypted}
	for _, from := range plain {
		for number, to := range plain {
			if from == to {
				continue
			}
			c, got := from.dial(number)
			if got != 200 || to.count("answers") != 1 {
				t.Fatalf("%s calls %s: %d\n%s", from.name, to.name, got, a.news())
			}
			c.hangUp()
			to.saw("hung up")
			rest(from.name + " calls " + to.name)
		}
	}
	wrong := plugIn(t, overTLS(t, a.at("sips"), a.authority), a.at("sip"), "carol", "carol", "wrong")
	if got := wrong.register(60); got != 401 {
		t.Errorf("a wrong password over TLS: %d", got)
	}
	wrong = plugIn(t, overWebSocket(t, a.at("https"), a.authority), a.at("sip"), "dave", "dave", "wrong")
	if got := wrong.register(60); got != 401 {
		t.Errorf("a wrong password over a WebSocket: %d", got)
	}
	a.clean("wrong passwords")
	// What a browser is offered and answered: encrypted by DTLS and nothing else, found by ICE, on one port.
	lines := []string{
		"m=audio ", " UDP/TLS/RTP/SAVPF ", "a=fingerprint:SHA-256 ", "a=ice-ufrag:", "a=ice-pwd:", "a=rtcp-mux", "a=group:BUNDLE ", "a=rtpmap:0 PCMU/8000",
	}
	if onNetwork(t) {
		lines = append(lines, "a=candidate:", " typ host")
	} else {
		t.Log("this machine has the loopback interface alone: Asterisk has no ICE candidate to offer, and the test looks for none")
	}
	agrees := func(what, sdp, setup string) {
		t.Helper()
		for _, line := range append([]string{"a=setup:" + setup}, lines...) {
			if !strings.Contains(sdp, line) {
				t.Errorf("%s lacks %q:\n%s", what, line, sdp)
			}
		}
		if strings.Contains(sdp, "a=crypto:") || strings.Contains(sdp, " RTP/AVP ") {
			t.Errorf("%s is not encrypted by DTLS:\n%s", what, sdp)
		}
	}
	for _, p := range []*phone{first, second} {
		c, got := p.dial("101")
		if got != 200 || udp.count("answers") != 1 {
			t.Fatalf("a browser calls: %d\n%s", got, a.news())
		}
		agrees(p.wire.protocol+": the answer", c.media, "active")
		rest(p.wire.protocol + " calls")
	}
	first.when("ring")
	c, got := udp.dial("104")
	if got != 200 || second.count("answers") != 1 || first.count("rings") != 1 {
		t.Fatalf("a call of browsers: %d, %q, %q\n%s", got, first.log(), second.log(), a.news())
	}
	second.mu.Lock()
	for _, rung := range second.calls {
		agrees("the offer", rung.media, "actpass")
	}
	second.mu.Unlock()
	first.saw("cancelled")
	c.hangUp()
	rest("a call of browsers")
	// What a browser offers, a telephone cannot.
	tcp.browser = true
	if _, got := tcp.dial("101"); got != 488 {
		t.Errorf("a telephone that speaks as a browser: %d", got)
	}
	rest("what does not fit")
}

// onNetwork reports whether this machine has an address that is not its own alone.
func onNetwork(t *testing.T) bool {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(addresses, func(a net.Addr) bool {
		of, is := a.(*net.IPNet)
		return is && of.IP.IsGlobalUnicast()
	})
}

// Nobody gets past the certificate, and who takes one port for the other gets nothing.
func TestRealCertificate(t *testing.T) {
	s := office(t)
	s.Transports = append(s.Transports, read[confdsvc.SIPTransport](t, `{"uuid": "tls", "name": "transport-tls", "options": [["protocol", "tls"], ["bind", "0.0.0.0:5061"],
		["cert_file", "/cert.pem"], ["priv_key_file", "/key.pem"]]}`))
	a := startReal(t, s)
	a.apply()
	if _, err := tlsDial(a.at("sips"), x509.NewCertPool()); err == nil {
		t.Error("a strange authority vouches for the certificate")
	}
	conn, err := tlsDial(a.at("sips"), a.authority)
	if err != nil {
		t.Fatalf("%v\n%s", err, a.log())
	}
	_ = conn.Close()
	if _, err := net.Dial("tcp4", a.at("sip")); err == nil {
		t.Error("somebody listens for TCP, although no transport says so")
	}
	a.news()
}

// Asterisk opens every transport that is written, and none keeps the others from being opened.
func TestRealTransportOptions(t *testing.T) {
	s := company(t)
	a := startReal(t, s)
	for i, options := range []string{
		`["protocol", "tls"], ["cert_file", "/cert.pem"], ["priv_key_file", "/key.pem"], ["method", "default"], ["verify_client", "no"], ["require_client_cert", "no"]`,
		`["protocol", "tls"], ["cert_file", "/cert.pem"], ["priv_key_file", "/key.pem"], ["method", "unspecified"], ["verify_server", "no"], ["allow_wildcard_certs", "no"]`,
		`["protocol", "tls"], ["cert_file", "/cert.pem"], ["priv_key_file", "/key.pem"], ["method", "tlsv1_2"], ["ca_list_file", "/etc/ssl/certs/ca-certificates.crt"]`,
		`["protocol", "tls"], ["cert_file", "/cert.pem"], ["priv_key_file", "/key.pem"], ["method", "tlsv1_3"]`,
		`["protocol", "tls"], ["cert_file", "/cert.pem"], ["priv_key_file", "/key.pem"], ["method", "sslv23"]`,
		`["protocol", "tls"], ["cert_file", "/cert.pem"], ["priv_key_file", "/key.pem"], ["method", "sslv2"]`,
		`["protocol", "tls"], ["cert_file", "/cert.pem"], ["priv_key_file", "/key.pem"], ["method", "sslv3"]`,
		`["protocol", "tls"], ["cert_file", "/cert.pem"], ["priv_key_file", "/key.pem"], ["method", "tlsv1"]`,
		`["protocol", "tls"], ["cert_file", "/cert.pem"], ["priv_key_file", "/key.pem"], ["method", "tlsv1_1"]`,
		`["protocol", "tls"], ["priv_key_file", "/key.pem"]`,
		`["protocol", "tcp"], ["tcp_keepalive_enable", "yes"], ["tcp_keepalive_idle_time", "30"], ["tcp_keepalive_interval_time", "10"], ["tcp_keepalive_probe_count", "5"]`,
		`["protocol", "udp"], ["local_net", "10.0.0.0/8"], ["external_media_address", "192.0.2.1"], ["external_signaling_address", "192.0.2.1"], ["external_signaling_port", "5060"]`,
		`["protocol", "udp"], ["tos", "cs3"], ["cos", "3"], ["symmetric_transport", "yes"], ["allow_reload", "no"]`,
		`["protocol", "ws"]`,
		`["protocol", "wss"], ["websocket_write_timeout", "100"]`,
	} {
		name := "transport-" + string(rune('a'+i))
		port, release, err := porttest.Reserve()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(release)
		all := s.Transports
		s.Transports = append(slices.Clip(all), read[confdsvc.SIPTransport](t, `{"uuid": "`+name+`", "name": "`+name+`", "options": [["bind", "`+fmt.Sprintf("127.0.0.1:%d", port)+`"], `+options+`]}`))
		a.set(s)
		a.apply()
		a.clean(options)
		written := !strings.Contains(options, `"tls"`) || strings.Contains(options, "cert_file")
		if got := a.cli("pjsip show transports"); strings.Contains(got, name) != written {
			t.Errorf("%s: %s", options, got)
		}
		s.Transports = all
	}
}
