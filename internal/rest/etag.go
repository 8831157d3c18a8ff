package rest

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
)

// ETag is the strong entity tag of an object as GET returns it.
func ETag(object any) (string, error) {
	body, err := bodyOf(object)
	if err != nil {
		return "", err
	}
	return tagOf(body), nil
}

func tagOf(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
}

// CheckIfMatch refuses with 412 if If-Match names entity tags and the object's is not among them: it has changed since the client
// read it. A header that holds no entity tags is refused with 400.
func CheckIfMatch(header http.Header, object any) error {
	lines := header.Values("If-Match")
	if len(lines) == 0 {
		return nil
	}
	tag, err := ETag(object)
	if err != nil {
		return err
	}
	return checkIfMatch(lines, tag)
}

func checkIfMatch(lines []string, tag string) error {
	sent, valid := parseTags(lines)
	if !valid {
		return apierr.New(apierr.Invalid, `If-Match must hold entity tags in double quotes, as ETag does, or *`)
	}
	if sent.any {
		return nil
	}
	for _, t := range sent.tags {
		if !t.weak && (t.text == tag || uncompressed(t.text) == tag) {
			return nil
		}
	}
	return apierr.New(apierr.PreconditionFailed, "The object has changed since it was read; read it again, and repeat the change")
}

// uncompressed removes what a compressing server in front adds to an entity tag. Caddy adds it, and removes
// it from If-None-Match alone. The object is the same.
func uncompressed(tag string) string {
	for _, coding := range []string{"gzip", "zstd", "br"} {
		if before, ok := strings.CutSuffix(tag, "-"+coding+`"`); ok {
			return before + `"`
		}
	}
	return tag
}

// isNotModified reports whether If-None-Match names the tag. A malformed header is ignored.
func isNotModified(lines []string, tag string) bool {
	sent, valid := parseTags(lines)
	if !valid || len(lines) == 0 {
		return false
	}
	for _, t := range sent.tags {
		if t.text == tag {
			return true
		}
	}
	return sent.any
}

// tagList is the content of If-Match or If-None-Match (RFC 9110, 13.1).
type tagList struct {
	any  bool // *
	tags []entityTag
}

type entityTag struct {
	weak bool
	text string // in its quotes
}

// parseTags reads entity tags, which may hold commas.
func parseTags(lines []string) (tagList, bool) {
	var out tagList
	rest := strings.Join(lines, ",")
	if strings.Trim(rest, " \t") == "*" {
		out.any = true
		return out, true
	}
	for {
		rest = strings.TrimLeft(rest, " \t,")
		if rest == "" {
			return out, len(out.tags) > 0
		}
		var t entityTag
		rest, t.weak = strings.CutPrefix(rest, "W/")
		end := strings.IndexByte(strings.TrimPrefix(rest, `"`), '"')
		if rest == "" || rest[0] != '"' || end < 0 {
			return out, false
		}
		t.text = rest[:end+2]
		out.tags = append(out.tags, t)
		rest = strings.TrimLeft(rest[end+2:], " \t")
		if rest != "" && rest[0] != ',' {
			return out, false
		}
	}
}
