package selfsigned

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringfence/ringfence/internal/private"
)

// The files of the folder. The lock file is empty and stays; only the lock on it counts.
const (
	keyFile         = "key.pem"
	certificateFile = "certificate.pem"
	fingerprintFile = "fingerprint" // of the certificate that was served last
	lockFile        = "lock"
)

// retryAfter is the wait after a failed renewal, such as on a full disk. A third of the certificate's lifetime is left for
// retries.
const retryAfter = time.Hour

// Options are optional settings of a Store.
type Options struct {
	// Now is the clock, time.Now if nil.
	Now func() time.Time
	// Names are host names or addresses that the certificate must have, besides those of this machine.
	Names []string
	// OnReplace, if not nil, is called when another certificate replaces the one that was served before.
	OnReplace func(Replacement)
	// OnRenew, if not nil, is called after each attempt to renew the certificate while the Store is in use, with its error. It
	// runs on the renewal's goroutine.
	OnRenew func(error)
}

// Replacement says that clients must accept a new certificate.
type Replacement struct {
	// Old is the fingerprint of the certificate that was served before.
	Old string
	// New is that of the one that is served now.
	New string
	// Reason says why, as the end of a sentence that begins with the certificate.
	Reason string
	// Renewal is set if the old certificate was merely due for renewal.
	Renewal bool
}

// Store is the certificate of one folder. Its methods may be called by many goroutines.
type Store struct {
	dir       string
	now       func() time.Time
	onRenew   func(error)
	onReplace func(Replacement)

	names   atomic.Pointer[[]string]
	key     *ecdsa.PrivateKey
	created bool
	current atomic.Pointer[issued]

	mu          sync.Mutex // guards the three below; taken only when a renewal is due
	nextAttempt time.Time
	closed      bool
	renewals    sync.WaitGroup
}

// issued is a certificate with the values that every handshake needs, computed once.
type issued struct {
	certificate tls.Certificate
	pem         []byte
	fingerprint string
	renewAt     time.Time
	fresh       bool // made just now, not found in the folder
	renewal     bool // of one that was merely due
}

// Open returns the certificate kept in dir. It creates the folder, the key and the certificate if they are missing, and renews
// the certificate if it is due. Processes that open one folder at the same time get one certificate.
//
// It refuses a key that others than its owner may read, since it may be compromised, and a damaged key; the error says what to
// do.
func Open(dir string, o Options) (*Store, error) {
	s := &Store{dir: dir, now: o.Now, onRenew: o.OnRenew, onReplace: o.OnReplace}
	s.names.Store(&o.Names)
	if s.now == nil {
		s.now = time.Now
	}
	if err := makePrivateFolder(dir); err != nil {
		return nil, err
	}
	unlock, err := lock(filepath.Join(dir, lockFile))
	if err != nil {
		return nil, err
	}
	defer unlock()

	s.key, err = loadKey(s.path(keyFile))
	if errors.Is(err, fs.ErrNotExist) {
		s.key, err = createKey(s.path(keyFile))
	}
	if err != nil {
		return nil, err
	}
	c, err := s.loadOrIssue()
	if err != nil {
		return nil, err
	}
	s.created = c.fresh
	s.current.Store(c)
	return s, nil
}

// Cover makes the certificate valid for these hosts, instead of Options.Names: if it is not, a new one is issued with the same
// key.
func (s *Store) Cover(names []string) error {
	s.names.Store(&names)
	return s.renew()
}

// Certificate returns the certificate for a handshake, with Leaf set. It costs a pointer load and a look at the clock. If a
// renewal is due, it starts one in the background and still returns the current certificate. The result is shared: do not change
// it.
func (s *Store) Certificate() *tls.Certificate {
	c := s.current.Load()
	if !s.now().Before(c.renewAt) {
		s.renewInBackground()
	}
	return &c.certificate
}

// Fingerprint returns the SHA-256 of the certificate as browsers show it: upper-case hex, with a colon between the bytes.
func (s *Store) Fingerprint() string { return s.current.Load().fingerprint }

// Names returns the names and addresses that the certificate is for.
func (s *Store) Names() []string { return NamesOf(s.current.Load().certificate.Leaf) }

// NotAfter returns the end of the certificate's validity. It is renewed long before.
func (s *Store) NotAfter() time.Time { return s.current.Load().certificate.Leaf.NotAfter }

// PEM returns the certificate, without the key, in the form that `curl --cacert` accepts.
func (s *Store) PEM() []byte { return s.current.Load().pem }

// Path returns the file of the certificate.
func (s *Store) Path() string { return s.path(certificateFile) }

// Created reports whether Open issued the certificate.
func (s *Store) Created() bool { return s.created }

