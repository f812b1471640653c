/// Promises of a correct client that can be told from its timeline alone (identity rules, part B).
package enum ClientPromise: String, Hashable, Codable, Sendable, CaseIterable {
    /// No bridge command at all (C-01).
    case silent
    /// Every id that is written, aliased or registered can be used (C-03, C-10).
    case usableIDs = "usable-ids"
    /// The lock is written before the id is registered (C-07).
    case lockedFirst = "locked-first"
    /// The id is written to the vault before it is registered (C-08).
    case writtenFirst = "written-first"
    /// Every launch, login, logout and restore ends with the alias of the id that it ends with
    /// (C-10).
    case aliased
    /// Vault, alias and last acknowledged registration agree in the end (C-11).
    case oneIdentity = "one-identity"
    /// A failed registration is tried again, and counts only when the answer names the id (C-12).
    case registersHonestly = "registers-honestly"
    /// Acknowledged registrations are not repeated without a reason (C-13).
    case registersOnce = "registers-once"
    /// Every registration is complete (C-14).
    case wholeRegistrations = "whole-registrations"
    /// The device id is the install id, and nothing unset is ever written out (C-15).
    case steadyDevice = "steady-device"
    /// No paywall before the same id is registered (C-16).
    case registeredBeforePaywall = "registered-before-paywall"
    /// A paywall names the id that vault, alias and registration carry at that moment (C-17).
    case onePurchaser = "one-purchaser"
    /// No paywall while a login, logout or restore goes on (C-18).
    case gated
    /// One paywall at a time (C-19).
    case singlePaywall = "single-paywall"
    /// Every command says what was meant (C-21).
    case encoded
    /// All acknowledged registrations of one phone name one id (C-08, C-22, C-33).
    case sameID = "same-id"
    /// After its last gesture, nothing that arrives late changes the id (C-34).
    case steadyID = "steady-id"
    /// The last gesture changed nothing on the phone and told the backend nothing (C-26, C-27).
    case unchanged
    /// The registrations of a login name the id that was current, and login is told it (C-27).
    case loginNamesCurrent = "login-names-current"
    /// Ids that the app makes up cannot be guessed (C-30).
    case unguessable
    /// Reads of one key never overlap (C-34).
    case readsInTurn = "reads-in-turn"
    /// Nothing private lies in the open, and no key is a name of the window (C-35).
    case privateVault = "private-vault"
    /// The page reported no error of its own (C-24).
    case unbroken
    /// The page has a function for what the native side calls (C-24).
    case calledBack = "called-back"
    /// Each page finds out once who its user is (C-33).
    case resolvesOnce = "resolves-once"
    /// A logout clears the lock before it writes another id (C-30).
    case unlocksFirst = "unlocks-first"
    /// While registrations fail, the pauses between them grow (C-13).
    case backsOff = "backs-off"

    /// The clause that says it; of several, the first.
    package var clause: String {
        switch self {
        case .silent: "C-01"
        case .usableIDs: "C-03"
        case .lockedFirst: "C-07"
        case .writtenFirst, .sameID: "C-08"
        case .aliased: "C-10"
        case .oneIdentity: "C-11"
        case .registersHonestly: "C-12"
        case .registersOnce, .backsOff: "C-13"
        case .wholeRegistrations: "C-14"
        case .steadyDevice: "C-15"
        case .registeredBeforePaywall: "C-16"
        case .onePurchaser: "C-17"
        case .gated: "C-18"
        case .singlePaywall: "C-19"
        case .encoded: "C-21"
        case .unbroken, .calledBack: "C-24"
        case .unchanged: "C-26"
        case .loginNamesCurrent: "C-27"
        case .unguessable, .unlocksFirst: "C-30"
        case .resolvesOnce: "C-33"
        case .steadyID, .readsInTurn: "C-34"
        case .privateVault: "C-35"
        }
    }
}
