#!/usr/bin/env bash
# Shows a service move from the old platform to this one, while a client goes on with its token. It needs the gate of the Caddyfile beside
# it, with CONFD unset, and an account of the old platform, NAME and PASSWORD, that may read users (confd.users.read).
set -euo pipefail

gate=${GATE:-https://localhost:8443}
certificate=${GATE_CERTIFICATE:-data/tls/certificate.pem}
config=examples/beside-the-old-platform/Caddyfile

ask() { curl --silent --show-error --cacert "$certificate" --header 'Accept: application/json' "$@"; }

# who prints which platform answers for the users, and the status.
who() {
	ask --output /dev/null --write-out '%{http_code} by %header{x-answered-by}' --header "X-Auth-Token: $token" "$gate/api/confd/1.1/users" |
		sed 's/ by $/ by this one/'
}

# now fails unless the last line says this.
now() {
	echo "$2: $1"
	[ "$1" = "$3" ] || { echo "this should be: $3" >&2 && exit 1; }
}

# A password in an argument would be seen by others.
token=$(printf 'user = "%s:%s"\n' "$NAME" "$PASSWORD" |
	ask --config - --fail-with-body --request POST --header 'Content-Type: application/json' --data '{}' "$gate/api/auth/0.1/token" |
	sed -E 's/.*"token": ?"([^"]+)".*/\1/')
echo "$NAME has a token of the old platform."

now "$(who)" "users, before" "200 by the old platform"
CONFD=here "${RINGFENCE:-bin/ringfence}" reload --config "$config" >/dev/null 2>&1
now "$(who)" "users, with CONFD=here" "200 by this one"
CONFD=old "${RINGFENCE:-bin/ringfence}" reload --config "$config" >/dev/null 2>&1
now "$(who)" "users, back again" "200 by the old platform"
CONFD=here "${RINGFENCE:-bin/ringfence}" reload --config "$config" >/dev/null 2>&1

# A token that ends there, ends here within the staleness.
ask --fail-with-body --request DELETE "$gate/api/auth/0.1/token/$token" >/dev/null
for _ in $(seq 60); do
	[ "$(who)" = "401 by this one" ] && break
	sleep 0.5
done
now "$(who)" "users, after the token was revoked there" "401 by this one"
