package audit

import (
	"encoding/json"
	"testing"
	"time"
)

// An object that is given as its fields becomes the same text as one that is written as JSON, read and written again, whatever the fields
// are.
func TestPicture(t *testing.T) {
	text, number, yes := "geheim", int64(1)<<52, true
	var none *string
	type inner struct {
		Password string     `json:"password"`
		Name     *string    `json:"name"`
		Options  [][]string `json:"options"`
	}
	options := [][]string{{"password", "geheim"}, {"max", "1"}, {"md5_cred", "geheim"}, {"one"}}
	for name, fields := range map[string]map[string]any{
		"plain":    {"name": text, "pointer": &text, "none": none, "nil": nil, "number": number, "to number": &number, "yes": yes, "to yes": &yes, "<": "&"},
		"secrets":  {"password": text, "secret_word": &text, "api_key": none, "my_token": nil, "private": number, "Private": &number, "ask_password": yes, "has_password": &yes},
		"nested":   {"in": inner{text, &text, options}, "to": &inner{text, nil, nil}, "many": []inner{{Password: text}}, "map": map[string]any{"secret": text, "n": 1}},
		"options":  {"auth_section_options": options, "raw": json.RawMessage(`{"token": "geheim", "x": [1.5, null]}`)},
		"others":   {"at": time.Unix(1, 5).UTC(), "float": 1.5, "small": int8(3), "bytes": []byte("ab"), "lists": []string{"b", "a"}},
		"whole":    {"account_info": inner{Password: text}, "certificate": []string{"geheim"}},
		"no field": {},
	} {
		t.Run(name, func(t *testing.T) {
			long, err := json.Marshal(fields)
			if err != nil {
				t.Fatal(err)
			}
			var value any
			if err := json.Unmarshal(long, &value); err != nil {
				t.Fatal(err)
			}
			Hide(value)
			want, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := picture(fields); err != nil || *got != string(want) {
				t.Errorf("%v\n%v, want\n%s", err, *got, want)
			}
			if again, err := json.Marshal(fields); err != nil || string(again) != string(long) {
				t.Errorf("the fields became %s", again)
			}
		})
	}
}
