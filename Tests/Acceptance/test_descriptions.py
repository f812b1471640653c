"""What the fakes answer, by the descriptions that the services publish of themselves.

The descriptions are no part of the project: their folder is ../shared/specs, or ASSAY_SPECS. Without them nothing
is judged, and that is said.
"""

import csv
import gzip
import json
import os
import pathlib
import subprocess
import unittest

import requests
import yaml
from openapi_schema_validator import OAS30Validator

from serving import BINARY, ROOT, Serving

SPECS = pathlib.Path(os.environ.get("ASSAY_SPECS", ROOT.parent / "shared" / "specs"))


class Loader(yaml.SafeLoader):
    """A plain `=` is a text here, not YAML 1.1's default value."""


Loader.add_constructor("tag:yaml.org,2002:value", lambda loader, node: node.value)


def inventory(service, interface):
    """What the program says of itself: the standing of each operation that the description lists."""
    lines = json.loads(subprocess.run([BINARY, "coverage", "--json"], check=True, capture_output=True,
                                      text=True, timeout=60).stdout)
    return {(each["method"], each["path"]): each["standing"] for each in lines
            if each["service"] == service and each["interface"] == interface and each["described"]}


class Description:
    """The operations of one description, and what they may answer."""

    def __init__(self, name):
        self.root = yaml.load((SPECS / name).read_text(), Loader)
        self.operations = self.operations_of(self.root)
        self.called = set()

    @staticmethod
    def operations_of(root):
        return {
            (method.upper(), path): operation
            for path, methods in root["paths"].items() for method, operation in methods.items()
            if method in ("get", "post", "put", "patch", "delete")}

    def resolved(self, value, depth=0):
        # Some shapes hold themselves.
        if depth > 12:
            return {}
        if isinstance(value, dict):
            if "$ref" in value:
                target = self.root
                for key in value["$ref"].split("/")[1:]:
                    target = target[key]
                return self.resolved(target, depth + 1)
            return {key: self.resolved(each, depth) for key, each in value.items()
                    if key not in ("example", "examples")}
        if isinstance(value, list):
            return [self.resolved(each, depth) for each in value]
        return value

    def complaints(self, method, path, answer):
        """What is not as described; the operation has to be there."""
        operation = self.operations[method, path]
        self.called.add((method, path))
        responses = {str(status): each for status, each in operation["responses"].items()}
        response = responses.get(str(answer.status_code))
        if response is None and answer.status_code >= 400:
            response = responses.get("default")
        if response is None:
            return [f"{answer.status_code} is none of {sorted(responses)}: {answer.text[:300]}"]
        response = self.resolved(response)
        missing = [f"header {name}" for name, header in response.get("headers", {}).items()
                   if header.get("required") and name not in answer.headers]
        content = response.get("content", {})
        if not content:
            return missing
        schema = content["application/json"].get("schema", {})
        return missing + [f"{'/'.join(map(str, each.absolute_path))}: {each.message}"[:300]
                for each in OAS30Validator(schema).iter_errors(answer.json())]


