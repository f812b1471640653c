package import Values

/// The executors of a case: the components that run its backend, its apps and its store purchases.
package struct Executors: Hashable, Sendable {
    /// An element of a contract that no executor of the case supports.
    package struct UnsupportedElement: Hashable, Sendable {
        /// The location of the unsupported step or expectation; for a contract that was not read
        /// from a file, the location of the contract.
        package let location: SourceLocation
        /// A sentence with the unsupported element and the executor that does not support it.
        package let problem: String
        /// The change to make in the contract, as a sentence.
        package let remedy: String

        /// The location, the problem and the remedy in one string, as reports show them.
        package var note: String { "\(location): \(problem). \(remedy)" }
    }

    /// The name of the command that uses these executors, such as `assay verify`, for messages.
    package let name: String
    /// The executor of the backend; nil when the case judges an app without a backend.
    package let backend: Executor?
    /// The executor of each kind of app that the step `app: launch` can name.
    package let apps: [AppAction.App: Executor]
    package let store: Executor?

    private init(
        _ name: String,
        backend: Executor? = nil,
        apps: [AppAction.App: Executor],
        store: Executor? = nil
    ) {
        self.name = name
        self.backend = backend
        self.apps = apps
        self.store = store
    }

    /// The executors for judging a backend, with apps as its clients.
    package static let backendAndApps = Executors(
        "assay verify",
        backend: .backend,
        apps: [.accounts: .accountApp, .despia: .liveApp],
        store: .store
    )

    /// The executors for judging the built-in app in virtual time.
    package static let scripted = Executors("assay app --scripted", apps: [.despia: .scriptedApp])

    /// Returns the executors for judging a web app in a browser.
    package static func page(hasOwnBackend: Bool) -> Executors {
        Executors("assay app", apps: [.despia: .page(hasOwnBackend: hasOwnBackend)])
    }

    /// Returns every set of executors that may run the contract.
    package static func executorSets(for contract: Contract) -> [Executors] {
        contract.isDeviceScenario
            ? [.scripted, .page(hasOwnBackend: false), .page(hasOwnBackend: true)]
            : [.backendAndApps]
    }

    /// Returns the elements of a contract that prevent every set of executors from running it;
    /// empty when one set supports all elements.
    ///
    /// When no set supports all elements, the result is for the set with the fewest unsupported
    /// elements.
    package static func unsupportedElements(ofAny contract: Contract) -> [UnsupportedElement] {
        let unsupportedElements = executorSets(for: contract).map {
            $0.unsupportedElements(of: contract)
        }
        return unsupportedElements.min { $0.count < $1.count } ?? []
    }

    /// Returns the elements of a contract that these executors do not support, in file order.
    package func unsupportedElements(of contract: Contract) -> [UnsupportedElement] {
        var supportCheck = ContractSupportCheck(executorSet: self, contract: contract)
        let steps = contract.given + contract.steps
        for (index, step) in steps.enumerated() {
            supportCheck.checkSupport(
                step,
                at: contract.sourceLocations[index] ?? contract.location
            )
        }
        supportCheck.checkExpectations()
        return supportCheck.unsupportedElements
    }
}

/// Checks whether a set of executors supports a contract; the launch steps determine the app on
/// each phone.
private struct ContractSupportCheck {
    let executorSet: Executors
    let contract: Contract
    /// All kinds of apps that each phone runs during the case, by phone name.
    let appsByPhone: [String: Set<AppAction.App>]
    /// The app that each phone runs at the current step, by phone name.
    var runningApps: [String: AppAction.App] = [:]
    var unsupportedElements: [Executors.UnsupportedElement] = []

    init(executorSet: Executors, contract: Contract) {
        self.executorSet = executorSet
        self.contract = contract
        var apps: [String: Set<AppAction.App>] = [:]
        for case .app(let action) in contract.phoneSteps where action.name.isLaunch {
            apps[action.phone, default: []].insert(Self.app(action, executorSet))
        }
        appsByPhone = apps
    }

    /// Returns the app that a launch opens; when there is a single kind of app, the launch need not
    /// name it.
    private static func app(_ action: AppAction, _ executorSet: Executors) -> AppAction.App {
        executorSet.apps[action.app] == nil ? executorSet.apps.keys.first ?? action.app : action.app
    }

    mutating func checkSupport(_ step: Step, at location: SourceLocation) {
        if let kind = step.traits.kind {
            let isForApps = executorSet.apps.values.contains { $0.supports(.step(kind)) }
            if !(kind.isSupportedByAllTargets && isForApps) {
                requireSupport(executorSet.backend, .step(kind), at: location)
            }
        }
        guard case .phone(let step) = step else { return }
        switch step {
        case .app(let action): checkSupport(action, at: location)
        case .phone(let change):
            requireSupport(change.requiredCapabilities, of: change.phone, at: location)
        case .bridge: requireDespiaSupport([.bridge], at: location)
        case .backend(let plan): requireDespiaSupport(plan.requiredCapabilities, at: location)
        case .store: requireSupport(executorSet.store, .storeAction, at: location)
        }
    }

    private mutating func checkSupport(_ action: AppAction, at location: SourceLocation) {
        for case .modifier(let modifier, let act) in action.requiredCapabilities
        where !modifier.modifies(act) {
            addUnsupportedElement(
                "'\(modifier.rawValue)' has no meaning for 'app: \(act.rawValue)'",
                "Remove '\(modifier.rawValue)'.",
                at: location
            )
        }
        if action.name.isLaunch { runningApps[action.phone] = Self.app(action, executorSet) }
        guard let app = runningApps[action.phone], let executor = executorSet.apps[app] else {
            return addUnsupportedElement(
                "no app is running on \(action.phone) at 'app: \(action.name.rawValue)'",
                "Add 'app: launch' for \(action.phone) before this step.",
                at: location
            )
        }
        for capability in action.requiredCapabilities {
            if case .modifier(let modifier, let act) = capability, !modifier.modifies(act) {
                continue
            }
            requireSupport(executor, capability, at: location)
        }
    }

