package proxy

import (
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// informer passes on 1xx answers.
type informer struct{ w http.ResponseWriter }

func (i informer) tell(status int, sent textproto.MIMEHeader) error {
	header := i.w.Header()
	own := header.Clone()
	addHeader(header, http.Header(sent))
	i.w.WriteHeader(status)
	clear(header)
	maps.Copy(header, own)
	return nil
}

// copyHeader adds the header of a daemon's answer to the client's.
func copyHeader(header http.Header, answer *http.Response) {
	delete(header, "Server")
	header["Via"] = append(header["Via"], via(answer.ProtoMajor, answer.ProtoMinor))
	addHeader(header, answer.Header)
}

// addHeader adds all but what concerns one connection, which Connection may name.
func addHeader(to, from http.Header) {
	for _, line := range from["Connection"] {
		for name := range strings.SplitSeq(line, ",") {
			if name = textproto.TrimString(name); name != "" {
				from.Del(name)
			}
		}
	}
	for name, values := range from {
		switch {
		case hop(name):
		case to[name] == nil:
			to[name] = slices.Clip(values)
		default:
			to[name] = append(to[name], values...)
		}
	}
}

// announce names the trailers that an answer will have, and returns their number.
func announce(header http.Header, answer *http.Response) int {
	if len(answer.Trailer) == 0 {
		return 0
	}
	header.Add("Trailer", strings.Join(slices.Sorted(maps.Keys(answer.Trailer)), ", "))
	return len(answer.Trailer)
}

// addTrailers passes on the trailers of an answer that was read to its end.
func addTrailers(w http.ResponseWriter, answer *http.Response, announced int) {
	if len(answer.Trailer) == 0 {
		return
	}
	_ = http.NewResponseController(w).Flush() // without it net/http would count a short body, and send no trailers
	prefix := ""
	if len(answer.Trailer) != announced {
		prefix = http.TrailerPrefix
	}
	for name, values := range answer.Trailer {
		for _, value := range values {
			w.Header().Add(prefix+name, value)
		}
	}
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}

// copyBody passes the body on. One that has no end in sight is passed on as it comes.
func copyBody(w http.ResponseWriter, answer *http.Response) error {
	if answer.Body == http.NoBody {
		return nil
	}
	to := io.Writer(w)
	if answer.ContentLength < 0 || isStream(answer.Header) {
		at := &atOnce{w: w, flush: http.NewResponseController(w).Flush}
		at.waiting = time.AfterFunc(patience, at.begin)
		defer at.end()
		to = at
	}
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	for {
		n, err := answer.Body.Read(*buffer)
		if n > 0 {
			if _, err := to.Write((*buffer)[:n]); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// patience is how long a header waits for the first bytes of a body of unknown length. Mostly they are there, and go with it.
const patience = time.Millisecond

// atOnce flushes the header and each write.
type atOnce struct {
	w     http.ResponseWriter
	flush func() error

	mu      sync.Mutex // begin runs concurrently
	waiting *time.Timer
	begun   bool
}

func (a *atOnce) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begun = true
	n, err := a.w.Write(p)
	if err == nil {
		err = a.flush()
	}
	return n, err
}

func (a *atOnce) begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.begun {
		_ = a.flush()
	}
}

// end keeps begin from running later.
func (a *atOnce) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begun = true
	a.waiting.Stop()
}

const eventStream = "text/event-stream"

// isStream reports whether a body is to be passed on as it comes, although its length may be known.
func isStream(header http.Header) bool {
	if header["Incremental"] != nil && caddyhttp.IsIncremental(header) {
		return true
	}
	kind := header["Content-Type"]
	if len(kind) == 0 || !strings.EqualFold(kind[0][:min(len(kind[0]), len(eventStream))], eventStream) {
		return false
	}
	name, _, err := mime.ParseMediaType(kind[0])
	return err == nil && name == eventStream
}
