package doctor

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
)

// server is a server of Caddy's.
type server struct {
	Listen    []string
	Policies  []json.RawMessage `json:"tls_connection_policies"`
	Automatic struct {
		Disable          bool
		Skip             []string
		SkipCertificates []string `json:"skip_certificates"`
	} `json:"automatic_https"`
	Routes any
}

// policy says where the certificates for some names come from, or for all names if there are none.
type policy struct {
	Subjects []string
	Given    []struct{ Via string } `json:"get_certificate"`
}

// ReadConfig reads a configuration of Caddy, as JSON. replace fills in its placeholders, and admin is where the admin API is if the
// configuration does not say.
func ReadConfig(text []byte, admin string, replace func(string) string) (*Config, error) {
	var read struct {
		Admin *struct {
			Disabled bool
			Listen   string
			Remote   *json.RawMessage
		}
		Storage struct{ Module, Root string }
		Logging struct {
			Logs map[string]struct{ Writer struct{ Filename string } }
		}
		Apps struct {
			HTTP struct {
				Servers map[string]server
			}
			TLS struct {
				Certificates struct {
					Files []Pair `json:"load_files"`
				}
				Automation struct{ Policies []policy }
			}
		}
	}
	if err := json.Unmarshal(text, &read); err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", Readable(err))
	}
	c := &Config{Admin: admin}
	if read.Admin != nil {
		c.Admin = cmp.Or(replace(read.Admin.Listen), c.Admin)
		if read.Admin.Disabled {
			c.Admin = "off"
		}
	}
	if read.Storage.Module == "file_system" {
		c.Storage = replace(read.Storage.Root)
	}
	for _, s := range read.Apps.HTTP.Servers {
		c.addServer(s, read.Apps.TLS.Automation.Policies, replace)
	}
	for _, f := range read.Apps.TLS.Certificates.Files {
		c.Certificates = append(c.Certificates, Pair{replace(f.Certificate), replace(f.Key)})
	}
	for _, p := range read.Apps.TLS.Automation.Policies {
		for _, given := range p.Given {
			c.SelfSigned = c.SelfSigned || given.Via == "ringfence_self_signed"
		}
	}
	for _, log := range read.Logging.Logs {
		if log.Writer.Filename != "" {
			c.Logs = append(c.Logs, replace(log.Writer.Filename))
		}
	}
	slices.SortFunc(c.Listen, func(a, b Listener) int { return strings.Compare(a.Scheme+a.Address, b.Scheme+b.Address) })
	for _, list := range []*[]string{&c.Upstreams, &c.Managed, &c.Logs} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return c, nil
}

// Readable returns an error of reading JSON without the types of this program.
func Readable(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s cannot be %s", cmp.Or(strings.ToLower(wrong.Field), "it"), wrong.Value)
	}
	return err
}

// addServer adds the addresses and names of a server.
func (c *Config) addServer(s server, policies []policy, replace func(string) string) {
	names := hosts(s.Routes)
	var managed []string // Caddy speaks TLS for them
	for _, name := range names {
		if !s.Automatic.Disable && !slices.Contains(s.Automatic.Skip, name) {
			managed = append(managed, name)
		}
	}
	for _, listen := range s.Listen {
		listen = replace(listen)
		network, address, found := strings.Cut(listen, "/")
		if !found {
			address = listen
		}
		if found && !strings.Contains(network, "tcp") {
			continue
		}
		l := Listener{Scheme: "http", Address: address}
		plain := strings.HasSuffix(address, ":80")
		if len(s.Policies) > 0 || len(managed) > 0 && !plain || !s.Automatic.Disable && strings.HasSuffix(address, ":443") {
			l.Scheme = "https"
		}
		if len(names) > 0 {
			l.Name = names[0]
		}
		c.Listen = append(c.Listen, l)
		for _, name := range managed {
			if !plain && !slices.Contains(s.Automatic.SkipCertificates, name) && !given(policies, name) {
				c.Managed = append(c.Managed, name)
			}
		}
	}
	c.addUpstreams(s.Routes, replace)
}

// given reports whether a module gives the certificate for a name, so that Caddy need not get one.
func given(policies []policy, name string) bool {
	for _, p := range policies {
		if len(p.Subjects) == 0 || slices.Contains(p.Subjects, name) {
			return len(p.Given) > 0
		}
	}
	return false
}

// hosts returns the names of the sites of a server, without patterns and addresses.
func hosts(routes any) (names []string) {
	list, _ := routes.([]any)
	for _, item := range list {
		route, _ := item.(map[string]any)
		matchers, _ := route["match"].([]any)
		for _, item := range matchers {
			matcher, _ := item.(map[string]any)
			found, _ := matcher["host"].([]any)
			for _, item := range found {
				if name, _ := item.(string); name != "" && !strings.ContainsAny(name, "*{}/") && net.ParseIP(name) == nil {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// addUpstreams adds the addresses to which routes proxy. An address that depends on the request is left out.
func (c *Config) addUpstreams(at any, replace func(string) string) {
	switch at := at.(type) {
	case []any:
		for _, item := range at {
			c.addUpstreams(item, replace)
		}
	case map[string]any:
		if at["handler"] == "reverse_proxy" || at["handler"] == "ringfence_proxy" {
			list, _ := at["upstreams"].([]any)
			for _, item := range list {
				upstream, _ := item.(map[string]any)
				if dial, _ := upstream["dial"].(string); dial != "" && !strings.Contains(replace(dial), "{") {
					c.Upstreams = append(c.Upstreams, replace(dial))
				}
			}
		}
		for _, item := range at {
			c.addUpstreams(item, replace)
		}
	}
}
