package ldaptest

import (
	"bytes"
	"strings"
	"sync"
)

// output keeps what a process writes, and signals when a phrase has appeared.
type output struct {
	phrase string
	seen   chan struct{} // closed with the phrase

	mu   sync.Mutex
	text bytes.Buffer
	done bool
}

func newOutput(phrase string) *output {
	return &output{phrase: phrase, seen: make(chan struct{})}
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.text.Write(p)
	if !o.done && strings.Contains(o.text.String(), o.phrase) {
		o.done = true
		close(o.seen)
	}
	return n, err
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
