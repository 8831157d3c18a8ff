package asterisk_test

import (
	"bytes"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringfence/ringfence/asterisk"
	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// manyUsers is how many users BenchmarkGenerate writes.
const manyUsers = 10_000

// manyTrunks and manyMenus are how many there are beside them.
const manyTrunks, manyMenus = 20, 200

// BenchmarkGenerate reads and writes users with a line, a telephone that has the tenant's template, a number and a voicemail each, trunks and menus.
func BenchmarkGenerate(b *testing.B) {
	for _, name := range []string{"sqlite", "postgres"} {
		b.Run(name, func(b *testing.B) {
			var db store.DB
			if name == "sqlite" {
				db = storetest.SQLite(b)
			} else {
				db = storetest.Postgres(b)
			}
			fill(b, db)
			snapshots := confdsvc.NewSnapshots(db)
			var peak atomic.Uint64
			stop := make(chan struct{})
			defer close(stop)
			go watchHeap(&peak, stop)
			runtime.GC()
			var reading, writing time.Duration
			for b.Loop() {
				begin := time.Now()
				s, err := snapshots.Read(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				read := time.Now()
				files, _, err := asterisk.Generate(s, asterisk.Options{})
				if err != nil || len(files["pjsip.conf"]) < manyUsers*500 || bytes.Count(files["extensions.conf"], []byte("[ringfence-menu-")) < manyMenus {
					b.Fatal(len(files["pjsip.conf"]), err)
				}
				reading, writing = reading+read.Sub(begin), writing+time.Since(read)
			}
			b.ReportMetric(reading.Seconds()/float64(b.N), "s/read")
			b.ReportMetric(writing.Seconds()/float64(b.N), "s/write")
			b.ReportMetric(float64(peak.Load())/(1<<20), "MiB-heap")
		})
	}
}

// fill makes the users, in one statement for each table.
func fill(b *testing.B, db store.DB) {
	b.Helper()
	c := installation(b, db)
	in := c.Create("/contexts", object{"label": "in", "user_ranges": ranges("100000", "199999")})
	global := c.Get("/tenants").List().Items[0].Text("global_sip_template_uuid")
	random := "gen_random_uuid()"
	if db.Engine() == "sqlite" {
		random = `lower(substr(hex(randomblob(16)), 1, 8) || '-0000-4000-8000-' || substr(hex(randomblob(16)), 1, 12))`
	}
	series := fmt.Sprintf("WITH RECURSIVE series(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < %d) ", manyUsers)
	tenant, name := in["tenant_uuid"], in["name"]
	for _, statement := range []struct {
		sql  string
		args []any
	}{
		{`INSERT INTO confd_user (uuid, tenant_uuid, firstname, lastname, email, caller_id, mobile_fallback_enabled, call_record_outgoing_external_enabled,
			call_record_outgoing_internal_enabled, call_record_incoming_internal_enabled, call_record_incoming_external_enabled, subscription_type, enabled)
			` + series + `SELECT ` + random + `, $1, 'First' || n, 'Last', 'user' || n || '@example.org', '"First' || n || ' Last"', false, false, false, false, false, 0, true FROM series`, []any{tenant}},
		{`INSERT INTO confd_extension (tenant_uuid, exten, context, enabled) ` + series + `SELECT $1, CAST(100000 + n AS text), $2, true FROM series`, []any{tenant, name}},
		{`INSERT INTO confd_line (tenant_uuid, context, provisioning_code, position, registrar) ` + series + `SELECT $1, $2, CAST(100000 + n AS text), 1, 'default' FROM series`, []any{tenant, name}},
		{`INSERT INTO confd_voicemail (tenant_uuid, name, number, context, password, delete_messages, ask_password, enabled, options, accesstype)
			` + series + `SELECT $1, 'Box ' || n, CAST(100000 + n AS text), $2, '1234', false, true, true, '[]', 'personal' FROM series`, []any{tenant, name}},
		{`INSERT INTO confd_endpoint_sip (uuid, tenant_uuid, name, aor_section_options, auth_section_options, endpoint_section_options, identify_section_options,
			registration_section_options, registration_outbound_auth_section_options, outbound_auth_section_options)
			` + series + `SELECT ` + random + `, $1, 'sip' || (100000 + n), '[]', '[["username", "sip' || (100000 + n) || '"], ["password", "secret"]]', '[]', '[]', '[]', '[]', '[]' FROM series`, []any{tenant}},
		{`INSERT INTO confd_endpoint_sip_parent (endpoint_uuid, template_uuid, position) SELECT e.uuid, t.uuid, 0 FROM confd_endpoint_sip e, confd_endpoint_sip_template t WHERE t.uuid = $1`, []any{global}},
		{`INSERT INTO confd_line_endpoint (line_id, sip_uuid) SELECT l.id, e.uuid FROM confd_line l JOIN confd_endpoint_sip e ON e.name = 'sip' || l.provisioning_code`, nil},
		{`INSERT INTO confd_line_extension (line_id, extension_id) SELECT l.id, x.id FROM confd_line l JOIN confd_extension x ON x.exten = l.provisioning_code`, nil},
		{`INSERT INTO confd_user_line (user_id, line_id, position) SELECT u.id, l.id, 0 FROM confd_user u JOIN confd_line l ON l.id = u.id`, nil},
		{`INSERT INTO confd_user_voicemail (user_id, voicemail_id) SELECT u.id, v.id FROM confd_user u JOIN confd_voicemail v ON v.id = u.id`, nil},
	} {
		if _, err := db.Exec(b.Context(), statement.sql, statement.args...); err != nil {
			b.Fatalf("%s: %v", statement.sql, err)
		}
	}
	outgoing := c.Create("/contexts", object{"label": "out", "type": "outcall"})
	for i := range manyTrunks {
		endpoint := c.Create("/endpoints/sip", object{"name": fmt.Sprint("carrier", i), "aor_section_options": [][]string{{"contact", "sip:carrier.example"}}})
		trunk, outcall := c.Create("/trunks", object{}), c.Create("/outcalls", object{"name": fmt.Sprint("out", i)})
		pattern := c.Create("/extensions", object{"exten": fmt.Sprintf("_0%02dX.", i), "context": outgoing["name"]})
		c.Do("PUT", fmt.Sprintf("/trunks/%v/endpoints/sip/%v", trunk["id"], endpoint["uuid"]), nil).Want(204)
		c.Do("PUT", fmt.Sprintf("/outcalls/%v/extensions/%v", outcall["id"], pattern["id"]), nil).Want(204)
		c.Do("PUT", fmt.Sprintf("/outcalls/%v/trunks", outcall["id"]), object{"trunks": []object{{"id": trunk["id"]}}}).Want(204)
	}
	for i := range manyMenus {
		var choices []object
		for key := range 10 {
			choices = append(choices, object{"exten": fmt.Sprint(key), "destination": object{"type": "user", "user_id": 10*i + key + 1}})
		}
		c.Create("/ivr", object{"name": fmt.Sprint("menu", i), "menu_sound": "vm-options", "choices": choices})
	}
}

func watchHeap(peak *atomic.Uint64, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(5 * time.Millisecond):
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak.Store(max(peak.Load(), m.HeapInuse))
		}
	}
}
