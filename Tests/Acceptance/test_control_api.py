"""The control API against its own description, judged by an independent validator; and the parties
together: store, webhook, clock, resend, snapshot, saved state."""

import hashlib
import hmac
import http.server
import json
import os
import re
import signal
import tempfile
import threading
import time
import unittest

import requests
from openapi_spec_validator import validate

from serving import Serving


class Receiver(http.server.ThreadingHTTPServer):
    """A webhook that answers what it is told to and remembers what came."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.statuses = []
        self.seen = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/hook"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.seen.append((dict(self.headers), body))
        self.send_response(self.server.statuses.pop(0) if self.server.statuses else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        pass


class ControlAPI(unittest.TestCase):
    def setUp(self):
        self.receiver = Receiver()
        self.serving = Serving("--webhook", self.receiver.url, "--authorization", "Bearer t",
                               "--signing-secret", "whsec_test")

    def tearDown(self):
        status, errors = self.serving.stop()
        self.receiver.shutdown()
        self.receiver.server_close()
        self.assertEqual(status, 0, errors)

    def types(self):
        return [json.loads(body)["event"]["type"] for _, body in self.receiver.seen]

    def test_description(self):
        document = self.serving.control("GET", "/openapi.json")
        validate(document)
        operations = [operation for path in document["paths"].values() for operation in path]
        self.assertGreater(len(operations), 35)

    def test_every_described_operation_is_there(self):
        document = self.serving.control("GET", "/openapi.json")
        base = self.serving.urls["control"].removesuffix("/assay/v1")
        for path, methods in document["paths"].items():
            for method in methods:
                url = base + path.replace("{", "").replace("}", "")
                with requests.request(method, url, json={} if method != "get" else None,
                                      timeout=30, stream=True) as answer:
                    if answer.status_code == 404:
                        # A thing that is not there, and not an address that is not.
                        self.assertNotIn("there is no " + method.upper(), answer.text)
                    self.assertNotIn(answer.status_code, [405, 500, 501], (method, path))
        unknown = requests.get(base + "/assay/v1/nothing", timeout=30)
        self.assertEqual(unknown.status_code, 404)
        self.assertIn("hint", unknown.json())
        self.assertEqual(requests.delete(base + "/assay/v1/clock", timeout=30).status_code, 405)

    def test_ladder_and_resend(self):
        self.receiver.statuses = [500, 202]
        began = int(time.time())
        bought = self.serving.control("POST", "/store/purchase", {"user": "ada", "settle": True})
        self.assertEqual(bought["deliveries"][0]["state"], "waiting")
        done = self.serving.control("POST", "/clock/advance", {"until": "settled"})
        self.assertEqual((done["attempts"], done["settled"]), (2, True))
        self.assertAlmostEqual(done["ahead_ms"], 15 * 60 * 1000, delta=30_000)
        bodies = {body for _, body in self.receiver.seen}
        self.assertEqual((len(self.receiver.seen), len(bodies)), (3, 1))
        # The fakes' clock is a quarter of an hour ahead; whoever looks at a signature's age is not.
        for headers, body in self.receiver.seen:
            signature = headers["X-RevenueCat-Webhook-Signature"]
            moment, code = re.fullmatch(r"t=(\d+),v1=([0-9a-f]{64})", signature).groups()
            self.assertTrue(began <= int(moment) <= time.time(), signature)
            signed = moment.encode() + b"." + (body if isinstance(body, bytes) else body.encode())
            self.assertEqual(hmac.new(b"whsec_test", signed, hashlib.sha256).hexdigest(), code)
        self.assertEqual({h["Authorization"] for h, _ in self.receiver.seen}, {"Bearer t"})
        event = bought["events"][0]["id"]
        self.serving.control("POST", f"/deliveries/{event}/resend", {})
        self.assertEqual(len(self.receiver.seen), 4)
        self.serving.control("POST", "/deliveries/unknown/resend", {}, expect=404)

    def test_time_renews(self):
        self.serving.control("POST", "/store/purchase", {"user": "ada", "settle": True})
        self.serving.advance("61d")
        self.assertEqual(self.types(), ["INITIAL_PURCHASE", "RENEWAL", "RENEWAL"])
        self.serving.control("POST", "/store/cancel", {"user": "ada"})
        self.serving.advance("31d")
        self.assertEqual(self.types()[3:], ["CANCELLATION", "EXPIRATION"])

    def test_snapshot_restore_fork(self):
        self.serving.control("POST", "/store/purchase", {"user": "ada"})
        self.serving.control("POST", "/snapshots/bought", {})
        self.serving.control("POST", "/store/refund", {"user": "ada"})
        fork = {"to": "other"}
        self.serving.control("POST", "/snapshots/bought/fork", fork)
        other = self.serving.control("GET", "/store/customers/ada?namespace=other")
        now = self.serving.control("GET", "/store/customers/ada")
        refunded = lambda info: info["subscriber"]["subscriptions"]["premium_monthly"]["refunded_at"]
        self.assertIsNone(refunded(other))
        self.assertIsNotNone(refunded(now))
        self.serving.control("POST", "/snapshots/bought/restore", {})
        self.assertIsNone(refunded(self.serving.control("GET", "/store/customers/ada")))
        self.serving.control("POST", "/snapshots/none/restore", {}, expect=404)

    def test_namespaces(self):
        self.serving.control("PUT", "/namespaces/red", {"ids": ["ruby"]})
        rest = self.serving.urls["revenuecat"]
        requests.get(rest + "/v1/subscribers/ruby", timeout=30)
        requests.get(rest + "/v1/subscribers/stranger", timeout=30)
        red = self.serving.control("GET", "/journal?namespace=red&party=revenuecat")["entries"]
        self.assertEqual([e["request"]["target"] for e in red], ["/v1/subscribers/ruby"])
        self.serving.control("GET", "/store/customers/ruby", expect=404)
        self.serving.control("GET", "/store/customers/ruby?namespace=red")
        self.serving.control("POST", "/reset?namespace=red", {})
        self.serving.control("GET", "/store/customers/ruby?namespace=red", expect=404)
        self.serving.control("DELETE", "/namespaces/red", None)
        self.serving.control("GET", "/clock?namespace=red", expect=404)

    def test_journal_stream(self):
        url = self.serving.urls["control"] + "/journal/stream?after=-1"
        rest = self.serving.urls["revenuecat"]
        requests.get(rest + "/v1/subscribers/before", timeout=30)
        with requests.get(url, stream=True, timeout=30) as stream:
            lines = stream.iter_lines()
            self.assertIn("before", json.loads(next(lines))["request"]["target"])
            requests.get(rest + "/v1/subscribers/after", timeout=30,
                         headers={"Authorization": "Bearer sk_planted_secret"})
            line = next(lines).decode()
            self.assertIn("after", line)
            self.assertNotIn("planted_secret", line)

    def test_refused_connections(self):
        fake = self.serving.urls["onesignal"]
        session = requests.Session()
        session.get(fake, timeout=30)
        self.serving.control("PUT", "/faults/onesignal", {"refused": True})
        for caller in [requests, session]:
            with self.assertRaises(requests.ConnectionError):
                caller.get(fake, timeout=30)
        self.assertEqual(self.serving.control("GET", "/faults")["refused"], ["onesignal"])
        self.serving.control("DELETE", "/faults", None)
        self.assertEqual(session.get(fake, timeout=30).status_code, 404)

    def test_read_faults(self):
        rest = self.serving.urls["revenuecat"] + "/v1/subscribers/ada"
        plan = {"responses": [503, 429, "truncated-response", "malformed"], "reads": True}
        self.serving.control("PUT", "/faults/revenuecat", plan)
        self.assertEqual(requests.get(rest, timeout=30).status_code, 503)
        limited = requests.get(rest, timeout=30)
        self.assertEqual((limited.status_code, limited.headers["Retry-After"]), (429, "1000"))
        with self.assertRaises(requests.RequestException):
            requests.get(rest, timeout=30)
        with self.assertRaises(requests.RequestException):
            requests.get(rest, timeout=30).json()
        self.assertEqual(requests.get(rest, timeout=30).status_code, 200)

    def test_browsers_are_refused(self):
        url = self.serving.urls["control"]
        for headers in [{"Origin": "https://evil.example"}, {"Host": "evil.example"},
                        {"Sec-Fetch-Site": "cross-site"}]:
            answer = requests.get(url, headers=headers, timeout=30)
            self.assertEqual(answer.status_code, 403, headers)

    def test_what_was_exported_comes_back_however_deep_it_is(self):
        serving = Serving()
        try:
            deep = "x"
            for _ in range(58):
                deep = {"a": deep}
            app = "a55a4000-0000-4000-8000-000000000000"
            sent = requests.post(serving.urls["onesignal"] + "/notifications", timeout=30, json={
                "app_id": app, "contents": {"en": "Hi"}, "included_segments": ["All"], "data": deep})
            self.assertEqual(sent.status_code, 200, sent.text)
            saved = serving.control("GET", "/export")
            serving.control("POST", "/reset", {})
            serving.control("POST", "/import", saved)
            listed = requests.get(f"{serving.urls['onesignal']}/notifications?app_id={app}", timeout=30).json()
            self.assertEqual(listed["notifications"][0]["data"], deep)
        finally:
            serving.stop()

    def test_saved_state(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "state.json")
            first = Serving("--export-on-exit", path, "--revenuecat-key", "sk_planted")
            first.control("POST", "/store/purchase", {"user": "ada"})
            made = requests.post(first.urls["firebase"] + "/v1/accounts:signUp?key=k",
                                 json={"email": "a@b.c", "password": "secret1"}, timeout=30).json()
            first.process.send_signal(signal.SIGINT)
            self.assertEqual(first.process.wait(timeout=30), 0)
            first.stop()
            with open(path) as file:
                self.assertNotIn("sk_planted", file.read())
            second = Serving("--import", path)
            info = second.control("GET", "/store/customers/ada")
            self.assertIn("premium", info["subscriber"]["entitlements"])
            found = requests.post(second.urls["firebase"] + "/v1/accounts:lookup?key=k",
                                  json={"idToken": made["idToken"]}, timeout=30).json()
            self.assertEqual(found["users"][0]["email"], "a@b.c")
            self.assertEqual(second.stop()[0], 0)


if __name__ == "__main__":
    unittest.main()
