package check

import "strings"

// Arguments of applications: what is in quotes, brackets, braces or parentheses belongs together.

// walk calls visit with each character that is outside of quotes and brackets, until that returns false. It reports whether
// everything was closed.
func walk(text string, visit func(i int) bool) (closed bool) {
	var open []byte
	quoted := false
	for i := 0; i < len(text); i++ {
		b := text[i]
		switch {
		case b == '\\':
			i++
			continue
		case b == '"' && len(open) == 0:
			quoted = !quoted
		case quoted:
		case b == '(' || b == '[' || b == '{':
			open = append(open, b)
		case b == ')' || b == ']' || b == '}':
			if len(open) == 0 || open[len(open)-1] != map[byte]byte{')': '(', ']': '[', '}': '{'}[b] {
				return false
			}
			open = open[:len(open)-1]
		case len(open) == 0 && visit != nil && !visit(i):
			return true
		}
	}
	return len(open) == 0 && !quoted
}

func balanced(text string) bool { return walk(text, nil) }

// split splits at a separator that is outside of quotes and brackets.
func split(text string, separator byte) []string {
	var parts []string
	from := 0
	walk(text, func(i int) bool {
		if text[i] == separator {
			parts = append(parts, text[from:i])
			from = i + 1
		}
		return true
	})
	return append(parts, text[from:])
}

// outside returns text with the first separator that is outside of quotes and brackets replaced by NUL.
func outside(text string, separator byte) string {
	at := -1
	walk(text, func(i int) bool {
		if text[i] == separator {
			at = i
		}
		return at < 0
	})
	if at < 0 {
		return text
	}
	return text[:at] + "\x00" + text[at+1:]
}

// closing returns where the parenthesis that opens at from is closed, or the end.
func closing(text string, from int) int {
	depth := 0
	for i := from; i < len(text); i++ {
		switch text[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(text)
}

// argument returns one argument without blanks around it, or "".
func argument(parts []string, i int) string {
	if i >= len(parts) {
		return ""
	}
	return strings.TrimSpace(parts[i])
}
