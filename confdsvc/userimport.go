package confdsvc

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/crud/rights"
	"github.com/ringfence/ringfence/internal/crud/transaction"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// ImportedUsers is the reply to an import that succeeded.
type ImportedUsers struct {
	Created []ImportedUser `json:"created"`
}

// ImportedUser is what an import has made of one row. A trial makes nothing: all but the number is null.
type ImportedUser struct {
	RowNumber         int     `json:"row_number" doc:"1 is the row after the names of the columns."`
	UserID            *int64  `json:"user_id"`
	UserUUID          *string `json:"user_uuid" format:"uuid"`
	VoicemailID       *int64  `json:"voicemail_id"`
	LineID            *int64  `json:"line_id"`
	SIPUUID           *string `json:"sip_uuid" format:"uuid" doc:"The UUID of the SIP endpoint."`
	SCCPID            *int64  `json:"sccp_id" doc:"The number of the SCCP endpoint."`
	ExtensionID       *int64  `json:"extension_id" doc:"The id of the number."`
	IncallExtensionID *int64  `json:"incall_extension_id" doc:"The first, if there are several."`
	CallPermissionIDs []int64 `json:"call_permission_ids" doc:"The numbers of the call permissions."`
}

// ImportRefusal is the reply to an import with rows that cannot be imported.
type ImportRefusal struct {
	Errors []RowError `json:"errors"`
}

// RowError says what is wrong with one row.
type RowError struct {
	Message   string          `json:"message"`
	Timestamp int64           `json:"timestamp" doc:"Seconds since 1970."`
	Details   RowErrorDetails `json:"details"`
}

// RowErrorDetails say which row it is.
type RowErrorDetails struct {
	RowNumber int               `json:"row_number" doc:"1 is the row after the names of the columns, 0 the names themselves."`
	Line      int               `json:"line" doc:"The line of the file on which the row begins; 1 is the first."`
	Row       map[string]string `json:"row" doc:"Its cells, without passwords."`
}

const (
	// maxImport and maxImportedRows bound an import.
	maxImport       = 10 << 20
	maxImportedRows = 20_000
	// maxRowErrors is about how many errors one import reports.
	maxRowErrors = 100
	// importsAtOnce is how many imports one node reads and writes: each keeps its rows in memory.
	importsAtOnce = 2
	// importProgress is how often the progress of one is logged.
	importProgress = 5 * time.Second
	// fewRows is how many rows are written in one transaction whatever the database is. More take longer than others should wait for
	// SQLite's only writer, and are written in pieces.
	fewRows = 32
)

// importExample is a file as an import takes it, with the columns that people fill in most.
const importExample = `"firstname,lastname,email,username,password,line_protocol,exten,context,voicemail_name,voicemail_number,voicemail_context,` +
	`incall_exten,incall_context\r\nAda,Lovelace,ada@example.org,,,,,,,,,,\r\n"`

// pieceTime is after how long a piece begins no more rows. It is a variable for tests.
var pieceTime = transaction.PieceTime

func init() { resources = append(resources, declareUserImport) }

