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
	// lingerSize and lingerTime are how much more is read after it, so that the client is not cut off before it has read the answer.
	lingerSize = 1 << 20
	lingerTime = time.Second
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
		if _, ended := drain(w, r, settleSize, settleTime); ended {
			return func() {}
		}
	}
	if r.ProtoMajor == 1 {
		w.Header().Set("Connection", "close")
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(lingerTime)) // net/http lingers
		return func() {}
	}
	return func() {
		// When the handler returns, the stream is reset. curl 7.88 takes that for an error, unless it has seen the header.
		if http.NewResponseController(w).Flush() == nil && !waiting {
			drain(w, r, lingerSize, settleTime)
		}
	}
}

func expectsContinue(r *http.Request) bool {
	return len(r.Header["Expect"]) > 0 && strings.EqualFold(r.Header["Expect"][0], "100-continue")
}

// drain reads of the request's body what comes within a time, up to a size, and returns how much it was and whether that
// was all.
func drain(w http.ResponseWriter, r *http.Request, size int64, patience time.Duration) (n int64, ended bool) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(patience)) // every server has deadlines; a test's recorder has none
	n, err := io.CopyN(io.Discard, r.Body, size)
	if errors.Is(err, io.EOF) {
		_ = control.SetReadDeadline(time.Time{})
		return n, true
	}
	return n, false
}
