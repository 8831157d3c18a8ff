package confdsvc

import (
	"context"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/crud/transaction"
	"github.com/ringfence/ringfence/internal/store"
)

// FilesChange says that an object has other files of the telephone system than before: a voicemail, the voicemails of a context, a
// music on hold, or a category of sounds.
type FilesChange struct {
	// Context is the context of the voicemail that was moved or deleted, and Number its number; all voicemails of a deleted context
	// have none.
	Context, Number string
	// ToContext and ToNumber are where a voicemail was moved to.
	ToContext, ToNumber string
	// MOH is the name of a music on hold that was deleted.
	MOH string
	// Sound is the UUID of a category of sounds that was deleted.
	Sound string
}

// tellFiles makes the collections whose objects have files tell of each change of these, after its commit.
func tellFiles(e *crud.Engine, tell func(FilesChange)) {
	crud.Of[Voicemail](e).Changed = func(ctx context.Context, _ store.Conn, change *crud.Change[Voicemail]) error {
		v, now := change.Old, change.New
		switch {
		case v == nil:
		case now == nil:
			transaction.AfterCommit(ctx, func() { tell(FilesChange{Context: v.Context, Number: v.Number}) })
		case now.Context != v.Context || now.Number != v.Number:
			moved := FilesChange{Context: v.Context, Number: v.Number, ToContext: now.Context, ToNumber: now.Number}
			transaction.AfterCommit(ctx, func() { tell(moved) })
		}
		return nil
	}
	tellGone(e, tell, func(o *Context) FilesChange { return FilesChange{Context: o.Name} })
	tellGone(e, tell, func(o *MOH) FilesChange { return FilesChange{MOH: o.Name} })
	tellGone(e, tell, func(o *Sound) FilesChange { return FilesChange{Sound: o.UUID} })
}

// tellGone makes a collection tell of the files of what is deleted.
func tellGone[T any](e *crud.Engine, tell func(FilesChange), files func(o *T) FilesChange) {
	crud.Of[T](e).Changed = func(ctx context.Context, _ store.Conn, change *crud.Change[T]) error {
		if change.New == nil {
			transaction.AfterCommit(ctx, func() { tell(files(change.Old)) })
		}
		return nil
	}
}
