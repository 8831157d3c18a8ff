package asterisk_test

import (
	"os"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/confdsvc"
)

// Asterisk has what sections of its own files say, at once where it reads them by a reload, and otherwise after a restart. What it could
// not load is left out.
func TestRealSections(t *testing.T) {
	s := company(t)
	s.Conferences = []*confdsvc.Conference{{ID: 1, TenantUUID: acme}} // without, there are no profiles of them
	a := startReal(t, s)
	a.apply()
	a.clean("the sections of a new installation")
	has := func(command string, what ...string) {
		t.Helper()
		said := a.cli(command)
		for _, one := range what {
			if !strings.Contains(strings.Join(strings.Fields(said), " "), one) {
				t.Errorf("%s: no %q in\n%s", command, one, said)
			}
		}
	}
	has("rtp show settings", "Port start: 10000", "Port end: 20000")
	has("features show", "Blind Transfer # *1", "Attended Transfer *2", "Disconnect Call * *0", "One Touch MixMonitor *3", "Pickup *8 Blind")
	has("confbridge show profile user wazo_default_user", "Drop_silence: enabled", "Talk Detect Events: enabled")

	s.Sections = map[string]map[string]string{
		"pjsip/global":                   {"user_agent": "Mine (1)", "max_forwards": "60", "regcontext": "default"},
		"pjsip/system":                   {"timer_t1": "400"},
		"features/general":               {"transferdigittimeout": "6", "xfersound": "digits/1"},
		"features/featuremap":            {"blindxfer": "#1", "atxfer": "#2", "disconnect": "#1"},
		"features/applicationmap":        {"togglerecord": "#3"},
		"rtp/ice_host_candidates":        {"192.0.2.9": "203.0.113.4,include_local_address"},
		"hep/general":                    {"enabled": "yes", "capture_address": "127.0.0.1:9", "uuid_type": "channel"},
		"rtp/general":                    {"rtpstart": "11000", "rtpend": "12000", "strictrtp": "seqno"},
		"confbridge/wazo_default_bridge": {"type": "bridge", "mixing_interval": "40", "record_command": "/bin/false"},
		"confbridge/wazo_default_user":   {"quiet": "yes", "nothing": "x"},
	}
	a.set(s)
	if job := a.job(); job.LeftOut.Total != 4 {
		t.Errorf("left out are %v", job.LeftOut.Items)
	}
	a.clean("other sections")
	has("pjsip show settings", "user_agent : Mine (1)", "max_forwards : 60", "timer_t1 : 500")
	has("features show", "Blind Transfer # #1", "Attended Transfer #2", "One Touch MixMonitor #3")
	has("rtp show settings", "Port start: 11000", "Port end: 12000", "Strict RTP: Yes")
	has("confbridge show profile bridge wazo_default_bridge", "Mixing Interval: 40")
	has("confbridge show profile user wazo_default_user", "Quiet: enabled")
	has("module load res_hep.so", "Loaded res_hep.so")
	has("module show like res_hep.so", "Running")
	has("confbridge show menu wazo_default_admin_menu", "2=admin_toggle_conference_lock")

	// A node whose own file does not load the generated one has no profiles: then conferences are without.
	if err := os.Remove(a.dir + "/etc/confbridge.conf"); err != nil {
		t.Fatal(err)
	}
	a.own("confbridge.conf", "[general]\n")
	s.Sections["confbridge/wazo_default_user"] = map[string]string{"quiet": "no"}
	a.set(s)
	job := a.job()
	var left []string
	for _, o := range job.LeftOut.Items {
		if o.Kind == "section" && o.Option == "" {
			left = append(left, o.Name)
		}
	}
	if strings.Join(left, " ") != "wazo_default_bridge wazo_default_user wazo_default_user_menu wazo_default_admin_menu" {
		t.Errorf("the job %s leaves out %v: %s", job.State, left, job.Message)
	}
}
