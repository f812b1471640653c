"""Recording in front of a backend that shares no code with Assay, and everything that follows."""

import glob
import hashlib
import hmac
import http.client
import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse

import requests

from serving import BINARY

HERE = pathlib.Path(__file__).resolve().parent
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("ASSAY_")}
SECRETS = [
    "planted-gzip-secret", "planted-password-1", "planted@example.org", "planted-device-7",
    "planted-cookie-3", "planted-echo-token-9",
]


def profile(defect=""):
    return f"""
assay: 1
start:
  command: exec '{sys.executable}' '{HERE}/shop.py' {{{{port}}}} {defect}
  ready: GET /healthz
endpoints:
  revenuecat-webhook: POST /hooks/rc
features: {{except: [signature]}}
redact: [echo-token]
"""


def assay(folder, *arguments, expect=0, **options):
    result = subprocess.run(
        [BINARY, *arguments], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True,
        timeout=120, **options,
    )
    assert result.returncode == expect, (arguments, result.returncode, result.stdout, result.stderr)
    return result.stdout + result.stderr


class Recorder:
    def __init__(self, folder, scenario, *arguments):
        self.errors = open(os.path.join(folder, "record.err"), "w+")
        listen = [
            part for name in ("", "control=", "revenuecat=", "onesignal=", "firebase=",
                              "purchasely=", "despia=")
            for part in ("--listen", f"{name}127.0.0.1:0")
        ]
        self.process = subprocess.Popen(
            [BINARY, "record", *listen, *arguments, scenario],
            cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=self.errors, text=True,
        )
        guard = threading.Timer(60, self.process.kill)
        guard.start()
        self.urls = {}
        for line in self.process.stdout:
            words = line.split()
            self.urls[words[0]] = words[1]
            if words[0] == "proxy":
                self.backend = words[-1]
            if words[0] == "recording":
                break
        guard.cancel()
        if "recording" not in self.urls:
            self.errors.seek(0)
            raise RuntimeError("assay record did not start: " + self.errors.read())
        self.proxy = self.urls["proxy"]

    def stop(self, number=signal.SIGINT):
        self.process.send_signal(number)
        status = self.process.wait(timeout=60)
        self.process.stdout.close()
        self.errors.close()
        return status


def lines(folder, scenario):
    text = pathlib.Path(folder, scenario, "recording.ndjson").read_text()
    return [json.loads(line) for line in text.splitlines()]


