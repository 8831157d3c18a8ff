// Package helpers is the helper endpoints: small services for the tools of a telephony host. They are served behind the gate, where they
// need a token, and on a plain loopback port, where they need none.
//
//   - files of voicemails and of music on hold are deleted and moved: voicemail.go, moh.go, on folder.go, trash.go and inuse.go
//   - commands of Asterisk are executed one after the other: commands.go
//   - the telephone system is configured from what is stored: telephony.go
//   - how the gateway itself is, and its backups: system.go, backups.go
//   - the files of what the configuration moves or deletes follow it: follow.go
//   - guard.go keeps web pages away from the plain port; scope.go keeps the tenants apart
//
// Nothing is ever executed by a shell or another program.
package helpers

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// GatedPrefix is where the gate serves the endpoints; on the plain loopback port they are at the root.
const GatedPrefix = "/api/sysconfd"

const serviceName = "sysconfd"

// Options are what the service stands on.
type Options struct {
	DB    store.DB
	Names Names
	// Telephony configures the telephone system; nil if there is none.
	Telephony Telephony
	// Commands executes Asterisk's commands; nil if there is no Asterisk.
	Commands Commands
	// Follows reports whether files follow changes of the configuration; nil if they always do.
	Follows func(ctx context.Context) (bool, error)
	// Undone hears why files did not follow a change of the configuration; nil: only the log does.
	Undone func(ctx context.Context, why string) error
}

// Settings are what a configuration may change while the service runs.
type Settings struct {
	// Voicemail, MOH, Sounds and Autoprov are the folders of Asterisk's voicemails, music on hold and tenants' sounds, and its autoprovisioning file. What
	// does not exist is empty.
	Voicemail, MOH, Sounds, Autoprov string
	// Own is set if they are the gateway's own, and not those of an Asterisk.
	Own bool
	// PlainOff switches the endpoints on the plain port off.
	PlainOff bool
}

// Service is the helper endpoints. It is safe for concurrent use.
type Service struct {
	db        store.DB
	names     Names
	telephony Telephony
	commands  Commands
	patience  patience
	settings  atomic.Pointer[Settings]
	queue     *queue
	follows   func(ctx context.Context) (bool, error)
	undone    func(ctx context.Context, why string) error
	follower  follower
	installed atomic.Pointer[Installation]
	looking   chan struct{} // has room for the one who looks at the installation
	made      backups
	closing   context.Context // ends when the service is closed
	close     context.CancelFunc
	recovery  sync.WaitGroup
	gated     *rest.Service
	plain     *rest.Service
}

// New describes the service. It has no folders until Use has been called.
func New(o Options) (*Service, error) {
	s := &Service{db: o.DB, names: o.Names, telephony: o.Telephony, commands: o.Commands, patience: defaultPatience()}
	if s.telephony == nil {
		s.telephony = noTelephony{}
	}
	if s.commands == nil {
		s.commands = noCommands{}
	}
	if s.follows = o.Follows; s.follows == nil {
		s.follows = func(context.Context) (bool, error) { return true, nil }
	}
	if s.undone = o.Undone; s.undone == nil {
		s.undone = func(context.Context, string) error { return nil }
	}
	s.follower.pause = followPause
	s.installed.Store(new(Installation))
	s.looking = make(chan struct{}, 1)
	s.closing, s.close = context.WithCancel(context.Background())
	s.settings.Store(new(Settings))
	s.queue = newQueue(s.execute, s.executed)
	s.gated = s.describe(GatedPrefix, false)
	s.plain = s.describe("", true)
	for _, service := range []*rest.Service{s.gated, s.plain} {
		if err := service.Mount(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Use makes the service use these settings. If they are others than before, it says in the log which folders they name, and begins to
// remove what an interrupted request has left there.
func (s *Service) Use(settings Settings) {
	if old := s.settings.Swap(&settings); *old == settings {
		return
	}
	for _, path := range []string{settings.Voicemail, settings.MOH, settings.Sounds} {
		s.recovery.Go(leftIn(path))
	}
	message := "the helper endpoints use these files of Asterisk"
	if settings.Own {
		message = "no files of Asterisk are configured: the helper endpoints use their own, below the data folder"
	}
	slog.Info(message, "voicemail", settings.Voicemail, "moh", settings.MOH, "sounds", settings.Sounds, "autoprov", settings.Autoprov,
		"plain_port", !settings.PlainOff)
}

// Close ends the execution of commands. Files that are not in use still follow the changes before it.
func (s *Service) Close() {
	s.queue.close()
	s.close()
	s.recovery.Wait()
}

// REST returns the service behind the gate.
func (s *Service) REST() *rest.Service { return s.gated }

// Plain returns the service on the plain port, where it serves tools on this machine without a token.
func (s *Service) Plain() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := uuid.NewString() // never the client's: it is logged and stored
		r.Header["X-Request-Id"], w.Header()["X-Request-Id"] = []string{id}, []string{id}
		err := checkLocal(r)
		if err == nil && s.settings.Load().PlainOff {
			err = apierr.New(apierr.NotFound, "The helper endpoints are switched off on this port; use the gateway")
		}
		if err != nil {
			rest.WriteError(w, r, rest.CodeMessage, err)
			return
		}
		s.plain.ServeHTTP(w, r)
	})
}

// endpoints are the operations in one of the two places.
type endpoints struct {
	*Service
	plain bool
}

