package confdsvc

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// ZoneMessages are the ways to announce the time of a message. A voicemail's timezone names one of them.
type ZoneMessages struct {
	TenantUUID string          `db:"tenant_uuid" json:"-"`
	Items      ZoneMessageList `db:"items" json:"items" required:"true" doc:"The ways to announce the time, by their names."`
}

// ZoneMessage is one way to announce the time.
type ZoneMessage struct {
	Name     string  `json:"name" required:"true" minLength:"1" maxLength:"128" example:"eu-fr"`
	Timezone string  `json:"timezone" required:"true" format:"timezone"`
	Message  *string `json:"message" pattern:"^[^|]*$" maxLength:"4096" example:"'vm-received' q 'digits/at' HM" doc:"What is said, in the telephone system's notation."`
}

// ZoneMessageList is a list of zone messages with different names.
type ZoneMessageList struct {
	store.JSON[[]ZoneMessage]
}

// firstZoneMessages are those of a new installation, until somebody replaces them.
const firstZoneMessages = `[
	{"name": "eu-fr", "timezone": "Europe/Paris", "message": "'vm-received' q 'digits/at' HM"},
	{"name": "eu-uk", "timezone": "Europe/London", "message": "'vm-received' q 'digits/at' IMp"},
	{"name": "na-us", "timezone": "America/New_York", "message": "'vm-received' q 'digits/at' IMp"},
	{"name": "na-ca", "timezone": "America/Toronto", "message": "'vm-received' q 'digits/at' IMp"},
	{"name": "au", "timezone": "Australia/Sydney", "message": "'vm-received' q 'digits/at' IMp"}
]`

// JSONSchema returns the schema of the list.
func (ZoneMessageList) JSONSchema() *rest.Schema {
	most := 1000
	return &rest.Schema{
		Type: "array", Items: rest.SchemaOf[ZoneMessage](), MaxItems: &most, Default: json.RawMessage(firstZoneMessages),
		Check: func(value any) []apierr.Field {
			names := map[any]bool{}
			for i, item := range value.([]any) {
				name := item.(map[string]any)["name"]
				if names[name] {
					return []apierr.Field{{Name: "[" + strconv.Itoa(i) + "].name", Constraint: "unique", Value: "unique", Message: "Is the name of another one"}}
				}
				names[name] = true
			}
			return nil
		},
	}
}

func init() { resources = append(resources, declareZoneMessages) }

// declareZoneMessages declares the zones, which all tenants can read.
func declareZoneMessages(e *crud.Engine) {
	crud.Document[ZoneMessages]{
		Resource: crud.Resource[ZoneMessages]{
			Path: "asterisk/voicemail/zonemessages", Singular: "asterisk_voicemail_zonemessages", Table: "confd_voicemail_zonemessages",
			Scope: crud.Global, Only: []string{"read", "update"},
		},
		Blank: crud.Defaults[ZoneMessages],
	}.On(e)
}

// refuseUnknownZone refuses a timezone that names no zone message. A voicemail may keep one that it already has.
func refuseUnknownZone(ctx context.Context, c store.Conn, e *crud.Engine, change *crud.Change[Voicemail]) error {
	name := change.New.Timezone
	if name == nil || change.Old != nil && !different(change.Old.Timezone, name) {
		return nil
	}
	zones, err := crud.OfAll[ZoneMessages](ctx, c, e)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(zones.Items.V, func(z ZoneMessage) bool { return z.Name == *name }) {
		return nil
	}
	return crud.Missing("timezone", "Timezone", "timezone", *name)
}
