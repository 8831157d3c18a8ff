package asterisk_test

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"math/rand/v2"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// phone is a telephone that speaks as much SIP (RFC 3261) as it takes to register, to call and to be called.
type phone struct {
	t                    testing.TB
	name, user, password string
	wire                 wire
	at                   string // Asterisk's address, as it is in URIs
	browser              bool   // it speaks as a browser does, by WebRTC
	audio                *net.UDPConn

	mu     sync.Mutex
	lamps  map[string]string         // the state of the numbers that it watches
	does   string                    // what it does when it is called: answer, ring, busy, the status that it sends, or silent: nothing, as one that is gone
	events []string                  // what has happened to it, oldest first
	calls  map[string]*call          // by Call-ID
	branch map[string]func(*message) // who waits for a response
	seq    int
}

// newPhone plugs a telephone in, which speaks over UDP: it is not registered yet.
func newPhone(t testing.TB, server, name, user, password string) *phone {
	t.Helper()
	return plugIn(t, overUDP(t, server), server, name, user, password)
}

// plugIn plugs a telephone in.
func plugIn(t testing.TB, over wire, server, name, user, password string) *phone {
	t.Helper()
	p := &phone{
		t: t, wire: over, at: server, name: name, user: user, password: password, does: "answer",
		calls: map[string]*call{}, branch: map[string]func(*message){}, lamps: map[string]string{},
	}
	var err error
	if p.audio, err = net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}); err != nil {
		t.Fatal(err)
	}
	var reading sync.WaitGroup
	reading.Go(func() { p.read() })
	t.Cleanup(func() {
		_, _ = p.wire.Close(), p.audio.Close()
		reading.Wait()
	})
	return p
}

func (p *phone) read() {
	for {
		text, err := p.wire.receive()
		if err != nil {
			return
		}
		m := parseMessage(text)
		if m.status() != 0 {
			branch := branchForm.FindString(m.get("Via"))
			p.mu.Lock()
			got := p.branch[branch]
			p.mu.Unlock()
			if got != nil {
				got(m)
			}
			continue
		}
		p.asked(m)
	}
}

var (
	branchForm  = regexp.MustCompile(`z9hG4bK[A-Za-z0-9]+`)
	contactForm = regexp.MustCompile(`<([^>]+)>`)
	entityForm  = regexp.MustCompile(`(?s)entity="sip:([^@"]+)@.*<state>(\w+)</state>`)
)

func (p *phone) send(first string, headers [][2]string, body string) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\r\n", first)
	typed := false
	for _, h := range headers {
		fmt.Fprintf(&b, "%s: %s\r\n", h[0], h[1])
		typed = typed || h[0] == "Content-Type"
	}
	if body != "" && !typed {
		b.WriteString("Content-Type: application/sdp\r\n")
	}
	fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(body), body)
	_, _ = p.wire.Write(b.Bytes())
}

func (p *phone) note(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events = append(p.events, fmt.Sprintf(format, args...))
}

// log returns what has happened to the telephone, and forgets it.
func (p *phone) log() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	events := p.events
	p.events = nil
	return events
}

// saw waits for something to have happened.
func (p *phone) saw(event string) {
	p.t.Helper()
	wait(p.t, p.name+": "+event, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return slices.ContainsFunc(p.events, func(s string) bool { return strings.Contains(s, event) })
	}, func() string { return strings.Join(p.log(), "\n") })
}

// count returns how often something has happened.
func (p *phone) count(event string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.events {
		if strings.Contains(s, event) {
			n++
		}
	}
	return n
}

// when sets what the telephone does when it is called.
func (p *phone) when(does string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.does = does
}

func (p *phone) contact() string {
	return "<sip:" + p.name + "@" + p.wire.sentBy + p.wire.parameter() + ">"
}

func tag() string { return strconv.FormatUint(rand.Uint64(), 36) }

// sdp describes the telephone's media, as an offer or as the answer to one.
func (p *phone) sdp(offer bool) string {
	if p.browser {
		return p.browserSDP(offer)
	}
	return fmt.Sprintf("v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio %d RTP/AVP 0 8 101\r\na=rtpmap:0 PCMU/8000\r\na=rtpmap:8 PCMA/8000\r\na=rtpmap:101 telephone-event/8000\r\na=sendrecv\r\n",
		p.audio.LocalAddr().(*net.UDPAddr).Port)
}

