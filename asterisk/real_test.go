package asterisk_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	cryptorand "crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ringfence/ringfence/asterisk"
	"github.com/ringfence/ringfence/asterisk/ami"
	"github.com/ringfence/ringfence/asterisk/apply"
	"github.com/ringfence/ringfence/asterisk/generation"
	"github.com/ringfence/ringfence/asterisk/jobs"
	"github.com/ringfence/ringfence/asterisk/userstate"
	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/helpers"
	"github.com/ringfence/ringfence/internal/porttest"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// patience is how long a test waits for something that should come.
const patience = 60 * time.Second

// wait waits for a state. state, if there is one, says what it is instead.
func wait(t testing.TB, what string, is func() bool, state func() string) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); {
		if time.Now().After(end) {
			got := ""
			if state != nil {
				got = ":\n" + state()
			}
			t.Fatalf("never: %s%s", what, got)
		}
		<-time.After(10 * time.Millisecond)
	}
}

// modules are those that the generated configuration needs, so that the log has nothing but what concerns it. Versions of Asterisk
// differ in them: what is missing is not loaded.
const modules = `app_authenticate app_bridgewait app_cdr app_confbridge app_db app_dial app_directed_pickup app_directory app_disa app_echo app_exec app_milliwatt app_mixmonitor app_originate app_page app_playback
	app_playtones app_privacy app_queue app_read app_record app_stack app_stasis app_userevent app_verbose app_voicemail bridge_builtin_features
	bridge_builtin_interval_features bridge_holding bridge_native_rtp bridge_simple bridge_softmix cdr_custom cdr_manager cel_custom chan_bridge_media chan_pjsip codec_a_mu codec_adpcm
	codec_alaw codec_g722 codec_gsm codec_opus codec_opus_open_source codec_resample codec_ulaw format_gsm format_pcm format_sln format_wav format_wav_gsm func_base64 func_callerid func_cdr
	func_channel func_cut func_db func_devstate func_dialplan func_env func_extstate func_global func_groupcount func_hangupcause func_lock func_logic func_math func_md5
	func_pjsip_aor func_pjsip_contact func_pjsip_endpoint func_sprintf func_strings func_timeout func_uri pbx_config res_adsi res_agi res_ari res_ari_applications res_ari_channels res_ari_events res_ari_model res_cdrel_custom res_clioriginate
	res_crypto res_fax res_fax_spandsp res_geolocation res_http_websocket res_manager_devicestate res_musiconhold res_parking res_pjproject res_pjsip res_pjsip_acl res_pjsip_authenticator_digest
	res_pjsip_caller_id res_pjsip_dialog_info_body_generator res_pjsip_diversion res_pjsip_dtmf_info res_pjsip_empty_info
	res_pjsip_endpoint_identifier_ip res_pjsip_endpoint_identifier_user res_pjsip_exten_state res_pjsip_header_funcs res_pjsip_logger res_pjsip_messaging res_pjsip_mwi
	res_pjsip_mwi_body_generator res_pjsip_nat res_pjsip_notify res_pjsip_one_touch_record_info res_pjsip_outbound_authenticator_digest
	res_pjsip_outbound_publish res_pjsip_outbound_registration res_pjsip_path res_pjsip_pidf_body_generator res_pjsip_pubsub res_pjsip_refer
	res_pjsip_registrar res_pjsip_rfc3326 res_pjsip_sdp_rtp res_pjsip_session res_pjsip_transport_websocket res_pjsip_xpidf_body_generator
	res_rtp_asterisk res_smdi res_sorcery_astdb res_sorcery_config res_sorcery_memory res_speech res_srtp res_stasis res_stasis_answer res_stasis_playback res_stasis_recording res_stasis_snoop res_timing_timerfd res_websocket_client`

