// Package external links users to external services by plugins.
//
//	plugin.go      what a plugin is, and what else it may be
//	host.go        what the plugins of one configuration stand on
//	link.go        one user's link: what a plugin works on, and how its credentials are renewed on one node at a time
//	routes.go      the plugins' resources, and who has linked what; config.go each tenant's settings
//	authorize.go   whom an external service was asked to send back, where they agree before, and where it sends them
//
// The plugins themselves are in the folders below.
package external
