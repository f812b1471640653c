'use strict';
/*
 * Subscription backend: RevenueCat webhooks in, OneSignal pushes out, access for the app.
 *
 * A webhook is only a hint that something changed. Whether somebody has access is read from RevenueCat's REST API v2
 * after each webhook and never from the body of the webhook. The body tells us who is concerned (ids) and which
 * sentence to push; the push itself is worded, or withheld, after the re-fetch.
 *
 * Storage: Node 20 has no SQLite, so every change is one line of an append-only journal, written and fsynced before the
 * request is answered. One line is one transaction. The whole state is in memory and is rebuilt from the journal.
 */
const http = require('node:http');
const fs = require('node:fs');
const path = require('node:path');
const crypto = require('node:crypto');

// ------------------------------------------------------------------------------------------------ configuration
const env = process.env;
const arg = (name) => {
  const i = process.argv.indexOf('--' + name);
  return i > 0 ? process.argv[i + 1] : undefined;
};
const trimUrl = (url) => url.replace(/\/+$/, '');
const CFG = {
  port: Number(arg('port') ?? env.PORT ?? 8080),
  dataDir: arg('data') ?? env.DATA_DIR ?? './data',
  webhookAuth: env.REVENUECAT_WEBHOOK_AUTH ?? '',
  webhookHmac: env.REVENUECAT_WEBHOOK_SIGNING_SECRET ?? '',
  rcBase: trimUrl(env.REVENUECAT_BASE_URL || 'https://api.revenuecat.com').replace(/\/v2$/, ''),
  rcProject: env.REVENUECAT_PROJECT_ID ?? '',
  rcKey: env.REVENUECAT_SECRET_KEY ?? '',
  entitlement: env.ENTITLEMENT_LOOKUP_KEY ?? '',
  osBase: trimUrl(env.ONESIGNAL_BASE_URL || 'https://api.onesignal.com'),
  osApp: env.ONESIGNAL_APP_ID ?? '',
  osKey: env.ONESIGNAL_API_KEY ?? '',
  keysUrl: env.FIREBASE_KEYS_URL || 'https://www.googleapis.com/robot/v1/metadata/x509/securetoken@system.gserviceaccount.com',
  fbProject: env.FIREBASE_PROJECT_ID ?? '',
  adminSecret: env.ADMIN_SECRET ?? '',
  reconcileMs: Number(env.RECONCILE_SECONDS || 3600) * 1000,
  followUps: (env.REFRESH_FOLLOWUP_SECONDS || '2,10,60,300').split(',').map((s) => Number(s) * 1000),
};
const FETCH_TIMEOUT = 20_000; // one REST call to RevenueCat or Google
const PUSH_TIMEOUT = 30_000; // one call to OneSignal
const ANSWER_WAIT = 2_500; // how long an answer may wait for a re-fetch; the work goes on afterwards
const EVENT_TTL = 60 * 86_400_000; // RevenueCat retries for 155 minutes, people press "resend" much later
const PUSH_TTL = 86_400_000; // nobody wants yesterday's news
const MAX_PUSH_ATTEMPTS = 12;
const CLOCK_SKEW = 60; // seconds, for iat and auth_time of an ID token

const log = (level, message, extra = {}) =>
  process.stderr.write(JSON.stringify({ at: new Date().toISOString(), level, message, ...extra }) + '\n');
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const within = (promise, ms) => Promise.race([promise, sleep(ms)]);
const sha256 = (text) => crypto.createHash('sha256').update(text).digest('hex');
const sameSecret = (a, b) =>
  crypto.timingSafeEqual(crypto.createHash('sha256').update(a).digest(), crypto.createHash('sha256').update(b).digest());

// --------------------------------------------------------------------------------------------------- the journal
/*
 * users    id -> {id, createdAt, lastSeenAt, registered, source, platform, deviceId, tokenHash, account,
 *                 linked: [{id, at}], aliases: [id], snapshot, seq, refresh: {at, step, fails} | null}
 *          `linked` are ids that the person signed in from; `aliases` are names RevenueCat uses for the same customer.
 * notices  event id -> {eventId, userId, kind, reason}: a push that waits for the re-fetch
 * pushes   event id -> {eventId, userId, title, body, attempts, nextAt, createdAt, state, ...}: the outbox
 */
