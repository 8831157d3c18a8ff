package confdsvc

import "github.com/ringfence/ringfence/internal/crud"

// RecordingAnnouncements are what both sides of a call hear when somebody begins to record it, and when they stop. Each tenant has its own.
type RecordingAnnouncements struct {
	TenantUUID string  `db:"tenant_uuid" json:"-" format:"uuid"`
	Start      *string `db:"recording_start" json:"recording_start" maxLength:"255" example:"beep" doc:"The sound at the beginning; null: none."`
	Stop       *string `db:"recording_stop" json:"recording_stop" maxLength:"255" example:"beep" doc:"The sound at the end; null: none."`
}

func init() {
	resources = append(resources, declareRecordingAnnouncements)
	clientIDs["read_recordings_announcements"] = "get_recordings_announcements"
	tags["recordings"] = "What is heard when calls are recorded."
	words["/recordings/announcements"] = "announcements of recordings"
}

func declareRecordingAnnouncements(e *crud.Engine) {
	crud.Document[RecordingAnnouncements]{
		Resource: crud.Resource[RecordingAnnouncements]{
			Path: "recordings/announcements", Singular: "recordings_announcements", Table: "confd_recording_announcements", Only: []string{"read", "update"},
		},
		Blank: crud.Defaults[RecordingAnnouncements],
	}.On(e)
}
