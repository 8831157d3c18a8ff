package listener

import (
	"net"

	"golang.org/x/sys/unix"
)

// mostUnsent is how many bytes of a connection wait in the kernel that its client has no room for yet.
const mostUnsent = 128 << 10

// holdLittle bounds what waits in the kernel to be sent on a connection. Otherwise it keeps megabytes for a client that reads slowly, and lets a
// writer go on only when a third of them is sent: a client that takes something all the time then looks like one that takes nothing.
func holdLittle(conn *net.TCPConn) {
	if raw, err := conn.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { // fails if the connection is gone already
			_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, mostUnsent)
		})
	}
}
