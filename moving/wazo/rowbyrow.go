package wazo

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/store"
)

// insertion is a statement that takes rows into a table of ours.
var insertion = regexp.MustCompile(`(?s)^((?:--[^\n]*\n)*INSERT INTO ([a-z_]+) \(([^)]*)\))\s+(SELECT .*?)(\s+ON CONFLICT DO NOTHING)?$`)

// madeOf are the tables of the dump from which tables are made that have no counterpart there.
var madeOf = map[string]string{
	"sip": "endpoint_sip", "sends": "dialaction", "number": "extensions", "master": "infos", "does": "func_key_mapping", "section": "asterisk_file_variable",
}

var fromTable = regexp.MustCompile(`\b(?:FROM|JOIN) w_([a-z_]+)`)

// execute runs a statement. Where a table of ours refuses rows, the others are taken, and each that is not is told: no dump is so odd that nothing
// of it can be had.
func execute(ctx context.Context, tx store.Conn, statement string) error {
	parts := insertion.FindStringSubmatch(statement)
	if parts == nil || strings.HasPrefix(parts[2], "w_") {
		_, err := tx.Exec(ctx, statement)
		return err
	}
	err := store.Attempt(ctx, tx, func() error {
		_, err := tx.Exec(ctx, statement)
		return err
	})
	if _, broken := errors.AsType[*store.ConstraintError](err); !broken {
		return err
	}
	between := func(r rune) bool { return strings.ContainsRune(", \n", r) }
	t := &trial{ctx: ctx, tx: tx, head: parts[1], conflict: parts[5], table: parts[2], columns: strings.FieldsFunc(parts[3], between)}
	for _, found := range fromTable.FindAllStringSubmatch(parts[4], -1) {
		name := found[1]
		if of := madeOf[name]; of != "" {
			name = of
		}
		if tables[name] != nil && t.source == "" {
			t.source = name
		}
	}
	if _, err := tx.Exec(ctx, "CREATE TEMP TABLE w_trial ("+strings.Join(t.columns, ", ")+")"); err != nil {
		return err
	}
	n, err := tx.Exec(ctx, "INSERT INTO w_trial "+parts[4])
	if err == nil {
		err = t.take(1, n)
	}
	if err == nil {
		_, err = tx.Exec(ctx, "DROP TABLE w_trial")
	}
	return err
}

// trial takes rows of w_trial as far as a table takes them.
type trial struct {
	ctx                           context.Context //nolint:containedctx // of one call
	tx                            store.Conn
	head, conflict, table, source string
	columns                       []string
}

// take takes the rows of these numbers: all at once or, if that is refused, each half.
func (t *trial) take(first, last int64) error {
	if first > last {
		return nil
	}
	err := store.Attempt(t.ctx, t.tx, func() error {
		rows := " SELECT " + strings.Join(t.columns, ", ") + " FROM w_trial WHERE rowid BETWEEN $1 AND $2 ORDER BY rowid"
		_, err := t.tx.Exec(t.ctx, t.head+rows+t.conflict, first, last)
		return err
	})
	broken, ok := errors.AsType[*store.ConstraintError](err)
	switch middle := first + (last-first)/2; {
	case !ok:
		return err
	case first < last:
		return errors.Join(t.take(first, middle), t.take(middle+1, last))
	default:
		return t.refused(first, broken)
	}
}

// shownColumns are those by which people know a row again. None has a secret.
var shownColumns = []string{
	"id", "uuid", "name", "label", "username", "firstname", "lastname", "number", "exten", "context", "client_id",
	"slug", "address", "slot", "place",
}

// refused fills in what the row lacks and there is a default for, or leaves it out.
func (t *trial) refused(row int64, broken *store.ConstraintError) error {
	object, tenant := "''", "NULL"
	for _, c := range t.columns {
		if slices.Contains(shownColumns, c) || strings.HasSuffix(c, "_id") || strings.HasSuffix(c, "_uuid") && c != "tenant_uuid" {
			object += " || coalesce(' ' || " + c + ", '')"
		}
		if c == "tenant_uuid" {
			tenant = c
		}
	}
	tell := func(where, reason string) error {
		_, err := t.tx.Exec(t.ctx, "INSERT INTO "+where+" (source, tenant, object, reason) SELECT $1, "+tenant+", trim("+object+"), $2 FROM w_trial WHERE rowid = $3",
			t.source, reason, row)
		return err
	}
	switch broken.Kind {
	case store.Unique:
		return tell("w_left", "another has its "+strings.Join(broken.Columns, ", ")+" ("+t.table+")")
	case store.ForeignKey:
		return tell("w_left", "it refers to what is not there, or was left out ("+t.table+")")
	case store.NotNull:
		_, column, _ := strings.Cut(broken.Constraint, ".")
		standard, err := store.Select[string](t.ctx, t.tx, `SELECT CASE WHEN "type" = 'boolean' THEN coalesce(dflt_value, 'false') ELSE dflt_value END
			FROM pragma_table_info($1) WHERE name = $2 AND ("type" = 'boolean' OR dflt_value IS NOT NULL)`, t.table, column)
		if err != nil {
			return err
		}
		if len(standard) == 0 || !slices.Contains(t.columns, column) {
			return tell("w_left", "it has no "+column+" ("+t.table+")")
		}
		if err := tell("w_mended", column+": is missing: "+standard[0]); err != nil {
			return err
		}
		if _, err := t.tx.Exec(t.ctx, "UPDATE w_trial SET "+column+" = "+standard[0]+" WHERE rowid = $1", row); err != nil {
			return err
		}
		return t.take(row, row)
	default:
		return tell("w_left", "it is not what there can be here ("+t.table+")")
	}
}
