#!/usr/bin/env python3
"""Subscription backend: durable webhook inbox -> worker -> outbox of pushes. Standard library only.

The webhook handlers verify, store the event in `inbox` and answer 200. One worker applies events: it files
them in `events` (append only) in the same transaction that marks the inbox row. What a user may do is always
folded from those filed events in the order of their own clock, so arrival order never matters.
"""
import argparse, base64, binascii, calendar, concurrent.futures, datetime, email.utils, hashlib, hmac, json, os
import re, secrets, signal, sqlite3, sys, threading, time, traceback, urllib.error, urllib.parse, urllib.request, uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HOUR, DAY = 3_600_000, 86_400_000
FOREVER = 1 << 62
PRODUCTION = "PRODUCTION"
MAX_BODY = 1_000_000
BILLING_RETRY_MS = 3 * DAY           # BILLING_ISSUE without a grace date: access until EXPIRATION, at least this long
PUSH_NAMESPACE = uuid.UUID("5d0b9f5e-9f0c-4b43-8f0e-0c3a0a3a7c11")
BLOCKED_IDS = {"", "no_user", "null", "none", "nil", "(null)", "NaN", "\\x00", "\x00", '""', "unidentified",
               "undefined", "unknown", "anonymous", "guest", "-1", "0", "[]", "{}", "[object Object]", "n/a"}


def env(name, default=""):
    return os.environ.get(name, "").strip() or default


class Config:
    def __init__(self):
        self.rc_secret = env("REVENUECAT_WEBHOOK_SECRET")
        self.rc_signing_secret = env("REVENUECAT_SIGNING_SECRET")
        self.rc_base = env("REVENUECAT_BASE_URL", "https://api.revenuecat.com/v1").rstrip("/")
        self.rc_key = env("REVENUECAT_API_KEY")
        self.ply_secret = env("PURCHASELY_SECRET")
        self.ply_plans = {p.strip() for p in env("PURCHASELY_PLANS").split(",") if p.strip()}
        self.os_base = env("ONESIGNAL_BASE_URL", "https://api.onesignal.com").rstrip("/")
        self.os_app = env("ONESIGNAL_APP_ID")
        self.os_key = env("ONESIGNAL_API_KEY")
        self.fb_project = env("FIREBASE_PROJECT_ID")
        self.fb_keys = env("FIREBASE_KEYS_URL", "https://www.googleapis.com/robot/v1/metadata/x509/"
                                                "securetoken@system.gserviceaccount.com")
        self.fb_auth_base = env("FIREBASE_AUTH_BASE_URL", "https://identitytoolkit.googleapis.com").rstrip("/")
        self.fb_api_key = env("FIREBASE_API_KEY")
        self.entitlement = env("ENTITLEMENT_ID", "premium")
        self.admin_token = env("ADMIN_TOKEN")
        self.reconcile_seconds = int(env("RECONCILE_SECONDS", "21600"))
        self.tolerance = int(env("SIGNATURE_TOLERANCE_SECONDS", "300"))
        self.login_failures = int(env("LOGIN_FAILURES_PER_MINUTE", "30"))


CFG = Config()


def now_ms():
    return time.time_ns() // 1_000_000


def log(*words):
    print(datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds"), *words, file=sys.stderr, flush=True)


def iso(ms):
    if ms is None:
        return None
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=ms)
    return moment.isoformat(timespec="milliseconds") + "Z"


def parse_iso(text):
    """'2026-10-24T12:00:00[.123]Z' -> epoch ms, None for anything else."""
    m = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?Z", text or "") if isinstance(text, str) else None
    if not m:
        return None
    return calendar.timegm(tuple(int(x) for x in m.groups()[:6])) * 1000 + int((m.group(7) or "").ljust(3, "0")[:3])


def as_int(v):
    if isinstance(v, bool) or not isinstance(v, (int, float)) or v != v or abs(v) > 1e17:
        return None
    return int(v)


def as_str(v):
    return v if isinstance(v, str) and v else None


def str_list(v):
    return [x for x in v if isinstance(x, str)] if isinstance(v, list) else []


def valid_id(v):
    if not isinstance(v, str) or v in BLOCKED_IDS or v.strip() != v or len(v) > 100 or "/" in v:
        return False
    return v.isprintable()           # no control characters, no lone surrogates


def same_secret(given, wanted):
    return bool(wanted) and hmac.compare_digest(given.encode("utf-8", "surrogateescape"), wanted.encode("utf-8"))


def header_text(value):
    """http.server reads headers as latin-1; the sender meant UTF-8."""
    return (value or "").encode("latin-1", "replace").decode("utf-8", "surrogateescape")


class ApiError(Exception):
    def __init__(self, status, code, **extra):
        super().__init__(code)
        self.status, self.body = status, {"error": code, **extra}


def http_call(method, url, headers=None, body=None, timeout=10):
    """-> (status, headers, bytes). HTTP errors are answers; network errors raise OSError."""
    data = None if body is None else json.dumps(body).encode()
    req = urllib.request.Request(url, data=data, method=method, headers={"Content-Type": "application/json", **(headers or {})})
    try:
        with urllib.request.urlopen(req, timeout=timeout) as r:
            return r.status, r.headers, r.read()
    except urllib.error.HTTPError as e:
        return e.code, e.headers, e.read()
    except (ValueError, OSError):
        raise
    except Exception as e:           # http.client errors: a torn answer
        raise OSError(str(e)) from e


# ---------------------------------------------------------------- storage

SCHEMA = """
CREATE TABLE IF NOT EXISTS inbox(seq INTEGER PRIMARY KEY AUTOINCREMENT, event_key TEXT NOT NULL UNIQUE, source TEXT NOT NULL,
  payload TEXT, received_at INTEGER NOT NULL, state TEXT NOT NULL DEFAULT 'new', attempts INTEGER NOT NULL DEFAULT 0,
  next_at INTEGER NOT NULL DEFAULT 0, note TEXT);
CREATE INDEX IF NOT EXISTS inbox_new ON inbox(state, next_at);
CREATE TABLE IF NOT EXISTS persons(person INTEGER PRIMARY KEY AUTOINCREMENT, account_id TEXT UNIQUE, created_at INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS ids(app_user_id TEXT PRIMARY KEY, person INTEGER NOT NULL REFERENCES persons(person),
  registered INTEGER NOT NULL DEFAULT 0, source TEXT, last_source TEXT, platform TEXT, device_id TEXT, token_hash TEXT,
  created_at INTEGER NOT NULL, last_seen INTEGER);
CREATE INDEX IF NOT EXISTS ids_person ON ids(person);
CREATE TABLE IF NOT EXISTS devices(app_user_id TEXT NOT NULL, device_id TEXT NOT NULL, platform TEXT, last_seen INTEGER NOT NULL,
  PRIMARY KEY(app_user_id, device_id));
CREATE TABLE IF NOT EXISTS merges(at INTEGER, into_person INTEGER, moved TEXT, reason TEXT);
CREATE TABLE IF NOT EXISTS tombstones(id_hash TEXT PRIMARY KEY, at INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS events(event_key TEXT PRIMARY KEY, app_user_id TEXT NOT NULL, owner TEXT NOT NULL, moved_ts INTEGER,
  env TEXT NOT NULL, store TEXT NOT NULL, line TEXT NOT NULL, ts INTEGER NOT NULL, type TEXT NOT NULL, body TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS events_owner ON events(owner);
CREATE TABLE IF NOT EXISTS transfers(event_key TEXT PRIMARY KEY, env TEXT NOT NULL, ts INTEGER NOT NULL, body TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS plans(holder TEXT NOT NULL, env TEXT NOT NULL, purchase TEXT NOT NULL, plan TEXT NOT NULL,
  ts INTEGER NOT NULL, active INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY(holder, env, purchase, plan));
CREATE TABLE IF NOT EXISTS snapshots(app_user_id TEXT PRIMARY KEY, taken_at INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS snapshot_items(owner TEXT NOT NULL, entitlement TEXT NOT NULL, taken_at INTEGER NOT NULL, body TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS reconcile(app_user_id TEXT PRIMARY KEY, due INTEGER NOT NULL, attempts INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS outbox(id INTEGER PRIMARY KEY AUTOINCREMENT, event_key TEXT NOT NULL, kind TEXT NOT NULL,
  external_id TEXT NOT NULL, payload TEXT NOT NULL, incident TEXT, grant_key TEXT, purchased INTEGER,
  state TEXT NOT NULL DEFAULT 'pending', attempts INTEGER NOT NULL DEFAULT 0, next_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL, note TEXT, UNIQUE(event_key, kind));
"""


