/// The operations that have several rows in the table.
extension FirebaseOperation {
    private static let signUp = Self(
        checkTenantSettings: FirebaseTenantSettings.checkSignUp,
        handle: FirebaseSignUp.signUp
    )

    private static let signInWithPassword = Self(
        checkTenantSettings: FirebaseTenantSettings.checkPasswordUse,
        handle: FirebasePasswordSignIn.signIn
    )

    private static let signInWithIdp = Self(handle: FirebaseProviderSignIn.signIn)

    private static let signInWithCustomToken = Self(handle: FirebaseCustomTokenSignIn.signIn)

    private static let signInWithEmailLink = Self(
        checkTenantSettings: FirebaseTenantSettings.checkEmailLinkSignIn,
        handle: FirebaseEmailLinkSignIn.signIn
    )

    private static let sendVerificationCode = Self(handle: FirebasePhoneSignIn.sendCode)

    private static let signInWithPhoneNumber = Self(handle: FirebasePhoneSignIn.signIn)

    private static let sendActionCode = Self(
        checkTenantSettings: FirebaseTenantSettings.checkActionCodeRequest,
        handle: FirebaseActionCodeRequests.send
    )

    private static let resetPassword = Self(
        checkTenantSettings: FirebaseTenantSettings.checkPasswordUse,
        handle: FirebaseActionCodes.resetPassword
    )

    private static let updateAccount = Self(handle: FirebaseAccountUpdate.update)

    private static let lookUpAccounts = Self(handle: reading(FirebaseAccountLookup.lookUp))

    private static let deleteAccount = Self(handle: FirebaseAccountDeletion.delete)

    private static let createAuthURI = Self(handle: FirebaseSignInMethods.createAuthURI)

    private static let batchGet = Self(
        isAdminOnly: true,
        handle: reading(FirebaseAccountLists.export)
    )

    private static let queryAccounts = Self(
        isAdminOnly: true,
        handle: reading(FirebaseAccountLists.query)
    )

    private static let batchCreate = Self(
        isAdminOnly: true,
        handle: FirebaseAccountImport.importAccounts
    )

    private static let batchDelete = Self(
        isAdminOnly: true,
        handle: FirebaseAccountDeletion.deleteAccounts
    )

    private static let createSessionCookie = Self(
        isAdminOnly: true,
        handle: FirebaseSessionCookies.create
    )

    private static let projectConfig = Self(
        handle: reading(FirebaseConfigurationOperations.publicConfig)
    )

    private static let recaptchaParams = Self(
        handle: reading(FirebaseConfigurationOperations.recaptchaParams)
    )
}

/// The table of the operations of Firebase Auth.
extension FirebaseOperation {
    static let table = OperationTable<FirebaseOperation>(
        "Identity Toolkit",
        hasDescription: false,
        emulatorRows + accountRows + projectRows + configurationRows + tenantRows
            + secondFactorEnrollmentRows + secondFactorSignInRows + absentRows + legacyRows
    )

    private static let emulatorRows: [Row] = [
        .init(
            "POST",
            "/v1/token",
            FirebaseOperation(isTokenEndpoint: true, handle: FirebaseTokenRefresh.refresh)
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
        handle: reading(FirebaseAccountLists.export)
    )

    private static let uploadAccount = Self(
        requiresTargetProject: true,
        handle: FirebaseAccountImport.importAccounts
    )
}
