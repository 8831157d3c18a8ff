package asterisk_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringfence/ringfence/asterisk/ami"
	"github.com/ringfence/ringfence/asterisk/cdr"
	"github.com/ringfence/ringfence/authsvc/mail"
	"github.com/ringfence/ringfence/authsvc/mail/mailtest"
	"github.com/ringfence/ringfence/callrecords"
	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/audio"
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

// whitePage is a TIFF with an empty page of 200 lines, as fax machines send it.
func whitePage() []byte {
	const lines, head, tags = 200, 8, 13
	pixels := append(bytes.Repeat([]byte{0xff}, lines/8), 0, 0x10, 0x01) // each line is as the white one before (T.6), and the end
	resolutions := []uint32{204, 1, 98, 1}
	at := uint32(head + 2 + 12*tags + 4)
	var out bytes.Buffer
	put := func(all ...any) {
		for _, one := range all {
			_ = binary.Write(&out, binary.LittleEndian, one)
		}
	}
	put([]byte("II*\x00"), uint32(head), uint16(tags))
	for _, tag := range [][3]uint32{
		{256, 4, 1728},
		{257, 4, lines},
		{258, 3, 1},
		{259, 3, 4},
		{262, 3, 0},
		{266, 3, 1},
		{273, 4, at + 16},
		{277, 3, 1},
		{278, 4, lines},
		{279, 4, uint32(len(pixels))},
		{282, 5, at},
		{283, 5, at + 8},
		{296, 3, 2},
	} {
		put(uint16(tag[0]), uint16(tag[1]), uint32(1), tag[2])
	}
	put(uint32(0), resolutions, pixels)
	return out.Bytes()
}

// A fax that somebody sends comes by mail, and is in the folder no more.
func TestRealFaxes(t *testing.T) {
	s := office(t)
	const address = "office@example.org"
	outside(t, s, 8, "5550108", `{"type": "application", "application": "fax_to_mail", "email": "`+address+`"}`)
	a := startReal(t, s)
	a.apply()
	server := mailtest.Start(t, mailtest.Options{})
	sender, err := mail.New(mail.Config{Host: server.Host, Port: server.Port, CAFile: server.CAFile, From: "pbx@example.com", BaseURL: "https://pbx.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	folder := a.dir + "/spool/monitor/ringfence"
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	records, err := callrecords.New(callrecords.Options{
		DB: storetest.SQLite(t), Recordings: func() audio.Folder { return audio.Folder(folder) }, SendFax: sender.Fax,
		FaxAddress: func(_ context.Context, tenantUUID, key string) (string, error) {
			if to := (&confdsvc.ToMail{Email: address}); tenantUUID == acme && to.Key(acme) == key {
				return to.Email, nil
			}
			return "", nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := ami.Dial(t.Context(), ami.Options{Address: a.at("manager"), Username: "ringfence", Secret: "s", Events: func(m ami.Message) {
		if m.Event() == "UserEvent" && m.Get("UserEvent") == callrecords.FaxEvent {
			records.HearFax(m.Get("File"))
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() { records.RunFaxes(ctx) })
	defer work.Wait()
	defer cancel()
	if err := os.WriteFile(a.dir+"/page.tif", whitePage(), 0o600); err != nil {
		t.Fatal(err)
	}
	a.cli("channel originate Local/5550108@" + public + "/n application SendFAX " + a.dir + "/page.tif")
	select {
	case m := <-server.Messages:
		if len(m.To) != 1 || m.To[0] != address || !bytes.Contains(m.Data, []byte("image/tiff")) || bytes.Contains(m.Data, []byte("may lack pages")) {
			t.Errorf("to %v: %s", m.To, m.Data)
		}
	case <-time.After(2 * patience):
		t.Fatalf("no mail comes:\n%s\n%s", a.log(), a.cli("fax show stats"))
	}
	a.idle()
	wait(t, "the file is removed", func() bool { left, _ := os.ReadDir(folder); return len(left) == 0 }, nil)
	if strings.Contains(a.cli("dialplan show"), address) {
		t.Error("the address is in the dialplan")
	}
}