class Store:
    """One connection, one lock: SQLite has a single writer anyway, and every critical section here is short."""

    def __init__(self, folder):
        os.makedirs(folder, exist_ok=True)
        self.lock = threading.RLock()
        self.db = sqlite3.connect(os.path.join(folder, "backend.sqlite3"), check_same_thread=False, isolation_level=None, timeout=10)
        self.db.row_factory = sqlite3.Row
        self.db.execute("PRAGMA journal_mode=WAL")
        self.db.execute("PRAGMA synchronous=FULL")
        self.db.executescript(SCHEMA)

    def __enter__(self):             # `with store:` is one transaction
        self.lock.acquire()
        try:
            self.db.execute("BEGIN IMMEDIATE")
        except BaseException:
            self.lock.release()
            raise
        return self

    def __exit__(self, kind, value, trace):
        try:
            self.db.execute("COMMIT" if kind is None else "ROLLBACK")
        finally:
            self.lock.release()

    def all(self, sql, *args):
        with self.lock:
            return self.db.execute(sql, args).fetchall()

    def one(self, sql, *args):
        with self.lock:
            return self.db.execute(sql, args).fetchone()

    def run(self, sql, *args):
        with self.lock:
            return self.db.execute(sql, args).rowcount


STORE: Store = None
INBOX_WAKE, OUTBOX_WAKE = threading.Event(), threading.Event()


def id_hash(app_user_id):
    return hashlib.sha256(b"deleted:" + app_user_id.encode()).hexdigest()


def is_deleted(app_user_id):
    return STORE.one("SELECT 1 FROM tombstones WHERE id_hash=?", id_hash(app_user_id)) is not None


# ---------------------------------------------------------------- people

def person_of(app_user_id):
    row = STORE.one("SELECT person FROM ids WHERE app_user_id=?", app_user_id)
    return row["person"] if row else None


def account_of(person):
    row = STORE.one("SELECT account_id FROM persons WHERE person=?", person)
    return row["account_id"] if row else None


def new_person():
    with STORE.lock:
        return STORE.db.execute("INSERT INTO persons(created_at) VALUES(?)", (now_ms(),)).lastrowid


def add_id(app_user_id, person, source):
    STORE.run("INSERT OR IGNORE INTO ids(app_user_id, person, source, last_source, created_at) VALUES(?,?,?,?,?)",
              app_user_id, person, source, source, now_ms())


def merge(src, dst, reason):
    """Two records turn out to be one person. Records with two different accounts are never joined."""
    if src == dst:
        return True
    a, b = account_of(src), account_of(dst)
    if a and b:
        return False
    moved = [r["app_user_id"] for r in STORE.all("SELECT app_user_id FROM ids WHERE person=?", src)]
    STORE.run("UPDATE ids SET person=? WHERE person=?", dst, src)
    STORE.run("DELETE FROM persons WHERE person=?", src)
    if a:
        STORE.run("UPDATE persons SET account_id=? WHERE person=?", a, dst)
    STORE.run("INSERT INTO merges VALUES(?,?,?,?)", now_ms(), dst, json.dumps(moved), reason)
    return True


def resolve_person(app_ids, source):
    """The person behind a set of equivalent ids; unknown ids are attached, unknown people are created."""
    live = [i for i in dict.fromkeys(app_ids) if valid_id(i) and not is_deleted(i)]
    if not live:
        return None
    known = []
    for i in live:
        p = person_of(i)
        if p is not None and p not in known:
            known.append(p)
    if not known:
        if any(isinstance(i, str) and is_deleted(i) for i in app_ids if valid_id(i)):
            return None              # another name of somebody who deleted the account
        known = [new_person()]
    first = person_of(live[0])
    with_account = [p for p in known if account_of(p)]
    dst = first if first in with_account else (with_account or sorted(known))[0]
    for p in known:
        merge(p, dst, source)
    for i in live:
        add_id(i, dst, source)
    return person_of(live[0])


def person_ids(person):
    return [r["app_user_id"] for r in STORE.all("SELECT app_user_id FROM ids WHERE person=?", person)]


def push_target(person, fallback):
    """The one id under which this person's device is known to OneSignal (the app aliases what it registers)."""
    account = account_of(person)
    if account:
        return account
    rows = STORE.all("SELECT app_user_id FROM ids WHERE person=? AND registered=1 "
                     "ORDER BY app_user_id LIKE '$RCAnonymousID:%', last_seen DESC", person)
    if rows:
        return rows[0]["app_user_id"]
    return fallback


# ---------------------------------------------------------------- the fold: filed events -> subscriptions

GRANTS = {"INITIAL_PURCHASE", "RENEWAL", "NON_RENEWING_PURCHASE", "TEMPORARY_ENTITLEMENT_GRANT"}
RANK = {"PRODUCT_CHANGE": 0, "INITIAL_PURCHASE": 1, "RENEWAL": 1, "NON_RENEWING_PURCHASE": 1, "TEMPORARY_ENTITLEMENT_GRANT": 1,
        "SUBSCRIPTION_EXTENDED": 2, "SUBSCRIPTION_PAUSED": 2, "BILLING_ISSUE": 3, "CANCELLATION": 4, "UNCANCELLATION": 5,
        "REFUND_REVERSED": 6, "EXPIRATION": 7}


def blank(ev, row):
    onetime = ev["type"] == "NON_RENEWING_PURCHASE"
    return {"env": row["env"], "store": row["store"], "line": row["line"], "product": ev["product"], "pending": None,
            "ents": ev["ents"], "purchased": ev["purchased"], "expires": ev["expires"], "grace": None, "billing": False,
            "billing_until": None, "will_renew": None if onetime else True, "refunded": False, "ended": False, "superseded": False,
            "provisional": False, "pause": False, "onetime": onetime, "grant_key": None, "last_ts": 0, "owner": row["owner"]}


