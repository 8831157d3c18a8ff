package caddymodule_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A malformed body is the client's fault: 400, whichever component reads it, and no error in the log.
func TestMalformedBodies(t *testing.T) {
	g := newGateway(t)
	reads := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(reads.Close)
	g.Routes = echoGate + "ringfence_proxy " + reads.Listener.Addr().String()
	g.Load(t)
	admin := g.Admin(t)
	_, _, token := g.Account(t, admin, "client", "echo.#", "auth.#")
	for _, target := range []string{"POST " + echoPrefix + "/pub/x", "GET " + echoPrefix + "/pub/x", "POST /api/auth/0.1/policies", "PATCH /api/auth/0.1/config"} {
		head := target + " HTTP/1.1\r\nHost: gw\r\nAccept: application/json\r\nContent-Type: application/json\r\nX-Auth-Token: " + token + "\r\nTransfer-Encoding: chunked\r\n\r\n"
		for name, body := range map[string]string{
			"a bare line feed after the size":    "2\n{}\r\n0\r\n\r\n",
			"a bare line feed after an option":   "2;a=b\n{}\r\n0\r\n\r\n",
			"a bare line feed after the data":    "2\r\n{}\n0\r\n\r\n",
			"no line break after the data":       "2\r\n{}0\r\n\r\n",
			"a size that is none":                "x\r\n{}\r\n0\r\n\r\n",
			"no size":                            "\r\n{}\r\n0\r\n\r\n",
			"a negative size":                    "-2\r\n{}\r\n0\r\n\r\n",
			"a size with a sign":                 "+2\r\n{}\r\n0\r\n\r\n",
			"a size in another base":             "0x2\r\n{}\r\n0\r\n\r\n",
			"a size that overflows":              "fffffffffffffffff\r\n{}\r\n0\r\n\r\n",
			"a size of too many digits":          strings.Repeat("0", 100) + "2\r\n{}\r\n0\r\n\r\n",
			"a line feed alone at the end":       "2\r\n{}\r\n0\n\n",
			"a good chunk, then a bad one":       "1\r\n{\r\nz\r\n}\r\n0\r\n\r\n",
			"much that is good, then a bad size": strings.Repeat("400\r\n"+strings.Repeat(" ", 1024)+"\r\n", 60) + "z\r\n\r\n",
		} {
			status, err := firstStatus(t, g, head+body)
			if err != nil || (status != 400 && status != 413) { // 413: some accept less than the body's valid part
				t.Errorf("%s, %s: status %d, %v", target, name, status, err)
			}
		}
	}
	if log := g.Logged(t); strings.Contains(log, `"level":"error"`) {
		t.Error("the log has an error")
	}
	// A failing daemon is still reported as failing.
	g.Do(t, "POST", echoPrefix+"/pub/x", token, "{}").Want(204)
	reads.Close()
	g.Do(t, "POST", echoPrefix+"/pub/x", token, "{}").Want(502)
}
