package generation_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ringfence/ringfence/asterisk/generation"
)

func open(t *testing.T, folder string) *generation.Store {
	t.Helper()
	s, err := generation.Open(t.Context(), folder, 3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func stage(t *testing.T, s *generation.Store, files generation.Files) int64 {
	t.Helper()
	g, err := s.Stage(t.Context(), files, "a test")
	if err != nil {
		t.Fatal(err)
	}
	return g.Number
}

func live(t *testing.T, s *generation.Store) int64 {
	t.Helper()
	n, err := s.Live()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// asterisk is a telephone system that reads the live files when it is told to.
type asterisk struct {
	folder  string // of the live files
	loaded  map[string]string
	reloads []string
	refuse  map[string]error // by module, once
	down    error
	verify  error
	leave   func() // what happens when a module refuses
}

var fileOf = map[string]string{"features": "features.conf", "res_musiconhold": "musiconhold.conf", "res_pjsip": "pjsip.conf", "res_pjsip_endpoint_identifier_ip": "pjsip.conf", "res_pjsip_outbound_registration": "pjsip.conf", "pbx_config": "extensions.conf", "app_voicemail": "voicemail.conf", "app_queue": "queues.conf"}

func (a *asterisk) Reload(ctx context.Context, module string) error {
	a.reloads = append(a.reloads, module)
	if err := ctx.Err(); err != nil {
		return err
	}
	if a.down != nil {
		return a.down
	}
	if err := a.refuse[module]; err != nil {
		delete(a.refuse, module)
		if a.leave != nil {
			a.leave()
		}
		return err
	}
	if a.loaded == nil {
		a.loaded = map[string]string{}
	}
	content, _ := os.ReadFile(filepath.Join(a.folder, fileOf[module]))
	a.loaded[fileOf[module]] = string(content)
	return nil
}

func (a *asterisk) Verify(context.Context, generation.Files, generation.Files) error { return a.verify }

func files(pairs ...string) generation.Files {
	f := generation.Files{}
	for i := 0; i < len(pairs); i += 2 {
		f[pairs[i]] = []byte(pairs[i+1])
	}
	return f
}

// Staging touches nothing that is live; applying swaps all files at once and reloads only what changed, in the safe order.
func TestApply(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "asterisk"))
	pbx := &asterisk{folder: s.Folder()}
	apply := func(f generation.Files) generation.Change {
		t.Helper()
		before := live(t, s)
		n := stage(t, s, f)
		if live(t, s) != before {
			t.Fatal("staging changed what is live")
		}
		pbx.reloads = nil
		c, err := s.Apply(t.Context(), n, pbx, nil, nil)
		if err != nil || live(t, s) != n {
			t.Fatalf("Apply: %v, live is %d", err, live(t, s))
		}
		if !slices.Equal(pbx.reloads, c.Modules) {
			t.Errorf("reloads %v, planned %v", pbx.reloads, c.Modules)
		}
		for name, content := range f {
			got, err := os.ReadFile(filepath.Join(s.Folder(), name))
			if err != nil || string(got) != string(content) {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		}
		return c
	}
	wantModules := func(c generation.Change, want ...string) {
		t.Helper()
		if !slices.Equal(c.Modules, want) {
			t.Errorf("modules %v, want %v", c.Modules, want)
		}
	}
	one := files("pjsip.conf", "[a]\n", "extensions.conf", "[ctx]\n", "voicemail.conf", "[general]\n")
	wantModules(apply(one), "app_voicemail", "pbx_config", "res_pjsip")
	wantModules(apply(one))
	two := files("pjsip.conf", "[a]\n[b]\n", "extensions.conf", "[ctx]\n[more]\n", "voicemail.conf", "[general]\n")
	wantModules(apply(two), "pbx_config", "res_pjsip")
	wantModules(apply(one), "res_pjsip", "pbx_config") // only removes: telephones go before their context
	wantModules(apply(files("pjsip.conf", "[a]\ntype = aor\n", "extensions.conf", "[ctx]\n")), "res_pjsip", "app_voicemail")
	trunk := "[a]\ntype = registration\n\n[a]\ntype = identify\n"
	wantModules(apply(files("pjsip.conf", trunk, "extensions.conf", "[ctx]\n")), "res_pjsip", "res_pjsip_endpoint_identifier_ip", "res_pjsip_outbound_registration")
	wantModules(apply(files("pjsip.conf", trunk+"[b]\ntype = aor\n", "extensions.conf", "[ctx]\n")), "res_pjsip")
	wantModules(apply(files("pjsip.conf", "[b]\ntype = aor\n", "extensions.conf", "[ctx]\n")), "res_pjsip_outbound_registration", "res_pjsip_endpoint_identifier_ip", "res_pjsip")
	all := files("pjsip.conf", "[c]\n", "extensions.conf", "[all]\n", "voicemail.conf", "[general]\n", "queues.conf", "[q]\n", "features.conf", "[general]\n", "musiconhold.conf", "[default]\n")
	wantModules(apply(all), "app_voicemail", "res_musiconhold", "features", "pbx_config", "app_queue", "res_pjsip") // a queue needs its members' hints
}

// A file with the same content keeps its time; one with other content never has the size and time of another version.
func TestTimes(t *testing.T) {
	s := open(t, t.TempDir())
	stat := func(name string) os.FileInfo {
		t.Helper()
		info, err := os.Stat(filepath.Join(s.Folder(), name))
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	seen := map[string]bool{}
	var before os.FileInfo
	for i := range 30 {
		n := stage(t, s, files("queues.conf", "[q]\n", "pjsip.conf", fmt.Sprintf("[%02d]\n", i)))
		if _, err := s.Apply(t.Context(), n, nil, nil, nil); err != nil {
			t.Fatal(err)
		}
		now := stat("queues.conf")
		if before != nil && (!now.ModTime().Equal(before.ModTime()) || !os.SameFile(now, before)) {
			t.Fatal("an unchanged file has changed")
		}
		before = now
		when := stat("pjsip.conf").ModTime().String()
		if seen[when] {
			t.Fatal("two versions of one size have one time")
		}
		seen[when] = true
	}
	entries, err := os.ReadDir(filepath.Join(filepath.Dir(s.Folder()), "generations"))
	if err != nil || len(entries) > 4 {
		t.Errorf("%d generations are kept, %v", len(entries), err)
	}
}

// Passwords are open to the owner alone, and to the folder's group if the operator has said so, whatever the umask is.
func TestModes(t *testing.T) {
	for name, tt := range map[string]struct{ folder, file, inner os.FileMode }{
		"own":    {0o700, 0o600, 0o700},
		"group":  {0o755, 0o600, 0o700},
		"setgid": {0o750 | os.ModeSetgid, 0o640, 0o750},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			if err := os.Chmod(folder, tt.folder); err != nil {
				t.Fatal(err)
			}
			old := syscall.Umask(0o077)
			defer syscall.Umask(old)
			s := open(t, folder)
			if _, err := s.Apply(t.Context(), stage(t, s, files("pjsip.conf", "x")), nil, nil, nil); err != nil {
				t.Fatal(err)
			}
			for path, want := range map[string]os.FileMode{"live/pjsip.conf": tt.file, "generations": tt.inner, "generations/1": tt.inner} {
				if info, err := os.Stat(filepath.Join(folder, path)); err != nil || info.Mode().Perm() != want {
					t.Errorf("%s: %v, %v", path, info.Mode(), err)
				}
			}
		})
	}
}

// What fails is taken back: the files, and what the modules have read. So it is if the caller leaves meanwhile.
func TestRollBack(t *testing.T) {
	s := open(t, t.TempDir())
	pbx := &asterisk{folder: s.Folder(), refuse: map[string]error{}}
	good := stage(t, s, files("pjsip.conf", "good", "extensions.conf", "good", "voicemail.conf", "good"))
	if _, err := s.Apply(t.Context(), good, pbx, nil, nil); err != nil {
		t.Fatal(err)
	}
	for name, fail := range map[string]func(){
		"the first module": func() { pbx.refuse["app_voicemail"] = errors.New("no") },
		"the last module":  func() { pbx.refuse["res_pjsip"] = errors.New("no") },
		"reading back":     func() { pbx.verify = errors.New("no") },
	} {
		t.Run(name, func(t *testing.T) {
			n := stage(t, s, files("pjsip.conf", "bad", "extensions.conf", "bad", "voicemail.conf", "bad"))
			fail()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			pbx.leave = cancel
			defer func() { pbx.verify, pbx.leave = nil, nil }()
			_, err := s.Apply(ctx, n, pbx, nil, nil)
			if _, ok := errors.AsType[*generation.RolledBackError](err); !ok {
				t.Fatalf("Apply: %v", err)
			}
			if live(t, s) != good {
				t.Errorf("live is %d", live(t, s))
			}
			for name, content := range pbx.loaded {
				if content != "good" {
					t.Errorf("%s is loaded with %q", name, content)
				}
			}
			reason, err := os.ReadFile(filepath.Join(filepath.Dir(s.Folder()), "generations", fmt.Sprint(n), "FAILED"))
			if err != nil || !strings.Contains(string(reason), "no") {
				t.Errorf("FAILED: %q, %v", reason, err)
			}
			if again := stage(t, s, files("pjsip.conf", "bad", "extensions.conf", "bad", "voicemail.conf", "bad")); again == n {
				t.Error("a failed generation is staged again")
			}
		})
	}
}

// On the way back a module that fails does not keep the others from it, and one that is not loaded needs no reload.
func TestRollBackGoesOn(t *testing.T) {
	for name, tt := range map[string]struct {
		again error // of the second module on the way back
		back  bool
	}{
		"fails":         {errors.New("no"), false},
		"is not loaded": {fmt.Errorf("x: %w", generation.ErrNoModule), true},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir())
			pbx := &asterisk{folder: s.Folder(), refuse: map[string]error{}}
			good := stage(t, s, files("pjsip.conf", "good", "extensions.conf", "good", "voicemail.conf", "good"))
			if _, err := s.Apply(t.Context(), good, pbx, nil, nil); err != nil {
				t.Fatal(err)
			}
			bad := stage(t, s, files("pjsip.conf", "bad", "extensions.conf", "bad", "voicemail.conf", "bad"))
			pbx.verify = errors.New("wrong")
			_, err := s.Apply(t.Context(), bad, pbx, nil, func(module string, _ error) {
				if module == "res_pjsip" {
					pbx.refuse["pbx_config"] = tt.again
				}
			})
			if _, back := errors.AsType[*generation.RolledBackError](err); back != tt.back {
				t.Errorf("Apply: %v", err)
			}
			if pbx.loaded["pjsip.conf"] != "good" || pbx.loaded["voicemail.conf"] != "good" {
				t.Errorf("loaded: %v", pbx.loaded)
			}
		})
	}
}

