// A correct client: identity rules, parts A and B. Plain JavaScript, so that it runs unchanged.
(function () {
  "use strict";

  var ID = "app_user_id", LOCK = "identity_locked";
  var READ = 1200, CALL = 4000, GATE = 2000;
  var BLOCKED = ["", "n/a", "no_user", "null", "none", "nil", "(null)", "NaN", "unidentified",
    "undefined", "unknown", "anonymous", "guest", "-1", "0", "[]", "{}", "[object Object]", "\"\""];

  var despia = window.despia;
  var isNative = navigator.userAgent.toLowerCase().indexOf("despia") >= 0;
  var current = null, registered = null, isBusy = false, isSelling = false, isStarted = false;
  var turn = Promise.resolve();

  function element(id) { return document.getElementById(id); }
  function show(id, isShown, text) {
    element(id).hidden = !isShown;
    if (text !== undefined) element(id).textContent = text;
  }
  function complain(text) { show("error", Boolean(text), text || ""); }
  function wait(time) { return new Promise(function (done) { setTimeout(done, time); }); }
  function isUsable(id) {
    return typeof id === "string" && id.trim() === id && id.length <= 100 && id.indexOf("/") < 0
      && BLOCKED.indexOf(id) < 0;
  }

  // ---- What the page keeps

  function kept(name) { return window.localStorage.getItem(name); }
  function keep(name, value) {
    if (value === null) window.localStorage.removeItem(name);
    else window.localStorage.setItem(name, value);
  }
  function retired() { return JSON.parse(kept("retired") || "[]"); }
  function retire(id) { if (id) keep("retired", JSON.stringify(retired().concat([id]))); }

  // ---- Bridge

  // A read has a time of its own, and reads of one name wait for each other.
  function ask(command, name, time) {
    var answer = turn.then(function () {
      var question = despia(command, [name]).then(function (found) { return found[name]; });
      return Promise.race([question, wait(time || READ).then(function () { return undefined; })]);
    });
    turn = answer.catch(function () {});
    return answer;
  }

  // Whether the native side decodes is not known: what is the encoded form of something is it.
  function plain(text) {
    if (typeof text !== "string") return text;
    try {
      var decoded = decodeURIComponent(text);
      return encodeURIComponent(decoded) === text ? decoded : text;
    } catch (error) { return text; }
  }

  function read(key) { return ask("readvault://?key=" + encodeURIComponent(key), key).then(plain); }
  function write(key, value) {
    despia("setvault://?key=" + encodeURIComponent(key) + "&value=" + encodeURIComponent(value)
      + "&locked=false");
  }

  async function installID() {
    for (var round = 0; round < 6; round += 1) {
      if (isUsable(despia.uuid)) return despia.uuid;
      if (round % 2) {
        var answer = await ask("get-uuid://", "uuid", 500);
        if (isUsable(answer)) return answer;
      } else { await wait(500); }
    }
    throw new Error("no install id");
  }

  function platform() {
    var agent = navigator.userAgent.toLowerCase();
    if (agent.indexOf("android") >= 0) return "android";
    return /iphone|ipad|macintosh/.test(agent) ? "ios" : "unknown";
  }

  async function history() {
    var found = await ask("getpurchasehistory://", "restoredData");
    if (typeof found === "string") try { found = JSON.parse(found); } catch (error) { found = null; }
    return Array.isArray(found) ? found : null;
  }

  // One rule for start and button: active before ended, the latest first.
  function choose(entries) {
    var usable = (entries || []).filter(function (entry) {
      return isUsable(entry.externalUserId) && !entry.isAnonymous
        && entry.externalUserId.indexOf("$RCAnonymousID:") !== 0 && entry.environment !== "sandbox";
    });
    usable.sort(function (left, right) {
      return (Number(right.isActive) - Number(left.isActive))
        || String(right.purchaseDate).localeCompare(String(left.purchaseDate));
    });
    return usable.length ? usable[0].externalUserId : null;
  }

  // ---- Backend

  async function call(method, path, body) {
    var aborter = new AbortController();
    var timer = setTimeout(function () { aborter.abort(); }, CALL);
    try {
      var response = await fetch(path, {
        method: method, signal: aborter.signal,
        headers: body ? { "content-type": "application/json" } : {},
        body: body ? JSON.stringify(body) : undefined
      });
      var content = await response.json().catch(function () { return null; });
      return { ok: response.ok, status: response.status, body: content };
    } catch (error) {
      return { ok: false, status: 0, body: null };
    } finally { clearTimeout(timer); }
  }

  async function register(id, source) {
    var answer = await call("POST", "/api/user/register", {
      appUserId: id, deviceId: await installID(), platform: platform(), source: source,
      timestamp: new Date().toISOString()
    });
    var isDone = answer.ok && answer.body && answer.body.appUserId === id;
    if (isDone) { registered = id; keep("pending", null); } else { keep("pending", id); retry(1); }
    return isDone;
  }

  var retries = 0;
  async function retry(number) {
    if (number > 6 || retries > 0) return;
    retries += 1;
    await wait(250 * Math.pow(2, number));
    retries -= 1;
    var id = current || kept("pending");
    if (id && registered !== id && kept("pending")) {
      var before = retries;
      var answer = await call("POST", "/api/user/register", {
        appUserId: id, deviceId: await installID(), platform: platform(), source: "retry",
        timestamp: new Date().toISOString()
      });
      if (answer.ok && answer.body && answer.body.appUserId === id) {
        registered = id;
        keep("pending", null);
      } else if (before === retries) { retry(number + 1); }
    }
  }

  // ---- Changing who it is: one function, one order

  async function become(id, source, options) {
    var settings = options || {};
    keep("switching", id);
    if (settings.locks) write(LOCK, "true");
    if (settings.known !== id) {
      for (var round = 0; round < 3; round += 1) {
        write(ID, id);
        if (await read(ID) === id) break;
      }
    }
    despia("setonesignalplayerid://?user_id=" + encodeURIComponent(id));
    await register(id, source);
    current = id;
    keep("current", id);
    keep("switching", null);
  }

  async function start() {
    var install = await installID();
    var vault = await read(ID);
    var known = isUsable(vault) ? vault : null;
    var id = kept("switching") || known;
    var source = id ? "vault" : "new", locks = false;
    if (!id) {
      id = choose(await history());
      if (id) { source = "restore"; locks = true; }
    }
    if (!id && isUsable(kept("current"))) id = kept("current");
    if (!id) id = retired().indexOf(install) >= 0 ? crypto.randomUUID() : install;
    await become(id, source, { known: known, locks: locks });
    isStarted = true;
    checkAccess(1);
  }

  async function changing(work) {
    if (!isNative || isBusy || !isStarted) return;
    isBusy = true;
    complain("");
    try { await work(); } catch (error) { complain("Something went wrong"); } finally { isBusy = false; }
  }

  function logIn() {
    return changing(async function () {
      var lock = await read(LOCK);
      var answer = await call("POST", "/api/user/login", {
        accountId: element("account").value, currentAppUserId: current,
        credentials: { password: element("password").value }
      });
      var id = answer.body && answer.body.appUserId;
      if (!answer.ok || !isUsable(id)) { complain("The sign-in failed"); return; }
      if (id !== current && lock === "true"
          && !confirm("This device holds purchases of another user. Go on?")) return;
      await become(id, "login", { known: id === current ? current : null });
      keep("account", element("account").value);
    });
  }

  function logOut() {
    return changing(async function () {
      write(LOCK, "false");
      retire(current);
      retire(await installID());
      keep("account", null);
      await become(crypto.randomUUID(), "logout");
      show("premium", false);
    });
  }

  function restore() {
    return changing(async function () {
      var id = choose(await history());
      if (!id || id === current) { complain(id ? "" : "Nothing to restore"); return; }
      if (kept("account") && !confirm("These purchases belong to another user. Go on?")) return;
      await become(id, "restore_button", { locks: true });
    });
  }

  // ---- Selling

  async function upgrade() {
    if (!isNative) { complain("Buy on our web page"); return; }
    if (isSelling) return;
    isSelling = true;
    var end = Date.now() + GATE;
    while (!(isStarted && !isBusy && current && registered === current)) {
      if (Date.now() > end) { isSelling = false; complain("Please try again later"); return; }
      await wait(50);
    }
    despia("revenuecat://launchPaywall?external_id=" + encodeURIComponent(current)
      + "&offering=default");
  }

  function outcome(result) {
    var found = result;
    if (typeof found === "string") try { found = JSON.parse(found); } catch (error) { found = null; }
    isSelling = false;
    if (found && (found.cancelled || found.ok === false)) return;
    checkAccess(6);
  }

  async function checkAccess(rounds) {
    for (var round = 0; round < rounds; round += 1) {
      var answer = await call("GET", "/api/user/access/" + encodeURIComponent(current || ""));
      if (answer.ok && answer.body && answer.body.access === true) { show("premium", true); return; }
      if (round + 1 < rounds) await wait(300);
    }
  }

  async function showStatus() {
    var entries = isNative ? await history() : null;
    var active = (entries || []).filter(function (entry) { return entry.isActive; })[0];
    // Silence and an empty list look the same from here.
    element("status").textContent = active ? "Active" : "Unknown";
    element("product").textContent = active ? active.productId || active.productIdentifier : "";
  }

  window.onRevenueCatPurchase = outcome;
  window.onRevenueCatResult = outcome;
  window.iapSuccess = outcome;
  element("upgrade").addEventListener("click", upgrade);
  element("restore").addEventListener("click", restore);
  element("login").addEventListener("click", logIn);
  element("logout").addEventListener("click", logOut);
  element("show-status").addEventListener("click", showStatus);

  (isNative ? start() : Promise.resolve()).catch(function () {
    complain("This device could not be identified");
  }).then(function () {
    show("loading", false);
    show("main", true);
  });
})();
