"""Subscription backend: RevenueCat webhooks in, access answers out, OneSignal pushes through an outbox.

The state of a person is never patched in place. Every accepted event is stored once, and the subscriptions of a person are
computed by folding that person's events in order of `event_timestamp_ms`. Delivery order, duplicates and late retries therefore
cannot change the outcome. All writes of one webhook (event, identity links, ownership, outbox) share one SQLite transaction.
"""
import argparse
import asyncio
import hashlib
import hmac
import json
import logging
import os
import re
import secrets
import sqlite3
import sys
import threading
import time
import uuid
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Annotated, Any, Optional
from urllib.parse import quote

import httpx
import jwt
import uvicorn
from cryptography.x509 import load_pem_x509_certificate
from fastapi import APIRouter, Depends, FastAPI, Header, HTTPException, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError, model_validator

log = logging.getLogger("backend")


def env(name: str, default: str = "") -> str:
    return os.environ.get(name, default).strip()


class Settings:
    webhook_secret = env("RC_WEBHOOK_AUTH")
    entitlement = env("ENTITLEMENT_ID", "premium")
    onesignal_url = env("ONESIGNAL_BASE_URL", "https://api.onesignal.com").rstrip("/")
    onesignal_app = env("ONESIGNAL_APP_ID")
    onesignal_key = env("ONESIGNAL_API_KEY")
    revenuecat_url = re.sub(r"/v1$", "", env("REVENUECAT_BASE_URL", "https://api.revenuecat.com").rstrip("/"))
    revenuecat_key = env("REVENUECAT_API_KEY")
    reconcile_hours = float(env("RECONCILE_HOURS", "6"))
    firebase_project = env("FIREBASE_PROJECT_ID")
    firebase_keys_url = env("FIREBASE_KEYS_URL", "https://www.googleapis.com/robot/v1/metadata/x509/securetoken@system.gserviceaccount.com")
    admin_token = env("ADMIN_TOKEN")
    data_dir = env("DATA_DIR", "./data")
    port = int(env("PORT", "8080"))


cfg = Settings()


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def same_secret(given: str, wanted: str) -> bool:
    return bool(wanted) and hmac.compare_digest(given.encode("utf-8", "surrogateescape"), wanted.encode("utf-8"))


# ---------------------------------------------------------------------------------------------------------------- database

SCHEMA = """
CREATE TABLE IF NOT EXISTS meta(k TEXT PRIMARY KEY, v TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS users(               -- one row per person, under the canonical id
  id TEXT PRIMARY KEY, source TEXT NOT NULL, registered INTEGER NOT NULL DEFAULT 0, platform TEXT,
  created_ms INTEGER NOT NULL, last_seen_ms INTEGER, reconciled_ms INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS aliases(alias TEXT PRIMARY KEY, user TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS aliases_user ON aliases(user);
CREATE TABLE IF NOT EXISTS accounts(uid TEXT PRIMARY KEY, created_ms INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS devices(
  app_user_id TEXT NOT NULL, device_id TEXT NOT NULL, platform TEXT, token_hash TEXT, last_seen_ms INTEGER NOT NULL,
  PRIMARY KEY(app_user_id, device_id));
CREATE TABLE IF NOT EXISTS events(              -- claimed: person the event names; owner: person after all transfers
  id TEXT PRIMARY KEY, type TEXT NOT NULL, ts INTEGER NOT NULL, env TEXT NOT NULL, claimed TEXT, owner TEXT,
  outcome TEXT NOT NULL, body TEXT, received_ms INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS events_owner ON events(owner, env);
CREATE INDEX IF NOT EXISTS events_claimed ON events(claimed);
CREATE TABLE IF NOT EXISTS transfers(
  event_id TEXT NOT NULL, from_user TEXT NOT NULL, to_user TEXT NOT NULL, ts INTEGER NOT NULL, env TEXT,
  PRIMARY KEY(event_id, from_user));
CREATE TABLE IF NOT EXISTS outbox(
  key TEXT PRIMARY KEY, event_id TEXT NOT NULL, user TEXT NOT NULL, payload TEXT NOT NULL, status TEXT NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0, due_ms INTEGER NOT NULL, created_ms INTEGER NOT NULL, result TEXT);
CREATE INDEX IF NOT EXISTS outbox_due ON outbox(status, due_ms);
CREATE TABLE IF NOT EXISTS tombstones(id_hash TEXT PRIMARY KEY, pseudonym TEXT NOT NULL);
"""


def connect() -> sqlite3.Connection:
    db = sqlite3.connect(os.path.join(cfg.data_dir, "backend.db"), timeout=20, isolation_level=None, check_same_thread=False)
    db.row_factory = sqlite3.Row
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=FULL")
    return db


@contextmanager
def transaction():
    """One write transaction. The write lock is taken first, so what is read inside cannot change before the commit."""
    db = connect()
    try:
        db.execute("BEGIN IMMEDIATE")
        yield db
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    finally:
        db.close()


@contextmanager
def reading():
    db = connect()
    try:
        db.execute("BEGIN")
        yield db
    finally:
        db.close()


def prepare_database() -> None:
    os.makedirs(cfg.data_dir, exist_ok=True)
    db = connect()
    db.executescript(SCHEMA)
    db.execute("INSERT OR IGNORE INTO meta VALUES('salt', ?)", (secrets.token_hex(16),))
    db.close()


# ---------------------------------------------------------------------------------------------------------------- identity

BLOCKED_IDS = {"no_user", "null", "none", "nil", "(null)", "NaN", "\x00", "", "unidentified", "undefined", "unknown", "anonymous",
               "guest", "-1", "0", "[]", "{}", "[object Object]", "n/a"}
DELETED = "deleted:"


def valid_id(value: Any) -> bool:
    return (isinstance(value, str) and value not in BLOCKED_IDS and len(value) <= 100 and value == value.strip()
            and "/" not in value and value.isprintable() and not value.startswith(DELETED))


def is_anonymous_id(value: str) -> bool:
    return value.startswith("$RCAnonymousID:")


def id_hash(db: sqlite3.Connection, value: str) -> str:
    salt = db.execute("SELECT v FROM meta WHERE k='salt'").fetchone()[0]
    return hashlib.sha256(f"{salt}:{value}".encode()).hexdigest()


def deleted_as(db: sqlite3.Connection, value: str) -> Optional[str]:
    row = db.execute("SELECT pseudonym FROM tombstones WHERE id_hash=?", (id_hash(db, value),)).fetchone()
    return row[0] if row else None


