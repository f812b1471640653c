/// What a person does with the app, in the words of the flows A1 to A9.
package struct AppAction: Hashable, Codable, Sendable {
    package enum Name: String, Hashable, Codable, Sendable, CaseIterable {
        /// Opens the app; a page that is open is closed first.
        case launch
        /// Opens it in two pages of the same phone at once.
        case launchTwice = "launch-twice"
        /// Loads the page anew, at once.
        case reload
        /// The system ends the app.
        case kill
        case upgrade
        /// Taps twice within a tenth of a second.
        case upgradeTwice = "upgrade-twice"
        /// Taps and completes the sheet that opens.
        case purchase
        case restore
        case login
        case logout
        /// Asks the app to show what it knows of the subscription.
        case status
        /// The runtime calls the purchase callback, whatever the store did.
        case callback
        /// Nothing is done; the app goes on by itself.
        case wait
        /// The acts of an app with accounts (clause catalogue, section A).
        case signUp = "sign-up-with-email"
        case signIn = "sign-in-with-email"
        case google = "sign-in-with-google"
        case forgotPassword = "forgot-password"
        case deleteAccount = "delete-account"
        /// The app asks for a new token, and its backend for what it knows.
        case refresh

        /// Whether only an app with accounts knows it.
        package var needsAccounts: Bool {
            [.signUp, .signIn, .google, .forgotPassword, .deleteAccount].contains(self)
        }
    }

    /// Which app a phone runs when it stands before a backend.
    package enum App: String, Hashable, Codable, Sendable, CaseIterable {
        /// Firebase signs people in, and RevenueCat's own SDK sells.
        case accounts
        /// A web app on the Despia runtime.
        case despia
    }

    package var name: Name
    package var phone = "phone"
    /// Who signs in.
    package var account: String?
    /// What the contract calls the anonymous customer that a launch or a logout makes.
    package var anonymous: String?
    /// Which app a launch starts.
    package var app = App.accounts
    /// Another password than the account's.
    package var hasWrongPassword = false
    package var product: String?
    /// The person agrees when the app asks whether to go on.
    package var agrees = false
    /// The next step does not wait until this one is over.
    package var isAtOnce = false
    /// What the callback carries; nil: no argument.
    package var argument: JSONValue?
    /// How long, for `wait`.
    package var time: Duration?
    /// The page dies as soon as this has happened.
    package var killedAt: KillPoint?

    package enum KillPoint: String, Hashable, Codable, Sendable, CaseIterable {
        /// A registration reached the backend.
        case registered
        /// The login was answered and the app does the first thing that follows from it, which is
        /// lost.
        case loggedIn = "logged-in"
        /// The first command that writes the app user id was dispatched.
        case idWritten = "id-written"
    }

    package init(_ name: Name) {
        self.name = name
    }
}
