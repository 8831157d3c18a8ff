package sealed

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/ringfence/ringfence/internal/private"
	"github.com/ringfence/ringfence/internal/store"
)

// ErrKey says that this node does not have the key that the database needs, or cannot read its own. The error that wraps it says
// what to do. Nothing was sealed or opened.
var ErrKey = errors.New("the key of what is sealed is missing")

// Options say where the key is.
type Options struct {
	// File is the key file, which is created if it does not exist and the database needs no key yet.
	File string
	// Keys, if set, are the keys themselves, in the form of ParseKeys; File is then not read.
	Keys string
}

// Box seals and opens with the key of one database. It is safe for concurrent use. It does neither before Prepare has succeeded.
type Box struct {
	options Options
	keys    atomic.Pointer[Keys]
}

// New returns a box. It touches neither file nor database.
func New(o Options) *Box { return &Box{options: o} }

// Prepare finds the key, or creates one for a database that needs none yet, and records its ID in the database. If several nodes
// create one at once, one node's is taken. It returns an error that wraps ErrKey, and says what to do, if this node cannot open
// what the database has sealed. It may be called again.
func (b *Box) Prepare(ctx context.Context, db store.DB) error {
	used, err := usedKeys(ctx, db)
	if err != nil {
		return err
	}
	keys, err := b.load()
	if errors.Is(err, fs.ErrNotExist) && len(used) == 0 {
		keys, err = makeFile(b.options.File)
	}
	if err != nil {
		return b.refusal(err, used)
	}
	if err := db.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		used, err := usedKeys(ctx, tx)
		if err != nil {
			return err
		}
		if err := b.compare(keys, used); err != nil || slices.Contains(used, keys.ID()) {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO sealing_key (key_id) VALUES ($1)`, keys.ID())
		return err
	}); err != nil {
		return err
	}
	b.keys.Store(keys)
	return nil
}

// Seal encrypts plain for a context, which identifies its owner. It may be called within a transaction.
func (b *Box) Seal(plain, context []byte) ([]byte, error) {
	return b.with(func(k *Keys) ([]byte, error) { return k.Seal(plain, context), nil })
}

// SealSame is Seal, and makes the same blob of the same text for the same context: see [Keys.SealSame].
func (b *Box) SealSame(plain, context []byte) ([]byte, error) {
	return b.with(func(k *Keys) ([]byte, error) { return k.SealSame(plain, context), nil })
}

// Open decrypts what was sealed for the same context, on any node with the same key.
func (b *Box) Open(blob, context []byte) ([]byte, error) {
	plain, err := b.with(func(k *Keys) ([]byte, error) { return k.Open(blob, context) })
	if errors.Is(err, ErrOtherKey) {
		err = fmt.Errorf("%w: %w; %s", ErrKey, err, b.advice())
	}
	return plain, err
}

func (b *Box) with(do func(k *Keys) ([]byte, error)) ([]byte, error) {
	if keys := b.keys.Load(); keys != nil {
		return do(keys)
	}
	return nil, fmt.Errorf("%w; the log says why, where this node started", ErrKey)
}

func (b *Box) load() (*Keys, error) {
	switch {
	case b.options.Keys != "":
		return ParseKeys(b.options.Keys)
	case b.options.File == "":
		return nil, errors.New("neither keys nor a key file were configured")
	default:
		return readFile(b.options.File)
	}
}

func usedKeys(ctx context.Context, c store.Conn) ([]string, error) {
	used, err := store.Select[string](ctx, c, `SELECT key_id FROM sealing_key ORDER BY key_id`)
	if err != nil {
		return nil, fmt.Errorf("reading which keys the database needs: %w", err)
	}
	return used, nil
}

// compare refuses keys if one that the database needs is missing.
func (b *Box) compare(keys *Keys, used []string) error {
	missing := slices.DeleteFunc(slices.Clone(used), keys.Has)
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("%w: the database has secrets sealed with key %s, which is not among this node's; %s",
		ErrKey, strings.Join(missing, ", "), b.advice())
}

func (b *Box) refusal(err error, used []string) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: the database has secrets sealed with key %s, and this node has none; %s",
			ErrKey, strings.Join(used, ", "), b.advice())
	}
	return fmt.Errorf("%w: %w", ErrKey, err)
}

func (b *Box) advice() string {
	if b.options.Keys != "" {
		return "give this node the keys that the other nodes have"
	}
	return fmt.Sprintf("copy %s from a node that has it, mode 0600", b.options.File)
}

// maxFile is the largest key file, in bytes.
const maxFile = 16 << 10

// readFile reads a key file. It returns fs.ErrNotExist if there is none, and refuses one that others can read. Its errors never
// hold the file's content.
func readFile(path string) (*Keys, error) {
	text, err := private.Read(path, maxFile)
	if exposed, ok := errors.AsType[*private.ExposedError](err); ok {
		return nil, fmt.Errorf("the key file %w, and put a new key before the one in it if somebody may have read it", exposed)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the key file: %w", err)
	}
	keys, err := ParseKeys(string(text))
	if err != nil {
		return nil, fmt.Errorf("the key file %s is damaged: %w; restore it from a backup or from another node", path, err)
	}
	return keys, nil
}

// makeFile creates a key file with a new key, and returns the keys that the file finally holds: of several concurrent processes
// one creates it, completely. It is on disk when makeFile returns.
func makeFile(path string) (*Keys, error) {
	err := private.Create(path, fmt.Appendf(nil,
		"# The key of what ringfence keeps encrypted in its database. All nodes on that database need this file.\n%s\n", newKey()))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("making the key file: %w", err)
	}
	return readFile(path)
}
