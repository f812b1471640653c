/// The operations of the Identity Toolkit and of the secure token service (Firebase fact sheet,
/// section 1).
///
/// The operations of version 2 follow Google's reference.
enum FirebaseOperation: Hashable, Sendable {
    case signUp, signInWithPassword, signInWithIdp, signInWithCustomToken, signInWithEmailLink
    case sendVerificationCode, signInWithPhoneNumber, sendOobCode, resetPassword, updateAccount
    case lookUpAccounts, deleteAccount, createAuthUri, batchGet, query, batchCreate, batchDelete
    case createSessionCookie, token, projectConfig, recaptchaParams, config, updateConfig
    case downloadAccount, uploadAccount
    case startEnrollment, finishEnrollment, withdrawFactor, startSecondStep, finishSecondStep
    case createTenant, viewTenant, listTenants, updateTenant, deleteTenant
    /// An operation that neither the Firebase emulator nor this fake implements, with its name.
    case absent(String)

    var isAdminOnly: Bool {
        switch self {
        case .batchGet, .query, .batchCreate, .batchDelete, .createSessionCookie, .config,
            .updateConfig, .createTenant, .viewTenant, .listTenants, .updateTenant, .deleteTenant:
            true
        case .signUp, .signInWithPassword, .signInWithIdp, .signInWithCustomToken,
            .signInWithEmailLink, .sendVerificationCode, .signInWithPhoneNumber, .sendOobCode,
            .resetPassword, .updateAccount, .lookUpAccounts, .deleteAccount, .createAuthUri, .token,
            .projectConfig,
            .recaptchaParams, .downloadAccount, .uploadAccount, .startEnrollment, .finishEnrollment,
            .withdrawFactor, .startSecondStep, .finishSecondStep, .absent:
            false
        }
    }

    /// Whether the operation manages tenants (separate groups of accounts) rather than the accounts
    /// in a tenant.
    var managesTenants: Bool {
        [.createTenant, .viewTenant, .listTenants, .updateTenant, .deleteTenant].contains(self)
    }

    var isLegacyBulkTransfer: Bool { self == .downloadAccount || self == .uploadAccount }

    /// The operations `accounts:NAME`.
    ///
    /// Callers with an API key use them directly, and administrators use them below the path of a
    /// project or a tenant.
    private static let accountOperations: [(name: String, operation: FirebaseOperation)] = [
        ("signUp", .signUp), ("signInWithPassword", .signInWithPassword),
        ("signInWithIdp", .signInWithIdp), ("signInWithCustomToken", .signInWithCustomToken),
        ("signInWithEmailLink", .signInWithEmailLink),
        ("sendVerificationCode", .sendVerificationCode),
        ("signInWithPhoneNumber", .signInWithPhoneNumber), ("sendOobCode", .sendOobCode),
        ("resetPassword", .resetPassword), ("update", .updateAccount), ("lookup", .lookUpAccounts),
        ("delete", .deleteAccount), ("createAuthUri", .createAuthUri), ("batchGet", .batchGet),
        ("query", .query), ("batchCreate", .batchCreate), ("batchDelete", .batchDelete),
    ]

    private static let legacyOperations: [(name: String, operation: FirebaseOperation)] = [
        ("createAuthUri", .createAuthUri), ("deleteAccount", .deleteAccount),
        ("emailLinkSignin", .signInWithEmailLink), ("getAccountInfo", .lookUpAccounts),
        ("getOobConfirmationCode", .sendOobCode), ("getProjectConfig", .projectConfig),
        ("getRecaptchaParam", .recaptchaParams), ("resetPassword", .resetPassword),
        ("sendVerificationCode", .sendVerificationCode), ("setAccountInfo", .updateAccount),
        ("signupNewUser", .signUp), ("verifyAssertion", .signInWithIdp),
        ("verifyCustomToken", .signInWithCustomToken), ("verifyPassword", .signInWithPassword),
        ("verifyPhoneNumber", .signInWithPhoneNumber), ("downloadAccount", .downloadAccount),
        ("uploadAccount", .uploadAccount), ("signOutUser", .absent("signOutUser")),
    ]

    static let table = OperationTable<FirebaseOperation>(
        "Identity Toolkit",
        hasDescription: false,
        emulatorRows + accountRows + projectRows + secondFactorRows + absentRows + legacyRows
    )

    private static let emulatorRows: [OperationTable<FirebaseOperation>.Row] = [
        .init("POST", "/v1/token", .token), .init("GET", "/v1/projects", .projectConfig),
        .init("GET", "/v1/recaptchaParams", .recaptchaParams),
    ]

    private static let accountRows = rows(of: "/v1/")

