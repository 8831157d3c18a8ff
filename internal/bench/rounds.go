package main

import (
	"fmt"
	"os"
	"slices"
	"time"
)

// variant is one way to serve the load.
type variant struct {
	name    string
	address string
	paths   []string
	method  string // GET when it is empty
	// counted are the processes whose CPU time is measured.
	counted []*process
}

// plan says how much to measure.
type plan struct {
	rounds      int
	requests    int // of each variant in each round
	connections int
}

// samples are CPU times per request, by variant and round.
type samples map[string][]time.Duration

// measure loads all variants in rounds. Each round begins with another variant, so that none always follows the same one.
func measure(g *generator, variants []variant, p plan) (samples, error) {
	load := func(v variant, requests int) (time.Duration, error) {
		before, err := cpu(v.counted)
		if err != nil {
			return 0, err
		}
		f, err := g.run(job{Address: v.address, Method: v.method, Paths: v.paths, Requests: requests, Connections: p.connections})
		if err != nil {
			return 0, fmt.Errorf("%s: %w", v.name, err)
		}
		after, err := cpu(v.counted)
		if err != nil {
			return 0, err
		}
		return (after - before) / time.Duration(f.Requests), nil
	}
	for _, v := range variants { // connections, pools and caches
		if _, err := load(v, max(1000, p.requests/4)); err != nil {
			return nil, err
		}
	}
	found := samples{}
	for round := range p.rounds {
		for i := range variants {
			v := variants[(round+i)%len(variants)]
			used, err := load(v, p.requests)
			if err != nil {
				return nil, err
			}
			found[v.name] = append(found[v.name], used)
		}
		if (round+1)%10 == 0 {
			fmt.Fprintf(os.Stderr, "bench: %d of %d rounds\n", round+1, p.rounds)
		}
	}
	return found, nil
}

// ratio is the cost of one variant relative to another.
type ratio struct {
	median, best float64
	// of is the median of the variant's own CPU time per request.
	of, against time.Duration
}

func (s samples) ratio(of, against string) (ratio, bool) {
	a, b := s[of], s[against]
	if len(a) == 0 || len(a) != len(b) {
		return ratio{}, false
	}
	ratios := make([]float64, len(a))
	for i := range a {
		ratios[i] = float64(a[i]) / float64(b[i])
	}
	return ratio{median: median(ratios), best: slices.Min(ratios), of: median(a), against: median(b)}, true
}

// median returns the middle value, the lower one of two.
func median[T float64 | time.Duration](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)-1)/2]
}

// percentile returns the smallest value that p per cent of the values do not exceed.
func percentile[T float64 | time.Duration](values []T, p int) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max(0, (len(sorted)*p+99)/100-1)]
}
