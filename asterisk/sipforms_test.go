package asterisk

import "testing"

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
