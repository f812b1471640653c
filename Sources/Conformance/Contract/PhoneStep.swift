/// One thing that happens on a phone, or to what an app on it talks to.
///
/// Source: Despia fact sheet, section 7; identity rules, part A.
package enum PhoneStep: Hashable, Codable, Sendable {
    /// A person uses the app.
    case app(AppAction)
    /// The phone is found, or becomes, like this.
    case phone(PhoneChange)
    /// How the native side of the bridge behaves from now on.
    case bridge(BridgePlan)
    /// How the app's own backend answers from now on.
    case backend(AppBackendPlan)
    /// The store does something with what a user has bought.
    case store(StoreAct)

    package var traits: StepTraits {
        var traits = StepTraits(nil)
        traits.users = users
        traits.needs = [.accountApp, .register]
        if case .app(let action) = self { traits.needs += action.needs }
        traits.calm = .phone(self)
        return traits
    }

    /// The users whose ids it names.
    package var users: [String] {
        switch self {
        case .bridge: []
        case .app(let action): action.users
        case .store(let act): [act.user]
        case .phone(let change): change.users
        case .backend(let plan): plan.users
        }
    }
}