def fold(rows):
    """All events of one (person, environment, store, original transaction) -> {product: state}."""
    products, latest = {}, None
    for row in sorted(rows, key=lambda r: (r["ts"], RANK[r["type"]], r["event_key"])):
        ev = json.loads(row["body"])
        kind, ts = ev["type"], row["ts"]
        ev["product"] = ev["product"] or latest or "?"
        latest = ev["product"]
        s = products.get(ev["product"])
        if kind in GRANTS:
            fresh = blank(ev, row)
            fresh["grant_key"] = row["event_key"]
            if kind == "TEMPORARY_ENTITLEMENT_GRANT":
                fresh["provisional"] = True
                fresh["expires"] = min(ev["expires"] or FOREVER, ts + DAY)
            for other in products.values():      # a product change takes effect: the old product of this line is over
                switched = kind == "RENEWAL" and (s is None or s["superseded"])
                if other["product"] != ev["product"] and not other["onetime"] and (
                        switched or (kind != "NON_RENEWING_PURCHASE" and other["pending"] == ev["product"])):
                    other["superseded"] = other["ended"] = True
            s = products[ev["product"]] = fresh
        elif kind == "PRODUCT_CHANGE":
            if s:
                s["pending"] = ev["new_product"]
        else:
            if s is None:
                s = products[ev["product"]] = blank(ev, row)
            same_period = ev["purchased"] is None or s["purchased"] is None or ev["purchased"] >= s["purchased"]
            if kind == "CANCELLATION":
                if ev["reason"] == "BILLING_ERROR":
                    if same_period and not s["billing"]:
                        s["billing"], s["billing_until"] = True, ts + BILLING_RETRY_MS
                elif ev["reason"] == "CUSTOMER_SUPPORT":
                    if same_period:
                        s["refunded"], s["will_renew"] = True, None
                        s["expires"] = ev["expires"] if ev["expires"] is not None else s["expires"]
                else:
                    s["will_renew"] = False
                    if same_period and ev["expires"] is not None:
                        s["expires"] = ev["expires"]
            elif kind == "UNCANCELLATION":
                s["will_renew"], s["billing"], s["billing_until"] = True, False, None
                if same_period and ev["expires"] is not None:
                    s["expires"] = ev["expires"]
            elif kind == "BILLING_ISSUE":
                if same_period:
                    s["billing"], s["grace"] = True, ev["grace"]
                    s["billing_until"] = None if ev["grace"] is not None else max(ev["expires"] or 0, ts + BILLING_RETRY_MS)
            elif kind == "SUBSCRIPTION_PAUSED":
                s["pause"] = True
            elif kind == "SUBSCRIPTION_EXTENDED":
                s["expires"] = ev["expires"] if ev["expires"] is not None else s["expires"]
                s["ended"] = s["superseded"]
            elif kind == "REFUND_REVERSED":
                s["refunded"], s["expires"] = False, ev["expires"]
                s["ended"] = s["superseded"]
            elif kind == "EXPIRATION":
                if same_period:
                    s["ended"], s["billing"], s["billing_until"], s["will_renew"], s["pause"] = True, False, None, False, False
                    s["refunded"] = s["refunded"] or ev["reason"] == "CUSTOMER_SUPPORT"
        if s:
            s["owner"], s["last_ts"] = row["owner"], max(s["last_ts"], ts, row["moved_ts"] or 0)
    return products


def access_end(s):
    """Epoch ms at which this state stops giving access; 0 = it gives none, FOREVER = no end."""
    if s["ended"] or s["refunded"]:
        return 0
    end = FOREVER if s["expires"] is None else s["expires"]
    for extra in (s["grace"], s["billing_until"] if s["billing"] else None, s.get("slack_until")):
        if extra is not None:
            end = max(end, extra)
    return end


def person_states(app_ids, asked=None):
    """Every subscription, purchase and snapshot entry of the person that owns these ids."""
    marks = ",".join("?" * len(app_ids))
    groups = {}
    for row in STORE.all(f"SELECT * FROM events WHERE owner IN ({marks})", *app_ids):
        groups.setdefault((row["env"], row["store"], row["line"]), []).append(row)
    states = [s for rows in groups.values() for s in fold(rows).values()]
    taken = {r["app_user_id"]: r["taken_at"] for r in STORE.all(f"SELECT * FROM snapshots WHERE app_user_id IN ({marks})", *app_ids)}
    for s in states:                 # RevenueCat's own word, when newer than all we heard of this purchase, replaces it
        s["outvoted"] = s["env"] == PRODUCTION and taken.get(s["owner"], -1) >= s["last_ts"]
    live = [s for s in states if not s["outvoted"]]
    heard = {(s["env"], s["store"], s["product"].split(":")[0]) for s in live}
    for row in STORE.all(f"SELECT * FROM snapshot_items WHERE owner IN ({marks})", *app_ids):
        s = json.loads(row["body"])
        if (PRODUCTION, s["store"], s["product"].split(":")[0]) not in heard:
            live.append({**s, "last_ts": row["taken_at"]})
    real = [s for s in live if not s["provisional"]]
    live = real + [p for p in live if p["provisional"] and not any(
        r["store"] == p["store"] and r["env"] == p["env"] and (r["purchased"] or 0) >= (p["purchased"] or 0) for r in real)]
    for row in STORE.all(f"SELECT * FROM plans WHERE holder IN ({marks})", *app_ids):
        b = json.loads(row["body"])
        if b["stays"] and asked is not None and asked != row["holder"]:
            continue                 # one-time purchases stay with the anonymous id that made them
        ents = [CFG.entitlement] if b["type"] != "CONSUMABLE" and (not CFG.ply_plans or row["plan"] in CFG.ply_plans) else []
        slack = b["expires"] + DAY if b["expires"] is not None else None
        live.append({"env": row["env"], "store": b["store"], "line": row["purchase"], "product": row["plan"], "pending": None, "ents": ents,
                     "purchased": b["purchased"], "expires": b["expires"], "grace": b["grace"], "billing": b["status"] in ("IN_GRACE_PERIOD", "ON_HOLD"),
                     "billing_until": None, "slack_until": slack, "will_renew": b["status"] == "AUTO_RENEWING" and bool(row["active"]),
                     "refunded": b["status"] == "REVOKED" and not row["active"], "ended": not row["active"], "superseded": False,
                     "provisional": False, "pause": False, "onetime": b["onetime"], "grant_key": None, "last_ts": row["ts"]})
    return live


def covered(states, entitlement, now, environment=PRODUCTION):
    return max((access_end(s) for s in states if s["env"] == environment and entitlement in s["ents"]), default=0) > now


def describe(app_user_id, entitlement=None):
    """The answer of GET status: what the app shows."""
    entitlement, now = entitlement or CFG.entitlement, now_ms()
    with STORE.lock:
        person = person_of(app_user_id)
        out = {"appUserId": app_user_id, "known": person is not None, "entitlement": entitlement, "access": False, "expiresAt": None,
               "expiresAtMs": None, "accessUntilMs": None, "neverExpires": False, "willRenew": None, "billingIssue": False,
               "gracePeriodExpiresAtMs": None, "refunded": False, "pausePending": False, "productId": None, "pendingProductId": None,
               "store": None, "sandboxAccess": False, "entitlements": {}, "subscriptions": []}
        if person is None:
            return out
        me = STORE.one("SELECT * FROM ids WHERE app_user_id=?", app_user_id)
        account = account_of(person)
        states = person_states(person_ids(person), app_user_id)
    out.update(isAnonymous=account is None, registered=bool(me["registered"]), source=me["source"], lastSource=me["last_source"],
               platform=me["platform"], lastSeenMs=me["last_seen"], canonicalAppUserId=account or app_user_id)
    production = [s for s in states if s["env"] == PRODUCTION]
    out["sandboxAccess"] = any(covered(states, entitlement, now, e) for e in {s["env"] for s in states} - {PRODUCTION})
    mine = [s for s in production if entitlement in s["ents"]]
    if mine:
        s = max(mine, key=lambda s: (access_end(s) > now, access_end(s), s["last_ts"]))
        end = access_end(s)
        out.update(access=end > now, expiresAt=iso(s["expires"]), expiresAtMs=s["expires"], neverExpires=end == FOREVER,
                   accessUntilMs=None if end in (0, FOREVER) else end, willRenew=s["will_renew"], billingIssue=s["billing"],
                   gracePeriodExpiresAtMs=s["grace"], refunded=s["refunded"], pausePending=s["pause"], productId=s["product"],
                   pendingProductId=s["pending"], store=s["store"])
    for s in production:
        for e in s["ents"]:
            end = max(access_end(s), out["entitlements"].get(e, {}).get("end", 0))
            out["entitlements"][e] = {"active": end > now, "accessUntilMs": None if end in (0, FOREVER) else end, "end": end}
        out["subscriptions"].append({"productId": s["product"], "store": s["store"], "active": access_end(s) > now, "expiresAtMs": s["expires"],
                                     "willRenew": s["will_renew"], "billingIssue": s["billing"], "refunded": s["refunded"],
                                     "pendingProductId": s["pending"], "oneTime": s["onetime"]})
    for e in out["entitlements"].values():
        del e["end"]
    return out