class WholeRound(unittest.TestCase):
    """Record, distill, review, replay; green on the backend, red on eleven that changed."""

    defects = {
        "other-status": "E101", "locked-out": "E106", "late-expiry": "E106", "wrong-plan": "E106",
        "field-renamed": "E106", "number-as-text": "E106", "no-dedupe": "E2", "other-words": "E211",
        "silent": "E2", "wrong-person": "E211", "others-too": "E211",
    }

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="assay-round-")
        cls.write("")
        cls.record("recordings/shop/first-purchase")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def write(cls, defect):
        pathlib.Path(cls.folder, "assay.yaml").write_text(profile(defect))

    @classmethod
    def record(cls, scenario):
        recorder = Recorder(cls.folder, scenario)
        try:
            curl = ["curl", "-sS", "--fail-with-body", "-m", "20"]
            register = json.dumps({
                "appUserId": "user-17", "deviceId": "planted-device-7", "platform": "ios",
                "contact": "planted@example.org", "password": "planted-password-1",
            })
            answer = json.loads(subprocess.check_output(
                [*curl, "-H", "content-type: application/json", "-b", "sid=planted-cookie-3",
                 "-d", register, recorder.proxy + "/api/user/register"]))
            # The event is answered before the session goes on: calls that overlap are another session.
            bought = requests.post(
                recorder.urls["control"] + "/store/purchase",
                json={"user": "user-17", "settle": True}, timeout=20)
            assert bought.status_code == 200, bought.text
            event = bought.json()["events"][0]
            deadline = time.monotonic() + 30
            while requests.get(recorder.proxy + "/status/user-17", timeout=20).status_code != 200:
                assert time.monotonic() < deadline
            # The same event once more, as a provider that got no answer sends it.
            again = requests.post(
                recorder.proxy + "/hooks/rc", timeout=20,
                data=json.dumps({"api_version": "1.0", "event": event}, separators=(",", ":")),
                headers={"Authorization": "Bearer assay-test-token",
                         "Content-Type": "application/json"})
            assert again.status_code == 200, again.text
            me = requests.get(
                recorder.proxy + "/me", timeout=20,
                headers={"Authorization": "Bearer " + answer["deviceToken"],
                         "echo-token": "planted-echo-token-9"})
            assert me.json() == {"uid": "user-17"}
            requests.get(recorder.proxy + "/gzip?email=planted%40example.org", timeout=20)
        finally:
            status = recorder.stop()
        assert status == 0, status
        cls.token = answer["deviceToken"]

    def test_1_every_party_is_in_one_journal(self):
        found = lines(self.folder, "recordings/shop/first-purchase")
        parties = {(line["from"], line["to"]) for line in found if "begin" in line}
        self.assertEqual(
            parties,
            {("app", "backend"), ("revenuecat", "backend"), ("backend", "onesignal")})
        self.assertEqual(found[-1], {"closed": sum("end" in line for line in found)})

    def test_2_no_secret_is_anywhere(self):
        assay(self.folder, "distill", "recordings/shop/first-purchase")
        for path in glob.glob(self.folder + "/**/*", recursive=True):
            if not os.path.isfile(path):
                continue
            data = pathlib.Path(path).read_bytes()
            if path.endswith("assay.yaml"):
                continue
            for secret in [*SECRETS, self.token, "assay-test-token"]:
                self.assertNotIn(secret.encode(), data, path)

    def test_3_the_round(self):
        golden = pathlib.Path(self.folder, "recordings/shop/first-purchase/golden.yaml")
        pending = pathlib.Path(str(golden) + ".new")
        assay(self.folder, "distill", "recordings/shop/first-purchase")
        first = pending.read_bytes()
        assay(self.folder, "distill", "recordings/shop/first-purchase")
        self.assertEqual(pending.read_bytes(), first, "distilling twice gives the same bytes")
        assay(self.folder, "review", "--check", expect=1)
        assay(self.folder, "review", input="a\n")
        assay(self.folder, "review", "--check")
        self.assertEqual(golden.read_bytes(), first)
        assay(self.folder, "lint", str(golden))
        assay(self.folder, "verify", "recordings")
        for defect, code in self.defects.items():
            with self.subTest(defect=defect):
                self.write(defect)
                out = assay(self.folder, "verify", "recordings", "--report", "json=r.json", expect=1)
                report = json.loads(pathlib.Path(self.folder, "r.json").read_text())
                found = report["cases"][0]["findings"]
                self.assertTrue(any(f["code"].startswith(code) for f in found), (defect, out))
                self.assertTrue(all(len(f.get("nearMiss", [])) <= 12 for f in found))
                for secret in SECRETS:
                    self.assertNotIn(secret, out)
        self.write("field-renamed")
        assay(self.folder, "verify", "recordings", "--update", expect=1)
        told = assay(self.folder, "review", "--check", expect=1)
        self.assertRegex(told, r"response body /plan\n +gone +\"")
        self.assertRegex(told, r"response body /tier\n +new +\"")
        assay(self.folder, "review", "--accept-all")
        assay(self.folder, "verify", "recordings")
        golden.write_bytes(first)
        self.write("")

    def test_4_an_unchanged_backend_recorded_again_changes_nothing(self):
        golden = pathlib.Path(self.folder, "recordings/shop/again/golden.yaml")
        self.record("recordings/shop/again")
        assay(self.folder, "distill", "--accept", "recordings/shop/again")
        before = golden.read_bytes()
        shutil.rmtree(pathlib.Path(self.folder, "recordings/shop/again"))
        self.record("recordings/shop/again")
        golden.write_bytes(before)
        out = assay(self.folder, "distill", "recordings/shop/again")
        self.assertIn("unchanged", out)
        assay(self.folder, "review", "--check", "recordings/shop/again")
        shutil.rmtree(pathlib.Path(self.folder, "recordings/shop/again"))

    def test_5_a_common_session_holds_on_the_reference_backend(self):
        recorder = Recorder(self.folder, "recordings/shop/register")
        requests.post(recorder.proxy + "/api/user/register", timeout=20,
                      json={"appUserId": "user-9", "deviceId": "d", "platform": "ios"})
        self.assertEqual(recorder.stop(signal.SIGTERM), 0)
        assay(self.folder, "distill", "--accept", "recordings/shop/register")
        start = f"exec '{BINARY}' backend --port {{{{port}}}} --data '{{{{data}}}}'"
        pathlib.Path(self.folder, "reference.yaml").write_text("assay: 1\n")
        assay(self.folder, "verify", "--profile", "reference.yaml", "--start", start,
              "recordings/shop/register")
        shutil.rmtree(pathlib.Path(self.folder, "recordings/shop/register"))

    def test_6_an_expired_recording_is_a_warning_or_an_error(self):
        assay(self.folder, "distill", "--accept", "--max-age", "1d", "--out", "old", "--id", "x/golden",
              "recordings/shop/first-purchase")
        golden = pathlib.Path(self.folder, "old/x/golden.yaml")
        golden.write_text("\n".join(
            "recorded: 2020-01-01" if line.startswith("recorded:") else line
            for line in golden.read_text().splitlines()) + "\n")
        self.assertIn("max-age", assay(self.folder, "verify", "old"))
        out = assay(self.folder, "verify", "old", "--expired", "error", expect=5)
        self.assertIn("E911", out)

    def test_9_a_recording_is_looked_through_before_a_commit(self):
        out = assay(self.folder, "record", "--check", "recordings/shop/first-purchase")
        self.assertIn("no value looks like a secret in", out)
        path = pathlib.Path(self.folder, "recordings/shop/first-purchase/recording.ndjson")
        edited = pathlib.Path(self.folder, "edited.ndjson")
        edited.write_text(re.sub("‹secret:[0-9a-f]+›|‹password:[0-9a-f]+›", "planted-password-1",
                                 path.read_text(), count=1))
        out = assay(self.folder, "record", "--check", str(edited), expect=1)
        self.assertRegex(out, r"#\d+ \w+ /")
        self.assertNotIn("planted", out)
        assay(self.folder, "record", "--check", expect=2)
        assay(self.folder, "record", "--check", "nowhere", expect=2)

    def test_8_minimized_it_tells_the_same_apart(self):
        other = f"exec '{sys.executable}' '{HERE}/shop.py' {{{{port}}}} "
        out = assay(self.folder, "distill", "--minimize", "--against", other + "locked-out",
                    "--against", other + "other-words", "--accept", "--out", "small", "--id",
                    "x/golden", "recordings/shop/first-purchase")
        self.assertIn("parts removed", out)
        small = pathlib.Path(self.folder, "small/x/golden.yaml").read_text()
        self.assertIn('"active"', small)
        self.assertIn("Welcome aboard", small)
        for part in ["get-gzip", "get-me", "checked", "trace", "initial-purchase-2"]:
            self.assertNotIn(part, small)
        assay(self.folder, "verify", "small")
        for defect in ["locked-out", "other-words"]:
            self.write(defect)
            assay(self.folder, "verify", "small", expect=1)
        self.write("")
        assay(self.folder, "distill", "--minimize", "recordings/shop/first-purchase", expect=2)

    def test_8_interrupted_a_search_goes_on_where_it_was(self):
        other = f"exec '{sys.executable}' '{HERE}/shop.py' {{{{port}}}} "
        command = ["distill", "--minimize", "--against", other + "locked-out", "--jobs", "1",
                   "--accept", "--out", "later", "--id", "x/golden", "recordings/shop/first-purchase"]
        state = pathlib.Path(self.folder, "later/x/golden.minimize.ndjson")
        with open(os.path.join(self.folder, "minimize.err"), "w+") as errors:
            process = subprocess.Popen([BINARY, *command], cwd=self.folder, env=ENVIRONMENT,
                                       stdout=subprocess.DEVNULL, stderr=errors)
            deadline = time.monotonic() + 60
            while not (state.exists() and state.read_text().count("\n") > 3):
                self.assertIsNone(process.poll(), "it was over before it could be interrupted")
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(timeout=60), 130)
            errors.seek(0)
            self.assertIn("repeat the command to continue", errors.read())
        known = len(state.read_text().splitlines()) - 1
        self.assertFalse(pathlib.Path(self.folder, "later/x/golden.yaml").exists())
        self.assertIn(f"continuing an earlier search; contracts tried before: {known}", assay(self.folder, *command))
        self.assertFalse(state.exists())
        text = pathlib.Path(self.folder, "later/x/golden.yaml").read_text()
        self.assertEqual(text.count('"active"'), 1)
        self.assertNotIn("Welcome aboard", text)

    def test_7_bad_users(self):
        for arguments, status in [
            (["record", "--target", "http://127.0.0.1:1", "x/y"], 6),
            (["record", "--listen", "nonsense", "x/y"], 2),
            (["record", "recordings/shop/first-purchase"], 2),
            (["distill", "nowhere"], 2), (["distill", "recordings/shop/first-purchase", "--id", "../x"], 2),
            (["review", "nowhere"], 2), (["import", "nowhere", "x/y"], 2),
            (["export", "recordings/shop/first-purchase", "--format", "pdf"], 2),
            (["verify", "recordings", "--expired", "maybe"], 2),
        ]:
            with self.subTest(arguments=arguments):
                assay(self.folder, *arguments, expect=status)
        broken = pathlib.Path(self.folder, "broken")
        broken.mkdir(exist_ok=True)
        (broken / "recording.ndjson").write_text('{"assay":"recording","format":9}\n')
        out = assay(self.folder, "distill", "broken", expect=3)
        self.assertIn("line 1", out)


