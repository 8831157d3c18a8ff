package gatetest

import (
	"net/http"
	"slices"
	"strings"
)

// headers adds forged and repeated headers that both versions of HTTP have.
func (c *corpus) headers() {
	p, token := c.w.Prefix, c.w.Token
	for _, name := range []string{
		"X-Ringfence-User", "X-Ringfence-Tenant", "X-Ringfence-Session", "X-Ringfence-Purpose", "X-Ringfence-Anything", "x-ringfence-user",
		"X_Ringfence_User", "X-Ringfence_User", "X.Ringfence.User", "X~Ringfence~User", "X-RINGFENCE-USER", "Remote-User", "X-Remote-User",
		"X-Forwarded-User", "X_Auth_Token", "X.Auth.Token", "Wazo_Tenant", "Content_Length", "X-Auth-User", "X-Auth-User-Id", "X-Auth-Username",
		"X-AUTH-TENANT", "X_Auth_User", "X.Auth.Username", "Forwarded", "X-Real-IP", "X_Real_IP", "True-Client-IP", "X-Forwarded-Port", "X-Forwarded-Ssl",
		"X-Forwarded-Scheme", "X-Forwarded-Server", "X-Forwarded-Client-Cert", "X-Forwarded_Port", "X-SSL-Client-Cert", "X-SSL-Client-S-DN",
		"X.SSL.Client", "SSL-Client-Verify", "X-Client-IP", "X-Client-Cert", "X-Client_Id", "Client-Cert", "Client-Cert-Chain", "Client-IP",
		"X-WEBAUTH-USER", "X-Amzn-Oidc-Identity", "X-Original-Remote-Addr", "Remote_Addr", "Cf-Access-Authenticated-User-Email", "From", "Userinfo",
		"X-Userinfo", "X-Id-Token", "X-Access-Token", "X-Jwt-Payload", "X-Jwt-Assertion", "Shib-Identity-Provider", "Shib-Session-ID", "AJP_REMOTE_USER",
		"Impersonate-User", "Impersonate-Group", "Kubeflow-Userid", "X-Accel-Redirect", "X-Grafana-User", "X-Token-Subject", "X-Principal", "X-Roles",
		"X-Groups", "X-Email", "Eppn", "Mail", "Uid", "Auth-User", "User", "X-MS-CLIENT-PRINCIPAL", "X-Endpoint-API-UserInfo", "X-Any-Other",
		"Wazo-Anything", "Baggage", "Signature-Input",
	} {
		c.both("forged "+name, http.MethodGet, p+"/pub/x", []Field{{name, "root"}}, 200)
		c.both("forged on a public route "+name, http.MethodGet, p+"/status", []Field{{"X-Auth-Token", ""}, {name, "root"}}, 200)
	}
	c.both("3.5 two tokens", http.MethodGet, p+"/pub/x", []Field{{"X-Auth-Token", token}, {"X-Auth-Token", c.w.Unknown}}, 400)
	c.both("3.5 the same token twice", http.MethodGet, p+"/pub/x", []Field{{"X-Auth-Token", token}, {"X-Auth-Token", token}}, 400)
	c.both("3.5 two tokens on a public route", http.MethodGet, p+"/status", []Field{{"X-Auth-Token", token}, {"X-Auth-Token", token}}, 400)
	c.both("5.1 two tenants", http.MethodGet, p+"/pub/x", []Field{{"Wazo-Tenant", "a"}, {"Wazo-Tenant", "b"}}, 400)
	for _, bad := range []string{
		token + ", " + token, token + "," + c.w.Unknown, "a, b", "Bearer " + token, token + "\x00", token + "é", "\xff\xfe", strings.Repeat("a", 100_000),
		token + "\t" + token, "../" + token, token[:len(token)-1], token + "a", "'" + token + "'", "#", "*", "null",
	} {
		c.both("3.6 not a token", http.MethodGet, p+"/pub/x", []Field{{"X-Auth-Token", bad}}, 401, 400, 431)
	}
	c.both("token in another header", http.MethodGet, p+"/pub/x", []Field{{"X-Auth-Token", ""}, {"Authorization", "Bearer " + token}}, 401)
	for _, name := range []string{"Authorization", "AUTHORIZATION", "Proxy-Authorization"} {
		c.both(name+" beside a token", http.MethodGet, p+"/pub/x", []Field{{name, "Bearer another"}}, 200)
	}
	c.both("tenant on a public route", http.MethodGet, p+"/status", []Field{{"X-Auth-Token", ""}, {"Wazo-Tenant", "0b9f6a0e-2b0f-4c1a-9d3e-7f2f0b1c2d3e"}}, 200)
	for _, id := range []string{token, "a." + token} {
		c.both("token as a request id", http.MethodGet, p+"/status", []Field{{"X-Auth-Token", ""}, {"X-Request-Id", id}}, 200)
	}
	c.both("token in the query", http.MethodGet, p+"/pub/x?token="+token, []Field{{"X-Auth-Token", ""}}, 401)
	for _, id := range []string{"a b", strings.Repeat("a", 65), "x\"y", "", "é"} {
		c.both("request id "+id, http.MethodGet, p+"/pub/x", []Field{{"X-Request-Id", id}}, 200)
	}
	c.both("two request ids", http.MethodGet, p+"/pub/x", []Field{{"X-Request-Id", "a"}, {"X-Request-Id", "b"}}, 200)
}

