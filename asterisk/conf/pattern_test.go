package conf_test

import (
	"testing"

	"github.com/ringfence/ringfence/asterisk/conf"
)

func TestMatches(t *testing.T) {
	for _, test := range []struct {
		pattern, number string
		want            bool
	}{
		{"_1XX", "100", true},
		{"_1XX", "10", false},
		{"_1XX", "1000", false},
		{"_1XX", "1*0", false},
		{"_ZN", "12", true},
		{"_ZN", "02", false},
		{"_zn", "11", false},
		{"_*21.", "*21100", true},
		{"_*21.", "*21", false},
		{"_*21!", "*21", true},
		{"_[1-35]0", "20", true},
		{"_[1-35]0", "50", true},
		{"_[1-35]0", "40", false},
		{"_[1-3", "1", false},
		{"_+33.", "+331", true},
		{"_1-2-X", "123", true},
		{"_1-2-X", "1-23", true},
		{"_result-.", "result-BUSY", true},
		{"_result-.", "result-", false},
		{"_[0-9a-f]!", "00000001-0000-4000-8000-000000000001", true},
		{"_[0-9a-f]!", "g", false},
		{"100", "100", false},
		{"_", "1", false},
		{"_", "", true},
		{"", "", false},
	} {
		if got := conf.Matches(test.pattern, test.number); got != test.want {
			t.Errorf("%s holds %s: %v, want %v", test.pattern, test.number, got, test.want)
		}
	}
}

func TestIsExten(t *testing.T) {
	for exten, want := range map[string]bool{
		"100": true, "*98": true, "_*21.": true, "_1[2-4]X!": true, "+331": true, "_+33X.": true, "": false, "_": false, "100,1": false, "s": false, "_1[2": false, "_1.2": false,
		"_]1": false, "1 2": false, "${X}": false, "_.": false, "_!": false,
		// Sets that hold nothing, and some that do.
		"_[9-0]X": false, "_1[-]": false, "_[0-9][5-4]": false, "_[0-9]X": true, "_[19-0]": true, "_[*#]1": true, "_1XX": true,
	} {
		if got := conf.IsExten(exten); got != want {
			t.Errorf("%q: %v, want %v", exten, got, want)
		}
	}
}
