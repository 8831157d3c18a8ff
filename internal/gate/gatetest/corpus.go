package gatetest

import (
	"fmt"
	"net/http"
	"strings"
)

// Case is one request. Either Raw is set, or H2 is.
type Case struct {
	Name string
	// Raw is an HTTP/1.1 request, or several, as it goes over the wire.
	Raw string
	// H2 are the fields of an HTTP/2 request, in order; Body and Trailers follow if they are set.
	H2       []Field
	Body     string
	Trailers []Field
	// Want are the allowed statuses. Empty: any, as long as everything that arrives passes the check. A stream that is reset, or
	// a connection that is closed without a response, counts as 400.
	Want []int
	// Arrives is set if the request must arrive behind the gate.
	Arrives bool
}

// Field is a header field.
type Field struct{ Name, Value string }

// corpus collects cases.
type corpus struct {
	w     World
	cases []Case
}

// Corpus returns every case, over both versions of HTTP where both can express it.
func Corpus(w World) []Case {
	c := &corpus{w: w}
	c.sane()
	c.targets()
	c.methods()
	c.headers()
	c.framing()
	c.http2()
	return c.cases
}

// both adds a request in both versions. The token is sent unless a header of that name is among the fields.
func (c *corpus) both(name, method, target string, fields []Field, want ...int) {
	arrives := len(want) == 1 && want[0] == http.StatusOK
	c.cases = append(c.cases,
		Case{Name: "h1 " + name, Raw: c.raw(method, target, fields), Want: want, Arrives: arrives},
		Case{Name: "h2 " + name, H2: c.h2(method, target, fields), Want: want, Arrives: arrives})
}

func (c *corpus) raw(method, target string, fields []Field) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: gw\r\nAccept: application/json\r\n", method, target)
	if !names(fields, "X-Auth-Token") {
		fmt.Fprintf(&b, "X-Auth-Token: %s\r\n", c.w.Token)
	}
	if !names(fields, "Connection") {
		b.WriteString("Connection: close\r\n")
	}
	for _, f := range fields {
		fmt.Fprintf(&b, "%s: %s\r\n", f.Name, f.Value)
	}
	return b.String() + "\r\n"
}

func (c *corpus) h2(method, target string, fields []Field) []Field {
	out := []Field{{":method", method}, {":scheme", "https"}, {":authority", "gw"}, {":path", target}, {"accept", "application/json"}}
	if !names(fields, "X-Auth-Token") {
		out = append(out, Field{"x-auth-token", c.w.Token})
	}
	for _, f := range fields {
		out = append(out, Field{strings.ToLower(f.Name), f.Value})
	}
	return out
}

func names(fields []Field, name string) bool {
	for _, f := range fields {
		if f.Name == name {
			return true
		}
	}
	return false
}

func (c *corpus) get(name, target string, want ...int) {
	c.both(name, http.MethodGet, target, nil, want...)
}

// sane adds requests that must work, or the others would prove nothing.
func (c *corpus) sane() {
	p := c.w.Prefix
	c.get("allowed", p+"/pub/x", 200)
	c.get("allowed with a query", p+"/pub/x?search=%C3%A9&limit=1&limit=2", 200)
	c.get("allowed in needless escapes", strings.Replace(p, "a", "%61", 1)+"/p%75b/%78", 200)
	c.get("dots in a segment", p+"/pub/a.b..c", 200)
	c.both("create", http.MethodPost, p+"/pub/x", nil, 200)
	c.both("public", http.MethodGet, p+"/status", []Field{{"X-Auth-Token", ""}}, 200)
	c.get("not held", p+"/admin", 403)
	c.get("not held beside the prefix of what is held", p+"/public/x", 403)
	c.both("no token", http.MethodGet, p+"/pub/x", []Field{{"X-Auth-Token", ""}}, 401)
	c.both("unknown token", http.MethodGet, p+"/pub/x", []Field{{"X-Auth-Token", c.w.Unknown}}, 401)
}

