package selfsigned_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringfence/ringfence/internal/selfsigned"
)

const (
	day      = 24 * time.Hour
	lifetime = 397 * day
)

var start = time.Date(2027, time.March, 1, 12, 0, 0, 0, time.UTC)

// clock is a clock that stands still until it is moved.
type clock struct{ nanos atomic.Int64 }

func newClock(at time.Time) *clock {
	c := new(clock)
	c.set(at)
	return c
}

func (c *clock) set(at time.Time) { c.nanos.Store(at.UnixNano()) }
func (c *clock) now() time.Time   { return time.Unix(0, c.nanos.Load()).UTC() }

func open(t *testing.T, dir string, o selfsigned.Options) *selfsigned.Store {
	t.Helper()
	s, err := selfsigned.Open(dir, o)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(s.Close)
	return s
}

func at(c *clock) selfsigned.Options { return selfsigned.Options{Now: c.now} }

func leafOf(s *selfsigned.Store) *x509.Certificate { return s.Certificate().Leaf }

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

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

func TestSameAfterRestart(t *testing.T) {
	dir, c := t.TempDir(), newClock(start)
	first := open(t, dir, at(c))
	if !first.Created() {
		t.Error("Created is false though the folder was empty")
	}
	for _, later := range []time.Duration{0, day, 200 * day} {
		c.set(start.Add(later))
		again := open(t, dir, at(c))
		if again.Fingerprint() != first.Fingerprint() {
			t.Errorf("another certificate %v later", later)
		}
		if again.Created() {
			t.Errorf("Created is true %v later", later)
		}
	}
	if on := read(t, first.Path()); !bytes.Equal(on, first.PEM()) {
		t.Error("the file is not the certificate in PEM")
	}
}

func TestModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data", "tls")
	open(t, dir, selfsigned.Options{})
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Dir(dir): 0o700, filepath.Join(dir, "key.pem"): 0o600} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %04o, want %04o", path, got, want)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{"certificate.pem", "fingerprint", "key.pem", "lock"}; !slices.Equal(names, want) {
		t.Errorf("folder holds %v, want %v", names, want)
	}

	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	open(t, dir, selfsigned.Options{})
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("an open folder stays open: %v %v", info.Mode(), err)
	}
}

func TestKeyOpenToOthersIsRefused(t *testing.T) {
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620, 0o644} {
		t.Run(fmt.Sprintf("%04o", mode), func(t *testing.T) {
			dir := t.TempDir()
			open(t, dir, selfsigned.Options{})
			key := filepath.Join(dir, "key.pem")
			if err := os.Chmod(key, mode); err != nil {
				t.Fatal(err)
			}
			_, err := selfsigned.Open(dir, selfsigned.Options{})
			if err == nil || !strings.Contains(err.Error(), "chmod 600 "+key) {
				t.Errorf("Open: %v, want the command that mends it", err)
			}
		})
	}
}

func TestDamagedKeyIsRefusedAndKept(t *testing.T) {
	rsa := "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n"
	for name, damaged := range map[string]string{
		"empty": "", "text": "not a key at all", "cut": "-----BEGIN PRIVATE KEY-----\nMIGHAgEA", "undecodable": rsa,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			before := open(t, dir, selfsigned.Options{})
			key := filepath.Join(dir, "key.pem")
			if err := os.WriteFile(key, []byte(damaged), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := selfsigned.Open(dir, selfsigned.Options{})
			if err == nil || !strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), "damaged") {
				t.Fatalf("Open: %v, want it to say that %s is damaged", err, key)
			}
			if string(read(t, key)) != damaged {
				t.Error("the damaged key was replaced")
			}
			if !bytes.Equal(read(t, before.Path()), before.PEM()) {
				t.Error("the certificate was replaced")
			}
		})
	}
}

