/// A capability that a contract requires from an executor (a component that runs a part of the
/// case).
///
/// Each step and expectation of a contract requires some capabilities, and each executor declares
/// the capabilities that it supports. A contract that requires an unsupported capability is
/// rejected before it runs.
package enum Demand: Hashable, Sendable {
    /// The contract has a step of this kind, for the backend or a party around it, such as a
    /// provider.
    case step(BackendStep)
    /// The contract contains this user action in an app.
    case gesture(AppAction.Name)
    /// The contract uses this modifier, such as `with` or `killed-at`, for a user action.
    case manner(Manner, AppAction.Name)
    /// The contract contains this action of the phone's owner.
    case change(PhoneChange.Act)
    case kind(PhoneChange.Kind)
    case property(PhoneProperty)
    /// The contract contains settings or faults of the phone's native side.
    case bridge
    /// The contract plans a response of this kind from the app's backend.
    case answer(BackendAnswer)
    /// The contract requires that the app's backend does not learn about purchases.
    case untoldPurchases
    /// The contract contains an action of the store without the app, such as a renewal.
    case storeAct
    case app(AppDemand)
    case promise(ClientPromise)
    /// The contract has the expectation of the backend, or the search, that has this key.
    case backend(String)

    /// A modifier of a user action in a contract; the raw value is its key.
    package enum Manner: String, Hashable, Sendable, CaseIterable {
        case account, anonymous = "as", wrongPassword = "password", product, agrees
        case atOnce = "at-once", argument = "with", time = "for", killedAt = "killed-at"
        /// The launch of an app names another kind of app than the default.
        case despia = "runs"

        /// Whether the modifier has a meaning for an action.
        package func fits(_ act: AppAction.Name) -> Bool {
            switch self {
            // The same scenario may run with several sign-in methods, of which one needs an
            // account.
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

    /// The kind of a response that the app's backend is planned to send, as in
    /// `AppBackendPlan.Answer`.
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

    /// A kind of expectation of an app, other than its invariants.
    package enum AppDemand: String, Hashable, Sendable, CaseIterable {
        case commands, id, screen, start, registered
    }

    /// Every capability that a contract can require.
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
    /// The name of the capability in messages, in the notation of contracts.
    package var description: String {
        switch self {
        case .step(.accountChange): "'revoke' or 'disable'"
        case .step(let kind): "'\(kind.rawValue)'"
        case .gesture(let name): "'app: \(name.rawValue)'"
        case .manner(let manner, let name): "'\(manner.rawValue)' of 'app: \(name.rawValue)'"
        case .change(let act): "'phone: \(act.rawValue)'"
        case .kind(let kind): "'phone: {kind: \(kind.rawValue)}'"
        case .property(let property): "'phone: {\(property.rawValue): …}'"
        case .bridge: "'bridge'"
        case .answer(let answer): "the response '\(answer.rawValue)' of 'backend'"
        case .untoldPurchases: "'backend: {learns-purchases: false}'"
        case .storeAct: "'store'"
        case .app(let demand): "'expect: app: \(demand.rawValue)'"
        case .promise(let promise): "the invariant '\(promise.rawValue)'"
        case .backend(let demand): "'\(demand)' of a backend"
        }
    }
}

extension Contract {
    /// The keys of the contract's expectations of a backend, and of its search.
    var backendDemands: [String] {
        let shape = Expectation.grammar.shape
        return Expectation.grammar.entries(expectation).map(\.key)
            .filter { shape[$0]?.isForEverybody == false } + (search.map { [$0.key] } ?? [])
    }
}