class Store {
  constructor(dir) {
    fs.mkdirSync(dir, { recursive: true });
    this.file = path.join(dir, 'journal.jsonl');
    this.dir = dir;
    this.users = new Map();
    this.index = new Map(); // every id of a person -> id of the user
    this.events = new Map(); // event id -> time of arrival
    this.latest = new Map(); // subscription -> event_timestamp_ms of the newest event, to recognise stale news
    this.notices = new Map();
    this.pushes = new Map();
    this.tombs = new Set(); // hashes of deleted ids
    this.load();
    this.compact();
  }
  load() {
    const data = fs.existsSync(this.file) ? fs.readFileSync(this.file) : Buffer.alloc(0);
    let start = 0;
    for (;;) {
      const end = data.indexOf(10, start);
      if (end < 0) break; // the rest is a line torn by a crash: it was never acknowledged
      for (const op of JSON.parse(data.toString('utf8', start, end))) this.apply(op);
      start = end + 1;
    }
  }
  apply([kind, key, value]) {
    switch (kind) {
      case 'user':
        this.users.set(key, value);
        for (const id of allIds(value)) this.index.set(id, key);
        break;
      case 'deluser':
        for (const id of allIds(this.users.get(key) ?? { id: key, linked: [], aliases: [] }))
          if (this.index.get(id) === key) this.index.delete(id);
        this.users.delete(key);
        break;
      case 'event': this.events.set(key, value); break;
      case 'latest': this.latest.set(key, value); break;
      case 'notice': value ? this.notices.set(key, value) : this.notices.delete(key); break;
      case 'push': value ? this.pushes.set(key, value) : this.pushes.delete(key); break;
      case 'tomb': this.tombs.add(key); break;
    }
  }
  /** All or nothing, and durable when it returns. Throws (and changes nothing) when the disk refuses. */
  commit(ops) {
    if (!ops.length) return;
    const line = Buffer.from(JSON.stringify(ops) + '\n');
    try {
      let written = 0;
      while (written < line.length) written += fs.writeSync(this.fd, line, written, line.length - written, this.size + written);
      fs.fsyncSync(this.fd);
    } catch (error) {
      try { fs.ftruncateSync(this.fd, this.size); } catch { /* the next write begins at this.size anyway */ }
      throw error;
    }
    this.size += line.length;
    for (const op of ops) this.apply(op);
  }
  /** Rewrites the journal as the present state: bounds its size, and removes what deleted accounts left behind. */
  compact() {
    const now = Date.now();
    for (const [id, at] of this.events) if (at < now - EVENT_TTL) this.events.delete(id);
    for (const [id, at] of this.latest) if (at < now - 400 * 86_400_000) this.latest.delete(id);
    for (const [id, p] of this.pushes) if (p.state !== 'pending' && p.createdAt < now - EVENT_TTL) this.pushes.delete(id);
    const lines = [];
    for (const [id, v] of this.events) lines.push(['event', id, v]);
    for (const [id, v] of this.latest) lines.push(['latest', id, v]);
    for (const id of this.tombs) lines.push(['tomb', id]);
    for (const [id, v] of this.users) lines.push(['user', id, v]);
    for (const [id, v] of this.notices) lines.push(['notice', id, v]);
    for (const [id, v] of this.pushes) lines.push(['push', id, v]);
    const temporary = this.file + '.new';
    const fd = fs.openSync(temporary, 'w');
    fs.writeFileSync(fd, lines.map((op) => JSON.stringify([op]) + '\n').join(''));
    fs.fsyncSync(fd);
    fs.closeSync(fd);
    fs.renameSync(temporary, this.file);
    const dirFd = fs.openSync(this.dir, 'r');
    fs.fsyncSync(dirFd);
    fs.closeSync(dirFd);
    if (this.fd !== undefined) fs.closeSync(this.fd);
    this.fd = fs.openSync(this.file, 'r+');
    this.size = fs.fstatSync(this.fd).size;
    this.compactAt = Math.max(this.size * 4, 16 * 1024 * 1024);
  }
}
const allIds = (user) => [user.id, ...user.linked.map((l) => l.id), ...user.aliases];
let store;

// ---------------------------------------------------------------------------------------------------------- users
const BLOCKED = new Set(['no_user', 'null', 'none', 'nil', '(null)', 'NaN', '\\x00', '', '""', 'unidentified', 'undefined',
  'unknown', 'anonymous', 'guest', '-1', '0', '[]', '{}', '[object Object]']);
const isAnonymousId = (id) => id.startsWith('$RCAnonymousID:');
const validId = (id) =>
  typeof id === 'string' && id.length <= 100 && id === id.trim() && !BLOCKED.has(id) && !/[\u0000-\u001f\u007f/]/.test(id);
const isDeleted = (id) => store.tombs.has(sha256(id));
const resolve = (id) => store.users.get(store.index.get(id) ?? '');
const newUser = (id, source) => ({
  id, createdAt: Date.now(), lastSeenAt: null, registered: false, source, platform: null, deviceId: null, tokenHash: null,
  account: null, linked: [], aliases: [], snapshot: null, seq: 0, refresh: null,
});
/** A refresh that is due now; after a webhook it is repeated a few times, because REST may lag behind the webhook. */
const due = (user, followUps) => ({
  ...user,
  seq: user.seq + 1,
  refresh: { at: Date.now(), step: Math.min(followUps ? 0 : CFG.followUps.length, user.refresh?.step ?? CFG.followUps.length), fails: 0 },
});
const unique = (list) => [...new Set(list)];
/** One person out of two rows. `how` says whether RevenueCat calls them one customer or the person signed in from there. */
function merged(target, other, how) {
  const alias = how === 'alias';
  const linked = [...target.linked, ...other.linked, ...(alias ? [] : [{ id: other.id, at: Date.now() }])];
  const known = new Set([target.id, ...linked.map((l) => l.id)]);
  return {
    ...target,
    linked: linked.filter((l, i) => linked.findIndex((m) => m.id === l.id) === i && l.id !== target.id),
    aliases: unique([...target.aliases, ...other.aliases, ...(alias ? [other.id] : [])]).filter((id) => !known.has(id)),
    createdAt: Math.min(target.createdAt, other.createdAt),
    registered: target.registered || other.registered,
    platform: target.platform ?? other.platform,
    deviceId: target.deviceId ?? other.deviceId,
    tokenHash: target.tokenHash ?? other.tokenHash,
  };
}

/** The row for the ids that one event names as one customer; creates, merges or renames as needed. Returns its id. */
function resolveCustomer(appUserId, ids, ops) {
  const rows = unique(ids.map((id) => store.index.get(id)).filter(Boolean)).map((id) => store.users.get(id));
  const rank = (row) => [row.account ? 0 : 1, isAnonymousId(row.id) ? 1 : 0, store.index.get(appUserId) === row.id ? 0 : 1,
    row.registered ? 0 : 1, row.createdAt];
  rows.sort((a, b) => { const x = rank(a), y = rank(b); const i = x.findIndex((v, n) => v !== y[n]); return i < 0 ? 0 : x[i] - y[i]; });
  const preferred = !isAnonymousId(appUserId) ? appUserId : ids.find((id) => !isAnonymousId(id)) ?? appUserId;
  let user = rows[0];
  if (!user) user = newUser(preferred, 'webhook_safety_net');
  else if (isAnonymousId(user.id) && !isAnonymousId(preferred)) {
    ops.push(['deluser', user.id]); // the anonymous customer got a name
    user = merged({ ...user, id: preferred }, { ...user, linked: [], aliases: [] }, 'alias');
  }
  for (const other of rows.slice(1)) {
    if (other.account && user.account) continue; // two signed-in people are never folded into one by an event
    ops.push(['deluser', other.id]);
    user = merged(user, other, 'alias');
  }
  const own = new Set(allIds(user));
  const foreign = (id) => store.index.has(id) && !rows.some((r) => r.id === store.index.get(id) && !(r.account && r.id !== user.id));
  user = { ...user, aliases: unique([...user.aliases, ...ids.filter((id) => !own.has(id) && !foreign(id))]) };
  ops.push(['user', user.id, due(user, true)]);
  return user.id;
}

