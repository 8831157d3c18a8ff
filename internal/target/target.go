// Package target reads a request's target once, strictly, on the client's own
// bytes (DESIGN section 3, step 1).
package target

// MaxSegments is how many segments a target may have; MaxLength how many bytes, query included.
const (
	MaxSegments = 32
	MaxLength   = 2048
)

// Target is a canonical request target. It keeps the bytes it was made from.
type Target struct {
	path  string
	query string
	ends  [MaxSegments]uint16
	n     uint8
	wild  uint32
	dirty bool
}

// Path is the decoded path: "/" or "/a/b", with no empty or dot segments and no percent sign.
func (t *Target) Path() string { return t.path }

// Len is the number of segments.
func (t *Target) Len() int { return int(t.n) }

// Segment is the i-th segment, decoded. It does not copy.
func (t *Target) Segment(i int) string {
	start := 1
	if i > 0 {
		start = int(t.ends[i-1]) + 1
	}
	return t.path[start:t.ends[i]]
}

// Wild reports whether segment i holds a sign of the ACL language: *, # or !.
func (t *Target) Wild(i int) bool { return t.wild&(1<<i) != 0 }
