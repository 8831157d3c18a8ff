package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// benchmarks are what Go benchmarks of the repository told: by name, and by unit as `go test -bench` writes it, one value for each run.
type benchmarks map[string]map[string][]float64

// runBenchmarks runs those of a package whose names match, so many times each for so long ("1s", "100x").
func runBenchmarks(pkg, pattern, long string, times int) (benchmarks, error) {
	fmt.Fprintln(os.Stderr, "bench: the benchmarks", pattern, "of", pkg)
	cmd := exec.Command("go", "test", pkg, "-pgo", "off", "-timeout", "30m", "-run", "^$",
		"-bench", pattern, "-benchmem", "-benchtime", long, "-count", strconv.Itoa(times))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("running benchmarks of %s, from the repository's root: %w\n%s", pkg, err, out)
	}
	return parseBenchmarks(out), nil
}

var processors = regexp.MustCompile(`-\d+$`)

func parseBenchmarks(out []byte) benchmarks {
	found := benchmarks{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name := strings.TrimPrefix(processors.ReplaceAllString(fields[0], ""), "Benchmark")
		if found[name] == nil {
			found[name] = map[string][]float64{}
		}
		for i := 2; i+1 < len(fields); i += 2 {
			if value, err := strconv.ParseFloat(fields[i], 64); err == nil {
				found[name][fields[i+1]] = append(found[name][fields[i+1]], value)
			}
		}
	}
	return found
}

// of is the median of a benchmark's runs; false where it was skipped.
func (b benchmarks) of(name, unit string) (float64, bool) {
	all := b[name][unit]
	if len(all) == 0 {
		return 0, false
	}
	return median(all), true
}

// took is how long one operation of a benchmark took.
func (b benchmarks) took(name string) time.Duration {
	nanoseconds, _ := b.of(name, "ns/op")
	return time.Duration(nanoseconds)
}
