//go:build !linux

package listener

import "net"

// holdLittle does nothing: the kernel's own bound holds.
func holdLittle(*net.TCPConn) {}
