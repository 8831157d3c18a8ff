package callrecords

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/asterisk/cdr"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/audit"
	crudquery "github.com/ringfence/ringfence/internal/crud/query"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// Recording is what was recorded of a call.
type Recording struct {
	UUID     string    `db:"uuid" json:"uuid" format:"uuid" readOnly:"true" doc:"What the path of its sound names it by."`
	Start    time.Time `json:"start_time" readOnly:"true" doc:"When the call was answered, and recorded from then on."`
	End      time.Time `json:"end_time" readOnly:"true" doc:"When it ended."`
	Deleted  bool      `db:"deleted" json:"deleted" readOnly:"true" doc:"Whether somebody has deleted it: it cannot be heard any more."`
	Filename string    `db:"filename" json:"filename" readOnly:"true" doc:"The name of its file."`
}

// recordingForm is the name of a file that the dialplan gives to a recording. It is one segment of a path.
var recordingForm = regexp.MustCompile(`^call-[0-9]{8}-[0-9]{6}-[A-Za-z0-9_.-]{1,100}\.wav$`)

// keepRecording stores which file has what was said in a call, once. Only this makes files known, and only those that are known are served.
func keepRecording(ctx context.Context, c store.Conn, asterisk, tenantUUID string, r cdr.Record) error {
	if r.Answer.IsZero() || !recordingForm.MatchString(r.Recording) {
		return nil
	}
	_, err := c.Exec(ctx, `INSERT INTO call_recording (uuid, call_id, tenant_uuid, filename, deleted)
		SELECT $1, id, tenant_uuid, $2, false FROM call_record WHERE asterisk = $3 AND unique_id = $4 AND sequence = $5 AND tenant_uuid = $6
		ON CONFLICT (tenant_uuid, filename) DO NOTHING`, uuid.NewString(), r.Recording, asterisk, r.UniqueID, r.Sequence, tenantUUID)
	return err
}

// showRecordings fills in what was recorded of calls.
func showRecordings(ctx context.Context, c store.Conn, calls ...*Call) error {
	byID, ids := map[int64]*Call{}, make([]any, len(calls))
	for i, call := range calls {
		byID[call.ID], ids[i] = call, call.ID
	}
	type row struct {
		CallID int64 `db:"call_id"`
		Recording
	}
	for len(ids) > 0 {
		some := ids[:min(len(ids), 1000)]
		ids = ids[len(some):]
		rows, err := store.Select[row](ctx, c, `SELECT call_id, uuid, deleted, filename FROM call_recording WHERE call_id IN (`+
			crudquery.Placeholders(1, len(some))+`) ORDER BY filename`, some...)
		if err != nil {
			return err
		}
		for _, r := range rows {
			call := byID[r.CallID]
			r.Start, r.End = call.Start, call.End
			if call.Answer != nil {
				r.Start = *call.Answer
			}
			call.Recordings = append(call.Recordings, r.Recording)
		}
	}
	return nil
}

const aboutMedia = "Each time that somebody hears it is in the audit."

// recordingOperations are those of the recordings of a tenant's calls, and of one's own.
func (s *Service) recordingOperations() []rest.Operation {
	const one, media = "/cdr/{cdr_id}/recordings/{recording_uuid}/media", "cdr.{cdr_id}.recordings.{recording_uuid}.media."
	hear := rest.Operation{
		Method: http.MethodGet, Path: one, Access: "call-logd." + media + "read", ID: "read_recording_media", Tag: "cdr", Tenanted: true,
		Summary: "Hear what was recorded of a call", Description: aboutMedia, Success: http.StatusOK, Produces: "audio/wav",
		Statuses: []int{http.StatusNotFound}, Handle: s.hear(false),
	}
	mine, drop := hear, hear
	mine.Path, mine.Access, mine.ID = "/users/me"+one, "call-logd.users.me."+media+"read", "read_my_recording_media"
	mine.Summary, mine.Handle = "Hear what was recorded of one's own call", s.hear(true)
	drop.Method, drop.Access, drop.ID = http.MethodDelete, "call-logd."+media+"delete", "delete_recording_media"
	drop.Summary = "Delete what was recorded of a call"
	drop.Success, drop.Produces, drop.Description, drop.Handle = http.StatusNoContent, "", "", s.drop
	return []rest.Operation{hear, mine, drop}
}

