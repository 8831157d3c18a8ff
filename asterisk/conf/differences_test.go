package conf_test

import (
	"strings"
	"testing"

	"github.com/ringfence/ringfence/asterisk/conf"
)

// What differs is there with everything of its name, and nothing else is.
func TestDifferences(t *testing.T) {
	const sections = "; Generated\n[a]\ntype = endpoint\nallow = ulaw\n[a]\ntype = aor\n\n[b]\ntype = endpoint\n"
	const lines = "[general]\nstatic = yes\n[in]\n; Inside\nexten => 102,hint,PJSIP/b\nexten => 102,1,Dial(PJSIP/b)\nsame => n,Hangup()\nexten => 101,1,Dial(PJSIP/a)\ninclude => x\ninclude => y\n[x]\nexten => 102,1,Hangup()\n[y]\n"
	for name, test := range map[string]struct{ file, text, before, after, gone, come string }{
		"nothing":           {"pjsip.conf", sections, "", "", "", ""},
		"an option":         {"pjsip.conf", sections, "ulaw", "alaw", "[a]\ntype = endpoint\nallow = ulaw\n[a]\ntype = aor\n", "[a]\ntype = endpoint\nallow = alaw\n[a]\ntype = aor\n"},
		"a section more":    {"pjsip.conf", sections, "[b]", "[c]\n[b]", "", "[c]\n"},
		"a section twice":   {"pjsip.conf", sections, "[b]", "[b]\ntype = endpoint\n[b]", "[b]\ntype = endpoint\n", "[b]\ntype = endpoint\n[b]\ntype = endpoint\n"},
		"another order":     {"pjsip.conf", sections, "[b]\ntype = endpoint\n", "[b]\ntype = endpoint\n", "", ""},
		"a step":            {"extensions.conf", lines, "PJSIP/b)", "PJSIP/c)", "[in]\nexten => 102,hint,PJSIP/b\nexten => 102,1,Dial(PJSIP/b)\nsame => n,Hangup()\n", "[in]\nexten => 102,hint,PJSIP/b\nexten => 102,1,Dial(PJSIP/c)\nsame => n,Hangup()\n"},
		"an extension more": {"extensions.conf", lines, "exten => 101", "exten => 100,1,Hangup()\nexten => 101", "[in]\n", "[in]\nexten => 100,1,Hangup()\n"},
		"an inclusion less": {"extensions.conf", lines, "include => x\n", "", "[in]\ninclude => x\ninclude => y\n", "[in]\ninclude => y\n"},
		"a context more":    {"extensions.conf", lines, "[y]", "[z]\n[y]", "", "[z]\n"},
		"an option of all":  {"extensions.conf", lines, "static = yes", "static = no", "[general]\nstatic = yes\n", "[general]\nstatic = no\n"},
		"a mailbox":         {"voicemail.conf", "[in]\n101 => 1,Ann\n102 => 2,Bob\n", "2,Bob", "3,Bob", "[in]\n102 => 2,Bob\n", "[in]\n102 => 3,Bob\n"},
	} {
		t.Run(name, func(t *testing.T) {
			gone, come := conf.Differences(test.file, []byte(test.text), []byte(strings.Replace(test.text, test.before, test.after, 1)))
			if string(gone) != test.gone || string(come) != test.come {
				t.Errorf("gone:\n%s\nwant:\n%s\ncome:\n%s\nwant:\n%s", gone, test.gone, come, test.come)
			}
		})
	}
}
