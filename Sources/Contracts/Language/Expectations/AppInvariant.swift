/// An invariant of a correct app that can be checked from the app's timeline alone.
///
/// Source: part B of the identity rules, whose clauses have IDs such as C-01.
package enum AppInvariant: String, Hashable, Codable, Sendable, CaseIterable {
    /// The app sends no command over the bridge (clause C-01).
    case silent
    /// Every user ID that the app writes, aliases or registers is usable, not a placeholder such as
    /// `null` (clauses C-03 and C-10).
    case usableIDs = "usable-ids"
    /// The app writes the lock, which marks its user ID as final, to the vault before it registers
    /// the ID (clause C-07).
    case writesLockBeforeRegistering = "locked-first"
    /// The app writes its user ID to the vault before it registers the ID (clause C-08).
    case writesIDBeforeRegistering = "written-first"
    /// Every launch, login, logout and restore ends with an alias command for the final user ID
    /// (clause C-10).
    case aliased
    /// At the end, the vault, the alias and the last acknowledged registration have the same user
    /// ID (clause C-11).
    case endsWithOneUserID = "one-identity"
    /// The app retries a failed registration, and accepts a registration only when the response
    /// contains the user ID (clause C-12).
    case retriesFailedRegistrations = "registers-honestly"
    /// The app does not repeat an acknowledged registration without a reason (clause C-13).
    case repeatsNoRegistration = "registers-once"
    /// Every registration request contains all required fields (clause C-14).
    case completeRegistrations = "whole-registrations"
    /// The app uses the install ID as its device ID, and never writes an unset value (clause C-15).
    case usesInstallIDAsDeviceID = "steady-device"
    /// The app opens no paywall before the user ID of the paywall is registered (clause C-16).
    case registeredBeforePaywall = "registered-before-paywall"
    /// A paywall uses the user ID that the vault, the alias and the registration have at that time
    /// (clause C-17).
    case paywallUsesCurrentID = "one-purchaser"
    /// The app opens no paywall during a login, logout or restore (clause C-18).
    case gated
    /// At most one paywall is open at a time (clause C-19).
    case singlePaywall = "single-paywall"
    /// Every bridge command is encoded correctly (clause C-21).
    case encoded
    /// All acknowledged registrations of one phone have the same user ID (clauses C-08, C-22 and
    /// C-33).
    case registersSameUserID = "same-id"
    /// After the last user action, no delayed reply or response changes the user ID (clause C-34).
    case delayedRepliesKeepUserID = "steady-id"
    /// The last user action changes nothing on the phone and sends nothing to the backend (clauses
    /// C-26 and C-27).
    case unchanged
    /// The registrations and the login request that a login sends contain the current user ID
    /// (clause C-27).
    case loginSendsCurrentID = "login-names-current"
    /// User IDs that the app generates cannot be guessed (clause C-30).
    case unguessable
    /// The app's reads of the same vault key never overlap in time (clause C-34).
    case vaultReadsNeverOverlap = "reads-in-turn"
    /// The app stores no private value unencrypted, and no vault key is the name of a property of
    /// `window` (clause C-35).
    case vaultHoldsNoPrivateValues = "private-vault"
    /// The page's own code reports no error (clause C-24).
    case unbroken
    /// The page defines the functions that the native side calls (clause C-24).
    case definesNativeCallbacks = "called-back"
    /// Each page determines its user ID only once (clause C-33).
    case determinesUserIDOncePerPage = "resolves-once"
    /// A logout clears the lock in the vault before it writes another user ID (clause C-30).
    case logoutClearsLockFirst = "unlocks-first"
    /// The page sends at most one command to the native side in each of its tasks (clause C-36).
    case sendsOneCommandPerTask = "one-command-per-task"
    /// While registrations fail, the pauses between the attempts grow (clause C-13).
    case registrationPausesGrow = "backs-off"

    /// The ID of the clause that requires the invariant; the first ID if several clauses require
    /// it.
    package var clause: String {
        switch self {
        case .silent: "C-01"
        case .usableIDs: "C-03"
        case .writesLockBeforeRegistering: "C-07"
        case .writesIDBeforeRegistering, .registersSameUserID: "C-08"
        case .aliased: "C-10"
        case .endsWithOneUserID: "C-11"
        case .retriesFailedRegistrations: "C-12"
        case .repeatsNoRegistration, .registrationPausesGrow: "C-13"
        case .completeRegistrations: "C-14"
        case .usesInstallIDAsDeviceID: "C-15"
        case .registeredBeforePaywall: "C-16"
        case .paywallUsesCurrentID: "C-17"
        case .gated: "C-18"
        case .singlePaywall: "C-19"
        case .encoded: "C-21"
        case .unbroken, .definesNativeCallbacks: "C-24"
        case .unchanged: "C-26"
        case .loginSendsCurrentID: "C-27"
        case .unguessable, .logoutClearsLockFirst: "C-30"
        case .determinesUserIDOncePerPage: "C-33"
        case .delayedRepliesKeepUserID, .vaultReadsNeverOverlap: "C-34"
        case .vaultHoldsNoPrivateValues: "C-35"
        case .sendsOneCommandPerTask: "C-36"
        }
    }
}