func (s *Service) describe(prefix string, plain bool) *rest.Service {
	e := &endpoints{s, plain}
	service := &rest.Service{
		Name:        serviceName,
		Prefix:      prefix,
		Title:       "Ringfence helpers",
		Description: "Common actions on a telephony host. Behind the gate they need a token; on the loopback port they do not.",
		Docs:        docs, Tags: tags, Words: words,
		Examples: map[string]string{
			"name": "extensions.conf", "diff": "+exten = 1001,1,Dial(PJSIP/1001)", "module": "res_pjsip.so", "command": "dialplan reload",
			"message": "Not found",
		},
		Errors: rest.CodeMessage,
	}
	all := [][]rest.Operation{
		statusOperations(), ofInstallation(e.commonOperations()), ofInstallation(e.applyOperations()),
		e.voicemailOperations(), e.mohOperations(), e.liveOperations(), ofInstallation(e.commandOperations()),
	}
	if !plain { // where there is no token, nobody may have a backup
		all = append(all, ofInstallation(e.systemOperations()), ofInstallation(e.backupOperations()))
	}
	for _, operations := range all {
		service.Operations = append(service.Operations, operations...)
	}
	for i := range service.Operations {
		op := &service.Operations[i]
		if !plain && op.Tag != "status" {
			op.Tenanted = true
		}
	}
	return service
}

type statusCheck struct {
	Status string `json:"status" enum:"up" doc:"\"up\" when the service answers."`
}

// status is the answer of GET /status, which newer clients call.
type status struct {
	RESTAPI part `json:"rest_api"`
}

type part struct {
	Status string `json:"status" enum:"ok"`
}

func statusOperations() []rest.Operation {
	return []rest.Operation{
		{
			Method: http.MethodGet, Path: "/status_check", Access: "sysconfd.status_check.read",
			ID: "status_check", Tag: "status", Summary: "Is the service up?",
			Success: http.StatusOK, Reply: rest.SchemaOf[statusCheck](),
			Handle: func(context.Context, *rest.Request) (rest.Reply, error) {
				return rest.Reply{Body: statusCheck{Status: "up"}}, nil
			},
		},
		{
			Method: http.MethodGet, Path: "/status", Access: "sysconfd.status.read",
			ID: "status", Tag: "status", Summary: "The state of each part",
			Success: http.StatusOK, Reply: rest.SchemaOf[status](),
			Handle: func(context.Context, *rest.Request) (rest.Reply, error) {
				return rest.Reply{Body: status{RESTAPI: part{Status: "ok"}}}, nil
			},
		},
	}
}

// done is the answer of an endpoint that has nothing to say: JSON, since existing clients read every answer as JSON.
var done = rest.Reply{Body: rest.Null}

func doneSchema() *rest.Schema { return &rest.Schema{Nullable: true, Doc: "Always null."} }

// byGet is a change by GET, for existing tools. It refuses HEAD, which may change nothing, and browsers on the plain port: a link in a mail
// would be enough.
func (e *endpoints) byGet(handle rest.Handler) rest.Handler {
	return func(ctx context.Context, r *rest.Request) (rest.Reply, error) {
		if e.plain && fromBrowser(r.HTTP) {
			return rest.Reply{}, apierr.New(apierr.Forbidden, "This port is for tools on this machine, and not for browsers")
		}
		if r.HTTP.Method == http.MethodHead {
			e := apierr.New(apierr.MethodNotAllowed, "HEAD changes nothing, and GET would")
			e.Allow = []string{http.MethodGet}
			return rest.Reply{}, e
		}
		return handle(ctx, r)
	}
}

// tags say what belongs to each tag of the definition.
var tags = map[string]string{
	"commands":      "Commands of Asterisk that are executed in the background.",
	"configuration": "Asterisk's configuration: what would change, and applying it.",
	"definition":    "This definition.",
	"moh":           "Files of music on hold.",
	"status":        "How the service is.",
	"system":        "How the gateway itself is, and its backups.",
	"voicemails":    "Messages of voicemails, on this machine.",
}

// docs describe the fields that say nothing of themselves, and the parameters of paths.
var docs = map[string]string{
	"{job_uuid}":     "The UUID of the job, which the request to apply was answered with.",
	"{backup}":       "The name of the backup, as the list of backups has it.",
	"{generation}":   "The number of the generation, as the list of generations has it.",
	"{request_uuid}": "The UUID of the request, which it was answered with.",

	"at":         "When it was written.",
	"change":     "What becomes of the file: added, changed or removed.",
	"code":       "The status of the response.",
	"command":    "The command.",
	"created_at": "When it was requested.",
	"ended_at":   "When it ended; null until then.",
	"generation": "The number of the configuration that is applied.",
	"message":    "What happened, for people.",
	"name":       "The name of the file.",
	"rest_api":   "The part that answers requests.",
	"started_at": "When it was begun; null until then.",
	"state":      "How far it is.",
	"status":     "Whether the part works: ok or fail.",
	"uuid":       "The UUID.",
}

// words say how names are read where their letters do not tell.
var words = map[string]string{
	"/apply/preview":         "what would change",
	"/commonconf_apply":      "live configuration",
	"/commonconf_generate":   "generated configuration",
	"/exec_request_handlers": "requests",
	"chown_autoprov_config":  "give the autoprovisioning file to its owner",
	"ipbx":                   "commands",
	"moh":                    "music on hold",
	"rolled_back":            "taken back",
}
