package target

import "strings"

// The limits of a target, in bytes unless said otherwise.
const (
	// MaxLength is how long a target may be, query included. It holds for what the client sent and for the canonical form.
	MaxLength = 2048
	// MaxSegments is how many segments a path may have.
	MaxSegments = 32
	// MaxSegment is how long a segment may be, decoded.
	MaxSegment = 128
	// MaxPattern is how long a segment may be that holds an ACL pattern, decoded: a pattern's 256, and the ! of a denial.
	MaxPattern = 257
)

// Target is a canonical request target. It keeps the bytes that it was made from. Make one with [Parse].
type Target struct {
	path  string
	query string
	uri   string
	ends  [MaxSegments]uint16 // where in path each segment ends
	n     uint8
	wild  uint32 // a bit for each segment
}

// Path is the decoded path: "/" or "/a/b", with no empty or dot segments and no percent sign, and with UUIDs in lower case.
func (t *Target) Path() string { return t.path }

// RawQuery is the query as the client sent it, without its question mark. Its escapes are well-formed and decode to
// UTF-8 without NUL.
func (t *Target) RawQuery() string { return t.query }

// RequestURI is the canonical form: the path as net/url writes it, and the query as it was sent. [Parse] maps it
// to an equal Target.
func (t *Target) RequestURI() string { return t.uri }

// Len is the number of segments; "/" has none.
func (t *Target) Len() int { return int(t.n) }

// Segment is the i-th segment, decoded. It does not copy.
func (t *Target) Segment(i int) string {
	start := 1
	if i > 0 {
		start = int(t.ends[i-1]) + 1
	}
	return t.path[start:t.ends[i]]
}

// Wild reports whether segment i is one that only an ACL pattern may be: it holds *, # or !, or is longer
// than MaxSegment.
func (t *Target) Wild(i int) bool { return t.wild&(1<<i) != 0 }

// HasWild reports whether any segment is one that only an ACL pattern may be.
func (t *Target) HasWild() bool { return t.wild != 0 }

// HasPrefix reports whether the first segments are these.
func (t *Target) HasPrefix(segments []string) bool {
	if t.Len() < len(segments) {
		return false
	}
	for i, s := range segments {
		if t.Segment(i) != s {
			return false
		}
	}
	return true
}

// encode writes a path as net/url does: of what a segment may hold, only the signs of the ACL language are escaped.
func encode(path string) string {
	var b strings.Builder
	b.Grow(len(path) + 16)
	for i := range len(path) {
		switch c := path[i]; c {
		case '!':
			b.WriteString("%21")
		case '#':
			b.WriteString("%23")
		case '*':
			b.WriteString("%2A")
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
