/// An executor: a component that runs one part of a case, such as the backend or an app, and
/// declares its capabilities.
///
/// A contract that requires a capability which its executors do not have is rejected before it
/// runs.
package enum Executor: Hashable, Sendable {
    /// The backend under test, with the providers around it.
    case backend
    /// The built-in app with Firebase sign-in and RevenueCat's SDK, connected to the backend under
    /// test.
    case accountApp
    /// The built-in scripted app on the Despia runtime, connected to the backend under test.
    case liveApp
    /// The built-in scripted app on the Despia runtime in virtual time, connected to a model of a
    /// correct backend.
    case scriptedApp
    /// A web app in a browser, connected to a model of a correct backend or to its own backend.
    case page(hasOwnBackend: Bool)
    /// The stores as RevenueCat sees them, which act without the app, for example by a renewal.
    case store

    package func supports(_ capability: RequiredCapability) -> Bool {
        switch capability {
        case .step(let kind): supports(kind)
        case .userAction(let name): supports(name)
        case .modifier(let modifier, let name): supports(modifier, of: name)
        case .change(let action): supports(action)
        case .kind, .property, .bridge: runsOnDespia
        case .backendResponse(let backendResponse): supports(backendResponse)
        case .unreportedPurchases: usesBackendModel
        case .storeAction: self == .store
        case .app(let expected): supports(expected)
        case .appInvariant(let invariant): supports(invariant)
        case .backend: self == .backend
        }
    }

    /// Whether the executor is an app that uses the native side of a Despia phone.
    package var runsOnDespia: Bool {
        switch self {
        case .liveApp, .scriptedApp, .page: true
        case .backend, .accountApp, .store: false
        }
    }

    /// Whether the executor is an app that is connected to a model of a correct backend.
    private var usesBackendModel: Bool {
        switch self {
        case .scriptedApp, .page(hasOwnBackend: false): true
        case .page(hasOwnBackend: true), .liveApp, .backend, .accountApp, .store: false
        }
    }

    private func supports(_ kind: RequiredCapability.BackendStep) -> Bool {
        self == .backend || kind.isSupportedByAllTargets && runsOnDespia
    }

    private func supports(_ action: AppAction.Name) -> Bool {
        switch action {
        case .launch, .restore, .logout, .refresh: runsOnDespia || self == .accountApp
        // A page's own backend does not learn about purchases made in the browser.
        case .purchase:
            runsOnDespia && self != .page(hasOwnBackend: true) || self == .accountApp
        case .signUp, .signIn, .google, .forgotPassword, .deleteAccount: self == .accountApp
        case .launchTwice, .reload, .kill, .upgrade, .upgradeTwice, .login, .status, .callback,
            .wait:
            runsOnDespia
        }
    }

    private func supports(_ modifier: RequiredCapability.ActionModifier, of action: AppAction.Name)
        -> Bool
    {
        guard modifier.modifies(action), supports(action) else { return false }
        return switch modifier {
        case .account, .anonymous, .product: true
        // A model of a backend does not check passwords: the contract plans the model's responses
        // to logins.
        case .wrongPassword: self == .accountApp || !usesBackendModel
        // The account app starts each action only after the response to the previous one.
        case .confirmsPrompts, .atOnce, .callbackArgument, .time, .killPoint: runsOnDespia
        case .despia: runsOnDespia
        }
    }

    private func supports(_ action: PhoneChange.OwnerAction) -> Bool {
        switch action {
        case .reinstall, .secondPhone: runsOnDespia || self == .accountApp
        case .cloned, .loseID, .complete, .cancel, .fail: runsOnDespia
        }
    }

    private func supports(_ backendResponse: RequiredCapability.BackendResponse) -> Bool {
        switch backendResponse {
        case .ok, .status, .reset, .never, .slow: runsOnDespia
        // Only a failure or a delay can be planned for a real backend, because a real backend
        // determines the content of its responses itself.
        case .otherID, .noID, .nullID, .undefinedID, .claimed, .recovered:
            runsOnDespia && self != .liveApp
        }
    }

    private func supports(_ capability: RequiredCapability.AppExpectationKind) -> Bool {
        switch capability {
        case .id, .registered: runsOnDespia || self == .accountApp
        case .commands, .screen: runsOnDespia
        // `start` limits the time from the first launch to the registration. With a real backend,
        // no time passes on the phone while the app itself waits, so this time cannot be judged.
        case .start: runsOnDespia && self != .liveApp
        }
    }

    private func supports(_ invariant: AppInvariant) -> Bool {
        switch invariant {
        // These two invariants are judged by the phone's time between two commands or calls.
        case .vaultReadsNeverOverlap, .registrationPausesGrow: runsOnDespia && self != .liveApp
        case .silent, .usableIDs, .writesLockBeforeRegistering, .writesIDBeforeRegistering,
            .aliased, .endsWithOneUserID,
            .retriesFailedRegistrations, .repeatsNoRegistration, .completeRegistrations,
            .usesInstallIDAsDeviceID,
            .registeredBeforePaywall, .paywallUsesCurrentID, .gated, .singlePaywall, .encoded,
            .registersSameUserID,
            .delayedRepliesKeepUserID, .unchanged, .loginSendsCurrentID, .unguessable,
            .vaultHoldsNoPrivateValues, .sendsOneCommandPerTask, .unbroken,
            .definesNativeCallbacks, .determinesUserIDOncePerPage, .logoutClearsLockFirst:
            runsOnDespia
        }
    }
}

extension Executor: CustomStringConvertible {
    package var description: String {
        switch self {
        case .backend: "the backend"
        case .accountApp: "the app with accounts"
        case .liveApp: "the scripted app with a backend"
        case .scriptedApp: "the scripted app"
        case .page: "the page in the browser"
        case .store: "the store"
        }
    }
}
