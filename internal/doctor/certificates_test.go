package doctor

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/internal/private"
	"github.com/ringfence/ringfence/internal/selfsigned"
)

// pair makes a certificate that was signed at a time, and its key.
func pair(t *testing.T, at time.Time, names ...string) Pair {
	t.Helper()
	folder := t.TempDir()
	s, err := selfsigned.Open(folder, selfsigned.Options{Names: names, Now: func() time.Time { return at }})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	return Pair{filepath.Join(folder, "certificate.pem"), filepath.Join(folder, "key.pem")}
}

func TestKeys(t *testing.T) {
	good, other := pair(t, time.Now(), "x"), pair(t, time.Now(), "x")
	exposed := pair(t, time.Now(), "x")
	if err := os.Chmod(exposed.Key, 0o644); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "key.pem")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		pair  Pair
		state State
		text  string
	}{
		{good, OK, "it is the certificate's"},
		{exposed, Problem, "mode 0644"},
		{Pair{good.Certificate, other.Key}, Problem, "cannot use it"},
		{Pair{good.Certificate, "/nowhere.pem"}, Problem, "no such file"},
		{Pair{good.Certificate, folder}, Problem, "is a directory"},
	} {
		i := Installation{Config: &Config{Certificates: []Pair{tt.pair}}}
		find(t, i.certificates(t.Context()), "key "+tt.pair.Key, tt.state, tt.text)
		find(t, i.certificates(t.Context()), "certificate "+tt.pair.Certificate, OK, "valid until")
	}
}

// A certificate that was renewed, and that the gateway has not read, is not the one that clients see.
func TestServedCertificate(t *testing.T) {
	old, renewed := pair(t, time.Now(), "pbx.example.com"), pair(t, time.Now(), "pbx.example.com")
	given, err := tls.LoadX509KeyPair(old.Certificate, old.Key)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.TLS = &tls.Config{Certificates: []tls.Certificate{given}}
	server.StartTLS()
	defer server.Close()
	listen := []Listener{{"http", "127.0.0.1:1", ""}, {"https", "127.0.0.1:1", ""}, {"https", server.Listener.Addr().String(), ""}}
	i := Installation{Data: t.TempDir(), Config: &Config{Listen: listen, Certificates: []Pair{renewed}}}
	none := func() {
		t.Helper()
		if findings := i.served(t.Context(), renewed); findings != nil {
			t.Errorf("the findings are %+v", findings)
		}
	}
	none() // no gateway runs
	lock, err := private.TryLock(filepath.Join(i.Data, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	find(t, i.certificates(t.Context()), "certificate "+renewed.Certificate, Warning, "serves another one")
	i.Config.Certificates = []Pair{renewed, old} // two for one name
	none()
	i.Config.Certificates = []Pair{renewed}
	server.Close() // nobody serves
	none()
}

// A certificate that Caddy gets is found where Caddy keeps it; one of one's own for the same name takes its place.
func TestManagedCertificates(t *testing.T) {
	i := Installation{Data: t.TempDir(), Config: &Config{Managed: []string{"pbx.example.com"}}}
	is := func(state State, text string) {
		t.Helper()
		findings := i.certificates(t.Context())
		if find(t, findings, "certificate for pbx.example.com", state, text); len(findings) != 1 {
			t.Errorf("the findings are %+v", findings)
		}
	}
	is(OK, "does not know")
	i.Config.Storage = t.TempDir()
	is(OK, "none yet")
	put := func(issuer string, age time.Duration) {
		t.Helper()
		made := pair(t, time.Now().Add(-age), "pbx.example.com").Certificate
		folder := filepath.Join(i.Config.Storage, "certificates", issuer, "pbx.example.com")
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(made, filepath.Join(folder, "pbx.example.com.crt")); err != nil {
			t.Fatal(err)
		}
	}
	const day = 24 * time.Hour
	put("one", 400*day)
	is(Problem, "expired")
	put("two", 390*day)
	is(OK, "valid until") // the gateway renews it when it starts
	lock, err := private.TryLock(filepath.Join(i.Data, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	is(Warning, "should have been renewed")
	put("three", 0)
	is(OK, "valid until")
	all, err := i.Config.Issued()
	if err != nil || len(all) != 1 || !strings.Contains(all[0].File, "/three/") || all[0].Certificate == nil {
		t.Errorf("issued are %+v, %v", all, err)
	}
	i.Config.Storage = t.TempDir()
	is(Problem, "has got none")
	if all, err := i.Config.Issued(); len(all) > 0 || err == nil || !strings.Contains(err.Error(), "no certificate for pbx.example.com yet") {
		t.Errorf("issued are %+v, %v", all, err)
	}
	i.Config.Certificates = []Pair{pair(t, time.Now(), "pbx.example.com")}
	if findings := i.certificates(t.Context()); slices.ContainsFunc(findings, func(f Finding) bool { return strings.HasPrefix(f.Subject, "certificate for") }) {
		t.Errorf("the findings are %+v", findings)
	}
}

// A damaged certificate of the gateway's own, and one that this user may not read, can be mended.
func TestOwnCertificate(t *testing.T) {
	made := pair(t, time.Now(), "localhost").Certificate
	if err := os.WriteFile(made, []byte("junk"), 0o600); err != nil {
		t.Fatal(err)
	}
	if f := certificate("", made, "", true); f.State != Problem || !strings.Contains(f.Advice, "delete it") {
		t.Errorf("%+v", f)
	}
	if f := certificate("", filepath.Dir(made), "", true); f.State != Problem || f.Advice != asUser {
		t.Errorf("%+v", f)
	}
}

func TestReadSites(t *testing.T) {
	site := func(hosts string) string { return `"routes":[{"match":[{"host":[` + hosts + `]}]}]` }
	c, err := ReadConfig([]byte(`{"logging":{"logs":{"default":{"exclude":["x"]},"b":{"writer":{"output":"file","filename":"{x}/access.log"}},"a":{"writer":{"output":"file","filename":"a.log"}}}},
		"storage":{"module":"file_system","root":"{x}/caddy"},"apps":{"http":{"servers":{
		"a":{"listen":[":443"],`+site(`"*.example.com","{x}","192.0.2.7","pbx.example.com","given.example.com"`)+`},
		"b":{"listen":[":8443"],`+site(`"pbx.example.com"`)+`},
		"c":{"listen":[":80"],`+site(`"plain.example.com"`)+`},
		"d":{"listen":[":8668"],`+site(`"localhost"`)+`,"automatic_https":{"skip":["localhost"]}},
		"e":{"listen":[":8080"],`+site(`"off.example.com"`)+`,"automatic_https":{"disable":true}}}},
		"tls":{"automation":{"policies":[{"subjects":["given.example.com"],"get_certificate":[{"via":"x"}]},{"issuers":[{"module":"acme"}]}]}}}}`),
		"off", strings.NewReplacer("{x}", "y").Replace)
	want := &Config{Admin: "off", Storage: "y/caddy", Managed: []string{"pbx.example.com"}, Logs: []string{"a.log", "y/access.log"}, Listen: []Listener{
		{"http", ":80", "plain.example.com"},
		{"http", ":8080", "off.example.com"},
		{"http", ":8668", "localhost"},
		{"https", ":443", "pbx.example.com"},
		{"https", ":8443", "pbx.example.com"},
	}}
	if err != nil || !reflect.DeepEqual(c, want) {
		t.Errorf("%+v, %v", c, err)
	}
}
