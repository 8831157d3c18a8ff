package main

import (
	"fmt"
	"strings"
)

// The budget for writing the files of Asterisk for 10,000 users, 20 trunks and 200 menus.
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
		name, what := "Generate/"+engine[1], "Asterisk's files for 10,000 users, 20 trunks and 200 menus, "+engine[0]
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
	applied, err := b.applyRows()
	return append(rows, applied...), err
}

// The budgets for making many users live at a real Asterisk, and a change of one of them, and for calls meanwhile.
const (
	firstSeconds  = 30.0
	changeSeconds = 2.0
	callMillis    = 150.0
)

// applyRows measures how long it takes until a real Asterisk has what is stored, without reading that, with a benchmark of asterisk.
func (b *bench) applyRows() ([]row, error) {
	found, err := runBenchmarks("./asterisk", "^BenchmarkRealApply$", "1x", 1)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, size := range [][2]string{{"10000", "10,000 users, 20 trunks and 200 menus"}, {"1000in100", "1,000 users in 100 tenants"}} {
		for _, one := range []struct {
			unit, what string
			most       float64 // 0: it has no budget
		}{
			{"s/first", "the first apply", firstSeconds},
			{"s/ringtime", "a change of one user's ring time", changeSeconds},
			{"ms/ringtime", "the longest call to be answered during that", callMillis},
			{"s/name", "a change of one user's name", changeSeconds},
			{"ms/name", "the longest call to be answered during that", callMillis},
			{"s/password", "a change of one telephone's password", changeSeconds},
			{"ms/password", "the longest call to be answered during that", callMillis},
			{"s/user", "one user more", changeSeconds},
			{"ms/user", "the longest call to be answered during that", callMillis},
			{"s/force", "Asterisk reads all files", 0},
		} {
			r := row{what: "a real Asterisk with " + size[1] + ": " + one.what, verdict: skipped, measured: "there is no Asterisk: set ASTERISK_ROOT"}
			if value, ok := found.of("RealApply/"+size[0], one.unit); ok {
				unit, _, _ := strings.Cut(one.unit, "/")
				if r.measured, r.verdict = fmt.Sprintf("%.1f %s", value, unit), noBudget; one.most > 0 {
					r.budget, r.verdict = fmt.Sprintf("%.0f %s", one.most, unit), judge(value <= one.most)
				}
			}
			rows = append(rows, r)
		}
	}
	return rows, nil
}