    private static let projectRows: [OperationTable<FirebaseOperation>.Row] =
        rows(of: "/v1/projects/{project}/") + rows(of: "/v1/projects/{project}/tenants/{tenant}/")
        + [
            .init("POST", "/v1/projects/{project}/accounts", .signUp),
            .init("POST", "/v1/projects/{project}/tenants/{tenant}/accounts", .signUp),
            .init("POST", "/v1/projects/{project}:createSessionCookie", .createSessionCookie),
            .init(
                "POST",
                "/v1/projects/{project}/tenants/{tenant}:createSessionCookie",
                .createSessionCookie
            ), .init("POST", "/v1/projects/{project}:queryAccounts", .query),
            .init("GET", "/v2/projects/{project}/config", .config),
            .init("PATCH", "/v2/projects/{project}/config", .updateConfig),
            .init("POST", "/v2/projects/{project}/tenants", .createTenant),
            .init("GET", "/v2/projects/{project}/tenants", .listTenants),
            .init("GET", "/v2/projects/{project}/tenants/{tenant}", .viewTenant),
            .init("PATCH", "/v2/projects/{project}/tenants/{tenant}", .updateTenant),
            .init("DELETE", "/v2/projects/{project}/tenants/{tenant}", .deleteTenant),
        ]

    private static let secondFactorRows: [OperationTable<FirebaseOperation>.Row] = [
        .init("POST", "/v2/accounts/mfaEnrollment:start", .startEnrollment),
        .init("POST", "/v2/accounts/mfaEnrollment:finalize", .finishEnrollment),
        .init("POST", "/v2/accounts/mfaEnrollment:withdraw", .withdrawFactor),
        .init("POST", "/v2/accounts/mfaSignIn:start", .startSecondStep),
        .init("POST", "/v2/accounts/mfaSignIn:finalize", .finishSecondStep),
    ]

    /// The operations that neither the Firebase emulator nor this fake implements.
    ///
    /// The response is 501 with the operation's name (Firebase fact sheet, section 4.15).
    private static var absentRows: [OperationTable<FirebaseOperation>.Row] {
        let (project, tenant) = (
            "/v2/projects/{project}", "/v2/projects/{project}/tenants/{tenant}"
        )
        var rows = [
            absent("GET", "/v2/passwordPolicy"), absent("GET", "/v2/recaptchaConfig"),
            absent("POST", "/v2/accounts:revokeToken"),
            absent("POST", "/v1/accounts:issueSamlResponse"),
            absent("POST", "/v1/accounts:signInWithGameCenter"),
            absent("POST", "/v1/accounts:verifyIosClient"),
            absent("POST", "/v2/accounts/passkeyEnrollment:start"),
            absent("POST", "/v2/accounts/passkeyEnrollment:finalize"),
            absent("POST", "/v2/accounts/passkeySignIn:start"),
            absent("POST", "/v2/accounts/passkeySignIn:finalize"),
            absent("GET", "/v2/defaultSupportedIdps"),
            absent("POST", project + "/identityPlatform:initializeAuth"),
        ]
        for root in [project, tenant] {
            for name in ["defaultSupportedIdpConfigs", "inboundSamlConfigs", "oauthIdpConfigs"] {
                let path = "\(root)/\(name)"
                for method in ["GET", "POST"] { rows.append(absent(method, path)) }
                for method in ["GET", "PATCH", "DELETE"] {
                    rows.append(absent(method, path + "/{config}"))
                }
            }
        }
        for verb in ["getIamPolicy", "setIamPolicy", "testIamPermissions"] {
            rows.append(absent("POST", "\(tenant):\(verb)"))
        }
        return rows
    }

    private static let legacyRows: [OperationTable<FirebaseOperation>.Row] = legacyOperations.map {
        var (isReadOnly, supportStatus) = (false, ServiceOperation.SupportStatus.served)
        isReadOnly = [.projectConfig, .recaptchaParams].contains($0.operation)
        if case .absent = $0.operation { supportStatus = .absent }
        return OperationTable<FirebaseOperation>.Row(
            isReadOnly ? "GET" : "POST",
            "/identitytoolkit/v3/relyingparty/" + $0.name,
            $0.operation,
            supportStatus: supportStatus,
            isInAPIDescription: false
        )
    }

    private static func rows(
        of root: String
    ) -> [OperationTable<FirebaseOperation>.Row] {
        accountOperations.map {
            .init(
                $0.operation == .batchGet ? "GET" : "POST",
                root + "accounts:" + $0.name,
                $0.operation
            )
        }
    }

    private static func absent(
        _ method: String,
        _ path: String
    ) -> OperationTable<FirebaseOperation>.Row {
        let name = path.split(separator: "/").last { !$0.hasPrefix("{") || $0.contains(":") }
        return .init(method, path, .absent(name.map(String.init) ?? path), supportStatus: .absent)
    }
}
