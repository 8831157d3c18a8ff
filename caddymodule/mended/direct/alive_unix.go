//go:build unix

package direct

import "golang.org/x/sys/unix"

// alive reports whether the daemon has neither closed the connection nor sent anything since its last answer.
func (c *conn) alive() bool {
	quiet := false
	err := c.kernel.Read(func(fd uintptr) bool {
		var one [1]byte
		_, _, err := unix.Recvfrom(int(fd), one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		quiet = err == unix.EAGAIN
		return true
	})
	return err == nil && quiet
}
