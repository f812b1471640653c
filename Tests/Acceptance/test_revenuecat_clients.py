"""RevenueCat clients of the package index, unmodified, against the RevenueCat fake: one generated from the API
description of v2 with strict models, two of v1, one for a dashboard's numbers."""

import datetime
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import rc_insights.client
import revenuecat_sdk.client
from revenuecat_client import AuthenticatedClient
from revenuecat_client.api.charts_metrics import get_overview_metrics
from revenuecat_client.api.customer import (
    create_customer, delete_customer, get_customer, list_customer_active_entitlements, list_customer_aliases,
    list_customer_attributes, list_customers, list_purchases, list_subscriptions, set_customer_attributes)
from revenuecat_client.api.entitlement import get_entitlement, get_products_from_entitlement, list_entitlements
from revenuecat_client.api.invoice import list_customer_invoices
from revenuecat_client.api.offering import get_offering, list_offerings
from revenuecat_client.api.package import get_package, get_products_from_package, list_packages
from revenuecat_client.api.product import get_product, list_products
from revenuecat_client.api.project import list_projects
from revenuecat_client.api.purchase import get_purchase, list_purchase_entitlements, refund_purchase
from revenuecat_client.api.subscription import (
    cancel_subscription, get_subscription, list_subscription_entitlements, refund_subscription)
from revenuecat_client.models.create_customer_body import CreateCustomerBody
from revenuecat_client.models.set_customer_attributes_body import SetCustomerAttributesBody
from serving import Serving

KEY = "sk_test"
PROJECT = "proj1"


class Generated(unittest.TestCase):
    """revenuecat-client: every answer is read into the models of the description."""

    @classmethod
    def setUpClass(cls):
        cls.serving = Serving("--revenuecat-key", KEY)
        cls.client = AuthenticatedClient(base_url=cls.serving.urls["revenuecat"] + "/v2", token=KEY,
                                         raise_on_unexpected_status=True)
        for product, store in [("premium_monthly", "RC_BILLING"), ("coins_100", "APP_STORE")]:
            cls.serving.control("POST", "/store/purchase", {"user": "ada", "product": product, "store": store})

    @classmethod
    def tearDownClass(cls):
        cls.serving.stop()

    def call(self, operation, *arguments, **names):
        answer = operation.sync(PROJECT, *arguments, client=self.client, **names)
        self.assertIsNotNone(answer, operation.__name__)
        return answer

    def test_customers(self):
        made = self.call(create_customer, body=CreateCustomerBody.from_dict({"id": "bob"}))
        self.assertEqual(made.id, "bob")
        self.assertEqual(self.call(get_customer, "bob").id, "bob")
        self.call(set_customer_attributes, "bob", body=SetCustomerAttributesBody.from_dict(
            {"attributes": [{"name": "tea", "value": "green"}]}))
        self.assertEqual([each.value for each in self.call(list_customer_attributes, "bob").items], ["green"])
        self.assertEqual([each.id for each in self.call(list_customer_aliases, "bob").items], ["bob"])
        self.assertEqual(len(self.call(list_customer_active_entitlements, "ada").items), 1)
        self.assertIn("bob", [each.id for each in self.call(list_customers).items])
        self.assertEqual(self.call(delete_customer, "bob").id, "bob")
        [invoice] = self.call(list_customer_invoices, "ada").items
        self.assertEqual(invoice.line_items[0].product_identifier, "premium_monthly")

    def test_what_is_bought(self):
        [subscription] = self.call(list_subscriptions, "ada").items
        self.assertTrue(self.call(get_subscription, subscription.id).gives_access)
        self.assertEqual(len(self.call(list_subscription_entitlements, subscription.id).items), 1)
        self.assertEqual(self.call(cancel_subscription, subscription.id).auto_renewal_status.value, "will_not_renew")
        self.assertFalse(self.call(refund_subscription, subscription.id).gives_access)
        [purchase] = self.call(list_purchases, "ada").items
        self.assertEqual(self.call(get_purchase, purchase.id).quantity, 1)
        self.call(list_purchase_entitlements, purchase.id)
        self.assertEqual(self.call(refund_purchase, purchase.id).status.value, "refunded")

    def test_what_is_sold(self):
        self.assertEqual(len(list_projects.sync(client=self.client).items), 1)
        entitlements = {each.lookup_key: each for each in self.call(list_entitlements).items}
        entitlement = entitlements["premium"]
        self.assertEqual(self.call(get_entitlement, entitlement.id).lookup_key, "premium")
        self.call(get_products_from_entitlement, entitlement.id)
        product = self.call(list_products).items[0]
        self.assertEqual(self.call(get_product, product.id).id, product.id)
        [offering] = self.call(list_offerings).items
        self.assertTrue(self.call(get_offering, offering.id).is_current)
        package = self.call(list_packages, offering.id).items[0]
        self.call(get_package, package.id)
        self.call(get_products_from_package, package.id)
        self.assertIn("mrr", [each.id for each in self.call(get_overview_metrics).metrics])


class Handwritten(unittest.TestCase):
    """Those that know one host: they are told of another, or stand in a shell that has read env.sh."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.serving = Serving("--revenuecat-key", KEY, "--intercept", "--intercept-folder", cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.serving.stop()
        cls.folder.cleanup()

    def test_revenuecat_sdk(self):
        client = revenuecat_sdk.client.Client(public_key="appl_x", secret_key=KEY)
        client.base_api_url = self.serving.urls["revenuecat"] + "/v1"
        self.assertEqual(client.get_subscriber_info("ada").original_app_user_id, "ada")
        self.serving.control("POST", "/store/purchase", {"user": "ada", "product": "premium_monthly"})
        subscriber = client.get_subscriber_info("ada")
        self.assertEqual(subscriber.subscriptions["premium_monthly"]["period_type"], "normal")
        self.assertTrue(client.is_user_subscribed("ada"))
        client.update_subscriber_attrs("ada", {"tea": {"value": "green"}})
        self.assertEqual(client.get_subscriber_info("ada").subscriber_attributes["tea"]["value"], "green")
        self.assertEqual(client.delete_subscriber("ada"), "ada")

    def test_rc_insights(self):
        before, rc_insights.client.BASE_URL = rc_insights.client.BASE_URL, self.serving.urls["revenuecat"] + "/v2"
        try:
            with rc_insights.client.ChartsClient(KEY, PROJECT) as client:
                self.assertTrue(client.get_overview().metrics)
        finally:
            rc_insights.client.BASE_URL = before

    def test_revcat(self):
        """A program that has RevenueCat's host in its code."""
        def run(*arguments):
            tool = pathlib.Path(sys.executable).parent / "revcat"
            result = subprocess.run(
                ["bash", "-c", '. "$0"/env.sh; exec "$@"', self.folder.name, tool, "v1", *arguments],
                env=os.environ | {"REVENUECAT_API_KEY": KEY, "REVENUECAT_USER_ID": "cleo"},
                capture_output=True, text=True, timeout=60)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            self.assertNotIn("Error", result.stdout)
            return result.stdout

        self.assertIn("cleo", run("customers", "get"))
        self.assertIn("rc_promo_premium", run("entitlements", "grant", "--entitlement-id", "premium", "--duration", "monthly"))
        until = (datetime.datetime.now() + datetime.timedelta(days=90)).strftime("%Y-%m-%dT%H:%M:%S")
        self.assertIn("rc_promo_premium_custom",
                      run("entitlements", "grant", "--entitlement-id", "premium", "--end-time", until))
        run("entitlements", "revoke", "--entitlement-id", "premium")


if __name__ == "__main__":
    unittest.main()
