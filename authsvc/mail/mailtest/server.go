// Package mailtest runs a real SMTP server on loopback for tests. It offers STARTTLS with its own certificate, keeps the mails
// that it receives, records the bytes on the wire, and can fail as real mail servers do.
package mailtest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// Options change the server. The zero value offers STARTTLS and accepts every mail.
type Options struct {
	// Username and Password, if set, are required to send. The server asks for them once the connection is encrypted, or at once
	// with Clear.
	Username, Password string
	// Mechanism is the one that the server offers: PLAIN or LOGIN. Default: PLAIN.
	Mechanism string
	// Clear makes a server without TLS.
	Clear bool
	// ImplicitTLS makes a server that is encrypted from the first byte, without STARTTLS.
	ImplicitTLS bool
	// Names are the host names and IP addresses of the certificate. Default: localhost, 127.0.0.1 and ::1.
	Names []string
	// Auth, Rcpt and Data, if set, are called before the server accepts, and it replies with their error (a *smtp.SMTPError with
	// its code). They may also call Hang or Drop.
	Auth func(s *Server, username string) error
	Rcpt func(s *Server, address string) error
	Data func(s *Server, text []byte) error
}

// Message is one mail as it arrived.
type Message struct {
	From string   // of the envelope
	To   []string // of the envelope
	Data []byte   // headers and body as sent, lines ending in CRLF, without the doubling of leading dots
	// Username is the authenticated user, TLS the version of the connection's encryption (0: none), Hello the name in the
	// client's greeting.
	Username string
	TLS      uint16
	Hello    string
}

// Server is a running SMTP server.
type Server struct {
	// Addr is host:port; Host and Port are its parts.
	Addr, Host string
	Port       int
	// CAFile is a PEM file with the authority of the server's certificate.
	CAFile string
	// Messages are the accepted mails. There is room for 1000; after that the server replies 452.
	Messages <-chan Message

	options  Options
	messages chan Message
	listener *listener
	stopped  chan struct{}
}

// patience is how long a mail, and the end of the server, may take on a busy machine.
const patience = time.Minute

// Start runs a server until the test ends.
func Start(tb testing.TB, options Options) *Server {
	tb.Helper()
	if options.Names == nil {
		options.Names = []string{"localhost", "127.0.0.1", "::1"}
	}
	if options.Mechanism == "" {
		options.Mechanism = sasl.Plain
	}
	inner, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s := &Server{
		Addr: inner.Addr().String(), options: options, messages: make(chan Message, 1000),
		listener: &listener{Listener: inner}, stopped: make(chan struct{}),
	}
	s.Messages = s.messages
	host, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		tb.Fatal(err)
	}
	s.Host = host
	if s.Port, err = strconv.Atoi(port); err != nil {
		tb.Fatal(err)
	}
	server := smtp.NewServer(smtp.BackendFunc(s.session))
	server.Domain = "mail.test"
	server.ErrorLog = log.New(io.Discard, "", 0)
	server.AllowInsecureAuth = options.Clear
	certificate, ca := certificates(tb, options.Names)
	s.CAFile = ca
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	var accepting net.Listener = s.listener
	switch {
	case options.ImplicitTLS:
		accepting = tls.NewListener(s.listener, config)
	case !options.Clear:
		server.TLSConfig = config
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(accepting)
	}()
	tb.Cleanup(func() {
		close(s.stopped)
		s.listener.stop()
		<-served
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil && !errors.Is(err, net.ErrClosed) {
			tb.Errorf("stopping the SMTP server: %v", err)
		}
	})
	return s
}

// Caddyfile returns the ringfence app's block mail for the server, with more options.
func (s *Server) Caddyfile(more string) string {
	return fmt.Sprintf("mail %s {\nfrom \"Example PBX <pbx@example.com>\"\nca %s\n%s\n}\n", s.Addr, s.CAFile, more)
}

// Next returns the next accepted mail. It fails the test if none arrives within a minute.
func (s *Server) Next(tb testing.TB) Message {
	tb.Helper()
	select {
	case m := <-s.Messages:
		return m
	case <-time.After(patience):
		tb.Fatal("no mail arrived")
		return Message{}
	}
}

// Hang waits until the test ends, and returns an error. It is for the functions of Options.
func (s *Server) Hang() error {
	<-s.stopped
	return errors.New("the test is over")
}

// Drop closes all connections at once, in any state.
func (s *Server) Drop() { s.listener.drop() }

// Wire returns everything that clients have sent to this server so far, as an eavesdropper sees it.
func (s *Server) Wire() []byte { return s.listener.wire() }
