import Grammar
import Providers
import Testing
import Values

/// Second factors of the fake Firebase: what no call over REST shows.
@Suite("Second factors")
struct SecondFactorTests {
    /// The published values (RFC 6238, appendix B), whose last six digits count here.
    @Test(
        "codes of an app are those of the standard",
        arguments: [
            (59, "287082"), (1_111_111_109, "081804"), (1_111_111_111, "050471"),
            (1_234_567_890, "005924"), (2_000_000_000, "279037"), (20_000_000_000, "353130"),
        ]
    )
    func vectors(seconds: Int64, code: String) {
        // "12345678901234567890" in Base32.
        let secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
        let time = Instant(milliseconds: seconds * 1000)
        #expect(SecondFactor.code(of: secret, at: time) == code)
        let earlier = Instant(milliseconds: (seconds - 30) * 1000)
        #expect(SecondFactor.code(of: secret, at: earlier, shifted: 1) == code)
    }

    @Test func `an account with its factors and a tenant are saved and read again`() throws {
        var talk = ProviderClient(FirebaseState(seed: 3))
        let admin = [HTTPMessage.Field("authorization", "Bearer owner")]
        let project = "/v1/projects/demo-project"
        let factor: JSONValue = ["phoneInfo": "+15550100", "displayName": "Work"]
        let made = talk.say(
            "POST",
            project + "/accounts",
            ["email": "a@b.c", "password": "secret1", "mfaInfo": [factor]],
            admin
        )
        #expect(made.status == 200)
        talk.say("POST", "/v2/projects/demo-project/tenants", ["displayName": "blue"], admin)
        let saved = try JSONValue(encoding: talk.state)
        talk.state = try saved.decoded(as: FirebaseState.self)
        let signed = talk.say(
            "POST",
            "/v1/accounts:signInWithPassword?key=k",
            ["email": "a@b.c", "password": "secret1"]
        )
        #expect(signed["/idToken"] == nil)
        #expect(signed["/mfaInfo/0/displayName"] == "Work")
        let tenants = talk.say("GET", "/v2/projects/demo-project/tenants", nil, admin)
        #expect(tenants["/tenants/0/displayName"] == "blue")
    }
}
