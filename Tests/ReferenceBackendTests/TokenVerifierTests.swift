import AsyncHTTPClient
import Foundation
import Testing

@testable import ReferenceBackend

@Suite("Token verification")
struct TokenVerifierTests {
    private static let now = Date().timeIntervalSince1970

    private static func part(_ object: [String: Any]) -> String {
        let data = (try? JSONSerialization.data(withJSONObject: object)) ?? Data()
        return data.base64EncodedString().replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
    }

    private static func claims(_ members: [String: Any] = [:]) -> [String: Any] {
        [
            "aud": "shop", "iss": "https://securetoken.google.com/shop", "sub": "user-1",
            "exp": now + 100_000, "iat": now - 100, "auth_time": now - 100,
            "firebase": ["sign_in_provider": "password"],
        ].merging(members) { $1 }.filter { !($0.value is NSNull) }
    }

    private static func token(
        _ members: [String: Any] = [:],
        header: [String: Any] = ["alg": "none", "typ": "JWT"],
        signature: String = ""
    ) -> String {
        "\(part(header)).\(part(claims(members))).\(signature)"
    }

    private func verify(
        _ text: String,
        keysURL: String? = nil,
        authURL: String? = nil
    ) async -> TokenVerifier.Result {
        let verifier = TokenVerifier(
            project: "shop",
            keysURL: keysURL,
            authURL: authURL,
            client: HTTPClient.shared,
            policy: TokenVerifier.Policy()
        )
        return await verifier.verify(text)
    }

    private func subject(_ text: String) async -> String? {
        guard case .accepted(let subject, _) = await verify(text) else { return nil }
        return subject
    }

    @Test func `a token of this project's user is taken`() async {
        #expect(await subject(Self.token()) == "user-1")
        guard case .accepted(_, let isAnonymous) = await verify(Self.token()) else { return }
        #expect(!isAnonymous)
        let guest = Self.token(["firebase": ["sign_in_provider": "anonymous"]])
        guard case .accepted(_, true) = await verify(guest) else {
            Issue.record("a guest is one")
            return
        }
    }

    @Test(
        "a malformed token is refused",
        arguments: [
            "", ".", "..", "...", "a.b.c", "abc", "e30.e30", "e30.e30.", "e30.e30.e30.e30",
            "W10.e30.", "e30.W10.", "e30.bnVsbA.", "\u{0}.\u{0}.\u{0}", "é.é.é",
        ]
    )
    func malformed(text: String) async {
        guard case .refused = await verify(text) else {
            Issue.record("\(text) is taken")
            return
        }
    }

    @Test(
        "one claim that is not as it has to be is enough",
        arguments: [
            ["aud": "other"], ["aud": NSNull()], ["aud": ["shop"]], ["aud": "shop "],
            ["iss": "https://securetoken.google.com/other"], ["iss": "securetoken.google.com/shop"],
            ["iss": NSNull()], ["sub": ""], ["sub": NSNull()], ["sub": 5],
            ["sub": String(repeating: "s", count: 129)], ["exp": now - 1], ["exp": NSNull()],
            ["exp": "tomorrow"], ["iat": now + 10_000], ["iat": NSNull()],
            ["auth_time": now + 10_000], ["auth_time": NSNull()],
        ] as [[String: any Sendable]]
    )
    func claims(members: [String: any Sendable]) async {
        #expect(await subject(Self.token(members)) == nil, "\(members)")
    }

    @Test(
        "irrelevant claims are ignored",
        arguments: [
            ["email": "other@example.com"], ["email": NSNull()], ["firebase": NSNull()],
            ["user_id": "user-2"], ["iat": now + 30], ["auth_time": now + 30],
            ["sub": String(repeating: "s", count: 128)],
        ] as [[String: any Sendable]]
    )
    func otherClaims(members: [String: any Sendable]) async {
        let expected = members["sub"] as? String ?? "user-1"
        #expect(await subject(Self.token(members)) == expected)
    }

