#!/usr/bin/env bash
# The README's quickstart, line by line, with a check after each step. It uses the gateway at
# RINGFENCE_URL with RINGFENCE_ADMIN_PASSWORD and the certificate in RINGFENCE_CERTIFICATE; without
# them it builds one, starts it in a temporary folder, and removes both at the end.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { echo "quickstart: $*" >&2; exit 1; }
step() { echo "== $*"; }
# field NAME: the first string of that name in the JSON on standard input.
field() { sed -nE "s/.*\"$1\": ?\"([^\"]*)\".*/\1/p" | head -n 1; }
# status: the HTTP status that curl gets for the arguments.
status() { curl -sS -o /dev/null -w '%{http_code}' "$@"; }

if [ -z "${RINGFENCE_URL:-}" ]; then
	step "starting a gateway of its own"
	make --no-print-directory build
	work=$(mktemp -d)
	export RINGFENCE_DATA="$work/data" RINGFENCE_HTTPS_PORT=18443 RINGFENCE_HELPERS_PORT=18668
	export RINGFENCE_ADMIN_PASSWORD="quickstart $RANDOM $RANDOM"
	bin/ringfence run --config Caddyfile >"$work/log" 2>&1 &
	gateway=$!
	trap 'kill "$gateway" 2>/dev/null; wait "$gateway" 2>/dev/null || true; rm -rf "$work"' EXIT
	RINGFENCE_URL="https://localhost:$RINGFENCE_HTTPS_PORT"
	RINGFENCE_CERTIFICATE="$work/ringfence.pem"
	for _ in $(seq 100); do
		bin/ringfence certificate --pem >"$RINGFENCE_CERTIFICATE" 2>/dev/null || true
		[ "$(status --cacert "$RINGFENCE_CERTIFICATE" "$RINGFENCE_URL/readyz" 2>/dev/null || true)" = 200 ] && break
		kill -0 "$gateway" 2>/dev/null || { cat "$work/log" >&2; fail "the gateway stopped"; }
		read -rt 0.1 <> <(:) || true
	done
fi
URL=$RINGFENCE_URL
PASSWORD=$RINGFENCE_ADMIN_PASSWORD
rf() { curl -sS --cacert "$RINGFENCE_CERTIFICATE" -H 'Accept: application/json' -H 'Content-Type: application/json' "$@"; }

step "the administrator gets a token"
ADMIN=$(rf -u "admin:$PASSWORD" -X POST $URL/api/auth/0.1/token -d '{}' | field token)
[ -n "$ADMIN" ] || fail "no token for the administrator"

step "1. create a user with purpose external_api"
name="client-$RANDOM$RANDOM"
USER_UUID=$(rf -H "X-Auth-Token: $ADMIN" -X POST $URL/api/auth/0.1/users -d '{"username": "'$name'", "password": "s3cret of the client", "purpose": "external_api"}' | field uuid)
[ -n "$USER_UUID" ] || fail "no user"

step "2. create a policy"
POLICY_UUID=$(rf -H "X-Auth-Token: $ADMIN" -X POST $URL/api/auth/0.1/policies -d '{"name": "'$name'", "acl": ["confd.#", "auth.#"]}' | field uuid)
[ -n "$POLICY_UUID" ] || fail "no policy"

step "3. attach the policy to the user"
[ "$(status --cacert "$RINGFENCE_CERTIFICATE" -H 'Accept: application/json' -H "X-Auth-Token: $ADMIN" -X PUT $URL/api/auth/0.1/users/$USER_UUID/policies/$POLICY_UUID)" = 204 ] || fail "the policy was not attached"

step "4. get a token with the user's name and password"
TOKEN=$(rf -u "$name:s3cret of the client" -X POST $URL/api/auth/0.1/token -d '{"expiration": 3600}' | field token)
[ -n "$TOKEN" ] || fail "no token for the user"

step "5. use it"
rf -H "X-Auth-Token: $TOKEN" $URL/api/confd/1.1/users | grep -q '"items"' || fail "the users were not listed"
rf -H "X-Auth-Token: $TOKEN" $URL/api/confd/1.1/voicemails | grep -q '"total"' || fail "the voicemails were not listed"

check() { status --cacert "$RINGFENCE_CERTIFICATE" -H 'Accept: application/json' -H "X-Auth-Token: $TOKEN" "$URL/api/confd/1.1/users"; }
step "restrict the policy: the same token is refused at once"
rf -H "X-Auth-Token: $ADMIN" -X PUT $URL/api/auth/0.1/policies/$POLICY_UUID -d '{"name": "'$name'", "acl": ["confd.voicemails.read"]}' >/dev/null
[ "$(check)" = 403 ] || fail "the restricted token still works"

step "delete the user: the token dies at once"
rf -H "X-Auth-Token: $ADMIN" -X DELETE $URL/api/auth/0.1/users/$USER_UUID
[ "$(check)" = 401 ] || fail "the deleted user's token still works"

rf -H "X-Auth-Token: $ADMIN" -X DELETE $URL/api/auth/0.1/policies/$POLICY_UUID
rf -X DELETE $URL/api/auth/0.1/token/$ADMIN >/dev/null
echo "== the quickstart works"