// framing adds what only HTTP/1.1 has: lengths, chunks and folded lines.
func (c *corpus) framing() {
	p := c.w.Prefix
	add := func(name string, want []int, raw string) {
		c.cases = append(c.cases, Case{Name: "h1 " + name, Raw: raw, Want: want, Arrives: slices.Equal(want, []int{200})})
	}
	ok := func(name string, want []int, fields ...Field) {
		add(name, want, c.raw(http.MethodGet, p+"/pub/x", fields))
	}
	good := []int{200}
	for _, option := range []string{
		"X-Ringfence-User", "x-ringfence-user, close", "close, X-Ringfence-Tenant, X-Ringfence-Session", "X-Auth-Token", "X-Request-Id",
		"Host", "Content-Length", "Accept", " ,, X-Ringfence-User", "keep-alive;X-Ringfence-User",
	} {
		ok("3.2 Connection: "+option, good, Field{"Connection", option}, Field{"Connection", "close"})
	}
	ok("3.2 Connection lists what is dropped", good,
		Field{"Connection", "close, Forwarded, X-Auth-User, Authorization"}, Field{"X-Auth-User", "root"}, Field{"Forwarded", "for=root"})
	ok("3.2 Connection lists a forged header", good, Field{"Connection", "close, X-Ringfence-User"}, Field{"X-Ringfence-User", "root"})
	ok("upgrade to HTTP/2 in clear text", nil,
		Field{"Connection", "Upgrade, HTTP2-Settings, close"}, Field{"Upgrade", "h2c"}, Field{"HTTP2-Settings", "AAMAAABkAARAAAAAAAIAAAAA"})
	ok("upgrade to two protocols", nil, Field{"Connection", "Upgrade, close"}, Field{"Upgrade", "websocket, h2c"})
	ok("upgrade in two lines", nil, Field{"Connection", "Upgrade, close"}, Field{"Upgrade", "websocket"}, Field{"Upgrade", "h2c"})
	ok("3.6 folded token", []int{401, 400}, Field{"X-Auth-Token", "a\r\n b"})
	ok("3.6 bare carriage return", []int{401, 400}, Field{"X-Auth-Token", c.w.Token + "\rb"})
	ok("3.10 two lengths", []int{400}, Field{"Content-Length", "0"}, Field{"Content-Length", "5"})
	ok("3.10 two hosts", []int{400}, Field{"Host", "evil"})
	ok("3.10 space before the colon", []int{400}, Field{"X-Auth-Token ", c.w.Token})
	ok("3.15 another host", good, Field{"X-Forwarded-Host", "evil"})
	add("3.10 no host", []int{400}, "GET "+p+"/pub/x HTTP/1.1\r\nX-Auth-Token: "+c.w.Token+"\r\n\r\n")
	ok("3.11 unknown coding", []int{501, 400}, Field{"Transfer-Encoding", "xchunked"})
	ok("3.11 two codings", []int{501, 400}, Field{"Transfer-Encoding", "chunked"}, Field{"Transfer-Encoding", "identity"})
	head := "POST " + p + "/pub/x HTTP/1.1\r\nHost: gw\r\nX-Auth-Token: " + c.w.Token + "\r\nContent-Type: application/json\r\n"
	smuggled := c.keep(p+"/admin") + c.raw(http.MethodGet, p+"/pub/last", nil)
	add("3.11 HTTP/1.0 with a coding", nil, "POST "+p+"/pub/x HTTP/1.0\r\nHost: gw\r\nX-Auth-Token: "+c.w.Token+
		"\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"+smuggled)
	add("3.9 coding and length", nil, head+"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"+smuggled)
	add("3.9 length and coding", nil, head+"Transfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n0\r\n\r\nG"+smuggled)
	add("3.9 length that covers a request", nil, head+"Content-Length: 200\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"+smuggled)
	add("pipelined", nil, c.keep(p+"/pub/x")+c.keep(p+"/admin")+smuggled)
	add("trailer", nil, head+"Transfer-Encoding: chunked\r\nTrailer: X-Ringfence-User\r\nConnection: close\r\n\r\n2\r\n{}\r\n0\r\nX-Ringfence-User: root\r\n\r\n")
	add("trailer that was not announced", nil,
		head+"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\n{}\r\n0\r\nX-Ringfence-User: root\r\nX-Auth-Token: x\r\n\r\n")
	add("line feeds alone", nil, "GET "+p+"/pub/x HTTP/1.1\nHost: gw\nX-Auth-Token: "+c.w.Token+"\nConnection: close\n\n")
	add("space in the target", []int{400}, c.raw(http.MethodGet, p+"/pub/a b", nil))
	add("HTTP/0.9", nil, "GET "+p+"/pub/x\r\n\r\n")
}