    @Test(
        "expiry is the moment itself",
        arguments: [(99, false), (100, true), (101, true)] as [(Double, Bool)]
    )
    func expiry(now: Double, hasExpired: Bool) {
        let claims = TokenVerifier.Claims(["exp": 100])
        #expect(TokenVerifier.hasExpired(claims, now: now) == hasExpired)
    }

    @Test(
        "clocks tick apart by a minute, and no more",
        arguments: [
            (160, 0, false), (161, 0, true), (0, 160, false), (0, 161, true), (160, 160, false),
        ] as [(Double, Double, Bool)]
    )
    func skew(issued: Double, signedIn: Double, isIssuedInFuture: Bool) {
        let claims = TokenVerifier.Claims(["iat": issued, "auth_time": signedIn])
        #expect(TokenVerifier.isIssuedInFuture(claims, now: 100) == isIssuedInFuture)
    }

    // MARK: Signatures

    @Test(
        "without published keys only what is honestly unsigned is taken",
        arguments: [
            (["alg": "none"], "", true), (["alg": "none"], "abcd", false),
            (["alg": "RS256", "kid": "k"], "", false), (["alg": "HS256"], "abcd", false),
            ([:], "", false), (["alg": "None"], "", false), (["alg": 5], "", false),
        ] as [([String: any Sendable], String, Bool)]
    )
    func unsigned(header: [String: any Sendable], signature: String, isTaken: Bool) async {
        let text = Self.token(header: header, signature: signature)
        #expect((await subject(text) != nil) == isTaken)
    }

    @Test(
        "with published keys no other algorithm is looked at",
        arguments: [
            ["alg": "none"], ["alg": "HS256", "kid": "k"], ["alg": "RS384", "kid": "k"],
            ["alg": "RS256"], ["alg": "rs256", "kid": "k"], [:],
        ] as [[String: any Sendable]]
    )
    func algorithms(header: [String: any Sendable]) async {
        // Nothing listens there: who asked would find the keys unavailable, and that is not refused.
        let text = Self.token(header: header, signature: "abcd")
        guard case .refused = await verify(text, keysURL: "http://127.0.0.1:1/keys") else {
            Issue.record("\(header) was looked at")
            return
        }
    }

    @Test func `keys that cannot be had decide nothing`() async {
        let header: [String: Any] = ["alg": "RS256", "kid": "k"]
        let text = Self.token(header: header, signature: "abcd")
        guard case .unavailable = await verify(text, keysURL: "http://127.0.0.1:1/keys") else {
            Issue.record("nothing can be said without keys")
            return
        }
        let wrong = Self.token(["aud": "other"], header: header, signature: "abcd")
        guard case .refused = await verify(wrong, keysURL: "http://127.0.0.1:1/keys") else {
            Issue.record("a claim that is wrong needs no key")
            return
        }
    }

    @Test func `a session that cannot be asked after decides nothing`() async {
        guard case .unavailable = await verify(Self.token(), authURL: "http://127.0.0.1:1") else {
            Issue.record("it was not asked after")
            return
        }
    }

    @Test(
        "an unknown key ID refetches the keys at a limited rate",
        arguments: [
            (-1, -1000, true), (-1, 0, true), (100, -61, true), (100, -59, false),
            (100, 0, false), (0, 0, true),
        ] as [(Double, Double, Bool)]
    )
    func refetches(validFor: Double, lastRefetch: Double, mayLook: Bool) {
        let now = Date()
        var keys = TokenVerifier.PublishedKeys()
        keys.validUntil = now + validFor
        keys.lastRefetch = now + lastRefetch
        #expect(TokenVerifier.mayRefetchKeys(now, keys) == mayLook)
    }

    @Test func `the signature covers header and claims as they were sent`() {
        let text = Self.token(signature: "YWJj")
        let token = TokenVerifier.Token(text)
        #expect(token?.message == text.split(separator: ".").prefix(2).joined(separator: "."))
        #expect(token?.signature == Data("abc".utf8))
        #expect(token?.algorithm == "none")
    }
}
