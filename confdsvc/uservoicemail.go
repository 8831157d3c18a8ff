package confdsvc

import (
	"context"
	"fmt"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// UserVoicemail is a voicemail as its user shows it.
type UserVoicemail struct {
	UserID int64  `db:"user_id" json:"-"`
	ID     int64  `db:"id" json:"id"`
	Name   string `db:"name" json:"name"`
	crud.Hrefs
}

// VoicemailUser is a user as their voicemail shows them.
type VoicemailUser struct {
	VoicemailID int64   `db:"voicemail_id" json:"-"`
	ID          int64   `db:"id" json:"-"`
	UUID        string  `db:"uuid" json:"uuid" format:"uuid"`
	Firstname   string  `db:"firstname" json:"firstname"`
	Lastname    *string `db:"lastname" json:"lastname"`
	crud.Hrefs
}

// userVoicemailOperations join users and voicemails: a user has at most one, a voicemail may have many users.
func userVoicemailOperations(e *crud.Engine) []rest.Operation {
	user, voicemail := users().End(e, "user_id"), voicemails().End(e, "voicemail_id")
	a := crud.Association{
		Table: "confd_user_voicemail", Left: user, Right: voicemail, DropAll: true, Allow: allowUserVoicemail,
	}
	return append(a.Operations(e),
		crud.Related(e, voicemails(), a, user, voicemail),
		crud.TheRelated(e, voicemails(), a, user, voicemail, "voicemail"),
		crud.CreateRelated(e, voicemails(), a),
	)
}

func allowUserVoicemail(_ context.Context, _ store.Conn, pair *crud.Pair) error {
	if pair.Ends {
		return nil
	}
	u, v := pair.Left.Object.(*User), pair.Right.Object.(*Voicemail)
	if v.AccessType == "global" {
		return stored("A global voicemail cannot be associated ('voicemail_id': %d)", v.ID)
	}
	if has := u.Voicemail; has != nil && has.ID != v.ID {
		return associated("User", "Voicemail", "user_id", u.ID, "voicemail_id", has.ID)
	}
	return nil
}

// stored refuses because of what is stored, in the words that existing clients know.
func stored(format string, args ...any) error {
	e := apierr.New(apierr.Invalid, format, args...)
	e.ID = rest.ResourceError
	return e
}

func associated(one, other, oneKey string, oneID int64, otherKey string, otherID int64) error {
	return stored("%s is associated with a %s ('%s': %d, '%s': %d)", one, other, oneKey, oneID, otherKey, otherID)
}

func loadUserVoicemails(ctx context.Context, c store.Conn, users []*User) error {
	byID := make(map[int64]*User, len(users))
	ids := make([]any, len(users))
	for i, u := range users {
		byID[u.ID], ids[i] = u, u.ID
	}
	rows, err := store.Select[UserVoicemail](ctx, c, `
		SELECT uv.user_id, v.id, v.name FROM confd_user_voicemail uv JOIN confd_voicemail v ON v.id = uv.voicemail_id
		WHERE uv.user_id IN (`+crud.Placeholders(1, len(ids))+`)`, ids...)
	for _, v := range rows {
		v.Links = link("voicemails", v.ID)
		byID[v.UserID].Voicemail = &v
	}
	return err
}

func loadVoicemails(ctx context.Context, c store.Conn, voicemails []*Voicemail) error {
	byID := make(map[int64]*Voicemail, len(voicemails))
	ids := make([]any, len(voicemails))
	for i, v := range voicemails {
		v.Users = []VoicemailUser{}
		byID[v.ID], ids[i] = v, v.ID
	}
	rows, err := store.Select[VoicemailUser](ctx, c, `
		SELECT uv.voicemail_id, u.id, u.uuid, u.firstname, u.lastname FROM confd_user_voicemail uv JOIN confd_user u ON u.id = uv.user_id
		WHERE uv.voicemail_id IN (`+crud.Placeholders(1, len(ids))+`) ORDER BY u.id`, ids...)
	for _, u := range rows {
		u.Links = link("users", u.ID)
		v := byID[u.VoicemailID]
		v.Users = append(v.Users, u)
	}
	return err
}

func link(path string, id int64) []crud.Href {
	return []crud.Href{{Rel: path, Href: fmt.Sprintf("%s/%s/%d", prefix, path, id)}}
}
