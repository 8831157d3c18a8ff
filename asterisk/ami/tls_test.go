package ami_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ringfence/ringfence/asterisk/ami"
	"github.com/ringfence/ringfence/asterisk/ami/amitest"
)

// certificate is that of 127.0.0.1, which this machine trusts in these tests.
var certificate tls.Certificate

func TestMain(m *testing.M) {
	os.Exit(func() int {
		folder, err := os.MkdirTemp("", "ami")
		if err == nil {
			defer func() { _ = os.RemoveAll(folder) }()
			err = certify(filepath.Join(folder, "authority.pem"))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// certify makes the certificate, and has it trusted.
func certify(authority string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "pbx.test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return err
	}
	certificate = tls.Certificate{Certificate: [][]byte{signed}, PrivateKey: key}
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}), 0o600); err != nil {
		return err
	}
	return os.Setenv("SSL_CERT_FILE", authority)
}

// Over TLS the other side must have a certificate of the name that was asked for; then it is as without.
func TestTLS(t *testing.T) {
	s := amitest.New(t)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	work.Go(func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", s.Address)
			if err != nil {
				t.Error(err)
				return
			}
			work.Go(func() { _, _ = io.Copy(to, from); _ = to.Close() })
			work.Go(func() { _, _ = io.Copy(from, to); _ = from.Close() })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		s.Disconnect()
		work.Wait()
	})
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	o := s.Options()
	o.Address = "tls://127.0.0.1:" + port
	c := dial(t, o)
	if _, err := c.Do(t.Context(), ami.Action{Name: "Ping"}); err != nil {
		t.Errorf("an action: %v", err)
	}
	o.Address = "tls://localhost:" + port
	_, err = ami.Dial(t.Context(), o)
	if _, wrong := errors.AsType[x509.HostnameError](err); !wrong {
		t.Errorf("the certificate of another name: %v", err)
	}
}
