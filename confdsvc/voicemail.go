package confdsvc

import (
	"context"
	"strings"
	"unicode"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// Voicemail is a mailbox. Its texts may contain the separators of a line of voicemail.conf: the code that writes that file
// escapes them.
type Voicemail struct {
	ID             ID               `db:"id" json:"id" readOnly:"true"`
	TenantUUID     string           `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Name           string           `db:"name" json:"name" required:"true" maxLength:"80"`
	Number         string           `db:"number" json:"number" required:"true" format:"mailbox"`
	Context        string           `db:"context" json:"context" required:"true" format:"context-name" ref:"contexts.name" owner:"true"`
	Password       *string          `db:"password" json:"password" pattern:"^[0-9]{1,80}$" example:"1234"`
	Email          *string          `db:"email" json:"email" maxLength:"80" example:"alice@example.org"`
	Language       *string          `db:"language" json:"language" format:"locale"`
	Timezone       *string          `db:"timezone" json:"timezone" maxLength:"128" example:"eu-fr"`
	Pager          *string          `db:"pager" json:"pager" maxLength:"80" example:"pager@example.org" doc:"The address of the pager."`
	MaxMessages    *int64           `db:"max_messages" json:"max_messages" minimum:"0" maximum:"2147483647"`
	AttachAudio    *bool            `db:"attach_audio" json:"attach_audio"`
	DeleteMessages bool             `db:"delete_messages" json:"delete_messages" default:"false" doc:"Needs email and attach_audio, or messages would be lost."`
	AskPassword    bool             `db:"ask_password" json:"ask_password" default:"true" doc:"Whether the password is asked for."`
	Enabled        bool             `db:"enabled" json:"enabled" default:"true"`
	Options        VoicemailOptions `db:"options" json:"options" default:"[]" doc:"Pairs of a name and a value, which may have several lines."`
	AccessType     string           `db:"accesstype" json:"accesstype" enum:"personal,global" default:"personal" doc:"Of each dialling area one may be global."`
	crud.Hrefs

	Users []UserRef `json:"users" readOnly:"true"`
}

// VoicemailOptions are further options of a mailbox: pairs of a name and a value.
type VoicemailOptions struct{ store.JSON[[][]string] }

// JSONSchema returns a list of pairs. Only the second of a pair, the value, may have several lines.
func (VoicemailOptions) JSONSchema() *rest.Schema {
	two, most, longest := 2, 100, 256
	text := &rest.Schema{Type: "string", MaxLength: &longest, Multiline: true}
	pair := &rest.Schema{Type: "array", Items: text, MinItems: &two, MaxItems: &two, Check: singleLineName}
	return &rest.Schema{Type: "array", Items: pair, MaxItems: &most}
}

func singleLineName(pair any) []apierr.Field {
	if name := pair.([]any)[0].(string); strings.ContainsFunc(name, unicode.IsControl) {
		return []apierr.Field{{Name: "[0]", Constraint: "control", Value: "control", Message: "May not hold control characters"}}
	}
	return nil
}

// UserVoicemail is a voicemail as its user shows it.
type UserVoicemail struct {
	ID   int64  `db:"id" json:"id"`
	Name string `db:"name" json:"name"`
	crud.Hrefs
}

// ToVoicemail leads calls to a voicemail.
type ToVoicemail struct {
	VoicemailID      ID      `json:"voicemail_id" required:"true" ref:"voicemails.id"`
	SkipInstructions bool    `json:"skip_instructions" default:"false" doc:"Whether the instructions are skipped."`
	Greeting         *string `json:"greeting" enum:"busy,unavailable" doc:"The greeting that callers hear; null is the mailbox's own."`
	Name             *string `json:"voicemail_name,omitempty" readOnly:"true" shows:"name" example:"Alice Martin" doc:"The name of the voicemail."`
}

const userVoicemail crud.Relation[User, Voicemail] = "confd_user_voicemail"

func init() {
	resources = append(resources, declareVoicemails)
	destinationKinds = append(destinationKinds, kind[ToVoicemail]("voicemail", ""))
}

func declareVoicemails(e *crud.Engine) {
	columns := []string{"number", "name", "email", "context", "language", "timezone", "pager", "accesstype"}
	crud.Collect(e, crud.Resource[Voicemail]{
		Path: "voicemails", Singular: "voicemail", Param: "voicemail_id", Table: "confd_voicemail", Counted: true, Keys: []string{"id"},
		About: "Mailboxes.", Lists: []string{"name", "number", "context", "users", "email", "enabled"},
		Order: columns, Filters: columns,
		SearchText: "search_text",
		Validate: func(ctx context.Context, c store.Conn, change *crud.Change[Voicemail]) error {
			if err := refuseUnknownZone(ctx, c, e, change); err != nil {
				return err
			}
			return validateVoicemail(ctx, c, e, change)
		},
	})
	crud.Link[User, Voicemail]{
		Relation: userVoicemail, LeftHas: crud.AtMostOne,
		Only:        []string{"put", "delete_all", "list", "one", "create"},
		LeftShows:   []crud.Show{crud.One(func(u *User) **UserVoicemail { return &u.Voicemail })},
		RightShows:  []crud.Show{crud.Many(func(v *Voicemail) *[]UserRef { return &v.Users })},
		LeftDeleted: crud.Refuse, RightDeleted: crud.Refuse,
		Allow: crud.All(crud.SameTenant, crud.LeftFree, crud.Each(voicemailIsPersonal)),
	}.On(e)
	crud.Nest[User, Voicemail]{
		Name: "voicemail", Relation: userVoicemail, Shown: true, Fills: []string{"name"},
		Complete: func(_ context.Context, _ store.Conn, of *crud.Change[User], v *Voicemail) error {
			if v.Name == "" {
				v.Name = cut(fullName(of.New.Firstname, of.New.Lastname), voicemailName)
			}
			return nil
		},
	}.On(e)
}

const voicemailName = 80

func voicemailIsPersonal(_ context.Context, _ store.Conn, pair *crud.Pair[User, Voicemail]) error {
	if pair.Right.AccessType == "global" {
		return style.NotPermitted("A global voicemail cannot be associated to users.", "voicemail_id", pair.Right.ID)
	}
	return nil
}

// validateVoicemail runs the checks that concern several fields.
func validateVoicemail(ctx context.Context, c store.Conn, e *crud.Engine, change *crud.Change[Voicemail]) error {
	v := change.New
	if v.DeleteMessages && (v.Email == nil || *v.Email == "" || v.AttachAudio == nil || !*v.AttachAudio) {
		return apierr.InvalidField("delete_messages", "depends", "Needs email and attach_audio: messages would be lost")
	}
	if v.AccessType != "global" {
		return nil
	}
	others, err := store.Get[int](ctx, c, `SELECT count(*) FROM confd_voicemail WHERE tenant_uuid = $1 AND context = $2 AND accesstype = 'global' AND id <> $3`,
		v.TenantUUID, v.Context, v.ID)
	if err != nil {
		return err
	}
	if others > 0 {
		return style.NotPermitted("There can be only one global voicemail per context.").On("accesstype")
	}
	return userVoicemail.RefuseRight(ctx, c, e, v)
}
