internal import Values

/// An operation of the Identity Toolkit or of the secure token service, with its handler (Firebase
/// fact sheet, section 1).
///
/// The operations of version 2 follow Google's reference.
struct FirebaseOperation: Sendable {
    typealias Row = OperationTable<FirebaseOperation>.Row

    /// A function that carries out an operation and returns the fields of the response.
    typealias Handler =
        @Sendable (inout FirebaseState, FirebaseCall) throws(FirebaseError) -> JSONObject

    /// A function that refuses a user's call that the settings of the call's tenant do not allow.
    typealias TenantCheck =
        @Sendable (FirebaseTenantSettings) -> (FirebaseCall) throws(FirebaseError) -> Void

    var isAdminOnly = false
    /// Whether the operation manages tenants (separate groups of accounts) rather than the accounts
    /// in a tenant.
    var managesTenants = false
    /// Whether a call must name its project in the field `targetProjectId`.
    var requiresTargetProject = false
    /// Whether the operation is the endpoint of the secure token service.
    ///
    /// It accepts forms and ignores the credentials of an administrator.
    var isTokenEndpoint = false
    /// The error of an operation that neither the Firebase emulator nor this fake implements.
    ///
    /// The fake throws it before it checks the caller. It is nil for other operations.
    var absenceError: FirebaseError?
    /// The check of the tenant's settings; nil when no setting forbids the operation.
    var checkTenantSettings: TenantCheck?
    let handle: Handler

    /// Returns a handler that does not change the state.
    static func reading(
        _ read:
            @escaping @Sendable (FirebaseState, FirebaseCall) throws(FirebaseError) -> JSONObject
    ) -> Handler {
        { state, call throws(FirebaseError) in try read(state, call) }
    }

    /// Returns an operation of an administrator that manages tenants.
    static func managingTenants(_ handle: @escaping Handler) -> Self {
        Self(isAdminOnly: true, managesTenants: true, handle: handle)
    }

    /// Returns an operation that neither the Firebase emulator nor this fake implements.
    static func absent(_ name: String) -> Self {
        let error = FirebaseError.notImplemented(
            "\(name) is not implemented in the Auth Emulator."
        )
        return Self(absenceError: error) { _, _ throws(FirebaseError) in throw error }
    }
}