@unittest.skipUnless((SPECS / "revenuecat-v1.yaml").is_file(), f"no descriptions in {SPECS}")
class RevenueCatV1(unittest.TestCase):
    """All fifteen operations."""

    # Where the description says text and the service, like the fake, has nothing to say: dates that have not
    # come, and versions of an app that nobody told.
    NULLS = {
        "auto_resume_date", "billing_issues_detected_at", "grace_period_expires_date", "refunded_at",
        "unsubscribe_detected_at", "original_application_version", "original_purchase_date", "management_url",
    }

    @classmethod
    def setUpClass(cls):
        cls.description = Description("revenuecat-v1.yaml")
        cls.serving = Serving("--revenuecat-key", "sk_test")
        cls.problems = []

    @classmethod
    def tearDownClass(cls):
        cls.serving.stop()

    def call(self, method, path, body=None, key="sk_test", status=None, platform=None, **names):
        address = path
        for name, value in names.items():
            address = address.replace("{" + name + "}", value)
        self.assertNotIn("{", address)
        headers = {"Authorization": f"Bearer {key}"} | ({"X-Platform": platform} if platform else {})
        answer = requests.request(method, self.serving.urls["revenuecat"] + "/v1" + address, json=body,
                                  headers=headers, timeout=60)
        found = [each for each in self.description.complaints(method, path, answer)
                 if not (each.split(": ")[0].split("/")[-1] in self.NULLS and "None" in each)]
        self.assertEqual(found, [], f"{method} {address}")
        if status is not None:
            self.assertEqual(answer.status_code, status, answer.text)
        return answer.json() if answer.text else None

    ME = "/subscribers/{app_user_id}"

    def test_every_operation_answers_as_it_is_described(self):
        ada = {"app_user_id": "ada"}
        self.call("GET", self.ME, status=201, **ada)
        self.call("GET", self.ME, status=200, **ada)
        self.call("GET", self.ME, key="wrong", status=401, **ada)
        self.call("GET", self.ME, status=400, app_user_id="null")
        self.call("POST", self.ME + "/attributes", {"attributes": {"tea-sort_1": {"value": "oolong"}}}, status=200, **ada)
        self.call("POST", self.ME + "/attributes", {"attributes": {"no name": {"value": "x"}}}, status=400, **ada)
        self.call("POST", self.ME + "/attribution", {"data": {"rc_idfa": "x"}, "network": 0}, key="appl_x", **ada)
        self.call("GET", self.ME + "/offerings", key="appl_x", status=200, **ada)
        self.call("GET", self.ME + "/offerings", key="sk_test", status=403, platform="ios", **ada)
        self.call("POST", self.ME + "/offerings/{offering_uuid}/override", {}, offering_uuid="ofrng1234", status=201, **ada)
        offered = self.call("GET", self.ME + "/offerings", key="appl_x", **ada)
        self.assertIn(offered["current_offering_id"], [each["identifier"] for each in offered["offerings"]])
        self.call("DELETE", self.ME + "/offerings/override", status=201, **ada)

        grant = self.ME + "/entitlements/{entitlement_identifier}/promotional"
        pro = {"entitlement_identifier": "premium"} | ada
        given = self.call("POST", grant, {"end_time_ms": 4102444800000}, status=201, **pro)
        self.assertIn("rc_promo_premium_custom", given["subscriber"]["subscriptions"])
        for duration in self.description.resolved(self.description.operations["POST", grant]["requestBody"])[
                "content"]["application/json"]["schema"]["properties"]["duration"]["enum"]:
            self.call("POST", grant, {"duration": duration}, status=201, **pro)
        self.call("POST", self.ME + "/entitlements/{entitlement_identifier}/revoke_promotionals", {}, status=200, **pro)

        for platform, key in [("ios", "appl_x"), ("stripe", "strp_x"), ("roku", "appl_x"), ("paddle", "appl_x"),
                              ("amazon", "amzn_x"), ("macos", "mac_x")]:
            user = f"{platform}-buyer"
            bought = self.call("POST", "/receipts", {"app_user_id": user, "fetch_token": f"sub_{platform}"}, key=key,
                               platform=platform)
            self.assertEqual(len(bought["subscriber"]["subscriptions"]), 1, platform)
        play = {"app_user_id": "play", "fetch_token": "t", "product_id": "premium_monthly"}
        bought = self.call("POST", "/receipts", play, key="goog_x", platform="android")
        transaction = bought["subscriber"]["subscriptions"]["premium_monthly"]["store_transaction_id"]
        buyer = {"app_user_id": "play"}
        self.call("POST", self.ME + "/subscriptions/{product_identifier}/defer", {"extend_by_days": 3},
                  product_identifier="premium_monthly", **buyer)
        self.call("POST", self.ME + "/subscriptions/{store_transaction_identifier}/cancel", {},
                  store_transaction_identifier=transaction, **buyer)
        self.call("POST", self.ME + "/subscriptions/{product_identifier}/revoke", {},
                  product_identifier="premium_monthly", **buyer)
        coins = play | {"fetch_token": "c", "product_id": "coins_100"}
        bought = self.call("POST", "/receipts", coins, key="goog_x", platform="android")
        [coin] = bought["subscriber"]["non_subscriptions"]["coins_100"]
        self.assertEqual(set(coin["price"]), {"amount", "currency"})
        self.call("POST", self.ME + "/transactions/{store_transaction_identifier}/refund", {},
                  store_transaction_identifier=coin["store_transaction_id"], **buyer)

        apple = self.call("GET", self.ME, app_user_id="ios-buyer")["subscriber"]["subscriptions"]
        [(product, before)] = apple.items()
        extended = self.call("POST", self.ME + "/subscriptions/{store_transaction_identifier}/extend",
                             {"extend_by_days": 30, "extend_reason_code": 1}, app_user_id="ios-buyer",
                             store_transaction_identifier=before["store_transaction_id"])
        self.assertGreater(extended["subscriber"]["subscriptions"][product]["expires_date"], before["expires_date"])
        self.call("DELETE", self.ME, status=200, **ada)
        # Nothing of the description was left out.
        self.assertEqual(self.description.called, set(self.description.operations))
        self.assertEqual(inventory("revenuecat", "REST v1"),
                         {(method, "/v1" + path): "served" for method, path in self.description.operations})