// pbxUnderTest is a real Asterisk, in folders and on ports of its own, with what configures it.
type pbxUnderTest struct {
	t         testing.TB
	command   []string // what starts it, or talks to it
	dir       string
	ports     map[string]int // sip (UDP and TCP), sips, http, https, manager and managers (over TLS)
	authority *x509.CertPool // that of its certificate
	process   *exec.Cmd
	ended     chan struct{} // closed when the process has ended
	service   *apply.Service
	spoil     func(files asterisk.Files) // changes what is generated
	longest   time.Duration              // after which a call ends
	mu        sync.Mutex
	snapshot  *confdsvc.Snapshot
	states    map[string]string // what is stored, where it is not as the snapshot has it
	read      int               // how far the log was looked at
}

// findAsterisk finds an Asterisk: in the folder that ASTERISK_ROOT names, which needs no privileges and no chroot, or on this
// machine.
func findAsterisk(t testing.TB) (command []string, moduleFolder, dataFolder, samples string) {
	t.Helper()
	root := os.Getenv("ASTERISK_ROOT")
	one := func(patterns ...string) string {
		for _, pattern := range patterns {
			if found, _ := filepath.Glob(root + pattern); len(found) > 0 {
				return found[0]
			}
		}
		return ""
	}
	binary := one("/usr/sbin/asterisk", "/usr/local/sbin/asterisk")
	moduleFolder = one("/usr/lib/*/asterisk/modules", "/usr/lib/asterisk/modules", "/usr/local/lib/asterisk/modules")
	if binary == "" || moduleFolder == "" {
		t.Skip("no Asterisk: install one, or name a folder that has one in ASTERISK_ROOT (make asterisk-root makes it)")
	}
	data := one("/usr/share/asterisk/documentation", "/var/lib/asterisk/documentation")
	command = []string{binary}
	if loader := one("/lib64/ld-linux-*.so*", "/lib/ld-linux-*.so*"); root != "" && loader != "" {
		libraries := filepath.Dir(filepath.Dir(moduleFolder))
		command = []string{loader, "--library-path", libraries + ":" + root + "/usr/lib", binary}
	}
	return command, moduleFolder, filepath.Dir(data), root + "/etc/asterisk"
}

// startReal starts an Asterisk, and what configures it with a snapshot. It is configured by the first apply.
func startReal(t testing.TB, s *confdsvc.Snapshot) *pbxUnderTest {
	t.Helper()
	a := bootReal(t)
	a.set(s)
	a.service = apply.New(apply.Options{
		DB: storetest.SQLite(t), Generate: a.generate, Heard: a.heard, Keep: a.keep, States: a.stored,
		ForgetPIN: func(m apply.Mailbox) error { return helpers.ForgetPIN(a.dir+"/spool/voicemail", m.Context, m.Number) },
		ReadPIN: func(m apply.Mailbox) (string, error) {
			return helpers.ChosenPIN(a.dir+"/spool/voicemail", m.Context, m.Number)
		},
		KeepPIN: func(_ context.Context, m apply.Mailbox, pin, last string) (bool, error) {
			return a.keepPIN(m, pin, &last), nil
		},
		LiveReload: func(context.Context) (bool, error) { return false, nil },
	}, apply.Settings{
		Folder: a.dir + "/generated", Log: a.dir + "/log/full", Name: "real", Poll: 10 * time.Millisecond, Pause: 10 * time.Millisecond,
		Manager: ami.Options{Address: a.at("manager"), Username: "ringfence", Secret: "s", RetryMin: 10 * time.Millisecond, RetryMax: 100 * time.Millisecond},
	})
	a.run()
	return a
}

// at returns the address of one of Asterisk's ports.
func (a *pbxUnderTest) at(port string) string { return fmt.Sprintf("127.0.0.1:%d", a.ports[port]) }

