internal import Grammar

/// A capability that a contract requires from an executor (a component that runs a part of the
/// case).
///
/// Each step and expectation of a contract requires some capabilities, and each executor declares
/// the capabilities that it supports. A contract that requires an unsupported capability is
/// rejected before it runs.
package enum RequiredCapability: Hashable, Sendable {
    /// The contract has a step of this kind, for the backend or a party around it, such as a
    /// provider.
    case step(BackendStep)
    /// The contract contains this user action in an app.
    case userAction(AppAction.Name)
    /// The contract uses this modifier, such as `with` or `killed-at`, for a user action.
    case modifier(ActionModifier, AppAction.Name)
    /// The contract contains this action of the phone's owner.
    case change(PhoneChange.OwnerAction)
    case kind(PhoneChange.Kind)
    case property(PhoneProperty)
    /// The contract contains settings or faults of the phone's native side.
    case bridge
    /// The contract plans a response of this kind from the app's backend.
    case backendResponse(BackendResponse)
    /// The contract requires that the app's backend does not learn about purchases.
    case unreportedPurchases
    /// The contract contains an action of the store without the app, such as a renewal.
    case storeAction
    case app(AppExpectationKind)
    case appInvariant(AppInvariant)
    /// The contract contains an expectation of the backend, or a search, with this key.
    case backend(String)

    /// A modifier of a user action in a contract; the raw value is its key.
    package enum ActionModifier: String, Hashable, Sendable, CaseIterable {
        case account, anonymous = "as", wrongPassword = "password", product, confirmsPrompts =
            "agrees"
        case atOnce = "at-once", callbackArgument = "with", time = "for", killPoint = "killed-at"
        /// A launch names a kind of app that is not the default.
        case despia = "runs"

        /// Whether the modifier has a meaning for an action.
        package func modifies(_ action: AppAction.Name) -> Bool {
            switch self {
            // A scenario may run with several sign-in methods, so these actions accept an account
            // even if only one of the methods needs it.
            case .account:
                [.launch, .login, .logout, .restore].contains(action) || action.needsAccounts
            case .wrongPassword: action == .login || action.needsAccounts
            case .anonymous: ![.kill, .wait].contains(action)
            case .product: action == .purchase
            case .confirmsPrompts: [.login, .logout, .restore].contains(action)
            case .atOnce: !action.needsAccounts
            case .callbackArgument: action == .callback
            case .time: action == .wait
            case .killPoint: ![.kill, .wait].contains(action) && !action.needsAccounts
            case .despia: action == .launch
            }
        }
    }

    package enum PhoneProperty: String, Hashable, Sendable, CaseIterable {
        case vault, history, installID = "install-id"
    }

    /// The kind of a response that the app's backend is planned to send, as in
    /// `AppBackendPlan.PlannedResponse`.
    package enum BackendResponse: String, Hashable, Sendable, CaseIterable {
        case ok, status, reset, never, slow, otherID = "other-id", claimed, recovered
        case noID = "no-id", nullID = "null-id", undefinedID = "undefined-id"

        init(_ backendResponse: AppBackendPlan.PlannedResponse) {
            self =
                switch backendResponse {
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
    package enum AppExpectationKind: String, Hashable, Sendable, CaseIterable {
        case commands, id, screen, start, registered
    }

    /// Every capability that a contract can require.
    package static let all: [RequiredCapability] =
        BackendStep.allCases.map(RequiredCapability.step)
        + AppAction.Name.allCases.map(RequiredCapability.userAction)
        + ActionModifier.allCases.flatMap { modifier in
            AppAction.Name.allCases.map { RequiredCapability.modifier(modifier, $0) }
        }
        + PhoneChange.OwnerAction.allCases.map(RequiredCapability.change)
        + PhoneChange.Kind.allCases.map(RequiredCapability.kind)
        + PhoneProperty.allCases.map(RequiredCapability.property) + [.bridge]
        + BackendResponse.allCases.map(RequiredCapability.backendResponse) + [
            .unreportedPurchases, .storeAction,
        ]
        + AppExpectationKind.allCases.map(RequiredCapability.app)
        + AppInvariant.allCases.map(RequiredCapability.appInvariant)
        + (Expectation.grammar.shape.keys.filter { !$0.isSupportedByAllTargets }.map(\.key)
        + Search.keys)
        .map(RequiredCapability.backend)
}

extension RequiredCapability: CustomStringConvertible {
    /// The name of the capability in messages, in the notation of contracts.
    package var description: String {
        switch self {
        case .step(.accountChange): "'revoke' or 'disable'"
        case .step(let kind): "'\(kind.rawValue)'"
        case .userAction(let name): "'app: \(name.rawValue)'"
        case .modifier(let modifier, let name): "'\(modifier.rawValue)' of 'app: \(name.rawValue)'"
        case .change(let action): "'phone: \(action.rawValue)'"
        case .kind(let kind): "'phone: {kind: \(kind.rawValue)}'"
        case .property(let property): "'phone: {\(property.rawValue): …}'"
        case .bridge: "'bridge'"
        case .backendResponse(let backendResponse):
            "the response '\(backendResponse.rawValue)' of 'backend'"
        case .unreportedPurchases: "'backend: {learns-purchases: false}'"
        case .storeAction: "'store'"
        case .app(let capability): "'expect: app: \(capability.rawValue)'"
        case .appInvariant(let invariant): "the invariant '\(invariant.rawValue)'"
        case .backend(let capability): "'\(capability)' of a backend"
        }
    }
}

extension Contract {
    /// The keys of the contract's expectations of a backend, and of its search.
    var backendCapabilities: [String] {
        let shape = Expectation.grammar.shape
        return Expectation.grammar.entries(expectation).map(\.key)
            .filter { shape[$0]?.isSupportedByAllTargets == false }
            + (search.map { [$0.key] } ?? [])
    }
}
