"""The official firebase-admin SDK, unmodified, against the Firebase fake: as emulator, and with
tokens whose signatures it checks."""

import os
import unittest

import firebase_admin
import requests
from firebase_admin import _token_gen, _user_mgt, auth, credentials, exceptions
from google.oauth2.credentials import Credentials

from serving import Serving

PROJECT = "demo-project"


class FirebaseAdmin(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.serving = Serving("--firebase-project", PROJECT)
        cls.host = cls.serving.urls["firebase"].removeprefix("http://")
        os.environ["FIREBASE_AUTH_EMULATOR_HOST"] = cls.host
        cls.app = firebase_admin.initialize_app(options={"projectId": PROJECT})

    @classmethod
    def tearDownClass(cls):
        firebase_admin.delete_app(cls.app)
        del os.environ["FIREBASE_AUTH_EMULATOR_HOST"]
        status, errors = cls.serving.stop()
        assert status == 0, errors

    def setUp(self):
        requests.delete(f"http://{self.host}/emulator/v1/projects/{PROJECT}/accounts")

    def call(self, operation, body):
        url = f"http://{self.host}/identitytoolkit.googleapis.com/v1/accounts:{operation}?key=k"
        answer = requests.post(url, json=body, timeout=30)
        self.assertEqual(answer.status_code, 200, answer.text)
        return answer.json()

    def test_users(self):
        user = auth.create_user(uid="ada", email="Ada@example.com", password="secret1",
                                display_name="Ada", phone_number="+15551234567",
                                photo_url="http://example.com/a.png", email_verified=True)
        self.assertEqual((user.uid, user.email), ("ada", "ada@example.com"))
        self.assertEqual({p.provider_id for p in user.provider_data}, {"password", "phone"})
        self.assertIsNone(user.custom_claims)
        self.assertGreater(user.tokens_valid_after_timestamp, 0)
        for found in [auth.get_user("ada"), auth.get_user_by_email("ADA@example.com"),
                      auth.get_user_by_phone_number("+15551234567")]:
            self.assertEqual(found.uid, "ada")
        many = auth.get_users([auth.UidIdentifier("ada"), auth.EmailIdentifier("no@body.x"),
                               auth.PhoneIdentifier("+15551234567")])
        self.assertEqual([u.uid for u in many.users], ["ada"])
        self.assertEqual(len(many.not_found), 1)
        changed = auth.update_user("ada", display_name=auth.DELETE_ATTRIBUTE,
                                   phone_number=auth.DELETE_ATTRIBUTE, disabled=True)
        self.assertIsNone(changed.display_name)
        self.assertIsNone(changed.phone_number)
        self.assertTrue(changed.disabled)
        auth.delete_user("ada")
        with self.assertRaises(auth.UserNotFoundError):
            auth.get_user("ada")

    def test_errors(self):
        auth.create_user(uid="ada", email="a@b.c", phone_number="+15550000001")
        with self.assertRaises(auth.UidAlreadyExistsError):
            auth.create_user(uid="ada")
        with self.assertRaises(auth.EmailAlreadyExistsError):
            auth.create_user(email="A@b.c")
        with self.assertRaises(auth.PhoneNumberAlreadyExistsError):
            auth.create_user(phone_number="+15550000001")
        for call in [lambda: auth.update_user("nobody", display_name="x"),
                     lambda: auth.delete_user("nobody"),
                     lambda: auth.get_user_by_email("no@body.x"),
                     lambda: auth.generate_email_verification_link("no@body.x")]:
            with self.assertRaises(auth.UserNotFoundError):
                call()
        with self.assertRaises(auth.EmailNotFoundError):
            auth.generate_password_reset_link("no@body.x")
        with self.assertRaises(exceptions.InvalidArgumentError):
            auth.create_session_cookie("nonsense", 600)

    def test_lists(self):
        for number in range(7):
            auth.create_user(uid=f"u{number}")
        page = auth.list_users(max_results=3)
        self.assertEqual(len(page.users), 3)
        self.assertEqual([u.uid for u in page.iterate_all()], [f"u{n}" for n in range(7)])
        result = auth.delete_users([f"u{n}" for n in range(8)])
        self.assertEqual((result.success_count, result.failure_count), (8, 0))
        imported = auth.import_users([
            auth.ImportUserRecord("i1", email="i1@example.com", custom_claims={"a": 1}),
            auth.ImportUserRecord("i2", email="i1@example.com"),
        ])
        self.assertEqual((imported.success_count, imported.failure_count), (1, 1))
        self.assertEqual(auth.get_user("i1").custom_claims, {"a": 1})

    def test_claims_and_tokens(self):
        made = self.call("signUp", {"email": "t@example.com", "password": "secret1"})
        decoded = auth.verify_id_token(made["idToken"])
        self.assertEqual(decoded["uid"], made["localId"])
        auth.set_custom_user_claims(made["localId"], {"role": "boss"})
        again = self.call("signInWithPassword", {"email": "t@example.com", "password": "secret1"})
        self.assertEqual(auth.verify_id_token(again["idToken"])["role"], "boss")
        auth.set_custom_user_claims(made["localId"], None)
        self.assertIsNone(auth.get_user(made["localId"]).custom_claims)
        self.assertEqual(auth.verify_id_token(again["idToken"], check_revoked=True)["role"], "boss")
        # Revocation is strict and counts whole seconds: the record says from when.
        auth.update_user(made["localId"], valid_since=decoded["iat"] + 1)
        with self.assertRaises(auth.RevokedIdTokenError):
            auth.verify_id_token(made["idToken"], check_revoked=True)
        auth.update_user(made["localId"], disabled=True)
        with self.assertRaises(auth.UserDisabledError):
            auth.verify_id_token(made["idToken"], check_revoked=True)
        auth.delete_user(made["localId"])
        with self.assertRaises(auth.UserNotFoundError):
            auth.verify_id_token(made["idToken"], check_revoked=True)

    def test_revoke_refresh_tokens(self):
        made = self.call("signUp", {})
        auth.revoke_refresh_tokens(made["localId"])
        after = auth.get_user(made["localId"]).tokens_valid_after_timestamp
        self.assertGreaterEqual(after // 1000, auth.verify_id_token(made["idToken"])["iat"])

    def test_custom_token(self):
        token = auth.create_custom_token("custom", {"plan": "gold"}).decode()
        signed = self.call("signInWithCustomToken", {"token": token})
        decoded = auth.verify_id_token(signed["idToken"])
        self.assertEqual((decoded["uid"], decoded["plan"]), ("custom", "gold"))

    def test_session_cookie(self):
        made = self.call("signUp", {"email": "c@example.com", "password": "secret1"})
        cookie = auth.create_session_cookie(made["idToken"], 600)
        self.assertEqual(auth.verify_session_cookie(cookie, check_revoked=True)["uid"],
                         made["localId"])

    def test_links(self):
        auth.create_user(uid="link", email="l@example.com", password="secret1")
        settings = auth.ActionCodeSettings("http://localhost/done", handle_code_in_app=True,
                                           ios_bundle_id="com.example.app")
        reset = auth.generate_password_reset_link("l@example.com", settings)
        page = requests.get(reset + "&newPassword=secret2", allow_redirects=False)
        self.assertEqual((page.status_code, page.headers["Location"]),
                         (303, "http://localhost/done"))
        self.call("signInWithPassword", {"email": "l@example.com", "password": "secret2"})
        verify = auth.generate_email_verification_link("l@example.com")
        self.assertEqual(requests.get(verify).json()["authEmulator"]["email"], "l@example.com")
        self.assertTrue(auth.get_user("link").email_verified)
        self.assertIn("mode=signIn", auth.generate_sign_in_with_email_link("new@x.y", settings))


class Anybody(credentials.Base):
    """What a backend's tests sign in with: the fake takes any token for an administrator's."""

    def get_credential(self):
        return Credentials("owner")


class SignedTokens(unittest.TestCase):
    """The README's way: the SDK's own addresses are set from what a started backend is given."""

    @classmethod
    def setUpClass(cls):
        cls.serving = Serving("--set", "firebase.tokens=rs256", "--firebase-project", PROJECT)
        cls.base = cls.serving.urls["firebase"]
        cls.before = (_token_gen.ID_TOKEN_CERT_URI, _user_mgt.UserManager.ID_TOOLKIT_URL)
        account = "securetoken@system.gserviceaccount.com"
        _token_gen.ID_TOKEN_CERT_URI = f"{cls.base}/robot/v1/metadata/x509/{account}"
        _user_mgt.UserManager.ID_TOOLKIT_URL = cls.base + "/identitytoolkit.googleapis.com/v1"
        cls.app = firebase_admin.initialize_app(Anybody(), options={"projectId": PROJECT},
                                                name="signed")

    @classmethod
    def tearDownClass(cls):
        firebase_admin.delete_app(cls.app)
        _token_gen.ID_TOKEN_CERT_URI, _user_mgt.UserManager.ID_TOOLKIT_URL = cls.before
        status, errors = cls.serving.stop()
        assert status == 0, errors

    def sign_up(self):
        url = self.base + "/identitytoolkit.googleapis.com/v1/accounts:signUp?key=k"
        return requests.post(url, json={}, timeout=30).json()

    def verify(self, token, **options):
        return auth.verify_id_token(token, app=self.app, clock_skew_seconds=5, **options)

    def test_signatures_are_checked(self):
        self.assertNotIn("FIREBASE_AUTH_EMULATOR_HOST", os.environ)
        user = self.sign_up()
        self.assertEqual(self.verify(user["idToken"])["uid"], user["localId"])
        head, claims, signature = user["idToken"].split(".")
        for forged in ["A" * len(signature), "", signature[:-4] + "AAAA"]:
            with self.assertRaises(auth.InvalidIdTokenError):
                self.verify(f"{head}.{claims}.{forged}")

    def test_sessions_are_looked_up(self):
        user = self.sign_up()
        decoded = self.verify(user["idToken"], check_revoked=True)
        auth.update_user(user["localId"], valid_since=decoded["iat"] + 1, app=self.app)
        with self.assertRaises(auth.RevokedIdTokenError):
            self.verify(user["idToken"], check_revoked=True)
        self.verify(user["idToken"])


if __name__ == "__main__":
    unittest.main()
