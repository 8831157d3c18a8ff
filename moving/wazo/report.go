package wazo

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/moving/report"
)

// Report says what has become of a dump.
type Report struct {
	Release string `json:"release"`
	// Decisions are what somebody must decide, or know first.
	Decisions []Decision `json:"decisions"`
	// Tables are those of the dump, by name.
	Tables []Table `json:"tables"`
	// Left are the rows that were left out one by one.
	Left []Left `json:"left_out"`
	// Corrected are attributes that could not be here as they were, by the table of ours that has them, or that of the dump.
	Corrected []Left `json:"corrected"`
	// Policies is the part of a Caddyfile that makes the platform's own policies go on, or "".
	Policies string `json:"policies"`
	// Verification compares with the old rules, if the job asks for that.
	Verification *Verification `json:"verification,omitempty"`
	// Comparison is with the answers of a platform that runs, if whoever imports has asked for that.
	Comparison *Comparison `json:"comparison,omitempty"`
	// Written are the rows of ours by table and tenant.
	Written []Written `json:"written"`
}

// Decision is one thing that somebody must decide.
type Decision struct {
	Tenant string `db:"tenant" json:"tenant"`
	Object string `db:"object" json:"object"`
	Reason string `db:"reason" json:"reason"`
}

// Table is a table of the dump: how many of its rows were read, and left out.
type Table struct {
	Name string `json:"name"`
	Read int64  `json:"read"`
	Left int64  `json:"left_out"`
	// Reason says why all of its rows were left out. Lost: somebody may miss them.
	Reason string `json:"reason,omitempty"`
	Lost   bool   `json:"lost,omitempty"`
}

// Left is a row that was left out.
type Left struct {
	Table  string `db:"source" json:"table"`
	Tenant string `db:"tenant" json:"tenant"`
	Object string `db:"object" json:"object"`
	Reason string `db:"reason" json:"reason"`
}

// Written are rows of one tenant.
type Written struct {
	Table  string `db:"source" json:"table"`
	Tenant string `db:"tenant" json:"tenant"`
	Rows   int64  `db:"n" json:"rows"`
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

func (r *Report) fill(ctx context.Context, tx store.Conn) (err error) {
	if r.Release, err = store.Get[string](ctx, tx, `SELECT coalesce(max(wazo_version), '') FROM w_infos`); err != nil {
		return err
	}
	r.Decisions, err = store.Select[Decision](ctx, tx, `SELECT `+tenantName+` AS tenant, coalesce(object, '') AS object, reason FROM w_decide ORDER BY nth`)
	if err != nil {
		return err
	}
	r.Left, err = store.Select[Left](ctx, tx, `SELECT source, `+tenantName+` AS tenant, coalesce(object, '') AS object, coalesce(reason, '') AS reason
		FROM w_left ORDER BY source, rowid`)
	if err != nil {
		return err
	}
	r.Corrected, err = store.Select[Left](ctx, tx, `SELECT source, `+tenantName+` AS tenant, coalesce(object, '') AS object, coalesce(reason, '') AS reason
		FROM w_mended ORDER BY source, rowid`)
	if err != nil {
		return err
	}
	if r.Policies, err = configuredPolicies(ctx, tx); err != nil {
		return err
	}
	for _, l := range r.Left {
		if i := slices.IndexFunc(r.Tables, func(t Table) bool { return t.Name == l.Table }); i >= 0 {
			r.Tables[i].Left++
		}
	}
	slices.SortFunc(r.Tables, func(a, b Table) int { return cmp.Compare(a.Name, b.Name) })
	ours, err := store.Select[string](ctx, tx, `SELECT m.name FROM sqlite_master m JOIN pragma_table_xinfo(m.name) c
		WHERE m.type = 'table' AND m.name NOT LIKE 'w\_%' ESCAPE '\' AND c.name = 'tenant_uuid' AND m.name <> 'row_count' ORDER BY m.name`)
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
	if len(r.Decisions) > 0 {
		p.Line("\nTo decide, or to know:")
		p.Groups(len(r.Decisions), func(i int) (string, string) {
			d := r.Decisions[i]
			return d.Reason, d.Tenant + ": " + d.Object
		})
	}
	printLeft(p, "Corrected, since our interfaces would refuse it as it was:", r.Corrected)
	printLeft(p, "Left out, by table:", r.Left)
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
			p.Line("  %-28s %8d read %8d kept %8d left out  %s", t.Name, t.Read, t.Read-t.Left, t.Left, t.Reason)
		}
	}
	p.Line("\nWritten, by tenant:")
	for _, x := range r.Written {
		p.Line("  %-28s %8d  %s", x.Table, x.Rows, x.Tenant)
	}
	return p.Err
}

func printLeft(p *report.Printer, head string, rows []Left) {
	if len(rows) == 0 {
		return
	}
	p.Line("\n%s", head)
	p.Groups(len(rows), func(i int) (string, string) {
		return rows[i].Table + ": " + rows[i].Reason, strings.TrimPrefix(rows[i].Tenant+": "+rows[i].Object, ": ")
	})
}

// counts fills in what there was of each kind.
func (r *Report) counts() {
	for i := range r.Verification.Kinds {
		k := &r.Verification.Kinds[i]
		for _, t := range r.Tables {
			if t.Name == k.Name {
				k.Was = t.Read
			}
		}
	}
}