def canonical(db: sqlite3.Connection, value: str) -> Optional[str]:
    row = db.execute("SELECT user FROM aliases WHERE alias=?", (value,)).fetchone()
    return row[0] if row else deleted_as(db, value)


def has_account(db: sqlite3.Connection, user: str) -> bool:
    return db.execute("SELECT 1 FROM accounts WHERE uid=?", (user,)).fetchone() is not None


def ensure_user(db: sqlite3.Connection, value: str, source: str) -> str:
    known = canonical(db, value)
    if known:
        return known
    db.execute("INSERT INTO users(id, source, created_ms, reconciled_ms) VALUES(?,?,?,?)", (value, source, now_ms(), now_ms()))
    db.execute("INSERT INTO aliases VALUES(?,?)", (value, value))
    return value


def merge(db: sqlite3.Connection, source: str, target: str) -> None:
    """Everything that belongs to person `source` becomes `target`'s; both ids name one person from now on."""
    if source == target:
        return
    old = db.execute("SELECT * FROM users WHERE id=?", (source,)).fetchone()
    if old:
        db.execute("""UPDATE users SET platform=COALESCE(platform, ?), registered=MAX(registered, ?), created_ms=MIN(created_ms, ?),
                      last_seen_ms=MAX(COALESCE(last_seen_ms, 0), ?) WHERE id=?""",
                   (old["platform"], old["registered"], old["created_ms"], old["last_seen_ms"] or 0, target))
        db.execute("DELETE FROM users WHERE id=?", (source,))
    db.execute("UPDATE aliases SET user=? WHERE user=?", (target, source))
    db.execute("UPDATE events SET claimed=? WHERE claimed=?", (target, source))
    db.execute("UPDATE OR REPLACE transfers SET from_user=? WHERE from_user=?", (target, source))
    db.execute("UPDATE transfers SET to_user=? WHERE to_user=?", (target, source))
    db.execute("DELETE FROM transfers WHERE from_user=to_user")
    reassign(db, {target, source})
    db.execute("UPDATE events SET owner=? WHERE owner=?", (target, source))


def link(db: sqlite3.Connection, ids: list[str], source: str) -> Optional[str]:
    """All ids of one RevenueCat customer are one person. Returns the canonical id, or None when no id is usable."""
    ids = list(dict.fromkeys(i for i in ids if valid_id(i)))
    if not ids:
        return None
    gone = {i: p for i in ids if (p := deleted_as(db, i))}
    if gone and (ids[0] in gone or is_anonymous_id(ids[0]) and not canonical(db, ids[0])):
        return next(iter(gone.values()))        # a deleted person stays deleted: no new rows under any of the names
    ids = [i for i in ids if i not in gone]
    people = list(dict.fromkeys(p for p in (canonical(db, i) for i in ids) if p))
    named = [i for i in ids if not is_anonymous_id(i)]
    best = next((p for p in people if has_account(db, p)), None)
    best = best or next((p for p in people if not is_anonymous_id(p)), None) or (named or people or ids)[0]
    best = ensure_user(db, best, source)
    for value in ids:
        person = canonical(db, value)
        if person is None:
            db.execute("INSERT INTO aliases VALUES(?,?)", (value, best))
        elif person != best and not has_account(db, person):    # two signed-in accounts are two people, whatever a body says
            merge(db, person, best)
    return canonical(db, ids[0])


# ---------------------------------------------------------------------------------------------------------------- webhooks

Ms = Annotated[int, Field(le=2 ** 53, ge=-(2 ** 53))]


class Lenient(BaseModel):
    model_config = ConfigDict(extra="allow")


class EventHead(Lenient):
    """What every event has. Anything else is looked at only for the types that this backend acts upon."""
    id: str = Field(min_length=1, max_length=200)
    type: str = Field(min_length=1, max_length=200)

    @model_validator(mode="before")
    @classmethod
    def paywall_events_say_event_id(cls, data: Any) -> Any:
        if isinstance(data, dict) and "id" not in data and "event_id" in data:
            return {**data, "id": data["event_id"]}
        return data


class Webhook(Lenient):
    api_version: Any = None
    event: EventHead


class Event(Lenient):
    id: str
    type: str
    event_timestamp_ms: Optional[Ms] = None
    app_user_id: Optional[str] = None
    original_app_user_id: Optional[str] = None
    aliases: Optional[list[str]] = None
    transferred_from: Optional[list[str]] = None
    transferred_to: Optional[list[str]] = None
    environment: Optional[str] = None
    store: Optional[str] = None
    product_id: Optional[str] = None
    new_product_id: Optional[str] = None
    entitlement_ids: Optional[list[str]] = None
    transaction_id: Optional[str] = None
    original_transaction_id: Optional[str] = None
    period_type: Optional[str] = None
    purchased_at_ms: Optional[Ms] = None
    expiration_at_ms: Optional[Ms] = None
    grace_period_expiration_at_ms: Optional[Ms] = None
    auto_resume_at_ms: Optional[Ms] = None
    cancel_reason: Optional[str] = None
    expiration_reason: Optional[str] = None


# Types that describe a purchase, in the order that breaks ties of equal timestamps.
LIFECYCLE = {name: rank for rank, name in enumerate([
    "TEMPORARY_ENTITLEMENT_GRANT", "PRODUCT_CHANGE", "INITIAL_PURCHASE", "NON_RENEWING_PURCHASE", "RENEWAL", "SUBSCRIPTION_EXTENDED",
    "SUBSCRIPTION_PAUSED", "BILLING_ISSUE", "CANCELLATION", "UNCANCELLATION", "EXPIRATION", "REFUND_REVERSED", "_SYNC", "_GONE"])}
PURCHASE_FIELDS = ("store", "product_id", "new_product_id", "entitlement_ids", "transaction_id", "original_transaction_id", "period_type",
                   "purchased_at_ms", "expiration_at_ms", "grace_period_expiration_at_ms", "auto_resume_at_ms", "cancel_reason",
                   "expiration_reason")


