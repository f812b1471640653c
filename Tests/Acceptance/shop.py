"""A subscription backend of its own kind, in memory, for recordings; it shares nothing with Assay's.

Usage: shop.py PORT [DEFECT]
"""

import gzip
import hashlib
import http.server
import json
import os
import sys
import threading
import time
import urllib.request
import uuid

DEFECT = sys.argv[2] if len(sys.argv) > 2 else ""
lock = threading.Lock()
people, sessions, plans, seen = {}, {}, {}, set()


def push(user, text):
    body = {
        "app_id": "a55a4000-0000-4000-8000-000000000000",
        "idempotency_key": str(uuid.uuid4()),
        "include_aliases": {
            "external_id": [user, "somebody-else"] if DEFECT == "others-too" else [user],
        },
        "target_channel": "push",
        "contents": {"en": text},
    }
    request = urllib.request.Request(
        os.environ["ONESIGNAL_API_BASE"] + "/notifications",
        json.dumps(body).encode(),
        {
            "Content-Type": "application/json",
            "Authorization": "Key " + os.environ.get("ONESIGNAL_API_KEY", ""),
        },
    )
    urllib.request.urlopen(request, timeout=10).read()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def send(self, status, body=b"", headers=()):
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
            headers = [("Content-Type", "application/json"), *headers]
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD" and status != 204:
            self.wfile.write(body)

    def read(self):
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            body = b""
            while True:
                size = int(self.rfile.readline().split(b";")[0], 16)
                body += self.rfile.read(size)
                self.rfile.readline()
                if size == 0:
                    return body
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        path = self.path.split("?")[0]
        if path == "/healthz":
            return self.send(200, {"up": True})
        if path == "/gzip":
            body = gzip.compress(json.dumps({"password": "planted-gzip-secret", "n": 1}).encode())
            headers = [("Content-Encoding", "gzip"), ("Content-Type", "application/json")]
            return self.send(200, body, headers)
        if path == "/chunked":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for part in (b"one ", b"two ", b"three"):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            return self.wfile.write(b"0\r\n\r\n")
        if path == "/stream":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"5\r\nfirst\r\n")
            self.wfile.flush()
            if not gate.wait(30):
                return None
            return self.wfile.write(b"4\r\nlast\r\n0\r\n\r\n")
        if path == "/open":
            gate.set()
            return self.send(204)
        if path == "/big":
            return self.send(200, b"0123456789abcdef" * (20 << 16))
        if path == "/reset":
            self.close_connection = True
            return None
        if path == "/me":
            user = sessions.get(self.headers.get("Authorization", "").removeprefix("Bearer "))
            return self.send(200, {"uid": user}) if user else self.send(401, {"error": "who"})
        if path.startswith("/status/"):
            return self.status(path.split("/")[2])
        return self.send(404, {"error": "no such page"})

    def status(self, user):
        with lock:
            plan = plans.get(user)
        if plan is None:
            return self.send(404, {"error": "unknown"})
        answer = {
            "plan": plan["product"],
            "active": DEFECT != "locked-out",
            "until": plan["until"] + (1000 if DEFECT == "late-expiry" else 0),
            "checked": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "trace": str(uuid.uuid4()),
        }
        if DEFECT == "wrong-plan":
            answer["plan"] = "basic"
        if DEFECT == "field-renamed":
            answer["tier"] = answer.pop("plan")
        if DEFECT == "number-as-text":
            answer["until"] = str(answer["until"])
        return self.send(200, answer)

    def do_PUT(self):
        body = self.read()
        return self.send(200, {"length": len(body), "sha256": hashlib.sha256(body).hexdigest()})

    def do_POST(self):
        body = self.read()
        if self.path == "/echo":
            return self.send(200, body, [("X-Kept", "As It Is")])
        try:
            value = json.loads(body)
        except ValueError:
            return self.send(400, {"error": "no JSON"})
        if self.path == "/api/user/register":
            user = value["appUserId"]
            token = uuid.uuid4().hex
            with lock:
                people[user] = value
                sessions[token] = user
            status = 201 if DEFECT == "other-status" else 200
            return self.send(status, {"appUserId": user, "deviceToken": token})
        if self.path == "/hooks/rc":
            return self.event(value["event"])
        return self.send(404, {"error": "no such page"})

    def event(self, event):
        if self.headers.get("Authorization") != os.environ.get("REVENUECAT_WEBHOOK_AUTH"):
            return self.send(401, {"error": "who"})
        user = event["app_user_id"]
        with lock:
            is_new = event["id"] not in seen
            seen.add(event["id"])
            if is_new or DEFECT == "no-dedupe":
                plans[user] = {"product": event["product_id"], "until": event["expiration_at_ms"]}
        if is_new or DEFECT == "no-dedupe":
            text = "Hello" if DEFECT == "other-words" else "Welcome aboard"
            if DEFECT != "silent":
                push("somebody-else" if DEFECT == "wrong-person" else user, text)
        return self.send(200, {"taken": True})


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True


gate = threading.Event()
Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
