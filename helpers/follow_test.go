package helpers_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/helpers"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// Files follow changes of the configuration in their order, and the audit has each change of files.
func TestFilesFollow(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		music := "moh-a-" + uuid.NewString()
		w.write(filepath.Join(w.moh, music, "a.wav"))
		w.mailbox("ctx-a", "1001")
		w.mailbox("ctx-a", "1005")
		w.mailbox("ctx-b", "1")
		w.mailbox("ctx-c", "1")
		for _, f := range []helpers.Following{
			{Context: "ctx-a", Number: "1001", ToContext: "ctx-a", ToNumber: "1002"},
			{Context: "ctx-a", Number: "1002", ToContext: "ctx-new", ToNumber: "1003"},
			{Context: "ctx-a", Number: "1005"},
			// These have no files.
			{Context: "ctx-a", Number: "9"},
			{Context: "nowhere", Number: "9"},
			{Context: "nowhere"},
			{MOH: "moh-a-" + uuid.NewString()},
			// These have some.
			{Context: "ctx-b"},
			{MOH: music},
		} {
			w.service.Follow(f)
		}
		w.service.Recovered()
		for path, there := range map[string]bool{
			"ctx-a/1001": false, "ctx-a/1002": false, "ctx-new/1003/INBOX/msg0000.txt": true, "ctx-a/1005": false, "ctx-b": false, "ctx-c/1": true,
		} {
			if exists(filepath.Join(w.spool, path)) != there {
				t.Errorf("%s: there is one: %t", path, !there)
			}
		}
		if exists(filepath.Join(w.moh, music)) {
			t.Error("the music is still there")
		}
		actions, err := store.Select[string](t.Context(), w.db, `SELECT action || ' ' || object FROM audit WHERE actor_uuid IS NULL ORDER BY id`)
		want := []string{
			"move_voicemail 1001@ctx-a", "move_voicemail 1002@ctx-a", "delete_voicemail 1005@ctx-a", "delete_voicemails_context ctx-b", "delete_moh " + music,
		}
		if err != nil || len(actions) != len(want) {
			t.Fatalf("%q, %v", actions, err)
		}
		for i := range want {
			if actions[i] != want[i] {
				t.Errorf("entry %d is %q, want %q", i, actions[i], want[i])
			}
		}
	})
}

// Files that cannot follow stay, and do not hold up those of later changes.
func TestFilesThatStay(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.service.Restless()
		w.service.Wait(time.Millisecond)
		taken := w.mailbox("ctx-a", "1001")
		w.mailbox("ctx-a", "1002")
		busy := w.mailbox("ctx-a", "1003")
		w.write(filepath.Join(busy, "INBOX", ".lock"))
		w.write(filepath.Join(w.outside, "keep"))
		w.link(w.outside, filepath.Join(w.spool, "ctx-link"))
		last := w.mailbox("ctx-b", "1")
		w.service.Follow(helpers.Following{Context: "ctx-a", Number: "1001", ToContext: "ctx-a", ToNumber: "1002"})
		w.service.Follow(helpers.Following{Context: "ctx-a", Number: "1003"})
		w.service.Follow(helpers.Following{Context: "ctx-link"})
		w.service.Follow(helpers.Following{Context: "ctx-b", Number: "1"})
		w.service.Recovered()
		for _, path := range []string{taken, filepath.Join(w.spool, "ctx-a", "1002"), busy, filepath.Join(w.outside, "keep")} {
			if !exists(path) {
				t.Errorf("%s is gone", path)
			}
		}
		if exists(last) {
			t.Error("the last change was not followed")
		}
	})
}

// Files follow only while they are to, and wait for the database that says so.
func TestFilesFollowWhenTheyAreTo(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		var asked atomic.Int64
		var on atomic.Bool
		w := newWorld(t, db, helpers.Options{Follows: func(context.Context) (bool, error) {
			if asked.Add(1) == 2 {
				return false, errors.New("the database is away")
			}
			return on.Load(), nil
		}})
		w.service.Restless()
		box := w.mailbox("ctx-a", "1001")
		w.service.Follow(helpers.Following{Context: "ctx-a", Number: "1001"})
		w.service.Recovered()
		if !exists(box) {
			t.Error("it was deleted though it was not to follow")
		}
		on.Store(true)
		w.service.Follow(helpers.Following{Context: "ctx-a", Number: "1001"})
		w.service.Recovered()
		if exists(box) || asked.Load() != 3 {
			t.Errorf("after %d questions it is there: %t", asked.Load(), exists(box))
		}
	})
}