@dataclass
class Sub:
    """One purchase of one product: a subscription, a one-time purchase or a temporary grant."""
    store: str
    txn: str
    product: str
    kind: str = "subscription"
    entitled: bool = False
    expires: Optional[int] = None               # None: never ends
    purchased: int = 0
    start_ts: int = 0                           # event time of the latest purchase or renewal
    renewal_ts: int = 0
    last_ts: int = 0
    period_type: Optional[str] = None
    will_renew: Optional[bool] = None
    cancel_reason: Optional[str] = None
    billing: bool = False
    billing_until: Optional[int] = None
    grace: Optional[int] = None
    refunded: bool = False
    ended: bool = False
    superseded: bool = False
    paused_until: Optional[int] = None
    pending_product: Optional[str] = None
    causes: dict = field(default_factory=dict)  # what -> id of the event that made it so

    def end(self) -> Optional[int]:
        if self.expires is None:
            return None
        return max(self.expires, self.billing_until or 0) if self.billing else self.expires

    def active(self, now: int) -> bool:
        end = self.end()
        return self.entitled and not (self.refunded or self.ended or self.superseded) and (end is None or end > now)


def base_product(product: str) -> str:
    return product.split(":")[0]                # Play: webhooks say subscription:plan, the REST API only subscription


def find_sub(subs: list[Sub], e: dict) -> Optional[Sub]:
    store, product = e.get("store"), e.get("product_id") or ""
    txns = [t for t in (e.get("original_transaction_id"), e.get("transaction_id")) if t]
    for s in subs:
        if store and s.store and store != s.store:
            continue
        if s.product == product and (not txns or not s.txn or s.txn in txns):
            return s
        if s.kind == "temporary" and s.txn in txns:
            return s
    for s in subs:                              # known from the REST API only: the first webhook names its transaction
        if s.txn.startswith("rest:") and s.store == store and base_product(s.product) == base_product(product):
            s.txn, s.product = (txns or [s.txn])[0], product
            return s
    return None


def apply_event(subs: list[Sub], e: dict) -> Optional[Sub]:
    kind, ts = e["type"], e["ts"]
    expires, purchased = e.get("expiration_at_ms"), e.get("purchased_at_ms") or 0
    s = find_sub(subs, e)
    if kind in ("PRODUCT_CHANGE", "_GONE") and s is None:
        return None
    created = s is None
    if created:
        txn = e.get("original_transaction_id") or e.get("transaction_id") or ""
        s = Sub(e.get("store") or "", txn, e.get("product_id") or "", expires=expires, purchased=purchased)
        subs.append(s)
    if kind == "PRODUCT_CHANGE":                # information only: the paired purchase or renewal carries the change
        s.pending_product = e.get("new_product_id")
        return s
    older_period = purchased and s.purchased > purchased and kind in ("CANCELLATION", "EXPIRATION", "BILLING_ISSUE", "UNCANCELLATION")
    if older_period:                            # it speaks about a period that a renewal has replaced
        return s
    if "entitlement_ids" in e and kind != "_GONE":
        s.entitled = cfg.entitlement in (e["entitlement_ids"] or [])
    s.last_ts, s.period_type = ts, e.get("period_type") or s.period_type
    s.purchased = purchased or s.purchased

    if kind in ("INITIAL_PURCHASE", "RENEWAL", "NON_RENEWING_PURCHASE", "TEMPORARY_ENTITLEMENT_GRANT"):
        s.kind = {"NON_RENEWING_PURCHASE": "one_time", "TEMPORARY_ENTITLEMENT_GRANT": "temporary"}.get(kind, "subscription")
        s.expires, s.start_ts = expires, ts
        if kind == "TEMPORARY_ENTITLEMENT_GRANT":
            s.expires = min(expires or ts + 86_400_000, ts + 86_400_000)
        if kind == "RENEWAL":
            s.renewal_ts = ts
        s.product = e.get("product_id") or s.product
        s.will_renew = s.kind == "subscription"
        s.cancel_reason = s.grace = s.billing_until = s.paused_until = s.pending_product = None
        s.billing = s.refunded = s.ended = False
        s.causes = {"start": e["id"]}
    elif kind == "CANCELLATION":
        reason = e.get("cancel_reason") or "UNKNOWN"
        s.cancel_reason = reason
        if reason == "CUSTOMER_SUPPORT":        # refund: access ends now, auto-renew may still be on
            s.refunded, s.will_renew = True, None
            s.causes["refund"] = e["id"]
        else:
            s.will_renew = False
            s.causes["cancel"] = e["id"]
        if expires is not None and reason != "BILLING_ERROR":
            s.expires = expires
    elif kind == "UNCANCELLATION":
        s.will_renew, s.cancel_reason, s.billing, s.grace, s.billing_until = True, None, False, None, None
        s.causes["uncancel"] = e["id"]
        if expires is not None:
            s.expires = expires
    elif kind == "BILLING_ISSUE":               # the period in the body is not paid yet; it only keeps access provisionally
        if not s.billing:
            s.causes["billing"] = e["id"]
        s.billing, s.grace = True, e.get("grace_period_expiration_at_ms")
        s.billing_until = max(expires or 0, s.grace or 0)
    elif kind == "SUBSCRIPTION_PAUSED":         # takes effect with the EXPIRATION at the end of the period
        s.paused_until = e.get("auto_resume_at_ms")
    elif kind == "SUBSCRIPTION_EXTENDED":
        s.expires, s.ended = expires if expires is not None else s.expires, False
    elif kind == "EXPIRATION":                  # wins over any date in the body
        s.ended, s.will_renew, s.billing, s.grace, s.billing_until = True, False, False, None, None
        s.causes["end"] = e["id"]
    elif kind == "REFUND_REVERSED":
        s.refunded, s.ended, s.expires, s.cancel_reason = False, False, expires, None
    elif kind == "_SYNC":                       # RevenueCat's REST answer about this product
        s.expires, s.grace, s.billing_until = expires, e.get("grace_period_expiration_at_ms"), e.get("grace_period_expiration_at_ms")
        s.billing, s.will_renew, s.refunded, s.ended = e["billing"], e["will_renew"], e["refunded"], False
        s.kind = e["kind"]
    elif kind == "_GONE":                       # RevenueCat no longer lists this product for the customer
        s.ended = True
    return s


def fold(db: sqlite3.Connection, user: str, environment: str) -> tuple[list[Sub], dict[str, Sub]]:
    rows = db.execute("SELECT id, type, ts, body FROM events WHERE owner=? AND env=? AND body IS NOT NULL", (user, environment))
    events = [{**json.loads(r["body"]), "id": r["id"], "type": r["type"], "ts": r["ts"]} for r in rows]
    events.sort(key=lambda e: (e["ts"], LIFECYCLE[e["type"]], e["id"]))
    subs: list[Sub] = []
    touched = {}
    for e in events:
        sub = apply_event(subs, e)
        if sub:
            touched[e["id"]] = sub
    for s in subs:                              # a renewal into another product of the chain, or the real purchase after a grant
        s.superseded = any(o is not s and o.store == s.store and (
            (o.txn == s.txn and s.txn and s.kind == o.kind == "subscription" and o.renewal_ts > (s.start_ts or s.purchased))
            or (s.kind == "temporary" and o.kind == "subscription" and o.start_ts > s.start_ts)) for o in subs)
    return subs, touched


