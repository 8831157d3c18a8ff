package listener

import (
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"testing"
	"time"
)

// A client that reads slowly makes room for the next write with each bit that it takes, so that a deadline which moves with the writes does
// not end it.
func TestASlowReaderMakesRoom(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux bounds what waits in its sockets")
	}
	opened, err := listenKept(t.Context(), Network, "127.0.0.1", "0", 0, net.ListenConfig{})
	if err != nil {
		t.Fatal(err)
	}
	listener := opened.(net.Listener)
	t.Cleanup(func() { _ = listener.Close() })
	client, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	if err := errors.Join(client.(*net.TCPConn).SetReadBuffer(64<<10), client.SetReadDeadline(time.Now().Add(time.Minute))); err != nil {
		t.Fatal(err)
	}
	server, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	piece := make([]byte, 64<<10)
	write := func(patience time.Duration) error {
		if err := server.SetWriteDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		_, err := server.Write(piece)
		return err
	}
	const fast = 64 << 20 // after which the kernel would hold megabytes
	read := make(chan error, 1)
	go func() {
		_, err := io.CopyN(io.Discard, client, fast)
		read <- err
	}()
	for total := 0; total < fast; total += len(piece) {
		if err := write(time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-read; err != nil {
		t.Fatal(err)
	}
	held := 0
	for ; err == nil; held += len(piece) { // until all buffers on the way are full
		err = write(300 * time.Millisecond)
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	piece = make([]byte, 256<<10) // more than there may be room for
	gone := make(chan error, 1)
	go func() { gone <- write(time.Minute) }()
	taken := int64(0)
	for {
		select {
		case err := <-gone:
			t.Logf("%d bytes waited; more could be written when %d were taken", held, taken)
			if err != nil || taken > 1<<20 {
				t.Errorf("of %d bytes that wait, %d must be taken before more can be written: %v", held, taken, err)
			}
			return
		case <-time.After(20 * time.Millisecond):
		}
		n, err := io.CopyN(io.Discard, client, 32<<10)
		if taken += n; err != nil {
			t.Fatal(err)
		}
	}
}
