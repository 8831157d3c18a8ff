package direct

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"time"
)

const (
	// mostBody is how long a body may be, in bytes: it is held in memory.
	mostBody = 64 << 10
	// mostInformed is how many 1xx answers may come before the real one, as long as nobody wants to hear of them.
	mostInformed = 5
	// defaultHeader is how long the header of an answer may be, in bytes.
	defaultHeader = 10 << 20
)

// Transport is a RoundTripper for daemons nearby. Set its fields before its first request. It is safe for concurrent use.
type Transport struct {
	// Address returns where a request goes. Connections are kept by it. It must be set.
	Address func(r *http.Request) (network, address string)
	// Dial connects. It must be set.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Else takes what Transport does not. It must be set.
	Else http.RoundTripper
	// MaxIdlePerAddress is how many connections are kept for one address, and MaxIdle how many in all; 0 is any number.
	MaxIdlePerAddress, MaxIdle int
	// IdleTimeout is how long a connection is kept without a request; 0 is for ever.
	IdleTimeout time.Duration
	// HeaderTimeout is how long the daemon may take from the end of the request to the end of its header; 0 is for ever.
	HeaderTimeout time.Duration
	// MaxHeader is how long the header of an answer may be, in bytes. Default: 10 MiB.
	MaxHeader int64
	// ReadBuffer and WriteBuffer are the sizes of a connection's buffers, in bytes. Default: 4 KiB.
	ReadBuffer, WriteBuffer int

	idle pool
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "http" || !Takes(r) {
		return t.Else.RoundTrip(r)
	}
	network, address := t.Address(r)
	var informed func(int, textproto.MIMEHeader) error
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil {
		informed = trace.Got1xxResponse
	}
	return t.Exchange(r, network, address, informed)
}

// Exchange is RoundTrip for a request that Takes allows, to that address. informed is called with each 1xx answer; its error ends the request.
// If it is nil, they are left out.
func (t *Transport) Exchange(r *http.Request, network, address string, informed func(status int, header textproto.MIMEHeader) error) (*http.Response, error) {
	at := place{network, address}
	var body []byte // nil until it is read
	for {
		c, kept, err := t.connect(r.Context(), at)
		if err != nil {
			return nil, unreached(r, body, err)
		}
		c.begin(r.Context())
		if body == nil && !bodyless(r) {
			if body, err = readBody(r); err != nil {
				c.abandon()
				return nil, cmp.Or(r.Context().Err(), err)
			}
			if c.kernel != nil && !c.alive() { // it had to wait for too long
				c.abandon()
				continue
			}
		}
		response, err := c.exchange(r, body, informed)
		if err == nil {
			return response, nil
		}
		c.abandon()
		if ended := r.Context().Err(); ended != nil {
			return nil, ended
		}
		if !kept || !c.mayRepeat(r, body, err) {
			return nil, err
		}
	}
}

// unreached returns the error of a request for which there is no connection. While the body is unread it is the error of Dial as it is: who
// balances the load asks what kind of error it is, and sends the request elsewhere. After that it is of no kind: elsewhere the body would be
// missing.
func unreached(r *http.Request, body []byte, err error) error {
	if body == nil && r.Body != nil {
		_ = r.Body.Close() // unread
	}
	if ended := r.Context().Err(); ended != nil {
		return ended
	}
	if body != nil {
		return errors.New("connecting again, with the body read: " + err.Error())
	}
	return err
}

// Close closes the connections that are kept. No others are kept from now on: an answer that is still being read closes its own at its end.
// Else stays open.
func (t *Transport) Close() {
	t.idle.close()
}

// CloseIdleConnections closes the connections that are kept.
func (t *Transport) CloseIdleConnections() {
	t.idle.empty()
	if other, ok := t.Else.(interface{ CloseIdleConnections() }); ok {
		other.CloseIdleConnections()
	}
}

// Takes reports whether a request is of the common case. It must be for HTTP in clear text.
func Takes(r *http.Request) bool {
	if r.Method == http.MethodConnect || r.Close || len(r.TransferEncoding) > 0 || len(r.Trailer) > 0 ||
		r.Header["Upgrade"] != nil || r.Header["Expect"] != nil || r.Host == "" && r.URL.Host == "" {
		return false
	}
	return bodyless(r) || 0 < r.ContentLength && r.ContentLength <= mostBody
}

func bodyless(r *http.Request) bool { return r.Body == nil || r.Body == http.NoBody }

func readBody(r *http.Request) ([]byte, error) {
	if bodyless(r) {
		return nil, nil
	}
	body := make([]byte, r.ContentLength)
	_, err := io.ReadFull(r.Body, body)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = fmt.Errorf("the body of the request is shorter than its length: %w", io.ErrUnexpectedEOF)
	}
	if closed := r.Body.Close(); err == nil {
		err = closed
	}
	return body, err
}

