package caddymodule_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	_ "github.com/caddyserver/caddy/v2/modules/standard"
	"github.com/spf13/cobra"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
	"github.com/ringfence/ringfence/internal/selfsigned"
)

// site is a Caddy in this process that serves one HTTPS site for any name with the self-signed certificate.
type site struct {
	dir      string // everything is below it
	port     string
	log      string // the file of the default log
	options  string // more global options
	logging  string // the default log's options, if not those of the test
	tls      string // the block of get_certificate
	handlers string
}

func newSite(t *testing.T) *site {
	t.Helper()
	dir := t.TempDir()
	return &site{
		dir: dir, port: gatewaytest.FreePort(t), log: filepath.Join(dir, "default.log"),
		options:  "on_demand_tls {\npermission ringfence_self_signed\n}",
		tls:      "data " + dir,
		handlers: `respond "reached"`,
	}
}

func (s *site) caddyfile() string {
	logging := s.logging
	if logging == "" {
		logging = "log default {\noutput file " + s.log + "\nlevel DEBUG\n}"
	}
	admin := ""
	if !strings.Contains(s.options, "admin ") {
		admin = "admin unix/" + s.dir + "/admin.sock"
	}
	return fmt.Sprintf(`{
	%s
	persist_config off
	auto_https disable_redirects
	skip_install_trust
	storage file_system %s/storage
	%s
	%s
}
https://:%s {
	bind ringfence_tcp/
	tls {
		get_certificate ringfence_self_signed {
			%s
		}
	}
	%s
}
`, admin, s.dir, logging, s.options, s.port, s.tls, s.handlers)
}

func (s *site) adapt(t *testing.T) []byte {
	t.Helper()
	config, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(s.caddyfile()), nil)
	if err != nil {
		t.Fatalf("adapting: %v\n%s", err, s.caddyfile())
	}
	return config
}

// load starts the site, or reloads it, and returns when only this configuration serves. The site stops with the test.
func (s *site) load(t *testing.T) {
	t.Helper()
	t.Cleanup(func() { gatewaytest.Stop(t) })
	if err := caddy.Load(s.adapt(t), true); err != nil {
		t.Fatalf("loading: %v", err)
	}
	// Without the app no handover takes place: the replaced configuration accepts until Caddy stops it.
	gatewaytest.Eventually(t, time.Minute, func() error {
		if n := gatewaytest.Listening(); n != 1 {
			return fmt.Errorf("%d configurations listen", n)
		}
		return nil
	})
}

func (s *site) logged(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(s.log)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// client makes requests to the site with the HTTP version and the server name given; without a name it sends none.
func (s *site) client(t *testing.T, version int, serverName string) *http.Client {
	t.Helper()
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{
			ServerName:         serverName,
			InsecureSkipVerify: true,
			MinVersion:         tls.VersionTLS12,
		},
		Protocols: new(http.Protocols),
	}
	transport.Protocols.SetHTTP1(version == 1)
	transport.Protocols.SetHTTP2(version == 2)
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// get makes a request and returns the response's protocol and the server's certificate.
func (s *site) get(t *testing.T, client *http.Client) (protocol int, certificate *x509.Certificate) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://127.0.0.1:"+s.port+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatalf("request: %v", err)
	}
	defer func() { _ = response.Body.Close() }()
	if body, err := io.ReadAll(response.Body); err != nil || string(body) != "reached" {
		t.Errorf("body %q, %v", body, err)
	}
	return response.ProtoMajor, response.TLS.PeerCertificates[0]
}

// served returns the certificate that a new connection gets.
func (s *site) served(t *testing.T) *x509.Certificate {
	t.Helper()
	_, certificate := s.get(t, s.client(t, 1, ""))
	return certificate
}

