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
        @Sendable (_ tenantSettings: JSONObject, FirebaseCall) throws(FirebaseError) -> Void

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

    /// Returns an operation of an administrator that manages tenants.
    static func managingTenants(_ handle: @escaping Handler) -> Self {
        Self(isAdminOnly: true, managesTenants: true, handle: handle)
    }

    /// Returns an operation that neither the Firebase emulator nor this fake implements.
    private static func absent(_ name: String) -> Self {
        let error = FirebaseError.notImplemented(
            "\(name) is not implemented in the Auth Emulator."
        )
        return Self(absenceError: error) { _, _ throws(FirebaseError) in throw error }
    }
}

/// The operations that have several rows in the table.
extension FirebaseOperation {
    private static let signUp = Self(
        checkTenantSettings: FirebaseState.checkSignUp,
        handle: { state, call throws(FirebaseError) in try state.signUp(call) }
    )

    private static let signInWithPassword = Self(
        checkTenantSettings: FirebaseState.checkPasswordUse,
        handle: { state, call throws(FirebaseError) in try state.signInWithPassword(call) }
    )

    private static let signInWithIdp = Self { state, call throws(FirebaseError) in
        try state.signInWithIdp(call)
    }

    private static let signInWithCustomToken = Self { state, call throws(FirebaseError) in
        try state.signInWithCustomToken(call)
    }

    private static let signInWithEmailLink = Self(
        checkTenantSettings: FirebaseState.checkEmailLinkSignIn,
        handle: { state, call throws(FirebaseError) in try state.signInWithEmailLink(call) }
    )

    private static let sendVerificationCode = Self { state, call throws(FirebaseError) in
        try state.sendVerificationCode(call)
    }

    private static let signInWithPhoneNumber = Self { state, call throws(FirebaseError) in
        try state.signInWithPhoneNumber(call)
    }

    private static let sendActionCode = Self(
        checkTenantSettings: FirebaseState.checkActionCodeRequest,
        handle: { state, call throws(FirebaseError) in try state.sendActionCode(call) }
    )

    private static let resetPassword = Self(
        checkTenantSettings: FirebaseState.checkPasswordUse,
        handle: { state, call throws(FirebaseError) in try state.resetPassword(call) }
    )

    private static let updateAccount = Self { state, call throws(FirebaseError) in
        try state.updateAccount(call)
    }

    private static let lookUpAccounts = Self { state, call throws(FirebaseError) in
        try state.lookUpAccounts(call)
    }

    private static let deleteAccount = Self { state, call throws(FirebaseError) in
        try state.deleteAccount(call)
    }

    private static let createAuthURI = Self { state, call throws(FirebaseError) in
        try state.createAuthURI(call)
    }

    private static let batchGet = Self(
        isAdminOnly: true,
        handle: { state, call throws(FirebaseError) in try state.batchGet(call) }
    )

    private static let queryAccounts = Self(
        isAdminOnly: true,
        handle: { state, call throws(FirebaseError) in try state.queryAccounts(call) }
    )

    private static let batchCreate = Self(
        isAdminOnly: true,
        handle: { state, call throws(FirebaseError) in try state.batchCreate(call) }
    )

    private static let batchDelete = Self(
        isAdminOnly: true,
        handle: { state, call throws(FirebaseError) in try state.batchDelete(call) }
    )

    private static let createSessionCookie = Self(
        isAdminOnly: true,
        handle: { state, call throws(FirebaseError) in try state.createSessionCookie(call) }
    )

    private static let projectConfig = Self { state, call in state.projectConfig(call) }

    private static let recaptchaParams = Self { state, call in state.recaptchaParams(call) }
}

extension FirebaseOperation {
    static let table = OperationTable<FirebaseOperation>(
        "Identity Toolkit",
        hasDescription: false,
        emulatorRows + accountRows + projectRows + configurationRows + tenantRows
            + secondFactorRows + absentRows + legacyRows
    )

    private static let emulatorRows: [Row] = [
        .init(
            "POST",
            "/v1/token",
            FirebaseOperation(isTokenEndpoint: true) { state, call throws(FirebaseError) in
                try state.refresh(call)
            }
        ), .init("GET", "/v1/projects", projectConfig),
        .init("GET", "/v1/recaptchaParams", recaptchaParams),
    ]

    // MARK: Accounts

    /// The operations `accounts:NAME`.
    ///
    /// Callers with an API key use them directly, and administrators use them below the path of a
    /// project or a tenant.
    private static let accountOperations:
        [(method: String, name: String, operation: FirebaseOperation)] = [
            ("POST", "signUp", signUp), ("POST", "signInWithPassword", signInWithPassword),
            ("POST", "signInWithIdp", signInWithIdp),
            ("POST", "signInWithCustomToken", signInWithCustomToken),
            ("POST", "signInWithEmailLink", signInWithEmailLink),
            ("POST", "sendVerificationCode", sendVerificationCode),
            ("POST", "signInWithPhoneNumber", signInWithPhoneNumber),
            ("POST", "sendOobCode", sendActionCode), ("POST", "resetPassword", resetPassword),
            ("POST", "update", updateAccount), ("POST", "lookup", lookUpAccounts),
            ("POST", "delete", deleteAccount), ("POST", "createAuthUri", createAuthURI),
            ("GET", "batchGet", batchGet), ("POST", "query", queryAccounts),
            ("POST", "batchCreate", batchCreate), ("POST", "batchDelete", batchDelete),
        ]

