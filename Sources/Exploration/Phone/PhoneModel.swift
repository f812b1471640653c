internal import Contracts
internal import Grammar
internal import Values

/// A model of a correct app on a phone.
///
/// It predicts the app's user after each step and the content of its page, where the identity rules
/// define them.
///
/// Source: identity rules, part B: C-01 to C-09, C-16 to C-31.
struct PhoneModel: Sendable {
    /// The user whose ID a correct app keeps on the phone.
    enum PhoneUser: Hashable, Sendable {
        case user(String)
        /// The phone has a new ID that a logout created.
        case otherUser
        /// The phone may have any user ID except this one. The store's history contains a purchase
        /// of this other user, who must not become the app's user.
        case anyUserExcept(String)
        /// The identity rules do not determine the ID.
        case undetermined

        /// Whether the identity rules determine the ID.
        var isKnown: Bool {
            switch self {
            case .user, .otherUser: true
            case .anyUserExcept, .undetermined: false
            }
        }
    }

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

    private(set) var phoneUser = PhoneUser.undetermined
    private(set) var access = Access.no
    /// The subscription status that the page shows since the last status check; nil when the status
    /// is not predictable.
    private(set) var status: Status?
    private(set) var isPageOpen = false
    /// Whether two pages of the app are open, so that it is undetermined which page gets a tap.
    private var hasTwoPages = false
    private(set) var hadTwoPages = false
    /// Whether a payment sheet of the store is open.
    private(set) var hasPaymentSheet = false
    /// Whether the payment sheet was requested during another operation, so that it may not have
    /// opened.
    private(set) var isPaymentSheetUncertain = false
    /// Whether the page receives the result of a payment sheet from the native side.
    private var receivesSheetResults = true
    /// Whether the page may still treat a payment sheet as open that was already closed.
    private var mayAssumeOpenSheet = false
    private(set) var hasLoggedOut = false
    private(set) var hasLoggedIn = false
    /// Whether the user was signed in to an account before the last logout.
    private var wasLoggedInBeforeLogout = false
    /// Whether the user logged out of an account and the vault lost the user ID afterward (C-31).
    private(set) var hasLostIDAfterLogout = false
    /// Whether the first launch took the user ID from a purchase in the store's history.
    private(set) var hasAdoptedHistoryID = false
    /// Whether the restore button replaced the user ID on the phone with an ID from the store's
    /// history.
    private(set) var hasRestoredHistoryID = false
    /// Whether the user ID is locked: no other ID may replace it without a decision of the user
    /// (C-29).
    private var isIdentityLocked = false
    /// Whether it depends on the app if the user ID is locked.
    ///
    /// A login may lock the ID, and a lost ID may be unlocked.
    private var isIdentityLockUndetermined = false
    /// Whether it is certain that no page of the app is open when `isPageOpen` is false.
    ///
    /// The value is false after a page was killed during an operation.
    private var areAllPagesClosed = true
    /// Whether the install ID of the phone has changed.
    private(set) var isNewInstall = false
    /// The number of user actions so far, not counting waits.
    private(set) var userActionCount = 0
    /// Whether all steps so far only opened or closed pages.
    private(set) var hasOnlyPageActions = true
    /// The last user action, if that action must change nothing, such as a restore or a login that
    /// finds no user; nil for other actions.
    private(set) var ineffectiveUserAction: AppAction.Name?
    private var history: [PurchaseHistoryEntry]?
    /// The form of the native side's response to a history request; nil for the usual form.
    private var historyResponseForm: String?
    private(set) var vaultUser: String?
    private var hasLaunched = false
    /// Whether the user completed a purchase, which is now in the store's history.
    private var hasCompletedPurchase = false
    /// Whether the app's backend may know of a purchase.
    private var mayBackendKnowPurchase = false
    /// The number of paywalls that must have opened so far; nil when the number is not predictable.
    private(set) var shownPaywallCount: Int? = 0
    private(set) var hadPurchaseCallback = false
    /// Whether the app runs in a browser without the Despia runtime.
    private(set) var isBrowser = false
    /// Whether the phone never provides its install ID.
    private(set) var hasNoInstallID = false
    /// Whether a fault of the bridge, or a kill during an operation, may have prevented effects.
    private(set) var mayEffectsBeMissing = false
    private var lostVaultWriteRoles: Set<PhoneChange.VaultRole?> = []
    /// Whether any registration failed so far.
    private var hasFailedRegistration = false
    /// Whether all registrations fail permanently.
    private(set) var areAllRegistrationsFailing = false
    /// Whether registrations failed immediately from before the first launch, and the app had time
    /// for a retry.
    private(set) var hadTimeForRetry = false
    /// Whether any user ID contains special characters.
    let hasSpecialCharacterIDs: Bool
    /// Whether the vault and the OneSignal alias keep values exactly as written, without decoding
    /// them (C-22).
    private(set) var areVaultValuesKeptRaw = false
    private var plan = AppBackendPlan()

