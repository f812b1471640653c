internal import Conformance

/// Who a correct app's user is after each step, and what it shows, as far as the rules fix it.
///
/// Source: identity rules, part B: C-01 to C-09, C-16 to C-31.
struct PhoneModel: Sendable {
    /// Whose id the phone has.
    enum Holder: Hashable, Sendable {
        case user(String)
        /// One that a logout made up.
        case other
        /// Whoever else: a purchase in the history is of somebody who must not be taken for the user.
        case not(String)
        /// The rules leave it to what the app finds.
        case open

        /// Whether one id is meant.
        var isKnown: Bool {
            switch self {
            case .user, .other: true
            case .not, .open: false
            }
        }
    }

    /// Whether the page shows what is paid for.
    enum Access: Hashable, Sendable {
        case no, yes, open
    }

    /// What the page can be asked to show of the subscription (C-25).
    enum Status: Hashable, Sendable {
        /// The history says nothing, which is no end of a subscription.
        case unknown
        case active(product: String)
    }

    private(set) var holder = Holder.open
    private(set) var access = Access.no
    /// What the page shows of the subscription since it was looked at; nil: nobody can tell.
    private(set) var status: Status?
    private(set) var isOpen = false
    /// Two pages are open, of which nobody can say which one is tapped.
    private var isDoubled = false
    private(set) var wasDoubled = false
    /// Whether a sheet of the store waits for its end.
    private(set) var hasSheet = false
    /// It was asked for while something went on, and may not have come.
    private(set) var isSheetDoubtful = false
    /// The page is told how a sheet ends.
    private var hasResults = true
    /// The page may believe that the sheet which was closed is still there.
    private var isSheetBelieved = false
    private(set) var hasLoggedOut = false
    private(set) var hasLoggedIn = false
    /// The last logout was one of an account.
    private var hasLeftAccount = false
    /// An account was left, and the vault's entry is lost since (C-31).
    private(set) var hasLostLeft = false
    /// The first launch took the id of a purchase in the store's history.
    private(set) var hasAdopted = false
    /// The button took another id than the phone had from the store's history.
    private(set) var hasRestored = false
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
    /// Nothing was done but opening and closing pages.
    private(set) var isOnlyOpened = true
    /// The last gesture must change nothing: a restore or a login that finds nobody.
    private(set) var idleGesture: AppAction.Name?
    private var history: [HistoryEntry]?
    /// The history is answered in another form than usual.
    private var manner: String?
    private(set) var vaultUser: String?
    private var hasLaunched = false
    /// Something was bought, which the store keeps.
    private var hasCompleted = false
    /// The backend may have heard of a purchase.
    private var hasBought = false
    /// How many paywalls must have opened; nil: nobody can tell.
    private(set) var paywallCount: Int? = 0
    private(set) var hasCallback = false
    /// No runtime is there.
    private(set) var isBrowser = false
    /// The install id never comes.
    private(set) var isNameless = false
    /// A fault of the bridge, or a death in the middle, may keep anything from being done.
    private(set) var isDisturbed = false
    private var lostWrites: Set<PhoneChange.VaultRole?> = []
    /// Registrations went wrong at some time.
    private var hasTrouble = false
    /// Registrations go wrong for ever.
    private(set) var isShut = false
    /// Registrations fail at once from before the first launch on, and there is time to try again.
    private(set) var isTriedAgain = false
    /// Somebody's id is no plain word.
    let hasHardIDs: Bool
    /// Vault and alias keep what was written as it came, however it was written (C-22).
    private(set) var isRaw = false
    private var plan = AppBackendPlan()

    init(ids: [String: String] = [:]) {
        hasHardIDs = !ids.isEmpty
    }

    /// What must happen happens: nothing is in its way.
    private var isWell: Bool { !isDisturbed && !hasTrouble && !isBrowser }

    /// - Returns: Whether it can happen here at all.
    mutating func perform(_ step: PhoneStep) -> Bool {
        switch step {
        case .app(let action): return act(action)
        case .phone(let change): return take(change)
        case .bridge(let plan):
            guard takes(plan.faults) else { return false }
            if !plan.faults.isEmpty { isDisturbed = true }
            // In another form it may not be understood.
            if let word = plan.switches["history"]?.string { manner = word }
            // Without it a page never learns that its sheet is closed.
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

    /// Faults add up, and how many lost writes in a row an app gets over is not said anywhere: they are
    /// lost by one plan.
    private mutating func takes(_ faults: [BridgePlan.Fault]) -> Bool {
        let losses = faults.filter { $0.kind == .drop && $0.scheme == "setvault" }.map(\.role)
        guard lostWrites.isDisjoint(with: losses) else { return false }
        lostWrites.formUnion(losses)
        return true
    }

    // MARK: Acts

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
            // A page dies of what follows from a login, which needs one that goes well.
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

    /// Within this time several attempts are made, whose distances can be compared.
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
        // Which one it takes, if any, it locks.
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

    /// A new page knows neither sheets nor what was unlocked.
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

    /// What the page shows when it is asked for the subscription.
    private var shownStatus: Status? {
        guard !hasCompleted, !isBrowser else { return nil }
        if let manner { return ["silent", "null"].contains(manner) ? .unknown : nil }
        guard isWell, let only = history?.first, history?.count == 1, only.isActive,
            only.environment == "production", !only.isAnonymous
        else { return nil }
        return .active(product: only.product)
    }

    // MARK: Who it is

    /// Whom the store's history names (C-06); silence may be any of it.
    private var choice: HistoryChoice {
        if manner != nil || hasCompleted { return .open }
        return HistoryChoice(history ?? [])
    }

    /// An account was left, and nobody else's id is to be found: who has logged out must not come back
    /// (C-31).
    private var hasLeft: Bool {
        holder == .other && hasLeftAccount && choice == .nobody && history != nil
    }

    private mutating func restore() {
        guard !isBrowser else { return }
        switch choice {
        case .nobody: idleGesture = isWell ? .restore : nil
        case .open: if history != nil || hasCompleted { (holder, isLockOpen) = (.open, true) }
        // Who is signed in is not replaced without a word (C-26).
        case .user where hasLoggedIn: break
        case .user where isLocked || isLockOpen: (holder, isLockOpen) = (.open, true)
        // Whether it locks what it has already is the app's.
        case .user(let user) where holder == .user(user): isLockOpen = true
        case .user(let user):
            if holder.isKnown { hasRestored = true }
            (holder, isLocked) = (.user(user), true)
        }
        if hasBought { access = .open }
    }

    /// Whether the login that is planned goes well, or even ends with another id being written.
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
            // What is locked is not replaced without a decision (C-29).
            if isLocked, !isLockOpen, holder.isKnown, holder != .user(user) { break }
            if isLockOpen || isLocked {
                if holder != .user(user) { holder = .open }
            } else {
                holder = .user(user)
            }
            (hasLoggedIn, isLockOpen) = (true, true)
            if hasBought { access = .open }
        // A login that fails, or names nobody, changes nothing (C-27).
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
        // What one person unlocked is not the next one's (C-30).
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

    /// Whose id it must have, where the rules say so.
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

/// Whom purchases of the store account name (C-06): of those that are still active the latest, else
/// the latest that has ended.
enum HistoryChoice: Hashable, Sendable {
    case user(String)
    case nobody
    /// Two of one moment.
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
    /// Whether a call fails as soon as it arrives.
    fileprivate var failsAtOnce: Bool {
        switch self {
        case .status, .reset: true
        case .ok, .never, .slow, .otherID, .noID, .nullID, .undefinedID, .claimed, .recovered:
            false
        }
    }
}