    private static let accountRows = rows(of: "/v1/")

    private static let projectRows: [Row] =
        rows(of: "/v1/projects/{project}/") + rows(of: "/v1/projects/{project}/tenants/{tenant}/")
        + [
            .init("POST", "/v1/projects/{project}/accounts", signUp),
            .init("POST", "/v1/projects/{project}/tenants/{tenant}/accounts", signUp),
            .init("POST", "/v1/projects/{project}:createSessionCookie", createSessionCookie),
            .init(
                "POST",
                "/v1/projects/{project}/tenants/{tenant}:createSessionCookie",
                createSessionCookie
            ), .init("POST", "/v1/projects/{project}:queryAccounts", queryAccounts),
        ]

    private static func rows(of root: String) -> [Row] {
        accountOperations.map { Row($0.method, root + "accounts:" + $0.name, $0.operation) }
    }

    // MARK: Absent operations

    /// The operations that neither the Firebase emulator nor this fake implements.
    ///
    /// The response is 501 with the operation's name (Firebase fact sheet, section 4.15).
    private static var absentRows: [Row] {
        let (project, tenant) = (
            "/v2/projects/{project}", "/v2/projects/{project}/tenants/{tenant}"
        )
        var rows = [
            absentRow("GET", "/v2/passwordPolicy"), absentRow("GET", "/v2/recaptchaConfig"),
            absentRow("POST", "/v2/accounts:revokeToken"),
            absentRow("POST", "/v1/accounts:issueSamlResponse"),
            absentRow("POST", "/v1/accounts:signInWithGameCenter"),
            absentRow("POST", "/v1/accounts:verifyIosClient"),
            absentRow("POST", "/v2/accounts/passkeyEnrollment:start"),
            absentRow("POST", "/v2/accounts/passkeyEnrollment:finalize"),
            absentRow("POST", "/v2/accounts/passkeySignIn:start"),
            absentRow("POST", "/v2/accounts/passkeySignIn:finalize"),
            absentRow("GET", "/v2/defaultSupportedIdps"),
            absentRow("POST", project + "/identityPlatform:initializeAuth"),
        ]
        for root in [project, tenant] {
            for name in ["defaultSupportedIdpConfigs", "inboundSamlConfigs", "oauthIdpConfigs"] {
                let path = "\(root)/\(name)"
                for method in ["GET", "POST"] { rows.append(absentRow(method, path)) }
                for method in ["GET", "PATCH", "DELETE"] {
                    rows.append(absentRow(method, path + "/{config}"))
                }
            }
        }
        for verb in ["getIamPolicy", "setIamPolicy", "testIamPermissions"] {
            rows.append(absentRow("POST", "\(tenant):\(verb)"))
        }
        return rows
    }

    private static func absentRow(_ method: String, _ path: String) -> Row {
        let name = path.split(separator: "/").last { !$0.hasPrefix("{") || $0.contains(":") }
        return Row(method, path, absent(name.map(String.init) ?? path), supportStatus: .absent)
    }

    // MARK: Version 3

    private static let legacyRows: [Row] = [
        legacyRow("POST", "createAuthUri", createAuthURI),
        legacyRow("POST", "deleteAccount", deleteAccount),
        legacyRow("POST", "emailLinkSignin", signInWithEmailLink),
        legacyRow("POST", "getAccountInfo", lookUpAccounts),
        legacyRow("POST", "getOobConfirmationCode", sendActionCode),
        legacyRow("GET", "getProjectConfig", projectConfig),
        legacyRow("GET", "getRecaptchaParam", recaptchaParams),
        legacyRow("POST", "resetPassword", resetPassword),
        legacyRow("POST", "sendVerificationCode", sendVerificationCode),
        legacyRow("POST", "setAccountInfo", updateAccount),
        legacyRow("POST", "signupNewUser", signUp),
        legacyRow("POST", "verifyAssertion", signInWithIdp),
        legacyRow("POST", "verifyCustomToken", signInWithCustomToken),
        legacyRow("POST", "verifyPassword", signInWithPassword),
        legacyRow("POST", "verifyPhoneNumber", signInWithPhoneNumber),
        legacyRow("POST", "downloadAccount", downloadAccount),
        legacyRow("POST", "uploadAccount", uploadAccount),
        legacyRow("POST", "signOutUser", absent("signOutUser"), supportStatus: .absent),
    ]

    private static func legacyRow(
        _ method: String,
        _ name: String,
        _ operation: FirebaseOperation,
        supportStatus: ServiceOperation.SupportStatus? = nil
    ) -> Row {
        Row(
            method,
            "/identitytoolkit/v3/relyingparty/" + name,
            operation,
            supportStatus: supportStatus,
            isInAPIDescription: false
        )
    }

    private static let downloadAccount = Self(
        requiresTargetProject: true,
        handle: { state, call throws(FirebaseError) in try state.batchGet(call) }
    )

    private static let uploadAccount = Self(
        requiresTargetProject: true,
        handle: { state, call throws(FirebaseError) in try state.batchCreate(call) }
    )
}
