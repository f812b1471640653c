"""A run that ends by SIGKILL keeps the cases and histories that it has finished."""

import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

from serving import BINARY

ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("ASSAY_")}
START = f"exec '{BINARY}' backend --port {{{{port}}}} --data '{{{{data}}}}'"

# Campaigns ask about what a probe shows.
PROFILE = """
assay: 1
features: {except: [push, restart, subscriber-reads, reconcile]}
probes:
  user: {get: "/test/users/{{id}}"}
  subscription:
    get: "/test/subscriptions/{{id}}"
    read: {access: /access, product: /product_id, expires: /expiration_at_ms}
"""


class Killed(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="assay-killed-")
        self.addCleanup(self.folder.cleanup)
        self.saved = pathlib.Path(self.folder.name) / "run.ndjson"
        self.corpus = pathlib.Path(self.folder.name) / "corpus"

    def assay(self, *words):
        return subprocess.run([BINARY, *words], cwd=self.folder.name, env=ENVIRONMENT, text=True,
                              capture_output=True, timeout=300)

    def lines(self):
        return self.saved.read_bytes().count(b"\n") if self.saved.exists() else 0

    def kill(self, condition, *words):
        """Starts a run, waits until a condition holds, and kills the run."""
        log = pathlib.Path(self.folder.name) / "log"
        with open(log, "wb") as output:
            run = subprocess.Popen([BINARY, *words], cwd=self.folder.name, env=ENVIRONMENT,
                                   stdout=output, stderr=output)
        try:
            end = time.monotonic() + 300
            while not condition():
                self.assertIsNone(run.poll(), log.read_text())
                self.assertLess(time.monotonic(), end, log.read_text())
                time.sleep(0.01)
        finally:
            run.send_signal(signal.SIGKILL)
            run.wait()

    def test_a_saved_run_holds_the_finished_cases(self):
        self.saved.write_text("yesterday\n")
        self.kill(lambda: self.lines() >= 4 and not self.saved.read_bytes().startswith(b"yester"),
                  "verify", "--only", "revenuecat", "--jobs", "1", "--start", START,
                  "--save", "run.ndjson")
        self.assertEqual(self.saved.stat().st_mode & 0o777, 0o600)
        judged = self.assay("judge", "run.ndjson")
        self.assertEqual(judged.returncode, 130, judged)
        words = " ".join(judged.stdout.split())
        self.assertIn("the run did not finish; ", words)
        self.assertRegex(words, r"cases in the file: \d+ of \d+; missing: revenuecat/")

    def test_a_campaign_keeps_its_histories_as_it_draws_them(self):
        (pathlib.Path(self.folder.name) / "assay.yaml").write_text(PROFILE)
        histories = self.corpus / "histories"
        self.kill(lambda: self.lines() >= 2 and len(list(histories.iterdir())) >= 5,
                  "explore", "--histories", "100000", "--jobs", "2", "--shrink-time", "1s", "--seed", "1",
                  "--corpus", "corpus", "--save", "run.ndjson",
                  "--start", START + " --defect cancellation-revokes")
        judged = self.assay("judge", "run.ndjson")
        self.assertEqual(judged.returncode, 130, judged)
        self.assertIn("FAIL", judged.stdout)
        again = self.assay("explore", "--histories", "5", "--jobs", "2", "--corpus", "corpus",
                           "--start", START)
        self.assertEqual(again.returncode, 0, again)


if __name__ == "__main__":
    unittest.main()
