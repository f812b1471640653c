package import Values

/// A user action in the app under test, as in the flows A1 to A9 of the identity rules.
package struct AppAction: Hashable, Codable, Sendable {
    package enum Name: String, Hashable, Codable, Sendable, CaseIterable {
        /// Opens the app; an open page is closed first.
        case launch
        /// Opens the app in two pages of the same phone at once.
        case launchTwice = "launch-twice"
        /// Reloads the page immediately.
        case reload
        /// The phone's operating system kills the app.
        case kill
        case upgrade
        /// Taps the upgrade button twice within 0.1 s.
        case upgradeTwice = "upgrade-twice"
        /// Taps the upgrade button and completes the purchase sheet that opens.
        case purchase
        case restore
        case login
        case logout
        /// Asks the app to show the subscription status.
        case status
        /// The native runtime calls the page's purchase callback, regardless of what happened in
        /// the store.
        case callback
        /// The user does nothing for some time, while the app continues to run.
        case wait
        /// Signs up with email and password. This action and the next four exist only in an app
        /// with accounts (section A of the clause catalogue).
        case signUp = "sign-up-with-email"
        case signIn = "sign-in-with-email"
        case google = "sign-in-with-google"
        case forgotPassword = "forgot-password"
        case deleteAccount = "delete-account"
        /// The app requests a new Firebase ID token, and the user's current state from its backend.
        case refresh

        /// Whether only an app with user accounts supports the action.
        package var needsAccounts: Bool {
            [.signUp, .signIn, .google, .forgotPassword, .deleteAccount].contains(self)
        }
    }

    /// The kind of app that a simulated phone runs against a backend.
    package enum App: String, Hashable, Codable, Sendable, CaseIterable {
        /// An app with Firebase sign-in and purchases through RevenueCat's SDK.
        case accounts
        /// A web app in Despia's native runtime.
        case despia
    }

    package var name: Name
    package var phone = "phone"
    /// The name of the account with which the user signs up or signs in; nil: none.
    package var account: String?
    /// The contract's name for the anonymous customer that a launch or a logout creates.
    package var anonymousUser: String?
    /// The kind of app that the action `launch` starts.
    package var app = App.accounts
    /// Whether the user enters a wrong password.
    package var hasWrongPassword = false
    package var product: String?
    /// Whether the user confirms when the app asks whether to continue.
    package var confirmsPrompts = false
    /// Whether the next step starts without waiting for this action to finish.
    package var isNextStepImmediate = false
    /// The argument that the runtime passes to the purchase callback; nil: none.
    package var callbackArgument: JSONValue?
    /// The duration of the action `wait`; nil for all other actions.
    package var time: Duration?
    /// The event at which the page is killed during the action; nil: the page is not killed.
    package var killPoint: KillPoint?

    package enum KillPoint: String, Hashable, Codable, Sendable, CaseIterable {
        /// The page is killed when a registration request has reached the backend.
        case registered
        /// The page is killed when the login response has arrived; the app's first action after the
        /// response is lost.
        case loggedIn = "logged-in"
        /// The page is killed when it has sent the first command that writes the app user ID.
        case idWritten = "id-written"
    }

    package init(_ name: Name) {
        self.name = name
    }
}