@unittest.skipUnless((SPECS / "revenuecat-v2.yaml").is_file(), f"no descriptions in {SPECS}")
class RevenueCatV2(unittest.TestCase):
    """Every customer-facing operation, and the refusal of the others."""

    @classmethod
    def setUpClass(cls):
        cls.description = Description("revenuecat-v2.yaml")
        cls.serving = Serving("--revenuecat-key", "sk_test")

    @classmethod
    def tearDownClass(cls):
        cls.serving.stop()

    def setUp(self):
        self.description.called = set()

    # Captured responses of 2026 have this member of an entitlement; the description is older.
    NEWER = "Additional properties are not allowed ('state' was unexpected)"

    P = "/projects/{project_id}"
    ME = P + "/customers/{customer_id}"

    def call(self, method, path, body=None, status=200, query=None, version="v2", headers=None, **names):
        address = path
        for name, value in ({"project_id": "proj1"} | names).items():
            address = address.replace("{" + name + "}", value)
        self.assertNotIn("{", address)
        answer = requests.request(
            method, f"{self.serving.urls['revenuecat']}/{version}{address}", json=body, params=query,
            headers={"Authorization": "Bearer sk_test"} | (headers or {}), timeout=60, allow_redirects=False)
        if version == "v2":
            found = [each for each in self.description.complaints(method, path, answer)
                     if not each.endswith(self.NEWER)]
            self.assertEqual(found, [], f"{method} {address}")
        self.assertEqual(answer.status_code, status, answer.text)
        return answer.json() if answer.text else None

    def store(self, action, **body):
        return self.serving.control("POST", f"/store/{action}", body)

    def test_every_operation_that_is_served(self):
        self.a_customer_and_what_is_bought()
        self.what_is_sold()
        self.currencies()
        self.billed_on_the_web()
        served = {name for name, standing in inventory("revenuecat", "REST v2").items() if standing == "served"}
        self.assertEqual({(method, "/v2" + path) for method, path in self.description.called}, served)

    def currencies(self):
        path, one = self.P + "/virtual_currencies", {"virtual_currency_code": "GLD"}
        self.call("POST", path, {"code": "GLD"}, status=400)
        self.call("POST", path, {"code": "no code", "name": "Gold"}, status=400)
        # What nobody described is sold once somebody bought it.
        self.store("purchase", user="early", product="coins_100")
        [coins] = [each for each in self.call("GET", self.P + "/products")["items"] if each["store_identifier"] == "coins_100"]
        self.call("POST", path, {"code": "GLD", "name": "Gold", "product_grants": [
            {"product_ids": [coins["id"]], "amount": 100, "trial_amount": None, "expire_at_cycle_end": None}]}, status=201)
        self.call("POST", path, {"code": "GLD", "name": "Gold"}, status=409)
        self.assertEqual(self.call("GET", path + "/{virtual_currency_code}", **one)["name"], "Gold")
        self.call("POST", path + "/{virtual_currency_code}", {"name": "Old gold"}, **one)
        self.assertEqual(self.call("GET", path)["items"][0]["name"], "Old gold")
        self.call("POST", self.P + "/customers", {"id": "spender"}, status=201)
        spender = {"customer_id": "spender"}
        self.store("purchase", user="spender", product="coins_100")
        mine = self.ME + "/virtual_currencies"
        self.assertEqual([each["balance"] for each in self.call("GET", mine, **spender)["items"]], [100])
        change = {"adjustments": {"GLD": -30}, "reference": "tea"}
        key = {"Idempotency-Key": "k-1"}
        for _ in range(2):
            left = self.call("POST", mine + "/transactions", change, headers=key, **spender)
        self.assertEqual(left["items"][0]["balance"], 70)
        self.call("POST", mine + "/transactions", {"adjustments": {"GLD": 1}}, headers=key, status=409, **spender)
        self.call("POST", mine + "/transactions", {"adjustments": {"GLD": -71}}, status=422, **spender)
        self.call("POST", mine + "/transactions", {"adjustments": {"TIN": 1}}, status=404, **spender)
        self.call("POST", mine + "/transactions", {}, status=400, **spender)
        left = self.call("POST", mine + "/update_balance", {"adjustments": {"GLD": -70}},
                         query={"include_empty_balances": "true"}, **spender)
        self.assertEqual(left["items"][0]["balance"], 0)
        self.assertEqual(self.call("GET", mine, **spender)["items"], [])
        self.call("DELETE", path + "/{virtual_currency_code}", **one)
        self.call("GET", path + "/{virtual_currency_code}", status=404, **one)

    def billed_on_the_web(self):
        self.store("purchase", user="webber", product="premium_monthly", store="RC_BILLING")
        webber = {"customer_id": "webber"}
        [invoice] = self.call("GET", self.ME + "/invoices", **webber)["items"]
        self.call("GET", self.ME + "/invoices/{invoice_id}/file", status=302, invoice_id=invoice["id"], **webber)
        self.call("GET", self.ME + "/invoices/{invoice_id}/file", status=404, invoice_id="none", **webber)
        [subscription] = self.call("GET", self.ME + "/subscriptions", **webber)["items"]
        one = {"subscription_id": subscription["id"]}
        url = self.P + "/subscriptions/{subscription_id}/authenticated_management_url"
        self.assertTrue(self.call("GET", url, **one)["management_url"].startswith("https://"))
        self.store("purchase", user="player", product="premium_monthly", store="PLAY_STORE")
        [subscription] = self.call("GET", self.ME + "/subscriptions", customer_id="player")["items"]
        one = {"subscription_id": subscription["id"]}
        path = self.P + "/subscriptions/{subscription_id}/transactions"
        [transaction] = self.call("GET", path, **one)["items"]
        self.call("POST", path + "/{transaction_id}/actions/refund", {}, transaction_id=transaction["id"], **one)
        self.call("POST", path + "/{transaction_id}/actions/refund", {}, status=404, transaction_id="none", **one)
        self.call("GET", self.P + "/subscriptions/{subscription_id}/authenticated_management_url", status=400, **one)

    def a_customer_and_what_is_bought(self):
        ada = {"customer_id": "ada"}
        self.call("GET", self.ME, status=404, **ada)
        made = self.call("POST", self.P + "/customers", {
            "id": "ada", "attributes": [{"name": "$email", "value": "a@example.com"}]}, status=201)
        self.assertEqual(made["id"], "ada")
        self.call("POST", self.P + "/customers", {"id": "ada"}, status=409)
        self.call("POST", self.P + "/customers", {}, status=400)
        self.assertEqual(self.call("GET", self.ME, query={"expand": "attributes"}, **ada)["attributes"]["items"][0]["name"],
                         "$email")
        self.call("POST", self.ME + "/attributes", {"attributes": [{"name": "tea", "value": "green"}]}, **ada)
        self.call("POST", self.ME + "/attributes", {"attributes": [{"name": "no name", "value": "x"}]}, status=400, **ada)
        listed = self.call("GET", self.ME + "/attributes", query={"limit": 1}, **ada)
        self.assertEqual(len(listed["items"]), 1)
        more = requests.get(self.serving.urls["revenuecat"] + listed["next_page"],
                            headers={"Authorization": "Bearer sk_test"}, timeout=60).json()
        self.assertEqual([each["name"] for each in more["items"]], ["tea"])
        self.assertIsNone(more["next_page"])
        self.assertEqual(self.call("GET", self.ME + "/aliases", **ada)["items"][0]["id"], "ada")

        self.store("purchase", user="ada", product="premium_monthly", store="PLAY_STORE")
        [subscription] = self.call("GET", self.ME + "/subscriptions", **ada)["items"]
        # A backend that reads null reads 'never ends'.
        self.assertEqual(subscription["ends_at"], subscription["current_period_ends_at"])
        self.assertIsNotNone(subscription["ends_at"])
        one = {"subscription_id": subscription["id"]}
        path = self.P + "/subscriptions/{subscription_id}"
        self.assertEqual(self.call("GET", path, **one), subscription)
        [given] = self.call("GET", path + "/entitlements", **one)["items"]
        [active] = self.call("GET", self.ME + "/active_entitlements", **ada)["items"]
        self.assertEqual(given["id"], active["entitlement_id"])
        [transaction] = self.call("GET", path + "/transactions", **one)["items"]
        found = self.call("GET", self.P + "/subscriptions",
                          query={"store_subscription_identifier": transaction["id"]})
        self.assertEqual([each["id"] for each in found["items"]], [subscription["id"]])
        self.call("GET", self.P + "/subscriptions", status=400)
        # v1, v2 and events are one model.
        old = self.call("GET", "/subscribers/ada", version="v1")["subscriber"]["subscriptions"]["premium_monthly"]
        self.assertEqual(old["store_transaction_id"], transaction["id"])
        self.assertEqual(self.call("POST", path + "/actions/cancel", {}, **one)["auto_renewal_status"], "will_not_renew")
        refunded = self.call("POST", path + "/actions/refund", {}, **one)
        self.assertEqual((refunded["gives_access"], refunded["status"]), (False, "expired"))
        self.call("POST", path + "/actions/refund", {}, status=422, **one)

        for environment, count in [("production", 1), ("sandbox", 0)]:
            found = self.call("GET", self.ME + "/subscriptions", query={"environment": environment}, **ada)["items"]
            self.assertEqual(len(found), count)
        self.call("GET", self.ME + "/subscriptions", query={"environment": "tea"}, status=400, **ada)
        [by_address] = self.call("GET", self.P + "/customers", query={"search": "a@example.com"})["items"]
        self.assertEqual(by_address["id"], "ada")
        self.store("purchase", user="ada", product="coins_100")
        [purchase] = self.call("GET", self.ME + "/purchases", **ada)["items"]
        one = {"purchase_id": purchase["id"]}
        path = self.P + "/purchases/{purchase_id}"
        self.assertEqual(self.call("GET", path, **one)["status"], "owned")
        self.call("GET", path + "/entitlements", **one)
        self.assertEqual(self.call("POST", path + "/actions/refund", {}, **one)["status"], "refunded")
        self.call("GET", self.P + "/purchases", query={"store_purchase_identifier": purchase["store_purchase_identifier"]})

        entitlement = active["entitlement_id"]
        self.call("POST", self.ME + "/actions/grant_entitlement",
                  {"entitlement_id": entitlement, "expires_at": 4102444800000}, status=201, **ada)
        self.call("POST", self.ME + "/actions/grant_entitlement", {"entitlement_id": entitlement, "expires_at": 1},
                  status=400, **ada)
        self.call("POST", self.ME + "/actions/grant_entitlement", {"entitlement_id": "entlnone", "expires_at": 4102444800000},
                  status=404, **ada)
        [active] = self.call("GET", self.ME + "/active_entitlements", **ada)["items"]
        self.assertEqual(active["expires_at"], 4102444800000)
        self.call("POST", self.P + "/customers", {"id": "bob"}, status=201)
        self.call("POST", self.ME + "/actions/transfer", {"target_customer_id": "bob"}, **ada)
        self.assertEqual(self.call("GET", self.ME + "/active_entitlements", **ada)["items"], [])
        bob = {"customer_id": "bob"}
        self.call("POST", self.ME + "/actions/revoke_granted_entitlement", {"entitlement_id": entitlement}, **bob)
        self.assertEqual(self.call("GET", self.ME + "/active_entitlements", **bob)["items"], [])
        self.call("GET", self.ME + "/virtual_currencies", **bob)
        self.call("GET", self.ME + "/invoices", **bob)
        self.assertEqual(len(self.call("GET", self.P + "/customers")["items"]), 2)
        self.call("DELETE", self.ME, **bob)
        self.call("GET", self.ME, status=404, **bob)

    def what_is_sold(self):
        self.call("GET", "/projects")
        [app] = self.call("GET", self.P + "/apps")["items"]
        self.call("GET", self.P + "/apps/{app_id}", app_id=app["id"])
        self.call("GET", self.P + "/apps/{app_id}", status=404, app_id="none")
        self.call("GET", self.P + "/apps/{app_id}/public_api_keys", app_id=app["id"])
        self.call("GET", self.P + "/paywalls")
        self.call("GET", self.P + "/paywalls/{paywall_id}", status=404, paywall_id="none")
        self.assertTrue(self.call("GET", self.P + "/metrics/overview")["metrics"])
        self.call("GET", self.P + "/metrics/overview", status=400, query={"currency": "TEA"})
        for thing, name in [("entitlements", "entitlement_id"), ("products", "product_id"), ("offerings", "offering_id")]:
            items = self.call("GET", f"{self.P}/{thing}")["items"]
            self.assertTrue(items)
            for item in items:
                self.assertEqual(self.call("GET", f"{self.P}/{thing}/{{{name}}}", **{name: item["id"]})["id"], item["id"])
            self.call("GET", f"{self.P}/{thing}/{{{name}}}", status=404, **{name: "none"})
        [offering] = self.call("GET", self.P + "/offerings", query={"expand": ["items.package", "items.package.product"]})["items"]
        self.assertTrue(offering["packages"]["items"][0]["products"]["items"][0]["product"]["id"])
        one = self.call("GET", self.P + "/offerings/{offering_id}", query={"expand": "package"}, offering_id=offering["id"])
        self.assertNotIn("products", one["packages"]["items"][0])
        for entitlement in self.call("GET", self.P + "/entitlements", query={"expand": "items.product"})["items"]:
            self.assertTrue(entitlement["products"]["items"], entitlement)
        self.assertEqual(self.call("GET", self.P + "/products", query={"expand": "items.app", "app_id": app["id"]})["items"][0][
            "app"]["id"], app["id"])
        self.call("GET", self.P + "/products", query={"app_id": "none"}, status=404)
        self.call("GET", self.P + "/products", query={"expand": "tea"}, status=400)
        self.call("POST", self.P + "/customers", {"id": "chooser"}, status=201)
        for wanted, status in [(offering["id"], 200), (None, 200), ("none", 404)]:
            self.call("POST", self.ME + "/actions/assign_offering", {"offering_id": wanted}, status=status,
                      customer_id="chooser")
        for package in self.call("GET", self.P + "/offerings/{offering_id}/packages", offering_id=offering["id"])["items"]:
            self.call("GET", self.P + "/packages/{package_id}", package_id=package["id"])
            self.call("GET", self.P + "/packages/{package_id}/products", package_id=package["id"])
        for entitlement in self.call("GET", self.P + "/entitlements")["items"]:
            self.assertTrue(self.call("GET", self.P + "/entitlements/{entitlement_id}/products",
                                      entitlement_id=entitlement["id"])["items"])
        self.call("GET", self.P + "/virtual_currencies")

    def test_every_operation_is_known(self):
        """What is not served answers as to a key without the permission, and nothing is 'no such resource'."""
        known = inventory("revenuecat", "REST v2")
        self.assertEqual(set(known), {(method, "/v2" + path) for method, path in self.description.operations})
        refused = 0
        for method, path in self.description.operations:
            address = path
            for part in address.split("/"):
                if part.startswith("{"):
                    address = address.replace(part, "none")
            answer = requests.request(method, self.serving.urls["revenuecat"] + "/v2" + address, json={},
                                      headers={"Authorization": "Bearer sk_test"}, timeout=60)
            self.assertNotIn("The resource was not found", answer.text, f"{method} {path}")
            self.assertEqual(answer.status_code == 403, known[method, "/v2" + path] == "refused", f"{method} {path}")
            if answer.status_code == 403:
                refused += 1
                self.assertEqual(self.description.complaints(method, path, answer), [], f"{method} {path}")
        self.assertEqual(refused, 85 - 53)


