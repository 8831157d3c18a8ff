package confdsvc

import "github.com/ringfence/ringfence/internal/crud"

// RecordingAnnouncements are what both sides of a call hear when somebody begins to record it, and when they stop. Each tenant has its own.
type RecordingAnnouncements struct {
	TenantUUID string  `db:"tenant_uuid" json:"-" format:"uuid"`
	Start      *string `db:"recording_start" json:"recording_start" maxLength:"255" example:"beep" doc:"The sound at the beginning; null: none."`
	Stop       *string `db:"recording_stop" json:"recording_stop" maxLength:"255" example:"beep" doc:"The sound at the end; null: none."`
}

func init() {
	setting(crud.Resource[RecordingAnnouncements]{Path: "recordings/announcements", Table: "confd_recording_announcements"})
	clientIDs["read_recordings_announcements"] = "get_recordings_announcements"
	tags["recordings"] = "What is heard when calls are recorded."
	words["/recordings/announcements"] = "announcements of recordings"
}
