"""A subscription backend in Python's own library, written from the fact sheets alone; mutants of it
tell how much of what can go wrong the contracts notice.

It keeps what events say (no REST reads), sends pushes from an outbox, and shares no line with the
reference backend. Usage: backend.py PORT DATABASE
"""

import hmac
import http.client
import http.server
import json
import os
import sqlite3
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid

SECRET = os.environ["REVENUECAT_WEBHOOK_AUTH"]
if not SECRET:
    sys.exit("REVENUECAT_WEBHOOK_AUTH is empty: every request would be accepted")
ENTITLEMENT = "premium"
ONESIGNAL = os.environ["ONESIGNAL_API_BASE"] + "/notifications"
BLOCKED = {
    "no_user", "null", "none", "nil", "(null)", "nan", "unidentified", "undefined", "unknown",
    "anonymous", "guest", "-1", "0", "[]", "{}", "[object object]", "n/a",
}
BEGINNINGS = {
    "INITIAL_PURCHASE", "RENEWAL", "NON_RENEWING_PURCHASE", "REFUND_REVERSED",
    "SUBSCRIPTION_EXTENDED", "TEMPORARY_ENTITLEMENT_GRANT",
}
OTHERS = {
    "CANCELLATION", "UNCANCELLATION", "BILLING_ISSUE", "EXPIRATION", "PRODUCT_CHANGE",
    "SUBSCRIPTION_PAUSED",
}
WILL_END = "Your subscription will not renew."
WORDS = {
    "INITIAL_PURCHASE": "Welcome! Your subscription is active.",
    "RENEWAL": "Your subscription has been renewed.",
    "UNCANCELLATION": "Good to have you back.",
    "BILLING_ISSUE": "We could not charge you.",
    "EXPIRATION": "Your subscription has ended.",
}
SCHEMA = """
CREATE TABLE IF NOT EXISTS people (
    id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, source TEXT NOT NULL, platform TEXT);
CREATE TABLE IF NOT EXISTS names (name TEXT PRIMARY KEY, person INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS facts (
    event TEXT PRIMARY KEY, person INTEGER NOT NULL, product TEXT NOT NULL,
    sandbox INTEGER NOT NULL, told INTEGER NOT NULL, body TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS facts_of ON facts (person, sandbox);
CREATE TABLE IF NOT EXISTS transfers (
    loser INTEGER NOT NULL, winner INTEGER NOT NULL, told INTEGER NOT NULL,
    sandbox INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT UNIQUE NOT NULL, recipient TEXT NOT NULL, words TEXT NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0, due REAL NOT NULL);
"""


def connect():
    db = sqlite3.connect(sys.argv[2], timeout=30, isolation_level=None)
    db.row_factory = sqlite3.Row
    return db


class Transaction:
    """All of it, or nothing."""

    def __enter__(self):
        self.db = connect()
        self.db.execute("BEGIN IMMEDIATE")
        return self.db

    def __exit__(self, error, *_):
        self.db.execute("ROLLBACK" if error else "COMMIT")
        self.db.close()


class Refused(Exception):
    """What is answered instead."""

    def __init__(self, status, code):
        super().__init__(code)
        self.status, self.code = status, code


# Who


def is_valid(name):
    return (isinstance(name, str) and 0 < len(name) <= 100 and "/" not in name
            and name.lower() not in BLOCKED)


def person(db, name):
    row = db.execute("SELECT person FROM names WHERE name = ?", [name]).fetchone()
    return row["person"] if row else None


def create(db, name, source):
    made = db.execute("INSERT INTO people (name, source) VALUES (?, ?)", [name, source]).lastrowid
    db.execute("INSERT INTO names (name, person) VALUES (?, ?)", [name, made])
    return made


def is_orphan(db, someone):
    row = db.execute("SELECT source FROM people WHERE id = ?", [someone]).fetchone()
    return row["source"] == "webhook"


def merge(db, other, into):
    db.execute("UPDATE facts SET person = ? WHERE person = ?", [into, other])
    db.execute("UPDATE names SET person = ? WHERE person = ?", [into, other])
    db.execute("UPDATE transfers SET loser = ? WHERE loser = ?", [into, other])
    db.execute("UPDATE transfers SET winner = ? WHERE winner = ?", [into, other])
    if is_orphan(db, other):
        db.execute("DELETE FROM people WHERE id = ?", [other])


