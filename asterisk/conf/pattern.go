package conf

import (
	"regexp"
	"slices"
	"strings"
)

// letters are the digits that a letter of a pattern stands for.
var letters = map[byte]string{'X': "0-9", 'Z': "1-9", 'N': "2-9"}

// extenForm is a number, or a pattern of numbers behind an underscore.
var extenForm = regexp.MustCompile(`^(\+?[*#0-9]{1,40}|_\+?([*#0-9XxZzNn]|\[[0-9*#-]+\])+[.!]?)$`)

// IsExten reports whether Asterisk reads a number as the number or the pattern that it is: one that some numbers are like, and not all.
func IsExten(exten string) bool {
	return len(exten) <= 40 && extenForm.MatchString(exten) && !holdsNothing(exten)
}

// Matches reports whether a pattern, which begins with an underscore, holds an extension. Dashes outside of sets count on neither side.
func Matches(pattern, exten string) bool {
	pattern, is := strings.CutPrefix(pattern, "_")
	if !is {
		return false
	}
	exten = strings.ReplaceAll(exten, "-", "")
	for pattern != "" {
		c := pattern[0]
		pattern = pattern[1:]
		switch {
		case c == '-':
			continue
		case c == '!':
			return true
		case c == '.':
			return exten != ""
		case exten == "":
			return false
		}
		set, isLetter := letters[c&^0x20]
		if c == '[' {
			var closed bool
			if set, pattern, closed = strings.Cut(pattern, "]"); !closed {
				return false
			}
		}
		if c == '[' || isLetter {
			if !inSet(set, exten[0]) {
				return false
			}
		} else if c != exten[0] {
			return false
		}
		exten = exten[1:]
	}
	return exten == ""
}

// holdsNothing reports whether a pattern has a set without anything that can be dialled, such as [9-0]: no number is like that.
func holdsNothing(pattern string) bool {
	for {
		_, behind, opened := strings.Cut(pattern, "[")
		set, rest, closed := strings.Cut(behind, "]")
		if !opened || !closed {
			return false
		}
		if !slices.ContainsFunc([]byte("0123456789*#"), func(key byte) bool { return inSet(set, key) }) {
			return true
		}
		pattern = rest
	}
}

// inSet reports whether a set of a pattern, such as 1-58, holds a character.
func inSet(set string, c byte) bool {
	for i := 0; i < len(set); i++ {
		if i+2 < len(set) && set[i+1] == '-' {
			if set[i] <= c && c <= set[i+2] {
				return true
			}
			i += 2
		} else if set[i] == c {
			return true
		}
	}
	return false
}
