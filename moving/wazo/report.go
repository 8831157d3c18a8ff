package wazo

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/moving/report"
)

// Report says what has become of a dump.
type Report struct {
	Release string `json:"release"`
	// Decisions are what somebody must decide, or know first.
	Decisions []report.Told `json:"decisions"`
	// Tables are those of the dump, by name.
	Tables []Table `json:"tables"`
	// Left are the rows that were left out one by one. Of those of a table with one reason, as in all that is told, the first thousand are listed.
	Left []report.Told `json:"left_out"`
	// Corrected are attributes that could not be here as they were, by the table of ours that has them, or that of the dump.
	Corrected []report.Told `json:"corrected"`
	// Policies is the part of a Caddyfile that makes the platform's own policies go on, or "".
	Policies string `json:"policies"`
	// Verification compares with the old rules, if the job asks for that.
	Verification *Verification `json:"verification,omitempty"`
	// Comparison is with the answers of a platform that runs, if whoever imports has asked for that.
	Comparison *Comparison `json:"comparison,omitempty"`
	// Written are the rows of ours by table and tenant.
	Written []Written `json:"written"`
}

// Table is a table of the dump: how many of its rows were read, kept, and left out. Those that are neither went with what they belonged to.
type Table struct {
	Name string `json:"name"`
	Read int64  `json:"read"`
	Kept int64  `json:"kept"`
	Left int64  `json:"left_out"`
	// Reason says why all of its rows were left out. Lost: somebody may miss them.
	Reason string `json:"reason,omitempty"`
	Lost   bool   `json:"lost,omitempty"`
}

// Written are rows of one tenant.
type Written struct {
	Table  string `db:"source" json:"table"`
	Tenant string `db:"tenant" json:"tenant"`
	Rows   int64  `db:"n" json:"rows"`
}

// sourceOf returns the table of the dump whose rows become those of a table of ours, or that table.
func sourceOf(ours string) string {
	for _, t := range tables {
		if slices.Contains(t.become, ours) {
			return t.name
		}
	}
	return ours
}

func (r *Report) read(name string, rows int64) {
	t := Table{Name: name, Read: rows}
	switch known := tables[name]; {
	case known == nil:
		t.Reason, t.Lost = "a table that the platform does not have", true
	case !known.kept():
		t.Reason, t.Lost = known.reason, known.lost
	}
	if t.Reason != "" {
		t.Left = rows
	}
	r.Tables = append(r.Tables, t)
}

// tenantName is the SQL of a tenant by its name, where its UUID is tenant.
const tenantName = `coalesce((SELECT coalesce(t.name, t.slug) FROM auth_tenant t WHERE t.uuid = tenant), tenant, '')`

// listed is the query of rows that are told of: the first of each table and reason, and how many there are, so that a report fits into memory.
const listed = `SELECT source, ` + tenantName + ` AS tenant, coalesce(object, '') AS object, reason, n FROM (
	SELECT rowid AS nth, %[1]s AS source, tenant, object, coalesce(reason, '') AS reason, sum(n) OVER told AS n,
		row_number() OVER (PARTITION BY %[1]s, reason ORDER BY rowid) AS place
	FROM %[2]s WINDOW told AS (PARTITION BY %[1]s, reason)) WHERE place <= %[3]d`

// toldOf is how many with one reason are told of, and told how many in all.
const (
	toldOf = 1000
	told   = 50_000
)

func (r *Report) fill(ctx context.Context, tx store.Conn) (err error) {
	if r.Release, err = store.Get[string](ctx, tx, `SELECT coalesce(max(wazo_version), '') FROM w_infos`); err != nil {
		return err
	}
	for from, into := range map[string]*[]report.Told{"w_left": &r.Left, "w_mended": &r.Corrected} {
		if *into, err = store.Select[report.Told](ctx, tx, fmt.Sprintf(listed+` ORDER BY source, nth LIMIT %[4]d`, "source", from, toldOf, told)); err != nil {
			return err
		}
	}
	if r.Decisions, err = store.Select[report.Told](ctx, tx, fmt.Sprintf(listed+` ORDER BY nth LIMIT %[4]d`, "''", "w_decide", toldOf, told)); err != nil {
		return err
	}
	if r.Policies, err = configuredPolicies(ctx, tx); err != nil {
		return err
	}
	counted, err := store.Select[Written](ctx, tx, `SELECT source, '' AS tenant, sum(n) AS n FROM w_left GROUP BY source`)
	if err != nil {
		return err
	}
	for _, l := range counted {
		if i := slices.IndexFunc(r.Tables, func(t Table) bool { return t.Name == l.Table }); i >= 0 {
			r.Tables[i].Left += l.Rows
		}
	}
	slices.SortFunc(r.Tables, func(a, b Table) int { return cmp.Compare(a.Name, b.Name) })
	if err := r.count(ctx, tx); err != nil {
		return err
	}
	ours, err := store.Select[string](ctx, tx, `SELECT m.name FROM sqlite_master m JOIN pragma_table_xinfo(m.name) c
		WHERE m.type = 'table' AND c.name = 'tenant_uuid' AND m.name <> 'row_count' ORDER BY m.name`)
	if err != nil {
		return err
	}
	for _, name := range ours {
		rows, err := store.Select[Written](ctx, tx, `SELECT '`+name+`' AS source, `+tenantName+` AS tenant, n FROM
			(SELECT tenant_uuid AS tenant, count(*) AS n FROM `+name+` GROUP BY tenant_uuid) ORDER BY tenant`)
		if err != nil {
			return err
		}
		r.Written = append(r.Written, rows...)
	}
	return nil
}

// Print writes the report for people: first what somebody must decide.
func (r *Report) Print(w io.Writer) error {
	p := report.NewPrinter(w)
	p.Line("A dump of release %s.", r.Release)
	p.Groups("To decide, or to know:", r.Decisions)
	p.Groups("Corrected, since our interfaces would refuse it as it was:", r.Corrected)
	p.Groups("Left out, by table:", r.Left)
	if r.Policies != "" {
		p.Line("\nPolicies of the platform's configuration that differ from ours. Paste this among the options of ringfence in the Caddyfile,\n"+
			"so that they go on:\n\n%s", r.Policies)
	}
	if r.Verification != nil {
		r.Verification.print(p)
	}
	if r.Comparison != nil {
		r.Comparison.print(p)
	}
	p.Line("\nRead, written and left out, by table of the dump:")
	for _, t := range r.Tables {
		if t.Read > 0 {
			note := t.Reason
			if with := t.Read - t.Kept - t.Left; with > 0 {
				note = fmt.Sprintf("%d went with what they belonged to", with)
			}
			p.Line("  %-28s %8d read %8d kept %8d left out  %s", t.Name, t.Read, t.Kept, t.Left, note)
		}
	}
	p.Line("\nWritten, by tenant:")
	for _, x := range r.Written {
		p.Line("  %-28s %8d  %s", x.Table, x.Rows, x.Tenant)
	}
	return p.Err
}

// count fills in how many rows were kept: of those of which each becomes one of ours, as many as are there, and else all that were not left out.
func (r *Report) count(ctx context.Context, tx store.Conn) error {
	for i := range r.Tables {
		t := &r.Tables[i]
		known := tables[t.Name]
		if known == nil || len(known.become) == 0 {
			t.Kept = t.Read - t.Left
			continue
		}
		for _, ours := range known.become {
			n, err := store.Get[int64](ctx, tx, "SELECT count(*) FROM "+ours)
			if err != nil {
				return err
			}
			t.Kept += n
		}
	}
	return nil
}