// found is a recording that a path names.
type found struct {
	Recording

	CallID      int64   `db:"call_id"`
	TenantUUID  string  `db:"tenant_uuid"`
	Source      *string `db:"source_user_uuid"`
	Destination *string `db:"destination_user_uuid"`
}

// denied reports whether a caller is denied an action on the recording, by the path of all calls or by that of the calls of one of its users.
func (f *found) denied(p *principal.Principal, action string) bool {
	below := fmt.Sprintf("cdr.%d.recordings.%s.media.%s", f.CallID, f.UUID, action)
	for _, user := range []*string{f.Source, f.Destination} {
		if user != nil && p.Denies("call-logd.users."+*user+"."+below) {
			return true
		}
	}
	return p.Denies("call-logd." + below)
}

// recording returns what the path names of the calls that the caller may read, of their own if mine is set: not what has been deleted, nor what the
// caller is denied the action on.
func (s *Service) recording(ctx context.Context, r *rest.Request, mine bool, action string) (*found, error) {
	scope, err := tenant.Of(ctx, s.db, r)
	if err != nil {
		return nil, err
	}
	call, err := strconv.ParseInt(r.Param("cdr_id"), 10, 64)
	if err != nil || strconv.FormatInt(call, 10) != r.Param("cdr_id") { // another spelling would evade a denial
		return nil, errNoRecording()
	}
	id, err := uuid.Parse(r.Param("recording_uuid"))
	if err != nil || id.String() != r.Param("recording_uuid") {
		return nil, errNoRecording()
	}
	args := &crudquery.Arguments{}
	conditions := []string{"id = " + args.Add(call), tenant.Below("tenant_uuid", args.Add(scope))}
	if mine {
		me := args.Add(r.Principal().UserUUID)
		conditions = append(conditions, "(source_user_uuid = "+me+" OR destination_user_uuid = "+me+")")
	}
	for _, in := range visible(r.Principal()) {
		conditions = append(conditions, in(args.Add))
	}
	f, err := store.Get[*found](ctx, s.db, `SELECT uuid, deleted, filename, call_id, f.tenant_uuid, source_user_uuid, destination_user_uuid
		FROM call_recording f
		JOIN (SELECT id, source_user_uuid, destination_user_uuid FROM call_record WHERE `+strings.Join(conditions, " AND ")+`) c ON c.id = f.call_id
		WHERE uuid = `+args.Add(id.String())+` AND NOT deleted`, args.Values...)
	if errors.Is(err, store.ErrNotFound) || err == nil && f.denied(r.Principal(), action) {
		err = errNoRecording()
	}
	return f, err
}

func errNoRecording() error { return apierr.New(apierr.NotFound, "There is no such recording") }

// entry is what the audit says of a recording, to those who may know of the call and of its users.
func (f *found) entry() audit.Change {
	var users []string
	for _, user := range []*string{f.Source, f.Destination} {
		if user != nil {
			users = append(users, *user)
		}
	}
	call := strconv.FormatInt(f.CallID, 10)
	return audit.Change{
		Tenant: f.TenantUUID, Resource: "cdr/recordings", Object: call + "/" + f.UUID, Title: f.Filename,
		Keys: [][]string{{call}, {f.UUID}, users}, Sides: []string{"cdr", "recordings", "users"},
	}
}

