package doctor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// ReadConfig reads a configuration of Caddy, as JSON. replace fills in its placeholders, and admin is where the admin API is if the
// configuration does not say.
func ReadConfig(text []byte, admin string, replace func(string) string) (*Config, error) {
	var read struct {
		Admin *struct {
			Disabled bool
			Listen   string
			Remote   *json.RawMessage
		}
		Apps struct {
			HTTP struct {
				Servers map[string]struct {
					Listen   []string
					Policies []json.RawMessage `json:"tls_connection_policies"`
					Routes   any
				}
			}
			TLS struct {
				Certificates struct {
					Files []struct{ Certificate string } `json:"load_files"`
				}
			}
		}
	}
	if err := json.Unmarshal(text, &read); err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	c := &Config{Admin: admin}
	if read.Admin != nil {
		c.Admin = cmp.Or(replace(read.Admin.Listen), c.Admin)
		if read.Admin.Disabled {
			c.Admin = "off"
		}
	}
	for _, server := range read.Apps.HTTP.Servers {
		scheme := "http://"
		if len(server.Policies) > 0 {
			scheme = "https://"
		}
		for _, listen := range server.Listen {
			listen = replace(listen)
			network, address, found := strings.Cut(listen, "/")
			if !found {
				address = listen
			}
			if !found || strings.Contains(network, "tcp") {
				c.Listen = append(c.Listen, scheme+address)
			}
		}
		c.addUpstreams(server.Routes, replace)
	}
	for _, f := range read.Apps.TLS.Certificates.Files {
		c.Certificates = append(c.Certificates, replace(f.Certificate))
	}
	slices.Sort(c.Listen)
	slices.Sort(c.Upstreams)
	c.Upstreams = slices.Compact(c.Upstreams)
	return c, nil
}

// addUpstreams adds the addresses to which routes proxy. An address that depends on the request is left out.
func (c *Config) addUpstreams(at any, replace func(string) string) {
	switch at := at.(type) {
	case []any:
		for _, item := range at {
			c.addUpstreams(item, replace)
		}
	case map[string]any:
		if at["handler"] == "reverse_proxy" {
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
