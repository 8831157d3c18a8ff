package ldap_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	ber "github.com/go-asn1-ber/asn1-ber"
	goldap "github.com/go-ldap/ldap/v3"

	"github.com/ringfence/ringfence/authsvc/backend/ldap"
	"github.com/ringfence/ringfence/authsvc/backend/ldap/ldaptest"
)

func TestServerDown(t *testing.T) {
	t.Parallel()
	server := ldaptest.Start(t)
	for _, end := range []func(){server.Stop, server.Kill} {
		end()
		for _, config := range transports(server) {
			_, err := ldap.Authenticate(t.Context(), config, "alice", ldaptest.Password("alice"))
			wantTrouble(t, err, "connection refused")
			_, err = ldap.Authenticate(t.Context(), config, "alice", "")
			wantRefused(t, err, "") // before any connection
		}
		server.Restart()
		for transport, config := range transports(server) {
			if _, err := ldap.Authenticate(t.Context(), config, "alice", ldaptest.Password("alice")); err != nil {
				t.Errorf("%s, back again: %v", transport, err)
			}
		}
	}
}

// TestServerHangs: a silent server that accepts connections takes exactly the documented time, and less if the caller leaves.
func TestServerHangs(t *testing.T) {
	t.Parallel()
	server := ldaptest.Start(t)
	server.Pause()
	// hangs checks how long a login takes, at best of a few, so that another process cannot fail the test.
	hangs := func(what string, config ldap.Config, deadline, least, limit time.Duration) {
		var took time.Duration
		for range 10 {
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			start := time.Now()
			_, err := ldap.Authenticate(ctx, config, "alice", ldaptest.Password("alice"))
			took = time.Since(start)
			cancel()
			wantTrouble(t, err, "")
			if !errors.Is(err, context.DeadlineExceeded) || took < least-time.Second/10 {
				t.Errorf("%s: after %v: %v", what, took, err)
			}
			if took <= limit {
				return
			}
		}
		t.Errorf("%s: after %v, more than %v", what, took, limit)
	}
	var all sync.WaitGroup
	for transport, config := range transports(server) {
		all.Go(func() {
			want := ldap.Timeout
			if transport == "ldaps" {
				want = ldap.ConnectTimeout // the handshake is a part of connecting
			}
			hangs(transport, config, time.Hour, want, want+time.Second)
		})
		all.Go(func() {
			hangs(transport+", with a deadline of its own", config, 100*time.Millisecond, 0, time.Second)
		})
	}
	all.Wait()
	server.Resume()
	if _, err := ldap.Authenticate(t.Context(), server.Config(), "alice", ldaptest.Password("alice")); err != nil {
		t.Errorf("resumed: %v", err)
	}
}

// TestCancelled: cancelling ends every step at once, and the connection with it.
func TestCancelled(t *testing.T) {
	t.Parallel()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := ldap.Authenticate(cancelled, good(), "alice", "a password")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before: %v", err)
	}
	for step := range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		closed := make(chan struct{})
		answers := 0
		config := fake(t, func(op *ber.Packet) []*ber.Packet {
			if answers++; answers <= step {
				return yes(found("uid=alice"))(op)
			}
			cancel()
			return []*ber.Packet{} // no response, and reads until the client closes
		})
		directory := config.Port
		config.Port = listen(t, func(client net.Conn) {
			defer close(closed)
			passOn(client, directory, io.Discard, math.MaxInt64)
		})
		_, err := ldap.Authenticate(ctx, config, "alice", "a password")
		wantTrouble(t, err, "")
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled in step %d: %v", step, err)
		}
		<-closed
	}
}

// TestAnswersCutOff cuts the server's responses after each of their bytes: only complete ones let anybody in.
func TestAnswersCutOff(t *testing.T) {
	t.Parallel()
	server := ldaptest.Start(t)
	for _, config := range []ldap.Config{server.Config(), direct(server.Config())} {
		for cut := int64(0); ; cut++ {
			relayed := config
			relayed.Port = newRelay(t, server.Port, cut).port
			_, err := ldap.Authenticate(t.Context(), relayed, "alice", ldaptest.Password("alice"))
			if err == nil {
				if cut < 100 {
					t.Errorf("%d bytes let alice in", cut)
				}
				break
			}
			wantTrouble(t, err, "")
			if cut > 1000 {
				t.Fatal("no number of bytes lets alice in")
			}
		}
	}
}

// TestStartTLSRefused: nothing is sent in plain text to a server that refuses TLS.
func TestStartTLSRefused(t *testing.T) {
	t.Parallel()
	server := ldaptest.Start(t, ldaptest.WithoutTLS())
	for _, config := range []ldap.Config{server.Config(), direct(server.Config())} {
		heard := newRelay(t, server.Port, math.MaxInt64)
		config.Port, config.ProtocolSecurity = heard.port, ldap.StartTLS
		_, err := ldap.Authenticate(t.Context(), config, "alice", ldaptest.Password("alice"))
		wantTrouble(t, err, "starting TLS")
		if said := heard.operations(t); !slices.Equal(said, []ber.Tag{goldap.ApplicationExtendedRequest}) {
			t.Errorf("the client says the operations %v", said)
		}
	}
	// The same with servers that promise TLS and break the promise.
	for name, next := range map[string][]*ber.Packet{
		"plain text":         {result(goldap.ApplicationExtendedResponse, 0, ""), result(goldap.ApplicationBindResponse, 0, "")},
		"another's response": {result(goldap.ApplicationBindResponse, 0, ""), result(goldap.ApplicationBindResponse, 0, "")},
		"end":                nil,
	} {
		binds := 0
		config := fake(t, func(op *ber.Packet) []*ber.Packet {
			if op.Tag == goldap.ApplicationBindRequest {
				binds++
			}
			return next
		})
		config.ProtocolSecurity = ldap.StartTLS
		_, err := ldap.Authenticate(t.Context(), config, "alice", ldaptest.Password("alice"))
		wantTrouble(t, err, "starting TLS")
		if binds > 0 {
			t.Errorf("%s: the client binds all the same", name)
		}
	}
}

