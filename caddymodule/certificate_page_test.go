package caddymodule_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
	"github.com/ringfence/ringfence/internal/selfsigned"
)

// Whoever can reach the site can compare its certificate and take it for a client; nobody gets the key.
func TestCertificatePage(t *testing.T) {
	g := loadDefault(t, "")
	page := g.Do(t, "GET", "/certificate", "", "").Want(200)
	g.expires(t, firstOf(t, filepath.Join(g.Dir, "data", "tls", "certificate.pem")).NotAfter)
	dir := filepath.Join(g.Dir, "data")
	store, err := selfsigned.Open(filepath.Join(dir, "tls"), selfsigned.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for _, want := range []string{
		store.Fingerprint(), "localhost", "127.0.0.1", "::1", store.NotAfter().UTC().Format("2 January 2006"), "curl --cacert ringfence.pem https://127.0.0.1:" + g.HTTPSPort + "/", "/certificate.pem",
	} {
		if !strings.Contains(page.Body, want) {
			t.Errorf("the page lacks %q:\n%s", want, page.Body)
		}
	}
	if host, err := os.Hostname(); err != nil || !strings.Contains(page.Body, host) {
		t.Errorf("the page lacks the host's name %q (%v)", host, err)
	}
	policy := page.Header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy lacks %s: %s", want, policy)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "script-src") || strings.Contains(page.Body, "<script") || page.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("the page may run scripts: %s", policy)
	}
	file := g.Do(t, "GET", "/certificate.pem", "", "").Want(200)
	if file.Header.Get("Content-Type") != "application/x-pem-file" || file.Body != string(store.PEM()) {
		t.Errorf("%v\n%s", file.Header, file.Body)
	}
	block, rest := pem.Decode([]byte(file.Body))
	if block == nil || block.Type != "CERTIFICATE" || len(rest) > 0 || strings.Contains(file.Body, "KEY") {
		t.Errorf("the file has more than the certificate:\n%s", file.Body)
	}
	for _, path := range []string{"/certificate", "/certificate.pem"} {
		g.Do(t, "POST", path, "", "").Want(405)
		g.Do(t, "HEAD", path, "", "").Want(200).Empty()
	}
	for _, path := range []string{"/certificate/", "/certificate.key", "/certificate.pem/../key.pem", "/certificate/key.pem", "/tls/key.pem"} {
		if a := g.Do(t, "GET", path, "", ""); a.Status != 404 && a.Status != 400 {
			t.Errorf("%s is served: %d %s", path, a.Status, a.Body)
		}
	}
	// A line to copy holds nothing that a shell would understand.
	for _, host := range []string{"x;reboot", "$(reboot)", "a b", "<b>", "`reboot`", "'"} {
		odd, err := g.Try(t.Context(), "GET", "/certificate", "", "", func(r *http.Request) { r.Host = host })
		if err == nil && odd.Status == 200 && (strings.Contains(odd.Body, "reboot") || strings.Contains(odd.Body, "<b>") || strings.Contains(odd.Body, "https://'") || !strings.Contains(odd.Body, "https://localhost/")) {
			t.Errorf("a Host of %q gives:\n%s", host, odd.Body)
		}
	}
}

// With the file that the page offers curl trusts the gateway by every name that the page lists.
func TestCurlTrustsTheOfferedFile(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed")
	}
	g := loadDefault(t, "")
	file := filepath.Join(g.Dir, "ringfence.pem")
	if err := os.WriteFile(file, []byte(g.Do(t, "GET", "/certificate.pem", "", "").Want(200).Body), 0o600); err != nil {
		t.Fatal(err)
	}
	hosts := []string{"localhost", "127.0.0.1", "[::1]"}
	if name, err := os.Hostname(); err == nil {
		hosts = append(hosts, name)
	}
	for _, host := range hosts {
		bare := strings.Trim(host, "[]")
		cmd := exec.CommandContext(t.Context(), curl, "-sS", "--noproxy", "*", "--cacert", file, "--connect-to", "::127.0.0.1:"+g.HTTPSPort, "https://"+host+":"+g.HTTPSPort+"/healthz")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "alive") {
			t.Errorf("curl does not trust %s: %v %s", bare, err, out)
		}
	}
}

