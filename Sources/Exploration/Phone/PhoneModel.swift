internal import Conformance

/// A model of a correct app on a phone.
///
/// It predicts the app's user after each step and the content of its page, where the identity rules
/// define them.
///
/// Source: identity rules, part B: C-01 to C-09, C-16 to C-31.
struct PhoneModel: Sendable {
    /// The user whose ID a correct app keeps on the phone.
    enum Holder: Hashable, Sendable {
        case user(String)
        /// The phone has a new ID that a logout created.
        case other
        /// The phone has any ID except this user's ID. A purchase in the store's history belongs to
        /// this user, who must not become the app's user.
        case not(String)
        /// The identity rules do not determine the ID.
        case open

        /// Whether the identity rules determine the ID.
        var isKnown: Bool {
            switch self {
            case .user, .other: true
            case .not, .open: false
            }
        }
    }

    /// Whether the app's page shows the paid content; `open` when the identity rules do not
    /// determine it.
    enum Access: Hashable, Sendable {
        case no, yes, open
    }

    /// The subscription status that the app's page must show (C-25).
    enum Status: Hashable, Sendable {
        /// The store's purchase history is missing, which does not mean that a subscription ended.
        case unknown
        case active(product: String)
    }

    private(set) var holder = Holder.open
    private(set) var access = Access.no
    /// The subscription status that the page shows since the last status check; nil when the status
    /// is not predictable.
    private(set) var status: Status?
    private(set) var isOpen = false
    /// Whether two pages of the app are open, so that it is undetermined which page gets a tap.
    private var isDoubled = false
    private(set) var wasDoubled = false
    /// Whether a payment sheet of the store is open.
    private(set) var hasSheet = false
    /// Whether the payment sheet was requested during another operation, so that it may not have
    /// opened.
    private(set) var isSheetDoubtful = false
    /// Whether the page receives the result of a payment sheet from the native side.
    private var hasResults = true
    /// Whether the page may assume that a payment sheet is open that was already closed.
    private var isSheetBelieved = false
    private(set) var hasLoggedOut = false
    private(set) var hasLoggedIn = false
    /// Whether the user was signed in to an account before the last logout.
    private var hasLeftAccount = false
    /// Whether the user logged out of an account and the vault lost the user ID afterward (C-31).
    private(set) var hasLostLeft = false
    /// Whether the first launch took the user ID from a purchase in the store's history.
    private(set) var hasAdopted = false
    /// Whether the restore button replaced the user ID on the phone with an ID from the store's
    /// history.
    private(set) var hasRestored = false
    /// Whether the user ID is locked: no other ID may replace it without a decision of the user
    /// (C-29).
    private var isLocked = false
    /// Whether it depends on the app if the user ID is locked.
    ///
    /// A login may lock the ID, and a lost ID may be unlocked.
    private var isLockOpen = false
    /// Whether no page of the app can be open.
    ///
    /// The value is false after a page was killed during an operation.
    private var isSurelyClosed = true
    /// Whether the install ID of the phone has changed.
    private(set) var isNewInstall = false
    /// The number of user actions so far, not counting waits.
    private(set) var gestureCount = 0
    /// Whether all steps so far only opened or closed pages.
    private(set) var isOnlyOpened = true
    /// The last user action, if that action must change nothing, such as a restore or a login that
    /// finds no user; nil for other actions.
    private(set) var idleGesture: AppAction.Name?
    private var history: [HistoryEntry]?
    /// The form of the native side's response to a history request; nil for the usual form.
    private var manner: String?
    private(set) var vaultUser: String?
    private var hasLaunched = false
    /// Whether the user completed a purchase, which is now in the store's history.
    private var hasCompleted = false
    /// Whether the app's backend may know of a purchase.
    private var hasBought = false
    /// The number of paywalls that must have opened so far; nil when the number is not predictable.
    private(set) var paywallCount: Int? = 0
    private(set) var hasCallback = false
    /// Whether the app runs in a browser without the Despia runtime.
    private(set) var isBrowser = false
    /// Whether the phone never provides its install ID.
    private(set) var isNameless = false
    /// Whether a fault of the bridge, or a kill during an operation, may have prevented effects.
    private(set) var isDisturbed = false
    private var lostWrites: Set<PhoneChange.VaultRole?> = []
    /// Whether any registration failed so far.
    private var hasTrouble = false
    /// Whether all registrations fail permanently.
    private(set) var isShut = false
    /// Whether registrations failed immediately from before the first launch, and the app had time
    /// for a retry.
    private(set) var isTriedAgain = false
    /// Whether any user ID contains special characters.
    let hasHardIDs: Bool
    /// Whether the vault and the OneSignal alias keep values exactly as written, without decoding
    /// them (C-22).
    private(set) var isRaw = false
    private var plan = AppBackendPlan()

