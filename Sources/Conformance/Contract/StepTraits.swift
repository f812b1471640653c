/// What one step is to plans, twins and casts, whatever its kind: the file of each kind says it.
package struct StepTraits: Sendable {
    /// What casts call it; nil for what happens on phones, which is taken apart into demands.
    package var kind: Demand.BackendStep?
    /// The users that it names, in order of appearance.
    package var users: [String] = []
    /// What a backend must have for it.
    package var needs: [Feature] = []
    /// Its form in a twin, where nothing fails, is lost, restarts or waits; nil: a twin goes without.
    package var calm: Step?
    /// Somebody is there because of it.
    package var makesSomebody = false
    /// It says itself what must come back.
    package var hasOwnAnswer = false
    /// The backend's process ends in it.
    package var restarts = false
    /// It touches what other runs share: the provider that every run goes to.
    package var isShared = false
    /// Something fails by it, so that the backend's own timers decide when the run is over.
    package var isDisturbance = false

    package init(_ kind: Demand.BackendStep?) {
        self.kind = kind
    }
}

extension Demand {
    /// The kinds of steps that no phone takes part in.
    package enum BackendStep: String, Hashable, Sendable, CaseIterable {
        case register, name, createAccount = "account", deliver, told, look, pass, call, request,
            provider
        case restart, rotateKeys = "rotate-keys", killAtCall = "crash-points", accountChange

        /// A name stands for an id from then on, whoever plays.
        package var isForEverybody: Bool { self == .name }
    }
}

extension Step {
    package var traits: StepTraits {
        switch self {
        case .register(let user): .registration(of: user)
        case .name(let user, let id): .naming(of: user, id)
        case .createAccount(let account): .creation(of: account)
        case .account(let user, let change): .change(of: user, change)
        case .deliver(let delivery): delivery.traits
        case .look(let user): .look(at: user)
        case .pass(let delivery): .passing(delivery)
        case .call(let calls): Call.traits(of: calls)
        case .request(let request): request.traits
        case .provider(let plan): plan.traits
        case .rotateKeys: .rotation
        case .restart(let restart): restart.traits
        case .killAtCall: .killAtCall
        case .phone(let step): step.traits
        }
    }
}