def resolve(db, names):
    """The one person behind several names; whoever is unknown is made."""
    names = [name for name in names if is_valid(name)]
    if not names:
        return None
    found = []
    for name in names:
        known = person(db, name)
        if known is not None and known not in found:
            found.append(known)
    found.sort(key=lambda one: is_orphan(db, one))
    if found:
        one = found[0]
        for other in found[1:]:
            merge(db, other, one)
    else:
        named = [name for name in names if not name.startswith("$RCAnonymousID:")]
        one = create(db, (named or names)[0], "webhook")
    for name in names:
        db.execute("INSERT OR IGNORE INTO names (name, person) VALUES (?, ?)", [name, one])
    return one


# What


def move(db, loser, winner, told, sandbox):
    db.execute("UPDATE facts SET person = ? WHERE person = ? AND told <= ? AND sandbox = ?",
               [winner, loser, told, sandbox])


def holder(db, someone, moment, sandbox):
    """The owner of a purchase that a person made at that time, after all later transfers."""
    while True:
        row = db.execute(
            "SELECT winner, told FROM transfers WHERE loser = ? AND told > ? AND sandbox = ? "
            "ORDER BY told", [someone, moment, sandbox]).fetchone()
        if row is None:
            return someone
        someone, moment = row["winner"], row["told"]


def purchases(db, someone, sandbox):
    """The purchases of a person by product: all stored events, in the order of their times."""
    facts = [(row, json.loads(row["body"])) for row in db.execute(
        "SELECT * FROM facts WHERE person = ? AND sandbox = ? ORDER BY told, rowid",
        [someone, sandbox])]
    facts.sort(key=lambda fact: (fact[0]["told"], fact[1]["type"] not in BEGINNINGS))
    found = {}
    for row, event in facts:
        purchase = found.setdefault(row["product"], {
            "product": row["product"], "told": 0, "began": None,
            "until": event.get("expiration_at_ms"), "grace": None, "ended": 0, "renews": 1,
            "billing": 0, "refunded": 0, "pending": None})
        if not is_stale(event, purchase):
            change(purchase, event)
    return found


def transfer(db, event):
    told, sandbox = event["event_timestamp_ms"], int(event.get("environment") == "SANDBOX")
    winner = resolve(db, event.get("transferred_to") or [])
    if winner is None:
        return
    for name in event.get("transferred_from") or []:
        # A purchase by an unknown user may arrive after its transfer.
        loser = resolve(db, [name])
        if loser is not None and loser != winner:
            move(db, loser, holder(db, winner, told, sandbox), told, sandbox)
            db.execute("INSERT INTO transfers VALUES (?, ?, ?, ?)",
                       [loser, winner, told, sandbox])


def is_stale(event, known):
    if event["event_timestamp_ms"] < known["told"]:
        return True
    began = event.get("purchased_at_ms")
    return (event["type"] == "EXPIRATION" and began is not None and known["began"] is not None
            and began < known["began"])


def change(purchase, event):
    kind = event["type"]
    purchase["told"] = event["event_timestamp_ms"]
    if kind in BEGINNINGS:
        purchase.update(until=event.get("expiration_at_ms"), grace=None, ended=0, refunded=0)
        if kind in ("INITIAL_PURCHASE", "RENEWAL"):
            purchase.update(began=event.get("purchased_at_ms"), renews=1, billing=0, pending=None)
    elif kind == "CANCELLATION":
        purchase["renews"] = 0
        reason = event.get("cancel_reason")
        if reason == "BILLING_ERROR":
            purchase["billing"] = 1
        elif reason == "CUSTOMER_SUPPORT":
            end = event.get("expiration_at_ms")
            purchase.update(refunded=1, until=purchase["told"] if end is None else end, grace=None)
        elif event.get("store") == "PROMOTIONAL":
            purchase["until"] = event.get("expiration_at_ms")
    elif kind == "UNCANCELLATION":
        purchase["renews"] = 1
    elif kind == "BILLING_ISSUE":
        purchase.update(billing=1, grace=event.get("grace_period_expiration_at_ms"))
    elif kind == "EXPIRATION":
        purchase.update(ended=1, renews=0)
    elif kind == "PRODUCT_CHANGE":
        purchase["pending"] = event.get("new_product_id")