    init(ids: [String: String] = [:]) {
        hasHardIDs = !ids.isEmpty
    }

    /// Whether all required effects must happen, because no fault can have prevented them.
    private var isWell: Bool { !isDisturbed && !hasTrouble && !isBrowser }

    /// Carries out a step of the history in the model.
    ///
    /// - Returns: Whether the step is possible in the current state.
    mutating func perform(_ step: PhoneStep) -> Bool {
        switch step {
        case .app(let action): return act(action)
        case .phone(let change): return take(change)
        case .bridge(let plan):
            guard takes(plan.faults) else { return false }
            if !plan.faults.isEmpty { isDisturbed = true }
            // An app may not understand every form of the history response.
            if let word = plan.switches["history"]?.string { manner = word }
            // Without the result channel, a page is never notified that its payment sheet was
            // closed.
            if plan.switches["hasResultChannel"] == .bool(false) { hasResults = false }
            if plan.switches["vaultDecode"]?.string == "raw" { isRaw = true }
            return true
        case .backend(let plan):
            self.plan.add(plan)
            if plan.answers["register"] != nil {
                hasTrouble = true
                if plan.isPermanent { isShut = true }
            }
            return true
        case .store: return false
        }
    }

    /// Returns whether the history can contain these bridge faults in addition to the earlier ones.
    ///
    /// No identity rule defines how many lost writes an app must survive. Therefore one step must
    /// contain all losses of the same vault entry.
    private mutating func takes(_ faults: [BridgePlan.Fault]) -> Bool {
        let losses = faults.filter { $0.kind == .drop && $0.scheme == "setvault" }.map(\.role)
        guard lostWrites.isDisjoint(with: losses) else { return false }
        lostWrites.formUnion(losses)
        return true
    }

    // MARK: Actions

    private mutating func act(_ action: AppAction) -> Bool {
        guard !isDoubled || Self.opening.contains(action.name) || action.name == .wait else {
            return false
        }
        let isKnownDeath = action.name == .login && action.killedAt == .idWritten
        if action.isAtOnce || (action.killedAt != nil && !isKnownDeath) { isDisturbed = true }
        if action.name != .wait {
            gestureCount += 1
            (idleGesture, isTriedAgain) = (nil, false)
            if action.name != .callback { status = nil }
            if !Self.opening.contains(action.name) { isOnlyOpened = false }
        }
        defer { if action.killedAt != nil { (isOpen, isSurelyClosed) = (false, false) } }
        switch action.name {
        case .launch, .launchTwice:
            launch()
            isDoubled = action.name == .launchTwice
            if isDoubled { wasDoubled = true }
        case .kill:
            guard isOpen else { return false }
            (isOpen, isSurelyClosed) = (false, true)
            closePage()
            isDoubled = false
        case .reload:
            guard isOpen else { return false }
            closePage()
        case .upgrade, .upgradeTwice:
            guard isOpen, !hasSheet else { return false }
            openSheet()
        case .purchase:
            guard isOpen, !hasSheet, !isBrowser else { return false }
            openSheet()
            buy()
        case .restore:
            guard isOpen, !hasSheet else { return false }
            restore()
        case .login:
            guard isOpen, !hasSheet, action.account != nil else { return false }
            // A kill in the middle of a login requires a login that succeeds.
            guard action.killedAt == nil || willLogIn(asAnother: isKnownDeath) else { return false }
            logIn()
        case .logout:
            guard isOpen, !hasSheet else { return false }
            logOut()
        case .status:
            guard isOpen else { return false }
            status = shownStatus
        case .callback:
            guard isOpen, !isBrowser else { return false }
            hasCallback = true
        case .wait:
            if let first = plan.answers["register"]?.first, isShut, gestureCount == 1,
                (action.time ?? .zero) >= Self.retryTime
            {
                isTriedAgain = first.failsAtOnce
            }
        case .signUp, .signIn, .google, .forgotPassword, .deleteAccount, .refresh: return false
        }
        return true
    }

