package asterisk_test

import (
	"bytes"
	"fmt"
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// call is a call of a telephone, made or received.
type call struct {
	p          *phone
	id         string
	local, far string // what From and To say, with tags, of this side and the other
	target     string // the other side's contact
	invite     *message
	media      string // what the other side has said of its media
	stop       func() // ends the audio
	unsure     bool   // it has been answered, and the other side may not know that: before, it may not be hung up (RFC 3261, 15)
	done       bool
}

// lamp returns the state of a number that the telephone watches: confirmed while it is lit.
func (p *phone) lamp(number string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lamps[number]
}

// shows waits until the lamp of a number is as it should be.
func (p *phone) shows(number, state string) {
	p.t.Helper()
	wait(p.t, p.name+": the lamp of "+number+" is "+state, func() bool { return p.lamp(number) == state }, func() string { return p.lamp(number) })
}

// subscribe watches the lamp of a number, and returns the status.
func (p *phone) subscribe(number string) int {
	p.t.Helper()
	uri := "sip:" + number + "@" + p.server()
	return p.ask("SUBSCRIBE", uri, tag(), "<sip:"+p.name+"@"+p.server()+">;tag="+tag(), "<"+uri+">",
		[][2]string{{"Event", "dialog"}, {"Accept", "application/dialog-info+xml"}, {"Expires", "600"}}, "", nil).status()
}

// text sends a text message (RFC 3428) to a number, and returns the status.
func (p *phone) text(number string) int {
	p.t.Helper()
	uri := "sip:" + number + "@" + p.server()
	return p.ask("MESSAGE", uri, tag(), "<sip:"+p.name+"@"+p.server()+">;tag="+tag(), "<"+uri+">", [][2]string{{"Content-Type", "text/plain"}}, "Hello", nil).status()
}

// dial calls a number. It returns the call, which is nil if nobody answered, and the final status.
func (p *phone) dial(number string) (*call, int) {
	p.t.Helper()
	uri := "sip:" + number + "@" + p.server()
	id, from := tag(), `<sip:`+p.name+"@"+p.server()+">;tag="+tag()
	final := p.ask("INVITE", uri, id, from, "<"+uri+">", nil, p.sdp(true), func(m *message) { p.note("hears %d", m.status()) })
	p.note("dialled %s: %d", number, final.status())
	if final.status() >= 300 {
		return nil, final.status()
	}
	if with := final.get("P-Asserted-Identity"); with != "" {
		p.note("talks to %s", with)
	}
	c := &call{p: p, id: id, local: from, far: final.get("To"), target: contactForm.FindStringSubmatch(final.get("Contact"))[1], invite: &message{}}
	p.mu.Lock()
	p.calls[id] = c
	p.mu.Unlock()
	c.speak(final.body)
	return c, final.status()
}

var mediaForm = regexp.MustCompile(`m=audio (\d+)`)

// speak sends silence to where the other side hears.
func (c *call) speak(sdp string) {
	c.media = sdp
	m := mediaForm.FindStringSubmatch(sdp)
	if m == nil || c.p.browser {
		return
	}
	port, _ := strconv.Atoi(m[1])
	ended := make(chan struct{})
	c.stop = sync.OnceFunc(func() { close(ended) })
	go func() {
		packet := append([]byte{0x80, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4}, bytes.Repeat([]byte{0xff, 0x7f}, 80)...)
		to := &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for n := uint32(1); ; n++ {
			packet[2], packet[3] = byte(n>>8), byte(n)
			at := n * 160
			packet[4], packet[5], packet[6], packet[7] = byte(at>>24), byte(at>>16), byte(at>>8), byte(at)
			if _, err := c.p.audio.WriteToUDP(packet, to); err != nil {
				return
			}
			select {
			case <-ended:
				return
			case <-tick.C:
			}
		}
	}()
}

func (c *call) quiet() {
	if c.stop != nil {
		c.stop()
	}
}

// within sends a request within the call.
func (c *call) within(method string, extra [][2]string, body string) int {
	c.p.t.Helper()
	return c.p.ask(method, c.target, c.id, c.local, c.far, extra, body, nil).status()
}

// transfer sends the other side of the call to a number, and returns the status. replaces is another call of the telephone, whose
// other side is to be connected with it instead (RFC 3891), or nil.
func (c *call) transfer(number string, replaces *call) int {
	c.p.t.Helper()
	to := "sip:" + number + "@" + c.p.server()
	if replaces != nil {
		to += "?Replaces=" + url.QueryEscape(replaces.id+";to-tag="+tagForm.FindStringSubmatch(replaces.far)[1]+";from-tag="+tagForm.FindStringSubmatch(replaces.local)[1])
	}
	return c.within("REFER", [][2]string{{"Refer-To", "<" + to + ">"}, {"Referred-By", "<sip:" + c.p.name + "@" + c.p.server() + ">"}}, "")
}

var tagForm = regexp.MustCompile(`;tag=([^;>]+)`)

// hangUp ends the call.
func (c *call) hangUp() {
	c.p.t.Helper()
	wait(c.p.t, "the acknowledgement of the call of "+c.p.name+", or its end", func() bool { return !c.answered() || c.over() }, nil)
	c.quiet()
	if c.over() {
		return
	}
	c.within("BYE", nil, "")
	c.p.forget(c)
}

// answered reports whether the call has been answered, and that is not acknowledged yet.
func (c *call) answered() bool {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	return c.unsure
}

func (c *call) over() bool {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	return c.done
}

// ended waits until the other side has ended the call.
func (c *call) ended() {
	c.p.t.Helper()
	wait(c.p.t, "the end of the call of "+c.p.name, c.over, nil)
}

// press presses keys.
func (c *call) press(keys string) {
	c.p.t.Helper()
	for _, key := range keys {
		c.p.info(c, string(key))
	}
}

func (p *phone) info(c *call, key string) {
	p.t.Helper()
	body := "Signal=" + key + "\r\nDuration=100\r\n"
	branch := "z9hG4bK" + tag()
	got := make(chan struct{}, 10)
	p.mu.Lock()
	p.branch[branch] = func(*message) { got <- struct{}{} }
	p.mu.Unlock()
	headers := [][2]string{
		{"Via", "SIP/2.0/" + p.wire.protocol + " " + p.wire.sentBy + ";branch=" + branch + ";rport"},
		{"Max-Forwards", "70"},
		{"From", c.local},
		{"To", c.far},
		{"Call-ID", c.id},
		{"CSeq", fmt.Sprintf("%d INFO", p.next())},
		{"Contact", p.contact()},
		{"Content-Type", "application/dtmf-relay"},
	}
	p.send("INFO "+c.target+" SIP/2.0", headers, body)
	select {
	case <-got:
	case <-time.After(patience):
		p.t.Fatalf("%s: no answer to the key %s", p.name, key)
	}
}

// hangUpAll ends the calls that the telephone has.
func (p *phone) hangUpAll() {
	p.t.Helper()
	p.mu.Lock()
	calls := slices.Collect(maps.Values(p.calls))
	p.mu.Unlock()
	for _, c := range calls {
		c.hangUp()
	}
}

// current returns the only call of the telephone.
func (p *phone) current() *call {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.calls {
		return c
	}
	p.t.Fatalf("%s has no call", p.name)
	return nil
}

// pickUp answers the call that rings.
func (p *phone) pickUp() {
	p.t.Helper()
	p.current().answer()
}

// answer answers a call that rings.
func (c *call) answer() {
	var headers [][2]string
	for _, h := range c.invite.headers {
		switch strings.ToLower(h[0]) {
		case "via", "from", "call-id", "cseq", "record-route":
			headers = append(headers, h)
		}
	}
	c.p.mu.Lock()
	c.unsure = true
	c.p.mu.Unlock()
	c.p.send("SIP/2.0 200 OK", append(headers, [2]string{"To", c.local}, [2]string{"Contact", c.p.contact()}), c.p.sdp(false))
	c.speak(c.invite.body)
}