def words(event):
    if event["type"] != "CANCELLATION":
        return WORDS.get(event["type"])
    return {
        "BILLING_ERROR": None, "CUSTOMER_SUPPORT": "Your purchase has been refunded.",
    }.get(event.get("cancel_reason"), WILL_END)


def is_entitled(db, someone):
    rows = purchases(db, someone, sandbox=0).values()
    return any(has_access(row, time.time() * 1000) for row in rows)


def announce(db, event, someone):
    text = words(event)
    if text is None or event.get("environment") == "SANDBOX":
        return
    # Whoever has access by another purchase has not lost it, and whoever has none keeps none.
    if event["type"] == "EXPIRATION" and is_entitled(db, someone):
        return
    if text == WILL_END and not is_entitled(db, someone):
        return
    name = db.execute("SELECT name FROM people WHERE id = ?", [someone]).fetchone()["name"]
    db.execute("INSERT OR IGNORE INTO outbox (key, recipient, words, due) VALUES (?, ?, ?, ?)",
               [str(uuid.uuid5(uuid.NAMESPACE_URL, event["id"])), name, text, time.time()])


def apply(db, event):
    if event["type"] == "TRANSFER":
        return transfer(db, event)
    if event["type"] not in BEGINNINGS | OTHERS:
        return None
    names = [event.get("app_user_id"), event.get("original_app_user_id")]
    buyer = resolve(db, names + list(event.get("aliases") or []))
    product = event.get("product_id")
    if buyer is None or not isinstance(product, str):
        return None
    entitlements = event.get("entitlement_ids")
    if event["type"] == "NON_RENEWING_PURCHASE" and not entitlements:
        return None
    if isinstance(entitlements, list) and entitlements and ENTITLEMENT not in entitlements:
        return None
    sandbox = int(event.get("environment") == "SANDBOX")
    owner = holder(db, buyer, event["event_timestamp_ms"], sandbox)
    known = purchases(db, owner, sandbox).get(product)
    db.execute("INSERT INTO facts VALUES (?, ?, ?, ?, ?, ?)",
               [event["id"], owner, product, sandbox, event["event_timestamp_ms"],
                json.dumps(event)])
    if known is not None and is_stale(event, known):
        return None
    if owner == buyer:
        announce(db, event, buyer)
    return None


def receive(event):
    for key in ("id", "type"):
        if not isinstance(event.get(key), str) or not event[key]:
            raise Refused(400, "malformed")
    if not isinstance(event.get("event_timestamp_ms"), int):
        event["event_timestamp_ms"] = 0
    with Transaction() as db:
        marked = db.execute("INSERT OR IGNORE INTO events (id) VALUES (?)", [event["id"]]).rowcount
        if marked:
            apply(db, event)
    wake.set()
    return 200, {"handled": bool(marked)}


# Views


def has_access(purchase, now):
    if purchase["ended"]:
        return False
    if purchase["until"] is None:
        return True
    return max(purchase["until"], purchase["grace"] or 0) > now


def subscription(name):
    db = connect()
    someone = person(db, name)
    rows = [] if someone is None else list(purchases(db, someone, sandbox=0).values())
    db.close()
    if not rows:
        raise Refused(404, "nothing")
    now = time.time() * 1000
    best = max(rows, key=lambda row: (
        has_access(row, now), row["until"] is None, row["until"] or 0, row["told"]))
    return 200, {
        "access": has_access(best, now), "product": best["product"], "expires": best["until"],
        "billing": bool(best["billing"]), "renews": bool(best["renews"]),
        "refunded": bool(best["refunded"]), "pending": best["pending"],
        "environment": "PRODUCTION",
    }


def user(name):
    db = connect()
    row = db.execute(
        "SELECT people.* FROM people JOIN names ON names.person = people.id WHERE names.name = ?",
        [name]).fetchone()
    db.close()
    if row is None:
        raise Refused(404, "nobody")
    return 200, {"id": row["name"], "source": row["source"], "platform": row["platform"]}