// ------------------------------------------------------------------------------------------------- RevenueCat REST
class RestError extends Error {
  constructor(message, status, waitMs) { super(message); this.status = status; this.waitMs = waitMs; }
}
async function rcGet(pathAndQuery) {
  const response = await fetch(CFG.rcBase + pathAndQuery, {
    headers: { Authorization: 'Bearer ' + CFG.rcKey, Accept: 'application/json' },
    redirect: 'error',
    signal: AbortSignal.timeout(FETCH_TIMEOUT),
  });
  const body = await response.json().catch(() => null);
  if (response.ok && body) return body;
  // Retry-After is documented in milliseconds and, on newer pages, in seconds; backoff_ms has no such doubt.
  const header = Number(response.headers.get('retry-after'));
  const waitMs = Number.isFinite(body?.backoff_ms) ? body.backoff_ms : header ? (header >= 1000 ? header : header * 1000) : undefined;
  throw new RestError('RevenueCat answered ' + response.status, response.status, waitMs);
}
async function rcPages(first) {
  const items = [];
  let next = first;
  for (let page = 0; next; page++) {
    if (page > 50) throw new RestError('too many pages', 500);
    const body = await rcGet(next);
    items.push(...(body.items ?? []));
    next = body.next_page ? new URL(body.next_page, CFG.rcBase + '/') : null;
    if (next) next = next.pathname.slice(Math.max(next.pathname.indexOf('/v2/'), 0)) + next.search; // never another host
  }
  return items;
}
let entitlementCache = { at: 0, ids: new Set() };
async function isOurEntitlementId(id) {
  if (!entitlementCache.ids.has(id) && Date.now() - entitlementCache.at > 60_000) {
    const items = await rcPages(`/v2/projects/${encodeURIComponent(CFG.rcProject)}/entitlements?limit=100`);
    entitlementCache = { at: Date.now(), ids: new Set(items.filter((e) => e.lookup_key === CFG.entitlement).map((e) => e.id)) };
  }
  return entitlementCache.ids.has(id);
}
const customerPath = (id) => `/v2/projects/${encodeURIComponent(CFG.rcProject)}/customers/${encodeURIComponent(id)}`;

/** What RevenueCat says now about one app user id; null when it knows no such customer. */
async function fetchCustomer(id) {
  let active, subscriptions, purchases;
  try {
    [active, subscriptions, purchases] = await Promise.all(['active_entitlements', 'subscriptions', 'purchases']
      .map((what) => rcPages(`${customerPath(id)}/${what}?limit=100`)));
  } catch (error) {
    if (error.status === 404) return null;
    throw error;
  }
  const everyId = new Set(); // ids of all entitlements that a listed subscription or purchase explains
  const ourIds = new Set();
  for (const item of [...subscriptions, ...purchases]) {
    const list = [...(item.entitlements?.items ?? []), ...(item.entitlements?.next_page ? await rcPages(item.entitlements.next_page) : [])];
    for (const e of list) everyId.add(e.id);
    for (const e of list) if (e.lookup_key === CFG.entitlement) ourIds.add(e.id);
    item.ours = list.some((e) => e.lookup_key === CFG.entitlement);
  }
  for (const e of active) if (!everyId.has(e.entitlement_id) && (await isOurEntitlementId(e.entitlement_id))) ourIds.add(e.entitlement_id);
  const grant = active.find((e) => ourIds.has(e.entitlement_id));
  const subs = subscriptions.filter((s) => s.ours);
  const giving = [...subs.filter((s) => s.gives_access === true), ...purchases.filter((p) => p.ours && p.status === 'owned' && grant)];
  const production = giving.filter((s) => s.environment !== 'sandbox');
  const unexplained = grant && !giving.length && !everyId.has(grant.entitlement_id); // e.g. a temporary grant
  const access = production.length > 0 || Boolean(unexplained);
  // active_entitlements has no environment: its expiry counts only when nothing in the sandbox can be its reason.
  const ends = production.map((s) => (s.object === 'purchase' || 'purchased_at' in s ? grant.expires_at : s.ends_at ?? s.current_period_ends_at));
  if (grant && access && production.length === giving.length) ends.push(grant.expires_at);
  const main = [...subs].filter((s) => s.environment !== 'sandbox').sort((a, b) =>
    Number(b.gives_access) - Number(a.gives_access) || (b.ends_at ?? Infinity) - (a.ends_at ?? Infinity))[0];
  return {
    access,
    expiresAt: !access ? (main ? main.ends_at ?? main.current_period_ends_at : null) : ends.some((e) => e == null) ? null : Math.max(...ends),
    sandboxAccess: giving.length > production.length,
    status: main?.status ?? (access ? 'active' : 'none'),
    productId: main?.product_id ?? (production[0]?.product_id ?? null),
    pendingProductId: main?.auto_renewal_status === 'will_change_product' ? main.pending_changes?.product?.id ?? null : null,
    store: main?.store ?? production[0]?.store ?? null,
    willRenew: main ? ['will_renew', 'will_change_product', 'has_already_renewed'].includes(main.auto_renewal_status) : null,
    billingIssue: ['in_grace_period', 'in_billing_retry'].includes(main?.status),
    managementUrl: main?.management_url ?? null,
  };
}

/** One snapshot per person: the customer and the ids the person signed in from, which RevenueCat may keep apart. */
async function fetchPerson(user) {
  const fetchedAt = Date.now(); // before the calls: what they say is at least this fresh
  let found = [];
  for (const id of [user.id, ...user.linked.map((l) => l.id)]) found.push(await fetchCustomer(id));
  found = found.filter(Boolean);
  if (!found.length) for (const id of user.aliases.slice(0, 5)) {
    const alias = await fetchCustomer(id);
    if (alias) { found.push(alias); break; }
  }
  const late = (s) => (s.expiresAt == null ? (s.access ? Infinity : 0) : s.expiresAt);
  found.sort((a, b) => Number(b.access) - Number(a.access) || late(b) - late(a));
  const best = found[0] ?? { access: false, expiresAt: null, status: 'none', productId: null, pendingProductId: null, store: null,
    willRenew: null, billingIssue: false, managementUrl: null };
  return { ...best, sandboxAccess: found.some((s) => s.sandboxAccess), fetchedAt };
}

