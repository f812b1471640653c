"""A page in a real Chromium, driven over its DevTools port: what a person would see and do."""

import asyncio
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading

import aiohttp

CHROMIUM = next(
    (name for name in ("chromium-headless-shell", "chromium") if shutil.which(name)), "chromium")
# Seconds after which something does not come any more, on however busy a machine.
PATIENCE = float(os.environ.get("PATIENCE", "120"))


class Gone(Exception):
    """The page went to another address while it was asked."""


class Browser:
    """One headless Chromium with one page; everything waits for what it names, and never for time."""

    def __init__(self, width=1280, height=900):
        self.folder = tempfile.mkdtemp(prefix="assay-browser-")
        self.process = subprocess.Popen(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0",
             f"--window-size={width},{height}", f"--user-data-dir={self.folder}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            start_new_session=True)
        # The browser says where it is to be reached.
        for line in self.process.stderr:
            found = re.search(r"ws://127\.0\.0\.1:(\d+)/", line)
            if found:
                break
        else:
            raise AssertionError("the browser did not start")
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        self.loop = asyncio.new_event_loop()
        self.run(self.connect(found.group(1)))

    def run(self, work):
        return self.loop.run_until_complete(asyncio.wait_for(work, PATIENCE))

    async def connect(self, port):
        self.session = aiohttp.ClientSession()
        async with self.session.get(f"http://127.0.0.1:{port}/json/list") as answer:
            page = next(target for target in await answer.json() if target["type"] == "page")
        self.socket = await self.session.ws_connect(page["webSocketDebuggerUrl"], max_msg_size=0)
        self.number = 0
        self.told = []
        for domain in ("Page", "Runtime", "Log"):
            await self.ask(domain + ".enable")

    async def ask(self, method, **parameters):
        self.number += 1
        number = self.number
        await self.socket.send_json({"id": number, "method": method, "params": parameters})
        async for message in self.socket:
            value = json.loads(message.data)
            if value.get("id") == number:
                if "navigated" in value.get("error", {}).get("message", ""):
                    raise Gone
                assert "error" not in value, value
                return value["result"]
            self.told.append(value)
        raise AssertionError("the browser is gone")

    def call(self, method, **parameters):
        return self.run(self.ask(method, **parameters))

    def open(self, url):
        self.call("Page.navigate", url=url)

    def value(self, expression):
        """What JavaScript gives; a promise is waited for."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True,
                           returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, condition):
        """Until the expression is true, at every frame; what it gives."""
        look = ("new Promise(done => { const look = () => { let value; try { value = (%s); }"
                " catch { value = false; } value ? done(value) : setTimeout(look, 20); }; look(); })"
                % condition)
        while True:
            try:
                return self.value(look)
            except Gone:
                pass
            except TimeoutError:
                raise AssertionError(f"in vain waited for {condition}; the page says: "
                                     + self.value("document.body.innerText")[:2000]) from None

    def click(self, text, within="document"):
        """Clicks the button of that text, as soon as it is there."""
        self.wait("(found => found && (found.click(), true))([...%s.querySelectorAll('button')]"
                  ".find(button => button.textContent === %s && !button.closest('[hidden]')))"
                  % (within, json.dumps(text)))

    def press(self, key, text=""):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                      **({"text": text} if text and kind == "keyDown" else {}))

    def picture(self, path):
        import base64
        pathlib.Path(path).write_bytes(
            base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def problems(self):
        """What the page's console holds of errors and of violations of its policy."""
        found = []
        for value in self.told:
            parameters = value.get("params", {})
            if value.get("method") == "Runtime.exceptionThrown":
                found.append(parameters["exceptionDetails"].get("text", "") + " "
                             + parameters["exceptionDetails"].get("exception", {}).get("description", ""))
            elif value.get("method") == "Log.entryAdded" and parameters["entry"]["level"] == "error":
                found.append(parameters["entry"]["text"] + " " + parameters["entry"].get("url", ""))
        return found

    def close(self):
        self.run(self.socket.close())
        self.run(self.session.close())
        self.loop.close()
        # What is called by that name may be a script around the browser.
        os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait(timeout=60)
        shutil.rmtree(self.folder, ignore_errors=True)