def register(body):
    name = body.get("id")
    if not is_valid(name):
        raise Refused(400, "invalid_id")
    platform = body.get("platform")
    with Transaction() as db:
        someone = person(db, name)
        if someone is None:
            someone = create(db, name, "app")
        if isinstance(platform, str):
            # Whose phone the first was cannot be known later: another relabels nobody.
            db.execute("UPDATE people SET platform = coalesce(platform, ?) WHERE id = ?",
                       [platform, someone])
    return 200, {"id": name}


# Pushes

wake = threading.Event()
ATTEMPTS_MAX = 8


def send(row):
    """How long to wait before the next try; None when there is none."""
    body = {
        "app_id": os.environ["ONESIGNAL_APP_ID"], "target_channel": "push",
        "include_aliases": {"external_id": [row["recipient"]]},
        "contents": {"en": row["words"]}, "idempotency_key": row["key"],
    }
    headers = {
        "Content-Type": "application/json",
        "Authorization": "Key " + os.environ["ONESIGNAL_API_KEY"],
    }
    pause = min(0.05 * 2 ** row["tries"], 2)
    request = urllib.request.Request(ONESIGNAL, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            answer.read()
    except urllib.error.HTTPError as error:
        if error.code != 429 and error.code < 500:
            return None
        return max(pause, float(error.headers.get("Retry-After") or 0))
    except (OSError, http.client.HTTPException):
        return pause
    return None


def deliver(row):
    pause = send(row)
    with Transaction() as db:
        if pause is None or row["tries"] + 1 >= ATTEMPTS_MAX:
            db.execute("DELETE FROM outbox WHERE id = ?", [row["id"]])
        else:
            db.execute("UPDATE outbox SET tries = tries + 1, due = ? WHERE id = ?",
                       [time.time() + pause, row["id"]])


def work():
    busy = set()
    lock = threading.Lock()

    def run(row):
        try:
            deliver(row)
        finally:
            with lock:
                busy.discard(row["id"])
            wake.set()

    while True:
        wake.clear()
        # Whoever has delivered a row deletes it before he says that he is done with it.
        with lock:
            db = connect()
            rows = db.execute("SELECT * FROM outbox ORDER BY due").fetchall()
            db.close()
            now = time.time()
            waiting = [row for row in rows if row["id"] not in busy]
            due = [row for row in waiting if row["due"] <= now]
            busy.update(row["id"] for row in due)
        for row in due:
            threading.Thread(target=run, args=[row], daemon=True).start()
        later = [row["due"] - now for row in waiting if row["due"] > now]
        wake.wait(min(later, default=5))


# Routes


def parsed(data):
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise Refused(400, "no JSON") from None
    if not isinstance(value, dict):
        raise Refused(400, "no object")
    return value


def webhook(authorization, data):
    if not hmac.compare_digest((authorization or "").encode(), SECRET.encode()):
        raise Refused(401, "who")
    event = parsed(data).get("event")
    if not isinstance(event, dict):
        raise Refused(400, "malformed")
    return receive(event)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def reply(self, make):
        try:
            status, answer = make()
        except Refused as refusal:
            status, answer = refusal.status, {"error": refusal.code}
        except Exception as error:
            print(repr(error), file=sys.stderr, flush=True)
            status, answer = 500, {"error": "internal"}
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        _, _, rest = self.path.partition("/")
        kind, _, name = rest.partition("/")
        name = urllib.request.unquote(name)
        if kind == "users":
            return self.reply(lambda: user(name))
        if kind == "subscriptions":
            return self.reply(lambda: subscription(name))
        return self.reply(lambda: (200, {"up": True}))

    def do_POST(self):
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/hooks/revenuecat":
            return self.reply(lambda: webhook(self.headers.get("Authorization"), data))
        if self.path == "/register":
            return self.reply(lambda: register(parsed(data)))
        return self.reply(lambda: (404, {"error": "no such route"}))


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True


if __name__ == "__main__":
    with Transaction() as db:
        pass
    db = connect()
    db.execute("PRAGMA journal_mode = WAL")
    db.executescript(SCHEMA)
    db.close()
    threading.Thread(target=work, daemon=True).start()
    Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