// ------------------------------------------------------------------------------------------- the refresh scheduler
const running = new Map(); // user id -> promise: one re-fetch at a time per person, so an older answer never lands last
function refreshUser(id) {
  if (!running.has(id)) running.set(id, refreshOnce(id).catch((e) => log('error', 'refresh failed', { error: e.message }))
    .finally(() => running.delete(id)));
  return running.get(id);
}
async function refreshOnce(id) {
  for (;;) {
    const before = store.users.get(id);
    if (!before?.refresh) return;
    let snapshot, failure;
    try { snapshot = await fetchPerson(before); } catch (error) { failure = error; }
    const user = store.users.get(id);
    if (!user) return; // merged into another row or deleted meanwhile
    if (failure) {
      const fails = (user.refresh?.fails ?? 0) + 1;
      const at = Date.now() + Math.max(failure.waitMs ?? 0, Math.min(1000 * 2 ** (fails - 1), 300_000));
      log('warn', 'RevenueCat not reachable', { error: failure.message, fails });
      store.commit([['user', id, { ...user, refresh: { at, step: user.refresh?.step ?? CFG.followUps.length, fails } }]]);
      return;
    }
    const changedMeanwhile = user.seq !== before.seq;
    const step = user.refresh?.step ?? CFG.followUps.length;
    const refresh = changedMeanwhile ? { ...user.refresh, at: Date.now() }
      : step < CFG.followUps.length ? { at: Date.now() + CFG.followUps[step], step: step + 1, fails: 0 } : null;
    const ops = [['user', id, { ...user, snapshot, refresh }]];
    if (!changedMeanwhile) ops.push(...decideNotices(id, snapshot, refresh === null));
    store.commit(ops);
    pumpSoon();
    if (!changedMeanwhile) return;
  }
}
/** Waits for the re-fetch of these people, but never for long. */
const settle = (ids) => within(Promise.all(unique(ids).map((id) => refreshUser(id))), ANSWER_WAIT);
function tick() {
  const now = Date.now();
  let slots = 16 - running.size;
  for (const user of store.users.values()) {
    if (slots <= 0) break;
    if (running.has(user.id)) continue;
    const old = !user.refresh && (user.snapshot?.fetchedAt ?? 0) < now - CFG.reconcileMs;
    if (!old && !(user.refresh && user.refresh.at <= now)) continue;
    if (old) store.commit([['user', user.id, due(user, false)]]);
    slots--;
    refreshUser(user.id);
  }
  if (store.size > store.compactAt) store.compact();
}

// --------------------------------------------------------------------------------------------------------- access
/** Exact to the millisecond: after the known end only a fetch that was made after that end can still give access. */
const hasAccess = (s, now = Date.now()) => Boolean(s?.access) && (s.expiresAt === null || now < s.expiresAt || s.fetchedAt >= s.expiresAt);
const iso = (ms) => (ms == null ? null : new Date(ms).toISOString());
function view(user) {
  const s = user?.snapshot;
  return {
    known: Boolean(user),
    access: hasAccess(s),
    entitlement: CFG.entitlement,
    expiresAt: s?.expiresAt ?? null,
    expiresAtIso: iso(s?.expiresAt != null && Math.abs(s.expiresAt) < 8.64e15 ? s.expiresAt : null),
    lifetime: hasAccess(s) && s.expiresAt === null,
    status: s?.status ?? 'none',
    willRenew: s?.willRenew ?? null,
    billingIssue: s?.billingIssue ?? false,
    productId: s?.productId ?? null,
    pendingProductId: s?.pendingProductId ?? null,
    store: s?.store ?? null,
    managementUrl: s?.managementUrl ?? null,
    sandboxAccess: s?.sandboxAccess ?? false,
    checkedAt: s?.fetchedAt ?? null,
    registered: user?.registered ?? false,
    source: user?.source ?? null,
    platform: user?.platform ?? null,
    lastSeenAt: user?.lastSeenAt ?? null,
    isAnonymous: user ? !user.account : null,
  };
}
/** The row as the app may see it: when the known end has passed since the last fetch, ask RevenueCat first. */
async function current(id) {
  let user = resolve(id);
  const end = user?.snapshot?.access ? user.snapshot.expiresAt : null;
  if (user && end !== null && Date.now() >= end && user.snapshot.fetchedAt < end) {
    if (!user.refresh) store.commit([['user', user.id, due(user, false)]]);
    if ((user.refresh?.fails ?? 0) === 0) await settle([user.id]);
    user = resolve(id);
  }
  return user;
}

// ------------------------------------------------------------------------------------------------------- webhooks
const LIFECYCLE = new Set(['INITIAL_PURCHASE', 'RENEWAL', 'CANCELLATION', 'UNCANCELLATION', 'NON_RENEWING_PURCHASE',
  'SUBSCRIPTION_PAUSED', 'EXPIRATION', 'BILLING_ISSUE', 'PRODUCT_CHANGE', 'SUBSCRIPTION_EXTENDED', 'REFUND_REVERSED',
  'TEMPORARY_ENTITLEMENT_GRANT', 'SUBSCRIBER_ALIAS']);
const strings = (value) => (Array.isArray(value) ? value.filter((v) => typeof v === 'string') : []);

/** Which sentence an event may lead to; what it says about access is decided after the re-fetch. */
function noticeKind(event) {
  if (event.environment === 'SANDBOX') return null;
  if (Array.isArray(event.entitlement_ids) && !event.entitlement_ids.includes(CFG.entitlement)) return null; // another entitlement
  switch (event.type) {
    case 'INITIAL_PURCHASE': return 'purchase';
    case 'RENEWAL': return 'renewal';
    case 'UNCANCELLATION': return 'reactivated';
    case 'BILLING_ISSUE': return 'billing_issue';
    case 'CANCELLATION':
      if (event.cancel_reason === 'CUSTOMER_SUPPORT') return 'refund';
      if (event.cancel_reason === 'BILLING_ERROR') return null; // the accompanying BILLING_ISSUE tells it
      return event.store === 'PROMOTIONAL' ? null : 'cancellation';
    case 'EXPIRATION': return event.expiration_reason === 'CUSTOMER_SUPPORT' ? null : 'expiration'; // the refund was told
    default: return null;
  }
}

