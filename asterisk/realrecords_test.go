package asterisk_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ringfence/ringfence/asterisk/ami"
	"github.com/ringfence/ringfence/asterisk/cdr"
	"github.com/ringfence/ringfence/callrecords"
	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// A call has its record, whether the gateway has heard of it or was away when it ended; and no call has two.
func TestRealCallRecords(t *testing.T) {
	s := office(t)
	s.Announcements = []*confdsvc.RecordingAnnouncements{{TenantUUID: acme, Start: new("beep"), Stop: new("activated")}}
	s.Users[0].OnlineCallRecordEnabled = new(true)
	a := startReal(t, s)
	a.apply()
	db := storetest.SQLite(t)
	if _, err := db.Exec(t.Context(), `INSERT INTO auth_tenant (uuid, parent_uuid, name, slug) VALUES ($1, $1, 'acme', 'acme')`, acme); err != nil {
		t.Fatal(err)
	}
	// gateway runs one until its context ends. It reads a file, or hears events alone.
	gateway := func(file string) (stop func()) {
		records, err := callrecords.New(callrecords.Options{DB: db, Users: func(context.Context, store.Conn, []string) ([]callrecords.User, error) {
			return []callrecords.User{{Endpoint: "alice", TenantUUID: acme, UUID: alice, Name: "Alice", Number: "101"}, {Endpoint: "bob", TenantUUID: acme, UUID: bob, Name: "Bob", Number: "102"}}, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		conn, err := ami.Dial(t.Context(), ami.Options{Address: a.at("manager"), Username: "ringfence", Secret: "s", Events: func(m ami.Message) {
			if m.Event() == cdr.Event {
				records.Hear(m.Get)
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var work sync.WaitGroup
		work.Go(func() { records.Run(ctx, callrecords.Settings{Asterisk: "main", File: file}) })
		return func() {
			_ = conn.Close()
			cancel()
			work.Wait()
		}
	}
	stored := func() string {
		rows, err := store.Select[string](t.Context(), db, `SELECT source_name || ' ' || source_extension || ' ' || coalesce(source_user_uuid, '') || ' calls ' || destination_name || ' ' ||
			requested_extension || ' ' || coalesce(destination_user_uuid, '') || ': ' || status FROM call_record ORDER BY start_at`)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(rows, "\n")
	}
	phones := []*phone{a.phone(t, "alice"), a.phone(t, "bob")}
	calls := func() {
		t.Helper()
		if _, got := phones[0].dial("102"); got != 200 {
			t.Fatalf("alice dials 102: %d", got)
		}
	}
	has := func(n int) {
		t.Helper()
		one := "Alice 101 " + alice + " calls Bob 102 " + bob + ": answered"
		want := strings.TrimSuffix(strings.Repeat(one+"\n", n), "\n")
		wait(t, "the records", func() bool { return stored() == want }, func() string { return stored() + "\nwanted:\n" + want })
	}
	stop := gateway("")
	calls()
	a.rest("alice dials 102", "answer", phones)
	has(1)
	calls()
	stop() // during a call
	a.rest("alice dials 102 again", "answer", phones)
	file := a.dir + "/log/cdr-custom/" + cdr.File
	stop = gateway(file)
	defer func() { stop() }()
	has(2)
	calls()
	a.rest("alice dials 102 once more", "answer", phones)
	has(3)
	stop()
	stop = gateway(file)
	a.store(bob, "callrecord", "5")
	calls()
	recorded := func() string {
		names, _ := filepath.Glob(a.dir + "/spool/monitor/ringfence/" + acme + "/call-*.wav")
		if len(names) == 1 {
			if info, err := os.Stat(names[0]); err == nil && info.Size() > 1000 {
				return filepath.Base(names[0])
			}
		}
		return ""
	}
	a.said("Playing 'beep") // which the called hears
	wait(t, "something is recorded", func() bool { return recorded() != "" }, nil)
	a.rest("alice dials 102 at last", "answer", phones)
	has(4)
	names, err := store.Select[string](t.Context(), db, `SELECT filename FROM call_recording r JOIN call_record c ON c.id = r.call_id
		WHERE r.tenant_uuid = $1 AND c.start_at = (SELECT max(start_at) FROM call_record)`, acme)
	if err != nil || len(names) != 1 || names[0] != recorded() {
		t.Errorf("the recordings are %q, want %q: %v", names, recorded(), err)
	}

	// Who is called by a group hears it as well, if the one who calls records that.
	a.store(bob, "callrecord", "0")
	a.store(alice, "callrecord", "3")
	if _, got := phones[0].dial("200"); got != 200 {
		t.Fatalf("alice dials 200: %d", got)
	}
	a.said("Playing 'beep")
	a.rest("alice dials 200", "answer", phones)
	a.store(alice, "callrecord", "0")

	// Both sides hear what the tenant announces when somebody starts to record by a key, and when they stop.
	calls()
	phones[0].current().press("*3")
	a.said("Playing 'beep")
	said := a.cli("core show channel " + strings.Fields(a.cli("core show channels concise"))[0][:len("PJSIP/alice-00000000")])
	if !strings.Contains(said, "TOUCH_MIXMONITOR_MESSAGE_STOP=activated") {
		t.Errorf("nobody hears of the end: %s", said)
	}
	a.rest("a recording by a key", "answer", phones)
}
