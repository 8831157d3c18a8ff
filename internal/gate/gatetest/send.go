package gatetest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Answer is the first response.
type Answer struct {
	// Status is 400 if the server reset the stream or closed the connection without a response.
	Status int
	Header http.Header
	Body   []byte
}

// patience is how long a case may take; the server responds to every case or cuts it off at once.
const patience = 10 * time.Second

// Send sends the case's bytes to a server over TLS and reads the whole response.
func (c Case) Send(ctx context.Context, addr string) (Answer, error) {
	protocol := "http/1.1"
	if c.H2 != nil {
		protocol = "h2"
	}
	dialer := tls.Dialer{Config: &tls.Config{
		InsecureSkipVerify: true, //nolint:gosec // the certificate is not what is tested
		NextProtos:         []string{protocol},
	}}
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return Answer{}, fmt.Errorf("connecting: %w", err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return Answer{}, err
	}
	if c.H2 != nil {
		return c.sendH2(conn)
	}
	return c.sendH1(conn)
}

// sendH1 reads until the server closes the connection, which the last request of a case asks for. Our side stays open: a server
// takes its end for a client that left, and abandons the request.
func (c Case) sendH1(conn net.Conn) (Answer, error) {
	if _, err := io.WriteString(conn, c.Raw); err != nil {
		return Answer{Status: http.StatusBadRequest}, nil // refused while we wrote
	}
	method, _, _ := strings.Cut(c.Raw, " ")
	buffered := bufio.NewReader(conn)
	var first Answer
	for n := 0; ; n++ {
		res, err := http.ReadResponse(buffered, &http.Request{Method: method})
		if err != nil {
			if n == 0 {
				first.Status = http.StatusBadRequest
			}
			return first, nil
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if n == 0 {
			first = Answer{Status: res.StatusCode, Header: res.Header, Body: body}
		}
		if err != nil {
			return first, nil
		}
	}
}

func (c Case) sendH2(conn net.Conn) (Answer, error) {
	var out bytes.Buffer
	out.WriteString(http2.ClientPreface)
	framer := http2.NewFramer(&out, conn)
	framer.AllowIllegalWrites = true
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	err := errors.Join(framer.WriteSettings(), c.writeHeaders(framer, encoder, &block))
	if c.Body != "" {
		err = errors.Join(err, framer.WriteData(1, c.Trailers == nil, []byte(c.Body)))
	}
	if c.Trailers != nil {
		block.Reset()
		err = errors.Join(err, encode(encoder, c.Trailers),
			framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true}))
	}
	if err != nil {
		return Answer{}, fmt.Errorf("making frames: %w", err)
	}
	if _, err := conn.Write(out.Bytes()); err != nil {
		return Answer{Status: http.StatusBadRequest}, nil
	}
	return readH2(framer)
}

// writeHeaders splits a header block that is longer than a frame may be.
func (c Case) writeHeaders(framer *http2.Framer, encoder *hpack.Encoder, block *bytes.Buffer) error {
	const most = 16 << 10
	if err := encode(encoder, c.H2); err != nil {
		return err
	}
	fragment := block.Next(most)
	err := framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: 1, BlockFragment: fragment, EndStream: c.Body == "" && c.Trailers == nil, EndHeaders: block.Len() == 0,
	})
	for err == nil && block.Len() > 0 {
		fragment = block.Next(most)
		err = framer.WriteContinuation(1, block.Len() == 0, fragment)
	}
	return err
}

func encode(encoder *hpack.Encoder, fields []Field) error {
	for _, f := range fields {
		if err := encoder.WriteField(hpack.HeaderField{Name: f.Name, Value: f.Value}); err != nil {
			return err
		}
	}
	return nil
}

func readH2(framer *http2.Framer) (Answer, error) {
	answer := Answer{Status: http.StatusBadRequest}
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return answer, nil // the server hung up
		}
		ended := false
		switch f := frame.(type) {
		case *http2.MetaHeadersFrame:
			if answer.Header == nil {
				answer.Header = http.Header{}
				for _, field := range f.RegularFields() {
					answer.Header.Add(field.Name, field.Value)
				}
				if answer.Status, err = strconv.Atoi(f.PseudoValue("status")); err != nil {
					return answer, fmt.Errorf("reading a status: %w", err)
				}
			}
			ended = f.StreamEnded()
		case *http2.DataFrame:
			answer.Body = append(answer.Body, f.Data()...)
			ended = f.StreamEnded()
		case *http2.RSTStreamFrame:
			ended = true
		case *http2.GoAwayFrame:
			ended = f.ErrCode != http2.ErrCodeNo
		}
		if ended {
			return answer, nil
		}
	}
}
