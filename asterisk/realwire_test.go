package asterisk_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/websocket"
)

// wire is what a telephone and Asterisk exchange their messages over.
type wire struct {
	net.Conn
	protocol string                 // as in Via: UDP, TCP, TLS, WS or WSS
	sentBy   string                 // the telephone's own address, as in Via
	receive  func() ([]byte, error) // returns the next message
}

// parameter is what the protocol adds to a URI that leads to the telephone.
func (w wire) parameter() string {
	switch w.protocol {
	case "UDP":
		return ""
	case "WSS":
		return ";transport=ws" // RFC 7118, section 5.2.3
	}
	return ";transport=" + strings.ToLower(w.protocol)
}

func overUDP(t testing.TB, server string) wire {
	t.Helper()
	conn, err := net.Dial("udp4", server)
	if err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 65536)
	return wire{conn, "UDP", conn.LocalAddr().String(), func() ([]byte, error) {
		for {
			n, err := conn.Read(buffer)
			if err != nil && strings.Contains(err.Error(), "refused") { // Asterisk is away
				continue
			}
			return buffer[:n], err
		}
	}}
}

func overTCP(t *testing.T, server string) wire {
	t.Helper()
	conn, err := net.Dial("tcp4", server)
	if err != nil {
		t.Fatal(err)
	}
	return wire{conn, "TCP", conn.LocalAddr().String(), inStream(conn)}
}

// overTLS expects the certificate of that authority.
func overTLS(t *testing.T, server string, authority *x509.CertPool) wire {
	t.Helper()
	conn, err := tlsDial(server, authority)
	if err != nil {
		t.Fatal(err)
	}
	return wire{conn, "TLS", conn.LocalAddr().String(), inStream(conn)}
}

// inStream returns a function that returns the next message of a stream.
func inStream(conn io.Reader) func() ([]byte, error) {
	stream := textproto.NewReader(bufio.NewReader(conn))
	return func() ([]byte, error) {
		var head strings.Builder
		length := 0
		for {
			line, err := stream.ReadLine()
			if err != nil {
				return nil, err
			}
			if line == "" && head.Len() == 0 {
				continue // it keeps the connection alive
			}
			head.WriteString(line + "\r\n")
			if name, value, _ := strings.Cut(line, ":"); strings.EqualFold(strings.TrimSpace(name), "Content-Length") || strings.TrimSpace(name) == "l" {
				length, _ = strconv.Atoi(strings.TrimSpace(value))
			}
			if line == "" {
				body := make([]byte, length)
				_, err := io.ReadFull(stream.R, body)
				return append([]byte(head.String()), body...), err
			}
		}
	}
}

// overWebSocket connects as a browser does (RFC 7118), by TLS if there is an authority for the certificate.
func overWebSocket(t *testing.T, server string, authority *x509.CertPool) wire {
	t.Helper()
	scheme, protocol := "ws", "WS"
	if authority != nil {
		scheme, protocol = "wss", "WSS"
	}
	config, err := websocket.NewConfig(fmt.Sprintf("%s://%s/ws", scheme, server), "http://"+server)
	if err != nil {
		t.Fatal(err)
	}
	config.Protocol, config.TlsConfig = []string{"sip"}, &tls.Config{RootCAs: authority}
	conn, err := config.DialContext(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return wire{conn, protocol, tag() + ".invalid", func() (text []byte, err error) {
		err = websocket.Message.Receive(conn, &text)
		return text, err
	}}
}

// browserSDP is that of a browser: encrypted by keys that DTLS exchanges, on a connection that ICE finds. The test goes no further than
// to agree on it: the telephone has no such media.
func (p *phone) browserSDP(offer bool) string {
	setup := "active"
	if offer {
		setup = "actpass"
	}
	port := p.audio.LocalAddr().(*net.UDPAddr).Port
	return strings.ReplaceAll(fmt.Sprintf(`v=0
o=- 1 1 IN IP4 127.0.0.1
s=-
t=0 0
a=group:BUNDLE 0
a=msid-semantic: WMS *
m=audio %d UDP/TLS/RTP/SAVPF 111 0 8 101
c=IN IP4 127.0.0.1
a=rtcp-mux
a=mid:0
a=sendrecv
a=ice-ufrag:aaaabbbb
a=ice-pwd:aaaabbbbccccddddeeeeffff
a=candidate:1 1 UDP 2130706431 127.0.0.1 %d typ host
a=end-of-candidates
a=fingerprint:sha-256 %s
a=setup:%s
a=rtpmap:111 opus/48000/2
a=rtpmap:0 PCMU/8000
a=rtpmap:8 PCMA/8000
a=rtpmap:101 telephone-event/8000
`, port, port, strings.TrimSuffix(strings.Repeat("0A:", 32), ":"), setup), "\n", "\r\n")
}

func tlsDial(server string, authority *x509.CertPool) (net.Conn, error) {
	return tls.Dial("tcp4", server, &tls.Config{RootCAs: authority})
}
