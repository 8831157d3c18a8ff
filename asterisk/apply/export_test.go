package apply

// Identify returns the name of a node; see identify.
var Identify = identify
