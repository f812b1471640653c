"""What the fakes answer, by the descriptions that the services publish of themselves.

The descriptions are no part of the project: their folder is ../shared/specs, or ASSAY_SPECS. Without them nothing
is judged, and that is said.
"""

import os
import pathlib
import unittest

import requests
import yaml
from openapi_schema_validator import OAS30Validator

from serving import ROOT, Serving

SPECS = pathlib.Path(os.environ.get("ASSAY_SPECS", ROOT.parent / "shared" / "specs"))


class Description:
    """The operations of one description, and what they may answer."""

    def __init__(self, name):
        self.root = yaml.safe_load((SPECS / name).read_text())
        self.operations = {
            (method.upper(), path): operation
            for path, methods in self.root["paths"].items() for method, operation in methods.items()
            if method in ("get", "post", "put", "patch", "delete")}
        self.called = set()

    def resolved(self, value, depth=0):
        if isinstance(value, dict):
            if "$ref" in value:
                target = self.root
                for key in value["$ref"].split("/")[1:]:
                    target = target[key]
                return self.resolved(target, depth + 1)
            return {key: self.resolved(each, depth + 1) for key, each in value.items()
                    if key not in ("example", "examples")}
        if isinstance(value, list):
            return [self.resolved(each, depth + 1) for each in value]
        return value

    def complaints(self, method, path, answer):
        """What is not as described; the operation has to be there."""
        operation = self.operations[method, path]
        self.called.add((method, path))
        responses = {str(status): each for status, each in operation["responses"].items()}
        response = responses.get(str(answer.status_code))
        if response is None:
            return [f"{answer.status_code} is none of {sorted(responses)}: {answer.text[:300]}"]
        content = self.resolved(response).get("content", {})
        if not content:
            return []
        schema = content["application/json"].get("schema", {})
        return [f"{'/'.join(map(str, each.absolute_path))}: {each.message}"[:300]
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

    P = "/projects/{project_id}"
    ME = P + "/customers/{customer_id}"

    def call(self, method, path, body=None, status=200, query=None, version="v2", **names):
        address = path
        for name, value in ({"project_id": "proj1"} | names).items():
            address = address.replace("{" + name + "}", value)
        self.assertNotIn("{", address)
        answer = requests.request(
            method, f"{self.serving.urls['revenuecat']}/{version}{address}", json=body, params=query,
            headers={"Authorization": "Bearer sk_test"}, timeout=60)
        if version == "v2":
            self.assertEqual(self.description.complaints(method, path, answer), [], f"{method} {address}")
        self.assertEqual(answer.status_code, status, answer.text)
        return answer.json()

    def store(self, action, **body):
        return self.serving.control("POST", f"/store/{action}", body)

    def test_a_customer_and_what_is_bought(self):
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

    def test_what_is_sold(self):
        self.call("GET", "/projects")
        for thing, name in [("entitlements", "entitlement_id"), ("products", "product_id"), ("offerings", "offering_id")]:
            items = self.call("GET", f"{self.P}/{thing}")["items"]
            self.assertTrue(items)
            for item in items:
                self.assertEqual(self.call("GET", f"{self.P}/{thing}/{{{name}}}", **{name: item["id"]})["id"], item["id"])
            self.call("GET", f"{self.P}/{thing}/{{{name}}}", status=404, **{name: "none"})
        [offering] = self.call("GET", self.P + "/offerings")["items"]
        for package in self.call("GET", self.P + "/offerings/{offering_id}/packages", offering_id=offering["id"])["items"]:
            self.call("GET", self.P + "/packages/{package_id}", package_id=package["id"])
            self.call("GET", self.P + "/packages/{package_id}/products", package_id=package["id"])
        [entitlement] = self.call("GET", self.P + "/entitlements")["items"]
        self.assertTrue(self.call("GET", self.P + "/entitlements/{entitlement_id}/products",
                                  entitlement_id=entitlement["id"])["items"])
        self.call("GET", self.P + "/virtual_currencies")

    def test_every_operation_is_known(self):
        """What is not served answers as to a key without the permission, and nothing is 'no such resource'."""
        refused = 0
        for method, path in self.description.operations:
            address = path
            for part in address.split("/"):
                if part.startswith("{"):
                    address = address.replace(part, "none")
            answer = requests.request(method, self.serving.urls["revenuecat"] + "/v2" + address, json={},
                                      headers={"Authorization": "Bearer sk_test"}, timeout=60)
            self.assertNotIn("The resource was not found", answer.text, f"{method} {path}")
            if answer.status_code == 403:
                refused += 1
                self.assertEqual(self.description.complaints(method, path, answer), [], f"{method} {path}")
        self.assertEqual(refused, 85 - 38)


if __name__ == "__main__":
    unittest.main()
