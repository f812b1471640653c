"""The live page in a real browser: it shows what happens as it happens, does what the control API
takes, turns no text into markup, and is nobody's but its own origin's."""

import http.server
import json
import os
import re
import signal
import subprocess
import os
import threading
import unittest

import requests

from browsing import Browser
from serving import BINARY, Serving
from test_control_api import Receiver

HOSTILE = '"><img src=x onerror=window.planted=1><script>window.planted=1</script>'
# RevenueCat takes it: no slash, and not one of the ids that it refuses.
HOSTILE_ID = "<img src=x onerror=window.planted=1>"


class Live(unittest.TestCase):
    environment = {}

    def setUp(self):
        self.receiver = Receiver()
        self.serving = Serving("--webhook", self.receiver.url, "--authorization", "Bearer t",
                               environment=self.environment)
        self.address = self.serving.urls["control"].removesuffix("/assay/v1")
        self.addCleanup(self.end)
        self.browser = Browser()
        self.addCleanup(self.browser.close)

    def end(self):
        status, errors = self.serving.stop()
        self.receiver.shutdown()
        self.receiver.server_close()
        self.assertEqual(status, 0, errors)

    def open(self):
        self.browser.open(self.address + "/")
        self.browser.wait("document.querySelector('#link').textContent === 'live'"
                          " && document.querySelectorAll('details.group').length > 5")

    def bodies(self):
        return [json.loads(body)["event"] for _, body in self.receiver.seen]

    def text(self, selector):
        return self.browser.value(f"document.querySelector('{selector}').textContent")

    def fill(self, group, title, **values):
        """Fills in the form of that title."""
        return self.browser.value("""(() => {
          const group = [...document.querySelectorAll('details.group')]
            .find(group => group.querySelector('summary').textContent === %s);
          group.open = true;
          const form = [...group.querySelectorAll('form')]
            .find(form => form.querySelector('h3').textContent === %s);
          for (const [name, value] of Object.entries(%s)) {
            const label = [...form.querySelectorAll('label')]
              .find(label => label.dataset.name === name && !label.hidden);
            const input = label.querySelector('input, select, textarea');
            input.value = value;
            input.dispatchEvent(new Event('input'));
          }
          form.requestSubmit();
        })()""" % (json.dumps(group), json.dumps(title), json.dumps(values)))

    def said(self, text):
        self.browser.wait("document.querySelector('#said').textContent.includes(%s)" % json.dumps(text))


class SlowReader(Live):
    def test_the_page_shows_that_entries_are_missing_and_reads_on(self):
        # The first stream of the page is one whose reader was too slow.
        self.browser.call("Page.addScriptToEvaluateOnNewDocument", source="""(() => {
          const whole = window.fetch;
          let isFirst = true;
          window.fetch = (address, options) => {
            if (!isFirst || !String(address).includes('/journal/stream')) return whole(address, options);
            isFirst = false;
            return Promise.resolve(new Response('{"cut_off": "the journal forgot entry 7"}\\n'));
          };
        })()""")
        self.browser.open(self.address + "/")
        self.browser.wait("document.querySelector('#link').textContent"
                          " === 'live, but entries are missing: the journal forgot entry 7'")
        self.serving.control("POST", "/store/purchase", {"user": "ada", "settle": True})
        self.browser.wait("document.querySelector('.row')?.textContent.includes('INITIAL_PURCHASE')")
        self.assertEqual(self.browser.problems(), [])


