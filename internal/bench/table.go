package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// row is one line of the table.
type row struct {
	what, measured, budget string
	verdict                verdict
}

type verdict int

const (
	// noBudget is for rows measured for information.
	noBudget verdict = iota
	met
	missed
	skipped
)

func (v verdict) String() string { return [...]string{"", "met", "missed", "skipped"}[v] }

func judge(ok bool) verdict {
	if ok {
		return met
	}
	return missed
}

// ratioRow is a row whose budget is the largest median ratio; 0 means none.
func ratioRow(what string, s samples, of, against string, budget float64) row {
	most, ok := fmt.Sprintf("%.2f x", budget), false
	r, measured := s.ratio(of, against)
	if measured {
		ok = r.median <= budget
	}
	line := row{what, fmt.Sprintf("%.3f x (best %.3f): %s against %s", r.median, r.best, micros(r.of), micros(r.against)), most, judge(ok)}
	switch {
	case !measured:
		line.measured, line.verdict = "", skipped
	case budget == 0:
		line.budget, line.verdict = "", noBudget
	}
	return line
}

func micros(d time.Duration) string { return fmt.Sprintf("%.1f µs", float64(d.Nanoseconds())/1000) }

// show writes the table as Markdown, aligned for a terminal too.
func show(w io.Writer, rows []row) {
	cells := [][]string{{"what", "measured", "budget", ""}}
	for _, r := range rows {
		cells = append(cells, []string{r.what, r.measured, r.budget, r.verdict.String()})
	}
	widths := make([]int, len(cells[0]))
	for _, line := range cells {
		for i, c := range line {
			widths[i] = max(widths[i], len([]rune(c)))
		}
	}
	for n, line := range cells {
		for i, c := range line {
			fmt.Fprintf(w, "| %s%s ", c, strings.Repeat(" ", widths[i]-len([]rune(c))))
		}
		fmt.Fprintln(w, "|")
		if n == 0 {
			for _, width := range widths {
				fmt.Fprintf(w, "|%s", strings.Repeat("-", width+2))
			}
			fmt.Fprintln(w, "|")
		}
	}
}