// bootReal starts an Asterisk that nobody configures yet. When the test ends, its log must have no complaint.
func bootReal(t testing.TB) *pbxUnderTest {
	t.Helper()
	command, moduleFolder, dataFolder, samples := findAsterisk(t)
	ports := map[string]int{}
	for _, name := range []string{"sip", "sips", "http", "https", "manager", "managers"} {
		n, release, err := porttest.Reserve()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(release)
		ports[name] = n
	}
	dir, err := os.MkdirTemp("", "asterisk") //nolint:usetesting // a short path: that of a socket may have 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	a := &pbxUnderTest{t: t, dir: dir, ports: ports, states: map[string]string{}, command: append(command, "-C", dir+"/etc/asterisk.conf")}
	t.Cleanup(func() { // after the process has ended, and before its folder goes
		if all := complaints(a.log()); len(all) > 0 {
			t.Errorf("Asterisk's log:\n%s", strings.Join(all, ""))
		}
	})
	for _, folder := range []string{"etc", "lib/keys", "data/sounds", "data/moh", "spool/voicemail", "run", "log/cdr-custom", "log/cel-custom", "generated"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to, name string) {
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
	}
	link(dataFolder+"/documentation", dir+"/data/documentation")
	if sounds, _ := filepath.Glob(dataFolder + "/sounds/en*/activated.*"); len(sounds) > 0 {
		link(filepath.Dir(sounds[0]), dir+"/data/sounds/en")
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name := range strings.FieldsSeq("acl ccss cdr cli_aliases codecs confbridge geolocation indications pjproject pjsip_notify queuerules res_fax rtp udptl smdi") {
		if text, err := os.ReadFile(filepath.Join(samples, name+".conf")); err == nil {
			write("etc/"+name+".conf", string(text))
		}
	}
	var conf strings.Builder
	conf.WriteString("[directories]\n")
	for name, folder := range map[string]string{
		"etcdir": "/etc", "varlibdir": "/lib", "dbdir": "/lib", "keydir": "/lib", "datadir": "/data", "agidir": "/lib", "spooldir": "/spool", "rundir": "/run", "logdir": "/log", "cachedir": "/lib",
	} {
		fmt.Fprintf(&conf, "ast%s => %s%s\n", name, dir, folder)
	}
	fmt.Fprintf(&conf, "astmoddir => %s\n[options]\nentityid = 02:00:00:00:00:01\n", moduleFolder)
	write("etc/asterisk.conf", conf.String())
	write("etc/websocket_client.conf", "")
	write("etc/ari.conf", "[general]\nenabled = yes\nallowed_origins = *\n[program]\ntype = user\npassword = s\n")
	write("etc/cel.conf", "[general]\nenable = yes\nevents = ANSWER,HANGUP\n")
	write("etc/cel_custom.conf", "[mappings]\nMaster.csv => ${eventtype},${CHANNEL(accountcode)},${CHANNEL(userfield)}\n")
	write("etc/logger.conf", "[general]\n[logfiles]\nfull => notice,warning,error,verbose(5)\n")
	write("etc/manager.conf", fmt.Sprintf("[general]\nenabled = yes\nbindaddr = 127.0.0.1\nport = %d\ntlsenable = yes\ntlsbindaddr = %s\ntlscertfile = %[3]s/etc/cert.pem\ntlsprivatekey = %[3]s/etc/key.pem\n"+
		"[ringfence]\nsecret = s\nread = system,user,cdr\nwrite = system,call,reporting,command\n", a.ports["manager"], a.at("managers"), dir))
	certificate, key := a.certify()
	write("etc/cert.pem", certificate)
	write("etc/key.pem", key)
	write("etc/http.conf", fmt.Sprintf("[general]\nenabled = yes\nbindaddr = 127.0.0.1\nbindport = %d\ntlsenable = yes\ntlsbindaddr = %s\ntlscertfile = %[3]s/etc/cert.pem\ntlsprivatekey = %[3]s/etc/key.pem\n",
		ports["http"], a.at("https"), dir))
	conf.Reset()
	conf.WriteString("[modules]\nautoload = no\n")
	for module := range strings.FieldsSeq(modules) {
		if _, err := os.Stat(filepath.Join(moduleFolder, module+".so")); err == nil {
			conf.WriteString("load = " + module + ".so\n")
		}
	}
	write("etc/modules.conf", conf.String())
	static, err := asterisk.Static(dir + "/generated/live")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range static {
		write("etc/"+name, string(text))
	}
	a.boot()
	return a
}

// own writes one of Asterisk's own files.
func (a *pbxUnderTest) own(name, text string) {
	a.t.Helper()
	if err := os.WriteFile(filepath.Join(a.dir, "etc", name), []byte(text), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

// certify makes a certificate for Asterisk's address, and its key.
func (a *pbxUnderTest) certify() (certificate, key string) {
	a.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), cryptorand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "pbx.test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	signed, err := x509.CreateCertificate(cryptorand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		a.t.Fatal(err)
	}
	text, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		a.t.Fatal(err)
	}
	certificate = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}))
	a.authority = x509.NewCertPool()
	a.authority.AppendCertsFromPEM([]byte(certificate))
	return certificate, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text}))
}