func declareUserImport(e *crud.Engine) {
	i := &userImport{engine: e, running: map[*importJob]bool{}}
	e.Add(rest.Operation{
		Method: http.MethodPost, Path: "/users/import", Access: "confd.users.import.create", ID: "import_users_csv", Tag: "users",
		Summary: "Import users, with their telephones, numbers and voicemails, from CSV",
		Description: "The body is CSV in UTF-8, with commas, whose first row names the columns: those of an export, and `password` and `incall_ring_seconds`. " +
			"Other columns, and `uuid`, are ignored; an empty cell is as if the column was not there. " +
			"A context is named by its name, or by its label if no other has it; `incall_exten` and `incall_context` may be lists with semicolons. " +
			"A row whose line has neither a number nor anything else makes a user without a line. Booleans are 0 and 1. All rows are imported or none: " +
			"400 lists what is wrong with which rows, in the form `{\"errors\": [{\"message\", \"timestamp\", \"details\": {\"row_number\", \"line\", \"row\"}}]}`. " +
			fmt.Sprintf("At most %d rows and %d MiB. On SQLite more than %d rows are checked in a copy of the database, and written in pieces, between which others "+
				"write: if it is interrupted, or somebody else takes a number meanwhile, the rows before are there, and the same file sent again goes on after them.",
				maxImportedRows, maxImport>>20, fewRows),
		Query: []rest.Parameter{{
			Name: "dry_run", Description: "`true`: try it, report what is wrong, and keep nothing. The status is then 200.", Schema: &rest.Schema{Type: "boolean"},
		}},
		Body: (&rest.Schema{Type: "string", Multiline: true}).Exemplified(importExample), Consumes: csvType, MaxBody: maxImport,
		Success: http.StatusCreated, Reply: rest.SchemaOf[ImportedUsers](), Statuses: []int{http.StatusTooManyRequests}, Tenanted: true,
		Replies: map[int]*rest.Schema{http.StatusOK: rest.SchemaOf[ImportedUsers](), http.StatusBadRequest: rest.SchemaOf[ImportRefusal]()},
		Handle:  i.handle,
	})
	e.Add(rest.Operation{
		Method: http.MethodGet, Path: "/users/import", Access: "confd.users.import.read", ID: "list_user_imports", Tag: "users",
		Summary: "Read how far the imports of a tenant are", Description: "Those that run on the node which answers, and those that were interrupted.",
		Success: http.StatusOK, Reply: rest.SchemaOf[UserImports](), Tenanted: true, Handle: i.list,
	})
}

// userImport imports users.
type userImport struct {
	engine *crud.Engine

	mu      sync.Mutex
	running map[*importJob]bool
}

// UserImports are the imports of a tenant that have not ended.
type UserImports struct {
	Items []UserImport `json:"items"`
	Total int          `json:"total"`
}

// UserImport is how far an import is.
type UserImport struct {
	State string    `db:"state" json:"state" enum:"reading,checking,writing,interrupted" doc:"An interrupted one goes on when the same file is sent again."`
	Done  int64     `db:"done" json:"done" doc:"How many rows are checked, while it is checking; otherwise how many are written."`
	Rows  int64     `db:"of_rows" json:"rows" doc:"How many the file has; 0 while it is being read."`
	Began time.Time `db:"began" json:"began" doc:"When it began; when its first rows were written, if it was interrupted."`
}

func (i *userImport) list(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	scope, err := i.engine.TenantOf(ctx, r)
	if err != nil {
		return rest.Reply{}, err
	}
	pieces, err := store.Select[struct {
		UserImport
		Digest string `db:"digest"`
	}](ctx, i.engine.DB, `SELECT digest, 'interrupted' AS state, done, of_rows, at AS began
		FROM confd_import_piece WHERE tenant_uuid = $1 ORDER BY digest, done`, scope)
	if err != nil {
		return rest.Reply{}, err
	}
	out := UserImports{Items: []UserImport{}}
	running := map[string]bool{}
	i.mu.Lock()
	for j := range i.running {
		if j.scope == scope {
			j.mu.Lock()
			out.Items, running[j.digest] = append(out.Items, j.progress), true
			j.mu.Unlock()
		}
	}
	i.mu.Unlock()
	for n, piece := range pieces {
		switch {
		case running[piece.Digest]:
		case n > 0 && pieces[n-1].Digest == piece.Digest:
			out.Items[len(out.Items)-1].Done = piece.Done
		default:
			out.Items = append(out.Items, piece.UserImport)
		}
	}
	slices.SortFunc(out.Items, func(a, b UserImport) int { return a.Began.Compare(b.Began) })
	out.Total = len(out.Items)
	return rest.Reply{Body: out}, nil
}

// begin takes one of the places of imports, which end gives back. It refuses an import if there is none.
func (i *userImport) begin(j *importJob) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.running) >= importsAtOnce {
		e := apierr.New(apierr.TooMany, "%d imports are running here already", importsAtOnce)
		e.RetryAfter = 30 * time.Second
		return e
	}
	i.running[j] = true
	return nil
}

// again reports whether another import writes the same file.
func (i *userImport) again(j *importJob) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	for other := range i.running {
		other.mu.Lock()
		same := other != j && !other.trial && other.scope == j.scope && other.digest == j.digest
		other.mu.Unlock()
		if same {
			return true
		}
	}
	return false
}

func (i *userImport) end(j *importJob) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.running, j)
}

