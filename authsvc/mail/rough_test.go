package mail_test

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/authsvc/mail"
)

// scripted is a server that sends its lines: one first, and one after each line, or text, of the client. Then it stops
// responding, or closes. done is closed when the connection is.
func scripted(t *testing.T, hangs bool, lines ...string) (c mail.Config, done <-chan struct{}) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		in := bufio.NewReader(conn)
		read := func(until string) bool {
			for {
				line, err := in.ReadString('\n')
				if err != nil || until == "" || line == until {
					return err == nil
				}
			}
		}
		until := ""
		for i, line := range lines {
			if i > 0 && !read(until) {
				return
			}
			if _, err := conn.Write([]byte(line + "\r\n")); err != nil {
				return
			}
			if until = ""; strings.HasPrefix(line, "354") {
				until = ".\r\n"
			}
		}
		if hangs {
			_, _ = io.Copy(io.Discard, in)
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-closed
	})
	address, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatalf("address %v", l.Addr())
	}
	return mail.Config{
		Host: "127.0.0.1", Port: address.Port, TLS: mail.NoTLS,
		From: "pbx@example.com", BaseURL: "https://pbx.example.com",
	}, closed
}

func TestRoughServers(t *testing.T) {
	envelope := []string{"220 hi", "250 hello", "250 sender", "250 recipient", "354 go ahead"}
	tests := []struct {
		name  string
		hangs bool
		lines []string
		slow  bool // only the time limit ends it
		want  string
	}{
		{"never greets", true, nil, true, "connecting to"},
		{"closes at once", false, nil, false, "connecting to"},
		{"is busy", false, []string{"421 4.3.2 too busy"}, false, "421 4.3.2 too busy"},
		{"wants nobody", false, []string{"554 5.7.1 go away"}, false, "554 5.7.1 go away"},
		{"is a web server", false, []string{"HTTP/1.1 400 Bad Request"}, false, "short response"},
		{"hangs after the greeting", true, []string{"220 hi"}, true, "connecting to"},
		{"closes after the greeting", false, []string{"220 hi"}, false, "connecting to"},
		{"refuses the sender", true, []string{"220 hi", "250 hello", "550 5.7.1 not you"}, false, "giving the sender to"},
		{"speaks nonsense", true, []string{"220 hi", "250 hello", "\x1b[31mboo\x00"}, false, "giving the sender to"},
		{"closes in the text", false, envelope, false, "the text to"},
		{"hangs in the text", true, envelope, true, "the text to"},
		{"says a lot", true, []string{"220 hi", "250 hello", "550 " + strings.Repeat("no ", 10000)}, false, "no no"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			timeout := time.Minute
			if tt.slow { // in the wanted step if the machine gets there before
				timeout = 500 * time.Millisecond
			}
			var err error
			var closed <-chan struct{}
			for ; timeout <= time.Minute; timeout *= 2 {
				var c mail.Config
				c, closed = scripted(t, tt.hangs, tt.lines...)
				c.Timeout = timeout
				if err = newSender(t, c).Confirmation(t.Context(), ada, id, token); err == nil || strings.Contains(err.Error(), tt.want) {
					break
				}
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error %v, want %s", err, tt.want)
			}
			if len(err.Error()) > 500 || strings.ContainsAny(err.Error(), "\x00\x1b\r\n") {
				t.Errorf("error %q", err)
			}
			// The server's side ends once ours is closed: nothing stays open.
			select {
			case <-closed:
			case <-time.After(time.Minute):
				t.Error("the connection is still open")
			}
		})
	}
}

// TestDeliveredIsDelivered: the server has accepted the mail and does not reply to QUIT. Another attempt would send it twice.
func TestDeliveredIsDelivered(t *testing.T) {
	for name, hangs := range map[string]bool{"closes": false, "hangs": true} {
		t.Run(name, func(t *testing.T) {
			c, closed := scripted(t, hangs, "220 hi", "250 hello", "250 sender", "250 recipient", "354 go ahead", "250 2.0.0 queued")
			c.Timeout = 24 * time.Hour
			if err := newSender(t, c).Confirmation(t.Context(), ada, id, token); err != nil {
				t.Error(err)
			}
			select {
			case <-closed:
			case <-time.After(time.Minute):
				t.Error("the connection is still open")
			}
		})
	}
}