func TestCertificateIsRemadeForTheKey(t *testing.T) {
	other := open(t, t.TempDir(), selfsigned.Options{}).PEM()
	for name, found := range map[string][]byte{
		"missing": nil, "empty": {}, "text": []byte("no certificate"), "of another key": other, "cut": other[:len(other)/2],
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			before := open(t, dir, selfsigned.Options{})
			if err := os.WriteFile(before.Path(), found, 0o600); err != nil {
				t.Fatal(err)
			}
			if found == nil {
				if err := os.Remove(before.Path()); err != nil {
					t.Fatal(err)
				}
			}
			after := open(t, dir, selfsigned.Options{})
			if !after.Created() || !sameKey(before, after) {
				t.Errorf("created %v, same key %v; want a new certificate of the old key", after.Created(), sameKey(before, after))
			}
			if again := open(t, dir, selfsigned.Options{}); again.Fingerprint() != after.Fingerprint() {
				t.Error("remade again at the next start")
			}
		})
	}
}

// Another certificate than the one before is told with both fingerprints and the reason, once.
func TestReplacementIsTold(t *testing.T) {
	other := open(t, t.TempDir(), selfsigned.Options{}).PEM()
	write := func(name string, content []byte) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			t.Helper()
			if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	remove := func(name string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			t.Helper()
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, tt := range []struct {
		name   string
		change func(t *testing.T, dir string)
		now    time.Time
		names  []string
		reason string
	}{
		{"nothing", func(*testing.T, string) {}, start, nil, ""},
		{"lost", remove("certificate.pem"), start, nil, "was lost"},
		{"damaged", write("certificate.pem", []byte("junk")), start, nil, "was damaged"},
		{"another key's", write("certificate.pem", other), start, nil, "was not that of the private key"},
		{"key lost", remove("key.pem"), start, nil, "was not that of the private key"},
		{"expired", func(*testing.T, string) {}, start.Add(lifetime), nil, "had expired"},
		{"due", func(*testing.T, string) {}, start.Add(300 * day), nil, "was due for renewal"},
		{"a name", func(*testing.T, string) {}, start, []string{"PBX.example.com."}, "was not for PBX.example.com."},
		{"an address", func(*testing.T, string) {}, start, []string{"192.0.2.7"}, "was not for 192.0.2.7"},
		{"a name that it is for", func(*testing.T, string) {}, start, []string{"localhost"}, ""},
		{"a name that no certificate can be for", func(*testing.T, string) {}, start, []string{"a b"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			before := open(t, dir, at(newClock(start)))
			tt.change(t, dir)
			var told []selfsigned.Replacement
			o := at(newClock(tt.now))
			o.Names, o.OnReplace = tt.names, func(r selfsigned.Replacement) { told = append(told, r) }
			after := open(t, dir, o)
			if tt.reason == "" {
				if len(told) > 0 || after.Fingerprint() != before.Fingerprint() {
					t.Errorf("told %v", told)
				}
				return
			}
			if len(told) != 1 || told[0].Old != before.Fingerprint() || told[0].New != after.Fingerprint() || told[0].Old == told[0].New || told[0].Reason != tt.reason {
				t.Errorf("told %+v, want %q", told, tt.reason)
			}
			for _, name := range tt.names {
				if err := leafOf(after).VerifyHostname(strings.TrimSuffix(name, ".")); err != nil {
					t.Error(err)
				}
			}
			if len(tt.names) > 0 && !sameKey(before, after) {
				t.Error("the key changed")
			}
			if open(t, dir, o); len(told) != 1 {
				t.Errorf("told again: %v", told)
			}
		})
	}
}

func sameKey(a, b *selfsigned.Store) bool {
	return leafOf(a).PublicKey.(*ecdsa.PublicKey).Equal(leafOf(b).PublicKey)
}

func TestInterruptedWriteIsForgotten(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"key.pem.new", "certificate.pem.new"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	open(t, dir, selfsigned.Options{})
	if left, err := filepath.Glob(filepath.Join(dir, "*.new")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "key.pem")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key took the mode of the file it found: %v %v", info.Mode(), err)
	}
}

func TestRenewalAtStart(t *testing.T) {
	due := start.Add(-time.Hour).Add(lifetime / 3 * 2)
	tests := map[string]struct {
		now   time.Time
		renew bool
	}{
		"a second early": {due.Add(-time.Second), false},
		"due":            {due, true},
		"expired":        {start.Add(2 * lifetime), true},
		"clock in 1970":  {time.Unix(0, 0), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir, c := t.TempDir(), newClock(start)
			before := open(t, dir, at(c))
			old := before.Fingerprint()
			c.set(test.now)
			after := open(t, dir, at(c))
			if renewed := after.Fingerprint() != old; renewed != test.renew {
				t.Errorf("renewed %v, want %v", renewed, test.renew)
			}
			if !sameKey(before, after) {
				t.Error("the key changed")
			}
			if test.renew && !after.NotAfter().Equal(test.now.Add(lifetime-time.Hour)) {
				t.Errorf("NotAfter %v", after.NotAfter())
			}
		})
	}
}

