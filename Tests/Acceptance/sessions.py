"""Records the sessions that ship under recordings/, with the tool itself and no hand.

Usage: python sessions.py [SCENARIO ...]   (from Tests/Acceptance, after a build)
"""

import json
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import time

import requests

from serving import BINARY, ROOT
from test_recording import Recorder, assay

PROFILE = f"""
assay: 1
start:
  command: exec '{BINARY}' backend --port {{{{port}}}} --data '{{{{data}}}}'
  ready: GET /healthz
endpoints:
  purchasely-webhook: POST /api/webhooks/purchasely
  protected: {{get: /api/me, id: /appUserId}}
accounts:
  create: {{post: /test/accounts, body: {{accountId: "{{{{account}}}}", password: "{{{{password}}}}"}}}}
secrets:
  revenuecat-signing: whsec_assay
  purchasely-signing: purchasely-assay
features: {{except: [subscriber-reads, reconcile]}}
"""


class Session:
    """The app, the store and the person in front of them."""

    def __init__(self, recorder):
        self.recorder = recorder
        self.http = requests.Session()

    def app(self, method, path, body=None, expect=200, headers=None):
        answer = self.http.request(
            method, self.recorder.proxy + path, json=body, headers=headers, timeout=30)
        assert answer.status_code == expect, (path, answer.status_code, answer.text)
        return answer.json() if answer.content else None

    def control(self, path, body=None, method="POST"):
        answer = requests.request(
            method, self.recorder.urls["control"] + path, json=body or {}, timeout=30)
        assert answer.status_code == 200, (path, answer.status_code, answer.text)
        return answer.json()

    def store(self, action, user, **more):
        """A store action whose events have reached the backend when it returns."""
        return self.control("/store/" + action, {"user": user, "settle": True, **more})

    def register(self, user, device="6C6D4F7A-5B2B-4A0B-9C53-0B1B5B0D7A11"):
        return self.app("POST", "/api/user/register", {
            "appUserId": user, "deviceId": device, "platform": "ios", "source": "new",
        })

    def pushed(self, count=1):
        """Waits until OneSignal has taken so many messages."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            time.sleep(0.005)
            page = self.control("/journal?party=onesignal&limit=1000", method="GET")
            taken = sum(len(entry["effects"]) for entry in page["entries"])
            if taken >= count:
                return
        raise AssertionError("the push did not come")

    def subscription(self, user, expect=200):
        return self.app("GET", f"/test/subscriptions/{user}", expect=expect)


def first_purchase(s):
    s.register("maria-1")
    s.store("purchase", "maria-1")
    s.pushed()
    s.subscription("maria-1")


def renewal(s):
    s.register("maria-1")
    s.store("purchase", "maria-1")
    s.store("renew", "maria-1")
    s.pushed(2)
    s.subscription("maria-1")


def cancelled_and_back(s):
    s.register("maria-1")
    s.store("purchase", "maria-1")
    s.store("cancel", "maria-1")
    s.pushed(2)
    s.subscription("maria-1")
    s.store("uncancel", "maria-1")
    s.pushed(3)
    s.subscription("maria-1")


def refund(s):
    s.register("maria-1")
    s.store("purchase", "maria-1")
    s.store("refund", "maria-1")
    s.pushed(2)
    s.subscription("maria-1")


def billing_issue(s):
    s.register("maria-1")
    s.store("purchase", "maria-1")
    s.store("billing-issue", "maria-1", grace="16d")
    s.pushed(2)
    s.subscription("maria-1")


def transfer(s):
    s.register("maria-1")
    s.register("nora-2", device="0A0E2E0C-5D0A-4F7E-8C3F-2D1C1B0A9F88")
    s.store("purchase", "maria-1")
    s.pushed()
    s.control("/store/transfer", {"from": "maria-1", "user": "nora-2", "settle": True})
    s.subscription("nora-2")


def delivered_twice(s):
    s.register("maria-1")
    event = s.store("purchase", "maria-1")["events"][0]["id"]
    s.pushed()
    s.control(f"/deliveries/{event}/resend")
    s.subscription("maria-1")


def unknown_user(s):
    s.store("purchase", "never-registered-7")
    s.pushed()
    s.subscription("never-registered-7")
    s.register("never-registered-7")
    s.app("GET", "/test/users/never-registered-7")


def purchasely_subscription(s):
    s.register("maria-1")
    s.control("/purchasely/purchase", {
        "user": "maria-1", "environment": "PRODUCTION", "settle": True,
    })
    s.pushed()
    s.subscription("maria-1")


def purchasely_renewal(s):
    s.register("maria-1")
    s.control("/purchasely/purchase", {
        "user": "maria-1", "environment": "PRODUCTION", "settle": True,
    })
    s.control("/purchasely/disable-renewal", {"user": "maria-1", "settle": True})
    s.pushed(1)
    s.subscription("maria-1")


def protected_route(s):
    base = s.recorder.urls["firebase"] + "/identitytoolkit.googleapis.com/v1/"
    signed = requests.post(base + "accounts:signUp?key=demo-key", json={
        "email": "maria@example.com", "password": "correct-horse", "returnSecureToken": True,
    }, timeout=30).json()
    s.register(signed["localId"])
    token = {"Authorization": "Bearer " + signed["idToken"]}
    s.app("GET", "/api/me", headers=token)
    s.app("GET", "/api/me", expect=401)


def push_refused_once(s):
    s.control("/faults/onesignal", {"responses": [503, "ok"]}, method="PUT")
    s.register("maria-1")
    s.store("purchase", "maria-1")
    s.pushed()
    s.subscription("maria-1")


def paywall_on_the_device(s):
    bridge = s.recorder.urls["despia"] + "/bridge"
    s.register("maria-1")
    for command in ["setonesignalplayerid://?user_id=maria-1",
                    "revenuecat://launchPaywall?external_id=maria-1&offering=default"]:
        answer = requests.post(bridge, json={"command": command}, timeout=30)
        assert answer.status_code == 200, answer.text
    s.control("/device/paywall/complete", {"settle": True, "environment": "PRODUCTION"})
    s.pushed()
    s.subscription("maria-1")


def login_claims_the_device(s):
    known = s.register("maria-1")
    s.app("POST", "/test/accounts", {"accountId": "maria@example.com", "password": "correct-horse"},
          expect=201)
    s.app("POST", "/api/user/login", {
        "accountId": "maria@example.com", "credentials": {"password": "correct-horse"},
        "currentAppUserId": "maria-1", "deviceToken": known["deviceToken"],
    })
    s.app("POST", "/api/user/login", {
        "accountId": "maria@example.com", "credentials": {"password": "wrong-horse"},
        "currentAppUserId": "maria-1", "deviceToken": known["deviceToken"],
    }, expect=401)


SESSIONS = {
    "revenuecat/first-purchase": first_purchase,
    "revenuecat/renewal": renewal,
    "revenuecat/cancelled-and-back": cancelled_and_back,
    "revenuecat/refund": refund,
    "revenuecat/billing-issue": billing_issue,
    "revenuecat/transfer": transfer,
    "revenuecat/delivered-twice": delivered_twice,
    "revenuecat/unknown-user": unknown_user,
    "purchasely/subscription": purchasely_subscription,
    "purchasely/renewal-disabled": purchasely_renewal,
    "firebase/protected-route": protected_route,
    "onesignal/push-refused-once": push_refused_once,
    "despia/paywall-on-the-device": paywall_on_the_device,
    "despia/login-claims-the-device": login_claims_the_device,
}


def record(folder, name, play):
    """One session below `folder`/recordings, distilled and accepted."""
    recorder = Recorder(folder, "recordings/" + name)
    try:
        play(Session(recorder))
    finally:
        status = recorder.stop(signal.SIGINT)
    assert status == 0, (name, status)
    return assay(folder, "distill", "--accept", "recordings/" + name)


def main(names):
    folder = tempfile.mkdtemp(prefix="assay-sessions-")
    pathlib.Path(folder, "assay.yaml").write_text(PROFILE)
    for name in names or SESSIONS:
        print(name, record(folder, name, SESSIONS[name]).splitlines()[-1], flush=True)
        target = ROOT / "recordings" / name
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(pathlib.Path(folder, "recordings", name), target)
    print(assay(folder, "verify", "recordings", "--report", "json=r.json"))
    shutil.rmtree(folder)


if __name__ == "__main__":
    main(sys.argv[1:])