// run runs what configures Asterisk until the test ends.
func (a *pbxUnderTest) run() {
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { a.service.Run(ctx) })
	a.t.Cleanup(func() {
		cancel()
		work.Wait()
	})
}

// boot starts Asterisk, and waits until it has booted.
func (a *pbxUnderTest) boot() {
	a.t.Helper()
	a.process = exec.Command(a.command[0], append(slices.Clone(a.command[1:]), "-f")...)
	a.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := a.process.Start(); err != nil {
		a.t.Fatal(err)
	}
	process := a.process
	ended := make(chan struct{})
	a.ended = ended
	go func() {
		_ = process.Wait()
		close(ended)
	}()
	a.t.Cleanup(func() {
		_ = process.Process.Kill()
		<-ended
	})
	wait(a.t, "Asterisk has booted", func() bool { return strings.Contains(a.cli("core waitfullybooted"), "fully booted") }, a.log)
}

// cli runs a command of Asterisk's console.
func (a *pbxUnderTest) cli(command string) string {
	out, _ := exec.Command(a.command[0], append(slices.Clone(a.command[1:]), "-rx", command)...).CombinedOutput()
	return string(out)
}

// set makes this the company that is configured by the next apply. Its transports get the ports of the test.
func (a *pbxUnderTest) set(s *confdsvc.Snapshot) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range s.Transports {
		port := "sip"
		if protocol, _ := t.Options.Last("protocol"); protocol == "tls" {
			port = "sips"
		}
		for i, pair := range t.Options.V {
			switch {
			case pair[0] == "bind" && !strings.HasPrefix(pair[1], "127."):
				t.Options.V[i] = []string{"bind", a.at(port)}
			case pair[0] == "cert_file" || pair[0] == "priv_key_file":
				t.Options.V[i] = []string{pair[0], a.dir + "/etc/" + filepath.Base(pair[1])}
			}
		}
	}
	a.snapshot = s
}

func (a *pbxUnderTest) generate(_ context.Context, refused apply.Refused) (apply.Output, error) {
	a.mu.Lock()
	taken, faults := asterisk.ReadTaken(a.dir + "/etc")
	for at, why := range refused {
		taken.Add(at[0], at[1], why)
	}
	files, left, err := asterisk.Generate(a.snapshot, asterisk.Options{
		Taken: taken, Sounds: a.dir + "/sounds", LongestCall: a.longest, Music: func(name string) string {
			if _, err := os.Stat(a.dir + "/moh/" + name); err != nil {
				return ""
			}
			return a.dir + "/moh/" + name
		},
	})
	if a.spoil != nil {
		a.spoil(files)
	}
	a.mu.Unlock()
	return apply.Output{Files: generation.Files(files), Source: "a test", LeftOut: append(faults, left...)}, err
}

func (a *pbxUnderTest) stored(context.Context) (all []userstate.State, _ error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, u := range a.snapshot.Users {
		for _, state := range asterisk.StateOf(u) {
			if value, kept := a.states[state.Key()]; kept {
				state.Value = value
			}
			all = append(all, state)
		}
	}
	return all, nil
}

