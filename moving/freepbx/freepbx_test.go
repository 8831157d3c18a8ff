package freepbx

import (
	"encoding/json"
	"fmt"
	"testing"
)

func TestDestinations(t *testing.T) {
	p := &places{
		users:  map[string]*person{"1001": {id: 7, mailbox: 9}, "1002": {id: 8}},
		others: map[[2]string]object{{"ext-group", "600"}: {"type": "group", "group_id": 3}},
	}
	for text, want := range map[string]string{
		"":                         `null ""`,
		"from-did-direct,1001,1":   `{"type":"user","user_id":7} ""`,
		"ext-local,1002,1":         `{"type":"user","user_id":8} ""`,
		"ext-local,1001,dest":      `null ""`,
		"ext-local,vmu1001,1":      `{"greeting":"unavailable","type":"voicemail","voicemail_id":9} ""`,
		"ext-local,vms1001,1":      `{"skip_instructions":true,"type":"voicemail","voicemail_id":9} ""`,
		"ext-local,vmb1002,1":      `null "it leads to a mailbox that is not here"`,
		"ext-local,1009,1":         `null "it leads to a number that is not here"`,
		"ext-group,600,1":          `{"group_id":3,"type":"group"} ""`,
		"ext-queues,600,1":         `null "it leads to a queue, which is not in these files: make one with this number, and import once more"`,
		"app-blackhole,hangup,1":   `{"cause":"normal","type":"hangup"} ""`,
		"app-blackhole,ring,1":     `null "it leads to the signal \"ring\""`,
		"ivr-3,s,1":                `null "it leads to \"ivr-3\", which is not in these files"`,
		"custom\n,s,1":             `null "it leads to \"custom\", which is not in these files"`,
		"1001":                     `null "the destination has not the form context,number,priority"`,
		"ext-local,1001,1,2":       `null "the destination has not the form context,number,priority"`,
		"app-announcement-1,s,1":   `null "it leads to \"app-announcement-1\", which is not in these files"`,
		"from-did-direct,vm1001,1": `null "it leads to a mailbox that is not here"`,
	} {
		to, reason := p.to(text, "1001")
		written, err := json.Marshal(to)
		if got := fmt.Sprintf("%s %q", written, reason); err != nil || got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestExtensions(t *testing.T) {
	for name, tt := range map[string]struct {
		cells map[string]string
		want  string
		left  int
	}{
		"a name of one word":     {map[string]string{"extension": "1001", "name": "Door"}, `{"firstname":"Door","lastname":null} null null`, 0},
		"no name":                {map[string]string{"extension": "1001"}, `{"firstname":"1001","lastname":null} null null`, 0},
		"hidden":                 {map[string]string{"extension": "1", "name": "A B", "outboundcid": "hidden"}, `{"firstname":"A","lastname":"B","outgoing_caller_id":"anonymous"} null null`, 0},
		"a number in brackets":   {map[string]string{"extension": "1", "name": "A", "outboundcid": "<555>"}, `{"firstname":"A","lastname":null,"outgoing_caller_id":"555"} null null`, 0},
		"a mailbox, the old way": {map[string]string{"extension": "1", "name": "A", "voicemail": "default"}, `{"firstname":"A","lastname":null} {"name":"A","number":"1"} null`, 0},
		"no mailbox":             {map[string]string{"extension": "1", "name": "A", "voicemail": "novm"}, `{"firstname":"A","lastname":null} null null`, 0},
		"follow me elsewhere, at once": {
			map[string]string{"extension": "1", "name": "A", "findmefollow_enabled": "yes", "findmefollow_grplist": "5550199#"},
			`{"firstname":"A","lastname":null} null {"noanswer":{"enabled":false},"unconditional":{"destination":"5550199","enabled":true}}`, 0,
		},
		"follow me, off": {
			map[string]string{"extension": "1", "name": "A", "findmefollow_enabled": "", "findmefollow_grplist": "2-3"},
			`{"firstname":"A","lastname":null} null {"noanswer":{"enabled":false},"unconditional":{"enabled":false}}`, 0,
		},
		"what only FreePBX has": {
			map[string]string{
				"extension": "1", "name": "A", "mohclass": "jazz", "context": "from-lobby", "devicetype": "adhoc", "findmefollow_enabled": "yes",
				"findmefollow_grplist": "2", "findmefollow_grptime": "20", "findmefollow_strategy": "ringallv2-prim",
			},
			`{"firstname":"A","lastname":null} null {"noanswer":{"enabled":false},"unconditional":{"destination":"2","enabled":true}}`, 5,
		},
		"what FreePBX has at first": {
			map[string]string{"extension": "1", "name": "A", "mohclass": "default", "context": "from-internal", "devicetype": "fixed", "findmefollow_grptime": "20"},
			`{"firstname":"A","lastname":null} null null`, 0,
		},
		"follow me to several": {
			map[string]string{"extension": "1", "name": "A", "findmefollow_enabled": "yes", "findmefollow_grplist": "1-2-3"},
			`{"firstname":"A","lastname":null} null null`, 1,
		},
	} {
		left := 0
		x, whole := readExtension(row{1, tt.cells}, func(string) { left++ })
		written := []any{x.user, x.mailbox, x.forwards}
		var got string
		for i, part := range written {
			text, err := json.Marshal(part)
			if err != nil {
				t.Fatal(err)
			}
			if got += string(text); i < 2 {
				got += " "
			}
		}
		if !whole || got != tt.want || left != tt.left {
			t.Errorf("%s: %s, %d left out; want %s", name, got, left, tt.want)
		}
	}
}
