"""Backends behind https whose certificate a private authority signed: believed where it is named, and
told in words where it is not."""

import datetime
import http.server
import ipaddress
import json
import os
import pathlib
import re
import signal
import ssl
import subprocess
import tempfile
import threading
import unittest

import requests
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from serving import BINARY, Serving


def made(name, issuer=None, names=()):
    """A key with its certificate, signed by itself or by the issuer."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = (x509.CertificateBuilder().subject_name(subject).public_key(key.public_key())
               .issuer_name(issuer[1].subject if issuer else subject)
               .serial_number(x509.random_serial_number())
               .not_valid_before(now - datetime.timedelta(days=1))
               .not_valid_after(now + datetime.timedelta(days=30))
               .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), True))
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), False)
    return key, builder.sign(issuer[0] if issuer else key, hashes.SHA256())


def pem(certificate):
    return certificate.public_bytes(serialization.Encoding.PEM)


class Secure(http.server.ThreadingHTTPServer):
    """A backend behind https that takes every event."""

    def __init__(self, folder, names):
        super().__init__(("127.0.0.1", 0), Answers)
        authority = made("A private authority")
        key, certificate = made("backend", authority, names)
        (folder / "ca.pem").write_bytes(pem(authority[1]))
        (folder / "server.pem").write_bytes(
            key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                              serialization.NoEncryption()) + pem(certificate))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "server.pem")
        self.socket = context.wrap_socket(self.socket, server_side=True)
        self.seen = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, address):
        """A caller that does not believe us hangs up; that is what is tried here."""


class Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.server.seen.append(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_POST

    def log_message(self, *arguments):
        pass


class PrivateAuthority(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="assay-tls-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.server = Secure(self.folder, [x509.DNSName("localhost"),
                                           x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.url = f"https://localhost:{self.server.server_port}"

    def run_assay(self, *arguments, **variables):
        environment = {k: v for k, v in os.environ.items()
                       if not k.startswith("ASSAY_") and k != "SSL_CERT_FILE"}
        return subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=300,
                              cwd=self.folder, env={**environment, **variables})

    def test_send(self):
        event = ["send", "RENEWAL", "--to", self.url + "/hook"]
        done = self.run_assay(*event)
        self.assertEqual(done.returncode, 6)
        self.assertIn("its certificate is not signed by a trusted CA; pass the CA certificate with --ca FILE", done.stderr)
        self.assertEqual(self.server.seen, [])
        ways = [(["--ca", "ca.pem"], {}), ([], {"ASSAY_CA": "ca.pem"}), ([], {"SSL_CERT_FILE": "ca.pem"})]
        for words, variables in ways:
            done = self.run_assay(*event, *words, **variables)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(self.server.seen), 3)

    def test_verify_by_flag_and_by_profile(self):
        only = ["--only", "revenuecat/smoke"]
        listen = [part for name in ("revenuecat", "onesignal")
                  for part in ("--listen", f"{name}=127.0.0.1:0")]
        done = self.run_assay("verify", "--target", self.url, *only, *listen)
        self.assertEqual(done.returncode, 6, done.stdout + done.stderr)
        self.assertIn("is not signed by a trusted CA", done.stderr)
        done = self.run_assay("verify", "--target", self.url, "--ca", "ca.pem", *only, *listen)
        self.assertIn("summary", done.stdout)
        self.assertTrue(self.server.seen)
        # It lets strangers in; whoever looks at that again reaches the same backend.
        done = self.run_assay("verify", "--target", self.url, "--ca", "ca.pem", "--only",
                              "revenuecat/authenticity", *listen)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"replay +.* --ca ca\.pem ")
        before = len(self.server.seen)
        # What a profile names lies beside it.
        (self.folder / "sub").mkdir()
        profile = self.folder / "sub" / "assay.yaml"
        profile.write_text(f"assay: 1\ntarget: {self.url}\nca: ../ca.pem\n")
        done = self.run_assay("verify", "--profile", str(profile), *only, *listen)
        self.assertIn("summary", done.stdout, done.stderr)
        self.assertGreater(len(self.server.seen), before)

    def test_record_and_serve(self):
        # The webhook of a fake.
        serving = Serving("--webhook", self.url + "/hook", "--ca", str(self.folder / "ca.pem"))
        try:
            bought = serving.control("POST", "/store/purchase", {"user": "ada", "settle": True})
            self.assertEqual([each["state"] for each in bought["deliveries"]], ["delivered"])
        finally:
            serving.stop()
        # The proxy in front of the backend.
        listen = [part for name in ("revenuecat", "onesignal", "firebase", "purchasely", "despia", "control")
                  for part in ("--listen", f"{name}=127.0.0.1:0")]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("ASSAY_")}
        process = subprocess.Popen(
            [BINARY, "record", "--target", self.url, "--ca", "ca.pem", "--listen", "127.0.0.1:0",
             *listen, "session"], cwd=self.folder, env=environment, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        proxy = re.match(r"proxy +(http\S+)", process.stdout.readline()).group(1)
        answer = requests.post(proxy + "/login", json={"user": "ada"}, timeout=60)
        self.assertEqual(answer.status_code, 200)
        self.assertEqual(json.loads(self.server.seen[-1]), {"user": "ada"})
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0)

    def test_a_standard_variable_that_leads_nowhere_stops_nobody(self):
        done = self.run_assay("verify", "--dry-run", "--start", "x", SSL_CERT_FILE="/nope/certs.pem", ASSAY_CA="")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_what_is_no_authority_is_told_before_anything_is_sent(self):
        (self.folder / "text.pem").write_text("no certificate")
        for path, words in (("nope.pem", "the file does not exist"), ("text.pem", "the file is not in PEM format")):
            done = self.run_assay("send", "RENEWAL", "--to", self.url, "--ca", path)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"--ca '{path}': {words}", done.stderr)

    def test_a_certificate_of_another_host_is_refused_all_the_same(self):
        other = Secure(self.folder, [x509.DNSName("other.example")])
        self.addCleanup(other.server_close)
        self.addCleanup(other.shutdown)
        done = self.run_assay("send", "RENEWAL", "--to", f"https://localhost:{other.server_port}/",
                              "--ca", "ca.pem")
        self.assertEqual(done.returncode, 6)
        self.assertEqual(other.seen, [])


if __name__ == "__main__":
    unittest.main()