class Refusals(unittest.TestCase):
    """What a backend refused is refused again: the golden is green on the backend that was recorded."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="assay-refusals-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.write("")

    def write(self, mode):
        pathlib.Path(self.folder, "assay.yaml").write_text(f"""
assay: 1
start:
  command: exec '{sys.executable}' '{HERE}/guard.py' {{{{port}}}} {mode}
  ready: GET /healthz
endpoints: {{revenuecat-webhook: POST /hooks/rc}}
secrets: {{revenuecat-authorization: Bearer guard-7, revenuecat-signing: guard-signing}}
""")

    def deliver(self, recorder, number, user="user-17", authorization="Bearer guard-7", age=0,
                key="guard-signing"):
        event = {"id": f"event-{number}", "type": "RENEWAL", "app_user_id": user,
                 "product_id": "monthly", "event_timestamp_ms": int(time.time() * 1000)}
        body = json.dumps({"api_version": "1.0", "event": event}).encode()
        headers = {"Content-Type": "application/json"}
        if authorization:
            headers["Authorization"] = authorization
        if key:
            moment = int(time.time()) - age
            code = hmac.new(key.encode(), f"{moment}.".encode() + body, hashlib.sha256).hexdigest()
            headers["X-RevenueCat-Webhook-Signature"] = f"t={moment},v1={code}"
        answer = requests.post(
            recorder.proxy + "/hooks/rc", data=body, headers=headers, timeout=20)
        return answer.status_code

    def test_they_are_refused_for_the_same_reason(self):
        recorder = Recorder(self.folder, "recordings/guard/refused")
        try:
            statuses = [
                self.deliver(recorder, 1),
                self.deliver(recorder, 2, authorization="Bearer another"),
                self.deliver(recorder, 3, authorization=None),
                self.deliver(recorder, 4, key=None),
                self.deliver(recorder, 5, age=3600),
                self.deliver(recorder, 6, key="another"),
                self.deliver(recorder, 7, user="undefined"),
            ]
            seen = requests.get(recorder.proxy + "/status/user-17", timeout=20).status_code
        finally:
            self.assertEqual(recorder.stop(), 0)
        self.assertEqual(statuses, [200, 401, 401, 400, 400, 400, 422])
        self.assertEqual(seen, 200)
        text = pathlib.Path(self.folder, "recordings/guard/refused/recording.ndjson").read_text()
        for secret in ("guard-7", "guard-signing", "Bearer another"):
            self.assertNotIn(secret, text)
        assay(self.folder, "distill", "--accept", "recordings/guard/refused")
        golden = pathlib.Path(self.folder, "recordings/guard/refused/golden.yaml").read_text()
        for part in ("authorization: wrong", "authorization: missing", "signature: missing",
                     "signature: stale", "signature: wrong-key", '"app_user_id": "undefined"'):
            self.assertIn(part, golden)
        for seed in ("1", "2"):
            assay(self.folder, "verify", "--seed", seed, "recordings")

    def test_who_is_refused_from_now_on_keeps_the_name(self):
        recorder = Recorder(self.folder, "recordings/guard/once")
        try:
            self.assertEqual(self.deliver(recorder, 1), 200)
        finally:
            self.assertEqual(recorder.stop(), 0)
        assay(self.folder, "distill", "--accept", "recordings/guard/once")
        assay(self.folder, "verify", "recordings")
        self.write("closed")
        assay(self.folder, "verify", "recordings", "--update", expect=1)
        assay(self.folder, "review", "--accept-all")
        for seed in ("1", "2"):
            assay(self.folder, "verify", "--seed", seed, "recordings")


class Proxy(unittest.TestCase):
    """What passes through is what was sent."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="assay-proxy-")
        pathlib.Path(cls.folder, "assay.yaml").write_text(profile())
        cls.recorder = Recorder(cls.folder, "out")

    @classmethod
    def tearDownClass(cls):
        cls.recorder.stop()
        shutil.rmtree(cls.folder)

    def raw(self, url, data, count=1):
        """Sends bytes and returns all that comes until the server closes."""
        address = urllib.parse.urlsplit(url)
        with socket.create_connection((address.hostname, address.port), timeout=20) as connection:
            connection.sendall(data)
            received = b""
            while part := connection.recv(1 << 16):
                received += part
            return received

    def both(self, data):
        """The answers with and without the proxy, but for the date."""
        def plain(answer):
            return [line for line in answer.split(b"\r\n") if not line.startswith(b"Date:")]
        direct = plain(self.raw(self.recorder.backend, data))
        through = plain(self.raw(self.recorder.proxy, data))
        self.assertEqual(through, direct)
        return direct

    def test_bytes_are_those_of_the_backend(self):
        close = b"Host: shop\r\nConnection: close\r\n"
        for request in [
            b"GET /healthz HTTP/1.1\r\n" + close + b"\r\n",
            b"HEAD /healthz HTTP/1.1\r\n" + close + b"\r\n",
            b"GET /gzip HTTP/1.1\r\n" + close + b"\r\n",
            b"GET /chunked HTTP/1.1\r\n" + close + b"\r\n",
            b"GET /nowhere?a=%20b&c HTTP/1.1\r\n" + close + b"\r\n",
            b"POST /echo HTTP/1.1\r\n" + close + b"Content-Length: 6\r\n\r\n\x00\xff\r\n\r\n",
            b"POST /echo HTTP/1.1\r\n" + close + b"Transfer-Encoding: chunked\r\n\r\n"
            b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
            b"GET /healthz HTTP/1.1\r\nHost: shop\r\n\r\nGET /healthz HTTP/1.1\r\n" + close + b"\r\n",
            b"GET /reset HTTP/1.1\r\n" + close + b"\r\n",
        ]:
            with self.subTest(request=request):
                self.both(request)

    def test_large_bodies_both_ways(self):
        data = os.urandom(20 << 20)
        answer = requests.put(self.recorder.proxy + "/x", data=data, timeout=60).json()
        self.assertEqual(answer["sha256"], hashlib.sha256(data).hexdigest())
        body = requests.get(self.recorder.proxy + "/big", timeout=60).content
        self.assertEqual(body, b"0123456789abcdef" * (20 << 16))
        found = [line for line in lines(self.folder, "out") if "end" in line]
        self.assertTrue(any((line.get("response") or {}).get("body", {}) and
                            "omitted" in line["response"]["body"] for line in found))

    def test_a_stream_is_passed_on_as_it_comes(self):
        address = urllib.parse.urlsplit(self.recorder.proxy)
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=20)
        connection.request("GET", "/stream")
        answer = connection.getresponse()
        # The backend sends the rest only once the beginning has arrived here.
        self.assertEqual(answer.read(5), b"first")
        requests.get(self.recorder.proxy + "/open", timeout=20)
        self.assertEqual(answer.read(), b"last")
        connection.close()

    def test_a_connection_carries_many_requests(self):
        with requests.Session() as session:
            for number in range(50):
                text = f"body {number}"
                answer = session.post(self.recorder.proxy + "/echo", data=text, timeout=20)
                self.assertEqual(answer.text, text)
                self.assertEqual(answer.headers["X-Kept"], "As It Is")

    def test_who_waits_for_leave_to_send_gets_it(self):
        head = (b"POST /echo HTTP/1.1\r\nHost: shop\r\nContent-Length: 2\r\n"
                b"Expect: 100-continue\r\nConnection: close\r\n\r\n")
        address = urllib.parse.urlsplit(self.recorder.proxy)
        with socket.create_connection((address.hostname, address.port), timeout=20) as connection:
            connection.sendall(head)
            self.assertIn(b"100 Continue", connection.recv(1 << 16))
            connection.sendall(b"ok")
            received = b""
            while part := connection.recv(1 << 16):
                received += part
        self.assertTrue(received.endswith(b"ok"), received)

    def test_no_http_at_all_is_refused_and_the_proxy_lives(self):
        for junk in [b"\x16\x03\x01\x02\x00", b"GARBAGE\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"]:
            self.raw(self.recorder.proxy, junk + b"\r\n\r\n")
        self.assertEqual(requests.get(self.recorder.proxy + "/healthz", timeout=20).status_code, 200)


