package confdsvc

import (
	"context"
	"slices"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// UserSummary is a user in a list of all.
type UserSummary struct {
	ID               int64   `json:"id"`
	UUID             string  `json:"uuid" format:"uuid"`
	Firstname        string  `json:"firstname"`
	Lastname         *string `json:"lastname"`
	Email            *string `json:"email" format:"email"`
	Enabled          *bool   `json:"enabled"`
	SubscriptionType int64   `json:"subscription_type"`
	ProvisioningCode *string `json:"provisioning_code" example:"123456" doc:"The main telephone's; null for a WebRTC or a custom one."`
	Extension        *string `json:"extension" example:"1000" doc:"The main number."`
	Context          *string `json:"context"`
	Protocol         *string `json:"protocol" enum:"sip,sccp,custom" doc:"What the main telephone speaks."`
	IsWebRTC         bool    `json:"is_webrtc" doc:"Whether the main telephone is a browser."`
}

// UserDirectoryEntry is a user in a directory of people.
type UserDirectoryEntry struct {
	ID                int64   `json:"id"`
	UUID              string  `json:"uuid" format:"uuid"`
	LineID            *int64  `json:"line_id"`
	AgentID           *int64  `json:"agent_id"`
	Firstname         string  `json:"firstname"`
	Lastname          *string `json:"lastname"`
	Email             *string `json:"email" format:"email"`
	Exten             *string `json:"exten"`
	MobilePhoneNumber *string `json:"mobile_phone_number" example:"+15551234"`
	VoicemailNumber   *string `json:"voicemail_number" example:"1000" doc:"The number of the voicemail."`
	Userfield         *string `json:"userfield"`
	Description       *string `json:"description"`
	Context           *string `json:"context"`
}

// UserLinePresence shows whether a user can be reached by telephone.
type UserLinePresence struct {
	UUID       string           `json:"uuid" format:"uuid"`
	TenantUUID string           `json:"tenant_uuid" format:"uuid"`
	Services   PresenceServices `json:"services"`
	Lines      []PresenceLine   `json:"lines"`
}

// PresenceServices are the services that keep a user from being reached.
type PresenceServices struct {
	DND Switch `json:"dnd"`
}

// PresenceLine is a line by which a user may be reached.
type PresenceLine struct {
	ID       int64   `json:"id"`
	Name     *string `json:"name"`
	Protocol *string `json:"protocol" enum:"sip,sccp,custom" doc:"What it speaks."`
}

// userPhone is what a user telephones with: their first line, its first number, and their voicemail.
type userPhone struct {
	UserID           ID      `db:"user_id"`
	LineID           *ID     `db:"line_id"`
	ProvisioningCode *string `db:"provisioning_code"`
	Context          *string `db:"context"`
	Protocol         *string `db:"protocol"`
	Exten            *string `db:"exten"`
	VoicemailNumber  *string `db:"voicemail_number"`
	AgentID          *int64  `db:"agent_id"`
}

func userViews(e *crud.Engine) map[string]crud.View[User] {
	return map[string]crud.View[User]{
		"summary":       userView(e, summariesOf(e)),
		"directory":     userView(e, directoryEntriesOf),
		"line_presence": {Of: []string{"lines"}, Item: rest.SchemaOf[UserLinePresence](), Show: showLinePresence},
	}
}

// userView returns a view whose items are each made of one user and their phone.
func userView[V any](e *crud.Engine, items func(ctx context.Context, c store.Conn, users []*User, phones map[ID]userPhone) ([]V, error)) crud.View[User] {
	return crud.View[User]{
		Of: []string{}, Item: rest.SchemaOf[V](),
		Show: func(ctx context.Context, c store.Conn, users []*User) (any, error) {
			phones, err := userPhones(ctx, c, e, users)
			if err != nil {
				return nil, err
			}
			return items(ctx, c, users, phones)
		},
	}
}

// userPhones returns the phones of users, by id, as far as the caller of ctx may read them. The first line and number are those that
// filters of users compare.
func userPhones(ctx context.Context, c store.Conn, e *crud.Engine, users []*User) (map[ID]userPhone, error) {
	phones := make(map[ID]userPhone, len(users))
	for some := range slices.Chunk(users, 1000) { // databases limit the arguments of a statement
		ids := make([]any, len(some))
		for i, u := range some {
			ids[i] = u.ID
		}
		query, args := e.Visible(ctx, `
			SELECT u.id AS user_id, l.id AS line_id, l.provisioning_code, (SELECT k.name FROM {confd_context} k WHERE k.name = l.context) AS context, x.exten,
				(SELECT p.protocol FROM {confd_line_protocol} p WHERE p.line_id = l.id) AS protocol,
				v.number AS voicemail_number, a.id AS agent_id
			FROM confd_user u
				LEFT JOIN {confd_user_line} ul ON ul.user_id = u.id LEFT JOIN {confd_line} l ON l.id = ul.line_id
				LEFT JOIN {confd_line_extension} lx ON lx.line_id = l.id LEFT JOIN {confd_extension} x ON x.id = lx.extension_id
				LEFT JOIN {confd_user_voicemail} uv ON uv.user_id = u.id LEFT JOIN {confd_voicemail} v ON v.id = uv.voicemail_id
				LEFT JOIN {confd_user_agent} ua ON ua.user_id = u.id LEFT JOIN {confd_agent} a ON a.id = ua.agent_id
			WHERE u.id IN (`+crud.Placeholders(1, len(ids))+`) ORDER BY ul.position, x.exten`, ids...)
		rows, err := store.Select[userPhone](ctx, c, query, args...)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			if _, later := phones[row.UserID]; !later {
				phones[row.UserID] = row
			}
		}
	}
	return phones, nil
}