// asked answers a request.
func (p *phone) asked(m *message) {
	respond := func(status, to, body string) {
		var headers [][2]string
		for _, h := range m.headers {
			switch strings.ToLower(h[0]) {
			case "via", "from", "call-id", "cseq", "record-route":
				headers = append(headers, h)
			}
		}
		if to == "" {
			to = m.get("To")
		}
		headers = append(headers, [2]string{"To", to}, [2]string{"Contact", p.contact()})
		p.send("SIP/2.0 "+status, headers, body)
	}
	id := m.get("Call-ID")
	itself := strings.Contains(m.get("Call-Info"), "answer-after=0") && strings.Contains(m.get("Alert-Info"), "alert-autoanswer")
	p.mu.Lock()
	c, does := p.calls[id], p.does
	rings := m.method() == "INVITE" && c == nil && does != "busy" && does != "silent" && !strings.Contains(does, " ")
	if rings { // who ends the calls of a telephone that will be busy finds this one, or it is refused
		c = &call{
			p: p, id: id, local: m.get("To") + ";tag=" + tag(), far: m.get("From"), target: contactForm.FindStringSubmatch(m.get("Contact"))[1],
			invite: m, unsure: does == "answer" || itself,
		}
		p.calls[id] = c
	}
	p.mu.Unlock()
	if method := m.method(); does == "silent" && (method == "INVITE" || method == "OPTIONS") {
		p.note("does not answer %s", method)
		return
	}
	switch m.method() {
	case "INVITE":
		if c != nil && !rings { // the media changes, or it is the same once more
			if c.invite != nil && c.invite.get("CSeq") != m.get("CSeq") {
				respond("200 OK", "", p.sdp(false))
			}
			return
		}
		if does == "busy" {
			does = "486 Busy Here"
		}
		if strings.Contains(does, " ") {
			p.note("rings: %s", m.get("From"))
			respond(does, m.get("To")+";tag="+tag(), "")
			return
		}
		if by := m.get("Diversion"); by != "" {
			p.note("sent on by %s", by)
		}
		p.note("rings: %s", m.get("From"))
		respond("180 Ringing", c.local, "")
		if does == "answer" || itself {
			c.speak(m.body)
			p.mu.Lock() // who calls finds it told as soon as they hear of it, and nobody before it has answered
			if respond("200 OK", c.local, p.sdp(false)); itself {
				p.events = append(p.events, "answers itself")
			}
			p.events = append(p.events, "answers")
			p.mu.Unlock()
		}
	case "CANCEL":
		respond("200 OK", "", "")
		if c != nil {
			p.note("cancelled %s", m.get("Reason"))
			m = c.invite
			respond("487 Request Terminated", c.local, "")
			p.forget(c)
		}
	case "ACK":
		if c != nil {
			p.mu.Lock()
			c.unsure = false
			p.mu.Unlock()
		}
	case "BYE":
		respond("200 OK", "", "")
		if c != nil {
			p.note("hung up by the other side")
			c.quiet()
			p.forget(c)
		}
	case "NOTIFY":
		respond("200 OK", "", "")
		if watched := entityForm.FindStringSubmatch(m.body); watched != nil {
			p.mu.Lock()
			p.lamps[watched[1]] = watched[2]
			p.mu.Unlock()
		}
		p.note("notify %s: %s", m.get("Event"), m.body)
	default:
		respond("200 OK", "", "")
	}
}

func (p *phone) forget(c *call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.done = true
	delete(p.calls, c.id)
}

func (p *phone) next() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seq++
	return p.seq
}