class Ends(unittest.TestCase):
    """Whatever ends the recorder, the file is good to its last full line."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="assay-ends-")
        pathlib.Path(self.folder, "assay.yaml").write_text(profile())

    def tearDown(self):
        shutil.rmtree(self.folder)

    def test_kill_in_the_middle_loses_no_answered_exchange(self):
        recorder = Recorder(self.folder, "out")
        answered, senders = [], 8

        def send(index):
            with requests.Session() as session:
                try:
                    for number in range(100_000):
                        name = f"{index}-{number}"
                        session.post(recorder.proxy + "/echo", data=name, timeout=20)
                        answered.append(name)
                except requests.RequestException:
                    pass

        threads = [threading.Thread(target=send, args=(index,)) for index in range(senders)]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + 60
        while len(answered) < 500 and time.monotonic() < deadline:
            time.sleep(0.001)
        recorder.stop(signal.SIGKILL)
        for thread in threads:
            thread.join()
        data = pathlib.Path(self.folder, "out/recording.ndjson").read_bytes()
        full = data[: data.rfind(b"\n") + 1]
        written = {}
        complete = set()
        for line in map(json.loads, full.splitlines()):
            if "begin" in line:
                written[line["begin"]] = line["request"]["body"]["text"]
            elif "end" in line:
                complete.add(line["end"])
        recorded = {written[number] for number in complete}
        # The completion is written before the answer's end is passed on, or at the same moment.
        lost = set(answered) - recorded
        self.assertLessEqual(len(lost), senders, lost)
        self.assertGreaterEqual(len(recorded), 400)
        out = assay(self.folder, "distill", "out", "--id", "x/y", "--print")
        self.assertIn("did not close the file", out)

    @unittest.skipUnless(os.path.exists("/dev/full"), "there is no /dev/full")
    def test_a_full_disk_is_told_and_the_proxy_goes_on(self):
        # A file system of 64 KiB would need a mount; a limit on the file's size does the same.
        command = f"ulimit -f 16; exec '{BINARY}' record --listen 127.0.0.1:0" + "".join(
            f" --listen {name}=127.0.0.1:0"
            for name in ("control", "revenuecat", "onesignal", "firebase", "purchasely", "despia")
        ) + " out"
        process = subprocess.Popen(
            ["bash", "-c", "trap '' XFSZ; " + command], cwd=self.folder, env=ENVIRONMENT,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        proxy = ""
        for line in process.stdout:
            if line.startswith("proxy"):
                proxy = line.split()[1]
            if line.startswith("recording"):
                break
        for number in range(100):
            answer = requests.post(proxy + "/echo", data="x" * 1000 + str(number), timeout=20)
            self.assertEqual(answer.status_code, 200)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 74, errors)
        self.assertIn("cannot continue writing", errors)
        data = pathlib.Path(self.folder, "out/recording.ndjson").read_bytes()
        self.assertTrue(data.endswith(b"\n"))
        for line in data.splitlines():
            json.loads(line)

    def test_a_session_is_distilled_and_played_when_it_ends(self):
        recorder = Recorder(self.folder, "recordings/shop/one", "--distill")
        answer = requests.post(recorder.proxy + "/api/user/register", timeout=20, json={
            "appUserId": "user-9", "deviceId": "d", "platform": "ios"})
        self.assertEqual(answer.status_code, 200)
        self.assertEqual(recorder.stop(), 0)
        golden = pathlib.Path(self.folder, "recordings/shop/one/golden.yaml.new")
        self.assertIn("POST /api/user/register", golden.read_text())
        errors = pathlib.Path(self.folder, "record.err").read_text()
        self.assertIn("on the recorded backend", errors)

    def test_a_trap_is_told_as_a_bug_and_what_was_written_stays(self):
        recorder = Recorder(self.folder, "out")
        self.assertEqual(requests.get(recorder.proxy + "/healthz", timeout=20).status_code, 200)
        recorder.process.send_signal(signal.SIGILL)
        self.assertEqual(recorder.process.wait(timeout=60), 70)
        recorder.process.stdout.close()
        recorder.errors.seek(0)
        self.assertIn("a bug in Assay", recorder.errors.read())
        recorder.errors.close()
        self.assertIn("did not close the file", assay(self.folder, "distill", "out", "--id", "x/y", "--print"))

    def test_a_folder_without_leave_to_write_is_told(self):
        if os.geteuid() == 0:
            self.skipTest("root may write everywhere")
        os.chmod(self.folder, 0o500)
        try:
            out = assay(self.folder, "record", "out", expect=2)
        finally:
            os.chmod(self.folder, 0o700)
        self.assertIn("cannot write the recording", out)

    def test_a_terminal_that_closes_closes_the_file(self):
        recorder = Recorder(self.folder, "out")
        self.assertEqual(requests.get(recorder.proxy + "/healthz", timeout=20).status_code, 200)
        self.assertEqual(recorder.stop(signal.SIGHUP), 0)
        self.assertNotIn("did not close the file", assay(self.folder, "distill", "out", "--id", "x/y", "--print"))

    def test_a_backend_that_ends_is_told_and_ends_the_recording(self):
        start = (f"echo $$ > pid; echo the last words; "
                 f"exec '{sys.executable}' '{HERE}/shop.py' {{{{port}}}}")
        recorder = Recorder(self.folder, "out", "--start", start)
        self.assertEqual(requests.get(recorder.proxy + "/healthz", timeout=20).status_code, 200)
        os.kill(int(pathlib.Path(self.folder, "pid").read_text()), signal.SIGKILL)
        self.assertEqual(recorder.process.wait(timeout=60), 6)
        recorder.process.stdout.close()
        recorder.errors.seek(0)
        errors = recorder.errors.read()
        recorder.errors.close()
        self.assertIn("the backend ended by itself: signal 9 ended it", errors)
        self.assertIn("the last words", errors)
        self.assertNotIn("did not close the file", assay(self.folder, "distill", "out", "--id", "x/y", "--print"))

    def test_a_port_that_is_taken_leaves_nothing_behind(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            address = "127.0.0.1:%d" % taken.getsockname()[1]
            out = assay(self.folder, "record", "--listen", address, "deep/down/out", expect=6)
            self.assertIn("choose another port with --listen", out)
            self.assertFalse(os.path.exists(os.path.join(self.folder, "deep")))
            out = assay(self.folder, "record", "--listen", "127.0.0.1:0", "--listen",
                        "control=" + address, "deep/down/out", expect=6)
            self.assertFalse(os.path.exists(os.path.join(self.folder, "deep")))

    def test_a_path_in_the_target_stays(self):
        seen = []

        class Backend(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                seen.append(self.path)
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Backend)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            base = f"http://127.0.0.1:{server.server_port}/shop/v2/"
            recorder = Recorder(self.folder, "out", "--target", base)
            requests.get(recorder.proxy + "/status/user-1?a=1", timeout=20)
            self.assertEqual(recorder.stop(), 0)
        finally:
            server.shutdown()
            server.server_close()
        self.assertIn("/shop/v2/status/user-1?a=1", seen)
        self.assertEqual([line["request"]["target"] for line in lines(self.folder, "out")
                          if "request" in line], ["/status/user-1?a=1"])


if __name__ == "__main__":
    unittest.main()
