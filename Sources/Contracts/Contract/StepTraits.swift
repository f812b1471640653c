package import Providers

/// The properties of a step that the planner and the runner use.
///
/// The source file of each kind of step defines the traits of that kind.
package struct StepTraits: Sendable {
    /// The kind of step, which the target (a backend or an app) must support; nil for phone steps.
    ///
    /// For a phone step, several required capabilities describe what the target must support.
    package var kind: RequiredCapability.BackendStep?
    /// The names of the users in the step, in order of appearance.
    package var users: [String] = []
    /// The features that a backend must have to execute the step.
    package var needs: [Feature] = []
    /// The form of the step in a fault-free baseline run; nil: the baseline run omits the step.
    package var faultFreeForm: Step?
    /// Whether the step registers, names or creates a user or an account.
    package var createsUserOrAccount = false
    /// Whether the step itself defines the expected response, so that `expect` may be empty.
    package var definesExpectedResponse = false
    /// Whether the backend's process ends during the step.
    package var endsBackendProcess = false
    /// Whether the step affects something that all concurrent runs share, such as the database or a
    /// provider's fake.
    package var affectsConcurrentRuns = false
    /// Whether the end of the run depends on the backend's own timers because of this step, for
    /// example because a fault makes the backend retry.
    package var endDependsOnBackendTimers = false

    package init(_ kind: RequiredCapability.BackendStep?) {
        self.kind = kind
    }
}

extension RequiredCapability {
    /// The kinds of steps that involve no simulated phone.
    package enum BackendStep: String, Hashable, Sendable, CaseIterable {
        case register, name, createAccount = "account", deliver, call, request, probe,
            provider
        case storeEvent = "store-event", waitForEnd = "wait-for-end"
        case restart, rotateKeys = "rotate-keys", killAtCall = "crash-points", accountChange

        /// Whether every target supports this kind of step.
        ///
        /// This is true only for `name`, which just sets a user's ID.
        package var isSupportedByAllTargets: Bool { self == .name }
    }
}

extension Step {
    package var traits: StepTraits {
        switch self {
        case .register(let user): .registrationTraits(of: user)
        case .name(let user, let id): .idAssignmentTraits(of: user, id)
        case .createAccount(let account): .accountCreationTraits(of: account)
        case .account(let user, let change): .change(of: user, change)
        case .deliver(let delivery): delivery.traits
        case .probe(let user): .probe(of: user)
        case .waitForEnd(let delivery): .waitForEnd(delivery)
        case .call(let calls): Call.traits(of: calls)
        case .request(let request): request.traits
        case .provider(let plan): plan.traits
        case .rotateKeys: .keyRotation
        case .restart(let restart): restart.traits
        case .killAtCall: .killAtCall
        case .phone(let step): step.traits
        }
    }
}
