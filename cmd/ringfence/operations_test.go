package main_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/rest/resttest"
)

const authBase = "/api/auth/0.1"

// operation is one line of testdata/auth-operations.txt.
type operation struct {
	method, path, access string
	status               int
}

func (o operation) String() string { return o.method + " " + o.path }

// public operations take no token; those of mails take the token of one.
func (o operation) public() bool { return o.access == "-" }

func readOperations(t *testing.T) []operation {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "auth-operations.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var out []operation
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] == "#" {
			continue
		}
		if len(f) != 4 {
			t.Fatalf("not a line of four words: %q", line)
		}
		status, err := strconv.Atoi(f[3])
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, operation{f[0], f[1], f[2], status})
	}
	return out
}

// Calls every operation of the authentication service through the gate, with the access that it needs and without.
func TestAuthOperations(t *testing.T) {
	operations := readOperations(t)
	for name, address := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newOperationsSite(t, address(t))
			s.serves(t, operations)
			called := map[string]bool{}
			for _, c := range operationCalls {
				called[c.of] = true
				i := slices.IndexFunc(operations, func(o operation) bool { return o.String() == c.of })
				if i < 0 {
					t.Errorf("no such operation: %s", c.of)
					continue
				}
				t.Run(strings.TrimSpace(c.of+" "+c.name), func(t *testing.T) { s.call(t, operations[i], c.request(t, s)) })
			}
			for _, o := range operations {
				if o.status == http.StatusNotImplemented {
					t.Run(o.String(), func(t *testing.T) { s.callSAML(t, o) })
				} else if !called[o.String()] {
					t.Errorf("%s is not called", o)
				}
			}
		})
	}
}

// serves compares the operations with those in the gateway's definition.
func (s *operationsSite) serves(t *testing.T, operations []operation) {
	t.Helper()
	known := map[string]bool{}
	for _, o := range operations {
		known[o.String()] = true
		served := s.definition.Paths.Value(o.path).GetOperation(o.method)
		if served == nil {
			t.Errorf("%s is not served", o)
			continue
		}
		access, _ := served.Extensions["x-required-acl"].(string)
		if own := strings.HasPrefix(o.access, "mail"); access != strings.TrimPrefix(o.access, "-") && (!own || access != "") {
			t.Errorf("%s needs %q, want %s", o, access, o.access)
		}
	}
	for path, item := range s.definition.Paths.Map() {
		for method := range item.Operations() {
			if !known[method+" "+path] {
				t.Errorf("%s %s is served, and not in testdata/auth-operations.txt", method, path)
			}
		}
	}
}

// request is one call of an operation.
type request struct {
	// params are the values of the path's parameters.
	params map[string]string
	query  string
	body   string
	edit   func(*http.Request)
	// token comes from a mail.
	token string
	// also lists accesses that the caller needs beside the operation's own.
	also []string
	// status is the expected status, the operation's own unless set: for calls whose success would need an external service.
	status int
	// says is part of the response.
	says string
}

func (s *operationsSite) call(t *testing.T, o operation, r request) {
	t.Helper()
	path, access := authBase+o.path, strings.TrimPrefix(o.access, "mail|")
	for name, value := range r.params {
		path = strings.ReplaceAll(path, "{"+name+"}", strings.NewReplacer("#", "%23", "*", "%2A").Replace(value))
		access = strings.ReplaceAll(access, "{"+name+"}", strings.ReplaceAll(value, ".", "%2E"))
	}
	if strings.Contains(path+access, "{") {
		t.Fatalf("%s, which needs %s, has a parameter without a value", path, access)
	}
	path += r.query
	edit := func(q *http.Request) {
		if r.edit != nil {
			r.edit(q)
		}
	}
	send := func(token string) resttest.Answer { return s.Do(t, o.method, path, token, r.body, edit) }
	switch {
	case o.public():
	case access == "mail":
		send("").Want(401)
		refused := 401
		if s.hold(t, "#"); o.path == "/users/password/reset" { // an administrator sets a password without a mail
			s.hold(t, "#", "!auth.users.password.reset.#")
			refused = 403
		}
		send(s.token).Want(refused)
	default:
		send("").Want(401)
		for _, held := range [][]string{{"#", "!" + access}, {"auth.*", "confd.#"}, {}} {
			s.hold(t, held...)
			if a := send(s.token).Want(403); a.Text("details.required_access") != access || !strings.Contains(a.Text("message"), access) {
				t.Errorf("the refusal does not name %s: %s", access, a.Body)
			}
		}
		s.hold(t, append([]string{access}, r.also...)...)
		if r.token == "" {
			r.token = s.token
		}
	}
	want := o.status
	if r.status != 0 {
		want = r.status
	}
	a := send(r.token).Want(want)
	if !strings.Contains(a.Body, r.says) {
		t.Errorf("the answer does not say %s: %s", r.says, a.Body)
	}
	s.asDefined(t, o, a)
}

// asDefined compares a response with the definition.
func (s *operationsSite) asDefined(t *testing.T, o operation, a resttest.Answer) {
	t.Helper()
	defined := s.definition.Paths.Value(o.path).GetOperation(o.method).Responses.Value(strconv.Itoa(a.Status))
	if defined == nil {
		t.Fatalf("%d is not in the definition", a.Status)
	}
	content := defined.Value.Content.Get("application/json")
	if content == nil || content.Schema == nil || a.Header.Get("Content-Type") != "application/json" || o.method == http.MethodHead {
		return // such as a page for a browser
	}
	var body any
	if err := json.Unmarshal([]byte(a.Body), &body); err != nil {
		t.Fatalf("%v: %s", err, a.Body)
	}
	if err := content.Schema.Value.VisitJSON(body); err != nil {
		t.Errorf("not as defined: %v\n%s", err, a.Body)
	}
}

// callSAML calls an operation as browsers and identity providers do.
func (s *operationsSite) callSAML(t *testing.T, o operation) {
	t.Helper()
	if !o.public() {
		s.call(t, o, request{})
	}
	s.hold(t, o.access) // if it needs one
	for _, r := range []struct{ contentType, accept, body string }{
		{"", "", ""},
		{"", "text/html,application/xhtml+xml", ""},
		{"application/json", "application/json", `{"redirect_url":"https://pbx.example.com","domain":"example.com"}`},
		{"application/x-www-form-urlencoded", "text/html", "SAMLResponse=PHNhbWw%2B&RelayState=x"},
		{"multipart/form-data; boundary=x", "*/*", "--x\r\nContent-Disposition: form-data; name=\"metadata\"; filename=\"m.xml\"\r\n\r\n<x/>\r\n--x--\r\n"},
		{"", "text/html", "no type"},
	} {
		if o.method == http.MethodGet && r.body != "" {
			continue
		}
		a := s.Do(t, o.method, authBase+o.path, s.token, r.body, func(q *http.Request) {
			q.Header.Del("Accept")
			q.Header.Del("Content-Type")
			if r.accept != "" {
				q.Header.Set("Accept", r.accept)
			}
			if r.contentType != "" {
				q.Header.Set("Content-Type", r.contentType)
			}
		})
		if a.Status != http.StatusNotImplemented || !strings.Contains(a.Body, "does not speak SAML") {
			t.Errorf("%+v is answered with %d: %s", r, a.Status, a.Body)
		}
	}
}