async function handleWebhook(req, res, raw) {
  let body;
  try { body = JSON.parse(raw.toString('utf8')); } catch { return send(res, 400, { error: 'invalid_json' }); }
  const event = body?.event;
  const eventId = event?.id ?? event?.event_id; // paywall events have event_id
  if (!event || typeof event !== 'object' || typeof eventId !== 'string' || !eventId || typeof event.type !== 'string' || !event.type)
    return send(res, 400, { error: 'invalid_event' });
  const now = Date.now();
  const ops = [];
  const touched = [];
  const seen = store.events.has(eventId);
  if (!seen) ops.push(['event', eventId, now]);

  const usable = (ids) => unique(ids.filter(validId)).filter((id) => !isDeleted(id));
  const named = [event.app_user_id, event.original_app_user_id, ...strings(event.aliases)].filter((id) => typeof id === 'string');
  const ids = usable(named);
  if (seen) {
    // A repeated delivery has no effect of its own, but somebody may have pressed "resend" to heal us.
    if (event.type !== 'TEST') for (const id of usable([...named, ...strings(event.transferred_from), ...strings(event.transferred_to)])) {
      const user = resolve(id);
      if (user && !user.refresh) ops.push(['user', user.id, due(user, false)]);
    }
  } else if (event.type === 'TRANSFER' || event.type === 'PURCHASE_REDEEMED') {
    const sides = [event.transferred_from, event.transferred_to, event.redeemed_from, event.redeemed_by].flatMap(strings);
    for (const id of usable(sides)) {
      const user = resolve(id) ?? newUser(id, 'webhook_safety_net');
      if (touched.includes(user.id)) continue;
      ops.push(['user', user.id, due(user, true)]);
      touched.push(user.id);
    }
  } else if (LIFECYCLE.has(event.type)) {
    const gone = typeof event.app_user_id === 'string' && isDeleted(event.app_user_id);
    if (ids.length && !gone) {
      const first = ids.includes(event.app_user_id) ? event.app_user_id : ids[0];
      const userId = resolveCustomer(first, ids, ops);
      touched.push(userId);
      const subscription = sha256([event.environment, event.store, event.original_transaction_id ?? event.product_id, userId].join('|'));
      const at = Number.isSafeInteger(event.event_timestamp_ms) ? event.event_timestamp_ms : now;
      const stale = at < (store.latest.get(subscription) ?? 0);
      const kind = noticeKind(event);
      if (kind && !stale) ops.push(['notice', eventId, { eventId, userId, kind, reason: event.expiration_reason ?? null }]);
      // CANCELLATION(BILLING_ERROR) travels with BILLING_ISSUE in any order: it must not make that one look stale.
      if (!stale && kind) ops.push(['latest', subscription, at]);
    }
  } else if (event.type !== 'TEST') {
    // Anything else changes nothing and creates nobody; asking RevenueCat about people we know does no harm.
    for (const id of ids) {
      const user = resolve(id);
      if (!user || touched.includes(user.id)) continue;
      ops.push(['user', user.id, due(user, false)]);
      touched.push(user.id);
    }
  }
  store.commit(ops); // throws: 500, nothing has changed, RevenueCat tries again
  if (touched.length) await settle(touched);
  return send(res, 200, { ok: true });
}

function webhookAllowed(req, raw) {
  if (!sameSecret(Buffer.from(req.headers.authorization ?? '', 'latin1'), Buffer.from(CFG.webhookAuth, 'utf8'))) return false;
  if (!raw || !CFG.webhookHmac) return true;
  const parts = Object.fromEntries(String(req.headers['x-revenuecat-webhook-signature'] ?? '').split(',').map((p) => p.split('=')));
  if (!/^\d+$/.test(parts.t ?? '') || Math.abs(Date.now() / 1000 - Number(parts.t)) > 300) return false;
  const expected = crypto.createHmac('sha256', CFG.webhookHmac).update(parts.t + '.').update(raw).digest('hex');
  return sameSecret(parts.v1 ?? '', expected);
}

