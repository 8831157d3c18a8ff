package asterisk

import "testing"

func TestIsExten(t *testing.T) {
	for exten, want := range map[string]bool{
		"100": true, "*98": true, "_*21.": true, "_1[2-4]X!": true, "+331": true, "_+33X.": true, "": false, "_": false, "100,1": false, "s": false, "_1[2": false, "_1.2": false,
		"_]1": false, "1 2": false, "${X}": false, "_.": false, "_[9-0]X": false,
	} {
		if got := isExten(exten); got != want {
			t.Errorf("%q: %v, want %v", exten, got, want)
		}
	}
}

// The forms of options are compiled when they are needed, and so by this test: a mistake in one is not found at the start.
func TestFormsCompile(t *testing.T) {
	for _, forms := range []optionForms{endpointForms, aorForms, authForms, transportForms} {
		for name, form := range forms {
			if form().MatchString("\n") {
				t.Errorf("%s may be a line break", name)
			}
		}
	}
}
