package docs_test

import (
	"strings"
	"testing"

	"github.com/ringfence/ringfence/acl"
)

// Each row of the tables in docs/acl.md is as true as the document says.
func TestAccessLanguage(t *testing.T) {
	who := acl.Binding{User: "1b4e28ba-2fa1-41d2-883f-0016d3cca427", Session: "16fd2706-8baf-433b-82eb-8c7fada847da"}
	d := documents(t)["docs/acl.md"]
	if !strings.Contains(d.text, "user is `"+who.User+"`, and its session `"+who.Session+"`") {
		t.Error("docs/acl.md has another user or session than this test")
	}
	spans := func(cell string) (texts []string) {
		for _, s := range span.FindAllStringSubmatch(cell, -1) {
			texts = append(texts, s[1])
		}
		return texts
	}
	yes := map[string]bool{"yes": true, "no": false}
	tried := map[string]map[bool]int{} // by heading and answer
	for _, row := range rows(d.text) {
		asked := spans(row.cells[0])
		if len(asked) == 0 || row.heading == "Words" {
			continue
		}
		var says, is, valid bool
		switch row.heading {
		case "What is no pattern":
			is = acl.ParsePattern(asked[0]) == nil
		default:
			if says, valid = yes[row.cells[2]]; !valid || len(row.cells) != 4 || row.cells[3] == "" {
				t.Errorf("%q has another form than this test expects", row.cells)
				continue
			}
			list, err := acl.Compile(asked)
			if err != nil {
				t.Errorf("%s: %v", row.cells[0], err)
				continue
			}
			about := spans(row.cells[1])[0]
			if row.heading == "What somebody may give" {
				is = list.Covers(about, who)
			} else {
				is = acl.ParseAccess(about) == nil && list.Allows(acl.FoldUUIDs(about), who)
			}
		}
		if is != says {
			t.Errorf("%s: %q is %t", row.heading, row.cells, is)
		}
		if tried[row.heading] == nil {
			tried[row.heading] = map[bool]int{}
		}
		tried[row.heading][is]++
	}
	for heading, least := range map[string]int{"What a list allows": 10, "What somebody may give": 4} {
		if tried[heading][true] < least || tried[heading][false] < least {
			t.Errorf("%s: %v rows were tried", heading, tried[heading])
		}
	}
	if tried["What is no pattern"][false] < 6 {
		t.Error("no pattern was refused")
	}
}
