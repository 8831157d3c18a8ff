package confdsvc

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// APIVersion is the release of the existing platform whose confd API this service implements.
const APIVersion = "26.08"

// prefix is where the gate serves the service.
const prefix = "/api/confd/1.1"

// ID is the number of an object, which the database generates.
type ID = crud.ID

// Options are the service's settings from outside.
type Options struct {
	DB store.DB
	// Installation returns this installation's UUID, or "" while it has none; nil means that it never has one.
	Installation func() string
	// Logins keeps the accounts of users; nil if another program does, which is never asked.
	Logins Logins
	// Changed, if set, hears of the changes of each transaction after its commit. It must not block.
	Changed func(events []crud.Event)
	// Files, if set, hears which files of the telephone system have to follow a change, after its commit. It must not block.
	Files func(change FilesChange)
	// Audio returns where files of sound are; nil: nowhere.
	Audio func() AudioFolders
	// Trunk, if set, asks the telephone system how the trunk with this SIP endpoint is. If it cannot be asked, the error is an
	// apierr.Unavailable.
	Trunk func(ctx context.Context, endpoint string) (TrunkStatus, error)
}

// New describes the service.
func New(o Options) (*rest.Service, error) {
	s := &rest.Service{
		Name: "confd", Version: "1.1", Prefix: prefix,
		Title:       "Ringfence configuration",
		Description: "Users, voicemails and what else a telephony platform is made of.",
		Examples:    examples,
		Docs:        docs,
		Helps:       helps,
		Tags:        tags,
		Words:       words,
		Columns:     columns,
		Errors:      rest.MessageList,
	}
	e := declared(o.DB)
	e.Idempotency, e.Notify = new(crud.Idempotency), o.Changed
	if o.Logins != nil {
		nestLogins(e, o.Logins)
	} else {
		absent[User]("auth", "", &rest.Schema{Type: "string"}, none("auth", "Auth")).On(e)
	}
	if o.Files != nil {
		tellFiles(e, o.Files)
	}
	if o.Audio == nil {
		o.Audio = func() AudioFolders { return AudioFolders{} }
	}
	mohFiles(o.Audio).on(e)
	declareTrunkStatus(e, o.Trunk)
	addSounds(e, o.Audio)
	e.Add(e.Bulk())
	s.Picture = e.Picture
	e.Describe(s)
	s.Operations = append(e.Operations(), statusOperations(o.Installation)...)
	checkExtensionUses(e)
	for i := range s.Operations {
		op := &s.Operations[i]
		op.ID = cmp.Or(clientIDs[op.ID], op.ID)
	}
	return s, s.Mount()
}

// clientIDs are the ids of operations in the code that existing clients have generated, where the engine would give them others.
var clientIDs = map[string]string{
	"get_user_forwards":                    "list_user_forwards",
	"get_user_voicemail":                   "read_user_voicemail", // its id belongs to the list
	"list_funckeys_templates":              "list_func_key_template",
	"list_registrars":                      "get_registrars",
	"list_user_voicemails":                 "get_user_voicemail",
	"list_users":                           "list_user",
	"read_asterisk_voicemail_general":      "list_asterisk_voicemail_general",
	"read_asterisk_voicemail_zonemessages": "list_asterisk_voicemail_zonemessages",
	"read_configuration":                   "get_configuration",
	"read_voicemail_transcription_config":  "get_voicemail_transcription_config",
	"update_phone_number":                  "update_phone_numbers",
}

// setting adds what a tenant, or the installation, has once: it is read with its defaults until somebody changes it.
func setting[T any](r crud.Resource[T]) {
	r.Singular, r.Only = cmp.Or(r.Singular, strings.ReplaceAll(r.Path, "/", "_")), []string{"read", "update"}
	resources = append(resources, func(e *crud.Engine) { crud.Document[T]{Resource: r, Blank: crud.Defaults[T]}.On(e) })
}

// resources declare themselves, each in the init function of its file.
var resources []func(e *crud.Engine)

func declared(db store.DB) *crud.Engine {
	e := crud.New(crud.Base{Service: "confd", Prefix: prefix, DB: db, Style: style, Words: words})
	for _, declare := range resources {
		declare(e)
	}
	checkDestinations(e)
	return e
}

// style is the style of this service's replies: 201 for a POST, with the object's location, 204 for a PUT, and 400 for a refusal
// because of stored data.
var style = crud.Style{CreateStatus: http.StatusCreated, Location: true, Duplicate: apierr.Invalid}

// Infos says which installation this is.
type Infos struct {
	UUID    *string `json:"uuid" doc:"This installation's"`
	Version string  `json:"wazo_version" doc:"The release of the platform whose API this one speaks"`
}

// Status reports whether the service works. Parts of the existing platform that this one does not have are always ok.
type Status struct {
	RESTAPI      Component `json:"rest_api"`
	BusConsumer  Component `json:"bus_consumer"`
	MasterTenant Component `json:"master_tenant"`
	ServiceToken Component `json:"service_token"`
}

// Component is one part of the service.
type Component struct {
	Status string `json:"status" enum:"ok,fail"`
}

var working = Component{"ok"}

func statusOperations(installation func() string) []rest.Operation {
	return []rest.Operation{
		{
			Method: http.MethodGet, Path: "/infos", Access: "confd.infos.read", ID: "get_infos", Tag: "infos",
			Summary: "Which installation this is", Success: http.StatusOK, Reply: rest.SchemaOf[Infos](),
			Handle: func(context.Context, *rest.Request) (rest.Reply, error) {
				infos := Infos{Version: APIVersion}
				if installation != nil {
					if uuid := installation(); uuid != "" {
						infos.UUID = &uuid
					}
				}
				return rest.Reply{Body: infos}, nil
			},
		},
		{
			Method: http.MethodGet, Path: "/status", Access: "confd.status.read", ID: "get_status", Tag: "status",
			Summary: "Whether the service works", Success: http.StatusOK, Reply: rest.SchemaOf[Status](),
			Handle: func(context.Context, *rest.Request) (rest.Reply, error) {
				return rest.Reply{Body: Status{working, working, working, working}}, nil
			},
		},
	}
}

// Mend makes what is stored such as requests could have written: see [crud.Engine.Mend].
func Mend(ctx context.Context, db store.DB, tell func(m crud.Mended) error) error {
	e := declared(db)
	e.Operations()                                                               // it makes the links known
	return e.Mend(ctx, func(path string) bool { return path != "sounds" }, tell) // some are made by this service alone
}

// hook is a hook of a resource.
type hook[T any] = func(ctx context.Context, c store.Conn, change *crud.Change[T]) error

// every is the hook that runs others, up to the first that refuses.
func every[T any](hooks ...hook[T]) hook[T] {
	return func(ctx context.Context, c store.Conn, change *crud.Change[T]) error {
		for _, h := range hooks {
			if err := h(ctx, c, change); err != nil {
				return err
			}
		}
		return nil
	}
}

// summaries returns a Describe that says what operations do.
func summaries(said map[string]string) func(action string, op *rest.Operation) {
	return func(action string, op *rest.Operation) { op.Summary = cmp.Or(said[action], op.Summary) }
}
