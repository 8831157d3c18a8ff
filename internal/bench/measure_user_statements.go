package main

import (
	"fmt"
	"strconv"
)

// What one user cost before collections were bound to an engine once: recorded then, with the same benchmark, which this run repeats.
const (
	statementsOfChangeBefore      = 4.99
	allocationsOfReadBefore       = 182.0 // on PostgreSQL
	allocationsOfReadBeforeOnLite = 274.0
	statementsOfReadBefore        = 2.0
)

// userRows measures a read and a change of one user with the benchmark of confdsvc, against what was recorded.
func (b *bench) userRows() ([]row, error) {
	long, times := "1000x", 5
	if b.quick {
		times = 1
	}
	found, err := runBenchmarks("./confdsvc", "^BenchmarkUser$", long, times)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, engine := range []struct {
		name, key   string
		allocations float64
	}{
		{"PostgreSQL", "postgres", allocationsOfReadBefore},
		{"SQLite", "sqlite", allocationsOfReadBeforeOnLite},
	} {
		read, change := "User/"+engine.key+"/read", "User/"+engine.key+"/update"
		rows = append(rows,
			found.against("change of one user (PUT): statements, "+engine.name, change, "statements/op", statementsOfChangeBefore, 1.30),
			found.against("read of one user (GET): statements, "+engine.name, read, "statements/op", statementsOfReadBefore, 1.00),
			found.against("read of one user (GET): allocations, "+engine.name, read, "allocs/op", engine.allocations, 1.00),
		)
	}
	return rows, nil
}

// against is a row that compares what a benchmark told with what was recorded before; budget is the largest ratio.
func (b benchmarks) against(what, name, unit string, before, budget float64) row {
	now, ok := b.of(name, unit)
	if !ok {
		return row{what + " / recorded before", dsnVariable + " is not set: run `make bench`", "", skipped}
	}
	number := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	return row{
		what:     what + " / recorded before",
		measured: fmt.Sprintf("%.2f x: %s against %s; %s each", now/before, number(now), number(before), millis(b.took(name))),
		budget:   fmt.Sprintf("%.2f x", budget), verdict: judge(now <= budget*before),
	}
}