func TestRenewalInUse(t *testing.T) {
	dir, c := t.TempDir(), newClock(start)
	tried := make(chan error, 100)
	s := open(t, dir, selfsigned.Options{Now: c.now, OnRenew: func(err error) { tried <- err }})
	old := leafOf(s)

	c.set(start.Add(lifetime / 4 * 3))
	var handshakes sync.WaitGroup
	for range 20 {
		handshakes.Go(func() {
			if s.Certificate().Leaf == nil {
				t.Error("no certificate during the renewal")
			}
		})
	}
	handshakes.Wait()
	if err := <-tried; err != nil {
		t.Fatalf("renewing: %v", err)
	}
	renewed := leafOf(s)
	if renewed.Equal(old) || !renewed.PublicKey.(*ecdsa.PublicKey).Equal(old.PublicKey) {
		t.Error("want another certificate of the same key")
	}
	if again := open(t, dir, at(c)); !leafOf(again).Equal(renewed) {
		t.Error("the renewed certificate is not the one that is stored")
	}
	s.Close()
	if extra := len(tried); extra != 0 {
		t.Errorf("%d more renewals of a fresh certificate", extra)
	}
}

func TestRenewalTakesWhatAnotherProcessRenewed(t *testing.T) {
	dir, c := t.TempDir(), newClock(start)
	tried := make(chan error, 1)
	serving := open(t, dir, selfsigned.Options{Now: c.now, OnRenew: func(err error) { tried <- err }})
	c.set(start.Add(lifetime / 4 * 3))
	other := open(t, dir, at(c))
	serving.Certificate()
	if err := <-tried; err != nil {
		t.Fatal(err)
	}
	if serving.Fingerprint() != other.Fingerprint() {
		t.Error("two processes on one folder ended with two certificates")
	}
}

func TestFailedRenewalKeepsServingAndTriesAgain(t *testing.T) {
	// A folder in the certificate's place makes the renewal fail, for root too.
	dir, c := t.TempDir(), newClock(start)
	tried := make(chan error, 10)
	s := open(t, dir, selfsigned.Options{Now: c.now, OnRenew: func(err error) { tried <- err }})
	old := s.Fingerprint()
	if err := errors.Join(os.Remove(s.Path()), os.Mkdir(s.Path(), 0o700)); err != nil {
		t.Fatal(err)
	}

	due := start.Add(lifetime / 4 * 3)
	c.set(due)
	s.Certificate()
	if err := <-tried; err == nil {
		t.Fatal("renewing succeeded without a file to write")
	}
	if s.Certificate(); s.Fingerprint() != old {
		t.Error("a certificate that is not stored is served")
	}
	if err := os.Remove(s.Path()); err != nil {
		t.Fatal(err)
	}
	c.set(due.Add(59 * time.Minute))
	s.Certificate()
	if len(tried) != 0 {
		t.Error("tried again within the hour")
	}
	c.set(due.Add(61 * time.Minute))
	s.Certificate()
	if err := <-tried; err != nil {
		t.Fatalf("second try: %v", err)
	}
	if s.Fingerprint() == old {
		t.Error("not renewed at the second try")
	}
}

func TestConcurrentOpensAgree(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tls")
	var (
		opening      sync.WaitGroup
		mu           sync.Mutex
		fingerprints = make(map[string]int)
		created      int
	)
	for range 16 {
		opening.Go(func() {
			s, err := selfsigned.Open(dir, selfsigned.Options{})
			if err != nil {
				t.Errorf("Open: %v", err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			fingerprints[s.Fingerprint()]++
			if s.Created() {
				created++
			}
		})
	}
	opening.Wait()
	if len(fingerprints) != 1 || created != 1 {
		t.Errorf("%d certificates, made %d times; want one of both", len(fingerprints), created)
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
