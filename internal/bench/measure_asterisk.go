package main

import "fmt"

// The budget for writing the files of Asterisk for 10,000 users.
const (
	generateSeconds = 2.0
	generateMemory  = 300.0 // MiB
)

// asteriskRows measures how long reading the configuration and writing the files takes, with the benchmark of asterisk.
func (b *bench) asteriskRows() ([]row, error) {
	long, times := "3x", 5
	if b.quick {
		times = 1
	}
	found, err := runBenchmarks("./asterisk", "^BenchmarkGenerate$", long, times)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, engine := range [][2]string{{"SQLite", "sqlite"}, {"PostgreSQL", "postgres"}} {
		name, what := "Generate/"+engine[1], "Asterisk's files for 10,000 users, "+engine[0]
		reading, ok := found.of(name, "s/read")
		writing, wrote := found.of(name, "s/write")
		peak, weighed := found.of(name, "MiB-heap")
		if !ok || !wrote || !weighed {
			rows = append(rows, row{what, dsnVariable + " is not set: run `make bench`", "", skipped})
			continue
		}
		rows = append(rows, row{
			what: what, measured: fmt.Sprintf("%.2f s: %.2f s to read, %.2f s to write; %.0f MiB of heap", reading+writing, reading, writing, peak),
			budget: fmt.Sprintf("%.0f s, %.0f MiB", generateSeconds, generateMemory), verdict: judge(reading+writing <= generateSeconds && peak <= generateMemory),
		})
	}
	return rows, nil
}
