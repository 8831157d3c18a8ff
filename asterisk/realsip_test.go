package asterisk_test

import (
	"strconv"
	"strings"
)

// message is a SIP message.
type message struct {
	first   string
	headers [][2]string
	body    string
}

func parseMessage(data []byte) *message {
	head, body, _ := strings.Cut(string(data), "\r\n\r\n")
	lines := strings.Split(head, "\r\n")
	m := &message{first: lines[0], body: body}
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ":")
		m.headers = append(m.headers, [2]string{strings.TrimSpace(name), strings.TrimSpace(value)})
	}
	return m
}

func (m *message) get(name string) string {
	for _, h := range m.headers {
		if strings.EqualFold(h[0], name) {
			return h[1]
		}
	}
	return ""
}

func (m *message) method() string { return strings.Fields(m.first)[0] }

// status is that of a response, or 0.
func (m *message) status() int {
	if !strings.HasPrefix(m.first, "SIP/2.0 ") {
		return 0
	}
	code, _ := strconv.Atoi(strings.Fields(m.first)[1])
	return code
}
