package generation_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ringfence/ringfence/asterisk/generation"
	"github.com/ringfence/ringfence/internal/killtest"
)

const childFolder = "RINGFENCE_TEST_GENERATIONS"

func TestMain(m *testing.M) {
	if folder := os.Getenv(childFolder); folder != "" {
		changeForEver(folder)
	}
	os.Exit(m.Run())
}

// onDisk is a telephone system that keeps what it has loaded in a folder, so that it survives the child. It refuses files that say
// "bad", after it has read them.
type onDisk struct{ live, loaded string }

func (a onDisk) Reload(_ context.Context, module string) error {
	content, err := os.ReadFile(filepath.Join(a.live, fileOf[module]))
	if err != nil {
		return err
	}
	at := filepath.Join(a.loaded, fileOf[module])
	if err := errors.Join(os.WriteFile(at+".tmp", content, 0o600), os.Rename(at+".tmp", at)); err != nil {
		return err
	}
	if bytes.HasPrefix(content, []byte("bad")) && module == "res_pjsip" {
		return errors.New("refused")
	}
	return nil
}

func (onDisk) Verify(context.Context, generation.Files, generation.Files) error { return nil }

// changeForEver stages and applies, every third time something bad, until it is killed.
func changeForEver(folder string) {
	ctx := context.Background()
	s, err := generation.Open(ctx, filepath.Join(folder, "asterisk"), 3)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	pbx := onDisk{s.Folder(), filepath.Join(folder, "loaded")}
	fmt.Println("ready")
	for i := 0; ; i++ {
		word := "good"
		if i%3 == 2 {
			word = "bad"
		}
		text := fmt.Appendf(nil, "%s %d %d\n", word, os.Getpid(), i)
		g, err := s.Stage(ctx, generation.Files{"pjsip.conf": text, "extensions.conf": text, "voicemail.conf": []byte("good")}, "")
		if err == nil {
			_, err = s.Apply(ctx, g.Number, pbx, nil, nil)
		}
		if _, back := errors.AsType[*generation.RolledBackError](err); err != nil && !back {
			fmt.Println(err)
			os.Exit(1)
		}
	}
}

// However a process is killed, the next start has one whole, accepted generation live, and Asterisk has loaded just that.
func TestKilled(t *testing.T) {
	folder := t.TempDir()
	loaded := filepath.Join(folder, "loaded")
	if err := os.Mkdir(loaded, 0o700); err != nil {
		t.Fatal(err)
	}
	interrupted := 0
	for range 60 {
		killtest.Once(t, childFolder+"="+folder, 20*time.Millisecond)
		if checkStart(t, folder, loaded) {
			interrupted++
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d of 60 changes were interrupted", interrupted)
}

// checkStart does what a start does, and reports whether a change had been interrupted.
func checkStart(t *testing.T, folder, loaded string) (interrupted bool) {
	t.Helper()
	s, err := generation.Open(t.Context(), filepath.Join(folder, "asterisk"), 3)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	// The first generation that is ever made may have been taken back to nothing, which Asterisk reads as no files.
	if interrupted, err = s.Recover(t.Context(), tolerant{onDisk{s.Folder(), loaded}}); err != nil {
		t.Fatal(err)
	}
	n, err := s.Live()
	if err != nil {
		t.Fatal(err)
	}
	_, live, err := s.Read(n)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(live["pjsip.conf"], live["extensions.conf"]) || bytes.HasPrefix(live["pjsip.conf"], []byte("bad")) {
		t.Errorf("live: %q", live)
	}
	for name, content := range live {
		if got, err := os.ReadFile(filepath.Join(loaded, name)); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s: loaded %q, live %q, %v", name, got, content, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(folder, "asterisk", "generations", "*.tmp"))
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if _, err := s.Stage(t.Context(), generation.Files{"queues.conf": fmt.Append(nil, n)}, ""); err != nil {
		t.Fatal(err)
	}
	all, err := os.ReadDir(filepath.Join(folder, "asterisk", "generations"))
	if err != nil || len(all) > 4 {
		t.Errorf("%d generations are kept, %v", len(all), err)
	}
	return interrupted
}

// tolerant reads a missing file as an empty one.
type tolerant struct{ onDisk }

func (a tolerant) Reload(ctx context.Context, module string) error {
	if err := a.onDisk.Reload(ctx, module); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
