"""A token service in Python, for comparison with the gateway's: HEAD and GET /token/{token}?scope=... over TLS.

usage: tokenserver.py plain|flask <port> <database> <certificate> <key>

It does less than a service that is in use: threads on the standard library's server, no framework or only Flask, no
database layer, no validation, no logs. As such
services do, it asks the database for each request (SQLite here, in this process, which costs less than a server's round
trip) and compares the scope with the patterns one after the other.
"""

import hashlib
import http.server
import json
import sqlite3
import ssl
import sys
import threading
import urllib.parse

local = threading.local()


def database():
    if not hasattr(local, "db"):
        local.db = sqlite3.connect("file:%s?mode=ro" % sys.argv[3], uri=True)
    return local.db


def find(text):
    """The record of a live token, or None."""
    digest = hashlib.sha256(text.encode()).digest()
    row = database().execute(
        "SELECT t.session_uuid, t.user_uuid, u.tenant_uuid, u.purpose, t.issued_at, t.expires_at, t.user_agent, t.remote_addr"
        " FROM auth_token t JOIN auth_user u ON u.uuid = t.user_uuid"
        " WHERE t.digest = ? AND t.expires_at > strftime('%Y-%m-%d %H:%M:%f', 'now') AND u.enabled", (digest,)).fetchone()
    if row is None:
        return None
    session, user, tenant, purpose, issued, expires, agent, address = row
    acl = [access for access, in database().execute(
        "SELECT a.access FROM auth_user_policy p JOIN auth_policy_access a ON a.policy_uuid = p.policy_uuid"
        " WHERE p.user_uuid = ?", (user,))]
    return {
        "token": text, "auth_id": user, "xivo_user_uuid": None, "xivo_uuid": "", "issued_at": issued, "expires_at": expires,
        "utc_issued_at": issued, "utc_expires_at": expires, "acl": acl, "session_uuid": session, "remote_addr": address,
        "user_agent": agent, "metadata": {
            "uuid": user, "tenant_uuid": tenant, "auth_id": user, "pbx_user_uuid": None, "xivo_uuid": "", "purpose": purpose,
        },
    }


def covers(pattern, access, user, session):
    if not access:
        return not pattern
    if not pattern:
        return False
    word, rest = pattern[0], pattern[1:]
    if word == "#":
        return any(covers(rest, access[n:], user, session) for n in range(1, len(access) + 1))
    known = {"me": user, "my_session": session}.get(word, word)
    return (word == "*" or access[0] in (word, known)) and covers(rest, access[1:], user, session)


def allows(record, scope):
    access, user, session = scope.split("."), record["auth_id"], record["session_uuid"]
    if any(covers(p[1:].split("."), access, user, session) for p in record["acl"] if p.startswith("!")):
        return False
    return any(covers(p.split("."), access, user, session) for p in record["acl"] if not p.startswith("!"))


def answer(head, token, scope):
    """Status and body."""
    record = find(token)
    if record is None:
        return 404, b""
    if scope and not allows(record, scope):
        return 403, b""
    return (204, b"") if head else (200, json.dumps({"data": record}).encode())


def plain(path, query, head):
    scope = urllib.parse.parse_qs(query).get("scope", [""])[0]
    return answer(head, path.rpartition("/")[2], scope)


def flask():
    from flask import Flask, Response, request

    app = Flask(__name__)

    @app.route("/token/<token>", methods=["GET", "HEAD"])
    def token(token):
        status, body = answer(request.method == "HEAD", token, request.args.get("scope", ""))
        return Response(body, status, content_type="application/json")

    def serve(path, query, head):
        said = []
        body = b"".join(app({
            "REQUEST_METHOD": "HEAD" if head else "GET", "SCRIPT_NAME": "", "PATH_INFO": path, "QUERY_STRING": query,
            "SERVER_NAME": "localhost", "SERVER_PORT": sys.argv[2], "SERVER_PROTOCOL": "HTTP/1.1", "wsgi.url_scheme": "https",
        }, lambda status, header: said.append(int(status[:3]))))
        return said[0], body

    return serve


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # header and body in one piece

    def serve(self):
        path, _, query = self.path.partition("?")
        status, body = self.service(path, query, self.command == "HEAD")
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_HEAD = serve

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    Handler.service = staticmethod(plain if sys.argv[1] == "plain" else flask())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[4], sys.argv[5])
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.serve_forever()
