package confdsvc

import (
	"context"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/store"
)

// Voicemail is a mailbox. What a generated line of
// voicemail.conf is made of may not hold the signs that divide it: comma, pipe, "=>".
type Voicemail struct {
	ID             int64                  `db:"id" json:"id" readOnly:"true" generated:"true"`
	TenantUUID     string                 `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Name           string                 `db:"name" json:"name" required:"true" maxLength:"80" pattern:"^([^,|=]|=+[^,|=>])*=*$"`
	Number         string                 `db:"number" json:"number" required:"true" pattern:"^[0-9]{1,40}$"`
	Context        string                 `db:"context" json:"context" required:"true" pattern:"^[A-Za-z0-9_-]{1,79}$"`
	Password       *string                `db:"password" json:"password" pattern:"^[0-9]{1,80}$"`
	Email          *string                `db:"email" json:"email" maxLength:"80" pattern:"^([^,|=]|=+[^,|=>])*=*$"`
	Language       *string                `db:"language" json:"language" pattern:"^[a-z]{2}_[A-Z]{2}$"`
	Timezone       *string                `db:"timezone" json:"timezone" maxLength:"128" pattern:"^([^,|=]|=+[^,|=>])*=*$"`
	Pager          *string                `db:"pager" json:"pager" maxLength:"80" pattern:"^([^,|=]|=+[^,|=>])*=*$"`
	MaxMessages    *int64                 `db:"max_messages" json:"max_messages" minimum:"0"`
	AttachAudio    *bool                  `db:"attach_audio" json:"attach_audio"`
	DeleteMessages bool                   `db:"delete_messages" json:"delete_messages" default:"false" doc:"Needs email and attach_audio: a message that is neither kept nor sent is lost."`
	AskPassword    bool                   `db:"ask_password" json:"ask_password" default:"true"`
	Enabled        bool                   `db:"enabled" json:"enabled" default:"true"`
	Options        store.JSON[[][]string] `db:"options" json:"options" default:"[]" maxItems:"100" items.minItems:"2" items.maxItems:"2" items.items.maxLength:"256" items.items.pattern:"^([^,|=]|=+[^,|=>])*=*$" doc:"Pairs of a name and a value."`
	AccessType     string                 `db:"accesstype" json:"accesstype" enum:"personal,global" default:"personal" doc:"One of each context may be global; it cannot be associated with users."`
	crud.Hrefs

	Users []VoicemailUser `json:"users" readOnly:"true"`
}

func voicemails() crud.Resource[Voicemail] {
	columns := []string{"number", "name", "email", "context", "language", "timezone", "pager", "accesstype"}
	return crud.Resource[Voicemail]{
		Path: "voicemails", Singular: "voicemail", Param: "voicemail_id", Table: "confd_voicemail", Keys: []string{"id"},
		Order: columns, Filters: columns,
		SearchText: "search_text",
		Unique:     map[string]string{"number": "number,context", "global": "accesstype,context", "context": "accesstype,context"},
		Validate:   validateVoicemail, Load: loadVoicemails, Guard: guardVoicemail,
	}
}

// validateVoicemail makes the checks that concern several fields.
func validateVoicemail(_ context.Context, _ store.Conn, change *crud.Change[Voicemail]) error {
	v := change.New
	if v.DeleteMessages && (v.Email == nil || *v.Email == "" || v.AttachAudio == nil || !*v.AttachAudio) {
		return apierr.InvalidField("delete_messages", "depends", "Needs email and attach_audio: messages would be lost")
	}
	if v.AccessType == "global" && change.Old != nil && len(change.Old.Users) > 0 {
		return associated("Voicemail", "User", "voicemail_id", change.Old.ID, "user_id", change.Old.Users[0].ID)
	}
	return nil
}

func guardVoicemail(_ context.Context, _ store.Conn, change *crud.Change[Voicemail]) error {
	if v := change.Old; len(v.Users) > 0 {
		return associated("Voicemail", "User", "voicemail_id", v.ID, "user_id", v.Users[0].ID)
	}
	return nil
}
