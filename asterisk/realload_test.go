package asterisk_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/porttest"
)

// sipp runs scenarios of SIPp, each on a port of its own.
type sipp struct {
	t         *testing.T
	program   string
	folder    string
	calls     int
	scenarios []string
	ports     []int
}

// newSIPp prepares scenarios for so many calls at once, and skips the test where SIPp is not installed.
func newSIPp(t *testing.T, calls int, scenarios ...string) *sipp {
	t.Helper()
	program, err := exec.LookPath("sipp")
	if err != nil {
		t.Skip("SIPp is not installed (Debian: apt-get install sip-tester)")
	}
	s := &sipp{t: t, program: program, folder: t.TempDir(), calls: calls, scenarios: scenarios}
	for range scenarios {
		port, release, err := porttest.Reserve()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(release)
		s.ports = append(s.ports, port)
	}
	return s
}

// file writes a file that a scenario reads.
func (s *sipp) file(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.folder, name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// begin starts one of the scenarios, by its place.
func (s *sipp) begin(n int, more ...string) *exec.Cmd {
	s.t.Helper()
	path, err := filepath.Abs("testdata/sipp/" + s.scenarios[n] + ".xml")
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.CommandContext(s.t.Context(), s.program, append([]string{
		"-sf", path, "-i", "127.0.0.1", "-p", fmt.Sprint(s.ports[n]), "-m", fmt.Sprint(s.calls), "-l", fmt.Sprint(s.calls), "-nostdin",
		"-timeout", fmt.Sprint((2 * patience).Seconds()), "-timeout_error", "-trace_err", "-error_file", s.scenarios[n] + ".errors",
	}, more...)...)
	cmd.Dir = s.folder
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	return cmd
}

// end waits until scenarios have ended, as they should.
func (s *sipp) end(scenarios ...*exec.Cmd) {
	s.t.Helper()
	for _, one := range scenarios {
		if err := one.Wait(); err != nil {
			s.t.Errorf("SIPp: %v\n%s", err, s.errors())
		}
	}
}

func (s *sipp) errors() string {
	all := ""
	for _, scenario := range s.scenarios {
		text, _ := os.ReadFile(filepath.Join(s.folder, scenario+".errors"))
		all += string(text)
	}
	return all
}

// Two hundred calls at once go out: each number is called once, and seen with its caller's number. SIPp is the telephones, and the carrier.
func TestRealCallsAtOnce(t *testing.T) {
	const calls = 200
	sipp := newSIPp(t, calls, "carrier", "callers")
	s := office(t)
	callsOut(t, s, `"trunks": [{"id": 1}]`, "")
	s.Endpoints = append(s.Endpoints, read[confdsvc.EndpointSIP](t, fmt.Sprintf(`{"uuid": "carrier", "tenant_uuid": "%s", "name": "carrier",
		"aor_section_options": [["contact", "sip:127.0.0.1:%d"], ["qualify_frequency", "0"]], "endpoint_section_options": [["allow", "!all,ulaw"], ["direct_media", "no"]]}`, acme, sipp.ports[0])))
	s.Trunks, s.TrunkSIP = []*confdsvc.Trunk{{ID: 1, TenantUUID: acme}}, map[confdsvc.ID]string{1: "carrier"}
	a := startReal(t, s)
	a.apply()
	a.clean("the first apply")

	want := map[string]bool{}
	var lines strings.Builder
	lines.WriteString("SEQUENTIAL\n")
	for i := range calls {
		name, own := []string{"alice", "bob", "carol", "dave"}[i%4], 101+i%4
		fmt.Fprintf(&lines, "%s;0%d;[authentication username=%[1]s password=secret-%[1]s]\n", name, 1000+i)
		want[fmt.Sprintf("%d %d", 1000+i, own)] = true
	}
	sipp.file("calls.csv", lines.String())
	carrier := sipp.begin(0, "-trace_logs", "-log_file", "called")
	callers := sipp.begin(1, "-inf", "calls.csv", "-r", "50", a.at("sip"))
	both := fmt.Sprintf("%d active calls", calls)
	wait(t, "all calls are there at once", func() bool { return strings.Contains(a.cli("core show channels count"), both) },
		func() string { return a.cli("core show channels count") + sipp.errors() + a.news() })
	a.cli("channel request hangup all")
	sipp.end(callers, carrier)
	called, err := os.ReadFile(filepath.Join(sipp.folder, "called"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(called)) {
		if line = strings.TrimSpace(line); !want[line] {
			t.Errorf("the carrier was called: %q", line)
		}
		delete(want, line)
	}
	if len(want) > 0 {
		t.Errorf("nobody has called %v", want)
	}
	a.idle()
	a.clean("the calls")
}