// --------------------------------------------------------------------------------------------------------- pushes
function decideNotices(userId, snapshot, last) {
  const ops = [];
  for (const notice of store.notices.values()) {
    if (store.index.get(notice.userId) !== userId) continue;
    const text = pushText(notice, hasAccess(snapshot), snapshot.expiresAt);
    if (!text && !last) continue; // RevenueCat's REST may be behind its webhook: look again at the next follow-up
    ops.push(['notice', notice.eventId, null]);
    if (text && CFG.osApp && CFG.osKey) ops.push(['push', notice.eventId, { eventId: notice.eventId, userId, kind: notice.kind,
      ...text, attempts: 0, nextAt: 0, createdAt: Date.now(), state: 'pending' }]);
  }
  return ops;
}
/** Null: the sentence would not be true (now). */
function pushText({ kind, reason }, access, expiresAt) {
  const until = expiresAt != null && expiresAt > Date.now() ? ' until ' + new Date(expiresAt).toISOString().slice(0, 10) : '';
  switch (kind) {
    case 'purchase': return access ? { title: 'Welcome', body: 'Your subscription is active. Thank you!' } : null;
    case 'renewal': return access ? { title: 'Renewed', body: 'Your subscription has been renewed.' } : null;
    case 'reactivated': return access ? { title: 'Welcome back', body: 'Your subscription will renew again.' } : null;
    case 'cancellation': return { title: 'Subscription cancelled', body: access
      ? `Your subscription will not renew. You keep access${until}.` : 'Your subscription has been cancelled.' };
    case 'billing_issue': return { title: 'Payment problem', body: access
      ? 'Your last payment failed. Please update your payment method to keep access.'
      : 'Your last payment failed. Please update your payment method to get access back.' };
    case 'expiration': return access ? null : { title: 'Subscription ended', body: reason === 'SUBSCRIPTION_PAUSED'
      ? 'Your subscription is paused.' : 'Your subscription has ended.' };
    case 'refund': return { title: 'Purchase refunded', body: access
      ? 'Your purchase has been refunded.' : 'Your purchase has been refunded and its access has ended.' };
  }
  return null;
}
/** The same UUID for every attempt of one push, another one for every other push (a name-based UUID of version 5). */
function idempotencyKey(push) {
  const h = crypto.createHash('sha1').update('subscription-backend|' + push.eventId + '|' + push.kind).digest();
  h[6] = (h[6] & 0x0f) | 0x50;
  h[8] = (h[8] & 0x3f) | 0x80;
  const x = h.toString('hex', 0, 16);
  return [x.slice(0, 8), x.slice(8, 12), x.slice(12, 16), x.slice(16, 20), x.slice(20)].join('-');
}
function retryAfterMs(header) {
  if (!header) return 0;
  const seconds = Number(header);
  return Number.isFinite(seconds) ? seconds * 1000 : Math.max(Date.parse(header) - Date.now(), 0) || 0;
}
const sending = new Set();
let pushPausedUntil = 0; // a 429 speaks about the whole app, not about one push
async function sendPush(push) {
  const target = resolve(push.userId);
  const done = (state, extra = {}) => {
    if (store.pushes.has(push.eventId)) store.commit([['push', push.eventId, { ...push, state, attempts: push.attempts + 1, ...extra }]]);
    if (state !== 'delivered') log('warn', 'push ' + state, { eventId: push.eventId, ...extra });
  };
  if (!target || Date.now() > push.createdAt + PUSH_TTL) return done('dropped');
  let response, body, problem;
  try {
    response = await fetch(CFG.osBase + '/notifications', {
      method: 'POST',
      headers: { Authorization: 'Key ' + CFG.osKey, 'Content-Type': 'application/json' },
      body: JSON.stringify({
        app_id: CFG.osApp,
        idempotency_key: idempotencyKey(push),
        include_aliases: { external_id: [target.id] },
        target_channel: 'push',
        headings: { en: push.title },
        contents: { en: push.body },
        data: { kind: push.kind },
      }),
      redirect: 'error',
      signal: AbortSignal.timeout(PUSH_TIMEOUT),
    });
    body = await response.json().catch(() => null);
  } catch (error) { problem = error.message; }
  const status = response?.status ?? 0;
  if (status >= 200 && status < 300 && body) {
    if (typeof body.id === 'string' && body.id && !body.errors) return done('delivered', { notificationId: body.id });
    return done('undelivered', { answer: body.errors ?? 'no id' }); // HTTP 200 is not delivery; nobody there to retry for
  }
  const transient = status === 0 || status === 429 || status >= 500 || (status < 300 && !body);
  if (!transient || push.attempts + 1 >= MAX_PUSH_ATTEMPTS) return done('failed', { status, answer: body?.errors ?? problem ?? null });
  const asked = retryAfterMs(response?.headers.get('retry-after'));
  const nextAt = Date.now() + Math.max(asked, Math.min(1000 * 2 ** push.attempts, 600_000));
  if (status === 429) pushPausedUntil = Math.max(pushPausedUntil, nextAt);
  return done('pending', { nextAt, status });
}
function pump() {
  const now = Date.now();
  if (now < pushPausedUntil) return;
  for (const push of store.pushes.values()) {
    if (sending.size >= 4) return;
    if (push.state !== 'pending' || push.nextAt > now || sending.has(push.eventId)) continue;
    sending.add(push.eventId);
    sendPush(push).catch((e) => log('error', 'push failed', { error: e.message })).finally(() => { sending.delete(push.eventId); pumpSoon(); });
  }
}
const pumpSoon = () => setImmediate(pump);

// -------------------------------------------------------------------------------------------- Firebase ID tokens
class HttpError extends Error {
  constructor(status, code) { super(code); this.status = status; this.code = code; }
}
const UNAUTHORIZED = () => new HttpError(401, 'unauthorized');
const googleKeys = { map: new Map(), goodUntil: 0, loading: null, unknown: new Map(), tokens: 5, tokensAt: Date.now() };
async function loadKeys() {
  const response = await fetch(CFG.keysUrl, { signal: AbortSignal.timeout(FETCH_TIMEOUT) });
  if (!response.ok) throw new Error('key endpoint answered ' + response.status);
  const body = await response.json();
  const map = new Map();
  const add = (kid, make) => { try { map.set(kid, make()); } catch (e) { log('warn', 'unusable key', { kid, error: e.message }); } };
  if (Array.isArray(body.keys)) for (const jwk of body.keys) add(jwk.kid, () => crypto.createPublicKey({ key: jwk, format: 'jwk' }));
  else for (const [kid, pem] of Object.entries(body)) add(kid, () => crypto.createPublicKey(pem));
  if (!map.size) throw new Error('no usable key');
  const age = /max-age=(\d+)/.exec(response.headers.get('cache-control') ?? '');
  googleKeys.map = map;
  googleKeys.goodUntil = Date.now() + (age ? Math.min(Number(age[1]), 86_400) : 300) * 1000;
}
const loadKeysOnce = () => (googleKeys.loading ??= loadKeys().finally(() => { googleKeys.loading = null; }));
async function keyFor(kid) {
  const k = googleKeys;
  let fresh = Date.now() < k.goodUntil;
  if (!fresh) {
    try { await loadKeysOnce(); fresh = true; } catch (error) {
      log('warn', 'Google keys unreachable', { error: error.message });
      if (k.map.has(kid)) return k.map.get(kid); // a key that Google has vouched for
      throw new HttpError(503, 'keys_unreachable');
    }
    if (!k.map.has(kid)) k.unknown.set(kid, Date.now());
    return k.map.get(kid);
  }
  if (k.map.has(kid)) return k.map.get(kid);
  // Not known although the cache is fresh: perhaps rotated. One fetch per unknown kid, and not many altogether.
  if (Date.now() - (k.unknown.get(kid) ?? 0) < 30_000) return undefined;
  k.tokens = Math.min(5, k.tokens + (Date.now() - k.tokensAt) / 10_000);
  k.tokensAt = Date.now();
  if (k.tokens < 1) return undefined;
  k.tokens -= 1;
  try { await loadKeysOnce(); } catch { throw new HttpError(503, 'keys_unreachable'); }
  if (k.unknown.size > 1000) k.unknown.clear();
  if (!k.map.has(kid)) k.unknown.set(kid, Date.now());
  return k.map.get(kid);
}
/** The claims of a valid ID token of our project; throws 401 or, when the keys cannot be had, 503. */
async function verifyIdToken(req) {
  if (!CFG.fbProject) throw new HttpError(503, 'sign_in_not_configured');
  const match = /^Bearer ([\w-]+)\.([\w-]+)\.([\w-]+)$/i.exec(req.headers.authorization ?? '');
  if (!match) throw UNAUTHORIZED();
  const [, h, p, s] = match;
  let header, claims;
  try {
    header = JSON.parse(Buffer.from(h, 'base64url').toString('utf8'));
    claims = JSON.parse(Buffer.from(p, 'base64url').toString('utf8'));
  } catch { throw UNAUTHORIZED(); }
  if (!header || !claims || header.alg !== 'RS256' || typeof header.kid !== 'string' || !header.kid) throw UNAUTHORIZED();
  const now = Date.now() / 1000;
  const past = (t) => typeof t === 'number' && t <= now + CLOCK_SKEW;
  if (claims.aud !== CFG.fbProject) throw UNAUTHORIZED();
  if (claims.iss !== 'https://securetoken.google.com/' + CFG.fbProject) throw UNAUTHORIZED();
  if (typeof claims.sub !== 'string' || !claims.sub || claims.sub.length > 128) throw UNAUTHORIZED();
  if (typeof claims.exp !== 'number' || claims.exp <= now) throw UNAUTHORIZED();
  if (!past(claims.iat) || !past(claims.auth_time)) throw UNAUTHORIZED();
  const key = await keyFor(header.kid);
  if (!key) throw UNAUTHORIZED();
  if (key.asymmetricKeyType !== 'rsa' || !crypto.verify('RSA-SHA256', Buffer.from(h + '.' + p), key, Buffer.from(s, 'base64url')))
    throw UNAUTHORIZED();
  return claims;
}
/** Signed-in people only: an anonymous Firebase session is nobody's account. */
async function requireAccount(req) {
  const claims = await verifyIdToken(req);
  if (claims.firebase?.sign_in_provider === 'anonymous' || claims.provider_id === 'anonymous') throw new HttpError(403, 'anonymous_session');
  if (!validId(claims.sub)) throw new HttpError(403, 'unusable_uid'); // RevenueCat could not take it as an app user id
  if (isDeleted(claims.sub)) throw new HttpError(410, 'account_deleted');
  return claims;
}

