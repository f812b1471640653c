"""A second opinion of what the fakes answer: Schemathesis makes up requests from the services' own descriptions,
right ones and wrong ones, and validates status, type, headers and body with a validator of its own.

Like test_descriptions.py it needs the descriptions, which are no part of the project.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import requests

import test_descriptions
from serving import Serving
from test_descriptions import SPECS, Description

APP = "a55a4000-0000-4000-8000-000000000000"
# A line that no server reads to its end says nothing about an operation.
HOOKS = """
import schemathesis


@schemathesis.hook
def filter_case(context, case):
    return len(str(case.path_parameters)) + len(str(case.query)) < 4000
"""
CHECKS = ["not_a_server_error", "content_type_conformance", "response_headers_conformance",
          "response_schema_conformance"]


@unittest.skipUnless(SPECS.is_dir(), f"no descriptions in {SPECS}")
class SecondOpinion(unittest.TestCase):
    apart = True

    def setUp(self):
        self.serving = Serving("--revenuecat-key", "sk_test", "--onesignal-key", "k-1")
        self.addCleanup(self.serving.stop)
        for product in ["premium_monthly", "coins_100"]:
            self.serving.control("POST", "/store/purchase", {"user": "ada", "product": product, "store": "PLAY_STORE"})

    def judge(self, description, url, authorization, parameters, checks=()):
        """Plays it twice: about what is there, and about what somebody made up."""
        made_up = {name: value for name, value in parameters.items() if name == "project_id"}
        for known in (parameters, made_up):
            self.play(description, url, authorization, known, checks)

    def play(self, description, url, authorization, parameters, checks):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "description.json").write_text(json.dumps(description, default=str))
            lines = [f'"path.{name}" = {json.dumps(value)}' for name, value in parameters.items()]
            (folder / "schemathesis.toml").write_text("[parameters]\n" + "\n".join(lines) + "\n")
            (folder / "short_lines.py").write_text(HOOKS)
            tool = pathlib.Path(sys.executable).parent / "schemathesis"
            result = subprocess.run(
                [tool, "--config-file", folder / "schemathesis.toml", "run", folder / "description.json", "--url", url,
                 "-H", f"Authorization: {authorization}", "--checks", ",".join([*CHECKS, *checks]), "--phases",
                 "examples,fuzzing", "--max-examples", os.environ.get("ASSAY_EXAMPLES", "5"), "--seed", "7", "--no-color",
                 "--suppress-health-check", "all", "--warnings", "off"],
                cwd=folder, env=os.environ | {"SCHEMATHESIS_HOOKS": "short_lines", "PYTHONPATH": str(folder)}, capture_output=True, text=True, timeout=500)
        shown = "\n".join(line[:200] for line in result.stdout.splitlines())
        self.assertEqual(result.returncode, 0, shown + result.stderr[-2000:])
        self.assertIn(f"Tested: {len(Description.operations_of(description))}", result.stdout, shown)

    def test_revenuecat_v1(self):
        description = Description("revenuecat-v1.yaml").root
        # The description knows no null and no failure; see RevenueCatV1.NULLS.
        for part in list(self.parts(description)):
            for name in test_descriptions.RevenueCatV1.NULLS & part.keys():
                if isinstance(part[name], dict) and "type" in part[name]:
                    part[name]["nullable"] = True
        self.judge(description, self.serving.urls["revenuecat"] + "/v1", "Bearer sk_test",
                   {"app_user_id": "ada", "product_identifier": "premium_monthly"})

    def parts(self, value):
        """Every object in a piece of a description."""
        if isinstance(value, dict):
            yield value
        for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            yield from self.parts(each)

    def test_revenuecat_v2(self):
        base = self.serving.urls["revenuecat"]

        def first(path):
            answer = requests.get(base + "/v2/projects/proj1" + path, headers={"Authorization": "Bearer sk_test"}, timeout=30)
            return answer.json()["items"][0]["id"]

        known = {
            "customer_id": "ada", "subscription_id": first("/customers/ada/subscriptions"),
            "purchase_id": first("/customers/ada/purchases"), "product_id": first("/products"),
            "entitlement_id": first("/entitlements"), "offering_id": first("/offerings"), "app_id": first("/apps"),
            "package_id": first("/offerings/" + first("/offerings") + "/packages"), "virtual_currency_code": "GLD",
        }
        description = Description("revenuecat-v2.yaml").root
        # Captured responses of 2026 have this member; the description is older.
        description["components"]["schemas"]["Entitlement"]["properties"]["state"] = {"type": "string"}
        self.judge(description, base + "/v2", "Bearer sk_test",
                   {"project_id": "proj1"} | known, ["status_code_conformance"])

    def test_onesignal(self):
        base = self.serving.urls["onesignal"]
        headers = {"Authorization": "Key k-1"}
        made = requests.post(f"{base}/apps/{APP}/users", headers=headers, timeout=30, json={
            "identity": {"external_id": "ada"}, "subscriptions": [{"type": "iOSPush", "token": "t"}]}).json()
        sent = requests.post(base + "/notifications", headers=headers, timeout=30, json={
            "app_id": APP, "contents": {"en": "Hi"}, "include_aliases": {"external_id": ["ada"]}, "target_channel": "push"})
        description = Description("onesignal.yaml").root
        # What is written is marked as never read there; the service shows it (fact sheet, section 6).
        for name, schema in description["components"]["schemas"].items():
            if name != "App":
                for each in self.parts(schema):
                    each.pop("writeOnly", None)
        self.judge(description, base, "Key k-1", {
            "app_id": APP, "alias_label": "external_id", "alias_id": "ada", "notification_id": sent.json()["id"],
            "subscription_id": made["subscriptions"][0]["id"],
        }, ["status_code_conformance"])


if __name__ == "__main__":
    unittest.main()
