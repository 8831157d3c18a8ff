// Package listener is a network for Caddy's `bind` on which a reload loses no connection.
//
// # Which behaviour of Caddy it mends
//
// On plain tcp every configuration opens a socket of its own beside the old one's (SO_REUSEPORT), and the kernel shares the connections
// out between them. Two kinds are then lost in a reload: those in the queue of the old socket, which are reset when it is closed, and those
// that the old server has accepted and not yet read a request from, which net/http drops once it is shutting down. A port that another
// process of the same user has is shared with it silently, too.
//
// # When it is no longer needed
//
// When caddymodule's TestNoRequestIsLostInAReload passes with `bind tcp/` in the place of `bind ringfence_tcp/`: Caddy then hands one
// socket from configuration to configuration.
package listener
