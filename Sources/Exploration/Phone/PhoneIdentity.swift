/// The user whose ID a correct app keeps on the phone, and the lock of the ID.
///
/// Source: identity rules, part B: C-06, C-26 to C-31.
struct PhoneIdentity: Sendable {
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

    /// The lock of the user ID: no other ID may replace a locked ID without a decision of the user
    /// (C-29).
    enum Lock: Hashable, Sendable {
        case unlocked, locked
        /// It depends on the app if the user ID is locked.
        ///
        /// A login may lock the ID, and a lost ID may be unlocked.
        case undetermined
    }

    private(set) var user = PhoneUser.undetermined
    private(set) var lock = Lock.unlocked
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

    /// Records that the vault contains or lacks the lock before the first launch.
    mutating func setLock(_ isLocked: Bool) { lock = isLocked ? .locked : .unlocked }

    /// Determines the user at the first launch, by the vault and then by the store's history.
    mutating func launch(vaultUser: String?, _ storeHistory: PhoneStoreHistory) {
        if let vaultUser { return user = .user(vaultUser) }
        switch storeHistory.user {
        case .user(let historyUser):
            user = .user(historyUser)
            (hasAdoptedHistoryID, lock) = (true, .locked)
        // The app may take an ID from the store's history, and it locks such an ID.
        case .undetermined: lock = .undetermined
        case .noUser:
            if let unknownUser = storeHistory.namedUsers.first {
                user = .anyUserExcept(unknownUser)
            }
        }
    }

    mutating func restore(_ storeHistory: PhoneStoreHistory) {
        switch storeHistory.user {
        case .noUser: break
        case .undetermined:
            if storeHistory.mayContainUser { (user, lock) = (.undetermined, .undetermined) }
        // A restore does not silently replace a signed-in user (C-26).
        case .user where hasLoggedIn: break
        case .user where lock != .unlocked: (user, lock) = (.undetermined, .undetermined)
        // It depends on the app whether a restore locks the ID that the phone already has.
        case .user(let historyUser) where user == .user(historyUser): lock = .undetermined
        case .user(let historyUser):
            if user.isKnown { hasRestoredHistoryID = true }
            (user, lock) = (.user(historyUser), .locked)
        }
    }

    /// Records a successful login that keeps the user ID.
    mutating func logIn() { (hasLoggedIn, lock) = (true, .undetermined) }

    /// Records a login that returned the ID of a user, and returns whether the login may have
    /// changed the user.
    mutating func logIn(as accountUser: String) -> Bool {
        // A locked ID is not replaced without a decision of the user (C-29).
        if lock == .locked, user.isKnown, user != .user(accountUser) { return false }
        if lock == .unlocked {
            user = .user(accountUser)
        } else if user != .user(accountUser) {
            user = .undetermined
        }
        logIn()
        return true
    }

    /// Records that the identity rules no longer determine the user.
    mutating func loseTrack() { user = .undetermined }

    mutating func logOut() {
        user = .otherUser
        wasLoggedInBeforeLogout = hasLoggedIn
        hasLoggedOut = true
        hasLoggedIn = false
        lock = .unlocked
    }

    mutating func reinstall() { (user, lock) = (.undetermined, .undetermined) }

    /// Records that the vault lost the user ID.
    mutating func loseID(_ storeHistory: PhoneStoreHistory) {
        // The user logged out of an account and the store's history contains no other user. The
        // logged-out user must not return (C-31).
        if user == .otherUser, wasLoggedInBeforeLogout, storeHistory.user == .noUser,
            storeHistory.entries != nil
        {
            hasLostIDAfterLogout = true
        } else {
            user = .undetermined
        }
        lock = .undetermined
    }
}
