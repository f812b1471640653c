"""What differs by itself is learnt by playing a draft on the backend that was recorded."""

import json
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import time
import unittest

import requests

from test_recording import HERE, Recorder, assay, lines

PROFILE = """
assay: 1
endpoints:
  revenuecat-webhook: POST /hooks/rc
features: {except: [signature]}
"""


def start(defect=""):
    return f"exec '{sys.executable}' '{HERE}/noise.py' {{{{port}}}} {defect}"


class Noise(unittest.TestCase):
    """Forty-two kinds of accidents in one answer."""

    defects = {
        "locked-out": "E106", "other-words": "E106", "fewer": "E106", "other-path": "E106",
        "other-push": "E211", "other-page": "E106", "cached": "E106", "other-kind": "E106",
    }

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="assay-noise-")
        pathlib.Path(cls.folder, "assay.yaml").write_text(PROFILE)
        cls.record("recordings/noise/day")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def record(cls, scenario):
        recorder = Recorder(cls.folder, scenario, "--start", start())
        try:
            for user in ("user-17", "user-23"):
                answer = requests.post(
                    recorder.urls["control"] + "/store/purchase",
                    json={"user": user, "settle": True}, timeout=20)
                assert answer.status_code == 200, answer.text
                for path in ("/status/", "/orders/", "/page/", "/report/"):
                    answer = requests.get(recorder.proxy + path + user, timeout=20)
                    assert answer.status_code in (200, 201), answer.text
            deadline = time.monotonic() + 30
            while sum("notifications" in json.dumps(line) for line in lines(cls.folder, scenario)) < 2:
                assert time.monotonic() < deadline, "the backend told OneSignal nothing"
                time.sleep(0.05)
        finally:
            assert recorder.stop(signal.SIGINT) == 0

    def test_1_what_differs_by_itself_is_masked_and_told(self):
        out = assay(self.folder, "distill", "--accept", "--start", start(), "recordings/noise/day")
        for place in ("/order of", "/orderText of", "/took of", "/headers/location of"):
            self.assertIn(place, out)
        for name in ("ada", "bob"):
            text = pathlib.Path(self.folder, f"recordings/noise/day/golden-{name}.yaml").read_text()
            for part in (
                '"ORD-2026-{{any.number}}"',
                "http://127.0.0.1:{{any.number}}/orders/{{any.number}}",
                "Welcome! Your order {{any.number}} of {{any.number}} is on its way",
                "seen={{some.cookie1}}; Path=/shop; Expires={{any.text}}; HttpOnly",
                "<h1>Welcome</h1>", "<p>Order {{any.number}}</p>", "premium_monthly,{{any.number}}",
                '"Good day"', f"of {name} have the recorded outcome",
            ):
                self.assertIn(part, text)
            # Alike in every play of one day, and another tomorrow.
            self.assertNotIn(time.strftime("%Y-%m-%d", time.gmtime()), text.split("steps:")[1])

    def test_2_it_is_green_on_its_own_backend(self):
        for seed, jobs in (("1", "1"), ("2", "8"), ("3", "8"), ("4", "1")):
            assay(self.folder, "verify", "recordings", "--start", start(), "--seed", seed, "--jobs", jobs)

    def test_3_and_red_on_one_that_changed(self):
        for defect, code in self.defects.items():
            with self.subTest(defect=defect):
                assay(self.folder, "verify", "recordings", "--start", start(defect),
                      "--report", "json=r.json", expect=1)
                cases = json.loads(pathlib.Path(self.folder, "r.json").read_text())["cases"]
                codes = {finding["code"] for case in cases for finding in case["findings"]}
                self.assertIn(code, codes)

    def test_4_a_golden_that_is_red_on_its_own_backend_is_not_written(self):
        for defect in ("other-words", "other-push"):
            with self.subTest(defect=defect):
                out = assay(self.folder, "distill", "--out", "refused", "--start", start(defect),
                            "recordings/noise/day", expect=1)
                self.assertIn("not written, because it fails on the recorded backend", out)
                self.assertFalse(os.path.exists(os.path.join(self.folder, "refused")))

    def test_5_a_backend_that_does_not_start_is_told(self):
        assay(self.folder, "distill", "--out", "dead", "--start", "exit 3", "recordings/noise/day",
              expect=6)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "dead")))
