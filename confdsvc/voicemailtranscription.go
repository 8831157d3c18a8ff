package confdsvc

import "github.com/ringfence/ringfence/internal/crud"

// VoicemailTranscription says whether the messages of a tenant's voicemails are to be written down. It is a setting for what does that:
// this system itself does not.
type VoicemailTranscription struct {
	TenantUUID string `db:"tenant_uuid" json:"-" format:"uuid"`
	Enabled    bool   `db:"enabled" json:"enabled" required:"true" default:"false" doc:"Whether messages are to be written down, by a service that does that."`
}

func init() {
	resources = append(resources, func(e *crud.Engine) {
		crud.Document[VoicemailTranscription]{
			Resource: crud.Resource[VoicemailTranscription]{
				Path: "voicemails/transcription", Singular: "voicemail_transcription_config", Table: "confd_voicemail_transcription",
				Only: []string{"read", "update"},
			},
			Blank: crud.Defaults[VoicemailTranscription],
		}.On(e)
	})
}
