package selfsigned

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/ringfence/ringfence/internal/private"
)

const keyBlock = "PRIVATE KEY"

// maxKey is the largest key file, in bytes.
const maxKey = 16 << 10

// makePrivateFolder creates dir, or removes others' access to an existing one.
func makePrivateFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making the certificate folder: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("looking at the certificate folder: %w", err)
	}
	if info.Mode().Perm() == 0o700 {
		return nil
	}
	if err := os.Chmod(dir, 0o700); err != nil { //nolint:gosec // a folder needs its x bit
		return fmt.Errorf("making the certificate folder private (chmod 700 %s): %w", dir, err)
	}
	return nil
}

// lock waits until no other process, and no other Store of this one, works in the folder. The kernel releases the lock when its
// holder dies.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the operator names the folder
	if err != nil {
		return nil, fmt.Errorf("locking the certificate folder: %w", err)
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), f.Close())
	}
	return func() { _ = f.Close() }, nil // closing unlocks
}

// createKey generates a key and stores it.
func createKey(path string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("drawing a private key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding the private key: %w", err)
	}
	if err := private.Replace(path, encodePEM(keyBlock, der), 0o600); err != nil {
		return nil, fmt.Errorf("storing the private key: %w", err)
	}
	return key, nil
}

// loadKey reads the private key. Its errors never hold the file's content.
func loadKey(path string) (*ecdsa.PrivateKey, error) {
	stored, err := private.Read(path, maxKey)
	if exposed, ok := errors.AsType[*private.ExposedError](err); ok {
		return nil, fmt.Errorf("the private key %w, or delete it to get a new key and a new certificate if somebody may have read it", exposed)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the private key: %w", err)
	}
	if block, _ := pem.Decode(stored); block != nil && block.Type == keyBlock {
		if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
			if key, ok := key.(*ecdsa.PrivateKey); ok {
				return key, nil
			}
		}
	}
	return nil, fmt.Errorf("the private key %s is damaged, or not an ECDSA key: restore it from a backup, "+
		"or delete it to get a new key and a new certificate", path)
}