class Page(Live):
    def test_it_shows_what_happens_and_does_what_is_asked(self):
        self.open()
        self.fill("store", "Performs an action of a customer, a store or a developer.",
                  action="purchase", user="ada", product="pro_monthly", settle="true")
        self.browser.wait("document.querySelector('.row')?.textContent.includes('INITIAL_PURCHASE')")
        self.said("purchase: done")
        self.assertEqual([event["app_user_id"] for event in self.bodies()], ["ada"])
        # A call of the backend stands there with its effect.
        requests.post(self.serving.urls["onesignal"] + "/notifications", timeout=30,
                      headers={"authorization": "Key k"},
                      json={"app_id": "a55a4000-0000-4000-8000-000000000000", "target_channel": "push",
                            "include_aliases": {"external_id": ["ada"]}, "contents": {"en": "hi"}})
        self.browser.wait("document.querySelectorAll('.row').length === 2")
        self.assertIn("onesignal.notification", self.text("#rows li:last-child"))
        # Filters.
        self.browser.value("document.querySelector('#only-effects').click()")
        self.browser.wait("document.querySelectorAll('.row').length === 1")
        self.browser.value("document.querySelector('#only-effects').click()")
        # Resend, and edit and resend, from what was seen.
        self.browser.wait("document.querySelectorAll('.row').length === 2")
        self.browser.value("document.querySelector('.row').click()")
        self.browser.click("resend")
        self.browser.wait("document.querySelectorAll('.row').length === 3")
        self.browser.click("edit and resend")
        self.browser.wait("document.querySelector('#edit').open")
        self.browser.value("""(() => {
          const field = document.querySelector('#edit-body');
          const body = JSON.parse(field.value);
          body.event.price = 4.25;
          body.event.id = 'edited';
          field.value = JSON.stringify(body);
          document.querySelector('#edit-send').click();
        })()""")
        self.browser.wait("document.querySelectorAll('.row').length === 4")
        first, again, edited = self.bodies()
        self.assertEqual(first, again)
        self.assertEqual((edited["price"], edited["id"]), (4.25, "edited"))
        self.assertEqual({**edited, "price": first["price"], "id": first["id"]}, first)
        self.assertEqual(self.receiver.seen[-1][0]["Authorization"], "Bearer t")
        # What is sent by hand leaves the subscriber as it is.
        people = self.serving.control("GET", "/subscribers")["subscribers"]
        self.assertEqual([each["ids"] for each in people], [["ada"]])
        # The clock.
        before = self.serving.control("GET", "/clock")["now_ms"]
        self.browser.click("+30 d")
        self.said("clock +30 d: done")
        moved = self.serving.control("GET", "/clock")["now_ms"] - before
        self.assertGreaterEqual(moved, 30 * 86_400_000)
        # The life of a subscriber on that clock.
        self.browser.click("Subscribers")
        self.browser.wait("document.querySelectorAll('#people-list svg .tick').length >= 4")
        self.assertIn("RENEWAL", self.text("#people-list svg title"))
        self.assertEqual(self.browser.problems(), [])

    def test_one_button_sends_a_purchase_to_the_shown_webhook(self):
        self.open()
        self.browser.wait(f"document.querySelector('#target-url').value === {json.dumps(self.receiver.url)}")
        addresses = self.browser.value("[...document.querySelectorAll('#addresses code')].map(each => each.textContent)")
        for name in ("revenuecat", "onesignal", "firebase"):
            self.assertIn(self.serving.urls[name], addresses)
        self.browser.click("Send a purchase")
        self.browser.wait("document.querySelector('#quick-result').textContent === 'INITIAL_PURCHASE: delivered, 200'")
        self.assertEqual([event["app_user_id"] for event in self.bodies()], ["ada"])
        self.browser.wait("document.querySelector('.row .about')?.textContent.includes('user ada, ')")
        # The reason of a refusal is shown with the field that it is about.
        self.browser.value("""(() => {
          const field = name => document.querySelector(`#quick-fields [data-name=${name}]`);
          const action = field('action').querySelector('select');
          action.value = 'renew';
          action.dispatchEvent(new Event('input'));
          field('user').querySelector('input').value = 'nobody';
        })()""")
        self.browser.click("Send: renew")
        self.browser.wait("document.querySelector('#quick-fields [data-name=user] .problem').textContent"
                          ".includes(\"there is no customer 'nobody'\")")
        self.assertEqual(self.browser.value("document.querySelector('#quick-fields [data-name=user] input').ariaInvalid"),
                         "true")
        # A wrong address is refused, with the reason at the address.
        self.browser.value("""(() => {
          document.querySelector('#target-url').value = 'ftp://x';
          document.querySelector('#target').requestSubmit();
        })()""")
        self.browser.wait("document.querySelector('#target-problem').textContent !== ''")

    def test_every_action_of_store_device_and_fault_has_a_form(self):
        self.open()
        document = self.serving.control("GET", "/openapi.json")
        wanted = []
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                if method != "get":
                    wanted.append(operation["summary"])
        shown = self.browser.value("[...document.querySelectorAll('details.group h3')]"
                                   ".map(title => title.textContent)")
        self.assertEqual(set(wanted) - set(shown), set())
        words = self.browser.value("[...document.querySelectorAll('details.group option')]"
                                   ".map(option => option.textContent)")
        for word in ("billing-issue", "paywall/complete", "change-plan", "onesignal"):
            self.assertIn(word, words)
        # A fault by its form: the list may be written as people write lists.
        self.fill("faults", "Schedules the responses of a provider's fake to its next calls.",
                  provider="onesignal", responses="503, ok")
        self.said("onesignal: done")
        self.assertEqual(self.serving.control("GET", "/faults")["faults"]["onesignal"]["responses"],
                         [503, "ok"])
        # A snapshot is kept and put back.
        self.fill("state", "Saves a snapshot of a namespace.", name="before")
        self.said("Saves a snapshot of a namespace.: done")
        self.assertEqual(self.serving.control("GET", "/snapshots")["snapshots"], ["before"])
        # What is refused is told in the API's own words.
        self.fill("store", "Performs an action of a customer, a store or a developer.",
                  action="renew", user="nobody")
        self.said("there is no customer 'nobody'")

    def test_no_text_becomes_markup(self):
        control = self.serving.control
        control("PUT", "/namespaces/" + requests.utils.quote(HOSTILE, safe=""), {"ids": [HOSTILE]})
        for user in ("ada", HOSTILE_ID):
            control("POST", "/store/purchase", {"user": user, "product": "p" + user[:40], "settle": True})
        control("POST", "/device/second-device", {"name": HOSTILE[:60]})
        control("POST", "/snapshots/" + requests.utils.quote(HOSTILE, safe=""))
        control("POST", "/store/set-attributes", {"user": "ada", "attributes": {HOSTILE: HOSTILE}})
        control("POST", "/events", {"event": {"type": HOSTILE, "id": HOSTILE, "app_user_id": "ada"},
                                    "settle": True})
        requests.get(self.serving.urls["revenuecat"] + "/v1/subscribers/" + HOSTILE, timeout=30,
                     headers={"authorization": "Bearer k", "x-planted": HOSTILE})
        requests.post(self.serving.urls["onesignal"] + "/" + HOSTILE, data=HOSTILE, timeout=30)
        self.open()
        self.browser.value("document.querySelector('#namespace').value = '*';"
                           "document.querySelector('#namespace').dispatchEvent(new Event('input'))")
        self.browser.wait("document.querySelectorAll('.row').length >= 5")
        for number in range(self.browser.value("document.querySelectorAll('.row').length")):
            self.browser.value(f"document.querySelectorAll('.row')[{number}].click()")
            self.look_for_markup()
        self.browser.click("Subscribers")
        self.browser.wait("document.querySelectorAll('#people-list .card').length >= 2")
        self.look_for_markup()
        self.assertIn("<img src=x", self.text("#people-list"))
        self.browser.click("Events")
        self.browser.wait("document.querySelectorAll('#event-list .card').length >= 3")
        self.look_for_markup()
        self.assertEqual(self.browser.problems(), [])
        # The test can see it: what does become markup is found.
        self.browser.value("document.body.append(document.createElement('img'))")
        with self.assertRaises(AssertionError):
            self.look_for_markup()

    def look_for_markup(self):
        self.assertEqual(
            self.browser.value("[document.querySelectorAll('img, script:not([src])').length,"
                               " window.planted === undefined, document.title]"),
            [0, True, "Assay live"])

    def test_even_its_own_script_cannot_make_markup(self):
        self.open()
        for attempt in ("document.body.innerHTML = '<b>x</b>'", "document.write('<b>x</b>')",
                        "document.createElement('script').text = '1'"):
            refused = self.browser.value(
                "(() => { try { %s; return false; } catch { return true; } })()" % attempt)
            self.assertTrue(refused, attempt)

    def test_it_can_be_used_by_keyboard_and_by_name(self):
        for user in ("ada", "bob", "cleo"):
            self.serving.control("POST", "/store/purchase", {"user": user, "settle": True})
        self.open()
        self.browser.wait("document.querySelectorAll('.row').length === 3")
        focus = "document.activeElement.%s"
        # Only one row is a stop of the Tab key; arrows move it, Enter opens it.
        self.assertEqual(self.browser.value("document.querySelectorAll('.row[tabindex=\"0\"]').length"), 1)
        self.browser.value("document.querySelector('.row[tabindex=\"0\"]').focus()")
        self.browser.press("Home")
        self.assertEqual(self.browser.value(focus % "dataset.sequence"), "0")
        self.browser.press("ArrowDown")
        self.assertEqual(self.browser.value(focus % "dataset.sequence"), "1")
        self.browser.press("Enter", "\r")
        self.browser.wait("document.querySelector('.row[data-sequence=\"1\"]').ariaExpanded === 'true'")
        self.assertEqual(self.browser.value(focus % "dataset.sequence"), "1")
        self.browser.press("/", "/")
        self.assertEqual(self.browser.value(focus % "id"), "filter")
        self.browser.value("document.querySelector('#tab-traffic').focus()")
        self.browser.press("ArrowRight")
        self.assertEqual(self.browser.value(focus % "id"), "tab-people")
        self.browser.value("for (const each of document.querySelectorAll('details')) each.open = true")
        # Whatever can be focused has a name and a role for those who do not see it.
        nodes = self.browser.call("Accessibility.getFullAXTree")["nodes"]
        nameless = []
        for node in nodes:
            properties = {each["name"]: each["value"].get("value") for each in node.get("properties", [])}
            role = node.get("role", {}).get("value")
            if properties.get("focusable") and role not in ("RootWebArea", "generic", "complementary"):
                if not node.get("name", {}).get("value"):
                    nameless.append(role)
        self.assertEqual(nameless, [])
        roles = {node.get("role", {}).get("value") for node in nodes}
        self.assertTrue({"tab", "tabpanel", "main", "complementary", "status"} <= roles, roles)

    def test_it_is_nobody_elses(self):
        page = self.address + "/"
        html = {"accept": "text/html"}
        good = requests.get(page, headers=html, timeout=30)
        self.assertIn("text/html", good.headers["content-type"])
        self.assertIn("frame-ancestors 'none'", good.headers["content-security-policy"])
        # Programs are told in JSON, as ever.
        self.assertIn("control", requests.get(page, timeout=30).json())
        for path in ("/", "/live.js", "/live.css", "/assay/v1"):
            for wrong in ({"host": "rebound.example"}, {"origin": "http://evil.example"},
                          {"sec-fetch-site": "cross-site"}, {"origin": "null"}):
                answer = requests.get(self.address + path, headers={**html, **wrong}, timeout=30)
                self.assertEqual(answer.status_code, 403, (path, wrong))
        # A page of another origin reads nothing, moves nothing and frames nothing.
        other = Other(page)
        try:
            before = self.serving.control("GET", "/clock")["frozen"]
            self.browser.open(other.url)
            tried = self.browser.wait("window.tried")
            self.assertEqual(tried, {"read": "TypeError", "moved": "TypeError", "simple": "TypeError"})
            self.assertEqual(self.serving.control("GET", "/clock")["frozen"], before)
            self.assertEqual(self.serving.control("GET", "/snapshots")["snapshots"], [])
            self.browser.wait("document.querySelector('iframe').dataset.loaded")
            framed = self.browser.call("Page.getFrameTree")["frameTree"].get("childFrames", [])
            self.assertNotIn(page, [frame["frame"]["url"] for frame in framed])
        finally:
            other.close()

    def test_it_goes_on_with_the_next_process(self):
        self.serving.control("POST", "/store/purchase", {"user": "ada", "settle": True})
        self.open()
        self.browser.wait("document.querySelectorAll('.row').length === 1")
        port = self.address.rsplit(":", 1)[1]
        self.assertEqual(self.serving.stop()[0], 0)
        self.browser.wait("document.querySelector('#link').className === 'lost'")
        self.serving = Serving("--listen", f"control=127.0.0.1:{port}", "--webhook", self.receiver.url)
        for user in ("bob", "cleo"):
            self.serving.control("POST", "/store/purchase", {"user": user, "settle": True})
        self.browser.wait("document.querySelector('#link').textContent === 'live'"
                          " && document.querySelectorAll('.row').length === 2")
        self.browser.value("document.querySelector('.row').click()")
        self.browser.wait("document.querySelector('#rows').textContent.includes('bob')")