// hear answers with the sound. The entry in the audit comes first: if the connection, or this process, ends between the two, it tells of somebody who
// has heard nothing, but nobody hears anything without one.
func (s *Service) hear(mine bool) rest.Handler {
	return func(ctx context.Context, r *rest.Request) (reply rest.Reply, err error) {
		f, err := s.recording(ctx, r, mine, "read")
		if err != nil {
			return reply, err
		}
		file, size, err := s.recordings().Open(f.TenantUUID, f.Filename)
		if errors.Is(err, fs.ErrNotExist) {
			err = errNoRecording()
		}
		if err != nil {
			return reply, err
		}
		reply.Header = http.Header{"Content-Length": {strconv.FormatInt(size, 10)}, "Content-Disposition": {"attachment; filename=" + f.Filename}}
		if r.HTTP.Method == http.MethodHead { // nothing is heard
			return reply, file.Close()
		}
		if err := s.db.InTx(ctx, func(ctx context.Context, c store.Conn) error { return audit.Write(ctx, c, r, f.entry()) }); err != nil {
			return rest.Reply{}, errors.Join(err, file.Close())
		}
		reply.Stream = func(w io.Writer) error {
			_, err := io.CopyN(w, file, size)
			return errors.Join(err, file.Close())
		}
		return reply, nil
	}
}

// drop deletes a recording: its row says so at once, and nobody hears it from then on. If this process dies before the file is gone, or another node
// has it, that node's next sweep removes it.
func (s *Service) drop(ctx context.Context, r *rest.Request) (reply rest.Reply, err error) {
	f, err := s.recording(ctx, r, false, "delete")
	if err != nil {
		return reply, err
	}
	if err := s.db.InTx(ctx, func(ctx context.Context, c store.Conn) error {
		n, err := c.Exec(ctx, `UPDATE call_recording SET deleted = true WHERE uuid = $1 AND NOT deleted`, f.UUID)
		if err == nil && n == 0 {
			err = errNoRecording()
		}
		if err != nil {
			return err
		}
		return audit.Write(ctx, c, r, f.entry())
	}); err != nil {
		return reply, err
	}
	if err := s.recordings().Remove(f.TenantUUID, f.Filename); err != nil {
		slog.Warn("the file of a recording that was deleted cannot be removed; trying again within the hour", "error", err)
	}
	return reply, nil
}

// unknown is how old a file is at least of which no call tells: the record of a call comes when it ends.
const unknown = 24 * time.Hour

// sweepFiles is SweepFiles, and tells what fails.
func (s *Service) sweepFiles(ctx context.Context) {
	if err := s.SweepFiles(ctx); err != nil && ctx.Err() == nil {
		slog.Warn("files of recordings that nobody can hear cannot be removed; trying again in an hour", "error", err)
	}
}

// SweepFiles removes the files of recordings that are deleted, whose calls are kept no more, or of which no call ever told.
func (s *Service) SweepFiles(ctx context.Context) error {
	folder := s.recordings()
	tenants, err := folder.List()
	if err != nil || folder == "" {
		return nil //nolint:nilerr // there is none yet
	}
	for _, one := range tenants {
		if id, err := uuid.Parse(one); err != nil || id.String() != one {
			continue
		}
		files, err := folder.List(one)
		if err != nil {
			return err
		}
		for len(files) > 0 {
			some := files[:min(len(files), 500)]
			files = files[len(some):]
			if err := s.sweepSome(ctx, one, some); err != nil {
				return err
			}
		}
	}
	return nil
}

// sweepSome is SweepFiles for some files of a tenant.
func (s *Service) sweepSome(ctx context.Context, tenantUUID string, files []string) error {
	args := []any{tenantUUID}
	for _, name := range files {
		if recordingForm.MatchString(name) {
			args = append(args, name)
		}
	}
	if len(args) == 1 {
		return nil
	}
	rows, err := store.Select[Recording](ctx, s.db, `SELECT uuid, deleted, filename FROM call_recording WHERE tenant_uuid = $1 AND filename IN (`+
		crudquery.Placeholders(2, len(args)-1)+")", args...)
	if err != nil {
		return err
	}
	keeps := map[string]bool{}
	gone := map[string]bool{}
	for _, r := range rows {
		keeps[r.Filename], gone[r.Filename] = !r.Deleted, r.Deleted
	}
	for _, name := range args[1:] {
		name := name.(string)
		if keeps[name] || !gone[name] && !s.recordings().Older(unknown, tenantUUID, name) {
			continue
		}
		if err := s.recordings().Remove(tenantUUID, name); err != nil {
			return fmt.Errorf("removing the file of a recording: %w", err)
		}
	}
	return nil
}
