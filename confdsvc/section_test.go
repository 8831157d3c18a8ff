package confdsvc_test

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"testing"

	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// sectionTries are, by the path of a section, what a new installation has, what else may be written, and what is refused and what the refusal says.
var sectionTries = map[string]struct {
	counts      string // an option that may be any number
	first, next object
	wrong       []object
	says        []string
}{
	"pjsip/global": {
		"keep_alive_interval",
		object{"endpoint_identifier_order": "auth_username,username,ip"},
		object{"user_agent": "PBX 1.0 (x)", "endpoint_identifier_order": "username,ip,header"},
		[]object{{"endpoint_identifier_order": "ip,username"}, {"regcontext": "default"}, {"max_forwards": "256"}, {"user_agent": "a;b"}, {"type": "global"}},
		[]string{"'options: endpoint_identifier_order' must be a list of", "'options: regcontext' cannot be set: Asterisk would", "a number from 1 to 255", "user_agent", "invalid variable (type)' must be one of (all_codecs"},
	},
	"pjsip/system": {
		"timer_t1",
		object{},
		object{"timer_t1": "200", "compact_headers": "yes"},
		[]object{{"timer_t1": "5"}, {"max_contacts": "1"}},
		[]string{"timer_t1", "'options: invalid variable (max_contacts)' must be one of (accept_multiple_sdp_answers, "},
	},
	"features/general": {
		"featuredigittimeout",
		object{
			"transferdigittimeout": "5", "pickupexten": "*8", "featuredigittimeout": "1500", "atxfernoanswertimeout": "15", "atxferdropcall": "no",
			"atxferloopdelay": "10", "atxfercallbackretries": "2",
		},
		object{"xfersound": "digits/1", "pickupexten": "*9"},
		[]object{{"parkext": "700"}, {"xfersound": "/etc/passwd"}, {"xfersound": "../x"}, {"pickupexten": "*8,1"}},
		[]string{"invalid variable (parkext)", "xfersound", "xfersound", "pickupexten"},
	},
	"features/featuremap": {
		"disconnect",
		object{"blindxfer": "*1", "disconnect": "*0", "atxfer": "*2"},
		object{"blindxfer": "#1", "atxfer": "#2"},
		[]object{{"atxfer": "*2"}, {"blindxfer": "*1"}, {"blindxfer": "*1", "atxfer": "x"}, {"automixmon": "*3"}, {"blindxfer": "*1", "atxfer": "*1"}},
		[]string{"'options: blindxfer' is required", "'options: atxfer' is required", "atxfer", "togglerecord", "blindxfer must have other keys than atxfer"},
	},
	"features/applicationmap": {
		"togglerecord",
		object{"togglerecord": "*3"},
		object{"togglerecord": "*4"},
		[]object{{}, {"togglerecord": "*3,self,System(reboot)"}, {"togglerecord": "*3", "reboot": "*9,self,System,reboot"}},
		[]string{"'options: togglerecord' is required", "which application they start cannot be chosen", "invalid variable (reboot)' must be one of (togglerecord)"},
	},
	"queues/general": {
		"autofill",
		object{"persistentmembers": "yes", "autofill": "no", "monitor-type": "no", "updatecdr": "no", "shared_lastcall": "yes"},
		object{"persistentmembers": "yes", "autofill": "yes", "keepstats": "yes"},
		[]object{{"persistentmembers": "no"}, {"autofill": "maybe"}, {"membermacro": "x"}},
		[]string{"persistentmembers' must be one of yes", "yes or no", "invalid variable (membermacro)"},
	},
	"rtp/general": {
		"rtcpinterval",
		object{"rtpstart": "10000", "rtpend": "20000", "stunaddr_reresolve_ttl_0": "yes"},
		object{"rtpstart": "12000", "rtpend": "13000", "turnpassword": "p-one"},
		[]object{{"rtpstart": "20000", "rtpend": "10000"}, {"rtpstart": "99999"}, {"rtpstart": "1000"}, {"stunaddr": "a b"}, {"turnpassword": "a\nb"}},
		[]string{"less than rtpend", "less than rtpend", "at least 1024", "stunaddr", "options"},
	},
	"rtp/ice_host_candidates": {
		"192.0.2.9",
		object{},
		object{"192.0.2.9": "203.0.113.4", "2001:db8::9": "203.0.113.4,include_local_address"},
		[]object{{"192.0.2.9": "a b"}, {"192.0.2": "203.0.113.4"}, {"eth0": "203.0.113.4"}},
		[]string{"the address that is told instead of it", "192.0.2", "eth0"},
	},
	"hep/general": {
		"capture_id",
		object{"enabled": "0"},
		object{"enabled": "yes", "capture_address": "192.0.2.1:9061", "capture_password": "p-two"},
		[]object{{"capture_address": "192.0.2.1"}, {"capture_address": "a b:1"}, {"uuid_type": "x"}, {"capture_socket": "/tmp/x"}},
		[]string{"a host with a port", "a host with a port", "one of call-id, channel", "invalid variable (capture_socket)"},
	},
	"confbridge/wazo_default_bridge": {
		"max_members",
		object{"type": "bridge"},
		object{"mixing_interval": "40", "sound_join": "beep"},
		[]object{{"record_command": "/bin/sh"}, {"record_options": "x"}, {"record_file": "/tmp/x"}, {"regcontext": "x"}, {"template": "x"}, {"type": "user"}, {"mixing_interval": "30"}},
		[]string{"'options: record_command' cannot be set: Asterisk would run a program", "record_options", "record_file", "regcontext", "template", "type", "one of 10, 20, 40, 80"},
	},
	"confbridge/wazo_default_user": {
		"timeout",
		object{"type": "user", "dsp_drop_silence": "yes", "talk_detection_events": "yes"},
		object{"quiet": "yes", "announce_user_count_all": "5"},
		[]object{{"admin": "yes"}, {"pin": "1"}, {"announcement": "http://x/y"}, {"menu": "x"}, {"dialplan_exec": "a,b,1"}},
		[]string{"'options: admin' cannot be set: each conference", "pin", "announcement", "invalid variable (menu)", "invalid variable (dialplan_exec)"},
	},
}

