// Package jobs has what the telephony room and those who ask it tell each other: jobs that generate and apply the configuration, previews
// of them, and commands of Asterisk's console.
package jobs

import (
	"context"
	"time"

	"github.com/ringfence/ringfence/asterisk/leftout"
	"github.com/ringfence/ringfence/internal/store"
)

// Recorder records in the audit that somebody has asked for a job, in the transaction that asks for it. What becomes of the job is
// recorded with its end, on whatever node that is.
type Recorder func(ctx context.Context, tx store.Conn, job string) error

// Options say how to apply.
type Options struct {
	// Asked records that it was asked for, unless it is nil.
	Asked Recorder
	// Force makes the telephone system read all that is live once more, whether it has changed or not.
	Force bool
	// Wait lets Apply return when the job has ended. If ctx ends before, Apply returns the error of ctx.
	Wait bool
}

// The states of a job. It has ended in the last three.
const (
	Waiting    = "waiting"
	Running    = "running"
	Done       = "done"
	Failed     = "failed"      // the message says why, and whether the files are live
	RolledBack = "rolled_back" // and the generation before is live again
)

// Job is one request to generate the configuration, and mostly to make it live. Nothing in it is secret.
type Job struct {
	UUID  string `json:"uuid" format:"uuid"`
	State string `json:"state" enum:"waiting,running,done,failed,rolled_back"`
	// Generation is the number of the generation that the job has made, or found live with the same files; 0 while there is none.
	Generation int64             `json:"generation"`
	CreatedAt  time.Time         `json:"created_at"`
	StartedAt  *time.Time        `json:"started_at"`
	EndedAt    *time.Time        `json:"ended_at"`
	Message    string            `json:"message" doc:"Why it failed; empty otherwise."`
	Files      []JobFile         `json:"files" doc:"The files that change."`
	Modules    []JobModule       `json:"modules" doc:"The modules that are reloaded, in order."`
	LeftOut    leftout.Omissions `json:"left_out" doc:"What is stored and not in the files, and why."`
	Log        []JobEntry        `json:"log" doc:"What happened, in order."`
}

// Ended reports whether the job's state is final.
func (j *Job) Ended() bool { return j.State != Waiting && j.State != Running }

// JobFile is a file that changes.
type JobFile struct {
	Name   string `json:"name"`
	Change string `json:"change" enum:"added,changed,removed"`
}

// JobModule is what became of the reload of a module of Asterisk.
type JobModule struct {
	Module  string `json:"module" doc:"The module of Asterisk."`
	State   string `json:"state" enum:"waiting,done,failed,skipped"`
	Message string `json:"message" doc:"Why it failed or was skipped; empty otherwise."`
}

// JobEntry is a line of a job's log.
type JobEntry struct {
	At      time.Time `json:"at"`
	Message string    `json:"message"`
}

// Preview is how the live configuration would change.
type Preview struct {
	Changed bool              `json:"changed" doc:"Whether anything would change."`
	Files   []PreviewFile     `json:"files" doc:"The files that would change."`
	LeftOut leftout.Omissions `json:"left_out" doc:"What is stored and would not be in the files, and why."`
}

// Generations are the generations of files that are kept.
type Generations struct {
	Total int          `json:"total" doc:"How many there are."`
	Items []Generation `json:"items" doc:"The generations, the newest first."`
}

// Generation is a generation of files that is kept.
type Generation struct {
	Number    int64     `json:"generation" title:"Number" doc:"Its number: the newest has the highest."`
	CreatedAt time.Time `json:"created_at"`
	Source    string    `json:"source" example:"confd" doc:"What it was made from."`
	Live      bool      `json:"live" doc:"Whether the telephone system reads it."`
	Failed    string    `json:"failed" example:"reloading res_pjsip: failed" doc:"Why it was taken back; empty otherwise."`
}

// PreviewFile is how a file would change.
type PreviewFile struct {
	Name   string `json:"name"`
	Change string `json:"change" enum:"added,changed,removed"`
	Diff   string `json:"diff" doc:"The lines that come and go, in the unified format. Secrets in them are hidden."`
}