    init(idByUser: [String: String] = [:]) {
        hasSpecialCharacterIDs = !idByUser.isEmpty
    }

    /// Whether all required effects must happen, because no fault can have prevented them.
    private var areAllEffectsRequired: Bool {
        !mayEffectsBeMissing && !hasFailedRegistration && !isBrowser
    }

    /// Carries out a step of the history in the model.
    ///
    /// - Returns: Whether the step is possible in the current state.
    mutating func perform(_ step: PhoneStep) -> Bool {
        switch step {
        case .app(let action): return act(action)
        case .phone(let change): return applyChange(change)
        case .bridge(let plan):
            guard acceptsFaults(plan.faults) else { return false }
            if !plan.faults.isEmpty { mayEffectsBeMissing = true }
            // An app may not understand every form of the history response.
            if let responseForm = plan.switches["history"]?.string {
                historyResponseForm = responseForm
            }
            // Without the result channel, a page is never notified that its payment sheet was
            // closed.
            if plan.switches["hasResultChannel"] == .bool(false) { receivesSheetResults = false }
            if plan.switches["vaultDecode"]?.string == "raw" { areVaultValuesKeptRaw = true }
            return true
        case .backend(let plan):
            self.plan.add(plan)
            if plan.responses["register"] != nil {
                hasFailedRegistration = true
                if plan.repeatsLastResponse { areAllRegistrationsFailing = true }
            }
            return true
        case .store: return false
        }
    }

    /// Returns whether the history can contain these bridge faults in addition to the earlier ones.
    ///
    /// No identity rule defines how many lost writes an app must survive. Therefore one step must
    /// contain all losses of the same vault entry.
    private mutating func acceptsFaults(_ faults: [BridgePlan.Fault]) -> Bool {
        let droppedVaultRoles = faults.filter { $0.kind == .drop && $0.scheme == "setvault" }.map(
            \.role
        )
        guard lostVaultWriteRoles.isDisjoint(with: droppedVaultRoles) else { return false }
        lostVaultWriteRoles.formUnion(droppedVaultRoles)
        return true
    }

    // MARK: Actions

    private mutating func act(_ action: AppAction) -> Bool {
        guard !hasTwoPages || Self.pageActions.contains(action.name) || action.name == .wait else {
            return false
        }
        let isKillAfterIDWrite = action.name == .login && action.killPoint == .idWritten
        if action.isNextStepImmediate || (action.killPoint != nil && !isKillAfterIDWrite) {
            mayEffectsBeMissing = true
        }
        if action.name != .wait {
            userActionCount += 1
            (ineffectiveUserAction, hadTimeForRetry) = (nil, false)
            if action.name != .callback { status = nil }
            if !Self.pageActions.contains(action.name) { hasOnlyPageActions = false }
        }
        defer { if action.killPoint != nil { (isPageOpen, areAllPagesClosed) = (false, false) } }
        switch action.name {
        case .launch, .launchTwice:
            launch()
            hasTwoPages = action.name == .launchTwice
            if hasTwoPages { hadTwoPages = true }
        case .kill:
            guard isPageOpen else { return false }
            (isPageOpen, areAllPagesClosed) = (false, true)
            resetPageState()
            hasTwoPages = false
        case .reload:
            guard isPageOpen else { return false }
            resetPageState()
        case .upgrade, .upgradeTwice:
            guard isPageOpen, !hasPaymentSheet else { return false }
            openPaymentSheet()
        case .purchase:
            guard isPageOpen, !hasPaymentSheet, !isBrowser else { return false }
            openPaymentSheet()
            completePurchase()
        case .restore:
            guard isPageOpen, !hasPaymentSheet else { return false }
            restore()
        case .login:
            guard isPageOpen, !hasPaymentSheet, action.account != nil else { return false }
            // A kill in the middle of a login requires a login that succeeds.
            guard action.killPoint == nil || willLogIn(asOtherUser: isKillAfterIDWrite) else {
                return false
            }
            logIn()
        case .logout:
            guard isPageOpen, !hasPaymentSheet else { return false }
            logOut()
        case .status:
            guard isPageOpen else { return false }
            status = predictedStatus
        case .callback:
            guard isPageOpen, !isBrowser else { return false }
            hadPurchaseCallback = true
        case .wait:
            if let first = plan.responses["register"]?.first, areAllRegistrationsFailing,
                userActionCount == 1,
                (action.time ?? .zero) >= Self.retryTimeMin
            {
                hadTimeForRetry = first.failsImmediately
            }
        case .signUp, .signIn, .google, .forgotPassword, .deleteAccount, .refresh: return false
        }
        return true
    }

