// Simulates the Despia runtime in a browser. Load it before any other script of the page.
// The behavior and its reasons: Despia fact sheet, sections 1, 2 and 7.1. The server replaces
// `CONFIGURATION` with the state of the device and the connection to the fake.
(function (configuration) {
  "use strict";
  if (window.__assay || window.top !== window) return;

  var device = configuration.device;
  var isOffline = false;
  var count = 0;

  function tell(kind, content) {
    content.kind = kind;
    content.load = configuration.load;
    content.device = device.device;
    if (configuration.binding) {
      window[configuration.binding](JSON.stringify(content));
    }
  }

  // The time of the page starts here; the time before belongs to the browser.
  tell("start", {});

  // ---- Variables and callbacks from the native side

  function deliver(reply) {
    if (reply.kind === "variable") {
      // A plain assignment, because the despia-native package deletes these names.
      try { window[reply.name] = reply.value; } catch (error) { log("cannot write " + reply.name); }
      return;
    }
    var callback = window[reply.name];
    tell("called", { name: reply.name, exists: typeof callback === "function" });
    if (typeof callback !== "function") { log("the page has no function " + reply.name); return; }
    try {
      callback.apply(window, reply.arguments || []);
    } catch (error) {
      tell("error", { text: String(error && error.stack || error) });
      log(reply.name + " threw " + error);
    }
  }

  function apply(answer) {
    if (answer.killPage) { window.location.replace("about:blank"); return; }
    (answer.replies || []).forEach(function (reply) {
      if (reply.early) { deliver(reply); return; }
      // Never during the setter, because the package would erase the value.
      window.setTimeout(deliver, Math.max(1, reply.delay || 0), reply);
    });
    if (panel) panel.refresh();
  }

  // ---- Commands

  // The time of the task that is running, in milliseconds. Commands of one task have the same time,
  // and commands of different tasks have different times (fact sheet 1.2).
  var taskTime = 0;
  var isTaskKnown = false;

  function pageTime() {
    if (!isTaskKnown) {
      isTaskKnown = true;
      taskTime = Math.max(Math.round(performance.now()), taskTime + 1);
      // A port delivers its message in a later task, and no timer of the page can come before.
      var channel = new MessageChannel();
      channel.port1.onmessage = function () { isTaskKnown = false; channel.port1.close(); };
      channel.port2.postMessage(null);
    }
    return taskTime;
  }

  function envelope(text) {
    return JSON.stringify({
      command: text, device: device.device, load: configuration.load, page: pageTime()
    });
  }

  function call(method, path, body, isSynchronous) {
    var request = new XMLHttpRequest();
    request.open(method, configuration.bridge + path, !isSynchronous);
    // The type text/plain needs no CORS preflight.
    if (body) request.setRequestHeader("content-type", "text/plain");
    return new Promise(function (resolve) {
      function done() {
        try { resolve(JSON.parse(request.responseText)); } catch (error) { resolve({}); }
      }
      if (!isSynchronous) {
        request.onload = done;
        request.onerror = function () { log("Assay does not respond at " + configuration.bridge); resolve({}); };
      }
      request.send(body);
      if (isSynchronous) done();
    });
  }

  // The last commands, for the panel.
  var sent = [];

  function send(text) {
    sent = [text].concat(sent).slice(0, 5);
    var faults = configuration.faults || {};
    count += 1;
    if (configuration.binding) {
      tell("command", { command: text, page: pageTime() });
    } else if ((faults.early || []).indexOf(count) >= 0) {
      var request = new XMLHttpRequest();
      request.open("POST", configuration.bridge + "/bridge", false);
      request.setRequestHeader("content-type", "text/plain");
      request.send(envelope(text));
      apply(JSON.parse(request.responseText));
    } else {
      call("POST", "/bridge", envelope(text)).then(apply);
    }
    if ((faults.setterThrows || []).indexOf(count) >= 0) throw new Error("planned fault");
  }

  // The user may have switched to another device on the panel.
  var chosen = configuration.bridge && window.sessionStorage.getItem("assay-device");
  if (chosen && chosen !== device.device) {
    var question = new XMLHttpRequest();
    question.open("GET", configuration.bridge + "/device?device=" + encodeURIComponent(chosen), false);
    question.send();
    if (question.status === 200) device = JSON.parse(question.responseText);
  }

  // ---- The window as the runtime prepares it

  Object.defineProperty(navigator, "userAgent", {
    configurable: true, get: function () { return device.userAgent; }
  });

  if (device.uaPreset === "browser" && configuration.binding) {
    // Without the runtime a command is a plain global; the program that drives the browser is notified.
    var plain;
    Object.defineProperty(window, "despia", {
      configurable: true,
      get: function () { return plain; },
      set: function (value) {
        plain = value;
        if (typeof value === "string") tell("command", { command: value, page: 0 });
      }
    });
  } else if (device.uaPreset !== "browser") {
    var assigned;
    Object.defineProperty(window, "despia", {
      configurable: true,
      get: function () { return assigned; },
      set: function (value) {
        // The package may assign its function to the same name.
        if (typeof value === "string") send(value); else assigned = value;
      }
    });
    Object.keys(device.globals || {}).forEach(function (name) {
      var delay = (device.globalDelays || {})[name] || 0;
      if (delay > 0) {
        window.setTimeout(function () { window[name] = device.globals[name]; }, delay);
      } else {
        window[name] = device.globals[name];
      }
    });
    document.addEventListener("DOMContentLoaded", function () {
      document.documentElement.style.setProperty("--safe-area-top", "47px");
      document.documentElement.style.setProperty("--safe-area-bottom", "34px");
    });
  }

  window.addEventListener("error", function (event) {
    tell("error", { text: String(event.message) });
  });
  window.addEventListener("unhandledrejection", function (event) {
    tell("error", { text: "unhandled: " + String(event.reason) });
  });

  function log(text) {
    if (window.console && configuration.logs) console.info("assay: " + text);
  }

  Object.defineProperty(window, "__assay", { value: Object.freeze({ apply: apply }) });

  // ---- The panel

  var panel = configuration.panel ? makePanel() : null;

  function makePanel() {
    var root, state, status;

    function button(label, action) {
      var element = document.createElement("button");
      element.textContent = label;
      element.addEventListener("click", action);
      return element;
    }

    function operate(path, body) {
      var content = Object.assign({ device: device.device }, body || {});
      return call("POST", "/device/" + path, JSON.stringify(content)).then(function (answer) {
        status.textContent = answer.error || "";
        apply(answer);
        return answer;
      });
    }

    function start(name) {
      window.sessionStorage.setItem("assay-device", name);
      window.location.reload();
    }

    function setOffline(value) {
      isOffline = value;
      Object.defineProperty(navigator, "onLine", {
        configurable: true, get: function () { return !isOffline; }
      });
      window.dispatchEvent(new Event(isOffline ? "offline" : "online"));
    }

    function interceptNetwork() {
      var fetch = window.fetch;
      window.fetch = function (input) {
        var url = String(input && input.url || input);
        if (isOffline && url.indexOf(configuration.bridge) !== 0) {
          return Promise.reject(new TypeError("Failed to fetch"));
        }
        return fetch.apply(window, arguments);
      };
      var open = XMLHttpRequest.prototype.open;
      var sendRequest = XMLHttpRequest.prototype.send;
      XMLHttpRequest.prototype.open = function (method, url) {
        this.__assayOwn = String(url).indexOf(configuration.bridge) === 0;
        return open.apply(this, arguments);
      };
      XMLHttpRequest.prototype.send = function () {
        var request = this;
        if (isOffline && !request.__assayOwn) {
          window.setTimeout(function () { request.dispatchEvent(new ProgressEvent("error")); }, 1);
          return undefined;
        }
        return sendRequest.apply(request, arguments);
      };
    }

    function build() {
      var host = document.createElement("div");
      host.setAttribute("data-assay", "panel");
      root = host.attachShadow({ mode: "open" });
      root.innerHTML =
        "<style>:host{all:initial}section{position:fixed;right:12px;bottom:12px;z-index:2147483647;" +
        "width:270px;font:12px/1.45 system-ui,sans-serif;color:#14202b;background:#fff;" +
        "border:1px solid #b9c4cf;border-radius:10px;box-shadow:0 4px 18px #0003;overflow:hidden}" +
        "header{display:flex;justify-content:space-between;padding:8px 12px;background:#14202b;" +
        "color:#fff;font-weight:600;cursor:pointer}dl{display:grid;grid-template-columns:auto 1fr;" +
        "gap:2px 10px;margin:10px 12px}dt{color:#5b6b7a}dd{margin:0;overflow:hidden;" +
        "text-overflow:ellipsis;white-space:nowrap}nav{display:grid;grid-template-columns:1fr 1fr;" +
        "gap:6px;padding:0 12px 10px}button{font:inherit;padding:5px;border:1px solid #b9c4cf;" +
        "border-radius:6px;background:#f4f7fa;cursor:pointer}button:disabled{color:#8fa0b0;" +
        "cursor:default}p{margin:0;padding:0 12px 8px;color:#a3261b;min-height:0}" +
        ".closed dl,.closed ol,.closed nav,.closed p{display:none}" +
        "ol{margin:0;padding:0 12px 10px 28px;color:#5b6b7a}li{overflow:hidden;" +
        "text-overflow:ellipsis;white-space:nowrap}" +
        "<\/style>" +
        "<section><header><span>Assay phone</span><span>▾</span></header><dl></dl><ol></ol><nav></nav>" +
        "<p role=status></p></section>";
      var section = root.querySelector("section");
      state = root.querySelector("dl");
      status = root.querySelector("p");
      root.querySelector("header").addEventListener("click", function () {
        section.classList.toggle("closed");
      });
      var purchase = button("purchase", function () { operate("paywall/complete"); });
      var cancel = button("cancel", function () { operate("paywall/cancel"); });
      var offline = button("go offline", function () {
        setOffline(!isOffline);
        offline.textContent = isOffline ? "go online" : "go offline";
      });
      root.querySelector("nav").append(
        purchase, cancel,
        button("restore", function () { operate("center/restore"); }),
        button("reinstall", function () {
          operate("reinstall").then(function () {
            window.localStorage.clear();
            start(device.device);
          });
        }),
        button("second device", function () {
          var name = device.device === "main" ? "second" : "main";
          if (name === "main") { start(name); return; }
          operate("second-device", { name: name }).then(function () { start(name); });
        }),
        offline
      );
      panelButtons = [purchase, cancel];
      document.documentElement.appendChild(host);
      refresh();
    }

    var panelButtons = [];

    function refresh() {
      if (!root) return;
      call("GET", "/device?device=" + encodeURIComponent(device.device)).then(function (shown) {
        if (!shown.vaultLocal) return;
        var rows = [
          ["device", shown.device + " · " + shown.uaPreset], ["install", shown.installUuid || "–"],
          ["OneSignal", shown.externalId || "–"],
          ["paywall", shown.paywall.open
            ? "open for " + (shown.paywall.externalId || "no user ID") : "closed"],
          ["purchases", String(shown.history.length)]
        ];
        Object.keys(shown.vaultLocal).forEach(function (key) {
          var item = shown.vaultLocal[key];
          rows.push([key, item.value + (item.locked ? " (locked)" : "")]);
        });
        state.textContent = "";
        rows.forEach(function (row) {
          var name = document.createElement("dt"), value = document.createElement("dd");
          name.textContent = row[0];
          value.textContent = value.title = row[1];
          state.append(name, value);
        });
        // The last command is listed first.
        var list = root.querySelector("ol");
        list.textContent = "";
        sent.forEach(function (text) {
          var line = document.createElement("li");
          line.textContent = line.title = text;
          list.append(line);
        });
        panelButtons.forEach(function (element) { element.disabled = !shown.paywall.open; });
      });
    }

    interceptNetwork();
    if (document.readyState === "loading") {
      document.addEventListener("DOMContentLoaded", build);
    } else {
      build();
    }
    return { refresh: refresh };
  }
})(CONFIGURATION);
