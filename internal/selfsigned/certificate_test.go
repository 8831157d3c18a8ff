package selfsigned_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/internal/selfsigned"
)

func TestCertificateFields(t *testing.T) {
	leaf := leafOf(open(t, t.TempDir(), at(newClock(start))))

	key, ok := leaf.PublicKey.(*ecdsa.PublicKey)
	if !ok || key.Curve != elliptic.P256() {
		t.Errorf("key is %T, want ECDSA P-256", leaf.PublicKey)
	}
	if !leaf.NotBefore.Equal(start.Add(-time.Hour)) {
		t.Errorf("NotBefore %v, want an hour before %v", leaf.NotBefore, start)
	}
	if life := leaf.NotAfter.Sub(leaf.NotBefore); life != lifetime {
		t.Errorf("life %v, want 397 days", life)
	}
	if leaf.IsCA || !leaf.BasicConstraintsValid {
		t.Errorf("IsCA %v, basic constraints %v, want CA:FALSE said", leaf.IsCA, leaf.BasicConstraintsValid)
	}
	if !slices.Equal(leaf.ExtKeyUsage, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}) {
		t.Errorf("extended key usage %v, want serverAuth only", leaf.ExtKeyUsage)
	}
	if leaf.KeyUsage != x509.KeyUsageDigitalSignature {
		t.Errorf("key usage %v, want digitalSignature only", leaf.KeyUsage)
	}
	if bits := leaf.SerialNumber.BitLen(); bits < 96 || bits > 128 || leaf.SerialNumber.Sign() < 0 {
		t.Errorf("serial number of %d bits, want 128 random ones", bits)
	}
	if leaf.Subject.CommonName != "Ringfence (self-signed)" {
		t.Errorf("common name %q", leaf.Subject.CommonName)
	}
}

func TestCertificateNamesTheHost(t *testing.T) {
	leaf := leafOf(open(t, t.TempDir(), selfsigned.Options{}))

	names := []string{"localhost", "127.0.0.1", "::1"}
	if host, err := os.Hostname(); err == nil {
		names = append(names, host)
	}
	found, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range found {
		names = append(names, a.(*net.IPNet).IP.String())
	}
	for _, name := range names {
		if err := leaf.VerifyHostname(name); err != nil {
			t.Errorf("certificate is not for %s: %v", name, err)
		}
	}
	if leaf.VerifyHostname("elsewhere.example") == nil {
		t.Error("certificate is for a host that it does not know")
	}
}

func TestTwoInstallationsDiffer(t *testing.T) {
	a, b := leafOf(open(t, t.TempDir(), selfsigned.Options{})), leafOf(open(t, t.TempDir(), selfsigned.Options{}))
	if a.SerialNumber.Cmp(b.SerialNumber) == 0 || a.PublicKey.(*ecdsa.PublicKey).Equal(b.PublicKey) {
		t.Error("two installations share a serial number or a key")
	}
}

func TestFingerprintIsWhatBrowsersShow(t *testing.T) {
	s := open(t, t.TempDir(), selfsigned.Options{})
	var want []string
	for _, b := range sha256.Sum256(s.Certificate().Certificate[0]) {
		want = append(want, fmt.Sprintf("%02X", b))
	}
	if got := s.Fingerprint(); got != strings.Join(want, ":") {
		t.Errorf("Fingerprint %q, want %q", got, strings.Join(want, ":"))
	}
}

// A client that trusts exactly this certificate reaches the gateway by name and by address.
func TestClientsAcceptIt(t *testing.T) {
	s := open(t, t.TempDir(), selfsigned.Options{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "reached")
	}))
	// Not StartTLS: it brings a certificate of its own for clients without a server name.
	server.Listener = tls.NewListener(server.Listener, &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.Certificate(), nil },
	})
	server.Start()
	defer server.Close()

	trust := x509.NewCertPool()
	if !trust.AppendCertsFromPEM(s.PEM()) {
		t.Fatal("PEM holds no certificate")
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust, MinVersion: tls.VersionTLS12}}}
	defer client.CloseIdleConnections()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"localhost", "127.0.0.1"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+net.JoinHostPort(host, port), nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Errorf("%s: %v", host, err)
			continue
		}
		_ = response.Body.Close()
	}
}

func BenchmarkCertificate(b *testing.B) {
	s, err := selfsigned.Open(b.TempDir(), selfsigned.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		s.Certificate()
	}
}
