/// One thing that a contract asks of whoever plays a part in its case.
///
/// Steps and expectations are taken apart into demands, so that a performer can say of each
/// whether it carries it out; what nobody carries out is refused before anything runs.
package enum Demand: Hashable, Sendable {
    /// A step that the backend, or somebody around it, takes part in.
    case step(BackendStep)
    /// A person's act.
    case gesture(AppAction.Name)
    /// The way in which that act is done.
    case manner(Manner, AppAction.Name)
    /// An act of the phone's owner.
    case change(PhoneChange.Act)
    case kind(PhoneChange.Kind)
    case property(PhoneProperty)
    /// Switches and faults of the native side.
    case bridge
    /// The app's backend answers one of its calls like that.
    case answer(BackendAnswer)
    /// The app's backend hears of no purchase.
    case untoldPurchases
    /// The store acts by itself.
    case storeAct
    case app(AppDemand)
    case promise(ClientPromise)
    /// What must follow at the backend, or is searched for there, by the contract's key for it.
    case backend(String)

    /// How an act is done, by the contract's key for it.
    package enum Manner: String, Hashable, Sendable, CaseIterable {
        case account, anonymous = "as", wrongPassword = "password", product, agrees
        case atOnce = "at-once", argument = "with", time = "for", killedAt = "killed-at"
        /// The launch names an app of another kind than the usual one.
        case despia = "runs"

        /// The acts for which the key means anything.
        package func fits(_ act: AppAction.Name) -> Bool {
            switch self {
            // One scenario may be played with each of several flows, and one needs an account.
            case .account:
                [.launch, .login, .logout, .restore].contains(act) || act.needsAccounts
            case .wrongPassword: act == .login || act.needsAccounts
            case .anonymous: ![.kill, .wait].contains(act)
            case .product: act == .purchase
            case .agrees: [.login, .logout, .restore].contains(act)
            case .atOnce: !act.needsAccounts
            case .argument: act == .callback
            case .time: act == .wait
            case .killedAt: ![.kill, .wait].contains(act) && !act.needsAccounts
            case .despia: act == .launch
            }
        }
    }

    package enum PhoneProperty: String, Hashable, Sendable, CaseIterable {
        case vault, history, installID = "install-id"
    }

    /// The kinds of `AppBackendPlan.Answer`.
    package enum BackendAnswer: String, Hashable, Sendable, CaseIterable {
        case ok, status, reset, never, slow, otherID = "other-id", claimed, recovered
        case noID = "no-id", nullID = "null-id", undefinedID = "undefined-id"

        init(_ answer: AppBackendPlan.Answer) {
            self =
                switch answer {
                case .ok: .ok
                case .status: .status
                case .reset: .reset
                case .never: .never
                case .slow: .slow
                case .otherID: .otherID
                case .noID: .noID
                case .nullID: .nullID
                case .undefinedID: .undefinedID
                case .claimed: .claimed
                case .recovered: .recovered
                }
        }
    }

    /// What is expected of an app beside its promises.
    package enum AppDemand: String, Hashable, Sendable, CaseIterable {
        case commands, id, screen, start, registered
    }

    /// Everything that a contract can ask for.
    package static let all: [Demand] =
        BackendStep.allCases.map(Demand.step) + AppAction.Name.allCases.map(Demand.gesture)
        + Manner.allCases.flatMap { manner in
            AppAction.Name.allCases.map { Demand.manner(manner, $0) }
        }
        + PhoneChange.Act.allCases.map(Demand.change) + PhoneChange.Kind.allCases.map(Demand.kind)
        + PhoneProperty.allCases.map(Demand.property) + [.bridge]
        + BackendAnswer.allCases.map(Demand.answer) + [.untoldPurchases, .storeAct]
        + AppDemand.allCases.map(Demand.app) + ClientPromise.allCases.map(Demand.promise)
        + (Expectation.grammar.shape.keys.filter { !$0.isForEverybody }.map(\.key) + Search.keys)
        .map(Demand.backend)
}

extension Demand: CustomStringConvertible {
    /// As a contract would say it.
    package var description: String {
        switch self {
        case .step(.accountChange): "'revoke' or 'disable'"
        case .step(let kind): "'\(kind.rawValue)'"
        case .gesture(let name): "'app: \(name.rawValue)'"
        case .manner(let manner, let name): "'\(manner.rawValue)' at 'app: \(name.rawValue)'"
        case .change(let act): "'phone: \(act.rawValue)'"
        case .kind(let kind): "'phone: {kind: \(kind.rawValue)}'"
        case .property(let property): "'phone: {\(property.rawValue): …}'"
        case .bridge: "'bridge'"
        case .answer(let answer): "the answer '\(answer.rawValue)' of 'backend'"
        case .untoldPurchases: "'backend: {learns-purchases: false}'"
        case .storeAct: "'store'"
        case .app(let demand): "'expect: app: \(demand.rawValue)'"
        case .promise(let promise): "the promise '\(promise.rawValue)'"
        case .backend(let demand): "'\(demand)' of a backend"
        }
    }
}

extension Contract {
    /// What is expected of a backend, by the keys that ask for it.
    var backendDemands: [String] {
        let shape = Expectation.grammar.shape
        return Expectation.grammar.entries(expectation).map(\.key)
            .filter { shape[$0]?.isForEverybody == false } + (search.map { [$0.key] } ?? [])
    }
}