    /// The minimum wait in which an app makes several registration attempts whose intervals can be
    /// compared.
    private static let retryTime = Duration.seconds(3)

    private static let opening: Set<AppAction.Name> = [.launch, .launchTwice, .reload, .kill]

    private mutating func launch() {
        defer {
            (isOpen, hasLaunched) = (true, true)
            closePage()
        }
        guard !hasLaunched, !isDisturbed, !isBrowser else { return }
        if let vaultUser { return holder = .user(vaultUser) }
        switch choice {
        case .user(let user):
            holder = .user(user)
            (hasAdopted, isLocked) = (true, true)
        // If the app takes an ID from the store's history, it locks the ID.
        case .open: isLockOpen = true
        case .nobody:
            let strangers = (history ?? []).filter { !$0.isAnonymous }.compactMap(\.user)
            if let stranger = strangers.first { holder = .not(stranger) }
        }
    }

    // MARK: Purchases

    private mutating func openSheet() {
        guard !isBrowser else { return }
        hasSheet = true
        isSheetDoubtful = isDisturbed || hasTrouble || isSheetBelieved
        paywallCount = isSheetDoubtful ? nil : paywallCount.map { $0 + 1 }
    }

    /// Resets the state of the page, because a new page has no payment sheet and no unlocked
    /// content.
    private mutating func closePage() {
        closeSheet()
        isSheetBelieved = false
        if access == .yes { access = .open }
    }

    private mutating func closeSheet() { (hasSheet, isSheetDoubtful) = (false, false) }

    private mutating func buy() {
        hasCompleted = true
        if plan.learnsPurchases {
            hasBought = true
            access = isSheetDoubtful ? .open : .yes
        }
        closeSheet()
    }

    /// The subscription status that the page must show at a status check; nil when it is not
    /// predictable.
    private var shownStatus: Status? {
        guard !hasCompleted, !isBrowser else { return nil }
        if let manner { return ["silent", "null"].contains(manner) ? .unknown : nil }
        guard isWell, let only = history?.first, history?.count == 1, only.isActive,
            only.environment == "production", !only.isAnonymous
        else { return nil }
        return .active(product: only.product)
    }

    // MARK: Identity

    /// The user that the app finds in the store's purchase history (C-06).
    ///
    /// A missing history may contain any user.
    private var choice: HistoryChoice {
        if manner != nil || hasCompleted { return .open }
        return HistoryChoice(history ?? [])
    }

    /// Whether the user logged out of an account and the store's history contains no other user.
    ///
    /// The logged-out user must not return (C-31).
    private var hasLeft: Bool {
        holder == .other && hasLeftAccount && choice == .nobody && history != nil
    }

    private mutating func restore() {
        guard !isBrowser else { return }
        switch choice {
        case .nobody: idleGesture = isWell ? .restore : nil
        case .open: if history != nil || hasCompleted { (holder, isLockOpen) = (.open, true) }
        // A restore does not silently replace a signed-in user (C-26).
        case .user where hasLoggedIn: break
        case .user where isLocked || isLockOpen: (holder, isLockOpen) = (.open, true)
        // It depends on the app whether a restore locks the ID that the phone already has.
        case .user(let user) where holder == .user(user): isLockOpen = true
        case .user(let user):
            if holder.isKnown { hasRestored = true }
            (holder, isLocked) = (.user(user), true)
        }
        if hasBought { access = .open }
    }

    /// Returns whether the next login succeeds.
    ///
    /// With `asAnother`, the login must also write another user's ID.
    private func willLogIn(asAnother: Bool) -> Bool {
        guard !isLocked, !isLockOpen else { return false }
        var plan = plan
        return switch plan.takeNext("login") {
        case .claimed: !asAnother
        case .recovered(let user): !asAnother || (holder.isKnown && holder != .user(user))
        case .ok, .status, .reset, .never, .slow, .otherID, .noID, .nullID, .undefinedID, nil:
            false
        }
    }

