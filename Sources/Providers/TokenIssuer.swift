package import Values

/// A provider that issues ID tokens, with which the users of an app authenticate to the backend.
///
/// The fake's users and signing keys are part of the state of all fakes, which each requirement
/// reads or changes.
package protocol TokenIssuer: BackendService {
    /// The environment variables for the address of the keys that verify the service's tokens.
    static var keyURLVariables: [String] { get }

    /// Makes the fake sign its tokens as the real service does.
    static func signTokens(_ services: inout Services)

    /// Sets the project of apps that send only an API key.
    static func setProject(_ project: String, _ services: inout Services)

    /// Makes the fake sign with a new key from now on; the previous key stays published.
    static func rotateKeys(_ services: inout Services, at now: Instant)

    /// Creates an account with this user ID, unless the project already has one.
    static func addUser(
        _ id: String,
        project: String,
        _ services: inout Services,
        at now: Instant
    )

    /// Changes the account with this user ID, for example disables it.
    static func change(
        _ id: String,
        _ change: AccountChange,
        project: String,
        _ services: inout Services,
        at now: Instant
    )

    /// Returns a factory for tokens with the current keys of the fake, and without an unpublished
    /// key.
    static func tokenForge(
        project: String,
        _ services: inout Services,
        at now: Instant
    ) -> TokenForge

    /// Returns the ID token that the service issued in an exchange, and the ID of its user; nil
    /// when it issued none.
    static func issuedToken(in exchange: Exchange) -> (token: String, userID: String)?
}
