package sealed

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/ringfence/ringfence/internal/store"
)

// ErrKey says that this node has not the key that the database needs, or cannot read its own. The error around
// it says what to do. Nothing was read and nothing was changed.
var ErrKey = errors.New("the key of what is sealed is missing")

// Options say where the key is.
type Options struct {
	DB store.DB
	// File is where the key is, and where one is made when there is none and the database has nothing sealed yet.
	File string
	// Keys, when set, are the keys themselves, as ParseKeys reads them; File is not looked at.
	Keys string
}

// Box seals and opens with the key of one database. It is safe for concurrent use. It looks for the key when it needs it first.
type Box struct {
	options Options

	mu   sync.Mutex
	keys *Keys
}

// New answers a box. It touches neither file nor database.
func New(o Options) *Box { return &Box{options: o} }

// Check answers an error that wraps ErrKey, and says what to do, when this node cannot open what the database has sealed. It
// makes no key: a node of an installation that seals nothing needs none.
func (b *Box) Check(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	used, err := usedKeys(ctx, b.options.DB)
	if err != nil {
		return err
	}
	keys, err := b.load()
	if errors.Is(err, fs.ErrNotExist) && len(used) == 0 {
		return nil
	}
	if err != nil {
		return b.refusal(err, used)
	}
	return b.compare(keys, used)
}

// Seal encrypts plain for a place. The first Seal on a new database makes the key.
func (b *Box) Seal(ctx context.Context, plain []byte, place ...string) ([]byte, error) {
	keys, err := b.ready(ctx)
	if err != nil {
		return nil, err
	}
	return keys.Seal(plain, place...), nil
}

// Open decrypts what was sealed for the same place, on any node with the same key.
func (b *Box) Open(ctx context.Context, blob []byte, place ...string) ([]byte, error) {
	keys, err := b.ready(ctx)
	if err != nil {
		return nil, err
	}
	plain, err := keys.Open(blob, place...)
	if errors.Is(err, ErrOtherKey) {
		err = fmt.Errorf("%w: %w; %s", ErrKey, err, b.advice())
	}
	return plain, err
}

// ready answers the keys once the database knows them. Of nodes that seal for the first time at once, one's
// key is taken; the others must get it.
func (b *Box) ready(ctx context.Context) (*Keys, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.keys != nil {
		return b.keys, nil
	}
	used, err := usedKeys(ctx, b.options.DB)
	if err != nil {
		return nil, err
	}
	keys, err := b.load()
	if errors.Is(err, fs.ErrNotExist) && len(used) == 0 {
		keys, err = makeFile(b.options.File)
	}
	if err != nil {
		return nil, b.refusal(err, used)
	}
	if err := b.options.DB.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
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
		return nil, err
	}
	b.keys = keys
	return keys, nil
}

func (b *Box) load() (*Keys, error) {
	if b.options.Keys != "" {
		return ParseKeys(b.options.Keys)
	}
	return readFile(b.options.File)
}

func usedKeys(ctx context.Context, c store.Conn) ([]string, error) {
	used, err := store.Select[string](ctx, c, `SELECT key_id FROM sealing_key ORDER BY key_id`)
	if err != nil {
		return nil, fmt.Errorf("reading which keys the database needs: %w", err)
	}
	return used, nil
}

// compare refuses keys among which one is missing that the database needs.
func (b *Box) compare(keys *Keys, used []string) error {
	var missing []string
	for _, id := range used {
		if !keys.Has(id) {
			missing = append(missing, id)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("%w: the database has secrets sealed with key %s, which is not among this node's; %s",
		ErrKey, strings.Join(missing, ", "), b.advice())
}

// refusal says why there are no keys.
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
