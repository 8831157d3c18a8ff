package ldap

import (
	"errors"
	"fmt"
	"net"
	"slices"

	ber "github.com/go-asn1-ber/asn1-ber"
	goldap "github.com/go-ldap/ldap/v3"
)

// maxAnswers is how many bytes a directory may send in one session: a handshake, and one entry with four attributes. The library
// itself would accept messages of two gigabytes.
const maxAnswers = 256 << 10

var errTooLong = fmt.Errorf("the directory sent more than %d bytes", maxAnswers)

// wire is the connection as the library sees it.
type wire struct {
	net.Conn
	left     int // how much may still be read
	version2 bool
}

func (w *wire) Read(p []byte) (int, error) {
	if w.left <= 0 {
		return 0, errTooLong
	}
	n, err := w.Conn.Read(p[:min(len(p), w.left)])
	w.left -= n
	return n, err
}

// Write receives whole messages, one per call, where the version matters: version 2 has no StartTLS.
func (w *wire) Write(message []byte) (int, error) {
	if w.version2 {
		var err error
		if message, err = inVersion2(message); err != nil {
			return 0, err
		}
	}
	return w.Conn.Write(message)
}

// inVersion2 sets the protocol version of a bind, which the library always writes as 3. Other messages have no version, and those
// that we send are the same in both versions (RFC 1777, RFC 4511).
func inVersion2(message []byte) ([]byte, error) {
	packet, err := ber.DecodePacketErr(message)
	if err != nil || len(packet.Children) < 2 {
		return nil, errors.New("reading a message of the library's own making")
	}
	op := packet.Children[1]
	if op.ClassType != ber.ClassApplication || op.Tag != goldap.ApplicationBindRequest {
		return message, nil
	}
	// The operation is the end of the message, and begins with the version: type, length 1, value.
	version := len(message) - op.Data.Len() + 2
	message = slices.Clone(message)
	message[version] = 2
	return message, nil
}