// An Asterisk that goes away in the middle finds the old files, and is told to read them when it is back.
func TestPending(t *testing.T) {
	folder := t.TempDir()
	s := open(t, folder)
	pbx := &asterisk{folder: s.Folder()}
	first := stage(t, s, files("pjsip.conf", "first", "extensions.conf", "first"))
	if _, err := s.Apply(t.Context(), first, pbx, nil, nil); err != nil {
		t.Fatal(err)
	}
	second := stage(t, s, files("pjsip.conf", "second", "extensions.conf", "second"))
	pbx.down = errors.New("gone")
	_, err := s.Apply(t.Context(), second, pbx, nil, nil)
	if _, ok := errors.AsType[*generation.PendingError](err); !ok || live(t, s) != first {
		t.Fatalf("Apply: %v, live is %d", err, live(t, s))
	}
	if _, err := s.Apply(t.Context(), second, pbx, nil, nil); err == nil || live(t, s) != first {
		t.Errorf("a second change over an interrupted one: %v", err)
	}
	again := open(t, folder)
	if _, err := again.Recover(t.Context(), pbx); err == nil {
		t.Error("Recover without Asterisk succeeds")
	}
	pbx.down = nil
	if interrupted, err := again.Recover(t.Context(), pbx); !interrupted || err != nil {
		t.Errorf("Recover: %v, %v", interrupted, err)
	}
	if interrupted, err := again.Recover(t.Context(), pbx); interrupted || err != nil {
		t.Errorf("Recover twice: %v, %v", interrupted, err)
	}
	if pbx.loaded["pjsip.conf"] != "first" || pbx.loaded["extensions.conf"] != "first" {
		t.Errorf("loaded: %v", pbx.loaded)
	}
}