class Other:
    """A page of another origin that tries what a hostile one would."""

    def __init__(self, page):
        body = """<!doctype html><iframe></iframe><script>
          const page = %s;
          const frame = document.querySelector('iframe');
          frame.onload = () => { frame.dataset.loaded = 1; };
          frame.src = page;
          const name = work => work.then(() => 'done', error => error.name);
          Promise.all([
            name(fetch(page + 'assay/v1/journal')),
            name(fetch(page + 'assay/v1/clock', { method: 'PUT', body: '{"frozen": true}',
              headers: { 'content-type': 'application/json' } })),
            name(fetch(page + 'assay/v1/snapshots/planted', { method: 'POST' })),
          ]).then(([read, moved, simple]) => { window.tried = { read, moved, simple }; });
        </script>""" % json.dumps(page)

        class Answers(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/"

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Token(Live):
    environment = {"ASSAY_CONTROL_TOKEN": "let-me-in"}

    def test_a_token_is_demanded_and_asked_for(self):
        api = self.address + "/assay/v1"
        for headers in ({}, {"authorization": "Bearer other"}, {"authorization": "Basic let-me-in"}):
            answer = requests.get(api, headers=headers, timeout=30)
            self.assertEqual(answer.status_code, 401)
            self.assertEqual(answer.headers["www-authenticate"], "Bearer")
            self.assertNotIn("let-me-in", answer.text)
        right = {"authorization": "Bearer let-me-in"}
        self.assertEqual(requests.get(api, headers=right, timeout=30).status_code, 200)
        self.browser.open(self.address + "/")
        self.browser.wait("!document.querySelector('#ask').hidden")
        self.browser.value("document.querySelector('#token').value = 'let-me-in';"
                           "document.querySelector('#ask').requestSubmit()")
        self.browser.wait("document.querySelector('#link').textContent === 'live'"
                          " && document.querySelectorAll('details.group').length > 5"
                          " && document.querySelector('#ask').hidden")
        requests.post(api + "/store/purchase", headers=right, json={"user": "ada", "settle": True},
                      timeout=30)
        self.browser.wait("document.querySelectorAll('.row').length === 1")
        # The token stands in no address.
        self.assertNotIn("let-me-in", self.browser.value("location.href"))


class Kept(unittest.TestCase):
    def test_a_run_is_followed_and_its_backend_stands_until_it_is_ended(self):
        command = f"{BINARY} backend --port {{{{port}}}} --data {{{{data}}}}"
        variables = {k: v for k, v in os.environ.items() if not k.startswith("ASSAY_")}
        process = subprocess.Popen(
            [BINARY, "verify", "--keep", "--start", command, "--only", "revenuecat/idempotency",
             "--listen", "control=127.0.0.1:0"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=variables)
        guard = threading.Timer(300, process.kill)
        guard.start()
        self.addCleanup(guard.cancel)
        self.addCleanup(process.kill)
        lines = []
        for line in process.stderr:
            lines.append(line)
            if line.startswith("kept running: "):
                break
        address = re.search(r"^page +(http\S+)", "".join(lines), re.M).group(1)
        backend = re.search(r"^backend +(http\S+)", "".join(lines), re.M).group(1)
        browser = Browser()
        self.addCleanup(browser.close)
        browser.open(address)
        # What the cases did stands there, in namespaces of their own.
        browser.wait("document.querySelector('#link').textContent === 'live'"
                     " && document.querySelector('#namespace').value === '*'"
                     " && document.querySelectorAll('.row').length > 20")
        # From now on the fakes' events are the backend's.
        bought = requests.post(address + "assay/v1/store/purchase", timeout=60,
                               json={"user": "ada", "product": "pro_monthly", "settle": True}).json()
        self.assertEqual([each["state"] for each in bought["deliveries"]], ["delivered"])
        self.assertEqual(browser.problems(), [])
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=120)
        # It ends with what the run was worth, told before it was kept.
        self.assertIn("summary", output)
        self.assertIn(process.returncode, (0, 5), errors)
        with self.assertRaises(requests.ConnectionError):
            requests.get(backend, timeout=30)
        with self.assertRaises(requests.ConnectionError):
            requests.get(address, timeout=30)


if __name__ == "__main__":
    unittest.main()
