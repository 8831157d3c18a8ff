// Package killtest kills processes in tests, at moments that nobody chose.
package killtest

import (
	"bufio"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"
)

// Once starts the test program again, with one more variable in its environment, by which its TestMain knows what to do. The child
// prints "ready" when it begins. It is killed at some moment within the time after that, and must have printed nothing else.
func Once(t *testing.T, variable string, within time.Duration) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0]) //nolint:gosec // it is this program
	child.Env = append(os.Environ(), variable)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewScanner(out)
	if !said.Scan() || said.Text() != "ready" {
		t.Fatalf("the child says %q", said.Text())
	}
	<-time.After(rand.N(within)) //nolint:gosec // the moment does not matter
	_ = child.Process.Kill()
	for said.Scan() {
		t.Errorf("the child says %q", said.Text())
	}
	_ = child.Wait()
}