// ------------------------------------------------------------------------------------------- register, login, me
const optional = (value, max) => (typeof value === 'string' && value.trim() && value.length <= max ? value.trim() : null);
const parseObject = (raw) => {
  let body;
  try { body = JSON.parse(raw.toString('utf8')); } catch { throw new HttpError(400, 'invalid_json'); }
  if (!body || typeof body !== 'object' || Array.isArray(body)) throw new HttpError(400, 'invalid_json');
  return body;
};
const hasToken = (user, token) => Boolean(user.tokenHash && token && sameSecret(sha256(token), user.tokenHash));
/** Is the caller the device that this id belongs to? The device id counts only when it is not the (public) id itself. */
const isOwner = (user, token, deviceId) =>
  hasToken(user, token) || Boolean(user.deviceId && deviceId && deviceId !== user.id && user.deviceId === deviceId);

async function handleRegister(req, res, raw) {
  const body = parseObject(raw);
  const id = body.appUserId ?? body.app_user_id;
  if (!validId(id)) throw new HttpError(400, 'invalid_app_user_id');
  if (isDeleted(id)) throw new HttpError(410, 'account_deleted');
  const deviceId = optional(body.deviceId ?? body.device_id, 200);
  const token = optional(body.deviceToken, 200);
  let user = resolve(id);
  let deviceToken;
  const unbound = !user || (!user.deviceId && !user.tokenHash && !user.account);
  if (unbound || isOwner(user, token, deviceId)) {
    const known = user ?? newUser(id, optional(body.source, 40) ?? 'app');
    user = {
      ...known,
      registered: true,
      lastSeenAt: Math.max(Date.now(), known.lastSeenAt ?? 0), // our clock, never the client's
      deviceId: known.deviceId ?? deviceId,
      platform: optional(body.platform, 40) ?? known.platform,
    };
    if (unbound) {
      deviceToken = crypto.randomBytes(24).toString('base64url');
      user.tokenHash = sha256(deviceToken);
    }
  } // else: another device names somebody's id; it learns what GET status tells anyway and changes nothing
  // Restores and logins of the SDK send no webhook, but the app registers after them: ask RevenueCat.
  if (Date.now() - (user.snapshot?.fetchedAt ?? 0) > 2000) user = due(user, false);
  store.commit([['user', user.id, user]]);
  await settle([user.id]);
  return send(res, 200, { ok: true, appUserId: id, ...view(resolve(id)), ...(deviceToken ? { deviceToken } : {}) });
}

const failures = new Map(); // remote address -> times of failed logins
function tooMany(address) {
  const recent = (failures.get(address) ?? []).filter((t) => t > Date.now() - 60_000);
  if (failures.size > 10_000) failures.clear();
  failures.set(address, recent);
  return recent.length >= 60;
}
async function handleLogin(req, res, raw) {
  const address = req.socket.remoteAddress;
  if (tooMany(address)) throw new HttpError(429, 'too_many_attempts');
  let claims;
  try { claims = await requireAccount(req); } catch (error) {
    if (error.status === 401) failures.get(address).push(Date.now());
    throw error;
  }
  const body = parseObject(raw);
  const uid = claims.sub;
  if (body.accountId != null && body.accountId !== uid) throw new HttpError(403, 'account_mismatch');
  const currentId = body.currentAppUserId ?? body.appUserId ?? body.app_user_id ?? null;
  if (currentId !== null && !validId(currentId)) throw new HttpError(400, 'invalid_app_user_id');
  if (currentId !== null && isDeleted(currentId)) throw new HttpError(410, 'account_deleted');
  const token = optional(body.deviceToken, 200);
  const deviceId = optional(body.deviceId ?? body.device_id, 200);

  // From here to the commit nothing waits, so two logins cannot interleave.
  const ops = [];
  let me = resolve(uid);
  if (me && me.account !== uid && me.id !== uid) {
    // The uid hangs on somebody else's row, but the token proves whose it is.
    const without = { ...me, linked: me.linked.filter((l) => l.id !== uid), aliases: me.aliases.filter((a) => a !== uid) };
    ops.push(['deluser', me.id], ['user', me.id, due(without, false)]);
    me = undefined;
  }
  const existing = me?.account === uid;
  const current = currentId === null || currentId === uid ? undefined : resolve(currentId);
  let action = existing ? 'recovered' : 'claimed';
  let previous = null;
  if (!existing && currentId === null) throw new HttpError(400, 'current_app_user_id_required');
  if (existing && (currentId === uid || current?.account === uid)) action = 'current';
  // The ID token is a better proof than whatever device mentioned this id before.
  let user = me ?? newUser(uid, 'login');
  user = { ...user, account: uid, registered: true, lastSeenAt: Date.now(), ...(existing ? {} : { deviceId, tokenHash: null }) };
  if (currentId !== null && currentId !== uid && current?.account !== uid) {
    const mayTake = current && !current.account && isOwner(current, token, deviceId);
    if (mayTake) {
      ops.push(['deluser', current.id]);
      user = merged(user, current, 'linked');
      previous = 'merged';
    } else if (existing) previous = 'kept'; // recovered, but the old id stays what it was
    else throw new HttpError(409, !current ? 'unknown_app_user_id' : current.account ? 'app_user_id_claimed' : 'proof_required');
  }
  if (action !== 'current' || !user.snapshot) user = due(user, true);
  ops.push(['user', uid, user]);
  store.commit(ops);
  await settle([uid]);
  return send(res, 200, { ok: true, action, appUserId: uid, ...(previous ? { previous } : {}), ...view(resolve(uid)) });
}

