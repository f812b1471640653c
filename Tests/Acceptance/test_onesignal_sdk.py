"""A second OneSignal client, unmodified: onesignal-sdk of the days of players, which apps and backends still run."""

import csv
import gzip
import unittest

import requests
from onesignal_sdk.client import Client
from onesignal_sdk.error import OneSignalHTTPError

from serving import Serving

APP = "4f1d2c3b-8a7e-4c55-9b1e-0d2f6a9c7e10"
KEY = "acceptance-key"


class Players(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.serving = Serving("--onesignal-key", KEY)

    @classmethod
    def tearDownClass(cls):
        status, errors = cls.serving.stop()
        assert status == 0, errors

    def client(self, app=APP, key=KEY):
        return Client(app, key, KEY, {"API_ROOT": self.serving.urls["onesignal"] + "/api/v1"})

    def test_a_device_and_its_messages(self):
        client = self.client()
        device = client.add_device({"device_type": 0, "identifier": "t-1", "external_user_id": "ada", "tags": {"tea": "green"}})
        device = device.body["id"]
        client.edit_device(device, {"tags": {"level": "3"}})
        client.edit_tags("ada", {"tags": {"club": "7"}})
        self.assertEqual(client.view_device(device).body["tags"], {"tea": "green", "level": "3", "club": "7"})
        client.new_session(device, {"language": "de"})
        client.new_session(device, {"language": "de"})
        self.assertEqual(client.view_device(device).body["session_count"], 3)
        client.new_purchase(device, {"purchases": [{"sku": "coins", "amount": 1.5, "iso": "USD"},
                                                   {"sku": "coins", "amount": 2, "iso": "USD"}]})
        self.assertEqual(client.view_device(device).body["amount_spent"], 3.5)
        self.assertEqual(client.view_devices().body["total_count"], 1)

        made = client.create_segment({"name": "Tea", "filters": [
            {"field": "tag", "key": "tea", "relation": "=", "value": "green"}]}).body
        sent = client.send_notification({"contents": {"en": "Hi"}, "included_segments": ["Tea"]}).body["id"]
        self.assertEqual(client.view_notification(sent).body["successful"], 1)
        self.assertEqual(client.view_notifications().body["total_count"], 1)
        history = client.notification_history(sent, {"events": "sent"}).body
        self.assertTrue(history["success"])
        later = client.send_notification({"contents": {"en": "Hi"}, "include_external_user_ids": ["ada"],
                                          "send_after": "2099-01-01 00:00:00 GMT"}).body["id"]
        self.assertTrue(client.cancel_notification(later).body["success"])
        client.delete_segment(made["id"])
        url = client.csv_export({"extra_fields": ["external_user_id"]}).body["csv_file_url"]
        [header, line] = csv.reader(gzip.decompress(requests.get(url, timeout=30).content).decode().splitlines())
        self.assertEqual(dict(zip(header, line))["external_user_id"], "ada")
        self.assertEqual(client.view_outcomes(["os__click.count"]).body["outcomes"][0]["value"], 0)

    def test_apps_have_keys_of_their_own(self):
        client = self.client()
        made = client.create_app({"name": "Other"}).body
        self.assertIn(made["id"], [each["id"] for each in client.view_apps().body])
        self.assertEqual(client.view_app(made["id"]).body["name"], "Other")
        client.update_app(made["id"], {"name": "Another"})
        own = self.client(made["id"], made["basic_auth_key"])
        own.send_notification({"contents": {"en": "Hi"}, "included_segments": ["All"]})
        for app, key in [(made["id"], KEY), (APP, made["basic_auth_key"])]:
            with self.assertRaises(OneSignalHTTPError) as refused:
                self.client(app, key).send_notification({"contents": {"en": "Hi"}, "included_segments": ["All"]})
            self.assertEqual(refused.exception.status_code, 403)


if __name__ == "__main__":
    unittest.main()
