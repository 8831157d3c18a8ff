package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ringfence/ringfence/asterisk/leftout"
	"github.com/ringfence/ringfence/internal/made"
	"github.com/ringfence/ringfence/internal/private"
	"github.com/ringfence/ringfence/internal/sealed"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/migrations"
	"github.com/ringfence/ringfence/internal/store/open"
	"github.com/ringfence/ringfence/internal/store/sqlite"
)

// lost says that the database was made for the data folder and is not there, if so.
func (i Installation) lost() *made.LostError {
	file, err := made.Of(i.Data, i.Database)
	if err != nil {
		return nil // which is reported elsewhere
	}
	known, err := file.Known()
	if err != nil {
		return nil
	}
	lost, _ := errors.AsType[*made.LostError](file.Check(known))
	return lost
}

func (i Installation) database(ctx context.Context) []Finding {
	const subject = "database"
	ctx, cancel := context.WithTimeout(ctx, 10*patience)
	defer cancel()
	if lost := i.lost(); lost != nil {
		return []Finding{{
			subject, Problem, "the file " + lost.Path + " " + lost.How + ", and the data folder says that it was made: the gateway does not start",
			"mount its volume, or put a backup in its place (\"ringfence restore <backup>\"); to begin anew, with a new administrator, delete " + lost.File,
		}}
	}
	db, err := open.Beside(ctx, i.Database)
	switch {
	case errors.Is(err, sqlite.ErrDamaged):
		return []Finding{{subject, Problem, err.Error(), "stop the gateway, and restore a backup: \"ringfence restore <backup> --replace\""}}
	case errors.Is(err, fs.ErrNotExist):
		return []Finding{{subject, Warning, "the file is missing", "name the database with --database or --data; the first start of the gateway makes it"}}
	case errors.Is(err, fs.ErrPermission):
		return []Finding{{subject, Problem, err.Error(), asUser}}
	case err != nil && strings.HasPrefix(i.Database, open.SQLiteScheme):
		return []Finding{{subject, Problem, err.Error(), "correct RINGFENCE_DATABASE, or let the gateway's user read and write the file, and its folder"}}
	case err != nil:
		return []Finding{{subject, Problem, err.Error(), "correct RINGFENCE_DATABASE, start the server, or let it accept the connection"}}
	}
	defer func() { _ = db.Close() }()
	findings := []Finding{{subject, OK, "it can be read (" + db.Engine() + ")", ""}}
	schema, used := version(ctx, db)
	findings = append(findings, schema)
	if used {
		findings = append(findings, clock(ctx, db))
		if keys := i.keys(ctx, db); keys.Subject != "" {
			findings = append(findings, keys)
		}
	}
	if schema.State == OK && i.Telephony != nil {
		findings = append(findings, i.telephony(ctx, db))
	}
	return findings
}

// Telephony is the subject of the finding that names what Asterisk's files lack.
const Telephony = "telephony"

// telephony names what Asterisk's files lack of what is stored.
func (i Installation) telephony(ctx context.Context, db store.DB) Finding {
	const subject = Telephony
	left, _, err := i.Telephony(ctx, db)
	switch {
	case err != nil:
		return Finding{subject, Warning, "Asterisk's files cannot be made: " + err.Error(), "see the gateway's log, and let the database's user read its tables"}
	case len(left) > 0:
		return Finding{
			subject, Warning, "what is stored is not in Asterisk's files as a whole:\n  " + strings.Join(leftout.Of(left).Lines(), "\n  "),
			"give each what it lacks; what is disabled on purpose may stay so",
		}
	default:
		return Finding{subject, OK, "Asterisk's files have all that is stored", ""}
	}
}

// version examines the schema, and reports whether it can be read.
func version(ctx context.Context, db store.DB) (Finding, bool) {
	const subject = "schema"
	latest, err := migrations.Latest()
	if err != nil {
		return Finding{subject, Problem, err.Error(), "install this program again"}, false
	}
	have, err := db.(store.Migrator).Version(ctx)
	switch {
	case err != nil:
		return Finding{subject, Problem, err.Error(), "let the database's user read its tables"}, false
	case have == 0:
		return Finding{subject, Warning, "no gateway has ever used this database", "start the gateway, or name another database"}, false
	case have > latest:
		return Finding{subject, Problem, fmt.Sprintf("it is at version %d, and this program knows up to %d", have, latest), "run the newer release"}, false
	case have < latest:
		older := fmt.Sprintf("it is at version %d, and this program's is %d", have, latest)
		return Finding{subject, Warning, older, "make a backup; the next start of the gateway migrates it"}, true
	default:
		return Finding{subject, OK, fmt.Sprintf("it is at version %d, which is this program's", have), ""}, true
	}
}

// How far this machine's clock may be from the database's: sessions end by either.
const (
	littleSkew = 2 * time.Second
	muchSkew   = 30 * time.Second
)

func clock(ctx context.Context, db store.DB) Finding {
	before := time.Now()
	there, err := store.Get[time.Time](ctx, db, "SELECT now_utc()")
	if err != nil {
		return Finding{"clock", Problem, err.Error(), "let the database's user run its functions"}
	}
	return clockFinding(there, before, time.Now())
}

// clockFinding compares a time of the database with the times here, before and after the question.
func clockFinding(there, before, after time.Time) Finding {
	const subject, advice = "clock", "synchronize both clocks (NTP)"
	var skew time.Duration
	switch {
	case there.Before(before):
		skew = before.Sub(there)
	case there.After(after):
		skew = there.Sub(after)
	}
	text := fmt.Sprintf("the database's is %s away from this machine's", skew.Round(time.Millisecond))
	switch {
	case skew > muchSkew:
		return Finding{subject, Problem, text, advice}
	case skew > littleSkew:
		return Finding{subject, Warning, text, advice}
	default:
		return Finding{subject, OK, "the database's agrees with this machine's", ""}
	}
}

// keys examines whether this node has the sealing keys that the database needs. It finds nothing where that was said already.
func (i Installation) keys(ctx context.Context, db store.DB) Finding {
	const subject = "sealing key"
	needed, err := store.Select[string](ctx, db, "SELECT key_id FROM sealing_key ORDER BY key_id")
	if err != nil {
		return Finding{subject, Warning, err.Error(), "start the gateway, which migrates the database"}
	}
	text := i.SealingKeys
	if text == "" {
		file, err := private.Read(filepath.Join(i.Data, "sealing-key"), 1<<20)
		if _, exposed := errors.AsType[*private.ExposedError](err); exposed {
			return Finding{} // that about the data folder says it
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return Finding{subject, Problem, err.Error(), "let only the gateway's user read the key"}
		}
		text = string(file)
	}
	const advice = "copy the file sealing-key from a node that has it, or from a backup, or set RINGFENCE_SEALING_KEYS"
	if text == "" && len(needed) == 0 {
		return Finding{subject, OK, "the database needs none yet", ""}
	}
	if text == "" {
		return Finding{subject, Problem, "it is missing: refresh tokens and external credentials cannot be read", advice}
	}
	keys, err := sealed.ParseKeys(text)
	if err != nil {
		return Finding{subject, Problem, err.Error(), advice}
	}
	if missing := slices.DeleteFunc(needed, keys.Has); len(missing) > 0 {
		return Finding{subject, Problem, "key " + strings.Join(missing, ", ") + " is missing: what is sealed with it cannot be read", advice}
	}
	return Finding{subject, OK, "this node has every key that the database needs", ""}
}
