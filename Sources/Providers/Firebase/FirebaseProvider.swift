package import Conformance

extension FirebaseState: Provider {
    package static let party = Exchange.Party.firebase
    package static let title = "Firebase Auth"
    package static let defaultPort = 9099
    package static let secrets = ProviderSecrets(
        headers: ["authorization", "x-firebase-appcheck", "x-goog-api-key"],
        members: [
            "idToken", "refreshToken", "refresh_token", "id_token", "access_token", "password",
            "newPassword", "sessionCookie", "oobCode", "oobLink", "email", "newEmail",
            "phoneNumber", "passwordHash", "key", "token", "customToken",
        ]
    )

    /// It demands no key of its own: a caller brings the project's, or a user's token.
    package init(seed: UInt64, key _: Secret?) {
        self.init(seed: seed)
    }

    package func failure(_ status: Int, of _: HTTPMessage.Request) -> HTTPMessage.Response {
        FirebaseError.planned(status).response
    }

    package func failure(code: String) -> HTTPMessage.Response? { FirebaseError.coded(code) }
}
