"""Clients that name the services' own hosts, unmodified, in a shell that has read env.sh: they reach
the fakes, and nobody else."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from serving import BINARY, ROOT, Serving

PUSH = json.dumps({
    "app_id": "a55a4000-0000-4000-8000-000000000000", "contents": {"en": "x"},
    "target_channel": "push", "include_aliases": {"external_id": ["u"]}})
HEAD = f"""
import json, sys
URL, STRANGER = "https://api.onesignal.com/notifications", "https://api.stripe.com/v1/charges"
META, BODY = "http://169.254.169.254/latest/meta-data/", json.loads({PUSH!r})
def tell(status, text): print(json.dumps([status, text]))
"""
# Each sends a push, then asks a stranger and a cloud's metadata; what it cannot do is told as status 0.
PLAIN = """
import {0}
for method, url in ("POST", URL), ("GET", STRANGER), ("GET", META):
    try:
        answer = {0}.request(method, url, json=BODY if method == "POST" else None, timeout=20)
        tell(answer.status_code, answer.text)
    except Exception as error: tell(0, str(error))
"""
CLIENTS = {
    "requests": PLAIN.format("requests"),
    "httpx": PLAIN.format("httpx"),
    "aiohttp, which reads no proxy": """
import aiohttp, asyncio
async def main():
    async with aiohttp.ClientSession() as session:
        for method, url in ("POST", URL), ("GET", STRANGER), ("GET", META):
            try:
                body = BODY if method == "POST" else None
                async with session.request(method, url, json=body) as answer:
                    tell(answer.status, await answer.text())
            except Exception as error: tell(0, str(error))
asyncio.run(main())
""",
    "http.client, which reads no proxy": """
import http.client
from urllib.parse import urlsplit
for method, url in ("POST", URL), ("GET", STRANGER), ("GET", META):
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    try:
        client = kind(parts.hostname, timeout=20)
        body = json.dumps(BODY) if method == "POST" else None
        client.request(method, parts.path, body, {"Content-Type": "application/json"})
        answer = client.getresponse()
        tell(answer.status, answer.read().decode())
    except Exception as error: tell(0, str(error))
""",
}
NODE = f"""
const https = require('node:https'), http = require('node:http');
const push = 'https://api.onesignal.com/notifications', body = {PUSH!r};
const others = ['https://api.stripe.com/v1/charges', 'http://169.254.169.254/latest/meta-data/'];
const headers = {{'content-type': 'application/json'}};
const tell = (status, text) => console.log(JSON.stringify([status, text]));
const plain = (url, method) => new Promise((done, failed) => {{
  const library = url.startsWith('https') ? https : http;
  const call = library.request(url, {{method, headers}}, answer => {{
    let text = '';
    answer.on('data', part => text += part).on('end', () => done([answer.statusCode, text]));
  }});
  call.on('error', failed).end(method === 'POST' ? body : undefined);
}});
const fetched = async (url, method) => {{
  const answer = await fetch(url, {{method, headers, body: method === 'POST' ? body : undefined}});
  return [answer.status, await answer.text()];
}};
(async () => {{
  const call = process.argv[2] === 'fetch' ? fetched : plain;
  for (const [url, method] of [[push, 'POST'], ...others.map(url => [url, 'GET'])]) {{
    await call(url, method).then(([status, text]) => tell(status, text),
      error => tell(0, String(error.cause || error)));
  }}
}})();
"""
FIREBASE = """
import firebase_admin, requests
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric import rsa
from firebase_admin import auth, credentials
sign_up = "https://identitytoolkit.googleapis.com/v1/accounts:signUp?key=any"
user = requests.post(sign_up, json={
    "email": "ada@example.com", "password": "secret-1", "returnSecureToken": True}, timeout=20).json()
key = rsa.generate_private_key(65537, 2048).private_bytes(
    form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()).decode()
firebase_admin.initialize_app(credentials.Certificate({
    "type": "service_account", "project_id": "demo-project", "private_key_id": "x",
    "private_key": key, "client_email": "a@demo-project.iam.gserviceaccount.com",
    "token_uri": "https://oauth2.googleapis.com/token"}))
claims = auth.verify_id_token(user["idToken"], check_revoked=True)
tell(200, auth.get_user(claims["uid"]).email)
head, body, signature = user["idToken"].split(".")
try:
    auth.verify_id_token(".".join([head, body, signature[:-8] + "AAAAAAAA"]))
    tell(200, "a forged token was taken")
