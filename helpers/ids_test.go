package helpers_test

import (
	"os"
	"syscall"
	"testing"
)

// ids returns the user and the group that have a file.
func ids(t *testing.T, path string) [2]int {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	stat := info.Sys().(*syscall.Stat_t)
	return [2]int{int(stat.Uid), int(stat.Gid)}
}
