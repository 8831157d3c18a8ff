// Package freeport finds TCP ports for the servers of tests that cannot choose their own (port 0): processes that are
// told their port, and are started on it again.
//
// A port that was only tried and given up again may be somebody else's a moment later. A reserved one is not: a socket
// stays bound to it that never listens. By SO_REUSEADDR a server that is told the port can listen on it all the same,
// while the kernel gives it to nobody who lets the kernel choose, be it for a server or for an outgoing connection. Nobody
// who listens there is as with any other port: connections are refused.
package freeport

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"sync"
	"syscall"
)

// Reserve returns a TCP port that nobody has on any IPv4 address of this machine, and keeps others from getting it by chance until
// release, which may be called twice. On systems other than Linux it can only be hoped for: there a socket that is bound
// keeps servers away too, so none is.
func Reserve() (port int, release func(), err error) {
	fd, err := bind()
	if err != nil {
		return 0, nil, fmt.Errorf("reserving a port: %w", err)
	}
	release = sync.OnceFunc(func() { _ = syscall.Close(fd) })
	name, err := syscall.Getsockname(fd)
	if err != nil {
		release()
		return 0, nil, fmt.Errorf("reserving a port: %w", os.NewSyscallError("getsockname", err))
	}
	if runtime.GOOS != "linux" {
		release()
	}
	return name.(*syscall.SockaddrInet4).Port, release, nil
}

// bind returns a socket on a port of the kernel's choice, which processes that are started do not inherit.
func bind() (fd int, err error) {
	syscall.ForkLock.RLock()
	fd, err = syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return 0, os.NewSyscallError("socket", err)
	}
	if err = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err == nil {
		err = syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte(net.IPv4zero.To4())})
	}
	if err != nil {
		return 0, errors.Join(os.NewSyscallError("bind", err), syscall.Close(fd))
	}
	return fd, nil
}