# ---------------------------------------------------------------- applying RevenueCat events

def transfer_chain(env_name, app_user_id, ts):
    """Who owns, today, an event that happened at `ts` under `app_user_id`? -> (owner, time of the last move)."""
    owner, moved = app_user_id, None
    for t in STORE.all("SELECT * FROM transfers WHERE env=? AND ts>=? ORDER BY ts, event_key", env_name, ts):
        b = json.loads(t["body"])
        people = lambda names: {p for p in map(person_of, names) if p is not None}
        me = person_of(owner)
        if owner in b["to"] or (me is not None and me in people(b["to"])):
            continue
        if owner in b["from"] or (me is not None and me in people(b["from"])):
            owner, moved = b["winner"], t["ts"]
    return owner, moved


def apply_transfer(key, ev, ts):
    source = [i for i in str_list(ev.get("transferred_from")) if valid_id(i)]
    target = [i for i in str_list(ev.get("transferred_to")) if valid_id(i)]
    if not target:
        return "transfer without a usable target"
    environment = as_str(ev.get("environment")) or PRODUCTION
    for i in source:
        resolve_person([i], "webhook_transfer")
    gained = [i for i in target if i not in source] or target
    alive = sorted((i for i in gained if not is_deleted(i)), key=lambda i: (person_of(i) is None, i.startswith("$RCAnonymousID:")))
    winner = alive[0] if alive else "#deleted"
    if alive:
        resolve_person(alive, "webhook_transfer")
    STORE.run("INSERT OR IGNORE INTO transfers VALUES(?,?,?,?)", key, environment, ts,
              json.dumps({"from": [i for i in source if not is_deleted(i)], "to": alive, "winner": winner}))
    losers = {i for p in map(person_of, source) if p is not None for i in person_ids(p)} | set(source)
    moved = 0
    for row in STORE.all("SELECT * FROM events WHERE env=? AND ts<=?", environment, ts):
        if row["owner"] in losers or row["app_user_id"] in losers:
            owner, at = transfer_chain(environment, row["app_user_id"], row["ts"])
            moved += STORE.run("UPDATE events SET owner=?, moved_ts=? WHERE event_key=?", owner, at, row["event_key"])
    if environment == PRODUCTION:
        for i in losers - set(alive):
            moved += STORE.run("UPDATE snapshot_items SET owner=? WHERE owner=? AND taken_at<=?", winner, i, ts)
    if not moved and alive and CFG.rc_key:       # we never heard of the purchase: ask RevenueCat
        STORE.run("INSERT OR REPLACE INTO reconcile VALUES(?,?,0)", winner, now_ms())
    return "transferred"


def apply_revenuecat(key, ev, received_at):
    """Runs inside the worker's transaction. Returns a note for the inbox row."""
    kind = ev.get("type")
    ts = as_int(ev.get("event_timestamp_ms"))
    ts = received_at if ts is None else ts
    if kind == "TRANSFER":
        return apply_transfer(key, ev, ts)
    names = [ev.get("app_user_id"), ev.get("original_app_user_id")] + str_list(ev.get("aliases"))
    names = [n for n in names if isinstance(n, str)]
    if kind == "SUBSCRIBER_ALIAS":
        resolve_person(names, "webhook_alias")
        return "aliased"
    if kind == "PURCHASE_REDEEMED":
        if ev.get("redemption_outcome") == "alias":
            resolve_person(str_list(ev.get("redeemed_by")) + str_list(ev.get("redeemed_from")), "webhook_alias")
        return "recorded"
    if kind not in RANK:
        return "ignored"
    person = resolve_person(names, "webhook_safety_net")
    if person is None:
        return "no usable user id"
    app_user_id = next(n for n in names if person_of(n) is not None)
    environment, store = as_str(ev.get("environment")) or PRODUCTION, as_str(ev.get("store")) or "UNKNOWN"
    product = as_str(ev.get("product_id"))
    line = as_str(ev.get("original_transaction_id")) or as_str(ev.get("transaction_id")) or f"product:{product}"
    body = {"type": kind, "product": product, "new_product": as_str(ev.get("new_product_id")), "ents": str_list(ev.get("entitlement_ids")),
            "purchased": as_int(ev.get("purchased_at_ms")), "expires": as_int(ev.get("expiration_at_ms")),
            "grace": as_int(ev.get("grace_period_expiration_at_ms")), "reason": as_str(ev.get("cancel_reason") or ev.get("expiration_reason"))}
    owner, moved = transfer_chain(environment, app_user_id, ts)
    STORE.run("INSERT OR IGNORE INTO events VALUES(?,?,?,?,?,?,?,?,?,?)", key, app_user_id, owner, moved, environment, store, line, ts,
              kind, json.dumps(body))
    holder = person_of(owner)
    if environment == PRODUCTION and holder is not None:
        announce_revenuecat(key, kind, body, holder, owner, store, line)
    return "applied"


TEXTS = {
    "purchase": ("Welcome", "Thank you, your subscription is active."),
    "renewal": ("Subscription renewed", "Your subscription was renewed."),
    "reactivation": ("Subscription reactivated", "Your subscription will renew again."),
    "cancellation": ("Subscription cancelled", "Your subscription will not renew. You keep access until {until}."),
    "billing_issue": ("Payment problem", "We could not charge you. Please update your payment method."),
    "expiration": ("Subscription ended", "Your subscription has ended."),
    "refund": ("Purchase refunded", "Your purchase was refunded and its access has ended."),
}


def announce_revenuecat(key, kind, ev, person, owner, store, line):
    """Tell the person what is true now; an event that newer events made untrue is not announced."""
    now, states = now_ms(), person_states(person_ids(person))
    product = ev["product"] or "?"
    s = next((s for s in states if (s["env"], s["store"], s["line"], s["product"]) == (PRODUCTION, store, line, product)), None)
    if s is None:
        return
    active = access_end(s) > now
    others = [o for o in states if o is not s]
    replaced = s["superseded"] or (bool(s["ents"]) and all(covered(others, e, now) for e in s["ents"]))
    push, incident = None, None
    if kind in ("INITIAL_PURCHASE", "RENEWAL"):
        if active and s["grant_key"] == key:
            push = "purchase" if kind == "INITIAL_PURCHASE" else "renewal"
    elif kind == "UNCANCELLATION":
        push = "reactivation" if active and s["will_renew"] else None
    elif kind == "BILLING_ISSUE" or (kind == "CANCELLATION" and ev["reason"] == "BILLING_ERROR"):
        push, incident = ("billing_issue" if s["billing"] and not s["ended"] and not s["refunded"] else None), "billing"
    elif kind == "CANCELLATION":
        if s["refunded"]:
            push, incident = ("refund" if ev["reason"] == "CUSTOMER_SUPPORT" else None), "end"
        elif s["will_renew"] is False and active:
            push = "cancellation"
        elif s["will_renew"] is False and not replaced:
            push, incident = "expiration", "end"
    elif kind == "EXPIRATION" and s["ended"]:
        incident = "end"
        if ev["reason"] == "CUSTOMER_SUPPORT":
            push = "refund"
        elif not replaced:
            push = "expiration"
    if push:
        until = (iso(access_end(s)) or "")[:10] if access_end(s) < FOREVER else "further notice"
        enqueue_push(key, push, person, owner, kind, until, incident and f"{incident}|{store}|{line}|{product}", s["grant_key"], ev["purchased"])