func (a *pbxUnderTest) keep(_ context.Context, state userstate.State) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.states[state.Key()] = state.Value
	return nil
}

func (a *pbxUnderTest) heard(event ami.Message) (apply.News, func(ctx context.Context) error) {
	if event.Event() == asterisk.PINEvent {
		m, pin := apply.Mailbox{Context: event.Get("Context"), Number: event.Get("Mailbox")}, event.Get("NewPassword")
		return apply.PINNews(m, pin), func(context.Context) error { a.keepPIN(m, pin, nil); return nil }
	}
	if event.Event() != "UserEvent" || event.Get("UserEvent") != userstate.Event {
		return apply.News{}, nil
	}
	state := userstate.State{User: event.Get("User"), Name: event.Get("Name"), Value: event.Get("Value")}
	return apply.StateNews(state), func(ctx context.Context) error { return a.keep(ctx, state) }
}

// store changes a user's state as a client of the API does.
func (a *pbxUnderTest) store(user, name, value string) {
	a.mu.Lock()
	a.states[user+"/"+name] = value
	a.mu.Unlock()
	a.service.Changed()
	if value == "0" {
		value = "" // both are off
	}
	wait(a.t, name+" is "+value, func() bool {
		got := a.inDB(user, name)
		return got == value || value == "" && got == "0"
	}, func() string { return a.inDB(user, name) })
}

// kept returns what is stored of Bob's state.
func (a *pbxUnderTest) kept(name string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.states[bob+"/"+name]
}

// inDB returns a user's state in Asterisk's own database.
func (a *pbxUnderTest) inDB(user, name string) string {
	_, value, found := strings.Cut(strings.TrimSpace(a.cli("database get ringfence "+user+"/"+name)), "Value: ")
	if !found {
		return ""
	}
	return value
}

// said waits until the log has a text, since the last news.
func (a *pbxUnderTest) said(what string) {
	a.t.Helper()
	wait(a.t, what, func() bool { return strings.Contains(a.log()[a.read:], what) }, func() string { return a.log()[a.read:] })
}

// apply makes what is set that of Asterisk.
func (a *pbxUnderTest) apply() {
	a.t.Helper()
	a.applyWith(jobs.Options{Wait: true})
}

// force is apply, after which Asterisk has read all files.
func (a *pbxUnderTest) force() {
	a.t.Helper()
	a.applyWith(jobs.Options{Wait: true, Force: true})
}

func (a *pbxUnderTest) applyWith(o jobs.Options) {
	a.t.Helper()
	job, err := a.service.Apply(a.t.Context(), o)
	if err != nil {
		a.t.Fatal(err)
	}
	if job.State != jobs.Done {
		a.t.Fatalf("apply: %s %s\n%v\n%s", job.State, job.Message, job.Log, a.log())
	}
}

// phone plugs in the telephone of an endpoint, and registers it.
func (a *pbxUnderTest) phone(t testing.TB, name string) *phone {
	t.Helper()
	return a.phoneOver(t, overUDP(t, a.at("sip")), name)
}

// phoneOver is phone for one that speaks over another wire.
func (a *pbxUnderTest) phoneOver(t testing.TB, over wire, name string) *phone {
	t.Helper()
	p := plugIn(t, over, a.at("sip"), name, name, "secret-"+name)
	if status := p.register(600); status != 200 {
		t.Fatalf("%s registers: %d\n%s", name, status, a.log())
	}
	return p
}

// idle waits until there is no call.
func (a *pbxUnderTest) idle() {
	a.t.Helper()
	wait(a.t, "no call is left", func() bool { return strings.Contains(a.cli("core show channels count"), "0 active channels") }, func() string { return a.cli("core show channels") })
}

