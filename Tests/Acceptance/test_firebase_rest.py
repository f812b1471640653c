"""Plain REST calls against the Firebase fake: every code of the fact sheet's section 5 that a
client can provoke, in the right envelope, and the rules of section 4."""

import base64
import json
import unittest
from urllib.parse import quote

import requests

from serving import Serving

PROJECT = "demo-project"
AUDIENCE = (
    "https://identitytoolkit.googleapis.com/"
    "google.identity.identitytoolkit.v1.IdentityToolkit"
)

# Codes that no call can provoke, because they depend on what the fake has not: other Google projects,
# quotas of the whole service, an identity provider's nonce, a password policy. They come by a fault.
BY_FAULT = {
    "CREDENTIAL_MISMATCH",
    # Production says OPERATION_NOT_ALLOWED, with a text.
    "EMAIL_CHANGE_NEEDS_VERIFICATION",
    "MISSING_OR_INVALID_NONCE",
    "PASSWORD_DOES_NOT_MEET_REQUIREMENTS",
    "PROJECT_DISABLED",
    "PROJECT_NUMBER_MISMATCH",
    "QUOTA_EXCEEDED",
    "UNAUTHORIZED_DOMAIN",
}

ALL_CODES = set(
    """ADMIN_ONLY_OPERATION CLAIMS_TOO_LARGE CREDENTIAL_MISMATCH CREDENTIAL_TOO_OLD_LOGIN_AGAIN
    DUPLICATE_EMAIL DUPLICATE_RAW_ID DUPLICATE_LOCAL_ID EMAIL_CHANGE_NEEDS_VERIFICATION EMAIL_EXISTS
    EMAIL_NOT_FOUND EXPIRED_OOB_CODE FEDERATED_USER_ID_ALREADY_LINKED FORBIDDEN_CLAIM
    INSUFFICIENT_PERMISSION INVALID_CLAIMS INVALID_CONTINUE_URI INVALID_CREDENTIAL_OR_PROVIDER_ID
    INVALID_CUSTOM_TOKEN INVALID_DURATION INVALID_EMAIL INVALID_GRANT_TYPE INVALID_ID_TOKEN
    INVALID_IDENTIFIER INVALID_IDP_RESPONSE INVALID_LOGIN_CREDENTIALS INVALID_OOB_CODE
    INVALID_PASSWORD INVALID_PHONE_NUMBER INVALID_REFRESH_TOKEN INVALID_REQ_TYPE INVALID_REQUEST_URI
    LOCAL_ID_LIST_EXCEEDS_LIMIT MISSING_CONTINUE_URI MISSING_CUSTOM_TOKEN MISSING_EMAIL
    MISSING_GRANT_TYPE MISSING_IDENTIFIER MISSING_ID_TOKEN MISSING_LOCAL_ID MISSING_NEW_EMAIL
    MISSING_OOB_CODE MISSING_PASSWORD MISSING_PROVIDER_ID MISSING_RAW_ID MISSING_REFRESH_TOKEN
    MISSING_REQ_TYPE MISSING_REQUEST_URI MISSING_USER_ACCOUNT MISSING_OR_INVALID_NONCE
    OPERATION_NOT_ALLOWED PASSWORD_DOES_NOT_MEET_REQUIREMENTS PASSWORD_LOGIN_DISABLED
    PHONE_NUMBER_EXISTS PROJECT_DISABLED PROJECT_NUMBER_MISMATCH QUOTA_EXCEEDED
    RESET_PASSWORD_EXCEED_LIMIT TENANT_ID_MISMATCH TOKEN_EXPIRED TOO_MANY_ATTEMPTS_TRY_LATER
    UNEXPECTED_PARAMETER UNAUTHORIZED_DOMAIN USER_DISABLED USER_NOT_FOUND WEAK_PASSWORD""".split()
)