def enqueue_push(key, push, person, fallback, kind, until="", incident=None, grant_key=None, purchased=None):
    target = push_target(person, fallback)
    if incident and STORE.one("SELECT 1 FROM outbox WHERE incident=? AND (grant_key IS ? OR purchased IS ?)",
                              f"{person}|{incident}", grant_key, purchased):
        return                       # one message per incident (BILLING_ISSUE + CANCELLATION, refund + EXPIRATION)
    title, text = TEXTS[push]
    payload = {"idempotency_key": str(uuid.uuid5(PUSH_NAMESPACE, f"{key}|{push}")), "include_aliases": {"external_id": [target]},
               "target_channel": "push", "headings": {"en": title}, "contents": {"en": text.format(until=until)},
               "data": {"type": push, "event": kind}}
    STORE.run("INSERT OR IGNORE INTO outbox(event_key, kind, external_id, payload, incident, grant_key, purchased, next_at, created_at) "
              "VALUES(?,?,?,?,?,?,?,?,?)", key, push, target, json.dumps(payload), incident and f"{person}|{incident}", grant_key,
              purchased, now_ms(), now_ms())


# ---------------------------------------------------------------- applying Purchasely events

def apply_purchasely(key, ev, received_at):
    name = ev.get("event_name")
    user, anonymous = as_str(ev.get("user_id")), as_str(ev.get("anonymous_user_id"))
    holder = user or anonymous
    if name not in ("ACTIVATE", "DEACTIVATE", "RENEWAL_DISABLED", "GRACE_PERIOD_STARTED", "ENTERED_BILLING_RETRY"):
        return "ignored"
    person = resolve_person([holder], "purchasely_safety_net")
    if person is None:
        return "no usable user id"
    environment, ts = as_str(ev.get("environment")) or PRODUCTION, as_int(ev.get("event_created_at_ms"))
    ts = received_at if ts is None else ts
    onetime = as_str(ev.get("purchase_type")) in ("CONSUMABLE", "NON_CONSUMABLE")
    purchase = as_str(ev.get("purchasely_subscription_id")) or as_str(ev.get("purchasely_one_time_purchase_id")) \
        or as_str(ev.get("store_original_transaction_id")) or "?"
    plan, status = as_str(ev.get("plan")) or as_str(ev.get("product")) or "?", as_str(ev.get("subscription_status"))
    where = (holder, environment, purchase, plan)
    old = STORE.one("SELECT * FROM plans WHERE holder=? AND env=? AND purchase=? AND plan=?", *where)
    live, push = environment == PRODUCTION, None
    if name in ("ACTIVATE", "DEACTIVATE"):
        on = int(name == "ACTIVATE")
        if old and (ts, -on) < (old["ts"], -old["active"]):
            return "older than what is known"
        elsewhere = STORE.one("SELECT 1 FROM plans WHERE holder<>? AND env=? AND purchase=?", holder, environment, purchase)
        body = {"expires": as_int(ev.get("effective_next_renewal_at_ms")), "grace": as_int(ev.get("grace_period_expires_at_ms")),
                "purchased": as_int(ev.get("purchased_at_ms")), "status": status, "store": as_str(ev.get("store")) or "UNKNOWN",
                "type": as_str(ev.get("purchase_type")), "onetime": onetime, "stays": onetime and not user}
        STORE.run("INSERT OR REPLACE INTO plans VALUES(?,?,?,?,?,?,?)", *where, ts, on, json.dumps(body))
        if on and not (old and old["active"]) and not elsewhere:
            push = "purchase"
        elif not on and old and old["active"] and status == "REVOKED":
            push = "refund"
        elif not on and old and old["active"] and status in ("UNPAID", "DEACTIVATED") and \
                not covered(person_states(person_ids(person)), CFG.entitlement, now_ms()):
            push = "expiration"
    elif old and old["active"] and ts >= old["ts"]:
        push = "cancellation" if name == "RENEWAL_DISABLED" else "billing_issue"
    if push and live:
        until = as_int(ev.get("effective_next_renewal_at_ms"))
        enqueue_push(key, push, person, holder, name, (iso(until) or "further notice")[:10],
                     f"billing|{purchase}|{plan}" if push == "billing_issue" else None, None, as_int(ev.get("purchased_at_ms")))
    return "applied"


# ---------------------------------------------------------------- workers

def inbox_worker():
    while True:
        try:
            if not apply_next():
                INBOX_WAKE.wait(0.5)
                INBOX_WAKE.clear()
        except Exception:
            log("inbox worker:", traceback.format_exc())
            time.sleep(0.5)


def apply_next():
    row = STORE.one("SELECT * FROM inbox WHERE state='new' AND next_at<=? ORDER BY seq LIMIT 1", now_ms())
    if row is None:
        return False
    try:
        with STORE:                  # effects and the mark commit together, or not at all
            apply = apply_revenuecat if row["source"] == "revenuecat" else apply_purchasely
            note = apply(row["event_key"], json.loads(row["payload"]), row["received_at"])
            STORE.run("UPDATE inbox SET state='done', note=?, payload=NULL WHERE seq=?", note, row["seq"])
        OUTBOX_WAKE.set()
    except Exception as e:
        log("event", row["seq"], "failed:", traceback.format_exc())
        attempts = row["attempts"] + 1
        with STORE:
            STORE.run("UPDATE inbox SET attempts=?, next_at=?, state=?, note=? WHERE seq=?", attempts,
                      now_ms() + min(2 ** attempts, 300) * 1000, "dead" if attempts >= 12 else "new", type(e).__name__, row["seq"])
    return True


def outbox_worker():
    pool, busy = concurrent.futures.ThreadPoolExecutor(8), set()
    while True:
        try:
            for row in STORE.all("SELECT * FROM outbox WHERE state='pending' AND next_at<=? ORDER BY id LIMIT 100", now_ms()):
                if row["id"] not in busy:
                    busy.add(row["id"])
                    pool.submit(send_push, row).add_done_callback(lambda _, i=row["id"]: busy.discard(i))
        except Exception:
            log("outbox worker:", traceback.format_exc())
        OUTBOX_WAKE.wait(0.25)
        OUTBOX_WAKE.clear()


def retry_after_ms(headers):
    value = (headers.get("Retry-After") or headers.get("RetryAfter") or "").strip()
    if value.isdigit():
        return int(value) * 1000
    try:
        return max(0, int(email.utils.parsedate_to_datetime(value).timestamp() * 1000) - now_ms())
    except (TypeError, ValueError, IndexError):
        return 0


def send_push(row):
    try:
        state, note, wait = push_once(row)
    except Exception as e:           # includes every network error: the same idempotency key makes a repeat harmless
        state, note, wait = "pending", type(e).__name__, 0
    attempts = row["attempts"] + 1
    if state == "pending" and now_ms() - row["created_at"] > DAY:
        state = "expired"
    delay = max(wait, min(2 ** (attempts - 1), 300) * 1000)
    STORE.run("UPDATE outbox SET state=?, attempts=?, note=?, next_at=? WHERE id=? AND state='pending'", state, attempts, note, now_ms() + delay, row["id"])
    log("push", row["id"], row["kind"], state, note)


def push_once(row):
    if not CFG.os_key or not CFG.os_app:
        return "disabled", "OneSignal is not configured", 0
    body = {"app_id": CFG.os_app, **json.loads(row["payload"])}
    status, headers, raw = http_call("POST", CFG.os_base + "/notifications", {"Authorization": f"Key {CFG.os_key}"}, body)
    if status == 429:
        return "pending", "429", retry_after_ms(headers) + 50
    if status >= 500 or status == 408:
        return "pending", str(status), retry_after_ms(headers)
    if status != 200:
        return "failed", str(status), 0
    try:
        answer = json.loads(raw)
    except ValueError:
        return "pending", "unreadable answer", 0
    sent, errors = answer.get("id"), answer.get("errors")
    if not isinstance(sent, str) or not sent:
        return "undelivered", json.dumps(errors)[:300], 0
    if isinstance(errors, dict) and errors:
        return "undelivered", json.dumps(errors)[:300], 0
    return "sent", sent, 0


# ---------------------------------------------------------------- reconciliation with RevenueCat's REST API