def current(subs: list[Sub], now: int) -> Optional[Sub]:
    """The purchase that the app should show: the active one that lasts longest, else the latest."""
    live = [s for s in subs if s.active(now)]
    if live:
        return max(live, key=lambda s: (s.end() is None, s.end() or 0))
    return max((s for s in subs if s.entitled), key=lambda s: (not s.superseded, s.last_ts), default=None)


def resolve_owner(transfers: list[sqlite3.Row], user: str, ts: int, environment: str) -> str:
    """Follow the transfers that happened after `ts`, in their own order."""
    position = (ts, "")
    for t in transfers:
        if t["from_user"] == user and (t["ts"], t["event_id"]) >= position and t["env"] in (None, environment):
            user, position = t["to_user"], (t["ts"], t["event_id"] + "\0")
    return user


def all_transfers(db: sqlite3.Connection, users: set[str]) -> tuple[list[sqlite3.Row], set[str]]:
    """Transfers that touch these people directly or through others, by time, and all the people concerned."""
    seen, todo, found = set(users), list(users), {}
    while todo:
        user = todo.pop()
        for t in db.execute("SELECT * FROM transfers WHERE from_user=? OR to_user=?", (user, user)):
            found[(t["event_id"], t["from_user"])] = t
            for other in (t["from_user"], t["to_user"]):
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
    return sorted(found.values(), key=lambda t: (t["ts"], t["event_id"])), seen


def reassign(db: sqlite3.Connection, users: set[str]) -> None:
    transfers, people = all_transfers(db, users)
    for person in people:
        for e in db.execute("SELECT id, ts, env, claimed, owner FROM events WHERE claimed=?", (person,)).fetchall():
            owner = resolve_owner(transfers, e["claimed"], e["ts"], e["env"])
            if owner != e["owner"]:
                db.execute("UPDATE events SET owner=? WHERE id=?", (owner, e["id"]))


def handle_event(head: EventHead) -> str:
    with transaction() as db:
        received = now_ms()
        inserted = db.execute("INSERT OR IGNORE INTO events(id, type, ts, env, outcome, received_ms) VALUES(?,?,?,?,?,?)",
                              (head.id, head.type, 0, "", "ignored", received)).rowcount
        if not inserted:
            return "duplicate"
        if head.type not in LIFECYCLE and head.type not in ("TRANSFER", "SUBSCRIBER_ALIAS") or head.type.startswith("_"):
            return "ignored"
        try:
            event = Event.model_validate(head.model_dump())
        except ValidationError as error:
            raise RequestValidationError(error.errors()) from None
        ts = event.event_timestamp_ms if event.event_timestamp_ms is not None else received
        if event.type == "TRANSFER":
            outcome = handle_transfer(db, event, ts)
        else:
            outcome = handle_lifecycle(db, event, ts)
        db.execute("UPDATE events SET ts=?, outcome=? WHERE id=?", (ts, outcome, event.id))
        return outcome


def handle_transfer(db: sqlite3.Connection, event: Event, ts: int) -> str:
    target = link(db, event.transferred_to or [], "webhook_safety_net")
    if target is None:
        return "ignored"
    sources = {ensure_user(db, i, "webhook_safety_net") for i in event.transferred_from or [] if valid_id(i)} - {target}
    for source in sources:
        db.execute("INSERT OR IGNORE INTO transfers VALUES(?,?,?,?,?)", (event.id, source, target, ts, event.environment))
    reassign(db, sources | {target})
    return "transferred"


def handle_lifecycle(db: sqlite3.Connection, event: Event, ts: int) -> str:
    ids = [event.app_user_id, event.original_app_user_id, *(event.aliases or [])]
    user = link(db, [i for i in ids if i], "webhook_safety_net")
    if user is None:
        return "no_usable_user"
    if event.type == "SUBSCRIBER_ALIAS":
        return "linked"
    environment = event.environment or "PRODUCTION"
    given = event.model_dump(include=event.model_fields_set & set(PURCHASE_FIELDS))
    owner = resolve_owner(all_transfers(db, {user})[0], user, ts, environment)
    db.execute("UPDATE events SET ts=?, env=?, claimed=?, owner=?, body=? WHERE id=?",
               (ts, environment, user, owner, json.dumps(given), event.id))
    if environment == "PRODUCTION":
        plan_push(db, event, owner)
    return "applied"


# ---------------------------------------------------------------------------------------------------------------- pushes

TEXTS = {
    "purchase": ("Welcome", "Your premium access is active. Thank you!"),
    "renewal": ("Renewed", "Your premium subscription has been renewed."),
    "cancellation": ("Subscription cancelled", "It will not renew. You keep access until the end of the current period."),
    "reactivated": ("Welcome back", "Your premium subscription will renew again."),
    "billing_issue": ("Payment problem", "We could not charge you. Please update your payment method to keep premium."),
    "billing_lost": ("Payment problem", "We could not charge you. Please update your payment method to get premium back."),
    "expiration": ("Subscription ended", "Your premium access has ended."),
    "paused": ("Subscription paused", "Your subscription is paused, and premium access with it."),
    "refund": ("Refund", "Your purchase was refunded and premium access has ended."),
    "refund_other": ("Refund", "One of your purchases was refunded."),
}


def push_kind(event: Event, s: Sub, access: bool, now: int) -> Optional[str]:
    """What to tell, judged by the state after the event: an event that newer ones made untrue says nothing."""
    made = {what for what, cause in s.causes.items() if cause == event.id}
    if event.type in ("INITIAL_PURCHASE", "RENEWAL") and "start" in made and s.active(now) and not s.billing:
        return "purchase" if event.type == "INITIAL_PURCHASE" else "renewal"
    if event.type == "UNCANCELLATION" and "uncancel" in made and s.will_renew and s.active(now):
        return "reactivated"
    if event.type == "BILLING_ISSUE" and "billing" in made and s.billing and not s.refunded:
        return "billing_issue" if s.active(now) else "billing_lost"
    if event.type == "CANCELLATION" and "refund" in made and s.refunded:
        return "refund_other" if access else "refund"
    if event.type == "CANCELLATION" and "cancel" in made and s.will_renew is False and s.active(now):
        return None if s.cancel_reason == "BILLING_ERROR" else "cancellation"    # BILLING_ISSUE announces that one
    if event.type == "EXPIRATION" and "end" in made and s.ended and not access:
        if s.refunded or event.expiration_reason == "CUSTOMER_SUPPORT":          # the refund was announced
            return None
        return "paused" if event.expiration_reason == "SUBSCRIPTION_PAUSED" else "expiration"
    return None


