internal import Conformance

/// Which operation a path names, section 1.
struct FirebaseRoute {
    enum Operation: String, CaseIterable {
        case signUp, signInWithPassword, signInWithIdp, signInWithCustomToken, signInWithEmailLink
        case sendVerificationCode, signInWithPhoneNumber, sendOobCode, resetPassword, update
        case lookup, delete, createAuthUri, batchGet, query, batchCreate, batchDelete
        case createSessionCookie, token, projectConfig, recaptchaParams, config, updateConfig
        case downloadAccount, uploadAccount, unimplemented

        var isAdminOnly: Bool {
            switch self {
            case .batchGet, .query, .batchCreate, .batchDelete, .createSessionCookie, .config,
                .updateConfig:
                true
            default: false
            }
        }

        var isLegacyBulk: Bool { self == .downloadAccount || self == .uploadAccount }
    }

    var operation: Operation
    var projectID: String?
    var tenantID: String?

    private static let legacy: [String: Operation] = [
        "createAuthUri": .createAuthUri, "deleteAccount": .delete,
        "emailLinkSignin": .signInWithEmailLink, "getAccountInfo": .lookup,
        "getOobConfirmationCode": .sendOobCode, "getProjectConfig": .projectConfig,
        "getRecaptchaParam": .recaptchaParams, "resetPassword": .resetPassword,
        "sendVerificationCode": .sendVerificationCode, "setAccountInfo": .update,
        "signupNewUser": .signUp, "verifyAssertion": .signInWithIdp,
        "verifyCustomToken": .signInWithCustomToken, "verifyPassword": .signInWithPassword,
        "verifyPhoneNumber": .signInWithPhoneNumber, "downloadAccount": .downloadAccount,
        "uploadAccount": .uploadAccount, "signOutUser": .unimplemented,
    ]

    /// Operations of `accounts:OP`; the others have paths of their own.
    private static let accountOperations: Set<Operation> = [
        .signUp, .signInWithPassword, .signInWithIdp, .signInWithCustomToken,
        .signInWithEmailLink, .sendVerificationCode, .signInWithPhoneNumber, .sendOobCode,
        .resetPassword, .update, .lookup, .delete, .createAuthUri, .batchGet, .query,
        .batchCreate, .batchDelete,
    ]

    init?(_ method: String, _ segments: [String]) {
        if segments.starts(with: ["identitytoolkit", "v3", "relyingparty"]), segments.count == 4 {
            guard let operation = Self.legacy[segments[3]] else { return nil }
            let isRead = operation == .projectConfig || operation == .recaptchaParams
            guard method == (isRead ? "GET" : "POST") else { return nil }
            self.operation = operation
            return
        }
        guard segments.count >= 2 else { return nil }
        let names = Array(segments.dropFirst())
        guard names.count >= 2 else {
            guard let found = Self.global(method, segments[0], names[0]) else { return nil }
            operation = found
            return
        }
        guard names[0] == "projects" else { return nil }
        // `projects/{id}`, and below it `tenants/{id}`.
        let isTenant = names.count >= 4 && names[2] == "tenants"
        var owner = isTenant ? names[3] : names[1]
        let rest = Array(names.dropFirst(isTenant ? 4 : 2))
        if rest.isEmpty {
            // The verb stands behind the id.
            let parts = owner.split(separator: ":", maxSplits: 1).map(String.init)
            guard parts.count == 2, segments[0] == "v1", method == "POST",
                let found = Self.verbs[parts[1]], !isTenant || found == .createSessionCookie
            else { return nil }
            owner = parts[0]
            operation = found
        } else {
            guard rest.count == 1,
                let found = Self.inProject(method, segments[0], rest[0], isTenant: isTenant)
            else { return nil }
            operation = found
        }
        projectID = isTenant ? names[1] : owner
        tenantID = isTenant ? owner : nil
    }

    private static let verbs: [String: Operation] = [
        "createSessionCookie": .createSessionCookie, "queryAccounts": .query,
    ]

    /// Routes of callers with an API key, who name no project.
    private static func global(_ method: String, _ version: String, _ name: String) -> Operation? {
        switch (version, name) {
        case ("v1", "token") where method == "POST": .token
        case ("v1", "projects") where method == "GET": .projectConfig
        case ("v1", "recaptchaParams") where method == "GET": .recaptchaParams
        case ("v2", "passwordPolicy"), ("v2", "recaptchaConfig"), ("v2", "accounts:revokeToken"):
            .unimplemented
        case ("v1", let name) where name != "accounts": account(name, method: method)
        default: nil
        }
    }

    private static func inProject(
        _ method: String,
        _ version: String,
        _ name: String,
        isTenant: Bool
    ) -> Operation? {
        switch (version, name, method) {
        case ("v1", let name, _): account(name, method: method)
        case ("v2", "config", "GET") where !isTenant: .config
        case ("v2", "config", "PATCH") where !isTenant: .updateConfig
        default: nil
        }
    }

    /// `accounts`, which signs up, or `accounts:OP`.
    private static func account(_ text: String, method: String) -> Operation? {
        if text == "accounts" { return method == "POST" ? .signUp : nil }
        guard text.hasPrefix("accounts:"),
            let operation = Operation(rawValue: String(text.dropFirst("accounts:".count))),
            accountOperations.contains(operation)
        else { return nil }
        return method == (operation == .batchGet ? "GET" : "POST") ? operation : nil
    }
}
