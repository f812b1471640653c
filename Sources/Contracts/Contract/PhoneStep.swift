package import Providers

/// One step of a case that happens on a simulated phone, or in a system that the phone's app uses.
///
/// Source: section 7 of the Despia fact sheet, and part A of the identity rules.
package enum PhoneStep: Hashable, Codable, Sendable {
    /// The user performs an action in the app, such as a login.
    case app(AppAction)
    /// The phone gets a certain state, or its owner does something, such as a reinstallation of the
    /// app.
    case phone(PhoneChange)
    /// The native side of the bridge behaves as planned from now on when it replies to the web
    /// app's commands.
    case bridge(BridgePlan)
    /// The app's own backend gives these responses to the app's next calls.
    case backend(AppBackendPlan)
    /// The store changes a user's purchase without the app, for example renews or refunds it.
    case store(FakeStoreAction)

    package var traits: StepTraits {
        var traits = StepTraits(nil)
        traits.users = users
        traits.needs = [.accountApp, .register]
        if case .app(let action) = self { traits.needs += action.needs }
        traits.faultFreeForm = .phone(self)
        return traits
    }

    /// The names of the users whose IDs the step uses.
    package var users: [String] {
        switch self {
        case .bridge: []
        case .app(let action): action.users
        case .store(let storeAction): [storeAction.user]
        case .phone(let change): change.users
        case .backend(let plan): plan.users
        }
    }
}