def plan_push(db: sqlite3.Connection, event: Event, owner: str) -> None:
    if not (cfg.onesignal_app and cfg.onesignal_key) or owner.startswith(DELETED):
        return
    subs, touched = fold(db, owner, "PRODUCTION")
    s, now = touched.get(event.id), now_ms()
    if s is None or not s.entitled:
        return
    kind = push_kind(event, s, any(x.active(now) for x in subs), now)
    if kind is None:
        return
    incident = f"{owner}|{s.store}|{s.txn}|{s.product}|{s.start_ts}" if event.type == "BILLING_ISSUE" else event.id
    title, text = TEXTS[kind]
    payload = {"app_id": cfg.onesignal_app, "include_aliases": {"external_id": [owner]}, "target_channel": "push",
               "idempotency_key": str(uuid.uuid5(uuid.NAMESPACE_URL, f"push:{event.id}")),
               "headings": {"en": title}, "contents": {"en": text}, "data": {"type": event.type}}
    db.execute("INSERT OR IGNORE INTO outbox(key, event_id, user, payload, status, due_ms, created_ms) VALUES(?,?,?,?,?,?,?)",
               (f"{event.type}|{incident}", event.id, owner, json.dumps(payload), "pending", now, now))


MAX_ATTEMPTS = 10


async def send_push(client: httpx.AsyncClient, row: sqlite3.Row) -> tuple[str, int, str]:
    """Returns the new status, the delay in ms before the next attempt, and a note."""
    backoff = min(1000 * 2 ** row["attempts"], 600_000)
    try:
        answer = await client.post(cfg.onesignal_url + "/notifications", json=json.loads(row["payload"]),
                                   headers={"Authorization": f"Key {cfg.onesignal_key}"})
    except httpx.HTTPError as error:
        return "pending", backoff, type(error).__name__
    code = answer.status_code
    if code == 429 or code >= 500:
        wait = answer.headers.get("retry-after", "")
        return "pending", max(backoff, int(wait) * 1000 if wait.isdigit() else 0), f"http {code}"
    if code >= 300:
        return "failed", 0, f"http {code}"      # 400, 403, 404: the same request cannot succeed later
    try:
        body = answer.json()
    except ValueError:
        body = None
    body = body if isinstance(body, dict) else {}
    errors = body.get("errors")
    if not body.get("id") or (isinstance(errors, dict) and errors.get("invalid_aliases")):
        return "undelivered", 0, "no reachable recipient"
    return "sent", 0, str(body["id"])


def record_attempt(key: str, status: str, delay: int, note: str) -> None:
    with transaction() as db:
        row = db.execute("SELECT attempts FROM outbox WHERE key=?", (key,)).fetchone()
        if row and status == "pending" and row["attempts"] + 1 >= MAX_ATTEMPTS:
            status = "failed"
        db.execute("UPDATE outbox SET status=?, attempts=attempts+1, due_ms=?, result=? WHERE key=?",
                   (status, now_ms() + delay, note, key))


def due_pushes() -> list[sqlite3.Row]:
    with reading() as db:
        return db.execute("SELECT * FROM outbox WHERE status='pending' AND due_ms<=? ORDER BY created_ms LIMIT 20",
                          (now_ms(),)).fetchall()


async def drain_outbox() -> None:
    """Sends each due push. Several go out at once, so one slow answer does not hold up the others for long."""
    in_flight: set[str] = set()

    async def attempt(client: httpx.AsyncClient, row: sqlite3.Row) -> None:
        try:
            status, delay, note = await send_push(client, row)
            await asyncio.to_thread(record_attempt, row["key"], status, delay, note)
        except Exception:
            log.exception("push attempt not recorded")
        finally:
            in_flight.discard(row["key"])

    async with httpx.AsyncClient(timeout=20) as client:
        tasks: set[asyncio.Task] = set()
        while True:
            try:
                for row in await asyncio.to_thread(due_pushes):
                    if row["key"] not in in_flight:
                        in_flight.add(row["key"])
                        task = asyncio.create_task(attempt(client, row))
                        tasks.add(task)
                        task.add_done_callback(tasks.discard)
            except sqlite3.Error:
                log.exception("outbox not readable")
            await asyncio.sleep(0.2)


# ---------------------------------------------------------------------------------------------------------------- reconciliation

def iso_ms(value: Optional[str]) -> Optional[int]:
    return round(datetime.fromisoformat(value).timestamp() * 1000) if value else None


def later(a: Optional[int], b: Optional[int]) -> Optional[int]:
    return max(x for x in (a, b) if x is not None) if a is not None or b is not None else None


