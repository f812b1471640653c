"""Second factors, tenants and providers of the Firebase fake, over REST and by the official admin SDK."""

import base64
import hashlib
import hmac
import json
import os
import struct
import unittest
from urllib.parse import quote

import firebase_admin
import jwt
import requests
from firebase_admin import auth, credentials, tenant_mgt
from google.oauth2.credentials import Credentials

from serving import Serving

PROJECT = "demo-project"


def totp(secret, seconds, step=0):
    """RFC 6238, written apart from the fake."""
    key = base64.b32decode(secret)
    digest = hmac.new(key, struct.pack(">Q", seconds // 30 + step), hashlib.sha1).digest()
    offset = digest[-1] & 15
    number = struct.unpack(">I", digest[offset:offset + 4])[0] & 0x7FFFFFFF
    return f"{number % 1000000:06}"


class Base(unittest.TestCase):
    arguments = ()

    @classmethod
    def setUpClass(cls):
        cls.serving = Serving(*cls.arguments)
        cls.base = cls.serving.urls["firebase"]

    @classmethod
    def tearDownClass(cls):
        status, errors = cls.serving.stop()
        assert status == 0, errors

    def setUp(self):
        requests.delete(f"{self.base}/emulator/v1/projects/{PROJECT}/accounts", timeout=30)

    def raw(self, path, body=None, method="POST", admin=False):
        headers = {"Authorization": "Bearer owner"} if admin else {}
        path += "" if admin else ("&" if "?" in path else "?") + "key=any"
        return requests.request(method, f"{self.base}/identitytoolkit.googleapis.com{path}", json=body, headers=headers,
                                timeout=30)

    def ok(self, answer):
        self.assertEqual(answer.status_code, 200, answer.text)
        return answer.json()

    def fails(self, answer, message, status=400):
        self.assertEqual((answer.status_code, answer.json()["error"]["message"]), (status, message))

    def user(self, name, body):
        return self.raw(f"/v1/accounts:{name}", body)

    def second(self, name, body):
        return self.raw(f"/v2/accounts/{name}", body)

    def codes(self, tenant=""):
        path = f"/emulator/v1/projects/{PROJECT}{tenant}/verificationCodes"
        return requests.get(self.base + path, timeout=30).json()["verificationCodes"]

    def verified(self, email="ada@example.com"):
        """Somebody with a verified address, signed in by password."""
        made = self.ok(self.user("signUp", {"email": email, "password": "secret1"}))
        self.ok(self.raw(f"/v1/projects/{PROJECT}/accounts:update", {"localId": made["localId"], "emailVerified": True},
                         admin=True))
        return self.sign_in(email)

    def sign_in(self, email="ada@example.com"):
        return self.ok(self.user("signInWithPassword", {"email": email, "password": "secret1"}))

    def enrol(self, token, phone="+15550123456", **fields):
        started = self.ok(self.second("mfaEnrollment:start", {"idToken": token, "phoneEnrollmentInfo": {"phoneNumber": phone}}))
        session = started["phoneSessionInfo"]["sessionInfo"]
        code = next(each["code"] for each in self.codes() if each["sessionInfo"] == session)
        return self.ok(self.second("mfaEnrollment:finalize", {
            "idToken": token, "phoneVerificationInfo": {"sessionInfo": session, "code": code}} | fields))


def claims(token):
    return jwt.decode(token, options={"verify_signature": False})


class SecondFactors(Base):
    def test_sms(self):
        unverified = self.ok(self.user("signUp", {"email": "bob@example.com", "password": "secret1"}))
        info = {"phoneEnrollmentInfo": {"phoneNumber": "+15550123456"}}
        self.fails(self.second("mfaEnrollment:start", {"idToken": unverified["idToken"]} | info),
                   "UNVERIFIED_EMAIL : Need to verify email first before enrolling second factors.")
        nobody = self.ok(self.user("signUp", {}))
        self.fails(self.second("mfaEnrollment:start", {"idToken": nobody["idToken"]} | info),
                   "UNSUPPORTED_FIRST_FACTOR : MFA is not available for the given first factor.")
        token = self.verified()["idToken"]
        self.fails(self.second("mfaEnrollment:start", {"idToken": token, "phoneEnrollmentInfo": {"phoneNumber": "tea"}}),
                   "INVALID_PHONE_NUMBER : Invalid format.")
        self.fails(self.second("mfaEnrollment:start", {"idToken": token}), "INVALID_ARGUMENT : ((Missing phoneEnrollmentInfo.))")
        enrolled = self.enrol(token, displayName="My phone")
        self.assertEqual(claims(enrolled["idToken"])["firebase"]["sign_in_second_factor"], "phone")
        self.fails(self.second("mfaEnrollment:start", {"idToken": enrolled["idToken"]} | info),
                   "SECOND_FACTOR_EXISTS : Phone number already enrolled as second factor for this account.")
        [shown] = self.ok(self.user("lookup", {"idToken": enrolled["idToken"]}))["users"]
        [factor] = shown["mfaInfo"]
        self.assertEqual((factor["displayName"], factor["phoneInfo"]), ("My phone", "+15550123456"))

        # The first step alone gives no token.
        pending = self.sign_in()
        self.assertNotIn("idToken", pending)
        self.assertNotIn("refreshToken", pending)
        [hidden] = pending["mfaInfo"]
        self.assertEqual(hidden["phoneInfo"], "+*******3456")
        credential = {"mfaPendingCredential": pending["mfaPendingCredential"]}
        wanted = credential | {"mfaEnrollmentId": hidden["mfaEnrollmentId"], "phoneSignInInfo": {}}
        self.fails(self.second("mfaSignIn:start", {}),
                   "MISSING_MFA_PENDING_CREDENTIAL : Request does not have MFA pending credential.")
        self.fails(self.second("mfaSignIn:start", credential),
                   "MISSING_MFA_ENROLLMENT_ID : No second factor identifier is provided.")
        self.fails(self.second("mfaSignIn:start", wanted | {"mfaPendingCredential": "tea"}), "INVALID_MFA_PENDING_CREDENTIAL")
        self.fails(self.second("mfaSignIn:start", wanted | {"mfaEnrollmentId": "tea"}), "MFA_ENROLLMENT_NOT_FOUND")
        session = self.ok(self.second("mfaSignIn:start", wanted))["phoneResponseInfo"]["sessionInfo"]
        code = next(each["code"] for each in self.codes() if each["sessionInfo"] == session)
        self.fails(self.second("mfaSignIn:finalize", credential | {"phoneVerificationInfo": {"sessionInfo": session,
                                                                                            "code": "000"}}), "INVALID_CODE")
        signed = self.ok(self.second("mfaSignIn:finalize", credential | {
            "phoneVerificationInfo": {"sessionInfo": session, "code": code}}))
        said = claims(signed["idToken"])["firebase"]
        self.assertEqual((said["sign_in_provider"], said["second_factor_identifier"]), ("password", factor["mfaEnrollmentId"]))
        # What the token says outlives a refresh.
        fresh = requests.post(self.base + "/securetoken.googleapis.com/v1/token?key=any", timeout=30, data={
            "grant_type": "refresh_token", "refresh_token": signed["refreshToken"]}).json()
        self.assertEqual(claims(fresh["id_token"])["firebase"], said)

        self.fails(self.second("mfaEnrollment:withdraw", {"idToken": signed["idToken"], "mfaEnrollmentId": "tea"}),
                   "MFA_ENROLLMENT_NOT_FOUND")
        self.ok(self.second("mfaEnrollment:withdraw", {"idToken": signed["idToken"],
                                                       "mfaEnrollmentId": factor["mfaEnrollmentId"]}))
        self.assertIn("idToken", self.sign_in())

    def test_an_app_that_makes_codes(self):
        token = self.verified()["idToken"]
        info = self.ok(self.second("mfaEnrollment:start", {"idToken": token, "totpEnrollmentInfo": {}}))["totpSessionInfo"]
        self.assertEqual((info["hashingAlgorithm"], info["periodSec"], info["verificationCodeLength"]), ("SHA1", 30, 6))
        now = claims(token)["iat"]
        finish = {"idToken": token, "displayName": "App"}
        wrong = {"sessionInfo": info["sessionInfo"], "verificationCode": "1"}
        self.fails(self.second("mfaEnrollment:finalize", finish | {"totpVerificationInfo": wrong}), "INVALID_CODE")
        enrolled = self.ok(self.second("mfaEnrollment:finalize", finish | {"totpVerificationInfo": {
            "sessionInfo": info["sessionInfo"], "verificationCode": totp(info["sharedSecretKey"], now)}}))
        self.assertEqual(enrolled["totpAuthInfo"], {})
        self.assertEqual(claims(enrolled["idToken"])["firebase"]["sign_in_second_factor"], "totp")
        pending = self.sign_in()
        [factor] = pending["mfaInfo"]
        self.assertEqual(factor["totpInfo"], {})
        body = {"mfaPendingCredential": pending["mfaPendingCredential"], "mfaEnrollmentId": factor["mfaEnrollmentId"]}
        far = totp(info["sharedSecretKey"], now, step=100)
        self.fails(self.second("mfaSignIn:finalize", body | {"totpVerificationInfo": {"verificationCode": far}}), "INVALID_CODE")
        used = {"totpVerificationInfo": {"verificationCode": totp(info["sharedSecretKey"], now)}}
        self.fails(self.second("mfaSignIn:finalize", body | used), "INVALID_CODE")
        near = {"totpVerificationInfo": {"verificationCode": totp(info["sharedSecretKey"], now, step=1)}}
        self.fails(self.second("mfaSignIn:finalize", near), "MISSING_CREDENTIAL : Please set MFA Pending Credential.")
        signed = self.ok(self.second("mfaSignIn:finalize", body | near))
        # No code is taken twice.
        self.fails(self.second("mfaSignIn:finalize", body | near), "INVALID_CODE")
        self.assertEqual(claims(signed["idToken"])["firebase"]["second_factor_identifier"], factor["mfaEnrollmentId"])
        # An enrolment that takes too long.
        signed = self.verified("late@example.com")
        info = self.ok(self.second("mfaEnrollment:start", {"idToken": signed["idToken"], "totpEnrollmentInfo": {}}))
        info = info["totpSessionInfo"]
        self.serving.advance("10m")
        self.fails(self.second("mfaEnrollment:finalize", {"idToken": signed["idToken"], "totpVerificationInfo": {
            "sessionInfo": info["sessionInfo"], "verificationCode": "123456"}}), "SESSION_EXPIRED")

    def test_what_an_admin_writes(self):
        path = f"/v1/projects/{PROJECT}/accounts"
        factor = {"phoneInfo": "+15550199", "displayName": "Work"}
        self.fails(self.raw(path, {"email": "a@b.c", "mfaInfo": [{"phoneInfo": "tea"}]}, admin=True),
                   "INVALID_MFA_PHONE_NUMBER : Invalid format.")
        made = self.ok(self.raw(path, {"email": "a@b.c", "password": "secret1", "emailVerified": True, "mfaInfo": [factor]},
                                admin=True))
        one = {"localId": made["localId"]}
        [shown] = self.ok(self.raw(path + ":lookup", {"localId": [made["localId"]]}, admin=True))["users"]
        self.assertEqual(shown["mfaInfo"][0]["displayName"], "Work")
        self.assertIn("mfaPendingCredential", self.sign_in("a@b.c"))
        factors = {"enrollments": shown["mfaInfo"]}
        self.ok(self.raw(path + ":update", one | {"mfa": factors, "displayName": "Ada"}, admin=True))
        self.ok(self.raw(path + ":update", one | {"displayName": "Ada"}, admin=True))
        self.assertIn("mfaPendingCredential", self.sign_in("a@b.c"))
        for none in ({"enrollments": []}, {}):
            self.ok(self.raw(path + ":update", one | {"mfa": none}, admin=True))
            self.assertIn("idToken", self.sign_in("a@b.c"))
            self.ok(self.raw(path + ":update", one | {"mfa": factors}, admin=True))
        imported = self.ok(self.raw(path + ":batchCreate", {"users": [
            {"localId": "1", "mfaInfo": [factor]}, {"localId": "2", "email": "d@e.f", "mfaInfo": [factor]},
            {"localId": "3", "email": "g@h.i", "emailVerified": True, "mfaInfo": [{"phoneInfo": "tea"}]},
            {"localId": "4", "email": "j@k.l", "emailVerified": True, "mfaInfo": [factor]}]}, admin=True))
        self.assertEqual([each["message"] for each in imported["error"]], [
            "Second factor account requires email to be presented.", "Second factor account requires email to be verified.",
            "Phone number format is invalid"])

    def test_no_way_around_it(self):
        """Whatever else a call brings, the first step alone gives no token."""
        token = self.verified()["idToken"]
        self.enrol(token)
        body = {"email": "ada@example.com", "password": "secret1"}
        for forged in ("x", token):
            answer = self.user("signInWithPassword", body | {"idToken": forged})
            self.assertEqual(answer.status_code, 501, answer.text)
        for provider, name in [("google.com", "id_token"), ("github.com", "access_token")]:
            person = json.dumps({"sub": "s", "email": "ada@example.com", "email_verified": True})
            post = f"{name}={quote(person)}&providerId={provider}"
            signed = self.ok(self.user("signInWithIdp", {"requestUri": "http://localhost", "postBody": post}))
            self.assertNotIn("idToken", signed)
            self.assertIn("mfaPendingCredential", signed)
            forged = self.user("signInWithIdp", {"requestUri": "http://localhost", "postBody": post, "idToken": "x"})
            self.assertEqual(forged.status_code, 400)
        # A phone of the account's own is no first step beside a phone as the second.
        path = f"/v1/projects/{PROJECT}/accounts:update"
        self.ok(self.raw(path, {"localId": claims(token)["user_id"], "phoneNumber": "+15550177"}, admin=True))
        self.fails(self.user("sendVerificationCode", {"phoneNumber": "+15550177"}),
                   "UNSUPPORTED_FIRST_FACTOR : A phone number cannot be set as a first factor on an SMS based MFA user.")
        [shown] = self.ok(self.raw(f"/v1/projects/{PROJECT}/accounts:lookup", {"email": ["ada@example.com"]}, admin=True))["users"]
        before = shown["lastLoginAt"]
        self.serving.advance("1m")
        self.sign_in()
        [shown] = self.ok(self.raw(f"/v1/projects/{PROJECT}/accounts:lookup", {"email": ["ada@example.com"]}, admin=True))["users"]
        self.assertEqual(shown["lastLoginAt"], before)

    def test_it_can_be_switched_off(self):
        config = f"/v2/projects/{PROJECT}/config"
        token = self.verified()["idToken"]
        self.enrol(token)
        before = self.ok(self.raw(config, method="GET", admin=True))["mfa"]
        try:
            off = self.ok(self.raw(config + "?updateMask=mfa.state", {"mfa": {"state": "DISABLED"}}, method="PATCH", admin=True))
            self.assertEqual(off["mfa"], before | {"state": "DISABLED"})
            self.assertIn("idToken", self.sign_in())
            self.fails(self.second("mfaEnrollment:start", {"idToken": token, "phoneEnrollmentInfo": {}}),
                       "OPERATION_NOT_ALLOWED : SMS based MFA not enabled.")
            self.fails(self.second("mfaEnrollment:start", {"idToken": token, "totpEnrollmentInfo": {}}),
                       "OPERATION_NOT_ALLOWED : TOTP based MFA not enabled.")
        finally:
            self.ok(self.raw(config + "?updateMask=mfa", {"mfa": before}, method="PATCH", admin=True))


class Providers(Base):
    def idp(self, provider, **fields):
        post = "&".join(f"{name}={quote(text)}" for name, text in fields.items()) + f"&providerId={provider}"
        return self.user("signInWithIdp", {"requestUri": "http://localhost", "postBody": post, "returnSecureToken": True})

    def test_what_stands_for_an_access_token(self):
        person = {"sub": "g-1", "email": "ada@example.com", "name": "Ada", "screen_name": "ada"}
        for provider in ["github.com", "facebook.com"]:
            signed = self.ok(self.idp(provider, access_token=json.dumps(person | {"email": f"{provider}@x.y"})))
            self.assertEqual((signed["providerId"], signed["isNewUser"]), (provider, True))
            self.assertEqual(claims(signed["idToken"])["firebase"]["identities"][provider], ["g-1"])
            self.assertNotIn("oauthIdToken", signed)
        signed = self.ok(self.idp("github.com", access_token=json.dumps(person | {"login": "ada-l"})))
        self.assertEqual(json.loads(signed["rawUserInfo"])["login"], "ada-l")
        self.assertEqual(self.idp("github.com", access_token="opaque").status_code, 501)
        self.fails(self.idp("github.com", access_token="{"), "INVALID_IDP_RESPONSE : Unable to parse access_token: {")
        self.assertEqual(self.idp("google.com", access_token=json.dumps(person)).status_code, 501)

    def test_saml(self):
        said = {"assertion": {"subject": {"nameId": "ada@example.com"}, "attributeStatements": {"name": "Ada"}}}
        signed = self.ok(self.idp("saml.work", SAMLResponse=json.dumps(said)))
        self.assertEqual((signed["email"], signed["displayName"]), ("ada@example.com", "Ada"))
        self.fails(self.idp("saml.work", SAMLResponse="tea"), "INVALID_IDP_RESPONSE : Unable to parse SAMLResponse: tea")

    def test_where_a_browser_signs_in(self):
        body = {"providerId": "github.com", "continueUri": "http://localhost/back"}
        answer = self.ok(self.user("createAuthUri", body))
        self.assertEqual(answer["providerId"], "github.com")
        self.assertEqual(requests.get(answer["authUri"], timeout=30).status_code, 200)
        self.fails(self.user("createAuthUri", body | {"providerId": "tea"}), "INVALID_PROVIDER_ID")
        self.fails(self.user("createAuthUri", {"providerId": "github.com"}), "MISSING_CONTINUE_URI")

    def test_a_phone_that_belongs_to_somebody(self):
        def code(phone):
            session = self.ok(self.user("sendVerificationCode", {"phoneNumber": phone}))["sessionInfo"]
            return {"sessionInfo": session,
                    "code": next(each["code"] for each in self.codes() if each["sessionInfo"] == session)}

        owner = self.ok(self.user("signInWithPhoneNumber", code("+15550111")))
        other = self.ok(self.user("signUp", {"email": "bob@example.com", "password": "secret1"}))
        proof = self.ok(self.user("signInWithPhoneNumber", code("+15550111") | {"idToken": other["idToken"]}))
        self.assertNotIn("idToken", proof)
        shown = {"phoneNumber": "+15550111", "temporaryProof": proof["temporaryProof"]}
        self.assertEqual(self.ok(self.user("signInWithPhoneNumber", shown))["localId"], owner["localId"])
        # It was used up.
        self.fails(self.user("signInWithPhoneNumber", shown), "INVALID_TEMPORARY_PROOF")
        proof = self.ok(self.user("signInWithPhoneNumber", code("+15550111") | {"idToken": other["idToken"]}))
        shown["temporaryProof"] = proof["temporaryProof"]
        self.fails(self.user("signInWithPhoneNumber", shown | {"idToken": other["idToken"]}), "PHONE_NUMBER_EXISTS")
        self.fails(self.user("signInWithPhoneNumber", shown | {"temporaryProof": "tea"}), "INVALID_TEMPORARY_PROOF")
        self.fails(self.user("signInWithPhoneNumber", shown | {"phoneNumber": "+15550112"}), "INVALID_TEMPORARY_PROOF")
        self.serving.advance("61m")
        self.fails(self.user("signInWithPhoneNumber", shown), "INVALID_TEMPORARY_PROOF")

    def test_what_is_absent_says_its_name(self):
        for method, path, name in [
                ("GET", "/v2/passwordPolicy", "passwordPolicy"), ("POST", "/v2/accounts:revokeToken", "accounts:revokeToken"),
                ("POST", "/v2/accounts/passkeySignIn:start", "passkeySignIn:start"),
                ("GET", f"/v2/projects/{PROJECT}/inboundSamlConfigs", "inboundSamlConfigs"),
                ("PATCH", f"/v2/projects/{PROJECT}/oauthIdpConfigs/oidc.x", "oauthIdpConfigs")]:
            answer = self.raw(path, {}, method=method)
            self.fails(answer, f"{name} is not implemented in the Auth Emulator.", 501)


class Tenants(Base):
    def test_people_of_a_tenant_know_nothing_of_another(self):
        path = f"/v2/projects/{PROJECT}/tenants"
        made = self.ok(self.raw(path, {"displayName": "blue", "allowPasswordSignup": True}, admin=True))
        self.fails(self.raw(path, {"displayName": "1"}, admin=True),
                   "INVALID_DISPLAY_NAME : DisplayName should start with a letter and only consist of letters, digits and "
                   "hyphens with 4-20 characters.")
        tenant = {"tenantId": made["tenantId"]}
        person = {"email": "ada@example.com", "password": "secret1"}
        blue = self.ok(self.user("signUp", person | tenant))
        self.assertEqual(claims(blue["idToken"])["firebase"]["tenant"], made["tenantId"])
        self.fails(self.user("signInWithPassword", person), "EMAIL_NOT_FOUND")
        self.fails(self.user("lookup", {"idToken": blue["idToken"]}), "TENANT_ID_MISMATCH")
        self.fails(self.user("signUp", tenant), "ADMIN_ONLY_OPERATION")
        self.fails(self.user("signInWithCustomToken", tenant | {"token": json.dumps({"uid": "x", "tenant_id": "other"})}),
                   "TENANT_ID_MISMATCH")
        self.fails(self.user("signInWithCustomToken", {"token": json.dumps({"uid": "x", "tenant_id": made["tenantId"]})}),
                   "TENANT_ID_MISMATCH")
        self.fails(self.user("sendOobCode", tenant | {"requestType": "EMAIL_SIGNIN", "email": "ada@example.com",
                                                      "continueUrl": "http://localhost"}), "OPERATION_NOT_ALLOWED")
        inside = self.raw(f"/v1/projects/{PROJECT}%2F{made['tenantId']}/accounts:query", {}, admin=True)
        self.assertEqual(inside.status_code, 404)
        one = f"{path}/{made['tenantId']}"
        changed = self.ok(self.raw(one + "?updateMask=allowPasswordSignup", {
            "allowPasswordSignup": False, "disableAuth": True}, method="PATCH", admin=True))
        self.assertEqual((changed["allowPasswordSignup"], changed["disableAuth"]), (False, False))
        self.fails(self.user("signInWithPassword", person | tenant), "PASSWORD_LOGIN_DISABLED")
        # A mask names leaves: what stands beside them stays.
        changed = self.ok(self.raw(one + "?updateMask=mfaConfig.state", {
            "mfaConfig": {"state": "ENABLED", "enabledProviders": ["PHONE_SMS"]}}, method="PATCH", admin=True))
        self.assertEqual(changed["mfaConfig"], {"state": "ENABLED", "enabledProviders": []})
        for wrong in ("tea", "mfaConfig" + ".a" * 9000):
            self.assertEqual(self.raw(one + f"?updateMask={wrong}", {}, method="PATCH", admin=True).status_code, 400)
        self.ok(self.raw(one, {"disableAuth": True}, method="PATCH", admin=True))
        self.fails(self.user("signInWithPassword", person | tenant), "PROJECT_DISABLED")
        late = requests.post(self.base + "/securetoken.googleapis.com/v1/token?key=any", timeout=30, data={
            "grant_type": "refresh_token", "refresh_token": blue["refreshToken"]})
        self.fails(late, "PROJECT_DISABLED")
        self.ok(self.raw(one, method="DELETE", admin=True))

    def test_by_the_admin_sdk(self):
        os.environ["FIREBASE_AUTH_EMULATOR_HOST"] = self.base.removeprefix("http://")
        credential = credentials.Base()
        credential.get_credential = lambda: Credentials("ya29.any")
        app = firebase_admin.initialize_app(credential, {"projectId": PROJECT}, "tenants")
        # This part of the SDK knows no emulator: it is told where Google is.
        service = tenant_mgt._TenantManagementService
        real, service.TENANT_MGT_URL = service.TENANT_MGT_URL, f"{self.base}/identitytoolkit.googleapis.com/v2"
        try:
            made = tenant_mgt.create_tenant("green", allow_password_sign_up=True, app=app)
            self.assertEqual((made.display_name, made.allow_password_sign_up), ("green", True))
            self.assertEqual(tenant_mgt.get_tenant(made.tenant_id, app=app).display_name, "green")
            changed = tenant_mgt.update_tenant(made.tenant_id, enable_email_link_sign_in=True, app=app)
            self.assertTrue(changed.enable_email_link_sign_in)
            listed = [each.tenant_id for each in tenant_mgt.list_tenants(app=app).iterate_all()]
            self.assertIn(made.tenant_id, listed)
            client = tenant_mgt.auth_for_tenant(made.tenant_id, app=app)
            user = client.create_user(email="ada@example.com")
            self.assertEqual(user.tenant_id, made.tenant_id)
            self.assertEqual(client.get_user_by_email("ada@example.com").uid, user.uid)
            with self.assertRaises(auth.UserNotFoundError):
                auth.get_user_by_email("ada@example.com", app=app)
            tenant_mgt.delete_tenant(made.tenant_id, app=app)
        finally:
            service.TENANT_MGT_URL = real
            firebase_admin.delete_app(app)
            del os.environ["FIREBASE_AUTH_EMULATOR_HOST"]


class InProduction(Base):
    arguments = ("--firebase-production",)

    def test_a_tenant_that_nobody_made(self):
        self.fails(self.user("signUp", {"tenantId": "none"}), "TENANT_NOT_FOUND")
        self.fails(self.raw(f"/v2/projects/{PROJECT}/tenants/none", method="GET", admin=True), "TENANT_NOT_FOUND")

    def test_an_export_holds_hash_and_salt(self):
        self.ok(self.user("signUp", {"email": "ada@example.com", "password": "secret1"}))
        page = self.raw(f"/v1/projects/{PROJECT}/accounts:batchGet?maxResults=10", method="GET", admin=True)
        [user] = self.ok(page)["users"]
        self.assertNotEqual(user["passwordHash"], "UkVEQUNURUQ=")
        self.assertTrue(user["salt"])
        [user] = self.ok(self.raw(f"/v1/projects/{PROJECT}/accounts:lookup", {"email": ["ada@example.com"]}, admin=True))["users"]
        self.assertEqual(user["passwordHash"], "UkVEQUNURUQ=")
        self.assertNotIn("salt", user)


del Base

if __name__ == "__main__":
    unittest.main()
