"""`assay doctor --against-live` before a second instance of the fake that plays the live service, as it is and with
differences that are planted on the way."""

import http.server
import json
import os
import signal
import socket
import subprocess
import threading
import unittest

import requests

from serving import BINARY, Serving

APP = "a55a4000-0000-4000-8000-000000000000"


class Between:
    """Hands calls on, and changes answers by the path's ending."""

    def __init__(self, url, plans):
        self.seen = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self):
                outer.seen.append((self.command, self.path, self.headers.get("Authorization")))
                got = requests.request(self.command, url + self.path, headers=dict(self.headers), timeout=30)
                status, body = got.status_code, got.content
                for ending, plan in plans.items():
                    if self.path.split("?")[0].endswith(ending):
                        if isinstance(plan, int):
                            status, body = plan, b"{}"
                        else:
                            value = json.loads(body)
                            plan(value)
                            body = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = answer

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class Drift(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.serving = Serving("--revenuecat-key", "sk_live", "--onesignal-key", "os_live")
        for product, store in [("premium_monthly", "PLAY_STORE"), ("coins_100", "APP_STORE")]:
            cls.serving.control("POST", "/store/purchase", {"user": "carla", "product": product, "store": store})
        requests.post(f"{cls.serving.urls['onesignal']}/apps/{APP}/users", headers={"Authorization": "Key os_live"}, timeout=30,
                      json={"identity": {"external_id": "carla"}, "subscriptions": [{"type": "Email", "token": "c@example.com"}]})

    @classmethod
    def tearDownClass(cls):
        cls.serving.stop()

    def run_doctor(self, service, plans=None, *arguments, key="sk_live", **variables):
        between = Between(self.serving.urls[service], plans or {})
        try:
            result = subprocess.run(
                [BINARY, "doctor", "--against-live", f"{service}={between.url}", *arguments],
                env=os.environ | {"ASSAY_LIVE_KEY": key} | variables, capture_output=True, text=True, timeout=120)
        finally:
            between.stop()
        for secret in ("sk_live", "os_live", "carla"):
            self.assertNotIn(secret, result.stdout + result.stderr)
        self.assertEqual({method for method, _, _ in between.seen} - {"GET"}, set(), "it reads only")
        return result, between.seen

    def test_the_same_service_is_alike(self):
        result, seen = self.run_doctor("revenuecat")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn(" 0 differ", result.stdout)
        self.assertGreater(len(seen), 25)
        self.assertEqual({authorization for _, _, authorization in seen}, {"Bearer sk_live"})
        result, _ = self.run_doctor("onesignal", None, "--live", f"app_id={APP}", "--live", "alias_label=external_id",
                                    "--live", "alias_id=carla", key="os_live")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_what_is_planted_is_found(self):
        def customer(value):
            value["experiment"] = {"id": "x"}
            del value["first_seen_at"]
            value["last_seen_at"] = "yesterday"

        result, _ = self.run_doctor("revenuecat", {"/customers/carla": customer, "/offerings": 500})
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        for line in [
                "differs GET /v2/projects/{project_id}/customers/{customer_id}\n",
                "/experiment: an object, only in the live service",
                "/first_seen_at: a number, only in the fake",
                "/last_seen_at: a string in the live service, a number in the fake",
                "differs GET /v2/projects/{project_id}/offerings\n        status 500 from the live service, 200 from the fake"]:
            self.assertIn(line, result.stdout)
        self.assertLess(max(map(len, result.stdout.splitlines())), 101)

    def test_a_service_that_says_nothing_is_left_by_ctrl_c(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            doctor = subprocess.Popen(
                [BINARY, "doctor", "--against-live", f"revenuecat=http://127.0.0.1:{silent.getsockname()[1]}"],
                env=os.environ | {"ASSAY_LIVE_KEY": "k"}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            connection, _ = silent.accept()
            doctor.send_signal(signal.SIGINT)
            _, errors = doctor.communicate(timeout=60)
            connection.close()
        self.assertEqual(doctor.returncode, 130, errors)
        self.assertNotIn("Cancellation", errors)

    def test_who_is_refused_or_cannot_be_reached(self):
        result, _ = self.run_doctor("revenuecat", key="wrong")
        self.assertEqual(result.returncode, 5, result.stdout + result.stderr)
        self.assertIn("no response could be compared", result.stderr)
        for arguments, code, text in [
                (["revenuecat"], 2, "is not SERVICE=URL"),
                (["firebase=https://x.example"], 2, "the services are"),
                (["revenuecat=nonsense"], 2, "is not a URL"),
                (["revenuecat=http://api.example.com"], 2, "use an https URL"),
                (["revenuecat=http://127.0.0.1:1"], 6, "127.0.0.1"),
                (["revenuecat=http://127.0.0.1:1", "--live", "ap_id=x"], 2, "did you mean 'app_id'"),
                (["revenuecat=http://127.0.0.1:1", "--live", "app_id"], 2, "is not NAME=VALUE"),
                (["revenuecat=http://127.0.0.1:1/v?x=1"], 2, "remove the query"),
                (["revenuecat=http://127.0.0.1:1", "--write", "x.yaml"], 2, "remove --write")]:
            result = subprocess.run([BINARY, "doctor", "--against-live", *arguments], capture_output=True, text=True, timeout=60,
                                    env={k: v for k, v in os.environ.items() if k != "CI"} | {"ASSAY_LIVE_KEY": "k"})
            self.assertIn(text, result.stderr, arguments)
            self.assertEqual(result.returncode, code, arguments)
        for engine in ("CI", "TF_BUILD", "JENKINS_URL"):
            result = subprocess.run(
                [BINARY, "doctor", "--against-live", "revenuecat=https://api.example.invalid"], timeout=60, capture_output=True,
                text=True, env={k: v for k, v in os.environ.items() if k != "CI"} | {"ASSAY_LIVE_KEY": "k", engine: "true"})
            self.assertEqual((result.returncode, "does not run in CI" in result.stderr), (2, True))
        result = subprocess.run([BINARY, "doctor", "--against-live", "revenuecat=http://127.0.0.1:1"], timeout=60,
                                capture_output=True, text=True, env={k: v for k, v in os.environ.items() if k != "ASSAY_LIVE_KEY"})
        self.assertEqual((result.returncode, "ASSAY_LIVE_KEY" in result.stderr), (2, True))


if __name__ == "__main__":
    unittest.main()
