internal import Contracts
internal import Providers
internal import Values

/// The faults of the bridge and of the backend in the history of a phone, and their consequences.
struct PhoneFaults: Sendable {
    /// Whether a fault of the bridge, or a kill during an operation, may have prevented effects.
    private(set) var mayEffectsBeMissing = false
    /// Whether the vault and the OneSignal alias keep values exactly as written, without decoding
    /// them (C-22).
    private(set) var areVaultValuesKeptRaw = false
    /// Whether any registration failed so far.
    private(set) var hasFailedRegistration = false
    /// Whether all registrations fail permanently.
    private(set) var areAllRegistrationsFailing = false
    private var lostVaultWriteRoles: Set<VaultRole?> = []

    /// Whether no fault can have prevented effects.
    var areNone: Bool { !mayEffectsBeMissing && !hasFailedRegistration }

    mutating func recordPossiblyMissingEffects() { mayEffectsBeMissing = true }

    /// Adds the faults of a bridge plan, and returns whether the history can contain these faults
    /// in addition to the earlier ones.
    ///
    /// No identity rule defines how many lost writes an app must survive. Therefore one step must
    /// contain all losses of the same vault entry.
    mutating func add(_ plan: BridgePlan) -> Bool {
        let droppedVaultRoles = plan.faults
            .filter { $0.kind == .drop && $0.scheme == "setvault" }.map(\.role)
        guard lostVaultWriteRoles.isDisjoint(with: droppedVaultRoles) else { return false }
        lostVaultWriteRoles.formUnion(droppedVaultRoles)
        if !plan.faults.isEmpty { mayEffectsBeMissing = true }
        if plan.switches["vaultDecode"]?.string == "raw" { areVaultValuesKeptRaw = true }
        return true
    }

    /// Adds the planned responses of the app's backend.
    mutating func add(_ plan: AppBackendPlan) {
        guard plan.responses["register"] != nil else { return }
        hasFailedRegistration = true
        if plan.repeatsLastResponse { areAllRegistrationsFailing = true }
    }
}
