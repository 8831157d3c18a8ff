package apply

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/asterisk/ami"
	"github.com/ringfence/ringfence/internal/private"
)

// Asterisk reads the files of one folder. Which one it is, the dialplan says: a context that nobody can dial has the folder's name as its
// only extension. A node with another folder than that would change nothing in Asterisk, and its files may be old: what they say of PINs
// is no reason to take one away from a telephone.
const folderContext = "ringfence-folder"

// idName is the file with a folder's name, in the folder.
const idName = "id"

// folderID returns the name of a folder, which it gets when it has none. It stays, whoever writes in the folder.
func folderID(folder string) (string, error) {
	at := filepath.Join(folder, idName)
	text, err := private.Read(at, maxNode)
	if err == nil {
		if id, err := uuid.Parse(strings.TrimSpace(string(text))); err == nil {
			return id.String(), nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("reading the name of the folder of Asterisk's configuration: %w", err)
	}
	id := uuid.NewString()
	if err := private.Replace(at, []byte(id+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("naming the folder of Asterisk's configuration: %w", err)
	}
	return id, nil
}

// otherFolderError says that Asterisk reads another folder than this node's.
type otherFolderError struct{ folder string }

func (e *otherFolderError) Error() string {
	return fmt.Sprintf("Asterisk reads the files of another folder, not those in %s: nodes that configure one Asterisk share its folder, "+
		"and those of another Asterisk have another name (RINGFENCE_ASTERISK_NAME); if this folder is the right one, restart Asterisk", e.folder)
}

// elsewhere is what a node remembers whose job was refused because Asterisk reads another folder: the change is not applied yet.
type elsewhere struct {
	refused bool
	asked   time.Time // when Asterisk was asked last which folder it reads
}

// refused gives a refused change to another node, once: if this one gets that job too, there is no other.
func (s *Service) refused() {
	if !s.elsewhere.refused {
		s.Changed()
	}
	s.elsewhere = elsewhere{refused: true, asked: time.Now()}
}

// readsAgain asks for a change that was refused once more, as soon as Asterisk reads this node's folder. It asks Asterisk now and then.
func (s *Service) readsAgain(ctx context.Context) {
	if !s.elsewhere.refused || s.client == nil || !s.client.Ready() || time.Since(s.elsewhere.asked) < s.settings.Reach {
		return
	}
	s.elsewhere.asked = time.Now()
	ctx, cancel := context.WithTimeout(ctx, s.settings.Reach)
	defer cancel()
	if (&running{client: s.client, folder: s.settings.Folder, id: s.id}).checkFolder(ctx) != nil {
		return
	}
	slog.Info("Asterisk reads the files of this folder now: what was refused is applied", "folder", s.settings.Folder)
	s.elsewhere = elsewhere{}
	s.Changed()
}

// checkFolder returns an error if Asterisk says that it reads another folder than the one with this name. One that does not say, as
// before the first change, or to an account that may not ask, may read this one.
func (a *running) checkFolder(ctx context.Context) error {
	if a.id == "" {
		return nil
	}
	extensions, err := ami.Extensions(ctx, a.client, folderContext)
	if _, refused := errors.AsType[*ami.ResponseError](err); refused {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range extensions {
		if id, err := uuid.Parse(name); err == nil && id.String() != a.id {
			return &otherFolderError{a.folder}
		}
	}
	return nil
}
