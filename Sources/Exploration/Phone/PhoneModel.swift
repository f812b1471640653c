internal import Contracts
internal import Grammar
internal import Providers
internal import Values

/// A model of a correct app on a phone.
///
/// It predicts the app's user after each step and the content of its page, where the identity rules
/// define them.
///
/// Source: identity rules, part B: C-01 to C-09, C-16 to C-31.
struct PhoneModel: Sendable {
    /// Whether the app's page shows the paid content; `undetermined` when the identity rules do not
    /// determine it.
    enum Access: Hashable, Sendable {
        case no, yes, undetermined
    }

    /// The subscription status that the app's page must show (C-25).
    enum Status: Hashable, Sendable {
        /// The store's purchase history is missing, which does not mean that a subscription ended.
        case unknown
        case active(product: String)
    }

    /// The open pages of the app.
    enum Pages: Hashable, Sendable {
        case none, one
        /// Two pages of the app are open, so that it is undetermined which page gets a tap.
        case two
        /// A page was killed during an operation, so that it is not certain that no page is open.
        case undetermined

        /// Whether a page is certainly open.
        var isAnyOpen: Bool { self == .one || self == .two }
    }

    private(set) var identity = PhoneIdentity()
    private(set) var access = Access.no
    /// The subscription status that the page shows since the last status check; nil when the status
    /// is not predictable.
    private(set) var status: Status?
    private(set) var pages = Pages.none
    private(set) var hadTwoPages = false
    private(set) var paymentSheet = PaymentSheet()
    private(set) var faults = PhoneFaults()
    private var storeHistory = PhoneStoreHistory()
    private var plan = AppBackendPlan()
    private(set) var hasLaunched = false
    /// Whether the app's backend may know of a purchase.
    private var mayBackendKnowPurchase = false
    private(set) var hadPurchaseCallback = false
    /// Whether registrations failed immediately from before the first launch, and the app had time
    /// for a retry.
    private(set) var hadTimeForRetry = false

    private(set) var vaultUser: String?
    /// Whether the install ID of the phone has changed.
    private(set) var isNewInstall = false
    /// Whether the app runs in a browser without the Despia runtime.
    private(set) var isBrowser = false
    /// Whether the phone never provides its install ID.
    private(set) var hasNoInstallID = false
    /// Whether any user ID contains special characters.
    let hasSpecialCharacterIDs: Bool

    /// The number of user actions so far, not counting waits.
    private(set) var userActionCount = 0
    /// Whether all steps so far only opened or closed pages.
    private(set) var hasOnlyPageActions = true
    /// The last user action, if that action must change nothing, such as a restore or a login that
    /// finds no user; nil for other actions.
    private(set) var ineffectiveUserAction: AppAction.Name?

    init(idByUser: [String: String] = [:]) {
        hasSpecialCharacterIDs = !idByUser.isEmpty
    }

    /// Whether all required effects must happen, because no fault can have prevented them.
    private var areAllEffectsRequired: Bool { faults.areNone && !isBrowser }

    /// Whether a page is open and no payment sheet covers it.
    private var canTapPage: Bool { pages.isAnyOpen && paymentSheet.state == .closed }

    /// Carries out a step of the history in the model.
    ///
    /// - Returns: Whether the step is possible in the current state.
    mutating func perform(_ step: PhoneStep) -> Bool {
        switch step {
        case .app(let action): return act(action)
        case .phone(let change):
            guard let ownerAction = change.ownerAction else { return setUpPhone(change) }
            return carryOut(ownerAction)
        case .bridge(let plan):
            guard faults.add(plan) else { return false }
            if let responseForm = plan.switches["history"]?.string {
                storeHistory.responseForm = responseForm
            }
            // Without the result channel, a page is never notified that its payment sheet was
            // closed.
            if plan.switches["hasResultChannel"] == .bool(false) {
                paymentSheet.receivesResults = false
            }
            return true
        case .backend(let plan):
            self.plan.add(plan)
            faults.add(plan)
            return true
        case .store: return false
        }
    }

    // MARK: Actions

    private static let pageActions: Set<AppAction.Name> = [.launch, .launchTwice, .reload, .kill]

    /// The minimum wait in which an app makes several registration attempts whose intervals can be
    /// compared.
    private static let retryTimeMin = Duration.seconds(3)

    private mutating func act(_ action: AppAction) -> Bool {
        let isPageAction = Self.pageActions.contains(action.name)
        guard pages != .two || isPageAction || action.name == .wait else { return false }
        let isKillAfterIDWrite = action.name == .login && action.killPoint == .idWritten
        if action.isNextStepImmediate || (action.killPoint != nil && !isKillAfterIDWrite) {
            faults.recordPossiblyMissingEffects()
        }
        if action.name != .wait { recordUserAction(action.name) }
        let isPossible =
            switch action.name {
            case .launch, .launchTwice, .reload, .kill: changePages(action.name)
            case .upgrade, .upgradeTwice, .purchase, .restore, .login, .logout, .status, .callback:
                usePage(action)
            case .wait: wait(action.time ?? .zero)
            case .signUp, .signIn, .google, .forgotPassword, .deleteAccount, .refresh: false
            }
        if action.killPoint != nil { pages = .undetermined }
        return isPossible
    }

    private mutating func recordUserAction(_ name: AppAction.Name) {
        userActionCount += 1
        (ineffectiveUserAction, hadTimeForRetry) = (nil, false)
        if name != .callback { status = nil }
        if !Self.pageActions.contains(name) { hasOnlyPageActions = false }
    }

    private mutating func wait(_ time: Duration) -> Bool {
        if let first = plan.responses["register"]?.first, faults.areAllRegistrationsFailing,
            userActionCount == 1, time >= Self.retryTimeMin
        {
            hadTimeForRetry = first.failsImmediately
        }
        return true
    }