def claims(token):
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def unsigned(body):
    def encoded(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return encoded({"alg": "none", "typ": "JWT"}) + "." + encoded(body) + "."


class FirebaseREST(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.serving = Serving()
        cls.base = cls.serving.urls["firebase"]
        cls.session = requests.Session()
        cls.codes = set()

    @classmethod
    def tearDownClass(cls):
        status, errors = cls.serving.stop()
        assert status == 0, errors

    def setUp(self):
        self.defaults = {
            "verifiesIDTokens": False,
            "revokesRefreshTokens": False,
            "tellsDeletedUsers": False,
            "actionCodeSeconds": None,
            "recentSignInSeconds": None,
            "failedSignInsMax": None,
            "resetMailsMax": None,
            "refusesEmailUpdate": False,
            "apiKey": None,
            "passwordProvider": True,
            "anonymousProvider": True,
            "emailLinkProvider": True,
            "refusesUnknownFields": False,
        }
        self.switch()
        self.session.delete(self.emulator("accounts"))
        self.session.patch(
            self.emulator("config"),
            json={
                "signIn": {"allowDuplicateEmails": False},
                "emailPrivacyConfig": {"enableImprovedEmailPrivacy": False},
            },
        )

    # Calling

    def switch(self, **switches):
        self.serving.settings("firebase", **{**self.defaults, **switches})

    def emulator(self, name):
        return f"{self.base}/emulator/v1/projects/{PROJECT}/{name}"

    def protect(self):
        self.session.patch(
            self.emulator("config"),
            json={"emailPrivacyConfig": {"enableImprovedEmailPrivacy": True}},
        )

    def raw(self, path, body, admin=False, method="POST", headers=None, **arguments):
        headers = dict(headers or {})
        if admin:
            headers["Authorization"] = "Bearer owner"
        elif "key=" not in path:
            path += ("&" if "?" in path else "?") + "key=any"
        return self.session.request(
            method, self.base + path, json=body, headers=headers, timeout=30, **arguments
        )

    def user(self, operation, body, **arguments):
        return self.raw(f"/identitytoolkit.googleapis.com/v1/accounts:{operation}", body, **arguments)

    def admin(self, operation, body, **arguments):
        path = f"/identitytoolkit.googleapis.com/v1/projects/{PROJECT}/accounts"
        return self.raw(path + (f":{operation}" if operation else ""), body, admin=True, **arguments)

    def refresh(self, body):
        return self.session.post(
            self.base + "/securetoken.googleapis.com/v1/token?key=any", data=body, timeout=30
        )

    def ok(self, answer):
        self.assertEqual(answer.status_code, 200, answer.text)
        self.assertEqual(answer.headers["Content-Type"], "application/json; charset=utf-8")
        body = answer.json()
        self.assertNotIn("error", body)
        return body

    def fails(self, answer, code, status=400, text=None):
        self.assertEqual(answer.status_code, status, answer.text)
        error = answer.json()["error"]
        self.assertEqual(error["code"], status)
        message = error["message"]
        self.assertEqual(message.split(" : ")[0], code, message)
        if text is not None:
            self.assertEqual(message, f"{code} : {text}")
        self.assertEqual(error["errors"][0]["message"], message)
        self.assertEqual(error["errors"][0]["domain"], "global")
        if status == 400:
            self.assertNotIn("status", error, "ordinary auth errors have none")
        type(self).codes.add(code)

    def sign_up(self, email="ada@example.com", password="secret1"):
        return self.ok(self.user("signUp", {"email": email, "password": password}))

    def anonymous(self):
        return self.ok(self.user("signUp", {}))

    def google(self, sub, email=None, verified=True, **fields):
        token = {"sub": sub, "email_verified": verified}
        if email:
            token["email"] = email
        token.update(fields.pop("token", {}))
        post = "id_token=" + quote(json.dumps(token)) + "&providerId=google.com"
        return self.user(
            "signInWithIdp", {"requestUri": "http://localhost", "postBody": post, **fields}
        )

    def codes_sent(self):
        return self.session.get(self.emulator("oobCodes")).json()["oobCodes"]

    # Who is calling, section 2.1

    def test_callers(self):
        path = "/identitytoolkit.googleapis.com/v1/accounts:lookup"
        nobody = self.session.post(self.base + path, json={})
        self.assertEqual(nobody.status_code, 403)
        self.assertEqual(nobody.json()["error"]["status"], "PERMISSION_DENIED")
        self.assertEqual(
            nobody.json()["error"]["message"], "The request is missing a valid API key."
        )
        wrong = self.session.post(
            self.base + path, json={}, headers={"Authorization": "Bearer nonsense"}
        )
        self.assertEqual(wrong.status_code, 401)
        self.assertEqual(wrong.json()["error"]["status"], "UNAUTHENTICATED")
        for value in ["Bearer owner", "bearer OWNER", "Bearer ya29.anything"]:
            answer = self.session.post(
                self.base + path, json={"localId": ["x"]}, headers={"Authorization": value}
            )
            self.assertEqual(self.ok(answer), {"kind": "identitytoolkit#GetAccountInfoResponse"})
        header = self.session.post(
            self.base + path, json={}, headers={"x-goog-api-key": "k"}
        )
        self.fails(header, "MISSING_ID_TOKEN")
        basic = self.session.post(
            self.base + path + "?key=k", json={}, headers={"Authorization": "Basic eA=="}
        )
        self.fails(basic, "MISSING_ID_TOKEN")
        target = self.user("signUp", {"targetProjectId": "other"})
        self.fails(
            target,
            "INSUFFICIENT_PERMISSION",
            text="Only authenticated requests can specify target_project_id.",
        )
        self.switch(apiKey="the-key")
        refused = self.user("signUp", {})
        self.assertEqual(refused.status_code, 400)
        self.assertEqual(
            refused.json()["error"]["message"],
            "API key not valid. Please pass a valid API key.",
        )

    def test_cross_origin(self):
        url = self.base + "/identitytoolkit.googleapis.com/v1/accounts:signUp?key=k"
        preflight = self.session.options(
            url,
            headers={
                "Origin": "https://app.example",
                "Access-Control-Request-Headers": "content-type,x-client-version",
                "Access-Control-Request-Private-Network": "true",
            },
        )
        self.assertEqual(preflight.status_code, 204)
        self.assertEqual(preflight.content, b"")
        self.assertEqual(preflight.headers["Access-Control-Allow-Origin"], "https://app.example")
        self.assertEqual(
            preflight.headers["Access-Control-Allow-Headers"], "content-type,x-client-version"
        )
        self.assertEqual(preflight.headers["Access-Control-Allow-Private-Network"], "true")
        self.assertNotIn("Access-Control-Allow-Credentials", preflight.headers)
        for body in [{}, {"email": "broken"}]:
            answer = self.session.post(url, json=body, headers={"Origin": "https://app.example"})
            self.assertEqual(answer.headers["Access-Control-Allow-Origin"], "https://app.example")

    def test_bodies(self):
        url = self.base + "/identitytoolkit.googleapis.com/v1/accounts:signUp?key=k"
        broken = self.session.post(url, data="{", headers={"Content-Type": "application/json"})
        error = broken.json()["error"]
        self.assertEqual((broken.status_code, error["status"]), (400, "INVALID_ARGUMENT"))
        self.assertTrue(error["message"].startswith("Invalid JSON payload received. "))
        self.assertEqual(error["errors"][0]["reason"], "parseError")
        schema = self.admin("lookup", {"localId": "text"})
        self.assertEqual(schema.json()["error"]["status"], "INVALID_ARGUMENT")
        self.assertEqual(
            schema.json()["error"]["message"],
            "Invalid JSON payload received. /localId must be array",
        )
        snake = self.ok(self.user("signUp", {"email": "S@Example.com", "password": 1234567,
                                             "display_name": "Snake"}))
        self.assertEqual(snake["email"], "s@example.com")
        self.assertEqual(snake["displayName"], "Snake")
        unknown = self.user("signUp", {"nonsense": 1})
        self.assertEqual(unknown.status_code, 200)
        self.switch(refusesUnknownFields=True)
        self.assertEqual(self.user("signUp", {"nonsense": 1}).status_code, 400)
        self.switch()
        numbered = self.ok(self.user("sendOobCode", {"requestType": 6, "email": "x@y.z"}))
        self.assertEqual(numbered["email"], "x@y.z")
        missing = self.session.get(self.base + "/nowhere")
        self.assertEqual(missing.status_code, 404)
        self.assertEqual(missing.json()["error"]["errors"][0]["reason"], "notFound")

    # Section 4.1

    def test_sign_up(self):
        made = self.sign_up("Ada@Example.com")
        self.assertEqual(made["kind"], "identitytoolkit#SignupNewUserResponse")
        self.assertEqual(made["email"], "ada@example.com")
        self.assertEqual(made["expiresIn"], "3600")
        self.assertEqual(len(made["localId"]), 28)
        body = claims(made["idToken"])
        self.assertEqual(body["firebase"], {"identities": {"email": ["ada@example.com"]},
                                            "sign_in_provider": "password"})
        self.assertEqual((body["sub"], body["user_id"]), (made["localId"],) * 2)
        self.assertEqual(body["iss"], "https://securetoken.google.com/" + PROJECT)
        self.assertEqual(body["exp"] - body["iat"], 3600)
        self.assertFalse(body["email_verified"])
        self.assertTrue(made["idToken"].endswith("."))

        anonymous = self.anonymous()
        self.assertNotIn("email", anonymous)
        self.assertEqual(claims(anonymous["idToken"])["provider_id"], "anonymous")
        self.assertEqual(claims(anonymous["idToken"])["firebase"]["identities"], {})

        linked = self.ok(self.user("signUp", {"idToken": anonymous["idToken"],
                                              "email": "bob@example.com", "password": "secret2"}))
        self.assertEqual(linked["localId"], anonymous["localId"])
        self.assertEqual(claims(linked["idToken"])["firebase"]["sign_in_provider"], "password")

        self.fails(self.user("signUp", {"localId": "x"}), "UNEXPECTED_PARAMETER", text="User ID")
        self.fails(self.user("signUp", {"password": "secret1"}), "MISSING_EMAIL")
        self.fails(self.user("signUp", {"email": "x@y.z"}), "MISSING_PASSWORD")
        self.fails(self.user("signUp", {"email": "xyz", "password": "secret1"}), "INVALID_EMAIL")
        self.fails(self.user("signUp", {"email": "", "password": ""}), "INVALID_EMAIL")
        self.fails(
            self.user("signUp", {"email": "ADA@example.com", "password": "1"}), "EMAIL_EXISTS"
        )
        self.fails(
            self.user("signUp", {"email": "new@example.com", "password": "12345"}),
            "WEAK_PASSWORD",
            text="Password should be at least 6 characters",
        )
        self.fails(
            self.user("signUp", {"idToken": "x", "email": "n@e.c", "password": "secret1"}),
            "INVALID_ID_TOKEN",
        )
        self.switch(anonymousProvider=False)
        self.fails(self.user("signUp", {}), "ADMIN_ONLY_OPERATION")
        self.switch(passwordProvider=False)
        self.fails(
            self.user("signUp", {"email": "n@e.c", "password": "secret1"}), "OPERATION_NOT_ALLOWED"
        )

    def test_sign_up_by_an_admin(self):
        made = self.ok(self.admin("", {"localId": "ada", "email": "a@b.c", "phoneNumber": "+1555",
                                       "password": "secret1", "emailVerified": True}))
        self.assertNotIn("idToken", made)
        self.assertEqual(made["localId"], "ada")
        self.fails(self.admin("", {"localId": "ada"}), "DUPLICATE_LOCAL_ID")
        self.fails(self.admin("", {"phoneNumber": "1555"}), "INVALID_PHONE_NUMBER",
                   text="Invalid format.")
        self.fails(self.admin("", {"phoneNumber": "+1555"}), "PHONE_NUMBER_EXISTS")
        self.fails(self.admin("", {"email": "A@b.c"}), "EMAIL_EXISTS")
        self.fails(self.admin("", {"localId": "x", "idToken": "y"}), "UNEXPECTED_PARAMETER")
        record = self.ok(self.admin("lookup", {"localId": ["ada"]}))["users"][0]
        self.assertIn("validSince", record)
        self.assertTrue(record["emailVerified"])
        self.assertEqual([p["providerId"] for p in record["providerUserInfo"]],
                         ["password", "phone"])
        bare = self.ok(self.admin("", {}))
        record = self.ok(self.admin("lookup", {"localId": [bare["localId"]]}))["users"][0]
        self.assertNotIn("validSince", record)
        self.assertNotIn("providerUserInfo", record)

    # Section 4.2

    def test_password(self):
        self.sign_up()
        good = self.ok(self.user("signInWithPassword",
                                 {"email": "ADA@example.com", "password": "secret1"}))
        self.assertEqual(good["kind"], "identitytoolkit#VerifyPasswordResponse")
        self.assertIs(good["registered"], True)
        call = lambda **body: self.user("signInWithPassword", body)
        self.fails(call(password="x"), "MISSING_EMAIL")
        self.fails(call(email="", password="x"), "INVALID_EMAIL")
        self.fails(call(email="a@b.c"), "MISSING_PASSWORD")
        self.fails(call(email="a@b.c", password="x"), "EMAIL_NOT_FOUND")
        self.fails(call(email="ada@example.com", password="x"), "INVALID_PASSWORD")
        self.google("g1", "google@example.com")
        self.fails(call(email="google@example.com", password="x"), "INVALID_PASSWORD")
        self.admin("update", {"localId": good["localId"], "disableUser": True})
        self.fails(call(email="ada@example.com", password="x"), "USER_DISABLED")
        self.protect()
        self.fails(call(email="a@b.c", password="x"), "INVALID_LOGIN_CREDENTIALS")
        self.fails(call(email="google@example.com", password="x"), "INVALID_LOGIN_CREDENTIALS")
        self.switch(passwordProvider=False)
        self.fails(call(email="a@b.c", password="x"), "PASSWORD_LOGIN_DISABLED")
        self.switch(failedSignInsMax=2)
        for _ in range(2):
            self.fails(call(email="q@b.c", password="x"), "INVALID_LOGIN_CREDENTIALS")
        self.fails(call(email="q@b.c", password="x"), "TOO_MANY_ATTEMPTS_TRY_LATER")
        self.serving.advance("6m")
        self.fails(call(email="q@b.c", password="x"), "INVALID_LOGIN_CREDENTIALS")

    # Section 4.3

    def test_google(self):
        new = self.ok(self.google("s1", "G@Example.com", token={"name": "Gee", "picture": "http://p"}))
        self.assertIs(new["isNewUser"], True)
        self.assertNotIn("needConfirmation", new)
        self.assertEqual(new["federatedId"], "https://accounts.google.com/s1")
        self.assertEqual(new["email"], "g@example.com")
        self.assertEqual(json.loads(new["rawUserInfo"])["name"], "Gee")
        body = claims(new["idToken"])
        self.assertEqual(body["firebase"]["identities"],
                         {"email": ["g@example.com"], "google.com": ["s1"]})
        again = self.ok(self.google("s1", "g@example.com"))
        self.assertNotIn("isNewUser", again)
        self.assertEqual(again["localId"], new["localId"])

        # A verified address takes the account over, and who signed up before is shut out.
        mine = self.sign_up("own@example.com")
        taken = self.ok(self.google("s2", "own@example.com"))
        self.assertEqual(taken["localId"], mine["localId"])
        self.fails(
            self.user("signInWithPassword", {"email": "own@example.com", "password": "secret1"}),
            "INVALID_PASSWORD",
        )
        record = self.ok(self.admin("lookup", {"localId": [mine["localId"]]}))["users"][0]
        self.assertEqual([p["providerId"] for p in record["providerUserInfo"]], ["google.com"])
        self.assertEqual(record["providerUserInfo"][0]["federatedId"], "s2")

        # An unverified one does not.
        self.sign_up("other@example.com")
        ask = self.ok(self.google("s3", "other@example.com", verified=False))
        self.assertIs(ask["needConfirmation"], True)
        self.assertNotIn("idToken", ask)

        recycled = self.ok(self.google("s9", "g@example.com"))
        self.assertIs(recycled["emailRecycled"], True)

    def test_linking(self):
        one = self.anonymous()
        linked = self.ok(self.google("l1", "l@example.com", idToken=one["idToken"]))
        self.assertEqual(linked["localId"], one["localId"])
        self.assertEqual(claims(linked["idToken"])["email"], "l@example.com")
        again = self.google("l1", "l@example.com", idToken=linked["idToken"])
        self.fails(again, "FEDERATED_USER_ID_ALREADY_LINKED")
        soft = self.ok(self.google("l1", "l@example.com", idToken=linked["idToken"],
                                   returnIdpCredential=True))
        self.assertEqual(soft["errorMessage"], "FEDERATED_USER_ID_ALREADY_LINKED")
        self.assertNotIn("localId", soft)
        self.sign_up("busy@example.com")
        two = self.anonymous()
        self.fails(self.google("l2", "busy@example.com", idToken=two["idToken"]), "EMAIL_EXISTS")
        soft = self.ok(self.google("l2", "busy@example.com", idToken=two["idToken"],
                                   returnIdpCredential=True))
        self.assertEqual(soft["errorMessage"], "EMAIL_EXISTS")

    def test_bad_credentials(self):
        call = lambda **body: self.user("signInWithIdp", body)
        self.fails(call(postBody="x=y"), "MISSING_REQUEST_URI")
        self.fails(call(requestUri="nowhere"), "INVALID_REQUEST_URI")
        self.fails(call(requestUri="http://localhost", postBody="id_token=x"),
                   "INVALID_CREDENTIAL_OR_PROVIDER_ID")
        for token in ["{broken", "nonsense", "{}", '{"sub": 5}']:
            answer = call(requestUri="http://localhost",
                          postBody=f"id_token={quote(token)}&providerId=google.com")
            self.fails(answer, "INVALID_IDP_RESPONSE")
        access = call(requestUri="http://localhost",
                      postBody="access_token=x&providerId=google.com")
        self.assertEqual(access.status_code, 501)
        jwt = self.user("signInWithIdp", {
            "requestUri": "http://localhost?providerId=google.com",
            "postBody": "id_token=" + unsigned({"sub": "jwt", "exp": 1})})
        self.assertEqual(self.ok(jwt)["federatedId"], "https://accounts.google.com/jwt")

    def test_duplicate_emails(self):
        self.session.patch(self.emulator("config"), json={"signIn": {"allowDuplicateEmails": True}})
        self.sign_up("twice@example.com")
        other = self.ok(self.google("d1", "twice@example.com"))
        self.assertIs(other["isNewUser"], True)
        record = self.ok(self.admin("lookup", {"localId": [other["localId"]]}))["users"][0]
        self.assertNotIn("email", record)

    # Section 4.4

    def test_custom_token(self):
        call = lambda token: self.user("signInWithCustomToken", {"token": token})
        good = self.ok(call(unsigned({"aud": AUDIENCE, "uid": "cust", "claims": {"plan": "gold"}})))
        self.assertIs(good["isNewUser"], True)
        self.assertNotIn("localId", good)
        self.assertEqual(claims(good["idToken"])["plan"], "gold")
        self.assertEqual(claims(good["idToken"])["firebase"]["sign_in_provider"], "custom")
        kept = self.refresh({"grant_type": "refresh_token", "refresh_token": good["refreshToken"]})
        self.assertEqual(claims(kept.json()["id_token"])["plan"], "gold")
        self.assertIs(self.ok(call('{"uid": "cust"}'))["isNewUser"], False)
        self.fails(self.user("signInWithCustomToken", {}), "MISSING_CUSTOM_TOKEN")
        self.fails(call("nonsense"), "INVALID_CUSTOM_TOKEN")
        self.fails(call(unsigned({"aud": "other", "uid": "x"})), "INVALID_CUSTOM_TOKEN")
        self.fails(call(unsigned({"aud": AUDIENCE})), "MISSING_IDENTIFIER")
        self.fails(call('{"uid": "x", "claims": 5}'), "INVALID_CLAIMS")
        self.fails(call('{"uid": "x", "claims": {"sub": 1}}'), "FORBIDDEN_CLAIM", text="sub")
        self.admin("update", {"localId": "cust", "disableUser": True})
        self.fails(call('{"uid": "cust"}'), "USER_DISABLED")

    # Sections 4.5 to 4.7

    def test_action_codes(self):
        me = self.sign_up()
        send = lambda **body: self.user("sendOobCode", body)
        self.fails(send(email="x@y.z"), "MISSING_REQ_TYPE")
        self.fails(send(requestType="PASSWORD_RESET"), "MISSING_EMAIL")
        self.fails(send(requestType="PASSWORD_RESET", email="x@y.z"), "EMAIL_NOT_FOUND")
        self.fails(send(requestType="PASSWORD_RESET", email="ada@example.com", returnOobLink=True),
                   "INSUFFICIENT_PERMISSION")
        self.fails(send(requestType="PASSWORD_RESET", email="ada@example.com", continueUrl="x"),
                   "INVALID_CONTINUE_URI")
        self.fails(send(requestType="VERIFY_EMAIL"), "INVALID_ID_TOKEN")
        self.fails(send(requestType="VERIFY_EMAIL", idToken=self.anonymous()["idToken"]),
                   "MISSING_EMAIL")
        self.fails(self.admin("sendOobCode", {"requestType": "VERIFY_EMAIL", "email": "x@y.z",
                                              "returnOobLink": True}), "USER_NOT_FOUND")
        self.fails(send(requestType="VERIFY_AND_CHANGE_EMAIL"), "MISSING_NEW_EMAIL")
        self.fails(send(requestType="VERIFY_AND_CHANGE_EMAIL", newEmail="n@e.w"),
                   "MISSING_ID_TOKEN")
        sent = self.ok(send(requestType="PASSWORD_RESET", email="ADA@example.com"))
        self.assertEqual(sent, {"kind": "identitytoolkit#GetOobConfirmationCodeResponse",
                                "email": "ada@example.com"})
        code = self.codes_sent()[-1]
        self.assertEqual(code["requestType"], "PASSWORD_RESET")
        self.assertEqual(len(code["oobCode"]), 54)

        reset = lambda **body: self.user("resetPassword", body)
        self.fails(reset(newPassword="secret9"), "MISSING_OOB_CODE")
        self.fails(reset(oobCode="x", newPassword="secret9"), "INVALID_OOB_CODE")
        look = self.ok(reset(oobCode=code["oobCode"]))
        self.assertEqual(look["requestType"], "PASSWORD_RESET")
        self.fails(reset(oobCode=code["oobCode"], newPassword="1"), "WEAK_PASSWORD")
        self.serving.advance("2s")
        done = self.ok(reset(oobCode=code["oobCode"], newPassword="secret9"))
        self.assertNotIn("idToken", done)
        self.fails(reset(oobCode=code["oobCode"], newPassword="secret9"), "INVALID_OOB_CODE")
        self.fails(self.user("lookup", {"idToken": me["idToken"]}), "TOKEN_EXPIRED")
        record = self.ok(self.admin("lookup", {"email": ["ada@example.com"]}))["users"][0]
        self.assertTrue(record["emailVerified"])

        self.protect()
        quiet = len(self.codes_sent())
        self.ok(send(requestType="PASSWORD_RESET", email="nobody@example.com"))
        self.assertEqual(len(self.codes_sent()), quiet)
        self.switch(resetMailsMax=1)
        self.ok(send(requestType="PASSWORD_RESET", email="ada@example.com"))
        self.fails(send(requestType="PASSWORD_RESET", email="ada@example.com"),
                   "RESET_PASSWORD_EXCEED_LIMIT")
        self.switch(actionCodeSeconds=60)
        old = self.codes_sent()[-1]["oobCode"]
        self.serving.advance("2m")
        self.fails(reset(oobCode=old, newPassword="secret9"), "EXPIRED_OOB_CODE")

    def test_verify_and_change(self):
        me = self.sign_up()
        self.ok(self.user("sendOobCode", {"requestType": "VERIFY_EMAIL",
                                          "idToken": me["idToken"], "email": "ignored@x.y"}))
        code = self.codes_sent()[-1]
        self.assertEqual(code["email"], "ada@example.com")
        self.assertTrue(self.ok(self.user("update", {"oobCode": code["oobCode"]}))["emailVerified"])
        self.fails(self.user("update", {"oobCode": code["oobCode"]}), "INVALID_OOB_CODE")
        self.ok(self.user("sendOobCode", {"requestType": "VERIFY_AND_CHANGE_EMAIL",
                                          "idToken": me["idToken"], "newEmail": "new@example.com"}))
        change = self.codes_sent()[-1]
        self.assertEqual(change["newEmail"], "new@example.com")
        page = self.session.get(change["oobLink"])
        self.assertEqual(page.json()["authEmulator"]["newEmail"], "new@example.com")
        again = self.session.get(change["oobLink"])
        self.assertEqual(again.status_code, 400)
        self.sign_up("busy@example.com")
        fresh = self.ok(self.user("signInWithPassword",
                                  {"email": "new@example.com", "password": "secret1"}))
        self.fails(self.user("sendOobCode", {"requestType": "VERIFY_AND_CHANGE_EMAIL",
                                             "idToken": fresh["idToken"],
                                             "newEmail": "busy@example.com"}), "EMAIL_EXISTS")

    def test_email_link(self):
        send = {"requestType": "EMAIL_SIGNIN", "email": "link@example.com",
                "continueUrl": "http://localhost/app"}
        self.ok(self.user("sendOobCode", send))
        code = self.codes_sent()[-1]
        page = self.session.get(code["oobLink"], allow_redirects=False)
        self.assertEqual(page.status_code, 303)
        self.assertIn("oobCode=" + code["oobCode"], page.headers["Location"])
        call = lambda **body: self.user("signInWithEmailLink", body)
        self.fails(call(oobCode=code["oobCode"]), "MISSING_EMAIL")
        self.fails(call(email="link@example.com"), "MISSING_OOB_CODE")
        self.fails(call(email="link@example.com", oobCode="x"), "INVALID_OOB_CODE")
        self.fails(call(email="other@example.com", oobCode=code["oobCode"]), "INVALID_EMAIL",
                   text="The email provided does not match the sign-in email address.")
        good = self.ok(call(email="link@example.com", oobCode=code["oobCode"]))
        self.assertIs(good["isNewUser"], True)
        self.assertEqual(claims(good["idToken"])["firebase"]["sign_in_provider"], "password")
        self.switch(emailLinkProvider=False)
        self.fails(call(email="x@y.z", oobCode="x"), "OPERATION_NOT_ALLOWED")

    # Section 4.8

    def test_update(self):
        me = self.sign_up()
        call = lambda **body: self.user("update", {"idToken": me["idToken"], **body})
        self.fails(self.user("update", {"displayName": "x"}), "INVALID_REQ_TYPE")
        self.fails(call(customAttributes="{}"), "INSUFFICIENT_PERMISSION")
        self.fails(call(disableUser=True), "OPERATION_NOT_ALLOWED")
        self.fails(call(email="broken"), "INVALID_EMAIL")
        self.fails(call(password="1"), "WEAK_PASSWORD")
        self.fails(call(linkProviderUserInfo={"rawId": "x"}), "MISSING_PROVIDER_ID")
        self.fails(call(linkProviderUserInfo={"providerId": "x"}), "MISSING_RAW_ID")
        named = self.ok(call(displayName="Ada", photoUrl="http://x/y.png"))
        self.assertNotIn("idToken", named)
        self.assertEqual(named["displayName"], "Ada")
        self.assertEqual(self.ok(call(deleteAttribute=["DISPLAY_NAME"])).get("displayName"), None)
        moved = self.ok(call(email="moved@example.com"))
        self.assertIn("idToken", moved)
        self.assertIs(moved["emailVerified"], False)
        self.assertEqual(self.codes_sent()[-1]["requestType"], "RECOVER_EMAIL")
        self.sign_up("busy@example.com")
        fresh = {"idToken": moved["idToken"]}
        self.fails(self.user("update", {**fresh, "email": "busy@example.com"}), "EMAIL_EXISTS")

        self.fails(self.admin("update", {"displayName": "x"}), "MISSING_LOCAL_ID")
        self.fails(self.admin("update", {"localId": "nobody"}), "USER_NOT_FOUND")
        edit = lambda **body: self.admin("update", {"localId": me["localId"], **body})
        self.fails(edit(customAttributes=json.dumps({"a": "x" * 1000})), "CLAIMS_TOO_LARGE")
        self.fails(edit(customAttributes="[]"), "INVALID_CLAIMS")
        self.fails(edit(customAttributes='{"aud": 1}'), "FORBIDDEN_CLAIM", text="aud")
        self.fails(edit(phoneNumber="5"), "INVALID_PHONE_NUMBER")
        self.ok(edit(customAttributes='{"role": "boss"}', phoneNumber="+1777"))
        token = self.refresh({"grant_type": "refresh_token",
                              "refresh_token": moved["refreshToken"]}).json()["id_token"]
        self.assertEqual(claims(token)["role"], "boss")
        self.ok(edit(disableUser=True))
        self.fails(self.user("lookup", {"idToken": token}), "USER_DISABLED")

    def test_production_switches(self):
        me = self.sign_up()
        self.switch(recentSignInSeconds=60)
        self.serving.advance("5m")
        body = {"idToken": me["idToken"]}
        self.fails(self.user("delete", body), "CREDENTIAL_TOO_OLD_LOGIN_AGAIN")
        self.fails(self.user("update", {**body, "password": "secret2"}),
                   "CREDENTIAL_TOO_OLD_LOGIN_AGAIN")
        self.protect()
        self.switch(refusesEmailUpdate=True)
        self.fails(self.user("update", {**body, "email": "n@e.w"}),
                   "OPERATION_NOT_ALLOWED", text="Please verify the new email before changing email.")
        self.switch(verifiesIDTokens=True)
        self.ok(self.user("lookup", body))
        self.serving.advance("2h")
        self.fails(self.user("lookup", body), "TOKEN_EXPIRED")
        foreign = dict(claims(me["idToken"]), aud="other")
        self.fails(self.user("lookup", {"idToken": unsigned(foreign)}), "INVALID_ID_TOKEN")

    # Sections 4.9 to 4.12

    def test_lookup_and_delete(self):
        me = self.sign_up()
        self.fails(self.user("lookup", {"localId": ["x"]}), "MISSING_ID_TOKEN")
        record = self.ok(self.user("lookup", {"idToken": me["idToken"]}))["users"][0]
        self.assertTrue(record["createdAt"].isdigit() and record["validSince"].isdigit())
        self.assertIsInstance(record["passwordUpdatedAt"], int)
        self.assertRegex(record["lastRefreshAt"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertNotIn(None, record.values())
        self.fails(self.user("delete", {"localId": me["localId"]}), "MISSING_ID_TOKEN")
        self.fails(self.admin("delete", {}), "MISSING_LOCAL_ID")
        self.fails(self.admin("delete", {"localId": "nobody"}), "USER_NOT_FOUND")
        gone = self.ok(self.user("delete", {"idToken": me["idToken"]}))
        self.assertEqual(gone, {"kind": "identitytoolkit#DeleteAccountResponse"})
        self.fails(self.user("lookup", {"idToken": me["idToken"]}), "USER_NOT_FOUND")
        self.assertNotEqual(self.sign_up()["localId"], me["localId"])

    def test_create_auth_uri(self):
        self.sign_up()
        call = lambda **body: self.user("createAuthUri", body)
        self.fails(call(continueUri="http://x/y"), "MISSING_IDENTIFIER")
        self.fails(call(identifier="a@b.c"), "MISSING_CONTINUE_URI")
        self.fails(call(identifier="broken", continueUri="http://x/y"), "INVALID_IDENTIFIER")
        self.fails(call(identifier="a@b.c", continueUri="x"), "INVALID_CONTINUE_URI")
        known = self.ok(call(identifier="ada@example.com", continueUri="http://x/y"))
        self.assertEqual(known["signinMethods"], ["password"])
        self.protect()
        hidden = self.ok(call(identifier="ada@example.com", continueUri="http://x/y",
                              sessionId="s"))
        self.assertEqual(hidden, {"kind": "identitytoolkit#CreateAuthUriResponse",
                                  "sessionId": "s"})

    def test_many(self):
        for number in range(5):
            self.ok(self.admin("", {"localId": f"u{number}", "email": f"u{number}@example.com"}))
        page = self.ok(self.admin("batchGet?maxResults=5", None, method="GET"))
        self.assertEqual([u["localId"] for u in page["users"]], [f"u{n}" for n in range(5)])
        end = self.ok(self.admin(f"batchGet?maxResults=5&nextPageToken={page['nextPageToken']}",
                                 None, method="GET"))
        self.assertNotIn("nextPageToken", end)
        self.assertNotIn("users", end)
        count = self.ok(self.admin("query", {"returnUserInfo": False}))
        self.assertEqual(count, {"recordsCount": "5"})
        self.fails(self.admin("batchDelete", {"localIds": []}), "LOCAL_ID_LIST_EXCEEDS_LIMIT")
        kept = self.ok(self.admin("batchDelete", {"localIds": ["u0", "nobody"]}))
        self.assertEqual(kept["errors"][0]["message"],
                         "NOT_DISABLED : Disable the account before batch deletion.")
        self.assertEqual(self.ok(self.admin("batchDelete",
                                            {"localIds": ["u0"], "force": True})), {})
        self.fails(self.admin("batchCreate", {}), "MISSING_USER_ACCOUNT")
        self.fails(self.admin("batchCreate", {"users": [{"localId": "d"}, {"localId": "d"}]}),
                   "DUPLICATE_LOCAL_ID", text="d")
        self.fails(self.admin("batchCreate", {"sanityCheck": True, "users": [
            {"localId": "a", "email": "e@x.y"}, {"localId": "b", "email": "E@x.y"}]}),
            "DUPLICATE_EMAIL")
        provider = [{"providerId": "google.com", "rawId": "r"}]
        self.fails(self.admin("batchCreate", {"sanityCheck": True, "users": [
            {"localId": "a", "providerUserInfo": provider},
            {"localId": "b", "providerUserInfo": provider}]}), "DUPLICATE_RAW_ID")
        mixed = (self.admin("batchCreate", {"users": [
            {"localId": "fine"}, {}, {"localId": "x", "email": "broken"},
            {"localId": "y", "phoneNumber": "1"}, {"localId": "u1"},
            {"localId": "z", "email": "u2@example.com"},
            {"localId": "c", "customAttributes": '{"sub": 1}'}]})).json()
        self.assertEqual([(e["index"], e["message"]) for e in mixed["error"]], [
            (1, "localId is missing"), (2, "email is invalid"),
            (3, "phone number format is invalid"),
            (4, "localId belongs to an existing account - can not overwrite."),
            (5, "email exists in other account in database"),
            (6, "Custom claims provided include a reserved claim.")])

    # Sections 4.13 and 4.14

    def test_refresh(self):
        me = self.sign_up()
        good = self.refresh({"grant_type": "refresh_token", "refresh_token": me["refreshToken"]})
        body = good.json()
        self.assertEqual(body["access_token"], body["id_token"])
        self.assertEqual((body["expires_in"], body["token_type"], body["project_id"]),
                         ("3600", "Bearer", "12345"))
        self.assertEqual(claims(body["id_token"])["auth_time"], claims(me["idToken"])["auth_time"])
        camel = self.raw("/securetoken.googleapis.com/v1/token",
                         {"grantType": "refresh_token", "refreshToken": me["refreshToken"]})
        self.assertEqual(self.ok(camel)["user_id"], me["localId"])
        self.fails(self.refresh({}), "MISSING_GRANT_TYPE")
        self.fails(self.refresh({"grant_type": "other"}), "INVALID_GRANT_TYPE")
        self.fails(self.refresh({"grant_type": "refresh_token"}), "MISSING_REFRESH_TOKEN")
        bad = {"grant_type": "refresh_token", "refresh_token": "nonsense"}
        self.fails(self.refresh(bad), "INVALID_REFRESH_TOKEN")
        mine = {"grant_type": "refresh_token", "refresh_token": me["refreshToken"]}
        self.switch(revokesRefreshTokens=True)
        self.serving.advance("2s")
        self.admin("update", {"localId": me["localId"], "password": "secret3"})
        self.fails(self.refresh(mine), "TOKEN_EXPIRED")
        self.switch()
        self.admin("update", {"localId": me["localId"], "disableUser": True})
        self.fails(self.refresh(mine), "USER_DISABLED")
        self.admin("delete", {"localId": me["localId"]})
        self.fails(self.refresh(mine), "INVALID_REFRESH_TOKEN")
        self.switch(tellsDeletedUsers=True)
        self.fails(self.refresh(mine), "USER_NOT_FOUND")

    def test_session_cookie(self):
        me = self.sign_up()
        path = f"/identitytoolkit.googleapis.com/v1/projects/{PROJECT}:createSessionCookie"
        call = lambda body: self.raw(path, body, admin=True)
        cookie = self.ok(call({"idToken": me["idToken"], "validDuration": "600"}))
        self.assertEqual(list(cookie), ["sessionCookie"])
        body = claims(cookie["sessionCookie"])
        self.assertEqual(body["iss"], "https://session.firebase.google.com/" + PROJECT)
        self.assertEqual(body["exp"] - body["iat"], 600)
        self.fails(call({}), "MISSING_ID_TOKEN")
        self.fails(call({"idToken": me["idToken"], "validDuration": 299}), "INVALID_DURATION")
        self.fails(call({"idToken": "x"}), "INVALID_ID_TOKEN")

    # Tenants, legacy paths, smaller ones, phone

    def test_tenants(self):
        base = f"/identitytoolkit.googleapis.com/v1/projects/{PROJECT}/tenants/blue/accounts"
        made = self.ok(self.raw(base, {"email": "t@e.n", "password": "secret1"}, admin=True))
        self.assertEqual(
            self.ok(self.admin("lookup", {"localId": [made["localId"]]})),
            {"kind": "identitytoolkit#GetAccountInfoResponse"},
        )
        signed = self.ok(self.user("signInWithPassword", {"email": "t@e.n", "password": "secret1",
                                                          "tenantId": "blue"}))
        self.assertEqual(claims(signed["idToken"])["firebase"]["tenant"], "blue")
        self.fails(self.user("lookup", {"idToken": signed["idToken"]}), "TENANT_ID_MISMATCH")

    def test_legacy_paths(self):
        legacy = "/www.googleapis.com/identitytoolkit/v3/relyingparty/"
        made = self.ok(self.raw(legacy + "signupNewUser", {"email": "i@o.s", "password": "secret1"}))
        self.ok(self.raw(legacy + "verifyPassword", {"email": "i@o.s", "password": "secret1"}))
        found = self.ok(self.raw(legacy + "getAccountInfo", {"idToken": made["idToken"]}))
        self.assertEqual(found["users"][0]["email"], "i@o.s")
        self.assertIn("projectId", self.ok(self.raw(legacy + "getProjectConfig", None, method="GET")))
        self.fails(self.raw(legacy + "downloadAccount", {}, admin=True), "INSUFFICIENT_PERMISSION")
        page = self.ok(self.raw(legacy + "downloadAccount", {"targetProjectId": PROJECT}, admin=True))
        self.assertEqual(len(page["users"]), 1)
        self.assertEqual(self.raw(legacy + "signOutUser", {}).status_code, 501)
        encoded = self.raw("/identitytoolkit.googleapis.com/v1/accounts%3AsignUp", {})
        self.assertIn("idToken", self.ok(encoded))
        self.assertIn("idToken", self.ok(self.raw("/v1/accounts:signUp", {})))

    def test_phone(self):
        self.fails(self.user("sendVerificationCode", {"phoneNumber": "5"}), "INVALID_PHONE_NUMBER")
        session = self.ok(self.user("sendVerificationCode", {"phoneNumber": "+1999"}))
        code = self.session.get(self.emulator("verificationCodes")).json()["verificationCodes"][-1]
        signed = self.ok(self.user("signInWithPhoneNumber", {**session, "code": code["code"]}))
        self.assertEqual(claims(signed["idToken"])["phone_number"], "+1999")

    def test_emulator(self):
        ready = self.session.get(self.base + "/").json()
        self.assertIs(ready["authEmulator"]["ready"], True)
        self.assertEqual(self.session.get(self.emulator("config")).json(), {
            "signIn": {"allowDuplicateEmails": False},
            "emailPrivacyConfig": {"enableImprovedEmailPrivacy": False}})
        self.assertEqual(self.session.get(self.base + "/emulator/action?oobCode=x").status_code, 400)
        handler = self.session.get(self.base + "/emulator/auth/handler")
        self.assertTrue(handler.headers["Content-Type"].startswith("text/html"))
        config = f"/identitytoolkit.googleapis.com/v2/projects/{PROJECT}/config"
        changed = self.ok(self.raw(config + "?updateMask=signIn.allowDuplicateEmails", {
            "signIn": {"allowDuplicateEmails": True},
            "emailPrivacyConfig": {"enableImprovedEmailPrivacy": True}},
            admin=True, method="PATCH"))
        self.assertIs(changed["signIn"]["allowDuplicateEmails"], True)
        self.assertIs(changed["emailPrivacyConfig"]["enableImprovedEmailPrivacy"], False)

    def test_codes_by_fault(self):
        for code in sorted(BY_FAULT):
            plan = {"responses": [f"code {code} : by plan"]}
            self.serving.control("PUT", "/faults/firebase", plan)
            self.fails(self.user("signUp", {}), code, text="by plan")
        self.assertIn("idToken", self.anonymous())

    def test_zz_every_code_was_seen(self):
        self.assertEqual(sorted(ALL_CODES - type(self).codes), [])


if __name__ == "__main__":
    unittest.main()
