/// The executors of a case: the components that run its backend, its apps and its store purchases.
package struct Cast: Hashable, Sendable {
    /// An element of a contract that no executor of the case supports.
    package struct Refusal: Hashable, Sendable {
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

    /// The name of the command that uses these executors, for messages: `assay verify`.
    package let name: String
    /// The executor of the backend; nil when the case judges an app without a backend.
    package let backend: Performer?
    /// The executor of each kind of app that the step `app: launch` can name.
    package let apps: [AppAction.App: Performer]
    package let store: Performer?

    private init(
        _ name: String,
        backend: Performer? = nil,
        apps: [AppAction.App: Performer],
        store: Performer? = nil
    ) {
        self.name = name
        self.backend = backend
        self.apps = apps
        self.store = store
    }

    /// The executors for judging a backend, with apps as its clients.
    package static let live = Cast(
        "assay verify",
        backend: .backend,
        apps: [.accounts: .accountApp, .despia: .liveApp],
        store: .store
    )

    /// The executors for judging the built-in app in virtual time.
    package static let scripted = Cast("assay app --scripted", apps: [.despia: .scriptedApp])

    /// Returns the executors for judging a web app in a browser.
    package static func page(hasOwnBackend: Bool) -> Cast {
        Cast("assay app", apps: [.despia: .page(hasOwnBackend: hasOwnBackend)])
    }

    /// Returns every set of executors that may run the contract.
    package static func casts(for contract: Contract) -> [Cast] {
        contract.isDeviceScenario
            ? [.scripted, .page(hasOwnBackend: false), .page(hasOwnBackend: true)] : [.live]
    }

    /// Returns the elements of a contract that prevent every set of executors from running it;
    /// empty when one set supports all elements.
    ///
    /// When no set supports all elements, the result is for the set with the fewest unsupported
    /// elements.
    package static func refusals(ofAny contract: Contract) -> [Refusal] {
        let refusals = casts(for: contract).map { $0.refusals(of: contract) }
        return refusals.min { $0.count < $1.count } ?? []
    }

    /// Returns the elements of a contract that these executors do not support, in file order.
    package func refusals(of contract: Contract) -> [Refusal] {
        var reading = Reading(cast: self, contract: contract)
        let steps = contract.given + contract.steps
        for (index, step) in steps.enumerated() {
            reading.read(step, at: contract.places[index] ?? contract.location)
        }
        reading.readExpectations()
        return reading.refusals
    }
}

/// Checks whether a set of executors supports a contract; the launch steps determine the app on
/// each phone.
private struct Reading {
    let cast: Cast
    let contract: Contract
    /// The apps that each phone runs at any time, by phone name.
    let appsByPhone: [String: Set<AppAction.App>]
    /// The app that each phone runs at the current step, by phone name.
    var running: [String: AppAction.App] = [:]
    var refusals: [Cast.Refusal] = []

    init(cast: Cast, contract: Contract) {
        self.cast = cast
        self.contract = contract
        var apps: [String: Set<AppAction.App>] = [:]
        for case .app(let action) in contract.phoneSteps where action.name.isLaunch {
            apps[action.phone, default: []].insert(Self.app(action, cast))
        }
        appsByPhone = apps
    }

    /// Returns the app that a launch opens; when there is a single kind of app, the launch need not
    /// name it.
    private static func app(_ action: AppAction, _ cast: Cast) -> AppAction.App {
        cast.apps[action.app] == nil ? cast.apps.keys.first ?? action.app : action.app
    }

    mutating func read(_ step: Step, at location: SourceLocation) {
        if let kind = step.traits.kind {
            let isForApps = cast.apps.values.contains { $0.supports(.step(kind)) }
            if !(kind.isForEverybody && isForApps) { ask(cast.backend, .step(kind), at: location) }
        }
        guard case .phone(let step) = step else { return }
        switch step {
        case .app(let action): read(action, at: location)
        case .phone(let change): ask(change.demands, of: change.phone, at: location)
        case .bridge: askNative([.bridge], at: location)
        case .backend(let plan): askNative(plan.demands, at: location)
        case .store: ask(cast.store, .storeAct, at: location)
        }
    }

    private mutating func read(_ action: AppAction, at location: SourceLocation) {
        for case .manner(let manner, let act) in action.demands where !manner.fits(act) {
            refuse(
                "'\(manner.rawValue)' has no meaning for 'app: \(act.rawValue)'",
                "Remove '\(manner.rawValue)'.",
                at: location
            )
        }
        if action.name.isLaunch { running[action.phone] = Self.app(action, cast) }
        guard let app = running[action.phone], let performer = cast.apps[app] else {
            return refuse(
                "no app is running on \(action.phone) at 'app: \(action.name.rawValue)'",
                "Add 'app: launch' for \(action.phone) before this step.",
                at: location
            )
        }
        for demand in action.demands {
            if case .manner(let manner, let act) = demand, !manner.fits(act) { continue }
            ask(performer, demand, at: location)
        }
    }

    /// Checks the required capabilities for a step on a phone against the apps that run on the
    /// phone.
    private mutating func ask(_ demands: [Demand], of phone: String, at location: SourceLocation) {
        for demand in demands {
            let apps = appsByPhone[phone] ?? []
            // A phone that never runs an app still has an owner, whose actions some app must
            // support.
            let all = apps.isEmpty ? Set(cast.apps.keys) : apps
            let able = all.filter { cast.apps[$0]?.supports(demand) ?? false }
            guard able.isEmpty || demand.concernsEveryApp && able != all else { continue }
            let unable = all.subtracting(able).sorted { $0.rawValue < $1.rawValue }
            ask(unable.first.flatMap { cast.apps[$0] }, demand, at: location)
        }
    }

    /// Checks required capabilities of a phone's native side, which need an app that uses the
    /// bridge.
    private mutating func askNative(_ demands: [Demand], at location: SourceLocation) {
        let apps = appsByPhone.values.reduce(into: Set<AppAction.App>()) { $0.formUnion($1) }
        let performers = apps.compactMap { cast.apps[$0] }
        let native = performers.first { $0.isOnDespia }
        for demand in demands { ask(native ?? performers.first, demand, at: location) }
    }

    mutating func readExpectations() {
        for demand in contract.backendDemands {
            ask(cast.backend, .backend(demand), at: contract.location)
        }
        for (demand, location) in contract.expectation.app?.demands ?? [] {
            askNative([demand], at: location)
        }
    }

    private mutating func ask(
        _ performer: Performer?,
        _ demand: Demand,
        at location: SourceLocation
    ) {
        if performer?.supports(demand) == true { return }
        let who = performer?.description ?? "'\(cast.name)'"
        let problem =
            performer == nil ? "\(who) does not run \(demand)" : "\(who) does not support \(demand)"
        refuse(problem, remedy(demand, performer), at: location)
    }

    /// Returns the remedy for an unsupported capability: another executor, or another change of the
    /// contract.
    private func remedy(_ demand: Demand, _ performer: Performer?) -> String {
        if performer == .accountApp, cast.apps[.despia]?.supports(demand) == true {
            return "Add 'runs: despia' to the launch, or remove \(demand)."
        }
        if performer == .liveApp, cast.apps[.accounts]?.supports(demand) == true {
            return "Remove 'runs: despia' from the launch, or remove \(demand)."
        }
        if performer == .page(hasOwnBackend: true), demand == .gesture(.purchase) {
            return "Remove 'backend: own': the built-in backend model learns about purchases."
        }
        if performer == nil, case .bridge = demand { return "Launch an app that runs on Despia." }
        if Performer.scriptedApp.supports(demand) {
            return "Only a contract without a backend supports \(demand): remove it, or the "
                + "steps of the backend."
        }
        if Performer.backend.supports(demand) || Performer.store.supports(demand) {
            return "Only a contract for a backend supports \(demand): remove it."
        }
        return "Remove \(demand)."
    }

    private mutating func refuse(
        _ problem: String,
        _ remedy: String,
        at location: SourceLocation
    ) {
        let refusal = Cast.Refusal(location: location, problem: problem, remedy: remedy)
        if !refusals.contains(refusal) { refusals.append(refusal) }
    }
}

extension Demand {
    /// Whether every app on a phone has to support the capability.
    ///
    /// An app that ignores it would run another case than the contract describes.
    fileprivate var concernsEveryApp: Bool {
        switch self {
        case .kind, .property: true
        case .step, .gesture, .manner, .change, .bridge, .answer, .untoldPurchases, .storeAct, .app,
            .promise, .backend:
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
        guard expectation.app != nil, backendDemands.isEmpty else { return false }
        return (given + steps).allSatisfy { step in
            guard case .phone(let step) = step else {
                return step.traits.kind?.isForEverybody ?? false
            }
            return switch step {
            case .store: false
            case .app(let action): !action.name.needsAccounts
            case .phone, .bridge, .backend: true
            }
        }
    }
}
