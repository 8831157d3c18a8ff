#!/usr/bin/env bash
# The README's quickstart, each line as it is there, and a check after it. It starts a gateway of
# its own in a temporary folder, on other ports than the usual ones, and removes both at the end.
#
#   RINGFENCE_BIN       the folder of a ringfence to use instead of building one
#   RINGFENCE_DATABASE  another database than the embedded one
set -euo pipefail
repository=$(cd "$(dirname "$0")/.." && pwd)
[ -n "${RINGFENCE_BIN:-}" ] || make -C "$repository" --no-print-directory build

fail() { echo "quickstart: $*" >&2; exit 1; }
# expect STATUS COMMAND...: the command, with the status that the gateway must answer with.
expect() {
	local want=$1 got
	shift
	got=$("$@" -o body -w '%{http_code}')
	[ "$got" = "$want" ] || fail "$got instead of $want: $* $(cat body)"
	echo "   $got, as expected"
}

work=$(mktemp -d)
cd "$work"
ln -s "${RINGFENCE_BIN:-$repository/bin}" bin
for variable in $(compgen -v RINGFENCE_); do
	[ "$variable" = RINGFENCE_DATABASE ] || unset "$variable"
done
export RINGFENCE_HTTPS_PORT=${QUICKSTART_PORT:-18443} RINGFENCE_HELPERS_PORT=${QUICKSTART_HELPERS_PORT:-18668}
bin/ringfence run --config "$repository/Caddyfile" >log 2>&1 &
gateway=$!
trap 'kill "$gateway" 2>/dev/null; wait "$gateway" 2>/dev/null || true; rm -rf "$work"' EXIT
for _ in $(seq 600); do
	[ "$(curl -sk -o /dev/null -w '%{http_code}' "https://localhost:$RINGFENCE_HTTPS_PORT/readyz" || true)" = 200 ] && break
	kill -0 "$gateway" 2>/dev/null || { cat log >&2; fail "the gateway stopped"; }
	sleep 0.1
done

bin/ringfence certificate --pem > ringfence.pem
URL=https://localhost:$RINGFENCE_HTTPS_PORT
PASSWORD=${PASSWORD:-$(sed -n 's/^password: //p' data/admin-credentials)}
rf() { curl -sS -w '\n%{stderr}%{http_code}\n' --cacert ringfence.pem -H 'Accept: application/json' -H 'Content-Type: application/json' "$@"; }
field() { sed -nE "s/.*\"$1\": ?\"([^\"]*)\".*/\1/p" | head -n 1; }
name=my-client-$(date +%s)-$$ # names are taken once

echo "== The administrator gets a token."
ADMIN=$(rf -u "admin:$PASSWORD" -X POST $URL/api/auth/0.1/token -d '{}' | field token)
[ -n "$ADMIN" ] || fail "no token for the administrator"

echo "== 1. Create a user with purpose external_api."
USER_UUID=$(rf -H "X-Auth-Token: ${ADMIN:?}" -X POST $URL/api/auth/0.1/users -d '{"username": "'$name'", "password": "s3cret of the client", "purpose": "external_api"}' | field uuid)
[ -n "$USER_UUID" ] || fail "no user"

echo "== 2. Create a policy with confd.# and auth.#."
POLICY_UUID=$(rf -H "X-Auth-Token: ${ADMIN:?}" -X POST $URL/api/auth/0.1/policies -d '{"name": "'$name'", "acl": ["confd.#", "auth.#"]}' | field uuid)
[ -n "$POLICY_UUID" ] || fail "no policy"

echo "== 3. Attach the policy to the user."
expect 204 rf -H "X-Auth-Token: ${ADMIN:?}" -X PUT $URL/api/auth/0.1/users/${USER_UUID:?}/policies/${POLICY_UUID:?}

echo "== 4. Get a token with the user's name and password."
TOKEN=$(rf -u "$name:s3cret of the client" -X POST $URL/api/auth/0.1/token -d '{"expiration": 3600}' | field token)
[ -n "$TOKEN" ] || fail "no token for the user"

echo "== 5. Use it."
expect 200 rf -H "X-Auth-Token: ${TOKEN:?}" $URL/api/confd/1.1/users
grep -q '"items"' body || fail "the users were not listed"
expect 200 rf -H "X-Auth-Token: ${TOKEN:?}" $URL/api/confd/1.1/voicemails
grep -q '"total"' body || fail "the voicemails were not listed"

echo "== Restrict the policy: the very same token is refused (403) at once."
expect 200 rf -H "X-Auth-Token: ${ADMIN:?}" -X PUT $URL/api/auth/0.1/policies/${POLICY_UUID:?} -d '{"name": "'$name'", "acl": ["confd.voicemails.read"]}'
expect 403 rf -H "X-Auth-Token: ${TOKEN:?}" $URL/api/confd/1.1/users
grep -q 'confd.users.read' body || fail "the missing access is not named"

echo "== Delete the user: the token dies (401) at once."
expect 204 rf -H "X-Auth-Token: ${ADMIN:?}" -X DELETE $URL/api/auth/0.1/users/${USER_UUID:?}
expect 401 rf -H "X-Auth-Token: ${TOKEN:?}" $URL/api/confd/1.1/users

grep -qF "$ADMIN" log && fail "a token is in the log"
echo "== The quickstart works."
