package main

import (
	"errors"
	"os"
	"os/exec"
)

const nginxVariant = "nginx auth_request"

// serveNginx starts nginx. If it is not installed, there is no variant of it.
func (b *bench) serveNginx(s *stage, upstreamAddress, authAddress string, authorization *process) ([]variant, error) {
	program, err := exec.LookPath("nginx")
	if errors.Is(err, exec.ErrNotFound) { // root's programs are not in everybody's PATH
		program = "/usr/sbin/nginx"
		_, err = os.Stat(program)
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ports, err := freeAddresses(1)
	if err != nil {
		return nil, err
	}
	config, err := write(b.folder, "nginx.conf", nginxConfig(b.folder, b.certificate, ports[0], upstreamAddress, authAddress))
	if err != nil {
		return nil, err
	}
	p, err := s.start(ports[0], "nginx", nil, program, "-c", config, "-p", b.folder)
	if err != nil {
		return nil, err
	}
	return []variant{{name: nginxVariant, address: ports[0], paths: benchPaths(), counted: []*process{p, authorization}}}, nil
}