// ask sends a request and returns the final response to it. It sends it again as UDP needs it, and once more with the password if it
// is asked for it. provisional may be nil.
func (p *phone) ask(method, uri, id, from, to string, extra [][2]string, body string, provisional func(*message)) *message {
	p.t.Helper()
	seq := p.next()
	credentials := [][2]string(nil)
	for {
		branch := "z9hG4bK" + tag()
		headers := append([][2]string{
			{"Via", "SIP/2.0/" + p.wire.protocol + " " + p.wire.sentBy + ";branch=" + branch + ";rport"},
			{"Max-Forwards", "70"},
			{"From", from},
			{"To", to},
			{"Call-ID", id},
			{"CSeq", fmt.Sprintf("%d %s", seq, method)},
			{"Contact", p.contact()},
		}, append(slices.Clone(extra), credentials...)...)
		responses := make(chan *message, 100)
		p.mu.Lock()
		p.branch[branch] = func(m *message) {
			select {
			case responses <- m:
			default:
			}
		}
		p.mu.Unlock()
		final := p.await(method, uri, headers, body, responses, provisional)
		p.mu.Lock()
		if method == "INVITE" { // Asterisk repeats what it has not seen acknowledged
			p.branch[branch] = func(m *message) {
				if m.status() >= 200 {
					p.acknowledge(uri, headers, m)
				}
			}
		} else {
			delete(p.branch, branch)
		}
		p.mu.Unlock()
		if final == nil {
			return &message{first: "SIP/2.0 408 Request Timeout"}
		}
		if method == "INVITE" {
			p.acknowledge(uri, headers, final)
		}
		challenge := final.get("WWW-Authenticate")
		if final.status() == 407 {
			challenge = final.get("Proxy-Authenticate")
		}
		if challenge == "" || credentials != nil {
			return final
		}
		credentials = [][2]string{{map[bool]string{true: "Proxy-Authorization", false: "Authorization"}[final.status() == 407], p.digest(challenge, method, uri)}}
		seq = p.next()
	}
}

// await sends a request until there is a final response, or the test ends.
func (p *phone) await(method, uri string, headers [][2]string, body string, responses chan *message, provisional func(*message)) *message {
	again := time.NewTicker(500 * time.Millisecond)
	defer again.Stop()
	heard := false
	p.send(method+" "+uri+" SIP/2.0", headers, body)
	for {
		select {
		case m := <-responses:
			if heard = true; m.status() >= 200 {
				return m
			}
			if provisional != nil {
				provisional(m)
			}
		case <-again.C:
			if !heard && p.wire.protocol == "UDP" {
				p.send(method+" "+uri+" SIP/2.0", headers, body)
			}
		case <-time.After(patience):
			return nil
		}
	}
}

// acknowledge acknowledges the final response to an INVITE.
func (p *phone) acknowledge(uri string, headers [][2]string, final *message) {
	if final.status() < 300 {
		uri = contactForm.FindStringSubmatch(final.get("Contact"))[1]
	}
	var ack [][2]string
	for _, h := range headers {
		switch h[0] {
		case "Via":
			if final.status() < 300 {
				h[1] = branchForm.ReplaceAllString(h[1], "z9hG4bK"+tag())
			}
			ack = append(ack, h)
		case "CSeq":
			ack = append(ack, [2]string{"CSeq", strings.Fields(h[1])[0] + " ACK"})
		case "Max-Forwards", "From", "Call-ID":
			ack = append(ack, h)
		}
	}
	p.send("ACK "+uri+" SIP/2.0", append(ack, [2]string{"To", final.get("To")}), "")
}

var parameterForm = regexp.MustCompile(`(\w+)="?([^",]*)"?`)

// digest answers a challenge (RFC 2617).
func (p *phone) digest(challenge, method, uri string) string {
	asked := map[string]string{}
	for _, m := range parameterForm.FindAllStringSubmatch(strings.TrimPrefix(challenge, "Digest "), -1) {
		asked[m[1]] = m[2]
	}
	hash := func(parts ...string) string { return fmt.Sprintf("%x", md5.Sum([]byte(strings.Join(parts, ":")))) }
	a1, a2, cnonce := hash(p.user, asked["realm"], p.password), hash(method, uri), tag()
	response := hash(a1, asked["nonce"], "00000001", cnonce, "auth", a2)
	return fmt.Sprintf(`Digest username="%s", realm="%s", nonce="%s", uri="%s", response="%s", cnonce="%s", nc=00000001, qop=auth, algorithm=MD5, opaque="%s"`,
		p.user, asked["realm"], asked["nonce"], uri, response, cnonce, asked["opaque"])
}

func (p *phone) server() string { return p.at }

// register tells Asterisk where the telephone is, or with 0 seconds that it is nowhere, and returns the status.
func (p *phone) register(seconds int) int {
	p.t.Helper()
	own := "<sip:" + p.name + "@" + p.server() + ">"
	return p.ask("REGISTER", "sip:"+p.server(), tag(), own+";tag="+tag(), own, [][2]string{{"Expires", strconv.Itoa(seconds)}}, "", nil).status()
}
