import Contracts
import Providers
import Testing

@testable import Replay

/// The doubt about backends that cannot learn that a session was revoked.
@Suite("Check of revocation")
struct RevocationCheckTests {
    private static let cases:
        [(environment: [String: String], features: [Feature], isDoubted: Bool)] =
            [
                ([:], [], true),
                (["FIREBASE_API_KEY": "x"], [], false),
                (["FIREBASE_WEB_API_KEY": "x"], [], false),
                // The key of another service shows nothing about sessions.
                (["ONESIGNAL_API_KEY": "x"], [], true),
                (["FIREBASE_AUTH_EMULATOR_HOST": "x"], [], false),
                ([:], [.signedTokens], false),
                ([:], [.revocation], false),
            ]

    @Test("a backend without a way to ask the token issuer is doubted", arguments: cases)
    func doubt(environment: [String: String], features: [Feature], isDoubted: Bool) {
        var profile = Profile()
        profile.start = Profile.StartSettings(command: "x")
        profile.start?.environment = environment
        profile.unsupportedFeatures = Set(features)
        #expect(RevocationCheck(profile: profile).doubt == nil, "no route asks for a session")
        profile.endpoints["protected"] = Profile.Endpoint(method: "GET", path: "/me")
        #expect((RevocationCheck(profile: profile).doubt != nil) == isDoubted)
    }
}
