package conf

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Lamps are what lamps watch that differ in one digit of their numbers. Asterisk makes the hint of a number from the hint of a pattern when
// somebody watches it, so that patterns need one hint for ten numbers: when it reloads the dialplan, it compares each hint with every other.
type Lamps struct {
	Before, After string // what stands in the pattern before and behind the digit
	Devices       map[byte]string
}

// chosenForm is what [Lamps.Hint] writes for one digit.
var chosenForm = regexp.MustCompile(`\$\{IF\(\$\[\$\{EXTEN:\d+:1\} = (\d)\]\?"([^"]*)"\)\}`)

// Pattern returns the pattern, which holds those numbers alone.
func (l Lamps) Pattern() string { return "_" + l.Before + "[" + string(l.digits()) + "]" + l.After }

// Hint returns the hint of the pattern.
func (l Lamps) Hint() string {
	var b strings.Builder
	for _, digit := range l.digits() {
		fmt.Fprintf(&b, `${IF($[${EXTEN:%d:1} = %c]?"%s")}`, len(l.Before), digit, l.Devices[digit])
	}
	return b.String()
}

func (l Lamps) digits() (all []byte) {
	for digit := range l.Devices {
		all = append(all, digit)
	}
	slices.Sort(all)
	return all
}

// Watched returns what a hint watches, by the number. The one of a pattern chooses among several, whose numbers are complete unless they end
// with a point, which stands for anything.
func Watched(exten, hint string) map[string]string {
	all := map[string]string{}
	before, rest, set := strings.Cut(strings.TrimPrefix(exten, "_"), "[")
	_, after, closed := strings.Cut(rest, "]")
	if chosen := chosenForm.FindAllStringSubmatch(hint, -1); set && closed && chosen != nil {
		for _, c := range chosen {
			all[before+c[1]+after] = c[2]
		}
		return all
	}
	all[exten] = hint
	return all
}
