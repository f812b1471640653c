"""A backend whose answers are full of what differs by itself; it shares nothing with Assay's.

Usage: noise.py PORT [DEFECT]
"""

import base64
import email.utils
import hashlib
import http.server
import itertools
import json
import os
import random
import secrets
import sys
import threading
import time
import urllib.request
import uuid

PORT = int(sys.argv[1])
# One for each process: a read is repeated until it is as recorded, and must not be so by chance.
SAMPLE_SIZE = random.randint(1, 400)
DEFECT = sys.argv[2] if len(sys.argv) > 2 else ""
numbers = itertools.count(1)
lock = threading.Lock()
people = {}


def accidents():
    """What nobody promised: each differs by itself, in its own way."""
    number = next(numbers)
    now = time.time()
    return {
        "order": number,
        "orderText": f"ORD-2026-{number:06}",
        "invoice": f"INV{number}",
        "sequence": str(number),
        "queue": {"position": number, "behind": number - 1},
        "epoch": int(now * 10) // 10 + number,
        "epochMillisText": str(int(now * 1000)),
        "micros": int(now * 1e6),
        "nanos": time.time_ns(),
        "seconds": now,
        "rfc1123": email.utils.formatdate(now + number * 61, usegmt=True),
        "spoken": time.strftime("%b %d, %Y %H:%M:", time.gmtime(now)) + f"{number % 60:02}",
        "iso": time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(now)),
        "blank": time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(now + number)),
        "day": time.strftime("%Y-%m-%d", time.gmtime(now)),
        "took": random.random() / 100,
        "tookText": f"{random.randint(100, 999999)}us",
        "uptime": time.monotonic_ns() // 1000,
        "pid": os.getpid(),
        "worker": f"Thread-{number}",
        "memory": f"{random.randint(1000, 9000) / 100} MB",
        "load": [random.random(), random.random(), random.random()],
        "link": f"http://127.0.0.1:{PORT}/orders/{number}",
        "signed": f"https://cdn.example.com/a.png?v={number}&sig={secrets.token_hex(16)}",
        "hex": secrets.token_hex(16),
        "short": secrets.token_hex(3),
        "ulid": "01" + base64.b32encode(secrets.token_bytes(15)).decode().rstrip("="),
        "nano": secrets.token_urlsafe(16),
        "uuid": str(uuid.uuid4()),
        "bareUUID": uuid.uuid4().hex,
        "urn": f"urn:uuid:{uuid.uuid4()}",
        "digest": hashlib.sha256(secrets.token_bytes(8)).hexdigest(),
        "base64": base64.b64encode(secrets.token_bytes(24)).decode(),
        "cursor": base64.b64encode(json.dumps({"after": number}).encode()).decode(),
        "inner": json.dumps({"n": number, "at": now}),
        "weak": f'W/"{secrets.token_hex(4)}"',
        "sometimes": random.choice([None, secrets.token_hex(4)]),
        "hint": f"Your place is {number} of {number + 7}; asked at {time.time():.6f}",
        "sample": [secrets.token_hex(2) for _ in range(SAMPLE_SIZE)],
        "shuffled": random.sample(["alpha", "beta", "gamma", "delta", "epsilon"], 5),
        "jwt": ".".join(
            base64.urlsafe_b64encode(part).decode().rstrip("=")
            for part in (b'{"alg":"HS256"}', b'{"sub":"%d"}' % number, secrets.token_bytes(32))),
        **({"now and then": number} if random.random() < 0.5 else {}),
    }


def push(user, text):
    body = {
        "app_id": "a55a4000-0000-4000-8000-000000000000",
        "idempotency_key": str(uuid.uuid4()),
        "include_aliases": {"external_id": [user]},
        "target_channel": "push",
        "contents": {"en": text},
    }
    request = urllib.request.Request(
        os.environ["ONESIGNAL_API_BASE"] + "/notifications", json.dumps(body).encode(),
        {"Content-Type": "application/json",
         "Authorization": "Key " + os.environ.get("ONESIGNAL_API_KEY", "")})
    urllib.request.urlopen(request, timeout=10).read()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def send(self, status, value, headers=(), kind="application/json"):
        body = value.encode() if isinstance(value, str) else json.dumps(value).encode()
        self.send_response(status)
        for name, text in [("Content-Type", kind), *headers]:
            self.send_header(name, text)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        parts = self.path.strip("/").split("/")
        if parts[0] == "healthz":
            return self.send(200, {"up": True})
        with lock:
            person = people.get(parts[-1])
        if person is None:
            return self.send(404, {"error": "unknown"})
        if parts[0] == "orders":
            number = next(numbers)
            return self.send(201, {}, [("Location", f"http://127.0.0.1:{PORT}/orders/{number}")])
        if parts[0] == "page":
            word = "Farewell" if DEFECT == "other-page" else "Welcome"
            page = (f"<html><h1>{word}</h1>\n<p>Order {next(numbers)}</p>\n"
                    f"<script nonce='{secrets.token_hex(8)}'></script>\n</html>\n")
            stored = "public" if DEFECT == "cached" else "no-store"
            return self.send(200, page, [("Cache-Control", stored)], "text/html; charset=utf-8")
        if parts[0] == "report":
            kind = "text/plain" if DEFECT == "other-kind" else "text/csv"
            return self.send(200, f"plan,order\n{person['plan']},{next(numbers)}\n", kind=kind)
        known = {
            "plan": person["plan"], "active": DEFECT != "locked-out",
            "words": "Good bye" if DEFECT == "other-words" else "Good day",
            "steps": ["taste", "try"] if DEFECT == "fewer" else ["taste", "try", "buy"],
        }
        expires = email.utils.formatdate(time.time() + 3600 + next(numbers), usegmt=True)
        path = "/other" if DEFECT == "other-path" else "/shop"
        cookie = f"seen={secrets.token_hex(8)}; Path={path}; Expires={expires}; HttpOnly"
        return self.send(200, {**known, **accidents()}, [("Set-Cookie", cookie)])

    def do_POST(self):
        value = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        event = value["event"]
        with lock:
            is_new = event["app_user_id"] not in people
            people[event["app_user_id"]] = {"plan": event["product_id"]}
        if is_new:
            word = "Bye" if DEFECT == "other-push" else "Welcome"
            push(event["app_user_id"], f"{word}! Your order {next(numbers)} of {PORT} is on its way")
        # An event is answered once: what comes and goes by chance could come as recorded every time.
        rare = ("sometimes", "now and then")
        found = {name: value for name, value in accidents().items() if name not in rare}
        return self.send(200, {"taken": True, **found})


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True


Server(("127.0.0.1", PORT), Handler).serve_forever()
