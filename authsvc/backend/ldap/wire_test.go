package ldap_test

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"slices"
	"sync"
	"testing"

	ber "github.com/go-asn1-ber/asn1-ber"
	goldap "github.com/go-ldap/ldap/v3"

	"github.com/ringfence/ringfence/authsvc/backend/ldap"
	"github.com/ringfence/ringfence/authsvc/backend/ldap/ldaptest"
)

// listen serves each connection to a free port until the test ends, and returns the port.
func listen(t *testing.T, serve func(net.Conn)) int {
	t.Helper()
	l, err := net.Listen("tcp", ldaptest.Host+":0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, c)
			mu.Unlock()
			serving.Go(func() {
				defer c.Close()
				serve(c)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for _, c := range conns {
			_ = c.Close()
		}
		mu.Unlock()
		serving.Wait()
	})
	return l.Addr().(*net.TCPAddr).Port
}

// relay sits between client and server, and records what the client sends.
type relay struct {
	port int

	mu   sync.Mutex
	said bytes.Buffer
	idle sync.WaitGroup // open connections
}

// newRelay forwards to port, and forwards only so many bytes of the server's responses: then it closes.
func newRelay(t *testing.T, port int, answers int64) *relay {
	t.Helper()
	r := new(relay)
	r.port = listen(t, func(client net.Conn) {
		r.idle.Add(1)
		defer r.idle.Done()
		passOn(client, port, r, answers)
	})
	return r
}

// passOn forwards between client and the server at port until one of them closes or the server has sent so many bytes. It copies
// what the client sends to said.
func passOn(client net.Conn, port int, said io.Writer, answers int64) {
	server, err := net.DialTCP("tcp", nil, &net.TCPAddr{IP: net.ParseIP(ldaptest.Host), Port: port})
	if err != nil {
		return
	}
	var there sync.WaitGroup
	there.Go(func() {
		_, _ = io.Copy(io.MultiWriter(server, said), client)
		_ = server.Close()
	})
	_, _ = io.CopyN(client, server, answers)
	_ = client.Close()
	there.Wait()
}

func (r *relay) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.said.Write(p)
}

// bytes returns what clients have sent.
func (r *relay) bytes() []byte {
	r.idle.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return bytes.Clone(r.said.Bytes())
}

// operations returns the tags of the operations that clients have sent in plain text.
func (r *relay) operations(t *testing.T) []ber.Tag {
	t.Helper()
	var tags []ber.Tag
	for said := bytes.NewReader(r.bytes()); said.Len() > 0; {
		packet, err := ber.ReadPacket(said)
		if err != nil {
			t.Fatalf("the client says what is no LDAP: %v", err)
		}
		tags = append(tags, packet.Children[1].Tag)
	}
	return tags
}

// fake is a directory that the test controls: to each operation it returns what answer returns, and nothing to an unbind. It
// closes the connection if answer returns nil.
func fake(t *testing.T, answer func(op *ber.Packet) []*ber.Packet) ldap.Config {
	t.Helper()
	port := listen(t, func(c net.Conn) {
		for in := bufio.NewReader(c); ; {
			packet, err := ber.ReadPacket(in)
			if err != nil || packet.Children[1].Tag == goldap.ApplicationUnbindRequest {
				return
			}
			answers := answer(packet.Children[1])
			if answers == nil {
				return
			}
			for _, op := range answers {
				envelope := ber.Encode(ber.ClassUniversal, ber.TypeConstructed, ber.TagSequence, nil, "")
				envelope.AppendChild(ber.NewInteger(ber.ClassUniversal, ber.TypePrimitive, ber.TagInteger, packet.Children[0].Value, ""))
				envelope.AppendChild(op)
				if _, err := c.Write(envelope.Bytes()); err != nil {
					return
				}
			}
		}
	})
	return ldap.Config{
		Host: ldaptest.Host, Port: port, ProtocolVersion: 3,
		BindDN: ldaptest.ServiceDN, BindPassword: ldaptest.ServicePassword,
		UserBaseDN: ldaptest.PeopleDN, UserLoginAttribute: "uid", UserEmailAttribute: "mail",
		Reach: ldaptest.Reach,
	}
}

// result returns the end of an operation: its tag is the response's.
func result(tag ber.Tag, code int64, diagnostic string) *ber.Packet {
	op := ber.Encode(ber.ClassApplication, ber.TypeConstructed, tag, nil, "")
	op.AppendChild(ber.NewInteger(ber.ClassUniversal, ber.TypePrimitive, ber.TagEnumerated, code, ""))
	op.AppendChild(ber.NewString(ber.ClassUniversal, ber.TypePrimitive, ber.TagOctetString, "", ""))
	op.AppendChild(ber.NewString(ber.ClassUniversal, ber.TypePrimitive, ber.TagOctetString, diagnostic, ""))
	return op
}

// found returns one entry of a search result; attributes alternates names and values.
func found(dn string, attributes ...string) *ber.Packet {
	op := ber.Encode(ber.ClassApplication, ber.TypeConstructed, goldap.ApplicationSearchResultEntry, nil, "")
	op.AppendChild(ber.NewString(ber.ClassUniversal, ber.TypePrimitive, ber.TagOctetString, dn, ""))
	list := ber.Encode(ber.ClassUniversal, ber.TypeConstructed, ber.TagSequence, nil, "")
	values := map[string]*ber.Packet{}
	for i := 0; i < len(attributes); i += 2 {
		set := values[attributes[i]]
		if set == nil {
			set = ber.Encode(ber.ClassUniversal, ber.TypeConstructed, ber.TagSet, nil, "")
			values[attributes[i]] = set
		}
		set.AppendChild(ber.NewString(ber.ClassUniversal, ber.TypePrimitive, ber.TagOctetString, attributes[i+1], ""))
	}
	for name, set := range values {
		one := ber.Encode(ber.ClassUniversal, ber.TypeConstructed, ber.TagSequence, nil, "")
		one.AppendChild(ber.NewString(ber.ClassUniversal, ber.TypePrimitive, ber.TagOctetString, name, ""))
		one.AppendChild(set)
		list.AppendChild(one)
	}
	op.AppendChild(list)
	return op
}

// yes accepts every bind, and returns the entries to every search.
func yes(entries ...*ber.Packet) func(*ber.Packet) []*ber.Packet {
	return func(op *ber.Packet) []*ber.Packet {
		if op.Tag == goldap.ApplicationSearchRequest {
			return append(slices.Clip(entries), result(goldap.ApplicationSearchResultDone, 0, ""))
		}
		return []*ber.Packet{result(goldap.ApplicationBindResponse, 0, "")}
	}
}