// targets adds request targets that two readers could read differently.
func (c *corpus) targets() {
	p := c.w.Prefix
	c.get("1.2 scheme without slashes", "foo:bar", 400)
	c.get("1.5 asterisk", "*", 400)
	c.both("1.5 OPTIONS asterisk", http.MethodOptions, "*", nil)
	c.get("1.6 absolute without a path", "http://gw", 400)
	c.get("absolute", "https://gw"+p+"/pub/x", 400)
	c.get("authority", "gw:443", 400)
	c.get("network path", "//gw"+p+"/pub/x", 400)
	for _, dirty := range []string{
		"/pub/../admin", "/pub/%2e%2e/admin", "/pub/..%2fadmin", "/pub/.%2e/admin", "/pub/..", "/pub/.", "/./pub/x", "/pub/%2e/x",
		"/pub/..%5cadmin", `/pub/..\admin`, `/pub\..\admin`, "/pub/..;/admin", "/pub/..%00/admin",
		"/pub/%252e%252e/admin", "/pub/%25%32%65%25%32%65/admin", "/pub/%c0%ae%c0%ae/admin", "/pub/%u002e%u002e/admin",
		"//pub/x", "/pub//x", "/pub///x", "/pub/x/", "/pub/x//", "/pub/", "/",
		"/pub/*", "/pub/%2a", "/pub/%23", "/pub/#x", "/pub/x#/../../admin", "/pub/!x", "/pub/%21x", "/*/x", "/#", "/%23",
		"/pub/17%0a", "/pub/17%0d%0aX-Ringfence-User:%20root", "/pub/%00x", "/pub/%7f", "/pub/\x01", "/pub/\x7f",
		"/pub/\uff0e\uff0e/admin", "/pub/\u017f", "/pub/\u212a", "/pub/%e2%84%aa", "/pub/é", "/pub/\xff",
		"/pub/a;b", "/pub;v=1/x", "/pub/a%3bb", "/pub/a%3fb", "/pub/a%20b", "/pub/a%2fb", "/pub/a%2Fb", "/pub/a%5cb", "/pub/{x}", "/pub/%zz", "/pub/%", "/pub/%4",
		"/pub/" + strings.Repeat("a", 129), "/pub" + strings.Repeat("/a", 40),
		"/pub/x?a=1#x", "/pub/x?a=%00", "/pub/x?a;b", "/pub/x?a=%ff", "/pub/x?a=%zz", "/pub/x?a=\x01", "/pub/x?a=\xff",
	} {
		c.get(fmt.Sprintf("1 %.60q", dirty), p+dirty, 400)
	}
	c.get("1.25 16 KB", p+"/pub/"+strings.Repeat("a", 14<<10), 414, 431)
	c.get("1.25 8,000 segments", p+"/pub"+strings.Repeat("/a", 4000), 414, 431)
	version := p[strings.LastIndexByte(p, '/'):]
	parent := strings.TrimSuffix(p, version)
	c.get("1.15 version left out", parent+"/pub/x", 404)
	c.get("1.15 version twice", p+version+"/pub/x", 403)
	c.get("1.15 another version", p+"0/pub/x", 404)
	c.get("1.23 upper case", strings.ToUpper(p)+"/pub/x", 404)
	c.get("1.23 upper case below the prefix", p+"/PUB/x", 403)
	c.get("1.27 more than the prefix", p+"-secret/pub/x", 404)
	c.get("a dot is no boundary", p+"/pub.x/y", 403)
	c.get("an encoded dot is no boundary", p+"/pub%2ex/y", 403)
	c.get("keyword", p+"/me", 403)
}

// methods adds methods that are unknown, or that a header or a parameter would override.
func (c *corpus) methods() {
	p := c.w.Prefix
	for _, method := range []string{"TRACE", "PROPFIND", "get", "GETX", "PRI", "OPTIONS", "BREW"} {
		c.both("method "+method, method, p+"/pub/x", nil, 405, 400)
	}
	c.both("HEAD", http.MethodHead, p+"/pub/x", nil, 200)
	c.both("DELETE not held", http.MethodDelete, p+"/admin", nil, 403)
	for _, name := range []string{
		"X-HTTP-Method-Override", "X-Method-Override", "X-HTTP-Method", "X_HTTP_Method_Override", "X-Original-URL", "X-Rewrite-URL",
		"X-Forwarded-Uri", "X-Forwarded-Prefix", "X-Forwarded-Method", "X-Original-Uri", "X-Script-Name", "X.Rewrite.Url",
	} {
		c.both("2.4, 1.30 "+name, http.MethodGet, p+"/pub/x", []Field{{name, "/admin"}}, 200)
	}
	c.get("2.4 _method", p+"/pub/x?_method=DELETE", 400)
	c.get("2.4 _method encoded", p+"/pub/x?a=1&%5Fmethod=DELETE", 400)
	for _, name := range []string{
		"_method[]", "_method%5B%5D", "_METHOD[0]", "_method[a][b]", "+_method", "%20_method", ".method", "%2Emethod", "_method%20", "_method[", "[method",
		"x-http-method-override", "X_HTTP_Method", "X-Method-Override", "__method",
	} {
		c.get("2.4 override "+name, p+"/pub/x?a=1&"+name+"=DELETE", 400)
	}
	c.both("preflight of a stranger", http.MethodOptions, p+"/pub/x",
		[]Field{{"Origin", "https://evil.example"}, {"Access-Control-Request-Method", "DELETE"}}, 405)
}
