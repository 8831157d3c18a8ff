package rest_test

import (
	"net/http"
	"testing"

	"github.com/ringfence/ringfence/internal/rest"
)

// room is sent in several ways: its label under an older name too, its code once, its size as null.
type room struct {
	Label  string  `json:"label" maxLength:"10" required:"true" or:"name"`
	Name   string  `json:"name" readOnly:"true" maxLength:"100"`
	Code   string  `json:"code" maxLength:"10" fixed:"true"`
	Key    *string `json:"key" maxLength:"10" fixed:"true" writeOnly:"true" doc:"What opens it."`
	Locked bool    `json:"locked" deprecated:"true"`
	Size   *int64  `json:"size" null:"default" default:"4"`
	Open   bool    `json:"open"`
	Colour *string `json:"colour" enum:"red,green" doc:"null: as the house is."`
}

func TestOlderName(t *testing.T) {
	s := rest.SchemaOf[room]()
	for body, want := range map[string]string{
		`{"label":"Hall"}`:               "Hall",
		`{"name":"Hall"}`:                "Hall",
		`{"label":"Hall","name":"x"}`:    "Hall",
		`{"label":"","name":"x"}`:        "",
		`{"name":"longer than a label"}`: "label: Must have at most 10 characters",
		`{"name":1}`:                     "label: Must be a string",
		`{}`:                             "label: Is required",
	} {
		value, err := rest.ParseJSON([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		sent := value.(map[string]any)
		var got string
		if fields := s.Validate("", value); len(fields) > 0 {
			got = fields[0].Name + ": " + fields[0].Message
		} else {
			var r room
			if err := s.Object(sent).Into(&r); err != nil {
				t.Fatal(err)
			}
			got = r.Label
		}
		if got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
	var r room
	if err := s.Partial().Object(map[string]any{"name": "x"}).Into(&r); err != nil || r.Label != "" {
		t.Errorf("an update with the older name: %q, %v", r.Label, err)
	}
}

// What a client may send is said once, by a tag: the definition tells it to programs, in marks and in the description; what people at a form
// read has nothing of it.
func TestDefinitionTellsHowToSend(t *testing.T) {
	s := declared(rest.Operation{Method: http.MethodPost, Path: "/rooms", ID: "create_room", Access: "confd.rooms.create", Body: rest.SchemaOf[room](), Reply: rest.SchemaOf[room]()})
	s.Docs = map[string]string{"label": "What it is called.", "open": "Whether it is open.", "room.code": "Its code."}
	s.Helps = map[string]string{"open": "", "room.colour": "Empty: as the house is.", "code": "Of another thing."}
	if err := s.Mount(); err != nil {
		t.Fatal(err)
	}
	all := loaded(t, s.Definition()).Components.Schemas["room"].Value
	if len(all.Required) > 0 {
		t.Errorf("required: %v", all.Required)
	}
	for name, want := range map[string]struct {
		description string
		help        any
	}{
		"label":  {"What it is called. Must be sent on create; the name is taken for it, if that is sent alone.", "What it is called."},
		"code":   {"Its code. It never changes.", "Its code."},
		"key":    {"What opens it. Taken on create alone.", "What opens it."},
		"size":   {"On create null stands for the default; an update refuses it.", ""},
		"open":   {"Whether it is open.", ""},
		"colour": {"null: as the house is.", "Empty: as the house is."},
		"locked": {"", nil},
	} {
		if p := all.Properties[name].Value; p.Description != want.description || p.Extensions["x-help"] != want.help {
			t.Errorf("%s: %q, for people %q", name, p.Description, p.Extensions["x-help"])
		}
	}
	if p := all.Properties; !p["locked"].Value.Deprecated || p["label"].Value.Deprecated || p["label"].Value.Extensions["x-or"] != "name" ||
		p["code"].Value.Extensions["x-fixed"] != true || p["key"].Value.Extensions["x-fixed"] != true || p["size"].Value.Extensions["x-fixed"] != nil {
		t.Error("the marks are not those of the tags")
	}
}
