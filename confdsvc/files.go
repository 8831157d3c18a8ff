package confdsvc

import "github.com/ringfence/ringfence/internal/crud"

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
	crud.Of[Voicemail](e).Committed = func(change *crud.Change[Voicemail]) {
		v, now := change.Old, change.New
		switch {
		case v == nil:
		case now == nil:
			tell(FilesChange{Context: v.Context, Number: v.Number})
		case now.Context != v.Context || now.Number != v.Number:
			tell(FilesChange{Context: v.Context, Number: v.Number, ToContext: now.Context, ToNumber: now.Number})
		}
	}
	crud.Of[Context](e).Committed = func(change *crud.Change[Context]) {
		if change.Old != nil && change.New == nil {
			tell(FilesChange{Context: change.Old.Name})
		}
	}
	crud.Of[MOH](e).Committed = func(change *crud.Change[MOH]) {
		if change.Old != nil && change.New == nil {
			tell(FilesChange{MOH: change.Old.Name})
		}
	}
	crud.Of[Sound](e).Committed = func(change *crud.Change[Sound]) {
		if change.Old != nil && change.New == nil {
			tell(FilesChange{Sound: change.Old.UUID})
		}
	}
}
