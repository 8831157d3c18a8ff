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
	lockFile        = "lock"
)

// retryAfter is how long a renewal that failed, a full disk say, waits for its next try. A third of the certificate's
// life is left for such tries.
const retryAfter = time.Hour

// Options are the parts of a Store that have a default.
type Options struct {
	// Now is the clock, time.Now if nil.
	Now func() time.Time
	// OnRenew is called after each try to renew the certificate while the Store is in use, with the try's error. It
	// runs on the renewal's goroutine; nil if nobody wants to know.
	OnRenew func(error)
}

// Store is the certificate of one folder. Its methods may be called by many goroutines.
type Store struct {
	dir     string
	now     func() time.Time
	onRenew func(error)

	key     *ecdsa.PrivateKey
	created bool
	current atomic.Pointer[issued]

	mu          sync.Mutex // guards the three below; taken only when a renewal is due
	nextAttempt time.Time
	closed      bool
	renewals    sync.WaitGroup
}

// issued is a certificate with what is asked of it at every handshake, computed once.
type issued struct {
	certificate tls.Certificate
	pem         []byte
	fingerprint string
	renewAt     time.Time
	fresh       bool // made just now, not found in the folder
}

// Open returns the certificate kept in dir, making the folder, the key and the certificate where they are missing, and
// renewing the certificate where it is due. Processes that open one folder at the same time get one certificate.
//
// It refuses a key that others than its owner may read, since it must be taken for known, and a damaged key; the error
// says what to do.
func Open(dir string, o Options) (*Store, error) {
	s := &Store{dir: dir, now: o.Now, onRenew: o.OnRenew}
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

// Certificate returns the certificate for a handshake, with Leaf set. It costs a pointer load and a look at the clock.
// When the renewal is due it starts it in the background and still returns the certificate that is there. The result
// is shared: do not change it.
func (s *Store) Certificate() *tls.Certificate {
	c := s.current.Load()
	if !s.now().Before(c.renewAt) {
		s.renewInBackground()
	}
	return &c.certificate
}

// Fingerprint is the SHA-256 of the certificate as browsers show it: upper-case hex, a colon between the bytes.
func (s *Store) Fingerprint() string { return s.current.Load().fingerprint }

// NotAfter is the end of the certificate's life. It is renewed long before.
func (s *Store) NotAfter() time.Time { return s.current.Load().certificate.Leaf.NotAfter }

// PEM is the certificate, without the key, in the form that `curl --cacert` takes.
func (s *Store) PEM() []byte { return s.current.Load().pem }

// Path is the file of the certificate.
func (s *Store) Path() string { return s.path(certificateFile) }

// Created reports whether Open had to make the certificate.
func (s *Store) Created() bool { return s.created }

// Close waits for a renewal that is under way and starts no other one. Certificate goes on answering.
func (s *Store) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.renewals.Wait()
}

func (s *Store) path(name string) string { return filepath.Join(s.dir, name) }

// renewInBackground starts a renewal, unless one is under way or failed less than retryAfter ago.
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

// renew takes the certificate that another process has renewed meanwhile, or renews it.
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

// loadOrIssue returns the folder's certificate if it is of our key and not due, else makes and stores one. The caller
// holds the folder's lock.
func (s *Store) loadOrIssue() (*issued, error) {
	path := s.path(certificateFile)
	stored, err := os.ReadFile(path) //nolint:gosec // the operator names the folder
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading certificate: %w", err)
	}
	// A certificate that is not valid yet stays: a machine without a battery-backed clock starts in the past, and
	// must not throw away the certificate that its clients accepted before the network tells it the time.
	if leaf := parseLeaf(stored); leaf != nil && s.key.PublicKey.Equal(leaf.PublicKey) {
		if c := s.newIssued(leaf); s.now().Before(c.renewAt) {
			return c, nil
		}
	}
	leaf, err := issue(s.key, s.now())
	if err != nil {
		return nil, fmt.Errorf("making certificate: %w", err)
	}
	c := s.newIssued(leaf)
	if err := private.Replace(path, c.pem, 0o644); err != nil {
		return nil, fmt.Errorf("storing certificate: %w", err)
	}
	c.fresh = true
	return c, nil
}

func (s *Store) newIssued(leaf *x509.Certificate) *issued {
	return &issued{
		certificate: tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: s.key, Leaf: leaf},
		pem:         encodePEM(certificateBlock, leaf.Raw),
		fingerprint: fingerprint(leaf.Raw),
		renewAt:     leaf.NotBefore.Add(leaf.NotAfter.Sub(leaf.NotBefore) / 3 * 2),
	}
}

func fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return strings.ReplaceAll(fmt.Sprintf("% X", sum), " ", ":")
}