func init() {
	yesNo := []string{"yes", "no"}
	for path, try := range sectionTries {
		documentSamples["asterisk/"+path] = crudtest.Document{Resource: crudtest.Resource{
			Minimal: func(_ *crudtest.Client, n int) object {
				options := maps.Clone(try.first)
				if options[try.counts] = fmt.Sprint(500 + n); try.counts == "autofill" { // so that each is another
					options["autofill"], options["updatecdr"], options["keepstats"] = yesNo[n&1], yesNo[n>>1&1], yesNo[n>>2&1]
				}
				return object{"options": options}
			},
		}}
	}
}

// Sections begin with what a new installation has, which can be written back. What may run programs, or lead calls, is refused, and so is
// what Asterisk would not load.
func TestAsteriskSections(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		master, a := w.as(t, "master"), w.as(t, "a")
		for path, try := range sectionTries {
			at := "/asterisk/" + path
			a.Get(at).Want(http.StatusForbidden)
			a.Do(http.MethodPut, at, object{"options": try.first}).Want(http.StatusForbidden).Says("Only the master tenant may do this")
			first := master.Get(at).Want(http.StatusOK).Object()
			if !reflect.DeepEqual(first["options"], map[string]any(try.first)) {
				t.Errorf("%s begins with %v", path, first)
			}
			master.Do(http.MethodPut, at, first).Want(http.StatusNoContent)
			for i, wrong := range try.wrong {
				master.Do(http.MethodPut, at, object{"options": wrong}).Want(http.StatusBadRequest).Says(try.says[i])
			}
			for _, wrong := range []any{nil, 1, "x", object{"x": 1}, []any{"x"}} {
				master.Do(http.MethodPut, at, object{"options": wrong}).Want(http.StatusBadRequest).Says("options")
			}
			master.Do(http.MethodPut, at, object{"options": try.next}).Want(http.StatusNoContent)
			if now := master.Get(at).Object(); !reflect.DeepEqual(now["options"], map[string]any(try.next)) {
				t.Errorf("%s is %v, what was written was %v", path, now, try.next)
			}
		}
		s, err := confdsvc.NewSnapshots(db).Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Section("rtp/general"); !maps.Equal(got, map[string]string{"rtpstart": "12000", "rtpend": "13000", "turnpassword": "p-one"}) {
			t.Errorf("the files get %v", got)
		}
		if kept, err := store.Get[int](t.Context(), db, `SELECT count(*) FROM audit WHERE coalesce(before, '') || coalesce(after, '') LIKE '%p-one%'`); err != nil || kept > 0 {
			t.Errorf("the audit has a password: %d, %v", kept, err)
		}
	})
}

// Every tenant can read which options SIP has: their names alone.
func TestSIPDoc(t *testing.T) {
	doc := newWorld(t, storetest.SQLite(t)).as(t, "a").Get("/asterisk/pjsip/doc").Want(http.StatusOK).Object()
	for section, option := range map[string]string{
		"aor": "max_contacts", "auth": "username", "endpoint": "allow", "global": "user_agent", "identify": "match", "registration": "client_uri",
		"system": "timer_t1", "transport": "bind",
	} {
		of, _ := doc[section].(map[string]any)
		if !reflect.DeepEqual(of[option], map[string]any{"name": option}) || of["type"] != nil {
			t.Errorf("%s: %v", section, of[option])
		}
	}
}