@unittest.skipUnless((SPECS / "onesignal.yaml").is_file(), f"no descriptions in {SPECS}")
class OneSignal(unittest.TestCase):
    """Every operation, over one app's life."""

    APP = "a55a4000-0000-4000-8000-000000000000"
    A = "/apps/{app_id}"

    @classmethod
    def setUpClass(cls):
        cls.description = Description("onesignal.yaml")
        cls.serving = Serving("--onesignal-key", "k-1")

    @classmethod
    def tearDownClass(cls):
        cls.serving.stop()

    def call(self, method, path, body=None, status=200, query=None, key="k-1", **names):
        names = {"app_id": self.APP} | names
        address = path.split("?")[0]
        if "?" in path:
            query = {"app_id": names["app_id"]} | (query or {})
        for name, value in names.items():
            address = address.replace("{" + name + "}", value)
        self.assertNotIn("{", address)
        answer = requests.request(method, self.serving.urls["onesignal"] + address, json=body, params=query,
                                  headers={"Authorization": f"Key {key}"} if key else {}, timeout=60)
        # By the description every filter is also an operator: each of its members may be absent.
        found = [each for each in self.description.complaints(method, path, answer)
                 if not ("filters/" in each and "is valid under each of" in each)]
        self.assertEqual(found, [], f"{method} {address} {answer.text}")
        self.assertEqual(answer.status_code, status, f"{method} {address} {answer.text}")
        return answer.json()

    def test_every_operation(self):
        self.people()
        self.messages()
        self.audiences()
        self.apps()
        self.others()
        self.assertEqual(self.description.called, set(self.description.operations))
        known = inventory("onesignal", "REST")
        self.assertEqual(set(known), set(self.description.operations))

    def people(self):
        user = self.A + "/users/by/{alias_label}/{alias_id}"
        ada = {"alias_label": "external_id", "alias_id": "ada"}
        self.call("POST", self.A + "/users", {}, status=400)
        made = self.call("POST", self.A + "/users", {
            "identity": {"external_id": "ada"}, "properties": {"tags": {"tea": "green"}},
            "subscriptions": [{"type": "iOSPush", "token": "t-1"}, {"type": "Email", "token": "ada@example.com"}]}, status=201)
        self.call("GET", user, **ada)
        self.call("GET", user, status=404, alias_label="external_id", alias_id="nobody")
        self.call("PATCH", user, {"properties": {"tags": {"level": "3"}}}, status=202, **ada)
        self.call("GET", user + "/identity", **ada)
        self.call("PATCH", user + "/identity", {"identity": {"club": "7"}}, **ada)
        self.call("DELETE", user + "/identity/{alias_label_to_delete}", alias_label_to_delete="club", **ada)
        added = self.call("POST", user + "/subscriptions", {"subscription": {"type": "SMS", "token": "+15550100"}}, status=201,
                          **ada)["subscription"]
        one = {"subscription_id": added["id"]}
        subscription = self.A + "/subscriptions/{subscription_id}"
        self.call("PATCH", subscription, {"subscription": {"enabled": True}}, **one)
        self.call("GET", subscription + "/user/identity", **one)
        self.call("PATCH", subscription + "/user/identity", {"identity": {"guild": "8"}}, **one)
        self.call("POST", self.A + "/users", {"identity": {"external_id": "bob"}}, status=201)
        self.call("PATCH", subscription + "/owner", {"identity": {"external_id": "bob"}}, **one)
        self.call("PATCH", self.A + "/subscriptions_by_token/{token_type}/{token}", {"subscription": {"enabled": True}}, status=202,
                  token_type="iOSPush", token="t-1")
        self.call("DELETE", subscription, status=202, **one)
        self.call("DELETE", subscription, status=404, **one)
        self.call("DELETE", user, alias_label="external_id", alias_id="bob")
        self.email = next(each["id"] for each in made["subscriptions"] if each["type"] == "Email")

    def messages(self):
        push = {"app_id": self.APP, "contents": {"en": "Hi"}, "target_channel": "push",
                "include_aliases": {"external_id": ["ada"]}}
        self.call("POST", "/notifications", {"app_id": self.APP}, status=400)
        sent = self.call("POST", "/notifications", push)
        mail = self.call("POST", "/notifications", {
            "app_id": self.APP, "email_subject": "Tea", "email_body": "<p>Tea</p>", "email_to": ["ada@example.com"]})
        text = self.call("POST", "/notifications", {
            "app_id": self.APP, "contents": {"en": "Tea"}, "sms_from": "+15550199", "include_phone_numbers": ["+15550100"]})
        self.assertTrue(sent["id"] and mail["id"] and text["id"])
        query = {"app_id": self.APP}
        self.assertEqual(self.call("GET", "/notifications", query=query)["total_count"], 3)
        one = {"notification_id": sent["id"]}
        path = "/notifications/{notification_id}"
        self.call("GET", path, query=query, **one)
        self.call("GET", path, query=query, status=404, notification_id="none")
        history = self.call("POST", path + "/history", {"events": "sent", "app_id": self.APP}, **one)
        self.assertIn(["sent", "ada"], [line[:2] for line in self.csv(history["destination_url"])])
        self.call("POST", path + "/history", {"events": "tea", "app_id": self.APP}, status=400, **one)
        self.call("POST", path + "/export_events", query=query, status=404, notification_id="none")
        exported = self.call("POST", path + "/export_events", query=query, **one)
        self.assertEqual(self.csv(exported["csv_file_url"])[0][0], "status")
        later = self.call("POST", "/notifications", push | {"send_after": "2099-01-01 00:00:00 GMT"})
        self.call("DELETE", path, query=query, notification_id=later["id"])
        self.call("DELETE", path, query=query, status=404, notification_id="none")
        leave = self.A + "/notifications/{notification_id}/unsubscribe"
        self.call("POST", leave, query={"token": "none"}, status=400, notification_id=mail["id"])
        self.call("POST", leave, query={"token": self.email}, status=202, notification_id=mail["id"])
        exported = self.call("POST", "/players/csv_export?app_id={app_id}", {"extra_fields": ["external_user_id"]})
        header, *lines = self.csv(exported["csv_file_url"])
        mine = [dict(zip(header, line)) for line in lines]
        self.assertEqual({each["external_user_id"] for each in mine}, {"ada"})
        self.assertIn("True", {str(each["invalid_identifier"] == "true") for each in mine})
        self.call("POST", "/players/csv_export?app_id={app_id}", {"segment_name": "none"}, status=400)

    def csv(self, url):
        answer = requests.get(url, timeout=60)
        self.assertEqual(answer.status_code, 200)
        return list(csv.reader(gzip.decompress(answer.content).decode().splitlines()))

    def audiences(self):
        segments = self.A + "/segments"
        tea = {"name": "Tea", "filters": [{"field": "tag", "key": "tea", "relation": "=", "value": "green"}]}
        self.call("POST", segments, {"name": "Tea"}, status=400)
        one = {"segment_id": self.call("POST", segments, tea, status=201)["id"]}
        self.call("POST", segments, tea, status=409)
        listed = self.call("GET", segments, status=201)["segments"]
        self.assertIn("Tea", [each["name"] for each in listed])
        path = segments + "/{segment_id}"
        seen = self.call("GET", path, query={"include-segment-detail": "true"}, **one)
        self.assertEqual((seen["subscriber_count"], seen["payload"]["filters"]), (1, tea["filters"]))
        self.call("PATCH", path, {"name": "Green tea"}, **one)
        self.call("PATCH", path, {"name": "All"}, status=403, segment_id=listed[0]["id"])
        self.call("GET", path, status=404, segment_id="none")
        reached = self.call("POST", "/notifications", {
            "app_id": self.APP, "contents": {"en": "Hi"}, "included_segments": ["Green tea"]})
        view = self.call("GET", "/notifications/{notification_id}", query={"app_id": self.APP}, notification_id=reached["id"])
        self.assertEqual(view["successful"], 1)
        self.call("DELETE", path, **one)
        self.call("DELETE", path, status=404, **one)

        query = {"app_id": self.APP}
        template = {"app_id": self.APP, "name": "Hello", "contents": {"en": "Hi"}}
        self.call("POST", "/templates", {"app_id": self.APP, "name": "Hello"}, status=400)
        made = self.call("POST", "/templates", template)
        self.call("POST", "/templates", {"app_id": self.APP, "name": "Mail", "isEmail": True, "email_subject": "Tea",
                                         "email_body": "<p>Tea</p>", "contents": {"en": "Tea"}})
        one = {"template_id": made["id"]}
        self.assertEqual(self.call("GET", "/templates/{template_id}", query=query, **one)["content"], {"contents": {"en": "Hi"}})
        listed = self.call("GET", "/templates", query=query | {"channel": "email"})["templates"]
        self.assertEqual([each["name"] for each in listed], ["Mail"])
        self.call("PATCH", "/templates/{template_id}", {"name": "Hello again"}, query=query, **one)
        self.call("PATCH", "/templates/{template_id}", {"name": "x"}, query=query, status=400, template_id="none")
        self.call("DELETE", "/templates/{template_id}", query=query, **one)
        self.call("DELETE", "/templates/{template_id}", query=query, status=404, **one)
        self.call("GET", "/templates/{template_id}", query=query, status=404, **one)

    def apps(self):
        made = self.call("POST", "/apps", {"name": "Other"})
        self.call("POST", "/apps", {}, status=400)
        other, key = made["id"], made["basic_auth_key"]
        self.call("GET", "/apps")
        self.assertEqual(self.call("GET", self.A, app_id=other)["name"], "Other")
        self.call("PUT", self.A, {"name": "Another"}, app_id=other)
        # A key opens its own app and no other.
        user = {"identity": {"external_id": "ada"}}
        self.call("POST", self.A + "/users", user, status=201, app_id=other, key=key)
        self.call("POST", self.A + "/users", user, status=403, app_id=other)
        self.call("POST", self.A + "/users", user, status=403, key=key)
        self.call("POST", "/notifications", {"app_id": self.APP, "contents": {"en": "Hi"},
                                             "included_segments": ["All"]}, status=403, key=key)
        tokens = self.A + "/auth/tokens"
        self.call("POST", tokens, {}, status=400)
        self.call("POST", tokens, {"name": "x", "ip_allowlist_mode": "tea"}, status=400)
        token = self.call("POST", tokens, {"name": "CI", "ip_allowlist_mode": "disabled"})
        one = {"token_id": token["token_id"]}
        self.call("GET", self.A + "/segments", status=201, key=token["formatted_token"])
        self.call("PATCH", tokens + "/{token_id}", {"name": "CI 2"}, **one)
        self.assertEqual(self.call("GET", tokens)["tokens"][0]["name"], "CI 2")
        new = self.call("POST", tokens + "/{token_id}/rotate", **one)
        self.call("GET", self.A + "/segments", status=403, key=token["formatted_token"])
        self.call("GET", self.A + "/segments", status=201, key=new["formatted_token"])
        self.call("DELETE", tokens + "/{token_id}", **one)
        self.call("GET", self.A + "/segments", status=403, key=new["formatted_token"])
        template = self.call("POST", "/templates", {"app_id": self.APP, "name": "Hello", "contents": {"en": "Hi"}})
        copied = self.call("POST", "/templates/{template_id}/copy_to_app", {"target_app_id": other},
                           query={"app_id": self.APP}, template_id=template["id"])
        self.call("GET", "/templates/{template_id}", query={"app_id": other}, key=key, template_id=copied["id"])

    def others(self):
        events = self.A + "/custom_events"
        self.call("POST", events, {"events": [{"name": "brewed", "external_id": "ada", "payload": {"cups": 2}}]})
        self.call("POST", events, {"events": [{"name": "brewed"}]}, status=400)
        self.call("POST", events, {"events": []}, status=401, key=None)
        start = {"name": "Tea", "event": "start", "activity_id": "a-1", "event_attributes": {}, "event_updates": {"left": 3},
                 "contents": {"en": "Tea"}, "headings": {"en": "Tea"}, "include_aliases": {"external_id": ["ada"]}}
        path = self.A + "/activities/activity/{activity_type}"
        self.call("POST", path, start, status=201, activity_type="brewing")
        self.call("POST", path, start | {"event": "tea"}, status=400, activity_type="brewing")
        path = self.A + "/live_activities/{activity_id}/notifications"
        self.call("POST", path, {"name": "Tea", "event": "end", "event_updates": {"left": 0}}, activity_id="a-1")
        self.call("POST", path, {"name": "Tea", "event": "end"}, status=400, activity_id="a-1")
        for weight in (2, 3):
            measured = requests.post(self.serving.urls["onesignal"] + "/outcomes/measure", timeout=60,
                                     json={"app_id": self.APP, "id": "cups", "weight": weight},
                                     headers={"Authorization": "Key k-1"})
            self.assertEqual(measured.status_code, 200, measured.text)
        outcomes = self.call("GET", self.A + "/outcomes", query={"outcome_names": "cups.count,cups.sum"})["outcomes"]
        self.assertEqual([each["value"] for each in outcomes], [2, 5])
        self.call("GET", self.A + "/outcomes", query={"outcome_names": "cups"}, status=400)
        self.assertEqual(self.call("GET", self.A + "/journeys")["journeys"], [])
        names = {"journey_id": "j", "node_id": "n", "organization_id": "o"}
        # The dashboard's own: refused as without the permission.
        self.refused = {name for name, standing in inventory("onesignal", "REST").items() if standing == "refused"}
        for method, path in sorted(self.refused):
            self.call(method, path, {}, status=403, **names)


if __name__ == "__main__":
    unittest.main()