// connect returns a connection, and whether it was kept from an earlier request.
func (t *Transport) connect(ctx context.Context, at place) (c *conn, kept bool, err error) {
	for {
		c := t.idle.take(at)
		if c == nil {
			break
		}
		if c.alive() {
			return c, true, nil
		}
		c.close()
	}
	raw, err := t.Dial(ctx, at.network, at.address)
	if err != nil {
		return nil, false, err
	}
	return newConn(t, at, raw), false, nil
}

// mayRepeat reports whether a request may be sent again after this connection, which was kept, has failed.
func (c *conn) mayRepeat(r *http.Request, body []byte, err error) bool {
	if c.written == 0 {
		return true
	}
	timeout, ok := errors.AsType[net.Error](err)
	if c.answered || len(body) > 0 || ok && timeout.Timeout() {
		return false
	}
	switch r.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return r.Header["Idempotency-Key"] != nil || r.Header["X-Idempotency-Key"] != nil
}

// exchange sends the request, after begin, and reads the answer's header. The answer's body gives the connection back.
func (c *conn) exchange(r *http.Request, body []byte, informed func(int, textproto.MIMEHeader) error) (*http.Response, error) {
	if err := c.send(r, body); err != nil && !c.hears() {
		return nil, &exchangeError{"sending to", c.at.address, err}
	}
	var response *http.Response
	err := c.within(c.transport.HeaderTimeout, func() (err error) {
		response, err = c.receive(r, informed) //nolint:bodyclose // the caller closes it
		return err
	})
	if err != nil {
		return nil, &exchangeError{"reading the answer of", c.at.address, err}
	}
	c.ends = c.ends || response.Close
	if response.Body == http.NoBody {
		c.release()
	} else {
		response.Body = &answer{conn: c, from: response.Body}
	}
	return response, nil
}

func (c *conn) send(r *http.Request, body []byte) error {
	if writeHeader(c.out, r) {
		if _, err := c.out.Write(body); err != nil {
			return err
		}
		return c.out.Flush()
	}
	if body != nil {
		with := *r
		with.Body = io.NopCloser(bytes.NewReader(body))
		r = &with
	}
	if err := r.Write(c.out); err != nil {
		return err
	}
	return c.out.Flush()
}

// hears reports whether an answer has come although the request could not be sent as a whole: the daemon did not want to read it.
func (c *conn) hears() bool {
	c.ends = true
	if c.written == 0 {
		return false
	}
	return c.within(50*time.Millisecond, func() error {
		_, err := c.in.Peek(1)
		return err
	}) == nil
}

// exchangeError is a failure on a connection. It is a net.Error itself, since reverse_proxy looks for one without unwrapping: 504.
type exchangeError struct {
	doing, address string
	err            error
}

func (e *exchangeError) Error() string   { return e.doing + " " + e.address + ": " + e.err.Error() }
func (e *exchangeError) Unwrap() error   { return e.err }
func (e *exchangeError) Temporary() bool { return false }
func (e *exchangeError) Timeout() bool {
	late, ok := errors.AsType[net.Error](e.err)
	return ok && late.Timeout()
}

// timeoutError says that the daemon took too long. It is a net.Error.
type timeoutError struct{}

func (timeoutError) Error() string   { return "it took too long" }
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }

// within runs do, and closes the connection if that takes longer than d; 0 is for ever. A deadline would not do: connections with timeouts
// for each read move it.
func (c *conn) within(d time.Duration, do func() error) error {
	if d <= 0 {
		return do()
	}
	timer := time.AfterFunc(d, c.close)
	err := do()
	if !timer.Stop() {
		return timeoutError{}
	}
	return err
}

func (c *conn) receive(r *http.Request, informed func(int, textproto.MIMEHeader) error) (*http.Response, error) {
	c.left = c.transport.MaxHeader
	if c.left <= 0 {
		c.left = defaultHeader
	}
	_, err := c.in.Peek(1)
	if err != nil {
		return nil, err
	}
	c.answered = true
	limit := c.left
	for left := mostInformed; ; {
		response, err := http.ReadResponse(c.in, r)
		switch {
		case err != nil:
			return nil, err
		case response.StatusCode == http.StatusSwitchingProtocols:
			return nil, errors.New("it switches protocols, and was not asked to")
		case response.StatusCode >= 200:
			c.left = unlimited
			return response, nil
		case informed != nil:
			if err := informed(response.StatusCode, textproto.MIMEHeader(response.Header)); err != nil {
				return nil, err
			}
			c.left = limit // who heard of it limits their number
		default:
			if left--; left < 0 {
				return nil, errors.New("it sends 1xx answers without end")
			}
		}
	}
}
