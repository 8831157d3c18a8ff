package main_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/selfsigned"
)

// authority is the Caddyfile of an authority that speaks ACME and takes one kind of proof.
const authority = `{
	admin off
	persist_config off
	skip_install_trust
	storage file_system data
	auto_https disable_redirects
}

https://ca.example.com:9443 {
	tls internal
	acme_server {
		challenges %s
		allow {
			domains pbx.example.com
		}
	}
}
`

// inNetwork is set in the process that [ownNetwork] starts.
const inNetwork = "RINGFENCE_TEST_IN_NETWORK"

// ownNetwork runs the calling test once more, alone on a network of its own, where ports 80 and 443 are free and the example's names are this
// machine. It reports whether this is that run.
func ownNetwork(t *testing.T) bool {
	t.Helper()
	if os.Getenv(inNetwork) != "" {
		return true
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	hosts := written(t, t.TempDir(), "hosts", "127.0.0.1 localhost pbx.example.com ca.example.com\n")
	within := func(args ...string) (string, error) {
		args = append([]string{"--map-root-user", "--net", "--mount", "sh", "-c", `ip link set lo up && mount --bind "$0" /etc/hosts && exec "$@"`, hosts}, args...)
		cmd := exec.CommandContext(t.Context(), "unshare", args...)
		cmd.Env = append(os.Environ(), inNetwork+"=1")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := within("true"); err != nil {
		t.Skipf("a network of the test's own needs unshare, ip and mount, and the right to use them: %v: %s", err, out)
	}
	if out, err := within(self, "-test.v", "-test.run=^"+t.Name()+"$"); err != nil || !strings.Contains(out, "--- PASS: "+t.Name()+" ") {
		t.Errorf("%v:\n%s", err, out)
	}
	return false
}

// A gateway that is configured as documented gets a certificate from an authority by each kind of proof, serves it, and keeps it.
func TestACMECertificate(t *testing.T) {
	t.Parallel()
	if !ownNetwork(t) {
		return
	}
	for _, proof := range []string{"tls-alpn-01", "http-01"} {
		if !t.Run(proof, func(t *testing.T) { acmeCertificate(t, proof) }) {
			return // the next one would wait as long
		}
	}
}

func acmeCertificate(t *testing.T, proof string) {
	folder := t.TempDir()
	start := func(folder, config string) *gatewaytest.Process {
		return gatewaytest.Start(t, gatewaytest.Settings{
			Config: written(t, folder, "Caddyfile", config), Folder: folder, Env: []string{"HOME=" + folder, "XDG_DATA_HOME=" + folder, "XDG_CONFIG_HOME=" + folder},
		})
	}
	ca := start(folder, fmt.Sprintf(authority, proof))
	root := filepath.Join(ca.Data, "pki", "authorities", "local", "root.crt")
	trusted := x509.NewCertPool()
	ca.Until(t, func() error {
		text, err := os.ReadFile(root)
		if err == nil && !trusted.AppendCertsFromPEM(text) {
			err = fmt.Errorf("no certificate in %q", text)
		}
		return err
	})
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}}
	t.Cleanup(transport.CloseIdleConnections)
	client := resttest.At(t, &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}, "https://pbx.example.com")
	ca.Until(t, answers(t, client, "https://ca.example.com:9443/acme/local/directory", 200))

	_, options, _ := strings.Cut(deployed(t, "docs/certificates.md"), "```caddyfile\n\tacme_ca ")
	options, _, _ = strings.Cut("\tacme_ca "+options, "```")
	for _, here := range [][2]string{{"https://ca.example.com/", "https://ca.example.com:9443/"}, {"/etc/ringfence/ca.pem", root}} {
		if strings.Count(options, here[0]) != 1 {
			t.Fatalf("the options are %q", options)
		}
		options = strings.Replace(options, here[0], here[1], 1)
	}
	p := start(t.TempDir(), strings.Replace(acmeCaddyfile(t), "{\n", "{\n"+options, 1))
	p.Until(t, answers(t, client, "/readyz", 200))
	first := siteCertificate(t, trusted)
	token := client.Do("POST", "/api/auth/0.1/token", "{}", resttest.Basic("admin", gatewaytest.Password)).Want(200).Text("data.token")
	client.Get("/api/auth/0.1/users", resttest.Header("X-Auth-Token", token)).Want(200)
	client.Get("/api/auth/0.1/users").Refused(401, "unauthorized")
	if to := client.Get("http://pbx.example.com/console/").Want(308).Header.Get("Location"); to != "https://pbx.example.com/console/" {
		t.Errorf("plain HTTP leads to %s", to)
	}
	if !strings.Contains(p.Output(), `"console":"https://pbx.example.com/console/"`) {
		t.Errorf("it does not say where the console is:\n%s", p.Output())
	}
	out, status := run(t, p.Folder, p.Env, "doctor")
	for _, want := range []string{"port :443: a gateway listens\n", "certificate for pbx.example.com: it is valid until "} {
		if status != 0 || !strings.Contains(out, want) {
			t.Errorf("the doctor says with status %d, want %q:\n%s", status, want, out)
		}
	}

	expiry := regexp.MustCompile(`(?m)^ringfence_certificate_expiry_timestamp_seconds (\S+)$`).FindStringSubmatch(p.Do(t, "GET", p.Helpers+"/metrics", "", "").Want(200).Body)
	if expiry == nil {
		t.Error("the metrics have no end of the certificate")
	} else if seconds, err := strconv.ParseFloat(expiry[1], 64); err != nil || int64(seconds) != first.NotAfter.Unix() {
		t.Errorf("the metrics say that it ends at %s, want %d", expiry[1], first.NotAfter.Unix())
	}
	out, status = run(t, p.Folder, p.Env, "certificate")
	if status != 0 || !strings.Contains(out, selfsigned.FingerprintOf(first)) || !strings.Contains(out, first.Issuer.String()) || strings.Contains(out, "self") {
		t.Errorf("the command shows with status %d:\n%s", status, out)
	}

	ca.Stop(t)
	transport.CloseIdleConnections()
	p.Stop(t)
	p.Run(t)
	p.Until(t, answers(t, client, "/readyz", 200))
	if again := siteCertificate(t, trusted); !again.Equal(first) {
		t.Errorf("after a restart, the certificate %s of %s is another: %s of %s", first.SerialNumber, first.NotBefore, again.SerialNumber, again.NotBefore)
	}
}

// answers returns a function that tries for a status over a connection that the client trusts.
func answers(t *testing.T, client *resttest.Client, path string, want int) func() error {
	return func() error {
		a, err := client.Try(t.Context(), "GET", path, "")
		if err == nil && a.Status != want {
			err = fmt.Errorf("%s is answered with %d: %.200s", path, a.Status, a.Body)
		}
		return err
	}
}

// siteCertificate returns the certificate of the gateway's site, which these authorities have issued.
func siteCertificate(t *testing.T, trusted *x509.CertPool) *x509.Certificate {
	t.Helper()
	dialer := tls.Dialer{Config: &tls.Config{RootCAs: trusted}}
	conn, err := dialer.DialContext(t.Context(), "tcp", "pbx.example.com:443")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0]
}