// TestCertificates: a certificate for another name, or of an untrusted authority, ends the connection.
func TestCertificates(t *testing.T) {
	t.Parallel()
	server, other := ldaptest.Start(t), ldaptest.Start(t)
	for transport, config := range transports(server) {
		if transport == "plain" {
			continue
		}
		for name, change := range map[string]func(*ldap.Config){
			"name":       func(c *ldap.Config) { c.Host = "localhost" },
			"authority":  func(c *ldap.Config) { c.RootCAs = other.RootCAs },
			"the system": func(c *ldap.Config) { c.RootCAs = nil },
		} {
			t.Run(transport+" "+name, func(t *testing.T) {
				heard := newRelay(t, config.Port, math.MaxInt64)
				config := config
				config.Port = heard.port
				change(&config)
				_, err := ldap.Authenticate(t.Context(), config, "alice", ldaptest.Password("alice"))
				wantTrouble(t, err, "certificate")
				if said := string(heard.bytes()); said == "" || strings.Contains(said, "password") {
					t.Errorf("the client says %q", said)
				}
			})
		}
	}
}

// TestNothingInPlainText: no password appears on the wire, before or under TLS.
func TestNothingInPlainText(t *testing.T) {
	t.Parallel()
	server := ldaptest.Start(t)
	for transport, config := range transports(server) {
		heard := newRelay(t, config.Port, math.MaxInt64)
		config.Port = heard.port
		if _, err := ldap.Authenticate(t.Context(), config, "alice", ldaptest.Password("alice")); err != nil {
			t.Errorf("%s: %v", transport, err)
		}
		if shown := strings.Contains(string(heard.bytes()), ldaptest.Password("alice")); shown != (transport == "plain") {
			t.Errorf("%s: the password is on the wire: %t", transport, shown)
		}
	}
	for from, to := range map[string]int{ldap.LDAPS: server.Port, ldap.StartTLS: server.TLSPort, ldap.Plain: server.TLSPort} {
		config := server.Config()
		config.ProtocolSecurity, config.Port = from, to
		_, err := ldap.Authenticate(t.Context(), config, "alice", ldaptest.Password("alice"))
		wantTrouble(t, err, "")
	}
}

// TestReferrals: referrals, for the base or inside of it, are not followed.
func TestReferrals(t *testing.T) {
	t.Parallel()
	elsewhere := listen(t, func(net.Conn) { t.Error("the referral is followed") })
	url := fmt.Sprintf("ldap://%s:%d/", ldaptest.Host, elsewhere)
	server := ldaptest.Start(t, ldaptest.WithDirective("referral "+url),
		ldaptest.WithLDIF("dn: ou=branch,"+ldaptest.PeopleDN+"\nobjectClass: referral\nobjectClass: extensibleObject\nou: branch\nref: "+url+"ou=branch,"+ldaptest.PeopleDN+"\n"))
	if _, err := ldap.Authenticate(t.Context(), server.Config(), "alice", ldaptest.Password("alice")); err != nil {
		t.Errorf("beside a referral: %v", err)
	}
	_, err := ldap.Authenticate(t.Context(), server.Config(), "nobody", ldaptest.Password("alice"))
	wantRefused(t, err, "")
	config := server.Config()
	config.UserBaseDN = "dc=elsewhere,dc=test"
	_, err = ldap.Authenticate(t.Context(), config, "alice", ldaptest.Password("alice"))
	wantTrouble(t, err, "Referral")
	_, err = ldap.Authenticate(t.Context(), direct(config), "alice", ldaptest.Password("alice"))
	wantRefused(t, err, "") // slapd refers no binds
}

// TestSameTalk: an unknown login and a wrong password take the same messages.
func TestSameTalk(t *testing.T) {
	t.Parallel()
	server := ldaptest.Start(t)
	var talks [][]ber.Tag
	for _, login := range []string{"alice", "nobody", "twin"} {
		heard := newRelay(t, server.Port, math.MaxInt64)
		config := server.Config()
		config.Port = heard.port
		_, err := ldap.Authenticate(t.Context(), config, login, "wrong")
		wantRefused(t, err, "")
		talks = append(talks, heard.operations(t))
	}
	want := []ber.Tag{goldap.ApplicationBindRequest, goldap.ApplicationSearchRequest, goldap.ApplicationBindRequest, goldap.ApplicationUnbindRequest}
	for _, talk := range talks {
		if !slices.Equal(talk, want) {
			t.Errorf("the client says %v, want %v", talk, want)
		}
	}
}

// TestManyAtOnce: concurrent logins do not interfere.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	server := ldaptest.Start(t)
	var all sync.WaitGroup
	for i := range 60 {
		all.Go(func() {
			uid := []string{"alice", "bob", "carol"}[i%3]
			entry, err := ldap.Authenticate(t.Context(), server.Config(), uid, ldaptest.Password(uid))
			if err != nil || !strings.HasPrefix(entry.DN, "uid="+uid+",") {
				t.Errorf("%s is %+v, %v", uid, entry, err)
			}
		})
	}
	all.Wait()
}
