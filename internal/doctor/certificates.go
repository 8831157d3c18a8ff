package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// certificates examines the certificates of one's own and those that Caddy gets, or the self-signed one if there is none of them.
func (i Installation) certificates(ctx context.Context) []Finding {
	var findings []Finding
	if c := i.Config; c != nil {
		for _, pair := range c.Certificates {
			findings = append(findings, certificate("certificate "+pair.Certificate, pair.Certificate, i.PublicURL, false), key(pair))
			findings = append(findings, i.served(ctx, pair)...)
		}
		for _, name := range c.obtained() {
			findings = append(findings, i.managed(name))
		}
	}
	if len(findings) == 0 {
		findings = append(findings, certificate("certificate", filepath.Join(i.Data, "tls", "certificate.pem"), i.PublicURL, true))
	}
	return findings
}

// obtained returns the names for which Caddy gets a certificate, because none of one's own is for them.
func (c *Config) obtained() (names []string) {
	for _, name := range c.Managed {
		if !slices.ContainsFunc(c.Certificates, func(p Pair) bool {
			leaf, err := read(p.Certificate)
			return err == nil && leaf.VerifyHostname(name) == nil
		}) {
			names = append(names, name)
		}
	}
	return names
}

// newest returns the certificate that Caddy has got last for a name, with its file, or nil if there is none.
func (c *Config) newest(name string) (file string, newest *x509.Certificate, err error) {
	files, err := filepath.Glob(filepath.Join(c.Storage, "certificates", "*", name, name+".crt"))
	for _, f := range files {
		leaf, unreadable := read(f)
		if err = errors.Join(err, unreadable); unreadable == nil && (newest == nil || leaf.NotAfter.After(newest.NotAfter)) {
			file, newest = f, leaf
		}
	}
	return file, newest, err
}

// Issued is a certificate that an authority has issued.
type Issued struct {
	File        string
	Certificate *x509.Certificate
}

// Issued returns the certificates that are served and that the gateway has not signed itself. The error says which of them there are not, and
// why.
func (c *Config) Issued() (all []Issued, err error) {
	for _, p := range c.Certificates {
		leaf, unreadable := read(p.Certificate)
		if err = errors.Join(err, unreadable); unreadable == nil {
			all = append(all, Issued{p.Certificate, leaf})
		}
	}
	for _, name := range c.obtained() {
		file, leaf, unreadable := c.newest(name)
		switch {
		case c.Storage == "":
			err = errors.Join(err, fmt.Errorf("the certificate for %s is in a place of Caddy's that this program does not know", name))
		case leaf != nil:
			all = append(all, Issued{file, leaf})
		case unreadable != nil:
			err = errors.Join(err, unreadable)
		default:
			err = errors.Join(err, fmt.Errorf("the gateway has got no certificate for %s yet; %s", name, obtaining))
		}
	}
	return all, err
}

// obtaining says where Caddy tells why there is no certificate.
const obtaining = "the gateway's log says why no authority gives one (\"obtaining certificate\")"

// soon is how long before its end a certificate should have been renewed. The gateway renews its own months before.
const soon = 14 * 24 * time.Hour

var errNoCertificate = errors.New("has no certificate in PEM")

// read returns the first certificate of a file.
func read(file string) (*x509.Certificate, error) {
	text, err := os.ReadFile(file) //nolint:gosec // the operator's own file
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s %w", file, errNoCertificate)
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s %w: %w", file, errNoCertificate, err)
	}
	return leaf, nil
}

func certificate(subject, file, publicURL string, own bool) Finding {
	leaf, err := read(file)
	repair, renew := "put a certificate there", "renew it"
	if own {
		repair = "delete it: the next start of the gateway makes one for the same key"
		renew = "restart the gateway, which renews it, and compare this machine's clock"
	}
	switch {
	case own && errors.Is(err, fs.ErrNotExist):
		return Finding{subject, OK, "there is no self-signed certificate yet; the first start of the gateway makes one", ""}
	case errors.Is(err, errNoCertificate):
		return Finding{subject, Problem, err.Error(), repair}
	case own && err != nil:
		return Finding{subject, Problem, err.Error(), asUser}
	case err != nil:
		return Finding{subject, Problem, err.Error(), "correct the path in the configuration, or let the gateway's user read it"}
	}
	now := time.Now()
	switch until := leaf.NotAfter.UTC().Format(time.DateOnly); {
	case now.Before(leaf.NotBefore):
		return Finding{subject, Problem, "it is valid only from " + leaf.NotBefore.UTC().Format(time.RFC3339), "set this machine's clock"}
	case now.After(leaf.NotAfter):
		return Finding{subject, Problem, "it expired on " + until, renew}
	case now.After(leaf.NotAfter.Add(-soon)):
		return Finding{subject, Warning, "it expires on " + until, renew}
	default:
		host := "localhost"
		if parsed, err := url.Parse(publicURL); err == nil && parsed.Hostname() != "" {
			host = parsed.Hostname()
		} else if !own {
			return Finding{subject, OK, "it is valid until " + until, ""}
		}
		if err := leaf.VerifyHostname(host); err != nil {
			return Finding{
				subject, Problem, "it is not for " + host + ", by which browsers reach the gateway",
				"restart the gateway, or use a certificate for that name, or correct RINGFENCE_PUBLIC_URL",
			}
		}
		return Finding{subject, OK, "it is valid until " + until + ", also for " + host, ""}
	}
}

