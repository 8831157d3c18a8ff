package remote_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/tokens/remote"
)

// FuzzRecord reads any response of a server. No text taken from it can be a wildcard or end a header, and errors do not repeat
// it.
func FuzzRecord(f *testing.F) {
	f.Add([]byte(record(nil)))
	f.Add([]byte(record(map[string]any{"auth_id": "*", "session_uuid": "a\r\nb"})))
	f.Add([]byte(noSuchToken))
	f.Add([]byte(`{"data": null}`))
	form := regexp.MustCompile(`^[A-Za-z0-9_-]{0,128}$`)
	f.Fuzz(func(t *testing.T, body []byte) {
		texts, err := remote.Identity(body)
		if err != nil {
			if len(body) > 12 && strings.Contains(err.Error(), string(body)) {
				t.Error("the error repeats the answer")
			}
			return
		}
		if texts[0] == "" {
			t.Error("nobody")
		}
		for _, text := range texts {
			if !form.MatchString(text) {
				t.Errorf("%q is taken", text)
			}
		}
	})
}