    /// The minimum wait in which an app makes several registration attempts whose intervals can be
    /// compared.
    private static let retryTimeMin = Duration.seconds(3)

    private static let pageActions: Set<AppAction.Name> = [.launch, .launchTwice, .reload, .kill]

    private mutating func launch() {
        defer {
            (isPageOpen, hasLaunched) = (true, true)
            resetPageState()
        }
        guard !hasLaunched, !mayEffectsBeMissing, !isBrowser else { return }
        if let vaultUser { return phoneUser = .user(vaultUser) }
        switch storeHistoryUser {
        case .user(let user):
            phoneUser = .user(user)
            (hasAdoptedHistoryID, isIdentityLocked) = (true, true)
        // The app may take an ID from the store's history, and it locks such an ID.
        case .undetermined: isIdentityLockUndetermined = true
        case .noUser:
            let unknownUsers = (history ?? []).filter { !$0.isAnonymous }.compactMap(\.user)
            if let unknownUser = unknownUsers.first { phoneUser = .anyUserExcept(unknownUser) }
        }
    }

    // MARK: Purchases

    private mutating func openPaymentSheet() {
        guard !isBrowser else { return }
        hasPaymentSheet = true
        isPaymentSheetUncertain = mayEffectsBeMissing || hasFailedRegistration || mayAssumeOpenSheet
        shownPaywallCount = isPaymentSheetUncertain ? nil : shownPaywallCount.map { $0 + 1 }
    }

    /// Resets the state of the page, because a new page has no payment sheet and no unlocked
    /// content.
    private mutating func resetPageState() {
        closePaymentSheet()
        mayAssumeOpenSheet = false
        if access == .yes { access = .undetermined }
    }

    private mutating func closePaymentSheet() {
        (hasPaymentSheet, isPaymentSheetUncertain) = (false, false)
    }

    private mutating func completePurchase() {
        hasCompletedPurchase = true
        if plan.isNotifiedOfPurchases {
            mayBackendKnowPurchase = true
            access = isPaymentSheetUncertain ? .undetermined : .yes
        }
        closePaymentSheet()
    }

    /// The subscription status that the page must show at a status check; nil when it is not
    /// predictable.
    private var predictedStatus: Status? {
        guard !hasCompletedPurchase, !isBrowser else { return nil }
        if let historyResponseForm {
            return ["silent", "null"].contains(historyResponseForm) ? .unknown : nil
        }
        guard areAllEffectsRequired, let onlyEntry = history?.first, history?.count == 1,
            onlyEntry.isActive,
            onlyEntry.environment == "production", !onlyEntry.isAnonymous
        else { return nil }
        return .active(product: onlyEntry.product)
    }

    // MARK: Identity

    /// The user that the app finds in the store's purchase history (C-06).
    ///
    /// A missing history may contain any user.
    private var storeHistoryUser: StoreHistoryUser {
        if historyResponseForm != nil || hasCompletedPurchase { return .undetermined }
        return StoreHistoryUser(history ?? [])
    }

    /// Whether the user logged out of an account and the store's history contains no other user.
    ///
    /// The logged-out user must not return (C-31).
    private var mustStayLoggedOut: Bool {
        phoneUser == .otherUser && wasLoggedInBeforeLogout && storeHistoryUser == .noUser
            && history != nil
    }

    private mutating func restore() {
        guard !isBrowser else { return }
        switch storeHistoryUser {
        case .noUser: ineffectiveUserAction = areAllEffectsRequired ? .restore : nil
        case .undetermined:
            if history != nil || hasCompletedPurchase {
                (phoneUser, isIdentityLockUndetermined) = (.undetermined, true)
            }
        // A restore does not silently replace a signed-in user (C-26).
        case .user where hasLoggedIn: break
        case .user where isIdentityLocked || isIdentityLockUndetermined:
            (phoneUser, isIdentityLockUndetermined) = (.undetermined, true)
        // It depends on the app whether a restore locks the ID that the phone already has.
        case .user(let user) where phoneUser == .user(user): isIdentityLockUndetermined = true
        case .user(let user):
            if phoneUser.isKnown { hasRestoredHistoryID = true }
            (phoneUser, isIdentityLocked) = (.user(user), true)
        }
        if mayBackendKnowPurchase { access = .undetermined }
    }

