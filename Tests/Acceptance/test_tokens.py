"""Signed tokens judged by libraries that share no code with the fake: PyJWT through the JWKS and
the certificate map, google-auth through the certificates, across a rotation of the keys."""

import unittest

import jwt
import requests
from cryptography import x509
from google.auth import exceptions as google_exceptions
from google.auth import jwt as google_jwt

from serving import Serving

PROJECT = "demo-project"
ACCOUNT = "securetoken@system.gserviceaccount.com"


class SignedTokens(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.serving = Serving("--set", "firebase.tokens=rs256", "--firebase-project", PROJECT)
        cls.base = cls.serving.urls["firebase"]

    @classmethod
    def tearDownClass(cls):
        status, errors = cls.serving.stop()
        assert status == 0, errors

    def sign_up(self):
        url = self.base + "/identitytoolkit.googleapis.com/v1/accounts:signUp?key=k"
        return requests.post(url, json={}, timeout=30).json()

    def certificates(self):
        answer = requests.get(f"{self.base}/www.googleapis.com/robot/v1/metadata/x509/{ACCOUNT}")
        self.assertRegex(answer.headers["Cache-Control"], r"max-age=\d+")
        return answer.json()

    def jwks(self, middle="service_accounts/v1/jwk"):
        return requests.get(f"{self.base}/{middle}/{ACCOUNT}").json()

    def verify_by_jwks(self, token):
        keys = {key["kid"]: jwt.PyJWK(key) for key in self.jwks()["keys"]}
        kid = jwt.get_unverified_header(token)["kid"]
        return jwt.decode(token, keys[kid].key, algorithms=["RS256"], audience=PROJECT,
                          issuer="https://securetoken.google.com/" + PROJECT)

    def verify_by_certificate(self, token):
        kid = jwt.get_unverified_header(token)["kid"]
        key = x509.load_pem_x509_certificate(self.certificates()[kid].encode()).public_key()
        return jwt.decode(token, key, algorithms=["RS256"], audience=PROJECT)

    def test_rotation(self):
        first = self.sign_up()
        header = jwt.get_unverified_header(first["idToken"])
        self.assertEqual(header["alg"], "RS256")
        self.assertRegex(header["kid"], r"^[0-9a-f]{40}$")
        for verify in [self.verify_by_jwks, self.verify_by_certificate]:
            self.assertEqual(verify(first["idToken"])["sub"], first["localId"])
        google_jwt.decode(first["idToken"], certs=self.certificates(), audience=PROJECT,
                          clock_skew_in_seconds=5)
        other = self.jwks("service_accounts/v1/metadata/jwk")
        self.assertEqual(other, self.jwks())

        self.serving.control("POST", "/firebase/rotate-keys", {})
        second = self.sign_up()
        self.assertNotEqual(jwt.get_unverified_header(second["idToken"])["kid"], header["kid"])
        # Both are published, so yesterday's tokens stay good until they expire.
        for token in [first["idToken"], second["idToken"]]:
            self.verify_by_jwks(token)
            self.verify_by_certificate(token)
        self.assertEqual(set(self.certificates()), {k["kid"] for k in self.jwks()["keys"]})
        self.assertEqual(len(self.certificates()), 2)

        self.serving.control("POST", "/firebase/rotate-keys", {})
        self.assertNotIn(header["kid"], self.certificates())

    def test_tampering(self):
        token = self.sign_up()["idToken"]
        head, body, signature = token.split(".")
        forged = body[:-4] + ("AAAA" if body[-4:] != "AAAA" else "BBBB")
        with self.assertRaises((jwt.InvalidTokenError, ValueError)):
            self.verify_by_jwks(".".join([head, forged, signature]))
        with self.assertRaises((google_exceptions.GoogleAuthError, ValueError)):
            google_jwt.decode(".".join([head, forged, signature]), certs=self.certificates())
        # The fake checks its own signatures once told to.
        self.serving.settings("firebase", verifiesIDTokens=True)
        url = self.base + "/identitytoolkit.googleapis.com/v1/accounts:lookup?key=k"
        good = requests.post(url, json={"idToken": token}, timeout=30)
        self.assertEqual(good.status_code, 200, good.text)
        bad = requests.post(url, json={"idToken": ".".join([head, body, signature[:-6] + "AAAAAA"])},
                            timeout=30)
        self.assertEqual(bad.json()["error"]["message"], "INVALID_ID_TOKEN")
        self.serving.settings("firebase", verifiesIDTokens=False)

    def test_session_cookie_has_other_keys(self):
        me = self.sign_up()
        path = f"/identitytoolkit.googleapis.com/v1/projects/{PROJECT}:createSessionCookie"
        cookie = requests.post(self.base + path, json={"idToken": me["idToken"]}, timeout=30,
                               headers={"Authorization": "Bearer owner"}).json()["sessionCookie"]
        keys = requests.get(
            self.base + "/www.googleapis.com/identitytoolkit/v3/relyingparty/publicKeys").json()
        kid = jwt.get_unverified_header(cookie)["kid"]
        self.assertNotIn(kid, self.certificates())
        key = x509.load_pem_x509_certificate(keys[kid].encode()).public_key()
        body = jwt.decode(cookie, key, algorithms=["RS256"], audience=PROJECT)
        self.assertEqual(body["iss"], "https://session.firebase.google.com/" + PROJECT)


if __name__ == "__main__":
    unittest.main()
