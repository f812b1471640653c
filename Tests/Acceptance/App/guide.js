// The published identity guide's client, told again with the mistakes that the identity rules list
// in D.3. It is here to be found out; `test_app.py` says by what.
(function () {
  "use strict";

  var despia = window.despia;
  var appUserId = null;
  var identityReady = false;
  var databaseSynced = false;
  var installId = null;
  var platform = navigator.userAgent.toLowerCase().includes("android") ? "android" : "ios";
  var isDespia = navigator.userAgent.toLowerCase().includes("despia");

  function element(id) { return document.getElementById(id); }

  function register(body) {
    return fetch("/api/user/register", {
      method: "POST", headers: { "content-type": "application/json" },
      body: JSON.stringify(body)
    });
  }

  async function initialise() {
    if (!isDespia) {
      identityReady = true;
      databaseSynced = true;
      return;
    }
    installId = despia.uuid;
    var source = "vault";
    try {
      var vault = await despia("readvault://?key=app_user_id", ["app_user_id"]);
      appUserId = vault.app_user_id;
    } catch (error) {
      appUserId = null;
    }
    if (!appUserId) {
      var data = await despia("getpurchasehistory://", ["restoredData"]);
      var entries = data.restoredData || [];
      var active = entries.find(function (entry) { return entry.isActive && entry.externalUserId; });
      var latest = entries.slice().sort(function (left, right) {
        return new Date(right.purchaseDate) - new Date(left.purchaseDate);
      })[0];
      var found = active || latest;
      if (found && found.externalUserId) {
        appUserId = found.externalUserId;
        source = "restore";
        await despia("setvault://?key=identity_locked&value=true&locked=false");
      } else {
        appUserId = installId;
        source = "new";
      }
    }
    await despia(`setvault://?key=app_user_id&value=${appUserId}&locked=false`);
    await despia(`setonesignalplayerid://?user_id=${appUserId}`);
    identityReady = true;
    try {
      await register({
        appUserId: appUserId, deviceId: installId, source: source, platform: platform,
        timestamp: new Date().toISOString()
      });
      databaseSynced = true;
    } catch (error) {
      var queue = JSON.parse(localStorage.getItem("registration_queue") || "[]");
      queue.push({ appUserId: appUserId, deviceId: installId });
      localStorage.setItem("registration_queue", JSON.stringify(queue));
      databaseSynced = true;
    }
  }

  async function openPaywall() {
    element("upgrade").textContent = "…";
    while (!identityReady || !databaseSynced) {
      await new Promise(function (done) { setTimeout(done, 50); });
    }
    await despia(`revenuecat://launchPaywall?external_id=${appUserId}&offering=premium`);
    element("upgrade").textContent = "Upgrade";
  }

  async function restorePurchases() {
    var data = await despia("getpurchasehistory://", ["restoredData"]);
    var entry = (data.restoredData || []).find(function (found) { return found.externalUserId; });
    if (!entry) { element("error").hidden = false; element("error").textContent = "Nothing found"; return; }
    await despia(`setvault://?key=app_user_id&value=${entry.externalUserId}&locked=false`);
    await despia("setvault://?key=identity_locked&value=true&locked=false");
    await despia(`setonesignalplayerid://?user_id=${entry.externalUserId}`);
    await register({
      appUserId: entry.externalUserId, deviceId: installId, source: "restore_button",
      timestamp: new Date().toISOString()
    });
    appUserId = entry.externalUserId;
  }

  async function login() {
    var response = await fetch("/api/user/login", {
      method: "POST", headers: { "content-type": "application/json" },
      body: JSON.stringify({
        accountId: element("account").value, currentAppUserId: appUserId,
        credentials: { password: element("password").value }
      })
    });
    if (!response.ok) { element("error").hidden = false; element("error").textContent = "Login failed"; return; }
    var result = await response.json();
    appUserId = result.appUserId;
    await despia(`setvault://?key=app_user_id&value=${appUserId}&locked=false`);
    await despia(`setonesignalplayerid://?user_id=${appUserId}`);
  }

  async function logout() {
    await despia("setvault://?key=identity_locked&value=false&locked=false");
    var next = `${despia.uuid}-${Date.now()}`;
    await despia(`setvault://?key=app_user_id&value=${next}&locked=false`);
    await despia(`setonesignalplayerid://?user_id=${next}`);
    await register({
      appUserId: next, deviceId: installId, source: "logout", timestamp: new Date().toISOString()
    });
    appUserId = next;
  }

  async function checkSubscription() {
    var data = await despia("getpurchasehistory://", ["restoredData"]);
    var active = (data.restoredData || []).find(function (entry) { return entry.isActive; });
    element("status").textContent = active ? "Active" : "Not subscribed";
    element("product").textContent = active ? String(active.productIdentifier) : "";
  }

  window.onRevenueCatPurchase = async function () {
    var response = await fetch("/api/user/access/" + appUserId);
    var body = await response.json();
    if (body.access) element("premium").hidden = false;
  };

  element("upgrade").addEventListener("click", openPaywall);
  element("restore").addEventListener("click", restorePurchases);
  element("login").addEventListener("click", login);
  element("logout").addEventListener("click", logout);
  element("show-status").addEventListener("click", checkSubscription);
  element("main").hidden = false;
  initialise().then(function () { element("loading").hidden = true; });
})();