    private mutating func logIn() {
        switch plan.takeNext("login") {
        case .claimed, .ok: (hasLoggedIn, isLockOpen) = (true, true)
        case .recovered(let user):
            // A locked ID is not replaced without a decision of the user (C-29).
            if isLocked, !isLockOpen, holder.isKnown, holder != .user(user) { break }
            if isLockOpen || isLocked {
                if holder != .user(user) { holder = .open }
            } else {
                holder = .user(user)
            }
            (hasLoggedIn, isLockOpen) = (true, true)
            if hasBought { access = .open }
        // A login that fails, or that returns no ID, changes nothing (C-27).
        case .status, .reset, .noID, .nullID, .undefinedID: idleGesture = isWell ? .login : nil
        case .never, .slow, .otherID, nil: holder = .open
        }
    }

    private mutating func logOut() {
        holder = .other
        hasLeftAccount = hasLoggedIn
        hasLoggedOut = true
        hasLoggedIn = false
        (isLocked, isLockOpen) = (false, false)
        // Content that one user unlocked stays locked for the next user (C-30).
        access = isWell || !hasBought ? .no : .open
    }

    // MARK: Phones

    private mutating func take(_ change: PhoneChange) -> Bool {
        guard let act = change.act else {
            guard !hasLaunched else { return false }
            history = change.history ?? history
            if let text = change.vault[.id] {
                vaultUser = TemplateValues.users(in: [text]).first
            }
            if let lock = change.vault[.lock] { isLocked = lock == "true" }
            if change.installID != nil { isDisturbed = true }
            if change.installID == .missing { isNameless = true }
            if change.kind == .browser { isBrowser = true }
            return true
        }
        switch act {
        case .reinstall, .loseID:
            guard hasLaunched, !isOpen, isSurelyClosed else { return false }
            isOnlyOpened = false
            if act == .loseID, hasLeft {
                hasLostLeft = true
            } else {
                holder = .open
            }
            isLockOpen = true
            if hasBought { access = .open }
            if act == .reinstall { isNewInstall = true }
        case .complete, .cancel, .fail:
            guard hasSheet, !isSheetDoubtful else { return false }
            isOnlyOpened = false
            if act == .complete { buy() } else { closeSheet() }
            if act != .complete, !hasResults { isSheetBelieved = true }
        case .secondPhone, .cloned: return false
        }
        return true
    }

    /// The user ID that the phone must have; nil where the identity rules do not determine it.
    var identity: AppExpectation.Identity.Wanted? {
        guard !isDisturbed, hasLaunched, !isBrowser, !isShut else { return nil }
        return switch holder {
        case .user(let user): .user(user)
        case .other: .changed
        case .not(let user): .notUser(user)
        case .open: nil
        }
    }
}

/// The user in the store account's purchase history (C-06): the user of the latest active purchase,
/// or without active purchases the user of the latest ended purchase.
enum HistoryChoice: Hashable, Sendable {
    case user(String)
    case nobody
    /// The latest purchases are at the same time and belong to different users.
    case open

    init(_ history: [HistoryEntry]) {
        let named = history.filter {
            $0.user != nil && !$0.isAnonymous && $0.environment == "production"
        }
        let active = named.filter(\.isActive)
        let pool = active.isEmpty ? named : active
        guard let latest = pool.map(\.purchased).max() else {
            self = .nobody
            return
        }
        let users = Set(pool.filter { $0.purchased == latest }.compactMap(\.user))
        self = users.count == 1 ? users.first.map { .user($0) } ?? .open : .open
    }
}

extension AppBackendPlan.Answer {
    /// Whether a call to the app's backend fails as soon as the call arrives.
    fileprivate var failsAtOnce: Bool {
        switch self {
        case .status, .reset: true
        case .ok, .never, .slow, .otherID, .noID, .nullID, .undefinedID, .claimed, .recovered:
            false
        }
    }
}
