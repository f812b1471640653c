// A double of the `despia-native` package at 1.0.28, which no registry here can provide. It was
// written from the Despia fact sheet, section 1; `test_app.py` holds it against that section point
// by point.
(function (root, factory) {
  if (typeof define === "function" && define.amd) define([], factory);
  else if (typeof module === "object" && module.exports) module.exports = factory();
  else root.despia = factory();
})(typeof self !== "undefined" ? self : this, function () {
  "use strict";

  var queue = [];
  var isSending = false;

  // 1.2: one at a time, the first at once, the next a millisecond later.
  function drain() {
    if (isSending || queue.length === 0) return;
    isSending = true;
    var command = queue.shift();
    try {
      window.despia = command;
    } catch (error) {
      console.error("Despia command failed:", error);
    }
    setTimeout(function () {
      isSending = false;
      drain();
    }, 1);
  }

  function clear(name) {
    try {
      if (!delete window[name]) window[name] = undefined;
    } catch (error) {
      window[name] = undefined;
    }
  }

  function signature(value) {
    try {
      return JSON.stringify(value);
    } catch (error) {
      return String(value);
    }
  }

  function isEmpty(value) {
    if (Array.isArray(value)) return value.length === 0;
    return typeof value === "object" && value !== null && Object.keys(value).length === 0;
  }

  // 1.4: one name is polled every 100 ms for 30 s; `null` is a result, placeholders are none.
  function observeOne(name) {
    return new Promise(function (resolve) {
      var first = window[name];
      var firstSignature = signature(first);
      var started = Date.now();
      function isDone() {
        var value = window[name];
        if (value === undefined || value === "n/a" || isEmpty(value)) return false;
        return value === null || value !== first || signature(value) !== firstSignature;
      }
      function look() {
        var result = {};
        if (isDone()) {
          result[name] = window[name];
          resolve(result);
        } else if (Date.now() - started >= 30000) {
          console.error("Despia timeout:", name);
          result[name] = undefined;
          resolve(result);
        } else {
          setTimeout(look, 100);
        }
      }
      look();
    });
  }

  // 1.4: several names wait for a mutation that never comes, or for the next second, up to 300 s.
  function observeMany(names) {
    return new Promise(function (resolve, reject) {
      var marker = document.createElement("div");
      var timer, end;
      marker.style.display = "none";
      try {
        document.body.appendChild(marker);
      } catch (error) {
        reject(error instanceof TypeError ? error : new TypeError(String(error)));
        return;
      }
      function look() {
        var isReady = names.every(function (name) {
          return window[name] !== undefined && window[name] !== "n/a" && window[name] !== null;
        });
        if (!isReady) return;
        var result = {};
        names.forEach(function (name) { result[name] = window[name]; });
        finish(result);
      }
      function finish(result) {
        clearInterval(timer);
        clearTimeout(end);
        observer.disconnect();
        marker.remove();
        resolve(result);
      }
      var debounce;
      var observer = new MutationObserver(function () {
        clearTimeout(debounce);
        debounce = setTimeout(look, 100);
      });
      observer.observe(marker, { attributes: true });
      timer = setInterval(look, 1000);
      end = setTimeout(function () { finish({}); }, 300000);
      look();
    });
  }

  function despia(command, watch) {
    var names = watch || [];
    if (names.length > 0) void window;
    if (typeof window === "undefined") return Promise.resolve(undefined);
    queue.push(command);
    drain();
    // After the command is out, and before anybody looks: a reply in the setter's turn is lost.
    names.forEach(clear);
    if (names.length === 0) return Promise.resolve(undefined);
    return names.length === 1 ? observeOne(names[0]) : observeMany(names);
  }

  // 1.5: what the function has, then what the window has.
  return new Proxy(despia, {
    get: function (target, name) {
      if (typeof name === "symbol" || name === "then" || name in target) return target[name];
      return name in window ? window[name] : undefined;
    }
  });
});
