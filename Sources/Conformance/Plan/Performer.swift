/// Somebody who plays a part in a case and says what of it he carries out.
///
/// Whatever a performer does not support is refused before the case runs; there is no third way.
package enum Performer: Hashable, Sendable {
    /// The backend under test, with the providers around it.
    case backend
    /// The app in which Firebase signs people in and RevenueCat's SDK sells, before that backend.
    case accountApp
    /// The scripted app on the Despia runtime, before that backend.
    case liveApp
    /// The same app in virtual time, before a model of a correct backend.
    case scriptedApp
    /// A web app in a browser, before such a model or its own backend.
    case page(hasOwnBackend: Bool)
    /// RevenueCat's side of the stores, which acts by itself.
    case store

    package func supports(_ demand: Demand) -> Bool {
        switch demand {
        case .step(let kind): supports(kind)
        case .gesture(let name): supports(name)
        case .manner(let manner, let name): supports(manner, of: name)
        case .change(let act): supports(act)
        case .kind, .property, .bridge: isOnDespia
        case .answer(let answer): supports(answer)
        case .untoldPurchases: isBeforeModel
        case .storeAct: self == .store
        case .app(let expected): supports(expected)
        case .promise(let promise): supports(promise)
        case .backend: self == .backend
        }
    }

    /// Whether the app talks to the native side of a Despia phone.
    package var isOnDespia: Bool {
        switch self {
        case .liveApp, .scriptedApp, .page: true
        case .backend, .accountApp, .store: false
        }
    }

    /// Whether a model of a correct backend answers it.
    private var isBeforeModel: Bool {
        switch self {
        case .scriptedApp, .page(hasOwnBackend: false): true
        case .page(hasOwnBackend: true), .liveApp, .backend, .accountApp, .store: false
        }
    }

    private func supports(_ kind: Demand.BackendStep) -> Bool {
        self == .backend || kind.isForEverybody && isOnDespia
    }

    private func supports(_ act: AppAction.Name) -> Bool {
        switch act {
        case .launch, .restore, .logout, .refresh: isOnDespia || self == .accountApp
        // Nobody tells a page's own backend of what was bought in the browser.
        case .purchase:
            isOnDespia && self != .page(hasOwnBackend: true) || self == .accountApp
        case .signUp, .signIn, .google, .forgotPassword, .deleteAccount: self == .accountApp
        case .launchTwice, .reload, .kill, .upgrade, .upgradeTwice, .login, .status, .callback,
            .wait:
            isOnDespia
        }
    }

    private func supports(_ manner: Demand.Manner, of act: AppAction.Name) -> Bool {
        guard manner.fits(act), supports(act) else { return false }
        return switch manner {
        case .account, .anonymous, .product: true
        // A model of a backend knows no password; a plan says what it answers.
        case .wrongPassword: self == .accountApp || !isBeforeModel
        // One of its acts follows from the answer to the one before.
        case .agrees, .atOnce, .argument, .time, .killedAt: isOnDespia
        case .despia: isOnDespia
        }
    }

    private func supports(_ act: PhoneChange.Act) -> Bool {
        switch act {
        case .reinstall, .secondPhone: isOnDespia || self == .accountApp
        case .cloned, .loseID, .complete, .cancel, .fail: isOnDespia
        }
    }

    private func supports(_ answer: Demand.BackendAnswer) -> Bool {
        switch answer {
        case .ok, .status, .reset, .never, .slow: isOnDespia
        // What a real backend answers is its own affair.
        case .otherID, .noID, .nullID, .undefinedID, .claimed, .recovered:
            isOnDespia && self != .liveApp
        }
    }

    private func supports(_ demand: Demand.AppDemand) -> Bool {
        switch demand {
        case .id, .registered: isOnDespia || self == .accountApp
        case .commands, .screen: isOnDespia
        // Before a real backend the app's own waits take no time.
        case .start: isOnDespia && self != .liveApp
        }
    }

    private func supports(_ promise: ClientPromise) -> Bool {
        switch promise {
        // It is told from how much of the phone's time lies between two commands.
        case .readsInTurn, .backsOff: isOnDespia && self != .liveApp
        case .silent, .usableIDs, .lockedFirst, .writtenFirst, .aliased, .oneIdentity,
            .registersHonestly, .registersOnce, .wholeRegistrations, .steadyDevice,
            .registeredBeforePaywall, .onePurchaser, .gated, .singlePaywall, .encoded, .sameID,
            .steadyID, .unchanged, .loginNamesCurrent, .unguessable, .privateVault, .unbroken,
            .calledBack, .resolvesOnce, .unlocksFirst:
            isOnDespia
        }
    }
}

extension Performer: CustomStringConvertible {
    package var description: String {
        switch self {
        case .backend: "the backend"
        case .accountApp: "the app with accounts"
        case .liveApp: "the scripted app before a backend"
        case .scriptedApp: "the scripted app"
        case .page: "the page in the browser"
        case .store: "the store"
        }
    }
}