// Asterisk loads without a complaint what is generated for each feature, and for what an adversary types.
func TestRealTrees(t *testing.T) {
	a := startReal(t, company(t))
	a.apply()
	a.clean("the company")
	for name, test := range goldens(t) {
		if name == "transports" || name == "trunks" { // of ports, certificates and carriers of no machine: TestRealTransports and TestRealTrunk have their own
			continue
		}
		s := company(t)
		test.edit(s)
		a.set(s)
		a.apply()
		a.clean(name)
	}
	for _, typed := range append(hostileTexts, strings.Repeat("é", 500), "\u202eevil", "<101>", "a <102> b", "=>x", "!all", " ", "~~") {
		s := withTexts(t, typed)
		a.set(s)
		a.apply()
		a.clean(typed)
		if got := a.cli("pjsip show endpoints"); !strings.Contains(got, "Objects found: 4") {
			t.Errorf("%q: %s", typed, got)
		}
		if got := a.cli("dialplan show"); strings.Contains(got, "Context 'evil'") || strings.Contains(got, ". System(") {
			t.Errorf("%q is in the dialplan", typed)
		}
	}
}

// Asterisk takes the options that are written: it would refuse the whole endpoint for one that it does not know.
func TestRealOptions(t *testing.T) {
	s := company(t)
	a := startReal(t, s)
	options := s.Endpoints[0].Endpoint.V
	for _, own := range [][][]string{
		{{"allow", "!all, ulaw, alaw,g722,g723,g726,g726aal2,g729,g719,gsm,ilbc,adpcm,lpc10,opus,codec2,siren7,siren14"}},
		{{"disallow", "all"}, {"allow", "slin,slin12,slin16,slin24,slin32,slin44,slin48,slin96,slin192,speex,speex16,speex32,silk8,silk12,silk16,silk24"}},
		{{"allow", "all,!h261,!h263,h263p,h264,h265,vp8,vp9,mpeg4,jpeg,png,t140,red"}},
		{{"allow", "nosuch"}},
		{{"timers_min_se", "1900"}},
		{{"timers_min_se", "200"}, {"timers_sess_expires", "100"}},
		{{"timers_min_se", "200"}, {"timers_sess_expires", "300"}},
		{{"callerid_privacy", "allowed_passed_screen"}},
		{{"callerid_privacy", "allowed_passed_screened"}},
		{{"callerid_privacy", "prohib_failed_screen"}},
		{{"callerid_privacy", "prohib_not_screened"}},
		{{"callerid_privacy", "unavailable"}},
	} {
		s.Endpoints[0].Endpoint.V = slices.Concat(options, own)
		a.set(s)
		a.apply()
		a.clean(own[0][1])
		if got := a.cli("pjsip show endpoints"); !strings.Contains(got, "Objects found: 4") {
			t.Errorf("%q: %s", own, got)
		}
	}
}

// Everything that is generated is loaded, without a complaint, and is there; two telephones call each other.
func TestRealAsterisk(t *testing.T) {
	a := startReal(t, company(t))
	a.apply()
	a.clean("the first apply")
	alice, bob := a.phone(t, "alice"), a.phone(t, "bob")
	c, status := alice.dial("102")
	if status != 200 {
		t.Fatalf("status %d\n%s", status, a.log())
	}
	bob.saw("answers")
	c.hangUp()
	bob.saw("hung up")
	a.idle()
	a.clean("a call")
}

// A telephone without a template that was started again, and has another port, takes its own place at once: calls reach it alone.
func TestRealTelephoneComesBack(t *testing.T) {
	s := office(t)
	a := startReal(t, s)
	a.apply()
	alice, before := a.phone(t, "alice"), a.phone(t, "carol")
	after := a.phone(t, "carol")
	c, status := alice.dial("103")
	if status != 200 {
		t.Fatalf("status %d\n%s", status, a.log())
	}
	after.saw("answers")
	c.hangUp()
	a.idle()
	if before.count("rings") > 0 {
		t.Error("the telephone as it was before rang too")
	}
	a.clean("a telephone came back")
}