def reconcile(user: str) -> None:
    """RevenueCat's REST answer outvotes everything that happened before it; newer events stay."""
    with reading() as db:
        names = [r[0] for r in db.execute("SELECT alias FROM aliases WHERE user=?", (user,))]
    answers = []
    with httpx.Client(timeout=20, headers={"Authorization": f"Bearer {cfg.revenuecat_key}"}) as client:
        for name in names:
            answer = client.get(f"{cfg.revenuecat_url}/v1/subscribers/{quote(name, safe='')}")
            answer.raise_for_status()
            answers.append(answer.json())
    at = min((a.get("request_date_ms") or now_ms()) for a in answers)
    items: dict[tuple[str, str], dict] = {}
    for subscriber in (a["subscriber"] for a in answers):
        given = (subscriber.get("entitlements") or {}).get(cfg.entitlement)
        listed = [(p, s, "subscription") for p, s in (subscriber.get("subscriptions") or {}).items()]
        listed += [(p, s, "one_time") for p, many in (subscriber.get("non_subscriptions") or {}).items() for s in many]
        for product, s, kind in listed:
            entitled = bool(given) and given.get("product_identifier") == product
            expires, grace = iso_ms(s.get("expires_date")), iso_ms(s.get("grace_period_expires_date"))
            if entitled:
                expires = None if given.get("expires_date") is None else later(expires, iso_ms(given["expires_date"]))
                grace = later(grace, iso_ms(given.get("grace_period_expires_date")))
            items[(product, s.get("store_transaction_id") or "" if kind == "one_time" else "")] = {
                "environment": "SANDBOX" if s.get("is_sandbox") else "PRODUCTION", "kind": kind, "product_id": product,
                "store": (s.get("store") or "").upper(), "expiration_at_ms": expires, "grace_period_expiration_at_ms": grace,
                "purchased_at_ms": iso_ms(s.get("purchase_date")), "entitlement_ids": [cfg.entitlement] if entitled else [],
                "will_renew": kind == "subscription" and not s.get("unsubscribe_detected_at"), "refunded": bool(s.get("refunded_at")),
                "billing": bool(s.get("billing_issues_detected_at") or (grace and grace > at)),
                "transaction_id": s.get("store_transaction_id") if kind == "one_time" else None}
    with transaction() as db:
        if canonical(db, user) != user:
            return                              # merged or deleted meanwhile
        for environment in ("PRODUCTION", "SANDBOX"):
            subs, _ = fold(db, user, environment)
            open_subs = list(subs)
            for item in (i for i in items.values() if i["environment"] == environment):
                match = [s for s in open_subs if s.store in ("", item["store"]) and base_product(s.product) == base_product(item["product_id"])
                         and (item["kind"] == "subscription" or not item["transaction_id"] or s.txn == item["transaction_id"])]
                s = max(match, key=lambda x: (x.start_ts, x.last_ts), default=None)
                if s:
                    open_subs.remove(s)
                    if s.last_ts > at:
                        continue
                    item = {**item, "product_id": s.product, "store": s.store, "original_transaction_id": s.txn, "transaction_id": None}
                else:
                    item["transaction_id"] = item["transaction_id"] or "rest:" + item["product_id"]
                store_sync(db, user, environment, "_SYNC", at, item)
            for s in open_subs:
                if s.last_ts <= at and not s.ended:
                    store_sync(db, user, environment, "_GONE", at, {"store": s.store, "product_id": s.product, "original_transaction_id": s.txn})
        db.execute("UPDATE users SET reconciled_ms=? WHERE id=?", (now_ms(), user))


def store_sync(db: sqlite3.Connection, user: str, environment: str, kind: str, at: int, body: dict) -> None:
    txn = body.get("original_transaction_id") or body.get("transaction_id")
    name = f"sync|{user}|{environment}|{body['store']}|{txn}|{body['product_id']}"
    db.execute("INSERT OR REPLACE INTO events VALUES(?,?,?,?,?,?,?,?,?)",
               (name, kind, at, environment, user, user, "reconciled", json.dumps(body), now_ms()))


async def reconcile_periodically() -> None:
    while True:
        await asyncio.sleep(30)
        try:
            with reading() as db:
                due = [r[0] for r in db.execute("SELECT id FROM users WHERE reconciled_ms<? ORDER BY reconciled_ms LIMIT 20",
                                                (now_ms() - int(cfg.reconcile_hours * 3_600_000),))]
            for user in due:
                await asyncio.to_thread(reconcile, user)
        except Exception as error:
            log.warning("reconciliation postponed: %s", type(error).__name__)


# ---------------------------------------------------------------------------------------------------------------- Firebase ID tokens

class KeysUnavailable(Exception):
    pass


