package rest

import (
	"net/http"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
)

// problemType is the media type of a refusal for programs (RFC 9457). A request that accepts it by name gets refusals in this form, on every
// service; the others are for clients that compare words.
const problemType = "application/problem+json"

// problem is such a refusal. Its type is about:blank, which is what none says.
type problem struct {
	Title   string        `json:"title" example:"Bad Request" doc:"What the status is called."`
	Status  int           `json:"status" example:"400" doc:"The status of the response."`
	Detail  string        `json:"detail" example:"lines[0].context: Is required" doc:"What was refused, and why, in one sentence."`
	ErrorID string        `json:"error_id" example:"invalid-data" doc:"The kind of refusal."`
	Errors  []problemPart `json:"errors,omitempty" doc:"What is said of each value, if the refusal is about values: together all that detail says."`
}

// problemPart is what is said of one value of a body, or of one query parameter.
type problemPart struct {
	Detail    string `json:"detail" example:"Is required" doc:"What is said of it."`
	Pointer   string `json:"pointer,omitempty" example:"#/lines/0/context" doc:"The value in the body, as a JSON pointer (RFC 6901) in a fragment: #/lines/0/context."`
	Parameter string `json:"parameter,omitempty" example:"limit" doc:"The query parameter."`
}

func wantsProblem(header http.Header) bool {
	q, specific := weight(header, problemType)
	return q > 0 && specific == byName
}

func problemOf(e *apierr.Error) problem {
	out := problem{Title: http.StatusText(e.Status()), Status: e.Status(), Detail: Sentence(e), ErrorID: errorID(e)}
	for _, name := range e.About {
		out.Errors = append(out.Errors, problemPart{Detail: e.Message, Pointer: pointer(name)})
	}
	if e.Message != "" && len(e.About) == 0 && len(e.Fields) > 0 {
		out.Errors = append(out.Errors, problemPart{Detail: e.Message})
	}
	for _, f := range e.Fields {
		part := problemPart{Detail: f.Message, Pointer: pointer(f.Name)}
		if f.Query {
			part.Pointer, part.Parameter = "", f.Name
		}
		out.Errors = append(out.Errors, part)
	}
	return out
}

// pointer returns the pointer for a path such as lines[0].context.
func pointer(path string) string {
	var out strings.Builder
	out.WriteByte('#')
	for key := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		out.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key))
	}
	return out.String()
}
