package postgres_test

import (
	"errors"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/internal/porttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/postgres"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

const secret = "s3cr3t-pass"

func TestMalformedAddress(t *testing.T) {
	for name, c := range map[string]struct{ address, says string }{
		"port":             {"postgres://ann:" + secret + "@host:54x2/db", "invalid port"},
		"password as port": {"postgres://ann:" + secret + "/x@host/db", "@ stands after the host"},
		"slash, digits":    {"postgres://ann:12/" + secret + "@host/db", "@ stands after the host"},
		"question mark":    {"postgres://ann:12?" + secret + "@host/db", "@ stands after the host"},
		"hash":             {"postgres://ann:" + secret + "#x@host:99999/db", "cannot be read"},
		"percent":          {"postgres://ann:" + secret + "%zz@host/db", "cannot be read"},
		"two at signs":     {"postgres://ann:x@" + secret + "@host:y/db", "cannot be read"},
		"target":           {"postgres://ann:" + secret + "@host/db?target_session_attrs=" + secret, "unknown target_session_attrs value"},
		"timeout":          {"postgres://ann:" + secret + "@host/db?connect_timeout=" + secret, "invalid connect_timeout"},
		"pool":             {"postgres://ann:" + secret + "@host/db?pool_max_conns=" + secret, "pool_"},
		"sslmode":          {"postgres://ann:" + secret + "@host/db?sslmode=maybe", "failed to configure TLS"},
		"certificate":      {"postgres://ann:" + secret + "@host/db?sslmode=verify-full&sslrootcert=/nowhere/root.crt", "/nowhere/root.crt"},
		"pairs":            {"host=h port=x password=" + secret, "invalid port"},
		"broken pairs":     {"host=h password='" + secret, "cannot be read"},
		"nothing":          {"postgres://" + secret + ":x:y@:z", "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			db, err := postgres.Open(t.Context(), c.address, postgres.Options{})
			if err == nil {
				_ = db.Close()
				t.Fatal("it was opened")
			}
			if errors.Is(err, store.ErrUnavailable) {
				t.Errorf("it is not the server's fault: %v", err)
			}
			if strings.Contains(err.Error(), secret) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("the error is %q, want %q in it and no password", err, c.says)
			}
		})
	}
}

func TestUnreachable(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections and never responds
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	port, release, err := porttest.Reserve()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	closed := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	cases := map[string]struct{ address, says string }{
		"refused":      {"postgres://ann:" + secret + "@" + closed + "/phones", `database "phones" at ` + closed},
		"silent":       {"postgres://ann:" + secret + "@" + silent.Addr().String() + "/phones", `database "phones" at ` + silent.Addr().String()},
		"both":         {"postgres://ann:" + secret + "@" + closed + "," + silent.Addr().String() + "/phones", closed + ", " + silent.Addr().String()},
		"unknown host": {"postgres://ann:" + secret + "@no-such-host.invalid/phones", "no-such-host.invalid:5432"},
	}
	if server := os.Getenv(storetest.Variable); server != "" {
		with := func(change func(*url.URL)) string {
			u, err := url.Parse(storetest.PostgresDSN(t))
			if err != nil {
				t.Fatal(err)
			}
			change(u)
			return u.String()
		}
		cases["wrong password"] = struct{ address, says string }{with(func(u *url.URL) { u.User = url.UserPassword("nobody", secret) }), "database "}
		cases["unknown database"] = struct{ address, says string }{with(func(u *url.URL) { u.Path = "/no_such_database" }), `database "no_such_database" at `}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			want, options := store.ErrUnavailable, postgres.Options{ConnectTimeout: 200 * time.Millisecond}
			if name == "wrong password" || name == "unknown database" { // waiting does not help here, and a busy server answers late
				want, options = postgres.ErrRefused, postgres.Options{}
			}
			began := time.Now()
			db, err := postgres.Open(t.Context(), c.address, options)
			if err == nil {
				_ = db.Close()
				t.Fatal("it was opened")
			}
			if !errors.Is(err, want) || !errors.Is(want, store.ErrUnavailable) && errors.Is(err, store.ErrUnavailable) {
				t.Errorf("Open answered %v", err)
			}
			password, _ := url.Parse(c.address)
			if password != nil {
				if p, _ := password.User.Password(); p != "" && strings.Contains(err.Error(), p) {
					t.Errorf("the error holds the password: %v", err)
				}
			}
			if strings.Contains(err.Error(), secret) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("the error is %q, want %q in it and no password", err, c.says)
			}
			if took := time.Since(began); took > 9*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}