def fetch_subscriber(app_user_id):
    base = CFG.rc_base if CFG.rc_base.endswith("/v1") else CFG.rc_base + "/v1"
    status, _, raw = http_call("GET", f"{base}/subscribers/{urllib.parse.quote(app_user_id, safe='')}", {"Authorization": f"Bearer {CFG.rc_key}"})
    if status not in (200, 201):
        raise ApiError(502, "revenuecat_unavailable", upstream=status)
    try:
        info = json.loads(raw)
        info = info.get("value", info)
        sub, taken = info["subscriber"], as_int(info.get("request_date_ms")) or now_ms()
        items, subs = [], sub.get("subscriptions") or {}
        for name, e in (sub.get("entitlements") or {}).items():
            product = e.get("product_identifier") or "?"
            once = (sub.get("non_subscriptions") or {}).get(product) or [{}]
            d = subs.get(product) or once[-1]
            if d.get("is_sandbox") is True:
                continue
            plan = d.get("product_plan_identifier")              # Play: webhooks join the product and its base plan
            shown = f"{product}:{plan}" if plan else product
            items.append({"env": PRODUCTION, "store": (d.get("store") or "unknown").upper(), "line": f"rest:{product}", "product": shown,
                          "pending": None, "ents": [name], "purchased": parse_iso(e.get("purchase_date")), "expires": parse_iso(e.get("expires_date")),
                          "grace": parse_iso(e.get("grace_period_expires_date")), "billing": bool(d.get("billing_issues_detected_at")),
                          "billing_until": None, "will_renew": product in subs and not d.get("unsubscribe_detected_at"),
                          "refunded": bool(d.get("refunded_at")) and (parse_iso(e.get("expires_date")) or 0) <= taken,
                          "ended": False, "superseded": False, "provisional": False, "pause": False, "onetime": product not in subs,
                          "grant_key": None, "last_ts": taken})
        return taken, items
    except (ValueError, KeyError, AttributeError, TypeError) as e:
        raise ApiError(502, "revenuecat_unreadable") from e


def reconcile(app_user_id):
    if not CFG.rc_key:
        raise ApiError(503, "revenuecat_api_key_missing")
    if is_deleted(app_user_id):
        raise ApiError(410, "deleted")
    person = person_of(app_user_id)
    answers = {i: fetch_subscriber(i) for i in (person_ids(person) if person is not None else [app_user_id])}
    with STORE:
        if person is None and any(items for _, items in answers.values()):
            resolve_person([app_user_id], "reconcile")
        for i, (taken, items) in answers.items():
            STORE.run("INSERT OR REPLACE INTO snapshots VALUES(?,?)", i, taken)
            STORE.run("DELETE FROM snapshot_items WHERE owner=?", i)
            for item in items:
                STORE.run("INSERT INTO snapshot_items VALUES(?,?,?,?)", i, item["ents"][0], taken, json.dumps(item))
        STORE.run("DELETE FROM reconcile WHERE app_user_id=?", app_user_id)


def reconcile_worker():
    last_sweep = time.monotonic()
    while True:
        time.sleep(1)
        try:
            for row in STORE.all("SELECT * FROM reconcile WHERE due<=? LIMIT 20", now_ms()):
                try:
                    reconcile(row["app_user_id"])
                except (ApiError, OSError) as e:
                    log("reconcile:", e)
                    STORE.run("UPDATE reconcile SET attempts=attempts+1, due=? WHERE app_user_id=?",
                              now_ms() + min(2 ** row["attempts"], 3600) * 1000, row["app_user_id"])
            if CFG.rc_key and CFG.reconcile_seconds and time.monotonic() - last_sweep > CFG.reconcile_seconds:
                last_sweep = time.monotonic()
                STORE.run("INSERT OR IGNORE INTO reconcile SELECT MIN(app_user_id), ?, 0 FROM ids GROUP BY person", now_ms())
        except Exception:
            log("reconcile worker:", traceback.format_exc())


# ---------------------------------------------------------------- Firebase ID tokens

def der_items(data, start, end):
    out = []
    while start < end:
        tag, length, start = data[start], data[start + 1], start + 2
        if length & 0x80:
            n = length & 0x7F
            length, start = int.from_bytes(data[start:start + n], "big"), start + n
        out.append((tag, start, start + length))
        start += length
    return out


def rsa_from_certificate(pem):
    body = re.search(r"-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----", pem, re.S).group(1)
    data = base64.b64decode("".join(body.split()))
    certificate = der_items(data, 0, len(data))[0]
    tbs = der_items(data, *certificate[1:])[0]
    fields = der_items(data, *tbs[1:])
    spki = fields[6 if fields[0][0] == 0xA0 else 5]
    bits = der_items(data, *spki[1:])[1]
    key = der_items(data, bits[1] + 1, bits[2])[0]
    n, e = (int.from_bytes(data[a:b], "big") for _, a, b in der_items(data, *key[1:])[:2])
    return n, e


def b64url(text):
    if not re.fullmatch(r"[A-Za-z0-9_-]*", text):
        raise ValueError("not base64url")
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class KeyCache:
    """Google's public keys: kept for max-age, fetched once more for an unknown kid, within a small budget."""

    def __init__(self):
        self.lock, self.keys, self.fresh_until = threading.Lock(), {}, 0.0
        self.unknown, self.budget, self.refilled = {}, 5.0, time.monotonic()

    def fetch(self):
        try:
            status, headers, raw = http_call("GET", CFG.fb_keys, timeout=5)
            doc = json.loads(raw) if status == 200 else {}
            if isinstance(doc.get("keys"), list):
                keys = {k["kid"]: tuple(int.from_bytes(b64url(k[p]), "big") for p in "ne") for k in doc["keys"] if k.get("kty", "RSA") == "RSA"}
            else:
                keys = {kid: rsa_from_certificate(pem) for kid, pem in doc.items()}
        except Exception as e:
            log("keys:", type(e).__name__, e)
            return False
        if not keys:
            return False
        m = re.search(r"max-age=(\d+)", headers.get("Cache-Control") or "")
        self.keys, self.fresh_until = keys, time.monotonic() + (int(m.group(1)) if m else 300)
        return True

    def get(self, kid):
        with self.lock:
            now = time.monotonic()
            if now >= self.fresh_until:
                if not self.fetch() and kid not in self.keys:    # stale keys beat no keys, unverified beats nothing
                    raise ApiError(503, "keys_unavailable")
            elif kid not in self.keys and self.unknown.get(kid, 0) <= now:
                self.budget, self.refilled = min(5.0, self.budget + (now - self.refilled) / 10), now
                if self.budget >= 1:
                    self.budget -= 1
                    if not self.fetch():
                        raise ApiError(503, "keys_unavailable")
            if kid not in self.keys:
                self.unknown = {k: t for k, t in self.unknown.items() if t > now}
                self.unknown[kid] = now + 30
                raise ApiError(401, "invalid_token")
            return self.keys[kid]


KEYS = KeyCache()
SHA256_PREFIX = bytes.fromhex("3031300d060960864801650304020105000420")


def verify_token(token):
    """Claims of a valid Firebase ID token of our project; ApiError 401 (or 503 when keys cannot be had)."""
    bad = ApiError(401, "invalid_token")
    if not CFG.fb_project:
        raise ApiError(503, "firebase_not_configured")
    try:
        head64, body64, sig64 = token.split(".")
        head, claims, sig = json.loads(b64url(head64)), json.loads(b64url(body64)), b64url(sig64)
        kid, sub = head["kid"], claims["sub"]
        times = [claims["iat"], claims["exp"], claims.get("auth_time", claims["iat"])]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, binascii.Error):
        raise bad from None
    if head.get("alg") != "RS256" or not isinstance(kid, str) or not kid:
        raise bad
    if claims.get("aud") != CFG.fb_project or claims.get("iss") != f"https://securetoken.google.com/{CFG.fb_project}":
        raise bad
    if not isinstance(sub, str) or not 0 < len(sub) <= 128:
        raise bad
    if any(isinstance(t, bool) or not isinstance(t, int) for t in times):
        raise bad
    now = time.time()
    if times[1] <= now or times[0] > now + 60 or times[2] > now + 60:
        raise bad
    n, e = KEYS.get(kid)
    size = (n.bit_length() + 7) // 8
    digest = SHA256_PREFIX + hashlib.sha256(f"{head64}.{body64}".encode()).digest()
    wanted = b"\x00\x01" + b"\xff" * (size - len(digest) - 3) + b"\x00" + digest
    if len(sig) != size or not hmac.compare_digest(pow(int.from_bytes(sig, "big"), e, n).to_bytes(size, "big"), wanted):
        raise bad
    return claims


