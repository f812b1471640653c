package import Providers
internal import Values

extension Profile {
    /// The web app that `assay app` tests, and its page elements to tap, fill in and read.
    package struct App: Hashable, Codable, Sendable {
        /// The URL of the page that opens when a test launches the app.
        package var url: String?
        /// The keys under which the app stores its IDs in the vault (the phone's key-value store),
        /// by role.
        package var vaultKeys: [VaultRole: String] = [
            .id: "app_user_id", .lock: "identity_locked",
        ]
        /// The maximum time that the app may take to start when the native side of the bridge does
        /// not respond (clause C-05).
        package var startupTimeout: Duration = .seconds(5)
        /// CSS selectors of the elements to tap one after the other, by user action, such as
        /// `login`.
        package var tapSelectors: [String: [String]] = [:]
        /// CSS selectors of the input fields to fill in before a login, by name: `account` and
        /// `password`.
        package var inputSelectors: [String: String] = [:]
        /// CSS selectors of the page elements that show the app's state, such as an error or the
        /// status.
        package var elementSelectors: [AppExpectation.Screen.Element: String] = [:]
        /// The words on the page that mean an `active` subscription or no subscription (`none`).
        ///
        /// Any other text means that the status is unknown.
        package var statusWords: [String: [String]] = [
            "active": ["active"], "none": ["free", "none", "not subscribed", "no subscription"],
        ]
        /// The product names on the page, by product ID.
        package var productNames: [String: String] = [:]
        /// CSS selector of the element to tap when the app asks whether to continue a login.
        package var agreementSelector: String?
        /// The request by which the app asks its backend whether the user has access.
        ///
        /// The property `body` contains the body of the response, because this request has no body.
        package var access: Endpoint? = Endpoint(
            method: "GET",
            path: "/api/user/access/{{id}}",
            body: ["access": "{{access}}", "product": "{{product}}"]
        )
        /// Whether the profile file contains the key `access`.
        package var isAccessSetInFile = false
        /// Whether the page calls its own backend, instead of Assay's model of a correct backend.
        package var usesOwnBackend = false
        /// Keys in addition to `vaultKeys` that the app may write to the vault.
        package var otherVaultKeys: [String] = []

        package init() {}
    }
}
