// Package external links users to external services by plugins.
//
//	plugin.go      what a plugin is, and what else it may be
//	host.go        what the plugins of one configuration stand on
//	link.go        one user's link: what a plugin works on; renew.go renews its credentials on one node at a time
//	routes.go      the plugins' resources; list.go who has linked what; config.go each tenant's settings
//	state.go       whom an external service was asked to send back; connect.go where they agree before, authorize.go where it sends
//	               them
//
// The plugins themselves are in the folders below.
package external
