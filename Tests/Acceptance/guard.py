"""A backend that looks at who sends: it refuses wrong credentials and ids that mean nobody.

Usage: guard.py PORT [closed]; shares nothing with Assay's.
"""

import hashlib
import hmac
import http.server
import json
import sys
import threading
import time

AUTHORIZATION, KEY = "Bearer guard-7", "guard-signing"
plans, lock = {}, threading.Lock()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def send(self, status, body):
        body = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def is_signed(self, body):
        parts = dict(
            part.split("=", 1)
            for part in self.headers.get("X-RevenueCat-Webhook-Signature", "").split(",") if "=" in part)
        moment = parts.get("t", "")
        if not moment.isdigit() or abs(time.time() - int(moment)) > 300:
            return False
        code = hmac.new(KEY.encode(), f"{moment}.".encode() + body, hashlib.sha256).hexdigest()
        return hmac.compare_digest(code, parts.get("v1", ""))

    def do_GET(self):
        if self.path == "/healthz":
            return self.send(200, {"up": True})
        with lock:
            plan = plans.get(self.path.split("/")[-1])
        self.send(200 if plan else 404, {"plan": plan})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Authorization") != AUTHORIZATION:
            return self.send(401, {"error": "who are you"})
        if not self.is_signed(body):
            return self.send(400, {"error": "not signed"})
        event = json.loads(body)["event"]
        if "closed" in sys.argv[2:]:
            return self.send(422, {"error": "closed", "user": event["app_user_id"]})
        if event["app_user_id"] in ("undefined", "null", ""):
            return self.send(422, {"error": "nobody"})
        with lock:
            plans[event["app_user_id"]] = event["product_id"]
        return self.send(200, {"taken": True})


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
