// Package listener implements a network for Caddy's `bind` on which a reload loses no connection.
//
// # Which behaviour of Caddy it mends
//
// On plain tcp every configuration opens its own socket beside the old one's (SO_REUSEPORT), and the kernel distributes the
// connections between them. A reload then loses two kinds: connections in the queue of the old socket, which are reset when it is
// closed, and connections that the old server has accepted but not yet read a request from, which net/http drops once it is
// shutting down. A port that another process of the same user has is silently shared with it, too.
//
// Besides, it bounds what waits in the kernel for slow clients, which write_idle would otherwise take for clients that read nothing.
//
// # When it is no longer needed
//
// No issue is open: Caddy chose a socket for each configuration (caddyserver/caddy#5725). When caddymodule's TestNoRequestIsLostInAReload
// passes with `bind tcp/` instead of `bind ringfence_tcp/`: Caddy then passes one socket from configuration to configuration.
package listener
