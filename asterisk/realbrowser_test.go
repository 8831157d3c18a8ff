package asterisk_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/ringfence/ringfence/confdsvc"
)

// browserTelephone is a page with a telephone of SIP.js, which answers each call.
const browserTelephone = `<!doctype html><title>Dave</title><audio id=heard autoplay></audio><pre id=log></pre>
<script type=module>
import { SimpleUser } from '/lib/platform/web/index.js';
const say = (text) => document.getElementById('log').append(text + '\n');
const user = new SimpleUser('wss://%[1]s/ws', {
	aor: 'sip:dave@%[1]s',
	media: { constraints: { audio: true, video: false }, remote: { audio: document.getElementById('heard') } },
	userAgentOptions: { authorizationUsername: 'dave', authorizationPassword: 'secret-dave' },
	delegate: {
		onRegistered: () => say('registered'),
		onCallReceived: () => user.answer().catch((e) => say('answering: ' + e)),
		onCallAnswered: () => say('answered'),
		onCallHangup: () => say('hung up'),
	},
});
window.call = (number) => user.call('sip:' + number + '@%[1]s').catch((e) => say('calling: ' + e));
window.hangup = () => user.hangup();
window.said = (text) => document.getElementById('log').textContent.split('\n').filter((line) => line === text).length;
// How loud it is what is heard: silence has no energy.
window.energy = 0;
setInterval(async () => {
	const all = await user.session?.sessionDescriptionHandler?.peerConnection?.getStats();
	window.energy = [...(all?.values() ?? [])].find((s) => s.type === 'inbound-rtp' && s.kind === 'audio')?.totalAudioEnergy ?? 0;
}, 100);
user.connect().then(() => user.register()).catch((e) => say('registering: ' + e));
</script>`

// A telephone in a real browser registers over WebSockets with TLS, calls, hears, and is called.
func TestRealBrowserTelephone(t *testing.T) {
	const library = "../console/node_modules/sip.js/lib"
	if _, err := os.Stat(library); err != nil {
		t.Skip("SIP.js is not installed (npm ci, in the folder console)")
	}
	if !onNetwork(t) {
		t.Skip("this machine has the loopback interface alone, on which a browser and Asterisk offer each other no way for speech")
	}
	s := office(t)
	// An Asterisk without a codec for Opus cannot play anything to who has chosen that.
	daveInBrowser(t, s, strings.ReplaceAll(browserOptions, "opus,", ""))
	s.UserVoicemail = map[confdsvc.ID]confdsvc.ID{}
	a := startReal(t, s)
	a.apply()
	alice := a.phone(t, "alice")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			_, _ = fmt.Fprintf(w, browserTelephone, a.at("https"))
			return
		}
		http.StripPrefix("/lib", http.FileServer(http.Dir(library))).ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	page := openPage(t, chromedp.Flag("use-fake-ui-for-media-stream", true), chromedp.Flag("use-fake-device-for-media-stream", true))
	page.run(chromedp.Navigate(server.URL))
	page.until(`window.said?.('registered')`)

	page.until(`(call('101'), true)`)
	alice.saw("answers")
	page.until(`said('answered') === 1`)
	page.until(`(hangup(), true)`)
	alice.saw("hung up")
	page.until(`said('hung up') === 1`)
	a.idle()

	c, got := alice.dial("104")
	if got != 200 {
		t.Fatalf("alice calls the browser: %d\n%s", got, a.news())
	}
	page.until(`said('answered') === 2`)
	c.hangUp()
	page.until(`said('hung up') === 2`)
	a.idle()

	page.until(`(call('*10'), true)`) // the state of one's telephone, read out
	page.until(`said('answered') === 3`)
	page.until(`energy > 0.001`) // speech has a hundred times that, the noise of a line less than a thousandth of it
	page.until(`(hangup(), true)`)
	a.idle()
	a.clean("a browser's calls")
}