async function handleStatus(req, res, url) {
  const id = url.searchParams.get('appUserId') ?? url.searchParams.get('app_user_id');
  if (!validId(id)) throw new HttpError(400, 'invalid_app_user_id');
  return send(res, 200, { appUserId: id, ...view(await current(id)) });
}
async function handleMe(req, res) {
  const claims = await requireAccount(req);
  const user = await current(claims.sub);
  const mine = user && (user.account === claims.sub || user.id === claims.sub) ? user : undefined;
  return send(res, 200, { appUserId: claims.sub, email: typeof claims.email === 'string' ? claims.email : null, ...view(mine) });
}
async function handleDelete(req, res) {
  const claims = await requireAccount(req);
  const user = resolve(claims.sub);
  const mine = user && (user.account === claims.sub || user.id === claims.sub) ? user : null;
  const ids = mine ? allIds(mine) : [claims.sub];
  const ops = ids.map((id) => ['tomb', sha256(id)]);
  if (mine) {
    for (const n of store.notices.values()) if (store.index.get(n.userId) === mine.id) ops.push(['notice', n.eventId, null]);
    for (const p of store.pushes.values()) if (store.index.get(p.userId) === mine.id) ops.push(['push', p.eventId, null]);
    ops.push(['deluser', mine.id]);
  }
  store.commit(ops);
  store.compact(); // the journal must not remember either
  return send(res, 200, { ok: true, deleted: true, storeSubscription: 'not_cancelled' });
}
async function handleReconcile(req, res) {
  if (!CFG.adminSecret || !sameSecret(req.headers.authorization ?? '', 'Bearer ' + CFG.adminSecret)) throw UNAUTHORIZED();
  const ids = [...store.users.keys()];
  store.commit(ids.map((id) => ['user', id, due(store.users.get(id), false)]));
  const queue = [...ids];
  await within(Promise.all(Array.from({ length: 8 }, async () => { while (queue.length) await refreshUser(queue.shift()); })), 50_000);
  const open = ids.filter((id) => (store.users.get(id)?.refresh?.fails ?? 0) > 0).length;
  return send(res, 200, { ok: open === 0, users: ids.length, failed: open });
}

// ----------------------------------------------------------------------------------------------------------- HTTP
function send(res, status, body) {
  if (res.headersSent || res.destroyed) return;
  const text = JSON.stringify(body);
  res.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text), 'Cache-Control': 'no-store' });
  res.end(text);
}
async function readBody(req, limit = 1024 * 1024) {
  const chunks = [];
  let size = 0;
  for await (const chunk of req) {
    size += chunk.length;
    if (size > limit) throw new HttpError(413, 'too_large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
async function route(req, res) {
  const url = new URL(req.url, 'http://127.0.0.1');
  switch (req.method + ' ' + url.pathname) {
    case 'POST /webhooks/revenuecat': {
      if (!webhookAllowed(req)) throw UNAUTHORIZED();
      const raw = await readBody(req);
      if (!webhookAllowed(req, raw)) throw UNAUTHORIZED();
      return handleWebhook(req, res, raw);
    }
    case 'POST /api/user/register': return handleRegister(req, res, await readBody(req));
    case 'POST /api/user/login': return handleLogin(req, res, await readBody(req));
    case 'GET /api/user/status': return handleStatus(req, res, url);
    case 'GET /api/me': return handleMe(req, res);
    case 'DELETE /api/me': return handleDelete(req, res);
    case 'POST /admin/reconcile': return handleReconcile(req, res);
    case 'GET /health': return send(res, 200, { ok: true });
    default: throw new HttpError(404, 'not_found');
  }
}
function main() {
  const missing = Object.entries({ REVENUECAT_WEBHOOK_AUTH: CFG.webhookAuth, REVENUECAT_PROJECT_ID: CFG.rcProject,
    REVENUECAT_SECRET_KEY: CFG.rcKey, ENTITLEMENT_LOOKUP_KEY: CFG.entitlement }).filter(([, v]) => !v.trim()).map(([k]) => k);
  if (missing.length) { log('fatal', 'refusing to start, not set: ' + missing.join(', ')); process.exit(1); }
  if (!CFG.osApp || !CFG.osKey) log('warn', 'ONESIGNAL_APP_ID or ONESIGNAL_API_KEY not set: no pushes');
  if (!CFG.fbProject) log('warn', 'FIREBASE_PROJECT_ID not set: login and /api/me answer 503');
  store = new Store(CFG.dataDir);
  const server = http.createServer((req, res) => {
    route(req, res).catch((error) => {
      if (error instanceof HttpError) return send(res, error.status, { error: error.code });
      log('error', 'request failed', { path: req.url.split('?')[0], error: error.message });
      return send(res, 500, { error: 'internal' });
    });
  });
  server.listen(CFG.port, '127.0.0.1', () => log('info', 'listening', { port: server.address().port, users: store.users.size }));
  setInterval(() => { try { tick(); pump(); } catch (e) { log('error', 'tick failed', { error: e.message }); } }, 250);
  const stop = () => { server.close(); setTimeout(() => process.exit(0), 200); };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}
process.on('unhandledRejection', (error) => log('error', 'unhandled', { error: String(error?.message ?? error) }));
main();
