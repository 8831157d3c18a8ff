package target

import (
	"strings"
	"unicode/utf8"
)

// class is what a byte means in a path.
type class uint8

const (
	other class = iota
	plain
	slash
	pattern // * and !
	number  // #
	backslash
	control
	nonASCII
	percent
)

var classes = func() (table [256]class) {
	for c := range table {
		switch {
		case c < 0x20 || c == 0x7f:
			table[c] = control
		case c >= 0x80:
			table[c] = nonASCII
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("_~@+=,:.-", byte(c)) >= 0:
			table[c] = plain
		}
	}
	table['/'], table['\\'], table['%'], table['#'] = slash, backslash, percent, number
	table['*'], table['!'] = pattern, pattern
	return table
}()

// Parse reads a request target: an HTTP/1.1 request line's, or HTTP/2's :path. The error is a *[Refusal]. It puts segments that
// are UUIDs into lower case. A canonical target is not copied, and nothing is allocated for it.
func Parse(requestURI string) (Target, error) {
	var t Target
	if len(requestURI) > MaxLength {
		return Target{}, errTooLong
	}
	if requestURI == "" || requestURI[0] != '/' {
		return Target{}, errForm
	}
	path, query, _ := strings.Cut(requestURI, "?")
	escaped := strings.IndexByte(path, '%') >= 0
	if escaped {
		var refused *Refusal
		if path, refused = decode(path); refused != nil {
			return Target{}, refused
		}
	}
	if refused := t.split(path, escaped); refused != nil {
		return Target{}, refused
	}
	lowered := t.lowerUUIDs(path)
	if refused := checkQuery(query); refused != nil {
		return Target{}, refused
	}
	rewritten := escaped || lowered != path
	path = lowered
	t.path, t.query = path, query
	switch {
	case rewritten || t.wild != 0:
		t.uri = encode(path)
		if query != "" {
			t.uri += "?" + query
		}
		if len(t.uri) > MaxLength {
			return Target{}, errTooLong
		}
	case query == "":
		t.uri = path // not a question mark with nothing behind it
	default:
		t.uri = requestURI
	}
	return t, nil
}

// split finds the segments. In a path that was decoded, # comes from %23.
func (t *Target) split(path string, decoded bool) *Refusal {
	if path == "/" {
		return nil
	}
	start, wild := 1, false
	for i := 1; i < len(path); i++ {
		switch classes[path[i]] {
		case plain:
		case slash:
			if refused := t.end(path, start, i, wild); refused != nil {
				return refused
			}
			start, wild = i+1, false
		case pattern:
			wild = true
		case number:
			if !decoded {
				return errFragment
			}
			wild = true
		default:
			return refuseByte(path[i])
		}
	}
	return t.end(path, start, len(path), wild)
}

// end closes the segment path[start:end].
func (t *Target) end(path string, start, end int, wild bool) *Refusal {
	length := end - start
	switch {
	case length == 0:
		return errEmpty
	case path[start] == '.' && (length == 1 || length == 2 && path[start+1] == '.'):
		return errDots
	case t.n == MaxSegments:
		return errSegments
	case length > MaxPattern:
		return errSegment
	}
	if wild || length > MaxSegment {
		t.wild |= 1 << t.n
	}
	t.ends[t.n] = uint16(end) //nolint:gosec // at most MaxLength
	t.n++
	return nil
}

// uuidLength is the length of the form 8a9f6a0e-2b0f-4c1a-9d3e-7f2f0b1c2d3e.
const uuidLength = 36

// lowerUUIDs returns the path with each segment that is a UUID in lower case. RFC 9562, section 4, has one UUID in both
// cases, so that those who compare texts and those who parse them would else disagree on which object a path names.
func (t *Target) lowerUUIDs(path string) string {
	start := 1
	for i := range t.Len() {
		end := int(t.ends[i])
		if end-start == uuidLength && isUUID(path[start:end]) {
			if lower := strings.ToLower(path[start:end]); lower != path[start:end] {
				path = path[:start] + lower + path[end:]
			}
		}
		start = end + 1
	}
	return path
}

func isUUID(s string) bool {
	for i := range uuidLength {
		switch i {
		case 8, 13, 18, 23:
			if s[i] != '-' {
				return false
			}
		default:
			if unhex(s[i]) > 15 {
				return false
			}
		}
	}
	return true
}

func refuseByte(c byte) *Refusal {
	switch classes[c] {
	case backslash:
		return errBackslash
	case control:
		return errControl
	case nonASCII:
		return errNonASCII
	default:
		return errAlphabet
	}
}

// decode undoes the percent-encoding of a path, once. What it answers has only
// those slashes that were slashes before, and no percent sign.
func decode(path string) (string, *Refusal) {
	var b strings.Builder
	b.Grow(len(path))
	for i := 0; i < len(path); i++ {
		c := path[i]
		switch {
		case c == '#':
			return "", errFragment
		case c != '%':
			b.WriteByte(c)
			continue
		case i+2 >= len(path):
			return "", errEscape
		}
		high, low := unhex(path[i+1]), unhex(path[i+2])
		if high > 15 || low > 15 {
			return "", errEscape
		}
		i += 2
		c = high<<4 | low
		switch classes[c] {
		case plain, pattern, number:
			b.WriteByte(c)
		case slash, backslash:
			return "", errSlash
		case percent:
			return "", errTwice
		default:
			return "", refuseByte(c)
		}
	}
	return b.String(), nil
}

// unhex is the value of a hexadecimal digit, or more than 15.
func unhex(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	default:
		return 0xff
	}
}

// checkQuery refuses what two readers of a query could read differently.
func checkQuery(query string) *Refusal {
	encoded := false
	for i := range len(query) {
		switch c := query[i]; {
		case c <= ' ' || c == 0x7f || c == '#' || c == ';':
			return errQueryCharacter
		case c == '%' || c >= 0x80:
			encoded = true
		}
	}
	if !encoded {
		return nil
	}
	var buf [MaxLength]byte
	decoded := buf[:0]
	for i := 0; i < len(query); i++ {
		c := query[i]
		if c == '%' {
			if i+2 >= len(query) {
				return errQueryEscape
			}
			high, low := unhex(query[i+1]), unhex(query[i+2])
			if high > 15 || low > 15 {
				return errQueryEscape
			}
			i += 2
			if c = high<<4 | low; c == 0 {
				return errQueryNUL
			}
		}
		decoded = append(decoded, c)
	}
	if !utf8.Valid(decoded) {
		return errQueryUTF8
	}
	return nil
}
