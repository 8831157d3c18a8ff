package helpers_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/helpers"
)

// A PIN that a telephone has chosen is read and removed where it is, and nowhere else.
func TestForgetPIN(t *testing.T) {
	spool, elsewhere := t.TempDir(), t.TempDir()
	write := func(name string) string {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("[general]\npassword = 5678\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	pin, greeting, other := write(spool+"/inside/101/secret.conf"), write(spool+"/inside/101/unavail.wav"), write(spool+"/inside/102/secret.conf")
	stranger := write(elsewhere + "/101/secret.conf")
	if err := os.Symlink(elsewhere, spool+"/linked"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(write(spool+"/inside/104/secret.conf"), []byte(";!\n;! Automatically generated configuration file\n;!\n\n[general]\npassword = 0099\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	write(spool + "/inside/105/other")
	write(spool + "/inside/107/secret.conf/other")
	if err := os.Symlink("other", spool+"/inside/105/secret.conf"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(write(spool+"/inside/106/secret.conf"), []byte("[general]\n5678\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, read := range []struct {
		spool, context, number, want string
		fails                        bool
	}{
		{spool, "inside", "101", "5678", false},
		{spool, "inside", "104", "0099", false},
		{spool, "inside", "103", "", false},
		{spool, "outside", "101", "", false},
		{spool + "/none", "inside", "101", "", false},
		{spool, "inside", "105", "", true},
		{spool, "inside", "106", "", true},
		{spool, "inside", "107", "", true},
		{spool, "linked", "101", "", true},
		{spool, "..", "101", "", true},
	} {
		pin, err := helpers.ChosenPIN(read.spool, read.context, read.number)
		if pin != read.want || (err != nil) != read.fails || err != nil && strings.Contains(err.Error(), "5678") {
			t.Errorf("%s@%s: %q, %v", read.number, read.context, pin, err)
		}
	}
	for range 2 { // the second time there is none
		if err := helpers.ForgetPIN(spool, "inside", "101"); err != nil {
			t.Error(err)
		}
	}
	for _, none := range [][3]string{{spool, "inside", "103"}, {spool, "outside", "101"}, {spool + "/none", "inside", "101"}} {
		if err := helpers.ForgetPIN(none[0], none[1], none[2]); err != nil {
			t.Errorf("%v: %v", none, err)
		}
	}
	for _, wrong := range [][2]string{{"..", "101"}, {"inside", ".."}, {"inside/101", "101"}, {"linked", "101"}, {"", "101"}} {
		if err := helpers.ForgetPIN(spool, wrong[0], wrong[1]); err == nil {
			t.Errorf("%v is taken", wrong)
		}
	}
	if _, err := os.Stat(pin); !os.IsNotExist(err) {
		t.Errorf("the PIN is still there: %v", err)
	}
	for _, kept := range []string{greeting, other, stranger} {
		if _, err := os.Stat(kept); err != nil {
			t.Error(err)
		}
	}
}
