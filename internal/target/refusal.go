package target

import "net/http"

// Refusal is why a target is not served. The values are constants of this
// package and never hold what the client sent.
type Refusal struct { //nolint:errname // what the gate does is refuse; RefusalError would say it twice
	// Status is 400 or 414.
	Status int
	// Reason is one stable word for metrics: "dot_segment".
	Reason   string
	sentence string
}

// Error is one sentence for the client, which does not repeat the input.
func (r *Refusal) Error() string { return r.sentence }

func refusal(reason, sentence string) *Refusal {
	return &Refusal{Status: http.StatusBadRequest, Reason: reason, sentence: sentence}
}

var (
	errForm      = refusal("form", "The request target must be a path that starts with a slash")
	errTooLong   = &Refusal{Status: http.StatusRequestURITooLong, Reason: "too_long", sentence: "The request target is longer than 2048 bytes"}
	errSegments  = refusal("too_many_segments", "The path has more than 32 segments")
	errSegment   = refusal("long_segment", "A segment of the path is longer than 128 bytes")
	errEmpty     = refusal("empty_segment", "The path has an empty segment: two slashes in a row, or one at its end")
	errDots      = refusal("dot_segment", "The path has a segment that is . or ..")
	errSlash     = refusal("encoded_slash", "The path has a percent-encoded slash or backslash")
	errBackslash = refusal("backslash", "The path has a backslash")
	errTwice     = refusal("double_encoding", "The path has a percent sign left after it was decoded once")
	errEscape    = refusal("bad_escape", "The path has a percent sign that two hexadecimal digits do not follow")
	errControl   = refusal("control", "The path has a control character")
	errNonASCII  = refusal("non_ascii", "The path has a character outside ASCII")
	errFragment  = refusal("fragment", "The path has a number sign; in an ACL pattern, write %23")
	errAlphabet  = refusal("alphabet", "The path has a character other than letters, digits and _ ~ @ + = , : . -")

	errQueryCharacter = refusal("query", "The query has a number sign, a semicolon, a space or a control character; percent-encode it")
	errQueryEscape    = refusal("query_escape", "The query has a percent sign that two hexadecimal digits do not follow")
	errQueryNUL       = refusal("query_nul", "The query has a NUL character")
	errQueryUTF8      = refusal("query_utf8", "The query is not UTF-8")
)