func (i *userImport) handle(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	if err := rights.NotDenied(r, "confd.users.create"); err != nil {
		return rest.Reply{}, err
	}
	scope, err := i.engine.TenantOf(ctx, r)
	if err != nil {
		return rest.Reply{}, err
	}
	job := &importJob{
		all: i, engine: i.engine, request: r, scope: scope, trial: r.Bool("dry_run"), progress: UserImport{State: "reading", Began: time.Now().UTC()},
	}
	if err := i.begin(job); err != nil {
		return rest.Reply{}, err
	}
	defer i.end(job)
	made, err := job.run(ctx)
	switch {
	case err != nil:
		return rest.Reply{}, err
	case len(job.errors) > 0:
		return rest.Reply{Status: http.StatusBadRequest, Body: ImportRefusal{job.errors}}, nil
	case job.trial:
		return rest.Reply{Status: http.StatusOK, Body: ImportedUsers{made}}, nil
	default:
		return rest.Reply{Body: ImportedUsers{made}}, nil
	}
}

// importJob is one import.
type importJob struct {
	all       *userImport
	engine    *crud.Engine
	request   *rest.Request
	scope     string
	trial     bool
	logged    time.Time // when its progress was logged last
	templates map[string]*string
	contexts  *csvContexts
	errors    []RowError

	mu       sync.Mutex
	progress UserImport
	digest   string // of the file, in hexadecimal digits; "" while it is being read
}

// draftedRow is a row that is ready to be written.
type draftedRow struct {
	*csvRow
	draft       *crud.Draft[User]
	ringSeconds *float64
	// refused says which context the row names that there is not. It is told beside what else is wrong when the rows are written.
	refused *apierr.Error
	// shares are the rows before it that make what its user has together with theirs, by the attribute of the user.
	shares map[string]int
}

// run reads all rows, and only then writes them: a transaction does not wait for a client.
func (j *importJob) run(ctx context.Context) ([]ImportedUser, error) {
	if err := j.readNames(ctx); err != nil {
		return nil, err
	}
	drafts, err := j.draftRows(ctx)
	if err != nil || len(j.errors) > 0 {
		return nil, err
	}
	return j.write(ctx, drafts)
}

// readNames looks up the SIP templates and the contexts of the tenant.
func (j *importJob) readNames(ctx context.Context) error {
	return j.engine.DB.InReadTx(ctx, func(ctx context.Context, c store.Conn) error {
		tenant, err := crud.Of[Tenant](j.engine).Find(ctx, c, j.scope, j.scope)
		if err != nil {
			return err
		}
		j.templates = map[string]*string{"sip": tenant.Global, "webrtc": tenant.WebRTC}
		j.contexts, err = readCSVContexts(ctx, c, j.engine, j.scope)
		return err
	})
}