// keep returns a request that leaves the connection open.
func (c *corpus) keep(target string) string {
	return "GET " + target + " HTTP/1.1\r\nHost: gw\r\nX-Auth-Token: " + c.w.Token + "\r\n\r\n"
}

// http2 adds what only HTTP/2 can express.
func (c *corpus) http2() {
	p := c.w.Prefix
	add := func(name string, want []int, fields []Field) {
		c.cases = append(c.cases, Case{Name: "h2 " + name, H2: fields, Want: want})
	}
	path := p + "/pub/x"
	add("3.13 method with a space", []int{405, 400}, c.h2("G ET", path, nil))
	add("empty method", []int{405, 400}, c.h2("", path, nil))
	add("CONNECT", []int{405, 400}, []Field{{":method", "CONNECT"}, {":authority", "gw:443"}, {"x-auth-token", c.w.Token}})
	add("extended CONNECT", []int{405, 400}, append([]Field{
		{":method", "CONNECT"}, {":protocol", "websocket"}, {":scheme", "https"}, {":authority", "gw"}, {":path", path},
	}, Field{"x-auth-token", c.w.Token}))
	add("no path", []int{400}, []Field{{":method", "GET"}, {":scheme", "https"}, {":authority", "gw"}, {"x-auth-token", c.w.Token}})
	add("empty path", []int{400}, c.h2(http.MethodGet, "", nil))
	add("two paths", []int{400}, append([]Field{{":path", p + "/admin"}}, c.h2(http.MethodGet, path, nil)...))
	add("path after the headers", []int{400}, append(c.h2(http.MethodGet, path, nil), Field{":path", p + "/admin"}))
	add("space in the path", []int{400}, c.h2(http.MethodGet, p+"/pub/a b", nil))
	add("space in the query", []int{400}, c.h2(http.MethodGet, path+"?a b", nil))
	add("request line in the path", []int{400}, c.h2(http.MethodGet, path+" HTTP/1.1\r\nX-Ringfence-User: root", nil))
	add("line feed in the token", []int{400, 401}, c.h2(http.MethodGet, path, []Field{{"X-Auth-Token", c.w.Token + "\n"}}))
	add("Connection", []int{400}, c.h2(http.MethodGet, path, []Field{{"connection", "x-ringfence-user"}}))
	add("Transfer-Encoding", []int{400}, c.h2(http.MethodGet, path, []Field{{"transfer-encoding", "chunked"}}))
	upper := append(c.h2(http.MethodGet, path, nil), Field{"X-Ringfence-User", "root"})
	add("upper case name", []int{400}, upper)
	add("name with a space", []int{400}, append(c.h2(http.MethodGet, path, nil), Field{"x-ringfence user", "root"}))
	add("authority and another host", nil, c.h2(http.MethodGet, path, []Field{{"host", "evil"}}))
	for name, lengths := range map[string][]string{
		"two lengths": {"2", "5"}, "two lengths, the second one right": {"0", "2"}, "two lengths in one line": {"2, 5"}, "a length that is no number": {"x"},
		"a length with a sign": {"+2"}, "an empty length": {""},
	} {
		fields := []Field{{"content-type", "application/json"}}
		for _, length := range lengths {
			fields = append(fields, Field{"content-length", length})
		}
		c.cases = append(c.cases, Case{Name: "h2 " + name, Body: "{}", H2: c.h2(http.MethodPost, path, fields), Want: []int{400}})
	}
	c.cases = append(c.cases,
		Case{
			Name: "h2 trailer", Body: "{}", Trailers: []Field{{"x-ringfence-user", "root"}, {"x-auth-token", "x"}},
			H2: c.h2(http.MethodPost, path, []Field{{"content-type", "application/json"}, {"trailer", "x-ringfence-user"}}),
		},
		Case{
			Name: "h2 trailer that was not announced", Body: "{}", Trailers: []Field{{"x-ringfence-user", "root"}},
			H2: c.h2(http.MethodPost, path, []Field{{"content-type", "application/json"}}),
		})
}