func (s *site) stored(t *testing.T) *selfsigned.Store {
	t.Helper()
	store, err := selfsigned.Open(filepath.Join(s.dir, "tls"), selfsigned.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func TestSelfSignedIsServedForAnyName(t *testing.T) {
	s := newSite(t)
	s.load(t)
	want := s.stored(t).Certificate().Leaf
	for _, version := range []int{1, 2} {
		for _, name := range []string{"", "localhost", "elsewhere.example", "a.b.c.elsewhere.example"} {
			t.Run(fmt.Sprintf("h%d %q", version, name), func(t *testing.T) {
				protocol, certificate := s.get(t, s.client(t, version, name))
				if protocol != version {
					t.Errorf("protocol HTTP/%d, want HTTP/%d", protocol, version)
				}
				if !certificate.Equal(want) {
					t.Errorf("served %q, not the stored certificate", certificate.Subject)
				}
			})
		}
	}
}

func TestSelfSignedStaysTheSame(t *testing.T) {
	s := newSite(t)
	s.load(t)
	first := s.served(t)
	s.load(t)
	if !s.served(t).Equal(first) {
		t.Error("another certificate after a reload")
	}
	gatewaytest.Stop(t)
	s.load(t)
	if !s.served(t).Equal(first) {
		t.Error("another certificate after a restart")
	}
}

func TestSelfSignedFollowsItsFolder(t *testing.T) {
	s := newSite(t)
	s.load(t)
	first := s.served(t)

	t.Setenv("RINGFENCE_DATA", filepath.Join(s.dir, "by-environment"))
	s.tls = ""
	s.load(t)
	if _, err := os.Stat(filepath.Join(s.dir, "by-environment", "tls", "key.pem")); err != nil {
		t.Errorf("RINGFENCE_DATA is not the default: %v", err)
	}
	if s.served(t).Equal(first) {
		t.Error("the certificate of the old folder is still served")
	}

	t.Setenv("ELSEWHERE", s.dir)
	s.tls = "data {env.ELSEWHERE}"
	s.load(t)
	if !s.served(t).Equal(first) {
		t.Error("a placeholder in data is not resolved to the first folder")
	}
}

func TestRefusedConfigurationLeavesTheOldOneServing(t *testing.T) {
	s := newSite(t)
	s.load(t)
	first := s.served(t)

	broken := *s
	broken.tls = "data " + filepath.Join(s.dir, "broken")
	key := filepath.Join(s.dir, "broken", "tls", "key.pem")
	if err := os.MkdirAll(filepath.Dir(key), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(key, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		err := caddy.Load(broken.adapt(t), true)
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Fatalf("loading with a damaged key: %v, want an error that names it", err)
		}
		if !s.served(t).Equal(first) {
			t.Error("the old configuration does not serve any more")
		}
	}
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	broken.load(t)
	if broken.served(t).Equal(first) {
		t.Error("the mended configuration does not serve its certificate")
	}
}

func TestSelfSignedLog(t *testing.T) {
	// The beginning of Caddy's text.
	const warning = "on-demand TLS can only get certificates from the configured external manager"

	s := newSite(t)
	if err := caddy.Validate(mustConfig(t, s)); err != nil {
		t.Fatalf("validating: %v", err)
	}
	fingerprint := s.stored(t).Fingerprint()
	if strings.Contains(s.logged(t), fingerprint) {
		t.Error("validating logs the fingerprint")
	}
	s.load(t)
	s.load(t)
	gatewaytest.Stop(t)
	s.load(t)
	log := s.logged(t)
	if n := strings.Count(log, fingerprint); n != 1 {
		t.Errorf("the fingerprint is logged %d times in one process, want once", n)
	}
	if strings.Contains(log, warning) {
		t.Error("Caddy warns newcomers that nobody is asked for permission")
	}

	// Without the permission module Caddy does warn, so the check above can fail.
	careless := newSite(t)
	careless.options = ""
	careless.load(t)
	if !strings.Contains(careless.logged(t), warning) {
		t.Error("Caddy's warning has another text now: look for it again")
	}
}

func mustConfig(t *testing.T, s *site) *caddy.Config {
	t.Helper()
	config := new(caddy.Config)
	if err := caddy.StrictUnmarshalJSON(s.adapt(t), config); err != nil {
		t.Fatal(err)
	}
	return config
}

func TestSelfSignedCaddyfileErrors(t *testing.T) {
	for name, block := range map[string]string{
		"unknown option": "folder /x", "no value": "data", "two values": "data /x /y", "twice": "data /x\ndata /y",
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.tls = block
			if _, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(s.caddyfile()), nil); err == nil {
				t.Error("accepted")
			}
		})
	}
	t.Run("argument", func(t *testing.T) {
		text := strings.Replace(newSite(t).caddyfile(), "ringfence_self_signed {", "ringfence_self_signed /data {", 1)
		if _, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(text), nil); err == nil {
			t.Error("accepted")
		}
	})
	t.Run("unknown placeholder", func(t *testing.T) {
		s := newSite(t)
		s.tls = "data {env.RINGFENCE_TEST_UNSET}/x"
		if err := caddy.Validate(mustConfig(t, s)); err == nil {
			t.Error("an unset variable is taken for the root folder")
		}
	})
}

// certificateCommand runs `ringfence certificate` and returns what it prints.
func certificateCommand(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return command(t, "certificate", args...)
}

// command runs a command of the program and returns what it prints.
func command(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	registered, ok := caddycmd.Commands()[name]
	if !ok {
		t.Fatal("no such command")
	}
	cmd := &cobra.Command{Use: registered.Name, SilenceErrors: true, SilenceUsage: true}
	registered.CobraFunc(cmd)
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(append([]string{}, args...)) // nil would mean this program's own
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestCertificateCommand(t *testing.T) {
	s := newSite(t)
	first, err := certificateCommand(t, "--data", s.dir)
	if err != nil {
		t.Fatal(err)
	}
	store := s.stored(t)
	for _, want := range []string{
		store.Fingerprint(), store.Path(), "made just now", "localhost", "127.0.0.1", "::1", store.NotAfter().Format("2006-01-02"),
	} {
		if !strings.Contains(first, want) {
			t.Errorf("%q is missing in\n%s", want, first)
		}
	}
	t.Setenv("RINGFENCE_DATA", s.dir)
	again, err := certificateCommand(t)
	if err != nil || !strings.Contains(again, store.Fingerprint()) || strings.Contains(again, "made just now") {
		t.Errorf("second run: %v\n%s", err, again)
	}
	onlyPEM, err := certificateCommand(t, "--pem")
	if err != nil || onlyPEM != string(store.PEM()) {
		t.Errorf("--pem: %v\n%s", err, onlyPEM)
	}
	if out, err := certificateCommand(t, "more"); err == nil {
		t.Errorf("an argument is accepted:\n%s", out)
	}
	if err := os.Chmod(filepath.Join(s.dir, "tls", "key.pem"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := certificateCommand(t); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a key open to others: %v", err)
	}
}

// With the output of `certificate --pem`, curl, and so OpenSSL, verifies the gateway.
func TestCurlTrustsThePEM(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed")
	}
	s := newSite(t)
	s.load(t)
	trusted, err := certificateCommand(t, "--pem", "--data", s.dir)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(s.dir, "trusted.pem")
	if err := os.WriteFile(file, []byte(trusted), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"localhost", "127.0.0.1"} {
		cmd := exec.CommandContext(t.Context(), curl, "-sS", "--noproxy", "*", "--cacert", file, "https://"+host+":"+s.port+"/")
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != "reached" {
			t.Errorf("curl %s: %v %s", host, err, out)
		}
	}
}
