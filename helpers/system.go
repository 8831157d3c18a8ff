package helpers

import (
	"context"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/backup"
	"github.com/ringfence/ringfence/internal/doctor"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// Installation is what an operator looks after of the gateway itself. Its functions are safe for concurrent use.
type Installation struct {
	// Examine returns how it is, without its nodes and backups; nil: nobody can look.
	Examine func(ctx context.Context) (System, error)
	// Backups is the folder of the backups that this node makes, or "" if it makes none.
	Backups backup.Folder
	// Backup writes a backup. It calls progress with how much of the work is done.
	Backup func(ctx context.Context, to io.Writer, progress func(done, of int64)) error
}

// UseInstallation makes the service look after this installation.
func (s *Service) UseInstallation(i Installation) { s.installed.Store(&i) }

// System is how an installation is. Nothing in it is secret.
type System struct {
	Version      string           `json:"version" example:"1.4.0" doc:"The gateway's version."`
	StartedAt    time.Time        `json:"started_at" doc:"When the node that answers was started."`
	Findings     []doctor.Finding `json:"findings" doc:"What ringfence doctor finds, on the node that answers."`
	Certificates []Certificate    `json:"certificates" doc:"The certificates that the node serves."`
	Places       []Place          `json:"places" doc:"Where the node keeps its things."`
	Nodes        []Node           `json:"nodes" doc:"The nodes that serve from this database, or did so within a week and were not stopped."`
	BackupAt     *time.Time       `json:"backup_at" doc:"When the last backup in the node's folder was made; null if it has none."`
}

// Certificate is a certificate that is served.
type Certificate struct {
	Names    []string  `json:"names" example:"[\"pbx.example.com\"]" doc:"The names and addresses that it is for."`
	NotAfter time.Time `json:"not_after" doc:"The end of its validity."`
	Own      bool      `json:"own" doc:"Whether the gateway has signed it itself."`
}

// Place is where something is kept.
type Place struct {
	What  string `json:"what" enum:"data,database,backups,log,asterisk,asterisk_log" doc:"What is kept there."`
	Where string `json:"where" example:"/var/lib/ringfence" doc:"The path of the file or the folder; of PostgreSQL its server and the name of the database."`
}

// Node is a node that serves.
type Node struct {
	Host      string     `db:"host" json:"host" example:"pbx-1" doc:"The name of its machine."`
	Data      string     `db:"data" json:"data" example:"/var/lib/ringfence" doc:"Its data folder there."`
	Version   string     `db:"version" json:"version" example:"1.4.0" doc:"The version of its gateway."`
	StartedAt time.Time  `db:"started_at" json:"started_at" doc:"When it was started."`
	SeenAt    time.Time  `db:"seen_at" json:"seen_at" doc:"When it wrote into the database last, which it does once a minute."`
	Asterisk  *string    `db:"asterisk" json:"asterisk" example:"main" doc:"The name of the Asterisk that it configures, or did last; null: none."`
	Until     *time.Time `db:"expires_at" json:"until" doc:"Until when no other node may configure it. While there is nothing to do, that is in the past."`
}

func (e *endpoints) systemOperations() []rest.Operation {
	return []rest.Operation{{
		Method: http.MethodGet, Path: "/system", Access: "sysconfd.system.read", ID: "read_system", Tag: "system",
		Summary:     "How is the installation, and what should be done?",
		Description: "The same as `ringfence doctor` says, of the node that answers. It takes seconds if something cannot be reached; one request looks at a time.",
		Success:     http.StatusOK, Reply: rest.SchemaOf[System](), Statuses: []int{http.StatusNotImplemented, http.StatusServiceUnavailable},
		Handle: e.installation(e.readSystem),
	}}
}

func (e *endpoints) readSystem(ctx context.Context, r *rest.Request, _ scope) (reply rest.Reply, err error) {
	i := e.installed.Load()
	if i.Examine == nil {
		return reply, apierr.New(apierr.NotImplemented, "This gateway does not look at itself")
	}
	select {
	case e.looking <- struct{}{}:
		defer func() { <-e.looking }()
	case <-ctx.Done():
		return reply, ctx.Err()
	}
	is, err := i.Examine(ctx)
	if err != nil {
		return reply, err
	}
	if conceals(r.Principal()) != "" { // it names what is not in Asterisk's files
		is.Findings = slices.DeleteFunc(is.Findings, func(f doctor.Finding) bool { return f.Subject == doctor.Telephony })
	}
	// A lease of an Asterisk has the Asterisk's name, which has no blank; other rows say who reaches it.
	is.Nodes, err = store.Select[Node](ctx, e.db, `SELECT n.host, n.data, n.version, n.started_at, n.seen_at, l.asterisk, l.expires_at
		FROM node n LEFT JOIN asterisk_lease l ON l.holder = n.holder AND l.asterisk NOT LIKE '% %' ORDER BY n.host, n.data, l.asterisk`)
	if err != nil {
		return reply, err
	}
	if i.Backups != "" {
		kept, err := i.Backups.List()
		if err != nil {
			return reply, err
		}
		if len(kept) > 0 {
			is.BackupAt = &kept[0].MadeAt
		}
	}
	return rest.Reply{Body: is}, nil
}