def bearer(handler):
    scheme, _, token = header_text(handler.headers.get("Authorization")).partition(" ")
    return token.strip() if scheme.lower() == "bearer" and token.strip() else None


# ---------------------------------------------------------------- routes

def parse_object(raw):
    try:
        doc = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        raise ApiError(400, "invalid_json") from None
    if not isinstance(doc, dict):
        raise ApiError(400, "invalid_body")
    return doc


def store_event(key, source, event):
    """Durable before the answer. A repeated id is a no-op, also under concurrency: the UNIQUE key decides."""
    slim = {k: v for k, v in event.items() if k != "subscriber_attributes"}
    with STORE:
        fresh = STORE.run("INSERT OR IGNORE INTO inbox(event_key, source, payload, received_at) VALUES(?,?,?,?)",
                          key, source, json.dumps(slim), now_ms())
    INBOX_WAKE.set()
    return {"ok": True, "duplicate": not fresh}


def check_rc_signature(handler, raw):
    parts = dict(p.split("=", 1) for p in (handler.headers.get("X-RevenueCat-Webhook-Signature") or "").split(",") if "=" in p)
    t = parts.get("t", "").strip()
    wanted = hmac.new(CFG.rc_signing_secret.encode(), t.encode() + b"." + raw, hashlib.sha256).hexdigest()
    if not t.isdigit() or not same_secret(parts.get("v1", "").strip(), wanted) or abs(time.time() - int(t)) > CFG.tolerance:
        raise ApiError(401, "bad_signature")


def post_revenuecat(handler, raw, query):
    if not same_secret(header_text(handler.headers.get("Authorization")), CFG.rc_secret):
        raise ApiError(401, "unauthorized")
    if CFG.rc_signing_secret:
        check_rc_signature(handler, raw)
    event = parse_object(raw).get("event")
    if not isinstance(event, dict) or not as_str(event.get("type")):
        raise ApiError(400, "invalid_event")
    event_id = as_str(event.get("id")) or as_str(event.get("event_id"))      # paywall events carry event_id
    if not event_id or not event_id.isprintable():
        raise ApiError(400, "invalid_event")
    return store_event(f"rc:{event_id}", "revenuecat", event)


def post_purchasely(handler, raw, query):
    if not CFG.ply_secret:
        raise ApiError(403, "purchasely_disabled")
    stamp = header_text(handler.headers.get("X-PURCHASELY-TIMESTAMP"))
    wanted = hmac.new(CFG.ply_secret.encode(), stamp.encode("utf-8", "surrogateescape") + raw, hashlib.sha256).hexdigest()
    if not same_secret(header_text(handler.headers.get("X-PURCHASELY-REQUEST-SIGNATURE")), wanted):
        raise ApiError(401, "bad_signature")
    if not re.fullmatch(r"[0-9]{1,12}", stamp) or abs(time.time() - int(stamp)) > CFG.tolerance:
        raise ApiError(401, "stale_timestamp")
    event = parse_object(raw)
    event_id = as_str(event.get("event_id")) or "sha256-" + hashlib.sha256(raw).hexdigest()
    return store_event("ply:" + event_id.encode("ascii", "backslashreplace").decode(), "purchasely", event)


def field(body, name, limit=200):
    value = body.get(name)
    if value is None or value == "":
        return None
    if not isinstance(value, str) or len(value) > limit or not value.isprintable():
        raise ApiError(400, f"invalid_{name}")
    return value


def post_register(handler, raw, query):
    body = parse_object(raw)
    app_user_id = body.get("appUserId")
    if not valid_id(app_user_id):
        raise ApiError(400, "invalid_app_user_id")
    device, platform, source = field(body, "deviceId"), field(body, "platform", 40), field(body, "source", 60)
    offered = field(body, "deviceToken", 200)
    now, token = now_ms(), None
    with STORE:
        if is_deleted(app_user_id):
            raise ApiError(410, "deleted")
        if person_of(app_user_id) is None:
            add_id(app_user_id, new_person(), source or "register")
        row = STORE.one("SELECT * FROM ids WHERE app_user_id=?", app_user_id)
        if not row["registered"]:    # first device: it gets the proof of possession that login asks for
            token = offered or secrets.token_urlsafe(24)
            STORE.run("UPDATE ids SET registered=1, device_id=?, token_hash=? WHERE app_user_id=?", device,
                      hashlib.sha256(token.encode()).hexdigest(), app_user_id)
        STORE.run("UPDATE ids SET last_source=COALESCE(?,last_source), last_seen=MAX(COALESCE(last_seen,0),?), platform=CASE WHEN "
                  "platform IS NULL OR device_id IS ? THEN COALESCE(?,platform) ELSE platform END WHERE app_user_id=?",
                  source, now, device, platform, app_user_id)
        if device:
            STORE.run("INSERT INTO devices VALUES(?,?,?,?) ON CONFLICT(app_user_id, device_id) DO UPDATE SET "
                      "platform=COALESCE(excluded.platform, platform), last_seen=MAX(last_seen, excluded.last_seen)", app_user_id, device, platform, now)
    out = {"ok": True, "appUserId": app_user_id}
    if token:
        out["deviceToken"] = token
    return out


def proven(current, body):
    """Is the current id the caller's? Its device token, or the private install id it was first registered with."""
    row = STORE.one("SELECT * FROM ids WHERE app_user_id=?", current)
    token, device = field(body, "deviceToken"), field(body, "deviceId")
    if token and row["token_hash"]:
        return same_secret(hashlib.sha256(token.encode()).hexdigest(), row["token_hash"])
    return bool(device and row["device_id"] and device != current and same_secret(device, row["device_id"]))


LOGIN_FAILURES, LOGIN_LOCK = {}, threading.Lock()


def login_identity(handler, body):
    ip, now = handler.client_address[0], time.monotonic()
    with LOGIN_LOCK:
        recent = [t for t in LOGIN_FAILURES.get(ip, []) if now - t < 60]
        if len(recent) >= CFG.login_failures:
            raise ApiError(429, "too_many_attempts")
    try:
        credentials = body.get("credentials") if isinstance(body.get("credentials"), dict) else {}
        claims = verify_token(bearer(handler) or as_str(credentials.get("idToken")) or as_str(body.get("idToken")) or "")
        if body.get("accountId") not in (None, claims["sub"]):
            raise ApiError(401, "invalid_token")
        return claims
    except ApiError as e:
        if e.status == 401:
            with LOGIN_LOCK:
                LOGIN_FAILURES[ip] = recent + [now]
        raise