// A caller that may not apply any more stops it before anything changed.
func TestConfirm(t *testing.T) {
	s := open(t, t.TempDir())
	n := stage(t, s, files("pjsip.conf", "x"))
	no := errors.New("not ours any more")
	if _, err := s.Apply(t.Context(), n, nil, func() error { return no }, nil); !errors.Is(err, no) || live(t, s) != 0 {
		t.Errorf("Apply: %v, live is %d", err, live(t, s))
	}
}

// Names that are none of ours never become paths, and files that were changed by hand are not applied.
func TestHostile(t *testing.T) {
	folder := t.TempDir()
	s := open(t, folder)
	for _, name := range []string{"", ".", "..", "../x.conf", "a/pjsip.conf", "/etc/passwd", "pjsip.conf\n", "MANIFEST", "modules.conf", "asterisk.conf", ".conf", "Pjsip.conf", "pjsip.conf.tmp"} {
		if _, err := s.Stage(t.Context(), generation.Files{name: []byte("x")}, ""); err == nil {
			t.Errorf("a file %q was staged", name)
		}
	}
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(at string) error{
		"changed": func(at string) error { return os.WriteFile(filepath.Join(at, "pjsip.conf"), []byte("y"), 0o600) },
		"gone":    func(at string) error { return os.Remove(filepath.Join(at, "pjsip.conf")) },
		"a link": func(at string) error {
			return errors.Join(os.Remove(filepath.Join(at, "pjsip.conf")), os.Symlink(outside, filepath.Join(at, "pjsip.conf")))
		},
		"another manifest": func(at string) error {
			return os.WriteFile(filepath.Join(at, "MANIFEST"), []byte(`{"files":{"../../../x.conf":""}}`), 0o600)
		},
		"no manifest": func(at string) error { return os.Remove(filepath.Join(at, "MANIFEST")) },
	} {
		n := stage(t, s, files("pjsip.conf", "x", "queues.conf", name))
		if err := spoil(filepath.Join(folder, "generations", fmt.Sprint(n))); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Apply(t.Context(), n, nil, nil, nil); err == nil || live(t, s) != 0 {
			t.Errorf("%s: %v, live is %d", name, err, live(t, s))
		}
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(folder, "live")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Live(); err == nil {
		t.Error("a link to elsewhere counts as live")
	}
}

// A damaged live generation lends no files, and can be replaced only by hand: nothing is guessed.
func TestLiveChangedByHand(t *testing.T) {
	s := open(t, t.TempDir())
	if _, err := s.Apply(t.Context(), stage(t, s, files("pjsip.conf", "x")), nil, nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Folder(), "pjsip.conf"), []byte("by hand"), 0o600); err != nil {
		t.Fatal(err)
	}
	n := stage(t, s, files("pjsip.conf", "x", "queues.conf", ""))
	g, content, err := s.Read(n)
	if err != nil || string(content["pjsip.conf"]) != "x" || g.Source != "a test" {
		t.Errorf("Read: %v, %q, %v", g, content, err)
	}
}