// key examines the key of a certificate of one's own.
func key(pair Pair) Finding {
	subject := "key " + pair.Key
	info, err := os.Stat(pair.Key)
	if err != nil {
		return Finding{subject, Problem, err.Error(), "correct the path in the configuration, or let the gateway's user read it"}
	}
	if mode := info.Mode().Perm(); mode&0o007 != 0 { // a group may be meant to read it, such as Debian's ssl-cert
		return Finding{subject, Problem, fmt.Sprintf("every user of this machine may read or write it (mode %04o)", mode), "run \"chmod o-rwx " + pair.Key + "\""}
	}
	if _, err := os.ReadFile(pair.Key); err != nil {
		return Finding{subject, Problem, err.Error(), "let the gateway's user read it, or run this command as that user"}
	}
	if _, err := read(pair.Certificate); err != nil { // which is reported elsewhere
		return Finding{subject, OK, "only those who should can read it", ""}
	}
	if _, err := tls.LoadX509KeyPair(pair.Certificate, pair.Key); err != nil {
		return Finding{subject, Problem, "the gateway cannot use it with " + pair.Certificate + ": " + err.Error(), "put the key of that certificate there"}
	}
	return Finding{subject, OK, "it is the certificate's", ""}
}

// served examines whether a gateway that runs serves a certificate of one's own as its file is now: it reads the file when it starts, and when
// it is told to.
func (i Installation) served(ctx context.Context, pair Pair) []Finding {
	leaf, err := read(pair.Certificate)
	if err != nil || i.running() == "" {
		return nil
	}
	known := []*x509.Certificate{leaf}
	issued, _ := i.Config.Issued()
	for _, other := range issued {
		known = append(known, other.Certificate)
	}
	if own, err := read(filepath.Join(i.Data, "tls", "certificate.pem")); err == nil {
		known = append(known, own)
	}
	var old *x509.Certificate
	for _, l := range i.Config.Listen {
		found := l.serves(ctx, leaf)
		if found != nil && slices.ContainsFunc(known, found.Equal) {
			return nil
		}
		if found != nil {
			old = found
		}
	}
	if old == nil {
		return nil
	}
	return []Finding{{
		"certificate " + pair.Certificate, Warning,
		"the gateway serves another one, which is valid until " + old.NotAfter.UTC().Format(time.DateOnly) + ": the file was replaced after it was read",
		"run \"ringfence reload --force\" with the gateway's configuration: it reads the file again",
	}}
}

// serves returns the certificate that a listener serves for the first name of another one, or nil if it serves none.
func (l Listener) serves(ctx context.Context, other *x509.Certificate) *x509.Certificate {
	host, number, err := l.here()
	if l.Scheme != "https" || err != nil {
		return nil
	}
	name := host
	if len(other.DNSNames) > 0 {
		name = strings.Replace(other.DNSNames[0], "*", "any", 1)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	dialer := tls.Dialer{Config: &tls.Config{ServerName: name, InsecureSkipVerify: true}} //nolint:gosec // it is only looked at
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(host, number))
	if err != nil {
		return nil
	}
	defer func() { _ = conn.Close() }()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0]
}

// managed examines the certificate that Caddy gets for a name.
func (i Installation) managed(name string) Finding {
	subject := "certificate for " + name
	if i.Config.Storage == "" {
		return Finding{subject, OK, "Caddy gets it, and keeps it in a place that this program does not know", ""}
	}
	_, newest, err := i.Config.newest(name)
	now := time.Now()
	switch {
	case newest == nil && err != nil:
		return Finding{subject, Problem, err.Error(), asUser}
	case newest == nil && i.running() != "":
		return Finding{subject, Problem, "the gateway has got none", obtaining}
	case newest == nil:
		return Finding{subject, OK, "there is none yet; the gateway gets one when it starts", ""}
	}
	until := newest.NotAfter.UTC().Format("2006-01-02 15:04 MST")
	switch left := newest.NotAfter.Sub(now); {
	case left < 0:
		return Finding{subject, Problem, "it expired on " + until, obtaining}
	case left < newest.NotAfter.Sub(newest.NotBefore)/6 && i.running() != "": // Caddy renews it when a third is left
		return Finding{subject, Warning, "it expires on " + until + ", and should have been renewed", obtaining}
	default:
		return Finding{subject, OK, "it is valid until " + until, ""}
	}
}