// summariesOf returns what makes the items of the view summary. A telephone in a browser, and one that is not SIP, is not set up by a code.
func summariesOf(e *crud.Engine) func(ctx context.Context, c store.Conn, users []*User, phones map[ID]userPhone) ([]UserSummary, error) {
	return func(ctx context.Context, c store.Conn, users []*User, phones map[ID]userPhone) ([]UserSummary, error) {
		lines := make([]*Line, len(users))
		var sip []*Line
		for i, u := range users {
			lines[i] = &Line{}
			if phone := phones[u.ID]; orEmpty(phone.Protocol) == "sip" {
				lines[i].ID = *phone.LineID
				sip = append(sip, lines[i])
			}
		}
		for some := range slices.Chunk(sip, 1000) {
			if err := loadWebRTC(e)(ctx, c, some); err != nil {
				return nil, err
			}
		}
		items := make([]UserSummary, len(users))
		for i, u := range users {
			phone := phones[u.ID]
			items[i] = UserSummary{
				ID: int64(u.ID), UUID: u.UUID, Firstname: u.Firstname, Lastname: u.Lastname, Email: u.Email, Enabled: u.Enabled, SubscriptionType: u.SubscriptionType,
				ProvisioningCode: phone.ProvisioningCode, Extension: phone.Exten, Context: phone.Context, Protocol: phone.Protocol, IsWebRTC: lines[i].IsWebRTC,
			}
			if lines[i].IsWebRTC || orEmpty(phone.Protocol) == "custom" {
				items[i].ProvisioningCode = nil
			}
		}
		return items, nil
	}
}

func directoryEntriesOf(_ context.Context, _ store.Conn, users []*User, phones map[ID]userPhone) ([]UserDirectoryEntry, error) {
	items := make([]UserDirectoryEntry, len(users))
	for i, u := range users {
		phone := phones[u.ID]
		items[i] = UserDirectoryEntry{
			ID: int64(u.ID), UUID: u.UUID, LineID: (*int64)(phone.LineID), Firstname: u.Firstname, Lastname: u.Lastname, Email: u.Email, Exten: phone.Exten,
			MobilePhoneNumber: u.MobilePhoneNumber, VoicemailNumber: phone.VoicemailNumber, Userfield: u.Userfield,
			Description: u.Description, Context: phone.Context, AgentID: phone.AgentID,
		}
	}
	return items, nil
}

func showLinePresence(_ context.Context, _ store.Conn, users []*User) (any, error) {
	items := make([]UserLinePresence, len(users))
	for i, u := range users {
		lines := make([]PresenceLine, len(u.Lines))
		for j, l := range u.Lines {
			lines[j] = PresenceLine{ID: l.ID, Name: l.Name, Protocol: l.Protocol}
		}
		items[i] = UserLinePresence{UUID: u.UUID, TenantUUID: u.TenantUUID, Services: PresenceServices{u.Services.DND}, Lines: lines}
	}
	return items, nil
}