except auth.InvalidIdTokenError as error: tell(403, str(error))
"""


class Intercept(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # A blank in its name: variables that are lists of words have to quote it.
        cls.folder = tempfile.mkdtemp(prefix="assay intercept ")
        cls.serving = Serving("--intercept", "--intercept-folder", cls.folder)

    @classmethod
    def tearDownClass(cls):
        status, errors = cls.serving.stop()
        shutil.rmtree(cls.folder)
        assert status == 0, errors
        for place in "api.stripe.com:443", "169.254.169.254:80":
            assert f"assay: the call to {place} was refused" in errors, errors

    def run_in_shell(self, *words):
        script = '. "$0/env.sh" && exec "$@"'
        done = subprocess.run(
            ["sh", "-c", script, self.folder, *words], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def check(self, answers):
        (status, push), stranger, metadata = answers
        self.assertEqual(status, 200, push)
        self.assertTrue(json.loads(push)["id"])
        for status, text in stranger, metadata:
            # A refused tunnel is an error of some clients, which shows its status and not its words.
            self.assertIn(status, (0, 403), text)
            self.assertTrue("Assay: " in text or "403" in text or "Forbidden" in text, text)

    def test_python_clients(self):
        for name, code in CLIENTS.items():
            with self.subTest(name):
                self.check(self.run_in_shell(sys.executable, "-c", HEAD + code))

    def test_node(self):
        for name in "fetch", "https":
            with self.subTest(name):
                self.check(self.run_in_shell("node", "-e", NODE, "--", name))

    def test_curl(self):
        words = ["curl", "-sS", "-w", "%{http_code}", "-o", "/dev/null"]
        url = "https://api.revenuecat.com/v1/subscribers/ada"
        self.assertIn(self.run_in_shell(*words, url), ([200], [201]))
        done = subprocess.run(
            ["sh", "-c", '. "$0/env.sh" && exec "$@"', self.folder, "curl", "-sS",
             "https://api.stripe.com/"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 56, done.stderr)

    def test_firebase_admin_outside_of_emulator_mode(self):
        (status, email), forged = self.run_in_shell(sys.executable, "-c", HEAD + FIREBASE)
        self.assertEqual((status, email), (200, "ada@example.com"))
        self.assertEqual(forged[0], 403, forged)

    def test_lists_of_the_shell_are_kept(self):
        script = '. "$0/env.sh" && printf "%s\\n" "$NODE_OPTIONS" "$PYTHONPATH" "$PHP_INI_SCAN_DIR"'
        done = subprocess.run(
            ["sh", "-c", script, self.folder], capture_output=True, text=True, timeout=60,
            env={**os.environ, "NODE_OPTIONS": "--no-warnings", "PYTHONPATH": "/own",
                 "PHP_INI_SCAN_DIR": "/ini"})
        node, python, php = done.stdout.splitlines()
        self.assertEqual(node, f'--require "{self.folder}/egress.cjs" --no-warnings')
        self.assertEqual(python, f"{self.folder}/python:/own")
        self.assertEqual(php, f"/ini:{self.folder}/php")

    def test_calls_are_in_the_journal(self):
        before = len(self.serving.control("GET", "/journal")["entries"])
        self.run_in_shell(
            "curl", "-sS", "-o", "/dev/null", "https://api.revenuecat.com/v1/subscribers/eve")
        after = self.serving.control("GET", "/journal")["entries"]
        self.assertEqual(len(after), before + 1)


class Verified(unittest.TestCase):
    """The same around a backend that Assay starts."""

    profile = """assay: 1
start: {command: "%s %s"%s}
endpoints: {revenuecat-webhook: POST /hook}
users: {create: {post: /users, body: {id: "{{id}}"}}}
probes: {subscription: {get: "/plans/{{id}}", read: {product: /plan, access: {at: /plan, not: [null]}}}}
secrets: {revenuecat-authorization: Bearer assay-test-token, onesignal-key: assay-test-key}
"""

    def verify(self, more, *words):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "assay.yaml"
            backend = ROOT / "Tests" / "Acceptance" / "fixed.py"
            path.write_text(self.profile % (sys.executable, backend, more))
            environment = {k: v for k, v in os.environ.items() if not k.startswith("ASSAY_")}
            done = subprocess.run(
                [BINARY, "verify", "--profile", str(path), "--seed", "7", "--only",
                 "revenuecat/idempotency/duplicate-initial-purchase", *words],
                capture_output=True, text=True, timeout=600, env=environment)
            return done.returncode, done.stdout + done.stderr

    def test_a_push_to_the_real_host_is_seen(self):
        for more, words in (", intercept: true", ()), ("", ("--intercept",)):
            status, output = self.verify(more, *words)
            self.assertEqual(status, 0, output)
            self.assertNotIn("refused", output)

    def test_without_it_no_push_is_seen(self):
        # The real service is out of reach here, and its key a made-up one.
        status, output = self.verify(', env: {HTTPS_PROXY: "http://127.0.0.1:1"}')
        self.assertEqual(status, 6, output)
        self.assertIn("Connection refused", " ".join(output.split()))

    def test_a_stranger_is_told_in_the_report(self):
        stranger = ", intercept: true, env: {FIXED_STRANGER: https://api.stripe.com/v1/charges}"
        status, output = self.verify(stranger)
        self.assertEqual(status, 0, output)
        self.assertIn("api.stripe.com:443 was refused", output)

    def test_a_refusal_that_kept_it_from_starting_is_told(self):
        done = subprocess.run(
            [BINARY, "verify", "--start", "curl -sS https://api.stripe.com/; exit 7",
             "--intercept", "--only", "S-03"],
            capture_output=True, text=True, timeout=120, cwd=tempfile.gettempdir())
        self.assertEqual(done.returncode, 6, done.stdout + done.stderr)
        self.assertIn("api.stripe.com:443 was refused", done.stderr)

    def test_a_running_backend_cannot_be_intercepted(self):
        done = subprocess.run(
            [BINARY, "verify", "--target", "http://127.0.0.1:1", "--intercept"],
            capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("assay serve --intercept", done.stderr)


if __name__ == "__main__":
    unittest.main()
