package transport

// Direct reports whether the common case takes the shorter way.
func (t *Transport) Direct() bool { return t.direct != nil }
