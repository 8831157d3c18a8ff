package rest

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"regexp"
	"slices"
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
	if len(header.Values("If-Match")) == 0 {
		return nil
	}
	tag, err := ETag(object)
	if err != nil {
		return err
	}
	return checkIfMatch(header, tag)
}

func checkIfMatch(header http.Header, tag string) error {
	sent := header.Values("If-Match")
	tags, valid := parseTags(sent)
	switch {
	case len(sent) == 0 || slices.Contains(tags, "*"):
		return nil
	case !valid:
		return apierr.New(apierr.Invalid, `If-Match must hold entity tags in double quotes, as ETag does, or *`)
	case slices.ContainsFunc(tags, func(t string) bool { return t == tag || uncompressed(t) == tag }):
		return nil
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
func isNotModified(header http.Header, tag string) bool {
	tags, _ := parseTags(header.Values("If-None-Match"))
	return slices.ContainsFunc(tags, func(t string) bool { return t == "*" || strings.TrimPrefix(t, "W/") == tag })
}

// entityTag is one of a list of entity tags, with what separates it from the next one. A tag may hold commas.
var entityTag = regexp.MustCompile(`^[ \t,]*((?:W/)?"[^"]*")[ \t]*(?:,[ \t,]*|$)`)

// parseTags reads If-Match or If-None-Match (RFC 9110, 13.1): entity tags in their quotes, weak ones with W/ before them, or * alone. It
// returns none if there are none, or they are malformed.
func parseTags(lines []string) (tags []string, valid bool) {
	rest := strings.Join(lines, ",")
	if strings.Trim(rest, " \t") == "*" {
		return []string{"*"}, true
	}
	for rest != "" {
		found := entityTag.FindStringSubmatch(rest)
		if found == nil {
			return nil, false
		}
		tags, rest = append(tags, found[1]), rest[len(found[0]):]
	}
	return tags, len(tags) > 0
}