// What was read is read again once somebody has touched it.
func TestChangedSinceItWasRead(t *testing.T) {
	s := open(t, t.TempDir())
	n := stage(t, s, files("pjsip.conf", "x", "queues.conf", ""))
	for range 2 {
		if _, content, err := s.Read(n); err != nil || string(content["pjsip.conf"]) != "x" {
			t.Errorf("%q, %v", content, err)
		}
	}
	at := filepath.Join(filepath.Dir(s.Folder()), "generations", fmt.Sprint(n), "pjsip.conf")
	if err := errors.Join(os.WriteFile(at, []byte("y"), 0o600), os.Chtimes(at, time.Time{}, time.Now().Add(time.Hour))); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Read(n); err == nil || !strings.Contains(err.Error(), "pjsip.conf is not as it was generated") {
		t.Error(err)
	}
	if err := os.WriteFile(at, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Read(n); err != nil {
		t.Error(err)
	}
}

// A diff shows what comes and goes, and no secrets.
func TestDiff(t *testing.T) {
	number := func(from, to int) string {
		var b strings.Builder
		for i := from; i <= to; i++ {
			fmt.Fprintf(&b, "line %d\n", i)
		}
		return b.String()
	}
	for _, tt := range []struct{ name, file, before, after, want string }{
		{"equal", "pjsip.conf", "a\nb\n", "a\nb\n", ""},
		{"new", "pjsip.conf", "", "a\n", "@@ -1,0 +1,1 @@\n+a\n"},
		{"gone", "pjsip.conf", "a\n", "", "@@ -1,1 +1,0 @@\n-a\n"},
		{"in the middle", "pjsip.conf", number(1, 9), number(1, 4) + "new\n" + number(6, 9), "@@ -2,7 +2,7 @@\n line 2\n line 3\n line 4\n-line 5\n+new\n line 6\n line 7\n line 8\n"},
		{"far apart", "pjsip.conf", "x\n" + number(1, 20) + "y\n", number(1, 20), "@@ -1,4 +1,3 @@\n-x\n line 1\n line 2\n line 3\n@@ -19,4 +18,3 @@\n line 18\n line 19\n line 20\n-y\n"},
		{"moved, with repeated lines", "pjsip.conf", "[a]\nt\n[b]\nt\n", "[b]\nt\n[a]\nt\n", "@@ -1,4 +1,4 @@\n-[a]\n-t\n [b]\n+t\n+[a]\n t\n"},
		{"in a section", "pjsip.conf", "[a]\n[b]\n" + number(1, 9), "[a]\n[b]\n" + number(1, 8), "@@ -8,4 +8,3 @@ [b]\n line 6\n line 7\n line 8\n-line 9\n"},
		{
			"at a number", "extensions.conf", "[a]\nexten = 7,1,A\nexten = 8,1,B\n" + strings.Repeat("same = n,C\n", 9),
			"[a]\nexten = 7,1,A\nexten = 8,1,B\n" + strings.Repeat("same = n,C\n", 9) + "exten = 9,1,D\n", "@@ -10,3 +10,4 @@ [a] 8\n same = n,C\n same = n,C\n same = n,C\n+exten = 9,1,D\n",
		},
		{"password", "pjsip.conf", "password = one\n", "password=two\n", "@@ -1,1 +1,1 @@\n-password = (hidden)\n+password=(hidden)\n"},
		{"digest", "pjsip.conf", "", "password_digest = MD5:abc\n", "@@ -1,0 +1,1 @@\n+password_digest = (hidden)\n"},
		{"PIN", "voicemail.conf", "", "101 => 4711,Alice,a@example.org\n", "@@ -1,0 +1,1 @@\n+101 => (hidden),Alice,a@example.org\n"},
		{"dialplan", "extensions.conf", "", "same => n,Authenticate(4711,,4)\n", "@@ -1,0 +1,1 @@\n+same => n,Authenticate((hidden),,4)\n"},
		{"DISA", "extensions.conf", "", "exten => 1,1,DISA(1234,ctx)\n", "@@ -1,0 +1,1 @@\n+exten => 1,1,DISA((hidden),ctx)\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := tt.want
			if want != "" {
				want = "--- " + tt.file + "\n+++ " + tt.file + "\n" + want
			}
			if got := generation.Diff(tt.file, []byte(tt.before), []byte(tt.after)); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// Whatever the two versions are, the lines of a diff make the one from the other.
func FuzzDiff(f *testing.F) {
	f.Add("abcabba", "cbabac")
	f.Add("aabbccdd", "ddccbbaa")
	f.Add("", "a")
	f.Fuzz(func(t *testing.T, a, b string) {
		split := func(s string) string {
			return strings.Join(strings.Split(strings.ToValidUTF8(strings.ReplaceAll(s, "\n", ""), ""), ""), "\n") + "\n"
		}
		before, after := split(a), split(b)
		diff := generation.Diff("x.conf", []byte(before), []byte(after))
		var minus, plus int
		for line := range strings.Lines(diff) {
			switch {
			case strings.HasPrefix(line, "---"), strings.HasPrefix(line, "+++"):
			case line[0] == '-':
				minus++
			case line[0] == '+':
				plus++
			}
		}
		if (diff == "") != (before == after) || strings.Count(before, "\n")-minus != strings.Count(after, "\n")-plus {
			t.Errorf("%q -> %q: %d lines go, %d come\n%s", before, after, minus, plus, diff)
		}
	})
}
