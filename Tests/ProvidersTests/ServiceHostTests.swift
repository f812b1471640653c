import Foundation
import Grammar
import Providers
import Testing
import Values

/// Under which names the services are reached, and where that is at their fakes.
@Suite("Hosts of services")
struct ServiceHostTests {
    @Test(
        "a service's own address is one of its fake",
        arguments: [
            ("api.revenuecat.com", "/v1/subscribers/a", "/v1/subscribers/a"),
            ("api.onesignal.com", "/notifications?x=1", "/notifications?x=1"),
            ("OneSignal.com", "/api/v1/notifications", "/api/v1/notifications"),
            (
                "identitytoolkit.googleapis.com", "/v1/accounts:lookup?key=k",
                "/identitytoolkit.googleapis.com/v1/accounts:lookup?key=k"
            ),
            (
                "securetoken.googleapis.com", "/v1/token", "/securetoken.googleapis.com/v1/token"
            ),
            (
                "www.googleapis.com",
                "/robot/v1/metadata/x509/securetoken@system.gserviceaccount.com",
                "/robot/v1/metadata/x509/securetoken@system.gserviceaccount.com"
            ),
            ("www.googleapis.com", "/drive/v3/files", nil),
            ("www.googleapis.com", "/service_accounts/v1/jwk/somebody@else.example", nil),
            ("oauth2.googleapis.com", "/token", "/oauth2.googleapis.com/token"),
            ("oauth2.googleapis.com", "/revoke", nil), ("api.purchasely.io", "/anything", nil),
            ("api.stripe.com", "/v1/charges", nil), ("revenuecat.com", "/", nil),
        ] as [(String, String, String?)]
    )
    func maps(host: String, target: String, expected: String?) {
        #expect(ProviderTable.all.host(host)?.host.target(for: target) == expected)
    }

    private func ask(
        _ method: String,
        _ target: String,
        _ body: String = ""
    ) throws -> HTTPMessage.Response {
        var firebase = FirebaseState(seed: 1, key: nil)
        var request = HTTPMessage.Request(method, target, body: Array(body.utf8))
        request.fields = [
            HTTPMessage.Field("content-type", "application/x-www-form-urlencoded")
        ]
        return firebase.respond(to: request, at: Instant(milliseconds: 1_700_000_000_000)).response
    }

    @Test func `the issuer says where its keys are`() throws {
        let path = "/securetoken.google.com/shop-7/.well-known/openid-configuration"
        let answer = try ask("GET", path)
        let body = try JSONValue(parsing: answer.body)
        #expect(body["issuer"]?.string == "https://securetoken.google.com/shop-7")
        let keys = try #require(body["jwks_uri"]?.string.flatMap(URL.init(string:)))
        let host = try #require(ProviderTable.all.host(keys.host() ?? ""))
        #expect(host.party == .firebase)
        #expect(host.host.target(for: keys.path()) != nil)
    }

    @Test(
        "a service account gets access as at Google",
        arguments: [
            (
                "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=a.b.c",
                200
            ),
            ("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=a.b", 400),
            ("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer", 400),
            ("grant_type=refresh_token&refresh_token=r", 200), ("grant_type=refresh_token", 400),
            ("grant_type=password", 400), ("", 400),
        ]
    )
    func grants(form: String, status: Int) throws {
        let answer = try ask("POST", "/oauth2.googleapis.com/token", form)
        #expect(answer.status == status)
        let body = try JSONValue(parsing: answer.body)
        // Only what the fake itself takes as an administrator's token.
        #expect((body["access_token"]?.string?.hasPrefix("ya29.") == true) == (status == 200))
        #expect((body["error"] == nil) == (status == 200))
    }

    @Test func `a trust store holds what it is given`() throws {
        let authority = try CertificateAuthority(at: Instant(milliseconds: 1_700_000_000_000))
        let found = JavaTrustStore.certificates(inPEM: "x\n\(authority.certificate)\ny")
        #expect(found == [authority.certificateBytes])
        let store = JavaTrustStore.bytes(found)
        #expect(store.starts(with: [0xFE, 0xED, 0xFE, 0xED, 0, 0, 0, 2, 0, 0, 0, 1]))
        #expect(Data(store).range(of: Data(authority.certificateBytes)) != nil)
        // An authority is made for one run.
        let other = try CertificateAuthority(at: Instant(milliseconds: 1_700_000_000_000))
        #expect(other.certificate != authority.certificate)
    }
}
