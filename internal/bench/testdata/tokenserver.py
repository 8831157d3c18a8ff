"""Two token services in Python, for comparison with the gateway's: HEAD and GET /token/{token}?scope=... over TLS.

usage: tokenserver.py plain|stack <port> <database> <certificate> <key>

plain is the least that answers, with the standard library alone. stack is what such services are made with: Flask,
SQLAlchemy's mapper, and Cheroot as the server. Neither validates, logs, or measures anything. As such services do, they
ask the database for each request (SQLite here, in this process, which costs less than a server's round trip) and compare
the scope with the patterns one after the other.
"""

import datetime
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


def find(digest):
    """A live token's row, with its user's, and the accesses; None if there is none."""
    row = database().execute(
        "SELECT t.session_uuid, t.user_uuid, u.tenant_uuid, u.purpose, t.issued_at, t.expires_at, t.user_agent, t.remote_addr"
        " FROM auth_token t JOIN auth_user u ON u.uuid = t.user_uuid"
        " WHERE t.digest = ? AND t.expires_at > strftime('%Y-%m-%d %H:%M:%f', 'now') AND u.enabled", (digest,)).fetchone()
    if row is None:
        return None
    return row, [access for access, in database().execute(
        "SELECT a.access FROM auth_user_policy p JOIN auth_policy_access a ON a.policy_uuid = p.policy_uuid"
        " WHERE p.user_uuid = ?", (row[1],))]


def record(text, found):
    (session, user, tenant, purpose, issued, expires, agent, address), acl = found
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


def answer(find, head, token, scope):
    """Status and body."""
    found = find(hashlib.sha256(token.encode()).digest())
    if found is None:
        return 404, b""
    whole = record(token, found)
    if scope and not allows(whole, scope):
        return 403, b""
    return (204, b"") if head else (200, json.dumps({"data": whole}).encode())


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # header and body in one piece

    def serve(self):
        path, _, query = self.path.partition("?")
        scope = urllib.parse.parse_qs(query).get("scope", [""])[0]
        status, body = answer(find, self.command == "HEAD", path.rpartition("/")[2], scope)
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_HEAD = serve

    def log_message(self, *_):
        pass


def plain(port, certificate, key):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.serve_forever()


def stack(port, certificate, key):
    import cheroot.ssl.builtin
    import cheroot.wsgi
    import flask
    import sqlalchemy as sql
    from sqlalchemy import orm

    base = orm.declarative_base()

    class Access(base):
        __tablename__ = "auth_policy_access"
        policy_uuid = sql.Column(sql.ForeignKey("auth_policy.uuid"), primary_key=True)
        access = sql.Column(sql.Text, primary_key=True)

    class Policy(base):
        __tablename__ = "auth_policy"
        uuid = sql.Column(sql.Text, primary_key=True)
        accesses = orm.relationship(Access)

    held = sql.Table("auth_user_policy", base.metadata,
                     sql.Column("user_uuid", sql.ForeignKey("auth_user.uuid")), sql.Column("policy_uuid", sql.ForeignKey("auth_policy.uuid")))

    class User(base):
        __tablename__ = "auth_user"
        uuid = sql.Column(sql.Text, primary_key=True)
        tenant_uuid = sql.Column(sql.Text)
        purpose = sql.Column(sql.Text)
        enabled = sql.Column(sql.Boolean)
        policies = orm.relationship(Policy, secondary=held)

    class Token(base):
        __tablename__ = "auth_token"
        digest = sql.Column(sql.LargeBinary, primary_key=True)
        session_uuid = sql.Column(sql.Text)
        user_uuid = sql.Column(sql.ForeignKey("auth_user.uuid"))
        issued_at = sql.Column(sql.Text)
        expires_at = sql.Column(sql.Text)
        user_agent = sql.Column(sql.Text)
        remote_addr = sql.Column(sql.Text)
        user = orm.relationship(User, lazy="joined", innerjoin=True)

    engine = sql.create_engine("sqlite:///file:%s?mode=ro&uri=true" % sys.argv[3])
    session = orm.scoped_session(orm.sessionmaker(bind=engine))
    app = flask.Flask(__name__)

    def mapped(digest):
        t = session.get(Token, digest)
        if t is None or not t.user.enabled or t.expires_at <= str(datetime.datetime.utcnow()):
            return None
        return (t.session_uuid, t.user_uuid, t.user.tenant_uuid, t.user.purpose, t.issued_at, t.expires_at, t.user_agent, t.remote_addr), [
            a.access for p in t.user.policies for a in p.accesses]

    @app.route("/token/<token>", methods=["GET", "HEAD"])
    def token(token):
        status, body = answer(mapped, flask.request.method == "HEAD", token, flask.request.args.get("scope", ""))
        return flask.Response(body, status, content_type="application/json")

    @app.teardown_request
    def finish(_):
        session.remove()

    server = cheroot.wsgi.Server(("127.0.0.1", port), app, numthreads=10)
    server.keep_alive_conn_limit = 64
    server.ssl_adapter = cheroot.ssl.builtin.BuiltinSSLAdapter(certificate, key)
    server.start()


if __name__ == "__main__":
    {"plain": plain, "stack": stack}[sys.argv[1]](int(sys.argv[2]), sys.argv[4], sys.argv[5])