    /// Returns whether the next login succeeds.
    ///
    /// With `asOtherUser`, the login must also write another user's ID.
    private func willLogIn(asOtherUser: Bool) -> Bool {
        guard !isIdentityLocked, !isIdentityLockUndetermined else { return false }
        var plan = plan
        return switch plan.takeNext("login") {
        case .claimed: !asOtherUser
        case .recovered(let user): !asOtherUser || (phoneUser.isKnown && phoneUser != .user(user))
        case .ok, .status, .reset, .never, .slow, .otherID, .noID, .nullID, .undefinedID, nil:
            false
        }
    }

    private mutating func logIn() {
        switch plan.takeNext("login") {
        case .claimed, .ok: (hasLoggedIn, isIdentityLockUndetermined) = (true, true)
        case .recovered(let user):
            // A locked ID is not replaced without a decision of the user (C-29).
            if isIdentityLocked, !isIdentityLockUndetermined, phoneUser.isKnown,
                phoneUser != .user(user)
            {
                break
            }
            if isIdentityLockUndetermined || isIdentityLocked {
                if phoneUser != .user(user) { phoneUser = .undetermined }
            } else {
                phoneUser = .user(user)
            }
            (hasLoggedIn, isIdentityLockUndetermined) = (true, true)
            if mayBackendKnowPurchase { access = .undetermined }
        // A login that fails, or that returns no ID, changes nothing (C-27).
        case .status, .reset, .noID, .nullID, .undefinedID:
            ineffectiveUserAction = areAllEffectsRequired ? .login : nil
        case .never, .slow, .otherID, nil: phoneUser = .undetermined
        }
    }

    private mutating func logOut() {
        phoneUser = .otherUser
        wasLoggedInBeforeLogout = hasLoggedIn
        hasLoggedOut = true
        hasLoggedIn = false
        (isIdentityLocked, isIdentityLockUndetermined) = (false, false)
        // Content that one user unlocked stays locked for the next user (C-30).
        access = areAllEffectsRequired || !mayBackendKnowPurchase ? .no : .undetermined
    }

    // MARK: Phones

    private mutating func applyChange(_ change: PhoneChange) -> Bool {
        guard let act = change.ownerAction else {
            guard !hasLaunched else { return false }
            history = change.history ?? history
            if let text = change.vault[.id] {
                vaultUser = Template.users(in: [text]).first
            }
            if let lock = change.vault[.lock] { isIdentityLocked = lock == "true" }
            if change.installID != nil { mayEffectsBeMissing = true }
            if change.installID == .missing { hasNoInstallID = true }
            if change.kind == .browser { isBrowser = true }
            return true
        }
        switch act {
        case .reinstall, .loseID:
            guard hasLaunched, !isPageOpen, areAllPagesClosed else { return false }
            hasOnlyPageActions = false
            if act == .loseID, mustStayLoggedOut {
                hasLostIDAfterLogout = true
            } else {
                phoneUser = .undetermined
            }
            isIdentityLockUndetermined = true
            if mayBackendKnowPurchase { access = .undetermined }
            if act == .reinstall { isNewInstall = true }
        case .complete, .cancel, .fail:
            guard hasPaymentSheet, !isPaymentSheetUncertain else { return false }
            hasOnlyPageActions = false
            if act == .complete { completePurchase() } else { closePaymentSheet() }
            if act != .complete, !receivesSheetResults { mayAssumeOpenSheet = true }
        case .secondPhone, .cloned: return false
        }
        return true
    }

    /// The user ID that the phone must have; nil where the identity rules do not determine it.
    var identity: AppExpectation.Identity.IdentityCondition? {
        guard !mayEffectsBeMissing, hasLaunched, !isBrowser, !areAllRegistrationsFailing else {
            return nil
        }
        return switch phoneUser {
        case .user(let user): .user(user)
        case .otherUser: .changed
        case .anyUserExcept(let user): .notUser(user)
        case .undetermined: nil
        }
    }
}

/// The user in the store account's purchase history (C-06): the user of the latest active purchase,
/// or without active purchases the user of the latest ended purchase.
enum StoreHistoryUser: Hashable, Sendable {
    case user(String)
    case noUser
    /// The latest purchases are at the same time and belong to different users.
    case undetermined

    init(_ history: [PurchaseHistoryEntry]) {
        let namedEntries = history.filter {
            $0.user != nil && !$0.isAnonymous && $0.environment == "production"
        }
        let active = namedEntries.filter(\.isActive)
        let candidateEntries = active.isEmpty ? namedEntries : active
        guard let latestPurchaseTime = candidateEntries.map(\.purchased).max() else {
            self = .noUser
            return
        }
        let users = Set(
            candidateEntries.filter { $0.purchased == latestPurchaseTime }.compactMap(\.user)
        )
        self = users.count == 1 ? users.first.map { .user($0) } ?? .undetermined : .undetermined
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