def post_login(handler, raw, query):
    body = parse_object(raw)
    claims = login_identity(handler, body)       # before any lookup
    uid, current = claims["sub"], body.get("currentAppUserId")
    info = claims.get("firebase")
    if isinstance(info, dict) and info.get("sign_in_provider") == "anonymous":
        raise ApiError(403, "account_required")
    if not valid_id(uid) or not valid_id(current):
        raise ApiError(400, "invalid_app_user_id")
    with STORE:
        if is_deleted(uid):
            raise ApiError(410, "deleted")
        mine = STORE.one("SELECT person FROM persons WHERE account_id=?", uid)
        owner = person_of(current)
        carried = False
        if mine is None:
            action, target = "claimed", person_of(uid)
            if target is not None and account_of(target):        # somebody claimed our uid as if it were anonymous
                target = None
            if current != uid:
                if owner is None:
                    raise ApiError(409, "unknown_app_user")
                if account_of(owner):
                    raise ApiError(409, "already_claimed")
                if owner != target and not proven(current, body):
                    raise ApiError(409, "proof_required")
            if target is None:
                target = new_person()
                add_id(uid, target, "login")
                STORE.run("UPDATE ids SET person=? WHERE app_user_id=?", target, uid)
            STORE.run("UPDATE persons SET account_id=? WHERE person=?", uid, target)
        else:
            action, target = "recovered", mine["person"]
        changed = owner != target
        if owner is not None and changed and not account_of(owner) and proven(current, body):
            carried = merge(owner, target, "login")
        if owner is not None and changed and not carried:
            STORE.run("INSERT INTO merges VALUES(?,?,?,?)", now_ms(), target, json.dumps([current]), "kept_separate")
    return {"action": action, "appUserId": uid, "changed": changed, "purchasesCarriedOver": carried,
            "access": describe(uid)["access"]}


def get_status(handler, raw, query):
    app_user_id = (query.get("appUserId") or query.get("app_user_id") or [""])[0]
    if not valid_id(app_user_id):
        raise ApiError(400, "invalid_app_user_id")
    return describe(app_user_id, (query.get("entitlement") or [None])[0])


def own_status(claims):
    uid, person = claims["sub"], person_of(claims["sub"])
    if person is not None and account_of(person) not in (None, uid):
        uid = "\x00"                 # the id was claimed by another account before its owner came: show nothing of it
    return {**describe(uid), "appUserId": claims["sub"], "uid": claims["sub"], "email": claims.get("email")}


def get_me(handler, raw, query):
    return own_status(verify_token(bearer(handler) or ""))


def delete_me(handler, raw, query):
    """Removes the person here and, when an API key is configured, the Firebase user. Cancels no store subscription."""
    token = bearer(handler) or ""
    uid, firebase = verify_token(token)["sub"], False
    if CFG.fb_api_key:               # the outside call first: when it fails, nothing has changed
        url = f"{CFG.fb_auth_base}/v1/accounts:delete?key={urllib.parse.quote(CFG.fb_api_key)}"
        try:
            status, _, answer = http_call("POST", url, body={"idToken": token})
        except OSError:
            raise ApiError(502, "firebase_unavailable") from None
        if status != 200 and b"USER_NOT_FOUND" not in answer:
            raise ApiError(502, "firebase_refused")
        firebase = True
    with STORE:
        person = person_of(uid)
        mine = person is not None and account_of(person) in (None, uid)
        for i in set((person_ids(person) if mine else []) + [uid]):
            STORE.run("INSERT OR IGNORE INTO tombstones VALUES(?,?)", id_hash(i), now_ms())
            for table, column in (("ids", "app_user_id"), ("devices", "app_user_id"), ("events", "owner"), ("plans", "holder"),
                                  ("snapshots", "app_user_id"), ("snapshot_items", "owner"),
                                  ("reconcile", "app_user_id"), ("outbox", "external_id")):
                STORE.run(f"DELETE FROM {table} WHERE {column}=?", i)
            STORE.run("UPDATE events SET app_user_id=owner WHERE app_user_id=?", i)      # what a transfer moved stays with its owner
            STORE.run("DELETE FROM merges WHERE instr(moved, ?)", json.dumps(i))
            for t in STORE.all("SELECT * FROM transfers WHERE instr(body, ?)", json.dumps(i)):
                b = json.loads(t["body"])
                b = {"from": [x for x in b["from"] if x != i], "to": [x for x in b["to"] if x != i],
                     "winner": "#deleted" if b["winner"] == i else b["winner"]}
                STORE.run("UPDATE transfers SET body=? WHERE event_key=?", json.dumps(b), t["event_key"])
        if mine:
            STORE.run("DELETE FROM persons WHERE person=?", person)
    return {"ok": True, "deleted": True, "firebaseUserDeleted": firebase, "storeSubscriptionCancelled": False}


def post_reconcile(handler, raw, query):
    if not same_secret(bearer(handler) or "", CFG.admin_token):
        raise ApiError(401, "unauthorized")
    app_user_id = parse_object(raw).get("appUserId")
    if not valid_id(app_user_id):
        raise ApiError(400, "invalid_app_user_id")
    try:
        reconcile(app_user_id)
    except OSError:
        raise ApiError(502, "revenuecat_unavailable") from None
    return describe(app_user_id)


def get_health(handler, raw, query):
    pending = STORE.one("SELECT (SELECT COUNT(*) FROM inbox WHERE state='new') i, (SELECT COUNT(*) FROM outbox WHERE state='pending') o")
    return {"ok": True, "inboxPending": pending["i"], "outboxPending": pending["o"]}


ROUTES = {("POST", "/webhooks/revenuecat"): post_revenuecat, ("POST", "/webhooks/purchasely"): post_purchasely,
          ("POST", "/api/user/register"): post_register, ("POST", "/api/user/login"): post_login,
          ("GET", "/api/user/status"): get_status, ("GET", "/api/me"): get_me, ("DELETE", "/api/me"): delete_me,
          ("POST", "/admin/reconcile"): post_reconcile, ("GET", "/healthz"): get_health}


class Handler(BaseHTTPRequestHandler):
    protocol_version, server_version, timeout = "HTTP/1.1", "subscriptions", 30

    def log_message(self, *args):
        pass                         # request lines carry user ids

    def read_body(self):
        length = self.headers.get("Content-Length")
        if self.headers.get("Transfer-Encoding"):
            raise ApiError(411, "length_required")
        if length is None:
            return b""
        if not length.isdigit():
            raise ApiError(400, "bad_content_length")
        if int(length) > MAX_BODY:
            raise ApiError(413, "too_large")
        raw = self.rfile.read(int(length))
        if len(raw) < int(length):
            raise ApiError(400, "truncated")
        return raw

    def serve(self):
        read = False
        try:
            path, _, query = self.path.partition("?")
            route = ROUTES.get((self.command, path))
            raw, read = self.read_body(), True
            if route is None:
                raise ApiError(405 if any(p == path for _, p in ROUTES) else 404, "not_found")
            status, body = 200, route(self, raw, urllib.parse.parse_qs(query, keep_blank_values=True))
        except ApiError as e:
            status, body = e.status, e.body
        except sqlite3.Error:
            log("database:", traceback.format_exc())
            status, body = 503, {"error": "try_again"}
        except OSError:              # the client went away or was too slow
            self.close_connection = True
            return
        except Exception:
            log("request:", traceback.format_exc())
            status, body = 500, {"error": "internal"}
        if not read:
            self.close_connection = True
        data = json.dumps(body).encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Cache-Control", "no-store")
            if self.close_connection:
                self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(data)
        except OSError:
            self.close_connection = True

    do_GET = do_POST = do_DELETE = do_PUT = do_PATCH = serve


class Server(ThreadingHTTPServer):
    daemon_threads, request_queue_size = True, 256


def main():
    global STORE
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--port", type=int, default=int(env("PORT", "8080")))
    args.add_argument("--data", default=env("DATA_DIR", "./data"))
    args = args.parse_args()
    if not CFG.rc_secret:
        sys.exit("REVENUECAT_WEBHOOK_SECRET is not set: refusing to start with an open webhook")
    STORE = Store(args.data)
    for worker in (inbox_worker, outbox_worker, reconcile_worker):
        threading.Thread(target=worker, daemon=True, name=worker.__name__).start()
    server = Server(("127.0.0.1", args.port), Handler)
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown, daemon=True).start())
    log(f"listening on http://127.0.0.1:{server.server_port}, data in {args.data}")
    server.serve_forever()


if __name__ == "__main__":
    main()
