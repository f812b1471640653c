"""The official OneSignal Python client, unmodified, against the OneSignal fake; and, by plain
calls, what that client cannot say: the legacy routes and every error body."""

import json
import os
import unittest
import uuid

import onesignal
import requests
from onesignal.api import default_api
from onesignal.exceptions import ApiException, ForbiddenException, NotFoundException
from onesignal.helpers import create_notification_with_retry
from onesignal.model.filter import Filter
from onesignal.model.language_string_map import LanguageStringMap
from onesignal.model.notification import Notification
from onesignal.model.properties_object import PropertiesObject
from onesignal.model.subscription import Subscription
from onesignal.model.subscription_body import SubscriptionBody
from onesignal.model.transfer_subscription_request_body import TransferSubscriptionRequestBody
from onesignal.model.update_user_request import UpdateUserRequest
from onesignal.model.user import User
from onesignal.model.user_identity_body import UserIdentityBody

from serving import ROOT, Serving

APP = "4f1d2c3b-8a7e-4c55-9b1e-0d2f6a9c7e10"
KEY = "acceptance-key"
SAMPLES = ROOT.parent / "shared" / "samples" / "onesignal"


def sample(name):
    # The published bodies lie beside the repository; CI has them and must not do without.
    if not SAMPLES.exists() and not os.environ.get("CI"):
        raise unittest.SkipTest("the published samples are not beside the repository")
    return json.loads((SAMPLES / f"{name}.json").read_text())


