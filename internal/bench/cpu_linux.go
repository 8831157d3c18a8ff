package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// schedulerClock is the kernel's CPUCLOCK_SCHED: user and system time together, in nanoseconds.
const schedulerClock = 2

// cpuTime returns the CPU time that a process has used so far, over all its threads. The clock's number is derived from the
// process's id as in clock_getcpuclockid(3).
func cpuTime(pid int) (time.Duration, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|schedulerClock), &t); err != nil {
		return 0, fmt.Errorf("reading the CPU clock of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// children returns the processes that a process has started.
func children(pid int) ([]int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return nil, fmt.Errorf("listing the children of process %d: %w", pid, err)
	}
	var pids []int
	for field := range strings.FieldsSeq(string(text)) {
		child, err := strconv.Atoi(field)
		if err != nil {
			return nil, fmt.Errorf("listing the children of process %d: %w", pid, err)
		}
		pids = append(pids, child)
	}
	return pids, nil
}

// dieWithParent makes a process end when this one does, whatever the reason.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