    /// Opens, reloads or closes pages.
    private mutating func changePages(_ name: AppAction.Name) -> Bool {
        switch name {
        case .kill:
            guard pages.isAnyOpen else { return false }
            pages = .none
            resetPageState()
        case .reload:
            guard pages.isAnyOpen else { return false }
            resetPageState()
        default:
            launch()
            pages = name == .launchTwice ? .two : .one
            if pages == .two { hadTwoPages = true }
        }
        return true
    }

    private mutating func launch() {
        if !hasLaunched, !faults.mayEffectsBeMissing, !isBrowser {
            identity.launch(vaultUser: vaultUser, storeHistory)
        }
        hasLaunched = true
        resetPageState()
    }

    /// Resets the state of the page, because a new page has no payment sheet and no unlocked
    /// content.
    private mutating func resetPageState() {
        paymentSheet.closeWithPage()
        if access == .yes { access = .undetermined }
    }

    /// Carries out a user action on the open page.
    private mutating func usePage(_ action: AppAction) -> Bool {
        switch action.name {
        case .status:
            guard pages.isAnyOpen else { return false }
            status =
                isBrowser ? nil : storeHistory.status(areAllEffectsRequired: areAllEffectsRequired)
            return true
        case .callback:
            guard pages.isAnyOpen, !isBrowser else { return false }
            hadPurchaseCallback = true
            return true
        default: break
        }
        guard canTapPage else { return false }
        switch action.name {
        case .purchase:
            guard !isBrowser else { return false }
            openPaymentSheet()
            completePurchase()
        case .restore: restore()
        case .login:
            guard action.account != nil else { return false }
            // A kill in the middle of a login requires a login that succeeds.
            let isKillAfterIDWrite = action.killPoint == .idWritten
            guard action.killPoint == nil || willLogIn(asOtherUser: isKillAfterIDWrite) else {
                return false
            }
            logIn()
        case .logout: logOut()
        default: openPaymentSheet()
        }
        return true
    }

    // MARK: Purchases

    private mutating func openPaymentSheet() {
        guard !isBrowser else { return }
        paymentSheet.open(mayBeBlocked: !faults.areNone)
    }

    private mutating func completePurchase() {
        storeHistory.hasCompletedPurchase = true
        if plan.isNotifiedOfPurchases {
            mayBackendKnowPurchase = true
            access = paymentSheet.state == .uncertain ? .undetermined : .yes
        }
        paymentSheet.close()
    }

    // MARK: Identity

    private mutating func restore() {
        guard !isBrowser else { return }
        if storeHistory.user == .noUser {
            ineffectiveUserAction = areAllEffectsRequired ? .restore : nil
        }
        identity.restore(storeHistory)
        if mayBackendKnowPurchase { access = .undetermined }
    }

    /// Returns whether the next login succeeds.
    ///
    /// With `asOtherUser`, the login must also write another user's ID.
    private func willLogIn(asOtherUser: Bool) -> Bool {
        guard identity.lock == .unlocked else { return false }
        var plan = plan
        return switch plan.takeNext("login") {
        case .claimed: !asOtherUser
        case .recovered(let user):
            !asOtherUser || (identity.user.isKnown && identity.user != .user(user))
        case .ok, .status, .reset, .never, .slow, .otherID, .noID, .nullID, .undefinedID, nil:
            false
        }
    }

    private mutating func logIn() {
        switch plan.takeNext("login") {
        case .claimed, .ok: identity.logIn()
        case .recovered(let user):
            if identity.logIn(as: user), mayBackendKnowPurchase { access = .undetermined }
        // A login that fails, or that returns no ID, changes nothing (C-27).
        case .status, .reset, .noID, .nullID, .undefinedID:
            ineffectiveUserAction = areAllEffectsRequired ? .login : nil
        case .never, .slow, .otherID, nil: identity.loseTrack()
        }
    }

    private mutating func logOut() {
        identity.logOut()
        // Content that one user unlocked stays locked for the next user (C-30).
        access = areAllEffectsRequired || !mayBackendKnowPurchase ? .no : .undetermined
    }

    // MARK: Phones

    /// Sets the state of the phone before the first launch.
    private mutating func setUpPhone(_ change: PhoneChange) -> Bool {
        guard !hasLaunched else { return false }
        storeHistory.entries = change.history ?? storeHistory.entries
        if let text = change.vault[.id] { vaultUser = Template.users(in: [text]).first }
        if let lock = change.vault[.lock] { identity.setLock(lock == "true") }
        if change.installID != nil { faults.recordPossiblyMissingEffects() }
        if change.installID == .missing { hasNoInstallID = true }
        if change.kind == .browser { isBrowser = true }
        return true
    }

    private mutating func carryOut(_ action: PhoneChange.OwnerAction) -> Bool {
        switch action {
        case .reinstall, .loseID:
            guard hasLaunched, pages == .none else { return false }
            if action == .loseID {
                identity.loseID(storeHistory)
            } else {
                identity.reinstall()
                isNewInstall = true
            }
            if mayBackendKnowPurchase { access = .undetermined }
        case .complete, .cancel, .fail:
            guard paymentSheet.state == .open else { return false }
            if action == .complete {
                completePurchase()
            } else {
                paymentSheet.closeWithoutPurchase()
            }
        case .secondPhone, .cloned: return false
        }
        hasOnlyPageActions = false
        return true
    }
}

extension AppBackendPlan.PlannedResponse {
    /// Whether a call to the app's backend fails as soon as the call arrives.
    fileprivate var failsImmediately: Bool {
        switch self {
        case .status, .reset: true
        case .ok, .never, .slow, .otherID, .noID, .nullID, .undefinedID, .claimed, .recovered:
            false
        }
    }
}