    /// Checks the required capabilities for a step on a phone against the apps that run on the
    /// phone.
    private mutating func requireSupport(
        _ requiredCapabilities: [RequiredCapability],
        of phone: String,
        at location: SourceLocation
    ) {
        for capability in requiredCapabilities {
            let apps = appsByPhone[phone] ?? []
            // A phone that never runs an app still has an owner, whose actions some app must
            // support.
            let appsToCheck = apps.isEmpty ? Set(executorSet.apps.keys) : apps
            let supportingApps = appsToCheck.filter {
                executorSet.apps[$0]?.supports(capability) ?? false
            }
            guard
                supportingApps.isEmpty
                    || capability.isRequiredOfEveryApp && supportingApps != appsToCheck
            else { continue }
            let unsupportingApps = appsToCheck.subtracting(supportingApps).sorted {
                $0.rawValue < $1.rawValue
            }
            requireSupport(
                unsupportingApps.first.flatMap { executorSet.apps[$0] },
                capability,
                at: location
            )
        }
    }

    /// Checks required capabilities of a phone's native side, which need an app that uses the
    /// bridge.
    private mutating func requireDespiaSupport(
        _ requiredCapabilities: [RequiredCapability],
        at location: SourceLocation
    ) {
        let apps = appsByPhone.values.reduce(into: Set<AppAction.App>()) { $0.formUnion($1) }
        let executors = apps.compactMap { executorSet.apps[$0] }
        let nativeExecutor = executors.first { $0.runsOnDespia }
        for capability in requiredCapabilities {
            requireSupport(nativeExecutor ?? executors.first, capability, at: location)
        }
    }

    mutating func checkExpectations() {
        for capability in contract.backendCapabilities {
            requireSupport(executorSet.backend, .backend(capability), at: contract.location)
        }
        for (capability, location) in contract.expectation.app?.requiredCapabilities ?? [] {
            requireDespiaSupport([capability], at: location)
        }
    }

    private mutating func requireSupport(
        _ executor: Executor?,
        _ capability: RequiredCapability,
        at location: SourceLocation
    ) {
        if executor?.supports(capability) == true { return }
        let executorName = executor?.description ?? "'\(executorSet.name)'"
        let problem =
            executor == nil
            ? "\(executorName) does not run \(capability)"
            : "\(executorName) does not support \(capability)"
        addUnsupportedElement(problem, remedy(capability, executor), at: location)
    }

    /// Returns the change of the contract that removes the problem: another kind of app, another
    /// kind of backend, or no use of the capability.
    private func remedy(_ capability: RequiredCapability, _ executor: Executor?) -> String {
        if executor == .accountApp, executorSet.apps[.despia]?.supports(capability) == true {
            return "Add 'runs: despia' to the launch, or remove \(capability)."
        }
        if executor == .liveApp, executorSet.apps[.accounts]?.supports(capability) == true {
            return "Remove 'runs: despia' from the launch, or remove \(capability)."
        }
        if executor == .page(hasOwnBackend: true), capability == .userAction(.purchase) {
            return "Remove 'backend: own': the built-in backend model learns about purchases."
        }
        if executor == nil, case .bridge = capability {
            return "Launch an app that runs on Despia."
        }
        if Executor.scriptedApp.supports(capability) {
            return "Only a contract without a backend supports \(capability): remove it, or the "
                + "steps of the backend."
        }
        if Executor.backend.supports(capability) || Executor.store.supports(capability) {
            return "Only a contract for a backend supports \(capability): remove it."
        }
        return "Remove \(capability)."
    }

    private mutating func addUnsupportedElement(
        _ problem: String,
        _ remedy: String,
        at location: SourceLocation
    ) {
        let unsupportedElement = Executors.UnsupportedElement(
            location: location,
            problem: problem,
            remedy: remedy
        )
        if !unsupportedElements.contains(unsupportedElement) {
            unsupportedElements.append(unsupportedElement)
        }
    }
}

extension RequiredCapability {
    /// Whether every app on a phone has to support the capability.
    ///
    /// With an app that ignores such a capability, the run would be another case than the contract
    /// describes.
    fileprivate var isRequiredOfEveryApp: Bool {
        switch self {
        case .kind, .property: true
        case .step, .userAction, .modifier, .change, .bridge, .backendResponse,
            .unreportedPurchases,
            .storeAction, .app,
            .appInvariant, .backend:
            false
        }
    }
}

extension AppAction.Name {
    /// Whether the action launches the app on a phone.
    package var isLaunch: Bool { self == .launch || self == .launchTwice }
}

extension Contract {
    /// Whether the contract is a device scenario: it judges an app on a phone and not a backend.
    ///
    /// Such a contract has expectations of the app, and no steps or expectations of a backend or a
    /// store.
    package var isDeviceScenario: Bool {
        guard expectation.app != nil, backendCapabilities.isEmpty else { return false }
        return (given + steps).allSatisfy { step in
            guard case .phone(let step) = step else {
                return step.traits.kind?.isSupportedByAllTargets ?? false
            }
            return switch step {
            case .store: false
            case .app(let action): !action.name.needsAccounts
            case .phone, .bridge, .backend: true
            }
        }
    }
}
