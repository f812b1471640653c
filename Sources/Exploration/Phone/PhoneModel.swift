internal import Conformance

/// Who a correct app's user is after each step, as far as the rules fix it.
///
/// Source: identity rules, part B: C-04 to C-09, C-25 to C-31.
struct PhoneModel: Sendable {
    /// Whose id the phone has.
    enum Holder: Hashable, Sendable {
        case user(String)
        /// One that a logout made up.
        case other
        /// The rules leave it to what the app finds.
        case open
    }

    private(set) var holder = Holder.open
    private(set) var isOpen = false
    /// Whether a sheet of the store waits for its end.
    private(set) var hasSheet = false
    private(set) var hasLoggedOut = false
    private(set) var hasLoggedIn = false
    /// The first launch took the id of a purchase in the store's history.
    private(set) var hasAdopted = false
    /// Another id may not take the place of this one without a decision (C-29).
    private var isLocked = false
    /// Whether it is locked depends on the app: a login may lock, what is lost may be locked no more.
    private var isLockOpen = false
    /// Nobody can say whether a page that was to die in the middle of something did.
    private var isSurelyClosed = true
    /// The install id is another one since.
    private(set) var isNewInstall = false
    /// What people did, without waiting.
    private(set) var gestureCount = 0
    private var history: [HistoryEntry]?
    private var isHistoryOpen = false
    private var vaultUser: String?
    private var hasLaunched = false
    /// A fault of the bridge, or a death in the middle, may keep anything from being done.
    private(set) var isDisturbed = false
    private var plan = AppBackendPlan()

    /// - Returns: Whether it can happen here at all.
    mutating func perform(_ step: PhoneStep) -> Bool {
        switch step {
        case .app(let action): return act(action)
        case .phone(let change): return take(change)
        case .bridge(let plan):
            if !plan.faults.isEmpty { isDisturbed = true }
            // In another form it may not be understood.
            if plan.switches["history"] != nil { isHistoryOpen = true }
            return true
        case .backend(let plan):
            self.plan = plan
            return true
        case .store: return false
        }
    }

    private mutating func act(_ action: AppAction) -> Bool {
        if action.killedAt != nil { isDisturbed = true }
        if action.name != .wait { gestureCount += 1 }
        defer { if action.killedAt != nil { (isOpen, isSurelyClosed) = (false, false) } }
        switch action.name {
        case .launch, .launchTwice: launch()
        case .kill:
            guard isOpen else { return false }
            (isOpen, isSurelyClosed) = (false, true)
            hasSheet = false
        case .reload:
            guard isOpen else { return false }
            hasSheet = false
        case .upgrade, .upgradeTwice:
            guard isOpen, !hasSheet else { return false }
            hasSheet = true
        case .purchase:
            guard isOpen, !hasSheet else { return false }
        case .restore:
            guard isOpen, !hasSheet else { return false }
            // What it finds in the store's history it may take over.
            if history != nil { (holder, isLockOpen) = (.open, true) }
        case .login:
            guard isOpen, !hasSheet, action.account != nil else { return false }
            // A page dies of what follows from a login, which needs one that goes well.
            guard action.killedAt == nil || willLogIn else { return false }
            logIn()
        case .logout:
            guard isOpen, !hasSheet else { return false }
            holder = .other
            hasLoggedOut = true
            hasLoggedIn = false
            (isLocked, isLockOpen) = (false, false)
        case .status, .callback: guard isOpen else { return false }
        case .wait: break
        case .signUp, .signIn, .google, .forgotPassword, .deleteAccount, .refresh: return false
        }
        return true
    }

    private mutating func launch() {
        defer { (isOpen, hasLaunched, hasSheet) = (true, true, false) }
        guard !hasLaunched, !isDisturbed else { return }
        if let vaultUser { return holder = .user(vaultUser) }
        let mine = (history ?? []).filter {
            $0.isActive && !$0.isAnonymous && $0.environment == "production"
        }
        if mine.count == 1, history?.count == 1, !isHistoryOpen, let user = mine.first?.user {
            holder = .user(user)
            (hasAdopted, isLocked) = (true, true)
        } else if history?.isEmpty == false {
            // Which of several it takes, if any, it locks.
            isLockOpen = true
        }
    }

    private var willLogIn: Bool {
        guard !isLocked, !isLockOpen else { return false }
        var plan = plan
        return switch plan.takeNext("login") {
        case .claimed, .recovered: true
        case .ok, .status, .reset, .never, .slow, .otherID, .noID, .nullID, .undefinedID, nil:
            false
        }
    }

    private mutating func logIn() {
        switch plan.takeNext("login") {
        case .claimed, .ok: (hasLoggedIn, isLockOpen) = (true, true)
        case .recovered(let user):
            if isLockOpen {
                holder = .open
            } else if !isLocked {
                holder = .user(user)
            }
            (hasLoggedIn, isLockOpen) = (true, true)
        // A login that fails changes nothing (C-27).
        case .status, .reset: break
        case .never, .slow, .otherID, .noID, .nullID, .undefinedID, nil: holder = .open
        }
    }

    private mutating func take(_ change: PhoneChange) -> Bool {
        guard let act = change.act else {
            guard !hasLaunched else { return false }
            history = change.history ?? history
            if let text = change.vault[.id] {
                vaultUser = TemplateValues.users(in: [text]).first
            }
            if let lock = change.vault[.lock] { isLocked = lock == "true" }
            if change.installID != nil { isDisturbed = true }
            return true
        }
        switch act {
        case .reinstall, .loseID:
            guard hasLaunched, !isOpen, isSurelyClosed else { return false }
            holder = .open
            isLockOpen = true
            if act == .reinstall { isNewInstall = true }
        case .complete, .cancel, .fail:
            guard hasSheet else { return false }
            hasSheet = false
        case .secondPhone, .cloned: return false
        }
        return true
    }

    /// Whose id it must have, where the rules say so.
    var identity: AppExpectation.Identity.Wanted? {
        guard !isDisturbed, hasLaunched else { return nil }
        return switch holder {
        case .user(let user): .user(user)
        case .other: .changed
        case .open: nil
        }
    }
}