class GoogleKeys:
    """Google's public keys, cached for max-age; an unknown kid causes one refetch, at most every few seconds."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.keys: dict[str, Any] = {}
        self.fresh_until = 0.0
        self.refetches: list[float] = []
        self.unknown: dict[str, float] = {}

    def fetch(self) -> None:
        try:
            answer = httpx.get(cfg.firebase_keys_url, timeout=10)
            answer.raise_for_status()
            body = answer.json()
            if "keys" in body:
                keys = {k["kid"]: jwt.PyJWK(k, algorithm="RS256").key for k in body["keys"]}
            else:
                keys = {kid: load_pem_x509_certificate(pem.encode()).public_key() for kid, pem in body.items()}
        except Exception as error:
            raise KeysUnavailable(type(error).__name__) from error
        age = re.search(r"max-age=(\d+)", answer.headers.get("cache-control", ""))
        self.keys, self.fresh_until = keys, time.monotonic() + (int(age[1]) if age else 300)

    def get(self, kid: str) -> Optional[Any]:
        with self.lock:
            now, fetched = time.monotonic(), False
            if now >= self.fresh_until:
                try:
                    self.fetch()
                    fetched = True
                except KeysUnavailable:
                    if kid not in self.keys:    # a key verified earlier still proves signatures
                        raise
            if kid not in self.keys and not fetched and self.may_refetch(kid, now):
                self.fetch()
            return self.keys.get(kid)

    def may_refetch(self, kid: str, now: float) -> bool:
        self.unknown = {k: t for k, t in self.unknown.items() if now - t < 30}
        self.refetches = [t for t in self.refetches if now - t < 60]
        if kid in self.unknown or len(self.refetches) >= 20:
            return False
        self.unknown[kid] = now
        self.refetches.append(now)
        return True


google_keys = GoogleKeys()
SKEW_SECONDS = 60


def verify_id_token(token: str) -> dict:
    """Returns the claims, or raises ValueError for any token that is not a valid ID token of this project."""
    try:
        head = jwt.get_unverified_header(token)
        if head.get("alg") != "RS256" or not isinstance(head.get("kid"), str):
            raise ValueError("algorithm or key id")
        key = google_keys.get(head["kid"])
        if key is None:
            raise ValueError("unknown key id")
        claims = jwt.decode(token, key, algorithms=["RS256"], audience=cfg.firebase_project,
                            issuer=f"https://securetoken.google.com/{cfg.firebase_project}",
                            options={"require": ["exp", "iat", "aud", "iss", "sub"], "verify_iat": False})
    except (jwt.PyJWTError, TypeError, OverflowError, RecursionError, AttributeError) as error:
        raise ValueError(str(error)) from None
    subject = claims.get("sub")
    if claims.get("aud") != cfg.firebase_project or not isinstance(subject, str) or not 1 <= len(subject) <= 128:
        raise ValueError("audience or subject")
    for name in ("iat", "auth_time"):
        value = claims.get(name)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value > time.time() + SKEW_SECONDS:
            raise ValueError(name)
    return claims


def signed_in(authorization: Annotated[Optional[str], Header()] = None) -> dict:
    if not cfg.firebase_project:
        raise HTTPException(503, {"code": "firebase_not_configured"})
    scheme, _, token = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise HTTPException(401, {"code": "missing_token"}, {"WWW-Authenticate": "Bearer"})
    try:
        return verify_id_token(token.strip())
    except KeysUnavailable:
        raise HTTPException(503, {"code": "keys_unavailable"}) from None
    except ValueError:
        raise HTTPException(401, {"code": "invalid_token"}, {"WWW-Authenticate": "Bearer"}) from None


SignedIn = Annotated[dict, Depends(signed_in)]


# ---------------------------------------------------------------------------------------------------------------- routes

class SecretFirstRoute(APIRoute):
    """Checks the webhook secret before the body is even parsed."""

    def get_route_handler(self):
        handler = super().get_route_handler()

        async def checked(request: Request):
            if not same_secret(request.headers.get("authorization", ""), cfg.webhook_secret):
                return JSONResponse({"detail": {"code": "unauthorized"}}, 401)
            return await handler(request)
        return checked


webhooks = APIRouter(route_class=SecretFirstRoute)
api = APIRouter(prefix="/v1")


@webhooks.post("/webhooks/revenuecat")
def revenuecat_webhook(body: Webhook) -> dict:
    return {"status": handle_event(body.event)}


class RegisterBody(Lenient):
    app_user_id: str = Field(validation_alias=AliasChoices("appUserId", "app_user_id"))
    device_id: Optional[str] = Field(None, validation_alias=AliasChoices("deviceId", "device_id"))
    platform: Optional[str] = Field(None, max_length=50)
    source: Optional[str] = Field(None, max_length=50)


class LoginBody(Lenient):
    current_app_user_id: str = Field(validation_alias=AliasChoices("currentAppUserId", "current_app_user_id"))
    device_token: Optional[str] = Field(None, validation_alias=AliasChoices("deviceToken", "device_token"))


def require_id(value: str, code: str = "invalid_app_user_id") -> None:
    if not valid_id(value):
        raise HTTPException(400, {"code": code})


def token_hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


@api.post("/register")
def register(body: RegisterBody) -> dict:
    require_id(body.app_user_id)
    if body.device_id is not None:
        require_id(body.device_id, "invalid_device_id")
    token = None
    with transaction() as db:
        if deleted_as(db, body.app_user_id):
            raise HTTPException(410, {"code": "account_deleted"})
        now = now_ms()
        user = ensure_user(db, body.app_user_id, body.source or "register")
        db.execute("UPDATE users SET registered=1, last_seen_ms=MAX(COALESCE(last_seen_ms, 0), ?), platform=COALESCE(platform, ?) WHERE id=?",
                   (now, body.platform, user))
        if body.device_id:
            if not db.execute("SELECT 1 FROM devices WHERE app_user_id=?", (body.app_user_id,)).fetchone():
                token = secrets.token_urlsafe(24)               # the first device alone can prove later that the id is its own
            db.execute("""INSERT INTO devices VALUES(?,?,?,?,?) ON CONFLICT DO UPDATE
                          SET platform=COALESCE(excluded.platform, platform), last_seen_ms=MAX(last_seen_ms, excluded.last_seen_ms)""",
                       (body.app_user_id, body.device_id, body.platform, token and token_hash(token), now))
        answer = {"ok": True, "appUserId": body.app_user_id}
        return {**answer, "deviceToken": token} if token else answer


failures: dict[str, list[float]] = {}


def login_throttle(request: Request) -> str:
    address = request.client.host if request.client else ""
    recent = [t for t in failures.get(address, []) if t > time.monotonic() - 60]
    failures[address] = recent
    if len(recent) >= 60:
        raise HTTPException(429, {"code": "too_many_attempts"}, {"Retry-After": "60"})
    return address


def login_identity(request: Request, address: Annotated[str, Depends(login_throttle)]) -> dict:
    try:
        return signed_in(request.headers.get("authorization"))
    except HTTPException as error:
        if error.status_code == 401:
            failures[address].append(time.monotonic())
        raise


@api.post("/login")
def login(body: LoginBody, claims: Annotated[dict, Depends(login_identity)]) -> dict:
    if (claims.get("firebase") or {}).get("sign_in_provider") == "anonymous":
        raise HTTPException(403, {"code": "account_required"})
    uid, device_id = claims["sub"], body.current_app_user_id
    require_id(uid, "invalid_uid")
    require_id(device_id)
    with transaction() as db:
        if deleted_as(db, uid) or deleted_as(db, device_id):
            raise HTTPException(410, {"code": "account_deleted"})
        known = has_account(db, uid)
        person = canonical(db, device_id)
        if person is None and device_id != uid:
            raise HTTPException(409, {"code": "unknown_app_user_id"})
        if person is not None and has_account(db, person) and person != uid:
            raise HTTPException(409, {"code": "already_claimed"})
        if person is not None and person != uid and not (device_id == uid or owns(db, device_id, body.device_token)):
            raise HTTPException(409, {"code": "not_proven"})
        action = "current" if known and person == uid else "recovered" if known else "claimed"
        ensure_user(db, uid, "login")
        if canonical(db, uid) != uid:                           # an alias so far: the account's own id becomes canonical
            previous = canonical(db, uid)
            if has_account(db, previous):
                raise HTTPException(409, {"code": "already_claimed"})
            db.execute("INSERT INTO users(id, source, created_ms, reconciled_ms) VALUES(?,?,?,?)", (uid, "login", now_ms(), now_ms()))
            merge(db, previous, uid)
        if person is not None and canonical(db, device_id) != uid:
            merge(db, canonical(db, device_id), uid)
        db.execute("INSERT OR IGNORE INTO accounts VALUES(?,?)", (uid, now_ms()))
        db.execute("UPDATE users SET registered=1, last_seen_ms=? WHERE id=?", (now_ms(), uid))
    return {"action": action, "appUserId": uid}


def owns(db: sqlite3.Connection, app_user_id: str, token: Optional[str]) -> bool:
    """An id that a device registered needs that device's token; one registered without a device is itself the secret."""
    devices = db.execute("SELECT token_hash FROM devices WHERE app_user_id=?", (app_user_id,)).fetchall()
    if devices:
        return bool(token) and any(d["token_hash"] and same_secret(token_hash(token), d["token_hash"]) for d in devices)
    user = db.execute("SELECT registered FROM users WHERE id=?", (canonical(db, app_user_id),)).fetchone()
    return is_anonymous_id(app_user_id) or bool(user and user["registered"])


