import Foundation
import Testing

@testable import ReferenceBackend

@Suite("Webhook authentication")
struct AuthenticityTests {
    private static let body = Data(#"{"event": {}}"#.utf8)
    private static let key = "whsec_test"

    /// A signature over a body at a time, as the sender makes it.
    private func signed(
        _ body: Data = Self.body,
        key: String = Self.key,
        age: Int64 = 0
    ) -> String {
        let time = WallClock.now() / 1000 - age
        let hmac = Authenticity.hmac(of: Data("\(time).".utf8) + body, key: key)
        return "t=\(time),v1=\(hmac)"
    }

    /// Published vector: RFC 4231, test case 2.
    @Test func `the code is HMAC-SHA256 in hexadecimal`() {
        let hmac = Authenticity.hmac(
            of: Data("what do ya want for nothing?".utf8),
            key: "Jefe"
        )
        #expect(hmac == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    }

    @Test func `a fresh signature over these bytes is taken`() {
        let isSigned = Authenticity.isSigned(
            signed(),
            body: Self.body,
            key: Self.key,
            ageMaxInSeconds: 300
        )
        #expect(isSigned)
    }

    @Test func `the order of the parts, and parts that are not known, do not matter`() {
        let parts = signed().split(separator: ",")
        let header = "v0=abc,\(parts[1]),\(parts[0]),x"
        #expect(
            Authenticity.isSigned(header, body: Self.body, key: Self.key, ageMaxInSeconds: 300)
        )
    }

    @Test func `another key, another body, or one byte more is refused`() {
        let other = signed(key: Self.key + "x")
        #expect(!Authenticity.isSigned(other, body: Self.body, key: Self.key, ageMaxInSeconds: 300))
        let longer = Self.body + Data([0x20])
        #expect(!Authenticity.isSigned(signed(), body: longer, key: Self.key, ageMaxInSeconds: 300))
        #expect(!Authenticity.isSigned(signed(), body: Data(), key: Self.key, ageMaxInSeconds: 300))
    }

    @Test("too old and too far ahead are refused alike", arguments: [-1000, 1000, 100_000])
    func ages(age: Int64) {
        let header = signed(age: age)
        #expect(
            !Authenticity.isSigned(header, body: Self.body, key: Self.key, ageMaxInSeconds: 300)
        )
        #expect(
            Authenticity.isSigned(header, body: Self.body, key: Self.key, ageMaxInSeconds: .max)
        )
    }

    @Test func `a time that was changed does not make an old signature young`() {
        let hmac = signed(age: 5000).split(separator: ",").last ?? ""
        let header = "t=\(WallClock.now() / 1000),\(hmac)"
        #expect(
            !Authenticity.isSigned(header, body: Self.body, key: Self.key, ageMaxInSeconds: 300)
        )
    }

    @Test(
        "a malformed signature is refused",
        arguments: [
            nil, "", "t=,v1=", "t=1", "v1=abc", "t=x,v1=abc", "abc", ",,,", "=,=",
            // So far away that the distance is no number.
            "t=-9223372036854775808,v1=abc", "t=9223372036854775807,v1=abc",
            "t=-9223372036854775807,v1=abc", "t=99999999999999999999,v1=abc",
        ]
    )
    func malformed(header: String?) {
        #expect(
            !Authenticity.isSigned(header, body: Self.body, key: Self.key, ageMaxInSeconds: .max)
        )
    }

    @Test(
        "the whole Authorization value decides",
        arguments: [
            ("Bearer abc", true), ("Bearer abd", false), ("bearer abc", false),
            ("Bearer abc ", false), ("Bearer ab", false), ("Bearer abcd", false), ("abc", false),
            ("", false), (nil, false),
        ] as [(String?, Bool)]
    )
    func authorization(value: String?, isTaken: Bool) {
        #expect(Authenticity.isAuthorized(value, by: "Bearer abc") == isTaken)
    }

    @Test(
        "each is demanded where it is configured",
        arguments: [
            (nil, nil, nil, false, false), (nil, nil, "x", true, false),
            ("", "", "", true, false), ("", nil, "", false, false), ("", "k", "", true, true),
            ("a", nil, "a", false, true), ("a", nil, "b", true, false),
            (nil, "k", nil, true, true), (nil, "k", "a", false, false),
            ("a", "k", "a", true, true), ("a", "k", "a", false, false),
            ("a", "k", "b", true, false), ("a", "k", nil, true, false),
        ] as [(String?, String?, String?, Bool, Bool)]
    )
    func demands(
        authorization: String?,
        key: String?,
        sent: String?,
        isSigned: Bool,
        isTaken: Bool
    ) {
        let authenticity = Authenticity(
            authorization: authorization,
            signingKey: key,
            policy: Authenticity.Policy()
        )
        let accepts = authenticity.accepts(
            authorization: sent,
            signature: isSigned ? signed(key: key ?? "") : nil,
            body: Self.body
        )
        #expect(accepts == isTaken)
    }

    @Test(
        "texts are compared byte for byte",
        arguments: [
            ("", "", true), ("a", "a", true), ("a", "b", false), ("a", "aa", false),
            ("", "a", false), ("é", "e\u{301}", false), ("ä", "ä", true),
        ]
    )
    func equality(left: String, right: String, isEqual: Bool) {
        #expect(Authenticity.isEqual(left, right) == isEqual)
        #expect(Authenticity.isEqual(right, left) == isEqual)
    }

    // MARK: Purchasely

    private func purchasely(_ fields: [String: String]) -> PurchaselyWebhookRoute.Signature {
        PurchaselyWebhookRoute.Signature { fields[$0] }
    }

    @Test func `Purchasely signs its time and the bytes, without anything between`() {
        let time = "\(WallClock.now() / 1000)"
        let hmac = Authenticity.hmac(of: Data(time.utf8) + Self.body, key: "secret")
        func isSigned(_ fields: [String: String], _ body: Data = Self.body) -> Bool {
            PurchaselyWebhookRoute.isSigned(
                purchasely(fields),
                body: body,
                secret: "secret",
                ageMaxInSeconds: 900
            )
        }
        let good = ["X-PURCHASELY-TIMESTAMP": time, "X-PURCHASELY-REQUEST-SIGNATURE": hmac]
        #expect(isSigned(good))
        #expect(!isSigned(good, Self.body + Data([0x20])))
        #expect(!isSigned(["X-PURCHASELY-REQUEST-SIGNATURE": hmac]))
        #expect(!isSigned(["X-PURCHASELY-TIMESTAMP": time]))
        #expect(!isSigned(["X-PURCHASELY-TIMESTAMP": time, "X-PURCHASELY-SIGNATURE": hmac]))
        let dotted = Authenticity.hmac(of: Data("\(time).".utf8) + Self.body, key: "secret")
        #expect(!isSigned(good.merging(["X-PURCHASELY-REQUEST-SIGNATURE": dotted]) { $1 }))
        let old = "\(WallClock.now() / 1000 - 5000)"
        let oldCode = Authenticity.hmac(of: Data(old.utf8) + Self.body, key: "secret")
        #expect(
            !isSigned(["X-PURCHASELY-TIMESTAMP": old, "X-PURCHASELY-REQUEST-SIGNATURE": oldCode])
        )
    }
}
