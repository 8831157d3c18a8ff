// Package porttest finds TCP ports for the servers of tests that cannot choose their own (port 0): processes that are told their
// port, and are started on it again.
//
// A port that was only tried and released may be taken a moment later. A reserved one stays free: a socket remains bound to it
// that never listens. With SO_REUSEADDR a server that is told the port can still listen on it, but the kernel gives it to nobody
// who lets the kernel choose, neither to a server nor to an outgoing connection. While nobody listens, connections are refused as
// on any other port.
package porttest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"sync"
	"syscall"
)

// Reserve returns a TCP port that is free on all IPv4 addresses of this machine, and keeps others from getting it by chance until
// release, which may be called twice. On systems other than Linux there is no such guarantee: there a bound socket would also
// keep servers away, so none is kept.
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

// bind returns a socket on a port that the kernel chooses. Child processes do not inherit it.
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
