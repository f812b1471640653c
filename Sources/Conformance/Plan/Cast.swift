/// The performers of one case, and who of them plays which part.
package struct Cast: Hashable, Sendable {
    /// Something that a contract asks for and nobody of the cast carries out.
    package struct Refusal: Hashable, Sendable {
        /// The step or expectation; the contract itself when it was not read from a file.
        package let location: SourceLocation
        /// What is asked for and who cannot do it.
        package let problem: String
        /// What to write instead.
        package let remedy: String

        /// Both, with the place, as a report shows it.
        package var note: String { "\(location): \(problem). \(remedy)" }
    }

    /// How a person calls it: the command that lets it play.
    package let name: String
    /// Who plays the backend, when it is there to be judged.
    package let backend: Performer?
    /// Who plays the apps, by what a launch runs.
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

    /// A backend is judged; apps stand before it.
    package static let live = Cast(
        "assay verify",
        backend: .backend,
        apps: [.accounts: .accountApp, .despia: .liveApp],
        store: .store
    )

    /// The built-in app is judged, in virtual time.
    package static let scripted = Cast("assay app --scripted", apps: [.despia: .scriptedApp])

    /// A page is judged, in a browser.
    package static func page(hasOwnBackend: Bool) -> Cast {
        Cast("assay app", apps: [.despia: .page(hasOwnBackend: hasOwnBackend)])
    }

    /// Everybody who may come to play a contract.
    package static func casts(for contract: Contract) -> [Cast] {
        contract.isDeviceScenario
            ? [.scripted, .page(hasOwnBackend: false), .page(hasOwnBackend: true)] : [.live]
    }

    /// What a contract asks for that no cast whatever plays; empty when one of them plays it all.
    package static func refusals(ofAny contract: Contract) -> [Refusal] {
        let refusals = casts(for: contract).map { $0.refusals(of: contract) }
        return refusals.min { $0.count < $1.count } ?? []
    }

    /// What of a contract this cast does not carry out, in the order of the file.
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

/// A contract on its way past a cast: which app each phone runs is known from the launches.
private struct Reading {
    let cast: Cast
    let contract: Contract
    /// Every app that a phone runs at some time, by the phone.
    let appsByPhone: [String: Set<AppAction.App>]
    /// The app that the phone runs just now.
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

    /// Where there is but one kind of app, a launch need not say which.
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
                "'\(manner.rawValue)' means nothing at 'app: \(act.rawValue)'",
                "Leave it out.",
                at: location
            )
        }
        if action.name.isLaunch { running[action.phone] = Self.app(action, cast) }
        guard let app = running[action.phone], let performer = cast.apps[app] else {
            return refuse(
                "no app runs on \(action.phone) when 'app: \(action.name.rawValue)' is to happen",
                "Add 'app: launch' for it before.",
                at: location
            )
        }
        for demand in action.demands {
            if case .manner(let manner, let act) = demand, !manner.fits(act) { continue }
            ask(performer, demand, at: location)
        }
    }

    /// What a phone is like concerns every app that it ever runs.
    private mutating func ask(_ demands: [Demand], of phone: String, at location: SourceLocation) {
        for demand in demands {
            let apps = appsByPhone[phone] ?? []
            // A phone that runs nothing in the end has an owner all the same.
            let all = apps.isEmpty ? Set(cast.apps.keys) : apps
            let able = all.filter { cast.apps[$0]?.supports(demand) ?? false }
            guard able.isEmpty || demand.concernsEveryApp && able != all else { continue }
            let unable = all.subtracting(able).sorted { $0.rawValue < $1.rawValue }
            ask(unable.first.flatMap { cast.apps[$0] }, demand, at: location)
        }
    }

    /// What concerns the native side needs an app that talks to it.
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
        let who = performer?.description ?? "nobody of '\(cast.name)'"
        let problem =
            performer == nil ? "\(demand) is played by \(who)" : "\(who) does not play \(demand)"
        refuse(problem, remedy(demand, performer), at: location)
    }

    /// Somebody else who could do it, or what else is to be done.
    private func remedy(_ demand: Demand, _ performer: Performer?) -> String {
        if performer == .accountApp, cast.apps[.despia]?.supports(demand) == true {
            return "Let the launch say 'runs: despia', or leave it out."
        }
        if performer == .liveApp, cast.apps[.accounts]?.supports(demand) == true {
            return "Let the launch leave 'runs: despia' out, or leave this out."
        }
        if performer == .page(hasOwnBackend: true), demand == .gesture(.purchase) {
            return "Leave 'backend: own' out, so that a model that hears of purchases answers."
        }
        if performer == nil, case .bridge = demand { return "Launch an app that runs on Despia." }
        if Performer.scriptedApp.supports(demand) {
            return "Only a scenario without a backend can have it: leave out what the backend "
                + "plays, or this."
        }
        if Performer.backend.supports(demand) || Performer.store.supports(demand) {
            return "Only a contract for a backend can have it: leave it out."
        }
        return "Leave it out."
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
    /// Whether an app that does not heed it would play another case than the contract's.
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
    /// Whether a page opens by it, on a phone where none was.
    package var isLaunch: Bool { self == .launch || self == .launchTwice }
}

extension Contract {
    /// Whether it judges an app on a phone, and not a backend: something is expected of the app, and
    /// nothing is asked of a backend or its store.
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