// authority issues certificates, as a company's own would.
func authority(t *testing.T, dir string, names ...string) (root, certificate, key string) {
	t.Helper()
	now := time.Now()
	template := func(name string, serial int64) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour), BasicConstraintsValid: true,
		}
	}
	made := func(template, parent *x509.Certificate, of *ecdsa.PrivateKey, by *ecdsa.PrivateKey) []byte {
		der, err := x509.CreateCertificate(rand.Reader, template, parent, of.Public(), by)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	written := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ours, errs := [2]*ecdsa.PrivateKey{}, [2]error{}
	for i := range ours {
		ours[i], errs[i] = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	ca := template("Example Company", 1)
	ca.IsCA, ca.KeyUsage = true, x509.KeyUsageCertSign
	leaf := template(names[0], 2)
	leaf.DNSNames, leaf.KeyUsage, leaf.ExtKeyUsage = names, x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	der, err := x509.MarshalECPrivateKey(ours[1])
	if err != nil {
		t.Fatal(err)
	}
	return written("company.pem", "CERTIFICATE", made(ca, ca, ours[0], ours[0])), written("gateway.pem", "CERTIFICATE", made(leaf, ca, ours[1], ours[0])), written("gateway.key", "EC PRIVATE KEY", der)
}

// docs/certificates.md: with a certificate of a company's authority clients need the authority's alone, and the page says what is served.
func TestCertificateOfOnesOwn(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed")
	}
	root, certificate, key := authority(t, t.TempDir(), "pbx.example.com")
	snippet := strings.NewReplacer("/etc/ringfence/pbx.pem", certificate, "/etc/ringfence/pbx.key", key).Replace(documented(t))
	edited := func(caddyfile string) string {
		const served = "tls {\n\t\tget_certificate ringfence_self_signed\n\t}"
		if strings.Count(caddyfile, served) != 1 {
			t.Fatalf("the Caddyfile has no\n%s", served)
		}
		return strings.Replace(caddyfile, served, snippet, 1)
	}
	g := loadEdited(t, "", edited)
	ask := func(path string) (string, error) {
		cmd := exec.CommandContext(t.Context(), curl, "-sS", "--noproxy", "*", "--cacert", root, "--connect-to", "::127.0.0.1:"+g.HTTPSPort, "https://pbx.example.com:"+g.HTTPSPort+path)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	page, err := ask("/certificate")
	if err != nil || !strings.Contains(page, "has not signed it itself") || !strings.Contains(page, "CN=Example Company") || !strings.Contains(page, "pbx.example.com") || strings.Contains(page, "ringfence.pem") {
		t.Errorf("%v\n%s", err, page)
	}
	if file, err := ask("/certificate.pem"); err != nil || strings.Contains(file, "BEGIN") || !strings.Contains(file, "not one that the gateway has signed") {
		t.Errorf("%v\n%s", err, file)
	}
	leaf := firstOf(t, certificate)
	g.expires(t, leaf.NotAfter)
	config := filepath.Join(g.Dir, "served.json")
	if err := os.WriteFile(config, g.Config, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := certificateCommand(t, "--config", config)
	for _, want := range []string{certificate, "CN=Example Company", "pbx.example.com", leaf.NotAfter.Format(time.DateOnly), selfsigned.FingerprintOf(leaf)} {
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%v: %q is missing in\n%s", err, want, out)
		}
	}
	if out, err := certificateCommand(t, "--config", config, "--pem"); err == nil || !strings.Contains(err.Error(), "the authority's own certificate") {
		t.Errorf("--pem: %v\n%s", err, out)
	}
	if made, err := filepath.Glob(filepath.Join(g.Dir, "data", "tls", "*")); err != nil || len(made) > 0 {
		t.Errorf("it has made %v, %v", made, err)
	}
	// The gateway's own may be named beside it: the command tells of both.
	snippet += " {\n\t\tget_certificate ringfence_self_signed\n\t}"
	both := loadEdited(t, "", edited)
	both.expires(t, leaf.NotAfter)
	if err := os.WriteFile(config, both.Config, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := certificateCommand(t, "--config", config); err != nil || !strings.Contains(out, "renewed before that with the same key") {
		t.Errorf("%v\n%s", err, out)
	}
}

// expires fails the test unless the metrics tell this end of a certificate.
func (g *gateway) expires(t *testing.T, end time.Time) {
	t.Helper()
	metrics := g.Do(t, "GET", "http://127.0.0.1:"+g.HelpersPort+"/metrics", "", "").Want(200).Body
	value := regexp.MustCompile(`(?m)^ringfence_certificate_expiry_timestamp_seconds (\S+)$`).FindStringSubmatch(metrics)
	if value == nil {
		t.Error("the metrics have no end of a certificate")
		return
	}
	if seconds, err := strconv.ParseFloat(value[1], 64); err != nil || int64(seconds) != end.Unix() {
		t.Errorf("the metrics say that the certificate ends at %s, want %d", value[1], end.Unix())
	}
}

// firstOf returns the first certificate of a file.
func firstOf(t *testing.T, file string) *x509.Certificate {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return leaf
}

// documented returns what docs/certificates.md has put into the Caddyfile for a certificate of one's own.
func documented(t *testing.T) string {
	t.Helper()
	const heading = "A certificate of your own"
	text, err := os.ReadFile(filepath.Join(gatewaytest.Repository(), "docs", "certificates.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## "+heading+"\n")
	_, block, ok := strings.Cut(section, "```caddyfile\n")
	block, _, closed := strings.Cut(block, "\n```")
	if !ok || !closed {
		t.Fatalf("docs/certificates.md has no Caddyfile below %q", heading)
	}
	return block
}
