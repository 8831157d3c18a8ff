package authsvc_test

import (
	"bytes"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// The log says who has logged in and who has failed to, and fail2ban finds the addresses of those who failed, whatever they typed.
func TestLoginsAreLogged(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(&log, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	filter, err := os.ReadFile("../deploy/fail2ban/ringfence.conf")
	if err != nil {
		t.Fatal(err)
	}
	failregex := regexp.MustCompile(`(?m)^failregex = (.*)$`).FindStringSubmatch(string(filter))
	if failregex == nil {
		t.Fatal("the filter has no failregex")
	}
	failed := regexp.MustCompile(strings.Replace(failregex[1], "<ADDR>", `([0-9a-f.:]+)`, 1))

	s := newServer(t, storetest.SQLite(t))
	for login, address := range map[string]string{
		"admin": "198.51.100.7:1", "nobody": "[2001:db8::7]:1",
		`x","msg":"a login failed","remote_addr":"203.0.113.1` + "\n": "198.51.100.8:1",
	} {
		s.do("POST", "/token", "", "{}", resttest.Basic(login, "a wrong one"), from(address)).Want(401)
	}
	user := s.do("POST", "/token", "", "{}", resttest.Basic("admin", adminPassword), from("198.51.100.9:1")).Want(200).Text("data.auth_id")
	s.do("POST", "/token", "", "", resttest.Basic("admin", "x"), from("198.51.100.10:1")).Want(400)

	var addresses []string
	for _, m := range failed.FindAllStringSubmatch(log.String(), -1) {
		addresses = append(addresses, m[1])
	}
	slices.Sort(addresses)
	if want := []string{"198.51.100.7", "198.51.100.8", "2001:db8::7"}; !slices.Equal(addresses, want) {
		t.Errorf("fail2ban finds %q, want %q, in\n%s", addresses, want, log.String())
	}
	for _, says := range []string{`"login":"nobody"`, `"msg":"a login succeeded","remote_addr":"198.51.100.9","login":"admin"`, `"user_uuid":"` + user + `"`} {
		if !strings.Contains(log.String(), says) {
			t.Errorf("the log lacks %s:\n%s", says, log.String())
		}
	}
	if strings.Contains(log.String(), "wrong one") {
		t.Error("the log holds a password")
	}
}
