package asterisk_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/freeport"
)

// Two hundred calls at once go out: each number is called once, and seen with its caller's number. SIPp is the telephones, and the carrier.
func TestRealCallsAtOnce(t *testing.T) {
	const calls = 200
	program, err := exec.LookPath("sipp")
	if err != nil {
		t.Skip("SIPp is not installed (Debian: apt-get install sip-tester)")
	}
	folder := t.TempDir()
	ports := make([]int, 2)
	for i := range ports {
		port, release, err := freeport.Reserve()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(release)
		ports[i] = port
	}
	begin := func(port int, scenario string, more ...string) *exec.Cmd {
		t.Helper()
		path, err := filepath.Abs("testdata/sipp/" + scenario + ".xml")
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), program, append([]string{
			"-sf", path, "-i", "127.0.0.1", "-p", fmt.Sprint(port), "-m", fmt.Sprint(calls), "-l", fmt.Sprint(calls), "-nostdin",
			"-timeout", fmt.Sprint((2 * patience).Seconds()), "-timeout_error", "-trace_err", "-error_file", scenario + ".errors",
		}, more...)...)
		cmd.Dir = folder
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	errors := func() string {
		all := ""
		for _, scenario := range []string{"carrier", "callers"} {
			text, _ := os.ReadFile(filepath.Join(folder, scenario+".errors"))
			all += string(text)
		}
		return all
	}

	s := office(t)
	callsOut(t, s, `"trunks": [{"id": 1}]`, "")
	s.Endpoints = append(s.Endpoints, read[confdsvc.EndpointSIP](t, fmt.Sprintf(`{"uuid": "carrier", "tenant_uuid": "%s", "name": "carrier",
		"aor_section_options": [["contact", "sip:127.0.0.1:%d"], ["qualify_frequency", "0"]], "endpoint_section_options": [["allow", "!all,ulaw"], ["direct_media", "no"]]}`, acme, ports[0])))
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
	if err := os.WriteFile(filepath.Join(folder, "calls.csv"), []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	carrier := begin(ports[0], "carrier", "-trace_logs", "-log_file", "called")
	callers := begin(ports[1], "callers", "-inf", "calls.csv", "-r", "50", a.at("sip"))
	both := fmt.Sprintf("%d active calls", calls)
	wait(t, "all calls are there at once", func() bool { return strings.Contains(a.cli("core show channels count"), both) },
		func() string { return a.cli("core show channels count") + errors() + a.news() })
	a.cli("channel request hangup all")
	for _, one := range []*exec.Cmd{callers, carrier} {
		if err := one.Wait(); err != nil {
			t.Errorf("SIPp: %v\n%s", err, errors())
		}
	}
	called, err := os.ReadFile(filepath.Join(folder, "called"))
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