// draftRows reads and checks the rows. It continues after a wrong row, so that one import reports all that is wrong.
func (j *importJob) draftRows(ctx context.Context) ([]draftedRow, error) {
	sum := sha256.New()
	rows, wrong, err := newCSVRows(io.TeeReader(j.request.Body(), sum))
	if wrong != nil {
		j.refuse(&csvRow{line: 1}, wrong)
	}
	if err != nil || wrong != nil {
		return nil, err
	}
	var drafts []draftedRow
	shared := csvSharing{}
	for len(j.errors) < maxRowErrors {
		row, err := rows.next()
		if row == nil && err == nil {
			break
		}
		if e := apierr.As(err); e != nil && row != nil {
			if j.refuse(row, e); rows.broken {
				break // what follows may not be what it seems
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		draft, err := j.draftRow(ctx, row, shared, len(drafts))
		if err != nil {
			if !j.refused(row, err) {
				return nil, err
			}
			continue
		}
		drafts = append(drafts, draft)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.digest, j.progress.Rows = hex.EncodeToString(sum.Sum(nil)), int64(len(drafts))
	return drafts, nil
}

// draftRow checks one row, which is to be written at this place.
func (j *importJob) draftRow(ctx context.Context, row *csvRow, shared csvSharing, at int) (draftedRow, error) {
	noContext := row.nameContexts(j.contexts)
	body, ring, refused := row.body(j.templates)
	if refused != nil {
		return draftedRow{}, refused
	}
	shares, refused := shared.take(row, at)
	if refused != nil {
		return draftedRow{}, refused
	}
	for part := range shares {
		delete(body, part)
	}
	draft, err := crud.Of[User](j.engine).Draft(ctx, j.request, body)
	return draftedRow{row, draft, ring, noContext, shares}, err
}

var errKeepNothing = errors.New("nothing of this is kept")

// write creates the users: in one transaction, or in pieces, where a long transaction would keep all others from writing.
func (j *importJob) write(ctx context.Context, drafts []draftedRow) (made []ImportedUser, err error) {
	var scratch store.DB
	if len(drafts) > fewRows {
		if scratch, err = store.Scratch(ctx, j.engine.DB); err != nil {
			return nil, err
		}
	}
	if scratch != nil {
		made, err = j.inPieces(ctx, scratch, drafts)
	} else {
		made, err = j.atOnce(ctx, drafts)
	}
	if errors.Is(err, errKeepNothing) {
		err = nil
	}
	if j.trial {
		for n := range made {
			made[n] = ImportedUser{RowNumber: made[n].RowNumber, CallPermissionIDs: []int64{}}
		}
	}
	return made, err
}

func (j *importJob) atOnce(ctx context.Context, drafts []draftedRow) (made []ImportedUser, err error) {
	again := false
	return made, j.engine.InTx(ctx, func(ctx context.Context, c store.Conn) (err error) {
		if again {
			if err := j.alone(ctx, c); err != nil {
				return err
			}
		}
		again = true
		j.errors = nil
		made, err = j.rows(ctx, c, []ImportedUser{}, drafts, "writing", nil)
		if err == nil && (j.trial || len(j.errors) > 0) {
			err = errKeepNothing
		}
		return err
	})
}

// inPieces does everything in a copy of the database first, so that what is wrong is found as in one transaction, and nothing is made then.
// After that it writes rows for a while, commits them with a note of what they have made, lets others write, and goes on. The last piece
// removes the notes.
//
// If it is interrupted between two pieces (the process dies, the client leaves, the database fails, or a row is refused for what somebody
// else has written since the check), the rows before stay, each of them whole, and the notes stay with them. The import was not
// acknowledged; GET /users/import tells of it, a refusal says how many rows there are, and the same file sent again goes on after them.
func (j *importJob) inPieces(ctx context.Context, scratch store.DB, drafts []draftedRow) (made []ImportedUser, err error) {
	defer func() { err = errors.Join(err, scratch.Close()) }()
	if !j.trial {
		if made, err = j.before(ctx); err != nil {
			return nil, err
		}
	}
	var tried []ImportedUser
	if err := j.engine.Try(ctx, scratch, func(ctx context.Context, c store.Conn) (err error) {
		tried, err = j.rows(ctx, c, made, drafts, "checking", nil)
		return err
	}); err != nil || j.trial || len(j.errors) > 0 {
		return tried, err
	}
	for len(made) < len(drafts) && err == nil {
		from := len(made)
		err = j.engine.InTx(ctx, func(ctx context.Context, c store.Conn) (err error) {
			began := time.Now()
			made, err = j.rows(ctx, c, made[:from], drafts, "writing", func() bool { return time.Since(began) > pieceTime })
			if err == nil && len(j.errors) > 0 {
				err = errKeepNothing
			}
			if err == nil {
				err = j.note(ctx, c, made, from, len(drafts))
			}
			return err
		})
		if errors.Is(err, errKeepNothing) && from > 0 {
			j.refuse(drafts[from-1].csvRow, apierr.New(apierr.Conflict, "The rows up to this one are imported: others have written since all were checked. "+
				"The same file sent again goes on after them"))
		}
	}
	return made, err
}

// note keeps what the rows of a piece have made, or removes all notes of the import with the last piece.
func (j *importJob) note(ctx context.Context, c store.Conn, made []ImportedUser, from, of int) error {
	if len(made) == of {
		return j.forget(ctx, c)
	}
	list, err := json.Marshal(made[from:])
	if err == nil {
		_, err = c.Exec(ctx, `INSERT INTO confd_import_piece (tenant_uuid, digest, done, of_rows, made) VALUES ($1, $2, $3, $4, $5)`,
			j.scope, j.digest, len(made), of, string(list))
	}
	return err
}

func (j *importJob) forget(ctx context.Context, c store.Conn) error {
	_, err := c.Exec(ctx, `DELETE FROM confd_import_piece WHERE tenant_uuid = $1 AND digest = $2`, j.scope, j.digest)
	return err
}

// before returns what an interrupted import of the same file has made. If some of its users are gone, it is forgotten.
func (j *importJob) before(ctx context.Context) ([]ImportedUser, error) {
	if j.all.again(j) {
		return nil, apierr.New(apierr.Conflict, "The same file is being imported already")
	}
	const written = `SELECT made FROM confd_import_piece WHERE tenant_uuid = $1 AND digest = $2 ORDER BY done`
	pieces, err := store.Select[store.JSON[[]ImportedUser]](ctx, j.engine.DB, written, j.scope, j.digest)
	if err != nil || len(pieces) == 0 {
		return nil, err
	}
	var made []ImportedUser
	var ids [][]*int64
	for _, piece := range pieces {
		for _, user := range piece.V {
			made, ids = append(made, user), append(ids, []*int64{user.UserID})
		}
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	there, err := store.Get[int](ctx, j.engine.DB, `SELECT count(*) FROM confd_user WHERE tenant_uuid = $1
		AND id IN (SELECT CAST(e.value ->> 0 AS bigint) FROM json_each(CAST($2 AS text)) AS e)`, j.scope, string(list))
	if err == nil && there < len(made) {
		made, err = nil, j.forget(ctx, j.engine.DB)
	}
	return made, err
}

// rows makes what the rows say that come after those which have made something, until it is enough.
func (j *importJob) rows(
	ctx context.Context, c store.Conn, made []ImportedUser, drafts []draftedRow, state string, enough func() bool,
) ([]ImportedUser, error) {
	for n := len(made); n < len(drafts); n++ {
		row := &drafts[n]
		var user ImportedUser
		err := transaction.Attempt(ctx, c, func() (err error) {
			if row.refused != nil {
				return row.refused
			}
			var of *User
			if of, user, err = j.create(ctx, c, row); err == nil {
				err = j.share(ctx, c, row, of, &user, made)
			}
			if err == nil {
				err = j.permit(ctx, c, row, of, &user)
			}
			return err
		})
		if err != nil && !j.refused(row.csvRow, j.engine.Refusal(ctx, err)) {
			return made, err
		}
		if len(j.errors) >= maxRowErrors {
			break
		}
		made = append(made, user)
		j.proceed(state, n+1, len(drafts))
		if enough != nil && enough() {
			break
		}
	}
	return made, nil
}

// alone keeps others from writing users, lines and numbers until the transaction ends. A long transaction reads so much of these
// tables that PostgreSQL undoes it for every other change that is committed meanwhile: it would never end. SQLite has one writer.
func (j *importJob) alone(ctx context.Context, c store.Conn) error {
	if j.engine.DB.Engine() != "postgres" {
		return nil
	}
	_, err := c.Exec(ctx, `LOCK TABLE confd_context, confd_user, confd_line, confd_extension, confd_voicemail, confd_incall IN SHARE ROW EXCLUSIVE MODE`)
	return err
}

// create makes what one row says.
func (j *importJob) create(ctx context.Context, c store.Conn, row *draftedRow) (user *User, out ImportedUser, err error) {
	m, err := crud.Of[User](j.engine).Make(ctx, c, j.scope, row.draft)
	if err != nil {
		return nil, out, err
	}
	out = ImportedUser{RowNumber: row.number, UserID: (*int64)(&m.Object.ID), UserUUID: &m.Object.UUID, CallPermissionIDs: []int64{}}
	for _, v := range crud.InnerOf[Voicemail](m, "voicemail") {
		out.VoicemailID = (*int64)(&v.Object.ID)
	}
	for _, l := range crud.InnerOf[Line](m, "lines") {
		out.LineID = (*int64)(&l.Object.ID)
		for _, sip := range crud.InnerOf[EndpointSIP](l, "endpoint_sip") {
			out.SIPUUID = &sip.Object.UUID
		}
		for _, x := range crud.InnerOf[Extension](l, "extensions") {
			out.ExtensionID = (*int64)(&x.Object.ID)
		}
	}
	for _, incall := range crud.InnerOf[Incall](m, "incalls") {
		for _, x := range crud.InnerOf[Extension](incall, "extensions") {
			out.IncallExtensionID = cmp.Or(out.IncallExtensionID, (*int64)(&x.Object.ID))
		}
		if row.ringSeconds != nil {
			if err := j.ringFor(ctx, c, m.Object, incall.Object, row.ringSeconds); err != nil {
				return nil, out, err
			}
		}
	}
	return m.Object, out, nil
}

// share gives the user of a row what rows before it have made.
func (j *importJob) share(ctx context.Context, c store.Conn, row *draftedRow, user *User, out *ImportedUser, made []ImportedUser) error {
	if n, shares := row.shares["voicemail"]; shares && made[n].VoicemailID != nil {
		out.VoicemailID = made[n].VoicemailID
		if err := shareWith(ctx, c, j, userVoicemail, user, *out.VoicemailID); err != nil {
			return err
		}
	}
	if n, shares := row.shares["lines"]; shares && made[n].LineID != nil {
		out.LineID, out.SIPUUID, out.ExtensionID = made[n].LineID, made[n].SIPUUID, made[n].ExtensionID
		return shareWith(ctx, c, j, userLines, user, *out.LineID)
	}
	return nil
}

// permit gives the user of a row the call permissions that it names.
func (j *importJob) permit(ctx context.Context, c store.Conn, row *draftedRow, user *User, out *ImportedUser) error {
	for _, name := range row.texts("call_permissions") {
		found, err := crud.Of[CallPermission](j.engine).Select(ctx, c, "tenant_uuid = $1 AND name = $2", j.scope, name)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return crud.Missing("call_permissions", "CallPermission", "name", name)
		}
		id := int64(found[0].ID)
		if err := shareWith(ctx, c, j, userCallPermissions, user, id); err != nil {
			return err
		}
		out.CallPermissionIDs = append(out.CallPermissionIDs, id)
	}
	return nil
}

// shareWith gives a user an object that others have.
func shareWith[R any](ctx context.Context, c store.Conn, j *importJob, by crud.Relation[User, R], user *User, id int64) error {
	objects, err := crud.Of[R](j.engine).Select(ctx, c, "id = $1", id)
	if err != nil {
		return err
	}
	if len(objects) == 0 {
		return apierr.New(apierr.Conflict, "What it shares with a row before it is gone")
	}
	return by.Associate(ctx, c, j.engine, j.request, j.scope, user, objects[0])
}

// ringFor sets how long an incoming call rings at the user.
func (j *importJob) ringFor(ctx context.Context, c store.Conn, user *User, incall *Incall, seconds *float64) error {
	change := &crud.Change[Incall]{Request: j.request, Tenant: j.scope, Old: incall}
	return crud.Of[Incall](j.engine).Update(ctx, c, change, func(i *Incall) (err error) {
		if i.Destination, err = leadsToUser(user); err == nil {
			i.Destination.keys.(*ToUser).RingTime = seconds
		}
		return err
	})
}

// proceed tells how far an import is, and logs it if it is long.
func (j *importJob) proceed(state string, done, of int) {
	j.mu.Lock()
	j.progress.State, j.progress.Done = state, int64(done)
	j.mu.Unlock()
	now := time.Now()
	if now.Sub(j.progress.Began) < importProgress || now.Sub(j.logged) < importProgress && done < of {
		return
	}
	j.logged = now
	slog.Info("importing users", "state", state, "done", done, "of", of, "trial", j.trial, "tenant_uuid", j.scope)
}

// refused keeps an error if it is a refusal of the row, and reports whether it is.
func (j *importJob) refused(row *csvRow, err error) bool {
	e := apierr.As(err)
	if e == nil || e.Kind >= http.StatusInternalServerError || e.Kind == apierr.TooMany {
		return false
	}
	j.refuse(row, e)
	return true
}

// refuse keeps what is wrong with a row: one error for each message, in which columns have their own names.
func (j *importJob) refuse(row *csvRow, e *apierr.Error) {
	now := time.Now()
	renamed := *e
	renamed.Fields = make([]apierr.Field, len(e.Fields))
	for i, f := range e.Fields {
		f.Name = csvColumnOf(f.Name)
		renamed.Fields[i] = f
	}
	for _, message := range rest.MessageList(&renamed, now).([]string) {
		j.errors = append(j.errors, RowError{
			Message: message, Timestamp: now.Unix(), Details: RowErrorDetails{RowNumber: row.number, Line: row.line, Row: row.shown()},
		})
	}
}
