package asterisk_test

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// log returns the whole lines of the log. Who reads while Asterisk writes may see a line up to the end of a page of memory.
func (a *pbxUnderTest) log() string {
	text, _ := os.ReadFile(a.dir + "/log/full")
	return string(text[:bytes.LastIndexByte(text, '\n')+1])
}

// An expected complaint that is only half written is none.
func TestHalfALineOfTheLog(t *testing.T) {
	a := &pbxUnderTest{dir: t.TempDir()}
	if err := os.Mkdir(a.dir+"/log", 0o700); err != nil {
		t.Fatal(err)
	}
	const first, half, rest = "started\n", "NOTICE[1] res_pjsip: Request 'REGISTER' from 'bob' fai", "led\n"
	for _, step := range [][2]string{{first + half, first}, {first + half + rest, half + rest}} {
		if err := os.WriteFile(a.dir+"/log/full", []byte(step[0]), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := a.news(); got != step[1] || len(complaints(got)) > 0 {
			t.Errorf("news %q, want %q", got, step[1])
		}
	}
}

// news returns what the log has got since the last time.
func (a *pbxUnderTest) news() string {
	text := a.log()
	news := text[min(a.read, len(text)):]
	a.read = len(text)
	return news
}

// complaints returns the warnings, the errors and the notices of a log, but for the expected ones.
func complaints(log string) (all []string) {
	for line := range strings.Lines(log) {
		if (strings.Contains(line, "WARNING[") || strings.Contains(line, "ERROR[") || strings.Contains(line, "NOTICE[")) &&
			!slices.ContainsFunc(expected, func(e expectation) bool { return e.line.MatchString(line) }) {
			all = append(all, line)
		}
	}
	return all
}

// expectation is a line of the log that says nothing about the files, and why it is there.
type expectation struct {
	line   *regexp.Regexp
	reason string
}

func expect(line, reason string) expectation { return expectation{regexp.MustCompile(line), reason} }

var expected = []expectation{
	// Of the test's own folders, which have only what the generated files need.
	expect(`NOTICE.* loader\.c: \d+ modules will be loaded`, "how a start is told"),
	expect(`WARNING.* loader\.c: Some non-required modules`, "modules that Asterisk's own defaults load, and this machine has not"),
	expect(`NOTICE.* chan_iax2\.c: Ignoring bind(port|addr) on reload`, "it listens where it does until it starts anew"),
	expect(`loader\.c: .*declined to load`, "a module whose own file the test's folder has not"),
	expect(`NOTICE.* cdrel_custom/config\.c: `, "how the file of records is told"),
	expect(`NOTICE.* cdr_manager\.c: Added mapping`, "how the fields of records are told"),
	expect(`indications\.c: |Default country for indication|Setting default indication country`, "the sample of indications.conf"),
	expect(`CDR simple logging|res_smdi|may be removed in a future release`, "modules that the test loads for others, without their files"),
	expect(`WARNING.* bridge_holding\.c: Failed to start moh`, "the test's folder has no music"),
	expect(`res_musiconhold\.c: No music on hold classes`, "before the first apply there are none"),
	expect(`WARNING.* res_pjsip_outbound_registration\.c: No response received from .* on registration attempt`, "a test stops its carrier"),
	expect(`pjproject: .*Module ".*" registered during operation`, "an Asterisk that is asked for something while it starts"),
	expect(`ERROR.* (Endpoint 'carrier-1': Could not create dialog to invalid URI|Failed to create outgoing session to endpoint 'carrier-1')`, "a carrier that a test silences"),
	expect(`NOTICE.* app_dial\.c: Unable to create channel of type 'PJSIP' \(cause 3 `, "the same"),
	// Of every reload, whatever is in the files.
	expect(`NOTICE.* (Adding default_(menu menu|bridge profile|user profile) to app_confbridge|Adding default profile to res_parking)`, "the test's folder has no lot, profile and menu of Asterisk's own"),
	expect(`NOTICE.* Type 'system' is not reloadable`, "docs/asterisk.md"),
	expect(`NOTICE.* queuerules\.conf has not changed`, "docs/asterisk.md"),
	expect(`NOTICE.*secret\.conf, using secret from config file`, "docs/asterisk.md: the mailbox has no PIN of a telephone"),
	expect(`ERROR.* manager\.c: Unable to process manager action '\w+'\. Asterisk is shutting down`, "a change that comes just then"),
	expect(`NOTICE.* app_queue\.c: (Added interface|Removed interface) 'Local/\d+@ringfence-agents'`, "agents who log in and out"),
	expect(`NOTICE.* app_queue\.c: Queue members successfully reloaded from database`, "those who were logged in before a restart"),
	expect(`WARNING.* app_queue\.c: Unable to join queue 'ringfence-queue-`, "a queue in which nobody is"),
	// Of telephones that do what they should not, as the test wants it.
	expect(`NOTICE.* Request 'REGISTER' from .*(failed|Failed)`, "a wrong password, or nobody's"),
	expect(`NOTICE.* Request 'INVITE' from .*(failed|Failed)`, "the same, in a call"),
	expect(`NOTICE.* extension not found in context`, "a number that does not exist"),
	expect(`NOTICE.* (No target channel found for 10[23]%|.*Pickup PJSIP/(alice|bob))`, "a pickup of nothing"),
	expect(`WARNING.* app_voicemail\.c:  PJSIP/stranger-`, "another tenant's mailbox"),
	expect(`NOTICE.* Endpoint 'stranger' state subscription failed`, "another tenant's lamps"),
	expect(`NOTICE.* Endpoint 'carol' state subscription failed: Extension '10[45]'`, "numbers of nobody"),
	expect(`WARNING.* pjproject: .*SSL_ERROR_SSL \(Handshake\)`, "a telephone that does not trust the certificate"),
	expect(`ERROR.* res_pjsip_refer\.c: .*attempted blind transfer to '999@.*target does not exist`, "a transfer to a number that does not exist"),
	expect(`ERROR.* res_pjsip_refer\.c: .*'external_replaces' extension not found`, "a transfer to a call that does not exist"),
	expect(`ERROR.* bob: Couldn't negotiate stream`, "a telephone that speaks as a browser"),
	expect(`WARNING.* app_disa\.c: .*got bad password`, "a wrong PIN"),
	expect(`ERROR.* chan_pjsip\.c: Session already DISCONNECTED`, "a telephone that ends a call while Asterisk tells it something"),
	expect(`WARNING.* Taskprocessor 'stasis/m:manager:core-\w+' queue reached`, "what the managers are told of 200 calls at once waits for a busy machine"),
	expect(`WARNING.* (Failed to find outbound websocket per-call config for app|Stasis app) 'wazo-app-`, "docs/asterisk.md: no program takes the call"),
	expect(`WARNING.* Call limit reached: limit=`, "docs/asterisk.md"),
	expect(`WARNING.* Abnormal 'Gosub\(ringfence-limit,leg,1`, "calls at the very same moment, of which some are too many"),
	expect(`ERROR\[\d+\] stasis\.c: Internal error: subscription has invalid topic\s*$`, "two threads of res_pjsip_refer stop watching one transfer at the same moment: "+
		"that of who is handed on, and the one that hears of their next call. Nothing follows from it"),
	expect(`WARNING.* res_fax_spandsp\.c: WARNING T\.30 ECM carrier not found`, "two fax machines of one process, of which one listens before the other speaks"),
	// Of telephones that hang up just now.
	expect(`ERROR.* iostream\.c: SSL_shutdown\(\) failed`, "a browser is closed"),
	expect(`WARNING.* Failed to playback file 'conf-\w+' to channel|No audio available on|Couldn't read username|Unable to write frametype`, "while Asterisk plays, asks or records"),
}

// clean checks that the log has no complaint since the last time.
func (a *pbxUnderTest) clean(when string) {
	a.t.Helper()
	if all := complaints(a.news()); len(all) > 0 {
		a.t.Errorf("%s: %s", when, strings.Join(all, ""))
	}
}

// rest ends the calls of telephones, which then do the same with the next ones, and checks the log.
func (a *pbxUnderTest) rest(when, next string, phones []*phone) {
	a.t.Helper()
	for _, p := range phones {
		p.when("busy") // nobody is called back into a call that is to end
		p.hangUpAll()
	}
	a.idle()
	for _, p := range phones {
		p.log()
		p.when(next)
	}
	a.clean(when)
}