def iso(ms: Optional[int]) -> Optional[str]:
    try:
        return datetime.fromtimestamp(ms / 1000, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z") if ms is not None else None
    except (ValueError, OverflowError, OSError):
        return None


def status_of(db: sqlite3.Connection, app_user_id: str) -> dict:
    now = now_ms()
    user = canonical(db, app_user_id)
    if user is None or user.startswith(DELETED):
        return {"appUserId": app_user_id, "known": False, "access": False, "sandboxAccess": False, "subscription": None, "user": None}
    row = db.execute("SELECT * FROM users WHERE id=?", (user,)).fetchone()
    subs, _ = fold(db, user, "PRODUCTION")
    sandbox, _ = fold(db, user, "SANDBOX")
    s = current(subs, now)
    return {
        "appUserId": app_user_id, "known": True, "access": bool(s and s.active(now)),
        "sandboxAccess": any(x.active(now) for x in sandbox),
        "subscription": s and {
            "productId": s.product, "pendingProductId": s.pending_product, "store": s.store, "periodType": s.period_type, "kind": s.kind,
            "expiresAtMs": s.expires, "expiresAt": iso(s.expires), "accessUntilMs": s.end(), "lifetime": s.expires is None,
            "gracePeriodExpiresAtMs": s.grace, "willRenew": s.will_renew, "cancelReason": s.cancel_reason,
            "billingIssue": s.billing or (s.cancel_reason == "BILLING_ERROR" and not s.ended), "refunded": s.refunded, "ended": s.ended,
            "pausedUntilMs": s.paused_until},
        "user": {"source": row["source"], "registered": bool(row["registered"]), "isAnonymous": not has_account(db, user),
                 "platform": row["platform"], "createdAtMs": row["created_ms"], "lastSeenMs": row["last_seen_ms"]},
    }


@api.get("/status")
def status(app_user_id: Annotated[str, Query(alias="appUserId")]) -> dict:
    require_id(app_user_id)
    with reading() as db:
        return status_of(db, app_user_id)


@api.get("/me")
def me(claims: SignedIn) -> dict:
    with reading() as db:
        if deleted_as(db, claims["sub"]):
            raise HTTPException(410, {"code": "account_deleted"})
        return {"uid": claims["sub"], "email": claims.get("email"), **status_of(db, claims["sub"])}


@api.delete("/me")
def delete_me(claims: SignedIn) -> dict:
    """Removes the person. The store subscription goes on: it stays under a pseudonym, so that a later transfer can move it."""
    uid = claims["sub"]
    with transaction() as db:
        user = canonical(db, uid)
        if user is not None and not user.startswith(DELETED) and (user == uid or not has_account(db, user)):
            pseudonym = DELETED + secrets.token_hex(16)
            names = [r[0] for r in db.execute("SELECT alias FROM aliases WHERE user=?", (user,))]
            for name in {*names, uid}:
                db.execute("INSERT OR REPLACE INTO tombstones VALUES(?,?)", (id_hash(db, name), pseudonym))
                db.execute("DELETE FROM devices WHERE app_user_id=?", (name,))
            for table, column in (("events", "claimed"), ("events", "owner"), ("transfers", "from_user"), ("transfers", "to_user")):
                db.execute(f"UPDATE {table} SET {column}=? WHERE {column}=?", (pseudonym, user))
            db.execute("UPDATE OR REPLACE events SET id='sync|' || hex(randomblob(16)) WHERE claimed=? AND id LIKE 'sync|%'", (pseudonym,))
            db.execute("DELETE FROM outbox WHERE user=?", (user,))
            db.execute("DELETE FROM aliases WHERE user=?", (user,))
            db.execute("DELETE FROM accounts WHERE uid=?", (user,))
            db.execute("DELETE FROM users WHERE id=?", (user,))
    return {"deleted": True, "storeSubscriptionCancelled": False}


class ReconcileBody(Lenient):
    app_user_id: str = Field(validation_alias=AliasChoices("appUserId", "app_user_id"))


def admin(authorization: Annotated[Optional[str], Header()] = None) -> None:
    if not same_secret((authorization or "").removeprefix("Bearer "), cfg.admin_token):
        raise HTTPException(401, {"code": "unauthorized"})


@api.post("/admin/reconcile", dependencies=[Depends(admin)])
def reconcile_now(body: ReconcileBody) -> dict:
    require_id(body.app_user_id)
    if not cfg.revenuecat_key:
        raise HTTPException(503, {"code": "revenuecat_not_configured"})
    with reading() as db:
        user = canonical(db, body.app_user_id)
    if user is None or user.startswith(DELETED):
        raise HTTPException(404, {"code": "unknown_app_user_id"})
    try:
        reconcile(user)
    except (httpx.HTTPError, ValueError, KeyError):
        raise HTTPException(502, {"code": "revenuecat_unavailable"}) from None
    with reading() as db:
        return status_of(db, body.app_user_id)


@asynccontextmanager
async def lifespan(_: FastAPI):
    tasks = [asyncio.create_task(drain_outbox())]
    if cfg.revenuecat_key:
        tasks.append(asyncio.create_task(reconcile_periodically()))
    yield
    for task in tasks:
        task.cancel()


app = FastAPI(title="Subscription backend", lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
app.include_router(webhooks)
app.include_router(api)


@app.get("/healthz")
def healthz() -> dict:
    with reading() as db:
        db.execute("SELECT 1 FROM meta").fetchone()
    return {"ok": True}


@app.exception_handler(RequestValidationError)
def malformed(_: Request, error: RequestValidationError) -> JSONResponse:
    """FastAPI's 422, without echoing what was sent."""
    return JSONResponse({"detail": [{"loc": list(e.get("loc", ())), "type": e.get("type")} for e in error.errors()]}, 422)


@app.exception_handler(sqlite3.Error)
def database_down(_: Request, error: sqlite3.Error) -> JSONResponse:
    log.error("database: %s", error)
    return JSONResponse({"detail": {"code": "temporarily_unavailable"}}, 503)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", default=cfg.data_dir)
    parser.add_argument("--port", type=int, default=cfg.port)
    args = parser.parse_args()
    cfg.data_dir, cfg.port = args.data_dir, args.port
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    if not cfg.webhook_secret:
        sys.exit("RC_WEBHOOK_AUTH is not set: refusing to start, because anybody could grant access")
    prepare_database()
    uvicorn.run(app, host="127.0.0.1", port=cfg.port, log_level="warning", access_log=False)


if __name__ == "__main__":
    main()