// Close waits for a renewal in progress and starts no other. Certificate keeps working.
func (s *Store) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.renewals.Wait()
}

func (s *Store) path(name string) string { return filepath.Join(s.dir, name) }

// renewInBackground starts a renewal, unless one is in progress or failed less than retryAfter ago.
func (s *Store) renewInBackground() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if s.closed || now.Before(s.nextAttempt) {
		return
	}
	s.nextAttempt = now.Add(retryAfter)
	s.renewals.Go(func() {
		err := s.renew()
		if s.onRenew != nil {
			s.onRenew(err)
		}
	})
}

// renew loads the certificate that another process has renewed in the meantime, or renews it.
func (s *Store) renew() error {
	unlock, err := lock(s.path(lockFile))
	if err != nil {
		return err
	}
	defer unlock()
	c, err := s.loadOrIssue()
	if err != nil {
		return fmt.Errorf("renewing the self-signed certificate: %w", err)
	}
	s.current.Store(c)
	return nil
}

// loadOrIssue returns the folder's certificate if it is of our key and not due, otherwise it issues and stores one. The caller
// holds the folder's lock.
func (s *Store) loadOrIssue() (*issued, error) {
	path := s.path(certificateFile)
	stored, err := os.ReadFile(path) //nolint:gosec // the operator names the folder
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading certificate: %w", err)
	}
	leaf := parseLeaf(stored)
	reason, renewal := s.unfit(leaf, stored == nil)
	if reason == "" {
		c := s.newIssued(leaf)
		return c, s.record(c, "was replaced in its folder")
	}
	if leaf, err = issue(s.key, s.now(), *s.names.Load()); err != nil {
		return nil, fmt.Errorf("making certificate: %w", err)
	}
	c := s.newIssued(leaf)
	if err := private.Replace(path, c.pem, 0o644); err != nil {
		return nil, fmt.Errorf("storing certificate: %w", err)
	}
	c.fresh, c.renewal = true, renewal
	return c, s.record(c, reason)
}

// unfit returns why a certificate cannot be served, or "", and whether it is merely due for renewal.
//
// A certificate that is not valid yet stays: a machine without a battery-backed clock starts in the past, and must not discard
// the certificate that its clients accepted before the network tells it the time.
func (s *Store) unfit(leaf *x509.Certificate, missing bool) (reason string, renewal bool) {
	switch {
	case missing:
		return "was lost", false
	case leaf == nil:
		return "was damaged", false
	case !s.key.PublicKey.Equal(leaf.PublicKey):
		return "was not that of the private key", false
	case !s.now().Before(leaf.NotAfter):
		return "had expired", false
	}
	for _, name := range *s.names.Load() {
		if !isFor(leaf, name) {
			return "was not for " + name, false
		}
	}
	if !s.now().Before(s.newIssued(leaf).renewAt) {
		return "was due for renewal", true
	}
	return "", false
}

// record stores the fingerprint of the certificate that is served from now on, and reports a change.
//
// The certificate is already in its place. After an interruption in between, the next Open finds a different fingerprint, and
// reports it.
func (s *Store) record(c *issued, reason string) error {
	path := s.path(fingerprintFile)
	text, err := private.Read(path, maxKey)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading the fingerprint of the certificate before: %w", err)
	}
	old := strings.TrimSpace(string(text))
	if old == c.fingerprint {
		return nil
	}
	if old != "" && s.onReplace != nil {
		s.onReplace(Replacement{Old: old, New: c.fingerprint, Reason: reason, Renewal: c.renewal})
	}
	if err := private.Replace(path, []byte(c.fingerprint+"\n"), 0o600); err != nil {
		return fmt.Errorf("storing the certificate's fingerprint: %w", err)
	}
	return nil
}

func (s *Store) newIssued(leaf *x509.Certificate) *issued {
	return &issued{
		certificate: tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: s.key, Leaf: leaf},
		pem:         encodePEM(certificateBlock, leaf.Raw),
		fingerprint: FingerprintOf(leaf),
		renewAt:     leaf.NotBefore.Add(leaf.NotAfter.Sub(leaf.NotBefore) / 3 * 2),
	}
}

// FingerprintOf returns the SHA-256 of a certificate in the form of [Store.Fingerprint].
func FingerprintOf(certificate *x509.Certificate) string {
	sum := sha256.Sum256(certificate.Raw)
	return strings.ReplaceAll(fmt.Sprintf("% X", sum), " ", ":")
}

// NamesOf returns the names and addresses that a certificate is for.
func NamesOf(certificate *x509.Certificate) []string {
	names := slices.Clone(certificate.DNSNames)
	for _, address := range certificate.IPAddresses {
		names = append(names, address.String())
	}
	return names
}
