package rest_test

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/internal/rest"
)

// echo returns the body as it was read.
func echo[T any](_ context.Context, r *rest.Request) (rest.Reply, error) {
	v, err := rest.Decode[T](r)
	return rest.Reply{Body: v}, err
}

// readBody reads the body and returns what was sent.
func readBody(_ context.Context, r *rest.Request) (rest.Reply, error) {
	_, err := r.Object()
	return rest.Reply{}, err
}

func decoded[T any](t *testing.T, s *rest.Service, method, path, body string) T {
	t.Helper()
	w := call(t, s, method, path, body)
	wantStatus(t, w, http.StatusOK)
	var v T
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestDecode(t *testing.T) {
	s := people(t)
	got := decoded[person](t, s, http.MethodPost, "/people", with(``))
	if got.Name != "ann" || *got.Role != "user" || got.Code != "abc" || got.Age != 30 || !got.Enabled ||
		got.Tags == nil || !reflect.DeepEqual(got.Options.V, [][]string{{"a", "b"}}) {
		t.Errorf("the defaults are not there: %+v", got)
	}
	got = decoded[person](t, s, http.MethodPost, "/people", `{
		"id":7,"name":"bob","role":null,"enabled":false,"age":1,"tags":["x"],"options":[["k","v"]],"level":-128,
		"at_most":9007199254740993,"limits":{"a":1},"link":{"a":"b"},"secret":"s","born":"2024-02-29T23:59:59Z",
		"uuid":"0F6DD0C5-6AE3-44AB-9D44-7A63B8AB9E1C","nope":1}`)
	switch {
	case got.ID != 0 || got.Link.V != nil:
		t.Error("a read-only field was taken")
	case got.Role != nil || got.Enabled || got.Age != 1 || got.Level != -128 || got.AtMost != 9007199254740993:
		t.Errorf("%+v", got)
	case !reflect.DeepEqual(got.Tags, []string{"x"}) || !reflect.DeepEqual(got.Options.V, [][]string{{"k", "v"}}):
		t.Errorf("the default was not replaced: %v %v", got.Tags, got.Options)
	case *got.UUID != "0f6dd0c5-6ae3-44ab-9d44-7a63b8ab9e1c":
		t.Errorf("UUID %s", *got.UUID)
	case !got.Born.Equal(time.Date(2024, 2, 29, 23, 59, 59, 0, time.UTC)) || *got.Secret != "s" || got.Limits["a"] != 1:
		t.Errorf("%+v", got)
	}
}

func TestNestedObjects(t *testing.T) {
	s := people(t)
	got := decoded[person](t, s, http.MethodPost, "/people", with(`
		"address":{"code":"a","kept":"forged","unknown":1},
		"other":{"code":"b","country":"FR","city":"Nice"},
		"addresses":[{"code":"c","kept":"forged"}],
		"homes":{"h":{"code":"d","kept":"forged"}}`))
	nice := "Nice"
	if want := (address{Code: "a", Country: "CA"}); got.Address != want {
		t.Errorf("address %+v", got.Address)
	}
	if want := (&address{Code: "b", Country: "FR", City: &nice}); !reflect.DeepEqual(got.Other, want) {
		t.Errorf("other %+v", got.Other)
	}
	if want := []address{{Code: "c", Country: "CA"}}; !reflect.DeepEqual(got.Addresses, want) {
		t.Errorf("addresses %+v", got.Addresses)
	}
	if want := map[string]address{"h": {Code: "d", Country: "CA"}}; !reflect.DeepEqual(got.Homes, want) {
		t.Errorf("homes %+v", got.Homes)
	}
}

// Into is the partial update: fields that are not sent stay, and those that are sent replace everything that was there.
func TestInto(t *testing.T) {
	city := "Rome"
	before := person{
		common: common{ID: 3}, Name: "old", Age: 77, Tags: []string{"a", "b"}, Notes: "kept", Email: &city,
		Address: address{City: &city, Country: "IT", Code: "x", Kept: "k"}, Limits: map[string]int{"a": 1, "b": 2},
	}
	var after person
	var sent rest.Object
	s := mounted(t, rest.Operation{
		Method: http.MethodPut, Path: "/people/{id}", Body: rest.SchemaOf[person]().Partial(),
		Handle: func(_ context.Context, r *rest.Request) (rest.Reply, error) {
			var err error
			if sent, err = r.Object(); err != nil {
				return rest.Reply{}, err
			}
			after = before
			return rest.Reply{}, sent.Into(&after)
		},
	})
	wantStatus(t, call(t, s, http.MethodPut, "/people/1", `{"id":9,"tags":["c"],"address":{"code":"y"},"limits":{"c":3},"email":null,"enabled":false}`), 200)
	want := before
	want.Tags, want.Email, want.Limits = []string{"c"}, nil, map[string]int{"c": 3}
	want.Address = address{Code: "y", Country: "CA"}
	if !reflect.DeepEqual(after, want) {
		t.Errorf("got  %+v\nwant %+v", after, want)
	}
	if !sent.Has("email") || sent.Value("email") != nil || sent.Has("notes") || !sent.Has("id") || sent.Value("id") != json.Number("9") {
		t.Error("Has and Value do not tell what was sent")
	}
	if !reflect.DeepEqual(before.Tags, []string{"a", "b"}) || !reflect.DeepEqual(before.Limits, map[string]int{"a": 1, "b": 2}) {
		t.Error("the old object was changed through a shared slice or map")
	}
}

func TestNumbersOfAnythingAreExact(t *testing.T) {
	var got person
	s := mounted(t, rest.Operation{
		Method: http.MethodPost, Path: "/people", Body: rest.SchemaOf[person](),
		Handle: func(_ context.Context, r *rest.Request) (_ rest.Reply, err error) {
			got, err = rest.Decode[person](r)
			return rest.Reply{}, err
		},
	})
	wantStatus(t, call(t, s, http.MethodPost, "/people", with(`"free":{"n":9007199254740993},"raw":{"n":9007199254740993,"s":"<&>"}`)), 200)
	if n := got.Free.(map[string]any)["n"]; n != json.Number("9007199254740993") {
		t.Errorf("%#v", n)
	}
	if compact(t, got.Raw) != `{"n":9007199254740993,"s":"<&>"}` {
		t.Errorf("%s", got.Raw)
	}
}

// picky accepts less than its schema says.
type picky string

func (p *picky) UnmarshalText(text []byte) error {
	if string(text) != "this" {
		return http.ErrNotSupported
	}
	*p = picky(text)
	return nil
}

func TestWhatTheTypeCannotHold(t *testing.T) {
	type body struct {
		Choice picky `json:"choice"`
	}
	s := mounted(t, rest.Operation{Method: http.MethodPost, Path: "/x", Body: rest.SchemaOf[body](), Handle: echo[body]})
	wantMessage(t, call(t, s, http.MethodPost, "/x", `{"choice":"that"}`), http.StatusBadRequest, "choice: Is not of the form that it must have")
	wantStatus(t, call(t, s, http.MethodPost, "/x", `{"choice":"this"}`), http.StatusOK)
}

// A handler that reads a body as another type than its operation declares is our own fault.
func TestDecodeAnotherType(t *testing.T) {
	handMade := &rest.Schema{Type: "object", Properties: []rest.Property{{Name: "a", Schema: &rest.Schema{Type: "string"}}}}
	s := mounted(t,
		rest.Operation{Method: http.MethodPost, Path: "/none", Handle: echo[address]},
		rest.Operation{Method: http.MethodPost, Path: "/other", Body: rest.SchemaOf[person](), Handle: echo[address]},
		rest.Operation{Method: http.MethodPost, Path: "/made", Body: handMade, Handle: echo[address]},
		rest.Operation{Method: http.MethodPost, Path: "/value", Body: rest.SchemaOf[address](), Handle: func(_ context.Context, r *rest.Request) (rest.Reply, error) {
			o, err := r.Object()
			if err != nil {
				return rest.Reply{}, err
			}
			return rest.Reply{}, o.Into(address{})
		}},
	)
	for path, body := range map[string]string{"/none": `{}`, "/other": with(``), "/made": `{"a":"x"}`, "/value": `{"code":"x"}`} {
		w := call(t, s, http.MethodPost, path, body)
		wantMessage(t, w, http.StatusInternalServerError, "Internal server error")
		if strings.Contains(w.Body.String(), "schema") {
			t.Errorf("%s: %s", path, w.Body)
		}
	}
}

// FuzzBody checks that every body is either accepted, or refused as the client's mistake.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{
		with(``), with(`"address":{"code":"x"},"tags":["a"],"options":[["a","b"]],"limits":{"a":1},"free":[1e300,null]`), `{}`, `null`, `[]`, `{"name":null}`,
		with(`"born":"2024-02-29T23:59:59.9+24:00"`), with(`"level":-129`), with(`"ratio":1e-999`), with(`"homes":{"a":{"code":"x","Code":"y"}}`),
	} {
		f.Add([]byte(seed))
	}
	s := people(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		r := request(t, http.MethodPost, "/people", string(body), "Content-Type: application/json")
		w := answer(s, r)
		switch w.Code {
		case http.StatusOK:
			if !json.Valid(w.Body.Bytes()) {
				t.Errorf("%q is answered with %s", body, w.Body)
			}
		case http.StatusBadRequest:
			if list := messages(t, w); len(list) == 0 || list[0] == "" {
				t.Errorf("%q is refused without a word", body)
			}
		default:
			t.Errorf("%q: status %d, %s", body, w.Code, w.Body)
		}
	})
}
