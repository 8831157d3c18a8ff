package rest

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	// settleSize and settleTime are how much of a body that nobody wants is read before the answer, and for how long.
	settleSize = 64 << 10
	settleTime = 250 * time.Millisecond
	// lingerSize and lingerTime are how much more is read after it, and for how long. Many clients read nothing before they have sent all: over TLS,
	// a connection that is closed before that takes the answer with it. lingerIdle is how long a connection may be silent meanwhile. A stream of
	// HTTP/2 may be so for settleTime: some clients stop sending when they are refused, and wait for the end of the answer.
	lingerSize = 256 << 20
	lingerTime = 30 * time.Second
	lingerIdle = 2 * time.Second
)

// settle prepares for an answer that does not need the rest of the request's body, and returns what is to be done when it
// has been written. What has come is read, so that a client sees an answer and not a stream or a connection that ends while it sends; and
// what does not come is not waited for: net/http would, before the header goes out, unless the connection is to be closed.
func settle(w http.ResponseWriter, r *http.Request) (linger func()) {
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
		return func() {}
	}
	// Who waits to be told to send it (RFC 9110, 10.1.1) is told otherwise by the answer; to read would be to ask for it.
	waiting := expectsContinue(r)
	if !waiting {
		if _, ended := drain(w, r, settleSize, settleTime, settleTime); ended {
			return func() {}
		}
	}
	idle := settleTime
	if r.ProtoMajor == 1 {
		w.Header().Set("Connection", "close")
		idle = lingerIdle
	}
	return func() {
		// When the handler returns, a stream is reset and a connection is closed.
		if http.NewResponseController(w).Flush() == nil && !waiting {
			drain(w, r, lingerSize, lingerTime, idle)
		}
	}
}

func expectsContinue(r *http.Request) bool {
	return len(r.Header["Expect"]) > 0 && strings.EqualFold(r.Header["Expect"][0], "100-continue")
}

// drain reads of the request's body what comes within a time, up to a size and with no longer pause than idle, and returns how much it was and
// whether that was all.
func drain(w http.ResponseWriter, r *http.Request, size int64, patience, idle time.Duration) (n int64, ended bool) {
	from := io.Reader(r.Body)
	if body, ok := from.(limited); ok {
		from = body.whole
	}
	control, end := http.NewResponseController(w), time.Now().Add(patience)
	for piece := make([]byte, 32<<10); n < size; {
		now := time.Now()
		if !now.Before(end) {
			break
		}
		_ = control.SetReadDeadline(now.Add(min(idle, end.Sub(now)))) // every server has deadlines; a test's recorder has none
		got, err := from.Read(piece[:min(int64(len(piece)), size-n)])
		n += int64(got)
		if errors.Is(err, io.EOF) {
			_ = control.SetReadDeadline(time.Time{})
			return n, true
		}
		if err != nil {
			break
		}
	}
	return n, false
}
