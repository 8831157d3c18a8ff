package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// residentMemory returns how many bytes of a process are in memory now, and the peak since forgetPeak.
func residentMemory(pid int) (now, peak int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, fmt.Errorf("reading the memory of process %d: %w", pid, err)
	}
	found := map[string]*int64{"VmRSS": &now, "VmHWM": &peak}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		if into := found[name]; into != nil {
			kilobytes, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			if err != nil {
				return 0, 0, fmt.Errorf("reading the memory of process %d: %w", pid, err)
			}
			*into = kilobytes << 10
		}
	}
	return now, peak, nil
}

// forgetPeak resets the peak to the memory in use now.
func forgetPeak(pid int) error {
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0o600); err != nil {
		return fmt.Errorf("forgetting the peak of process %d: %w", pid, err)
	}
	return nil
}
