package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// tokenHole marks the place of the token in a prepared request.
const tokenHole = "{token}"

// request is a prepared request: the bytes before and after the token.
type request struct{ before, after string }

// requestTo prepares a request without a body. The token is sent in the header, unless the path has a hole for it.
func requestTo(address, method, path string) request {
	header := "X-Auth-Token: " + tokenHole + "\r\n"
	if strings.Contains(path, tokenHole) {
		header = ""
	}
	before, after, _ := strings.Cut(method+" "+path+" HTTP/1.1\r\n"+
		"Host: "+address+"\r\n"+
		"User-Agent: ringfence-bench/1.0\r\n"+
		"Accept: application/json\r\n"+
		"Accept-Encoding: gzip\r\n"+
		header+"\r\n", tokenHole)
	return request{before, after}
}

// client is one connection, with one request at a time.
type client struct {
	address string
	conn    net.Conn
	answers *bufio.Reader
	buffer  []byte
}

func dial(address string) (*client, error) {
	conn, err := tls.Dial("tcp", address, anyCertificate())
	if err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	return &client{address: address, conn: conn, answers: bufio.NewReaderSize(conn, 8<<10)}, nil
}

// ask sends a prepared request; every response other than 200 and 204 is an error.
func (c *client) ask(r request, token string) error {
	c.buffer = append(append(append(c.buffer[:0], r.before...), token...), r.after...)
	if _, err := c.conn.Write(c.buffer); err != nil {
		return fmt.Errorf("sending a request: %w", err)
	}
	status, length, err := c.head()
	switch {
	case err != nil:
		return err
	case status != http.StatusOK && status != http.StatusNoContent:
		return fmt.Errorf("answered %d", status)
	case strings.HasPrefix(r.before, http.MethodHead):
		return nil
	}
	if _, err := c.answers.Discard(length); err != nil {
		return fmt.Errorf("reading an answer's body: %w", err)
	}
	return nil
}

// call sends any request, with more "Name: value" header lines, and returns status and body.
func (c *client) call(method, path, body string, header ...string) (int, []byte, error) {
	lines := append([]string{method + " " + path + " HTTP/1.1", "Host: " + c.address, "Accept: application/json"}, header...)
	if body != "" {
		lines = append(lines, "Content-Type: application/json", "Content-Length: "+strconv.Itoa(len(body)))
	}
	if _, err := io.WriteString(c.conn, strings.Join(lines, "\r\n")+"\r\n\r\n"+body); err != nil {
		return 0, nil, fmt.Errorf("sending a request: %w", err)
	}
	status, length, err := c.head()
	if err != nil || method == http.MethodHead {
		return status, nil, err
	}
	answer := make([]byte, length)
	if _, err := io.ReadFull(c.answers, answer); err != nil {
		return 0, nil, fmt.Errorf("reading an answer's body: %w", err)
	}
	return status, answer, nil
}

var (
	protocol      = []byte("HTTP/1.1 ")
	contentLength = []byte("content-length: ")
)

// head reads a response up to its body, and returns the status and the body's length.
func (c *client) head() (status, length int, err error) {
	line, err := c.answers.ReadSlice('\n')
	if err != nil {
		return 0, 0, fmt.Errorf("reading an answer: %w", err)
	}
	rest, ok := bytes.CutPrefix(line, protocol)
	if !ok || len(rest) < 3 {
		return 0, 0, fmt.Errorf("answered %q", bytes.TrimSpace(line))
	}
	if status, err = strconv.Atoi(string(rest[:3])); err != nil {
		return 0, 0, fmt.Errorf("answered %q", bytes.TrimSpace(line))
	}
	length = -1
	for {
		line, err := c.answers.ReadSlice('\n')
		if err != nil {
			return 0, 0, fmt.Errorf("reading an answer: %w", err)
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if n := len(contentLength); len(line) > n && bytes.EqualFold(line[:n], contentLength) {
			if length, err = strconv.Atoi(string(line[n:])); err != nil {
				return 0, 0, fmt.Errorf("reading an answer's length: %w", err)
			}
		}
	}
	if status == http.StatusNoContent {
		length = 0
	}
	if length < 0 {
		return 0, 0, errors.New("an answer has no length")
	}
	return status, length, nil
}