class OneSignal(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.serving = Serving("--onesignal-key", KEY)
        cls.base = cls.serving.urls["onesignal"]
        cls.defaults = cls.serving.control("GET", "/settings")["onesignal"]

    @classmethod
    def tearDownClass(cls):
        status, errors = cls.serving.stop()
        assert status == 0, errors

    def setUp(self):
        self.serving.control("POST", "/reset", {})
        self.switch()
        self.api = self.client(KEY)

    def switch(self, **switches):
        self.serving.settings("onesignal", **{
            "tagsMax": None, "callsPerSecondMax": None, "userWritesPerSecondMax": None,
            **self.defaults, **switches})

    def client(self, key):
        configuration = onesignal.Configuration(host=self.base, rest_api_key=key,
                                                organization_api_key=key)
        return default_api.DefaultApi(onesignal.ApiClient(configuration))

    def raw(self, method, path, body=None, authorization=f"Key {KEY}"):
        headers = {"Authorization": authorization} if authorization else {}
        return requests.request(method, self.base + path, json=body, headers=headers, timeout=30)

    def notification(self, **fields):
        fields = {"include_aliases": {"external_id": ["user-1"]}, "target_channel": "push", **fields}
        return Notification(app_id=APP, contents=LanguageStringMap(en="Hello"),
                            **{k: v for k, v in fields.items() if v is not None})

    def user(self, external="user-1", **fields):
        return self.api.create_user(APP, User(identity={"external_id": external}, **fields))

    def push_user(self, external="user-1", token="token-1"):
        return self.user(external, subscriptions=[Subscription(type="iOSPush", token=token)])

    # Notifications

    def test_create_view_list_cancel(self):
        made = self.api.create_notification(self.notification())
        self.assertTrue(made.id)
        seen = self.api.get_notification(APP, made.id)
        self.assertEqual(seen.id, made.id)
        self.assertFalse(seen.canceled)
        listed = self.api.get_notifications(APP, limit=10)
        self.assertEqual((listed.total_count, listed.notifications[0].id), (1, made.id))
        with self.assertRaises(ApiException) as caught:
            self.api.cancel_notification(APP, made.id)
        self.assertEqual(json.loads(caught.exception.body), sample("error_400_cancel_already_sent"))
        later = Notification(app_id=APP, contents=LanguageStringMap(en="Later"),
                             included_segments=["Total Subscriptions"])
        body = {**later.to_dict(), "send_after": "2099-09-24 14:00:00 GMT-0700"}
        scheduled = self.raw("POST", "/notifications", body).json()["id"]
        self.assertTrue(self.api.cancel_notification(APP, scheduled).success)
        self.assertTrue(self.api.get_notification(APP, scheduled).canceled)
        with self.assertRaises(NotFoundException) as caught:
            self.api.get_notification(APP, str(uuid.uuid4()))
        self.assertEqual(json.loads(caught.exception.body), sample("error_404_notification"))

    def test_keys_of_views_equal_the_samples(self):
        body = {**sample("create_notification_alias_request"), "app_id": APP,
                "headings": {"en": "T"}, "data": {"a": "b"}}
        made = self.raw("POST", "/notifications", body)
        self.assertEqual(set(made.json()), set(sample("create_notification_response_200")))
        seen = self.raw("GET", f"/notifications/{made.json()['id']}?app_id={APP}").json()
        self.assertEqual(set(sample("view_notification_response_200")) - set(seen), set())
        listed = self.raw("GET", f"/notifications?app_id={APP}&limit=1").json()
        self.assertEqual(set(listed), set(sample("view_notifications_response_200")))
        user = self.push_user()
        view = self.raw("GET", f"/apps/{APP}/users/by/external_id/user-1").json()
        wanted = sample("view_user_response_200")
        self.assertEqual(set(view), set(wanted))
        self.assertEqual(set(view["subscriptions"][0]), set(wanted["subscriptions"][0]))
        player = view["subscriptions"][0]["id"]
        device = self.raw("GET", f"/api/v1/players/{player}?app_id={APP}").json()
        self.assertEqual(set(device), set(sample("view_device_response_200_legacy")))
        self.assertEqual(user.identity.external_id, "user-1")

    def test_targets(self):
        user = self.push_user()
        device = user.subscriptions[0].id
        targets = [
            {"include_subscription_ids": [device]},
            {"included_segments": ["Total Subscriptions"]},
            {"filters": [Filter(field="tag", key="tier", relation="=", value="gold")]},
            {"email_to": ["a@b.c"]},
            {"include_phone_numbers": ["+15551234567"]},
        ]
        for target in targets:
            made = self.api.create_notification(
                self.notification(include_aliases=None, target_channel=None, **target))
            self.assertTrue(made.id, target)
        for legacy in [{"include_player_ids": [device]}, {"include_external_user_ids": ["user-1"]}]:
            answer = self.raw("POST", "/api/v1/notifications",
                              {"app_id": APP, "contents": {"en": "x"}, **legacy})
            self.assertTrue(answer.json()["id"], legacy)

    def test_the_three_shapes_of_200(self):
        self.switch(recipients="known")
        self.push_user()
        known = self.raw("POST", "/notifications", self.notification().to_dict()).json()
        self.assertEqual((bool(known["id"]), "errors" in known), (True, False))
        partly = self.api.create_notification(
            self.notification(include_aliases={"external_id": ["user-1", "ghost"]}))
        self.assertTrue(partly.id)
        self.assertEqual(partly.errors["invalid_aliases"]["external_id"], ["ghost"])
        for field, report in [("include_subscription_ids", "invalid_player_ids"),
                              ("include_external_user_ids", "invalid_external_user_ids")]:
            good = {"include_subscription_ids": [self.raw(
                "GET", f"/apps/{APP}/users/by/external_id/user-1").json()["subscriptions"][0]["id"]],
                "include_external_user_ids": ["user-1"]}[field]
            ghost = str(uuid.uuid4())
            body = {"app_id": APP, "contents": {"en": "x"}, field: good + [ghost]}
            self.assertEqual(self.raw("POST", "/notifications", body).json()["errors"],
                             {report: [ghost]})
        nobody = self.raw("POST", "/notifications", {
            "app_id": APP, "contents": {"en": "x"},
            "include_subscription_ids": [str(uuid.uuid4())]}).json()
        self.assertEqual(nobody, sample("create_notification_response_200_no_subscribers"))
        self.api.update_subscription(
            APP, self.raw("GET", f"/apps/{APP}/users/by/external_id/user-1")
            .json()["subscriptions"][0]["id"],
            SubscriptionBody(subscription=Subscription(enabled=False, notification_types=-2)))
        gone = self.api.create_notification(self.notification())
        self.assertEqual(gone.errors["invalid_aliases"]["external_id"], ["user-1"])

    def test_idempotency(self):
        key = str(uuid.uuid4())
        first = create_notification_with_retry(self.api, self.notification(idempotency_key=key))
        second = create_notification_with_retry(
            self.api, self.notification(idempotency_key=key, name="another body"))
        self.assertFalse(first.was_replayed)
        self.assertTrue(second.was_replayed)
        self.assertEqual(first.response.id, second.response.id)
        self.assertEqual(self.api.get_notifications(APP).total_count, 1)
        self.serving.advance("31d")
        third = create_notification_with_retry(self.api, self.notification(idempotency_key=key))
        self.assertFalse(third.was_replayed)
        self.assertNotEqual(third.response.id, first.response.id)

    def test_retry_after(self):
        self.serving.control("PUT", "/faults/onesignal", {"responses": [429, 503, "ok"]})
        result = create_notification_with_retry(self.api, self.notification(), base_delay=1.0)
        self.assertTrue(result.response.id)
        self.serving.control("PUT", "/faults/onesignal", {"responses": [429, 503]})
        limited = self.raw("POST", "/notifications", self.notification().to_dict())
        self.assertEqual(limited.json(), sample("error_429_rate_limit"))
        self.assertEqual(limited.headers["Retry-After"], "1")
        down = self.raw("POST", "/notifications", self.notification().to_dict())
        self.assertEqual((down.status_code, down.json()),
                         (503, {"errors": ["Service temporarily unavailable"]}))

    # Errors

    def test_keys(self):
        with self.assertRaises(ForbiddenException) as caught:
            self.client("wrong").create_notification(self.notification())
        self.assertEqual(json.loads(caught.exception.body), sample("error_403_invalid_key"))
        for scheme in ["Key", "key", "Basic", "Bearer"]:
            answer = self.raw("POST", "/notifications", self.notification().to_dict(),
                              f"{scheme} {KEY}")
            self.assertEqual(answer.status_code, 200, scheme)
        self.assertEqual(self.raw("POST", "/notifications", {}, None).status_code, 403)
        self.switch(legacyAuthError=True)
        legacy = self.raw("POST", "/api/v1/notifications", {}, "Basic wrong")
        self.assertEqual((legacy.status_code, legacy.json()),
                         (400, sample("error_400_legacy_auth")))

    def test_error_bodies(self):
        text = {"app_id": APP, "contents": {"en": "x"}}
        cases = [
            ("POST", "/notifications", {**text, "contents": {"de": "x"}, "filters": [{}]},
             400, "error_400_no_english"),
            ("POST", "/notifications", text, 400, "error_400_no_targeting"),
            ("POST", f"/apps/{APP}/users", {}, 400, "error_400_create_user_without_identity"),
        ]
        for method, path, body, status, name in cases:
            answer = self.raw(method, path, body)
            self.assertEqual((answer.status_code, answer.json()), (status, sample(name)), name)
        self.assertEqual(self.raw("POST", "/notifications", {**text, "app_id": "x"}).json(),
                         {"errors": ["app_id must be a valid UUID"]})
        ghost = self.raw("GET", f"/apps/{APP}/users/by/onesignal_id/{APP}/identity")
        self.assertEqual((ghost.status_code, ghost.json()), (404, {
            "errors": [{"title": f"No aliases found for oneSignalID `{APP}`"}]}))
        self.switch(apps=["00000000-0000-4000-8000-000000000000"])
        other = self.raw("POST", "/notifications", self.notification().to_dict())
        self.assertEqual((other.status_code, other.json()),
                         (404, {"errors": [f"App with id: {APP} does not exist"]}))
        self.switch(requiresUUIDKeys=True, mixedTargets="refuse")
        for extra in [{"idempotency_key": "x"}, {"included_segments": ["All"]},
                      {"target_channel": "fax"}]:
            answer = self.raw("POST", "/notifications", {**self.notification().to_dict(), **extra})
            self.assertEqual(answer.status_code, 400, extra)

    # Users

    def test_users(self):
        made = self.push_user()
        self.assertEqual(made.identity.external_id, "user-1")
        again = self.raw("POST", f"/apps/{APP}/users", {"identity": {"external_id": "user-1"}})
        self.assertEqual(again.status_code, 200)
        self.assertEqual(again.json()["identity"]["onesignal_id"], made.identity.onesignal_id)
        changed = self.api.update_user(APP, "external_id", "user-1", UpdateUserRequest(
            properties=PropertiesObject(tags={"tier": "gold"}, language="en")))
        self.assertEqual(changed.properties.tags, {"tier": "gold"})
        merged = self.raw("PATCH", f"/apps/{APP}/users/by/external_id/user-1", {
            "properties": {"tags": {"level": 3, "vip": True, "tier": ""}}})
        self.assertEqual((merged.status_code, merged.json()["properties"]["tags"]),
                         (202, {"level": "3", "vip": "true"}))
        seen = self.api.get_user(APP, "onesignal_id", made.identity.onesignal_id)
        self.assertEqual(seen.properties.tags, {"level": "3", "vip": "true"})
        self.api.delete_user(APP, "external_id", "user-1")
        with self.assertRaises(NotFoundException):
            self.api.get_user(APP, "external_id", "user-1")

    def test_encoded_ids(self):
        self.user("$RCAnonymousID:a/b @ü")
        seen = self.api.get_user(APP, "external_id", "$RCAnonymousID:a/b @ü")
        self.assertEqual(seen.identity.external_id, "$RCAnonymousID:a/b @ü")

    def test_aliases(self):
        made = self.push_user()
        one = self.api.create_alias(APP, "external_id", "user-1",
                                    UserIdentityBody(identity={"crm": "c-1"}))
        self.assertEqual(one.identity["crm"], "c-1")
        self.push_user("user-2", "token-2")
        with self.assertRaises(ApiException) as caught:
            self.api.create_alias(APP, "external_id", "user-2",
                                  UserIdentityBody(identity={"external_id": "user-1"}))
        self.assertEqual(caught.exception.status, 409)
        wanted = sample("error_409_alias_claimed")
        wanted["errors"][0]["meta"] = {"external_id": "user-1"}
        self.assertEqual(json.loads(caught.exception.body), wanted)
        conflict = self.raw("POST", f"/apps/{APP}/users",
                            {"identity": {"crm": "c-1", "external_id": "user-2"}})
        self.assertEqual(conflict.status_code, 409)
        device = made.subscriptions[0].id
        self.assertEqual(
            self.api.get_aliases_by_subscription(APP, device).identity["external_id"], "user-1")
        self.api.create_alias_by_subscription(APP, device,
                                              UserIdentityBody(identity={"shop": "s-1"}))
        left = self.api.delete_alias(APP, "shop", "s-1", "crm")
        self.assertNotIn("crm", left.identity)
        self.assertEqual(self.api.get_aliases(APP, "shop", "s-1").identity["shop"], "s-1")

    def test_subscriptions(self):
        self.push_user()
        self.push_user("user-2", "token-2")
        added = self.api.create_subscription(APP, "external_id", "user-1", SubscriptionBody(
            subscription=Subscription(type="Email", token="user-1@example.com")))
        device = added.subscription.id
        moved = self.api.transfer_subscription(APP, device, TransferSubscriptionRequestBody(
            identity={"external_id": "user-2"}))
        self.assertEqual(set(moved.to_dict()["identity"]),
                         set(sample("transfer_subscription_response_200")["identity"]))
        self.assertEqual(len(self.api.get_user(APP, "external_id", "user-2").subscriptions), 2)
        # A token that is there already goes to whom it is given now.
        self.user("user-3", subscriptions=[Subscription(type="iOSPush", token="token-1")])
        self.assertEqual(
            self.raw("GET", f"/apps/{APP}/users/by/external_id/user-1").json()["subscriptions"], [])
        self.api.update_subscription_by_token(
            APP, "iOSPush", "token-1",
            SubscriptionBody(subscription=Subscription(enabled=False)))
        self.api.delete_subscription(APP, device)
        with self.assertRaises(NotFoundException):
            self.api.delete_subscription(APP, device)
        path = f"/apps/{APP}/users/by/external_id/user-2/subscriptions"
        statuses = [self.raw("POST", path, {"subscription": {"type": "Email", "token": f"{n}@x.y"}})
                    .status_code for n in range(20)]
        self.assertEqual(statuses, [201] * 19 + [409])

    def test_tag_limits(self):
        self.push_user()
        path = f"/apps/{APP}/users/by/external_id/user-1"
        many = {"properties": {"tags": {f"t{n}": "x" for n in range(101)}}}
        self.assertEqual(self.raw("PATCH", path, many).json(), sample("error_400_tags_per_request"))
        self.assertEqual(self.raw("PATCH", path, {"properties": {"tags": {"a": []}}}).status_code, 400)
        self.switch(tagsMax=2)
        two = {"properties": {"tags": {"a": "1", "b": "2"}}}
        self.assertEqual(self.raw("PATCH", path, two).status_code, 202)
        over = self.raw("PATCH", path, {"properties": {"tags": {"a": "9", "c": "3"}}})
        self.assertEqual((over.status_code, over.json()), (409, sample("error_409_tag_limit")))
        tags = self.raw("GET", path).json()["properties"]["tags"]
        self.assertEqual(tags, {"a": "1", "b": "2"}, "the whole update is refused")

    def test_limits_on_virtual_time(self):
        self.push_user()
        self.serving.control("PUT", "/clock", {"frozen": True})
        self.switch(userWritesPerSecondMax=1)
        path = f"/apps/{APP}/users/by/external_id/user-1"
        write = lambda: self.raw("PATCH", path, {"properties": {"tags": {"a": "1"}}}).status_code
        self.assertEqual([write(), write()], [202, 429])
        self.serving.advance("1s")
        self.assertEqual(write(), 202)
        self.switch(propertyDelaySeconds=30)
        self.raw("PATCH", path, {"properties": {"tags": {"slow": "1"}}})
        self.assertNotIn("slow", self.raw("GET", path).json()["properties"]["tags"])
        self.serving.advance("30s")
        self.assertEqual(self.raw("GET", path).json()["properties"]["tags"]["slow"], "1")
        self.serving.control("PUT", "/clock", {"frozen": False})

    # Legacy

    def test_players(self):
        body = {"app_id": APP, "device_type": 0, "identifier": "tok", "external_user_id": "old-1",
                "tags": {"a": "1"}}
        added = self.raw("POST", "/api/v1/players", body)
        self.assertEqual(set(added.json()), set(sample("add_device_response_200_legacy")))
        player = added.json()["id"]
        self.assertEqual(self.raw("POST", "/players", body).json()["id"], player)
        edit = {**sample("edit_device_request_revenuecat_player_mode"), "app_id": APP}
        self.assertEqual(self.raw("PUT", f"/api/v1/players/{player}", edit).json(),
                         sample("success_true_response_200"))
        seen = self.raw("GET", f"/players/{player}?app_id={APP}").json()
        self.assertEqual(seen["tags"]["last_event_type"], "renewal")
        self.assertNotIn("entitlement_ids", seen["tags"], "null deletes")
        tags = self.raw("PUT", f"/api/v1/apps/{APP}/users/old-1", {"tags": {"b": "2"}})
        self.assertEqual(tags.json(), {"success": True})
        self.assertEqual(
            self.raw("PUT", f"/apps/{APP}/users/ghost", {"tags": {}}).status_code, 404)
        self.assertEqual(self.raw("GET", f"/players?app_id={APP}").json()["total_count"], 1)
        self.assertEqual(self.raw("DELETE", f"/players/{player}?app_id={APP}").status_code, 200)
        self.assertEqual(self.raw("GET", f"/players/{player}?app_id={APP}").status_code, 404)


if __name__ == "__main__":
    unittest.main()
