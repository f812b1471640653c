internal import Values

/// Operations on tenants, which are separate groups of accounts in a project (Identity Platform's
/// reference, v2 *projects.tenants*).
///
/// The Firebase emulator creates a tenant on first use.
extension FirebaseState {
    /// The settings of a tenant that the tenant's owner can change.
    private static let tenantMembers = [
        "displayName", "allowPasswordSignup", "enableEmailLinkSignin", "disableAuth",
        "enableAnonymousUser", "mfaConfig", "testPhoneNumbers", "hashConfig", "inheritance",
        "recaptchaConfig", "smsRegionConfig", "monitoring", "passwordPolicyConfig",
        "emailPrivacyConfig", "client", "autodeleteAnonymousUsers",
    ]

    // MARK: Checks

    /// Refuses a call that the settings of its tenant do not allow.
    func checkTenant(
        _ call: FirebaseCall,
        _ checkTenantSettings: FirebaseOperation.TenantCheck? = nil
    ) throws(FirebaseError) {
        guard call.tenantID != nil else { return }
        guard let tenantSettings = project(call).tenant else {
            guard settings.refusesUnknownTenants != true || projects[call.key] != nil else {
                throw FirebaseError("TENANT_NOT_FOUND")
            }
            return
        }
        guard tenantSettings["disableAuth"] != true else { throw FirebaseError("PROJECT_DISABLED") }
        guard !call.isAdmin, let checkTenantSettings else { return }
        try checkTenantSettings(tenantSettings, call)
    }

    /// Refuses a sign-in with a password and a password reset.
    static func checkPasswordUse(
        _ tenantSettings: JSONObject,
        _: FirebaseCall
    ) throws(FirebaseError) {
        guard tenantSettings["allowPasswordSignup"] == true else {
            throw FirebaseError("PASSWORD_LOGIN_DISABLED")
        }
    }

    static func checkSignUp(
        _ tenantSettings: JSONObject,
        _ call: FirebaseCall
    ) throws(FirebaseError) {
        let isAnonymous = ["email", "password", "idToken"].allSatisfy { !call.fields.hasValue($0) }
        guard !isAnonymous || tenantSettings["enableAnonymousUser"] == true else {
            throw FirebaseError("ADMIN_ONLY_OPERATION")
        }
        guard isAnonymous || tenantSettings["allowPasswordSignup"] == true else {
            throw FirebaseError("OPERATION_NOT_ALLOWED")
        }
    }

    /// Refuses a request for a sign-in link by email.
    static func checkActionCodeRequest(
        _ tenantSettings: JSONObject,
        _ call: FirebaseCall
    ) throws(FirebaseError) {
        let isEmailLinkRequest = ["EMAIL_SIGNIN", "6"].contains(call.fields["requestType"] ?? "")
        guard !isEmailLinkRequest || tenantSettings["enableEmailLinkSignin"] == true else {
            throw FirebaseError("OPERATION_NOT_ALLOWED")
        }
    }

    static func checkEmailLinkSignIn(
        _ tenantSettings: JSONObject,
        _: FirebaseCall
    ) throws(FirebaseError) {
        guard tenantSettings["enableEmailLinkSignin"] == true else {
            throw FirebaseError("OPERATION_NOT_ALLOWED")
        }
    }

    // MARK: Configuration

    private static let tenantNotFound = FirebaseError("TENANT_NOT_FOUND")

    private func tenantJSON(_ tenant: FirebaseProject) -> JSONObject {
        let id = tenant.tenantID ?? ""
        var tenantJSON: JSONObject = [
            "name": .string("projects/\(tenant.projectID)/tenants/\(id)"), "tenantId": .string(id),
        ]
        let tenantSettings =
            tenant.tenant ?? [
                "allowPasswordSignup": true, "enableEmailLinkSignin": true,
                "enableAnonymousUser": true, "disableAuth": false,
            ]
        for member in tenantSettings.members { tenantJSON[member.key] = member.value }
        return tenantJSON
    }

    mutating func createTenant(_ call: FirebaseCall) throws(FirebaseError) -> JSONObject {
        let displayName = call.fields.nonEmptyText("displayName") ?? ""
        let id =
            (displayName.isEmpty ? "tenant" : displayName.lowercased()) + "-"
            + ids.drawString(
                5,
                from: "abcdefghijklmnopqrstuvwxyz0123456789"
            )
        var tenantSettings: JSONObject = [
            "allowPasswordSignup": false, "enableEmailLinkSignin": false, "disableAuth": false,
            "enableAnonymousUser": false,
            "mfaConfig": ["state": "DISABLED", "enabledProviders": []],
        ]
        try Self.checkTenantFields(call.fields.object, nil)
        try tenantSettings.copyFields(
            Self.tenantMembers.filter(call.fields.hasValue),
            from: call.fields.object
        )
        let tenantCall = self.call(call, tenant: id)
        editProject(tenantCall) { $0.tenant = tenantSettings }
        return tenantJSON(project(tenantCall))
    }

    func viewTenant(_ call: FirebaseCall) throws(FirebaseError) -> JSONObject {
        if projects[call.key] == nil, settings.refusesUnknownTenants == true {
            throw Self.tenantNotFound
        }
        return tenantJSON(project(call))
    }

    func listTenants(_ call: FirebaseCall) throws(FirebaseError) -> JSONObject {
        let requestedPageSize =
            (call.query("pageSize") ?? call.query("maxResults")).flatMap { Int($0) } ?? 20
        let pageSize = min(max(1, requestedPageSize), 1000)
        let pageToken = call.query("pageToken") ?? ""
        let knownTenants = projects.values.filter {
            $0.projectID == call.projectID && $0.tenantID != nil
        }
        .sorted { ($0.tenantID ?? "") < ($1.tenantID ?? "") }
        .filter { ($0.tenantID ?? "") > pageToken }
        let tenantPage = knownTenants.prefix(pageSize)
        return .present([
            ("tenants", .array(tenantPage.map { .object(tenantJSON($0)) })),
            (
                "nextPageToken",
                knownTenants.count > pageSize
                    ? tenantPage.last?.tenantID.map(JSONValue.string) : nil
            ),
        ])
    }

    mutating func updateTenant(_ call: FirebaseCall) throws(FirebaseError) -> JSONObject {
        if projects[call.key] == nil, settings.refusesUnknownTenants == true {
            throw Self.tenantNotFound
        }
        var tenantSettings = tenantJSON(project(call))
        tenantSettings["name"] = nil
        tenantSettings["tenantId"] = nil
        let updateMask = call.query("updateMask")?.split(separator: ",").map(String.init)
        try Self.checkTenantFields(call.fields.object, updateMask)
        try tenantSettings.copyFields(
            updateMask ?? Self.tenantMembers.filter(call.fields.hasValue),
            from: call.fields.object
        )
        let updatedTenantSettings = tenantSettings
        editProject(call) { $0.tenant = updatedTenantSettings }
        return tenantJSON(project(call))
    }

    mutating func deleteTenant(_ call: FirebaseCall) throws(FirebaseError) -> JSONObject {
        guard projects[call.key] != nil || settings.refusesUnknownTenants != true else {
            throw Self.tenantNotFound
        }
        projects[call.key] = nil
        return JSONObject()
    }

    private func call(_ call: FirebaseCall, tenant: String) -> FirebaseCall {
        FirebaseCall(
            isAdmin: call.isAdmin,
            projectID: call.projectID,
            tenantID: tenant,
            fields: call.fields,
            query: call.query,
            host: call.host,
            now: call.now
        )
    }

    private static func checkTenantFields(
        _ body: JSONObject,
        _ updateMask: [String]?
    ) throws(FirebaseError) {
        if let name = body["displayName"]?.string { try checkTenantFields(displayName: name) }
        for path in updateMask ?? [] {
            let name = path.prefix { $0 != "." }
            guard tenantMembers.contains(String(name)) else {
                throw .invalidArgument("Invalid value at 'update_mask': \(path.prefix(100))")
            }
        }
    }

    /// Checks the display name of a tenant: 4 to 20 letters, digits and hyphens, starting with a
    /// letter.
    private static func checkTenantFields(displayName text: String) throws(FirebaseError) {
        let isValid =
            (4...20).contains(text.count) && text.first?.isLetter == true
            && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
        guard isValid else {
            throw FirebaseError(
                "INVALID_DISPLAY_NAME",
                "DisplayName should start with a letter and only consist of letters, digits and "
                    + "hyphens with 4-20 characters."
            )
        }
    }
}

extension FirebaseOperation {
    static let tenantRows: [Row] = [
        .init(
            "POST",
            "/v2/projects/{project}/tenants",
            .managingTenants { state, call throws(FirebaseError) in try state.createTenant(call) }
        ),
        .init(
            "GET",
            "/v2/projects/{project}/tenants",
            .managingTenants { state, call throws(FirebaseError) in try state.listTenants(call) }
        ),
        .init(
            "GET",
            "/v2/projects/{project}/tenants/{tenant}",
            .managingTenants { state, call throws(FirebaseError) in try state.viewTenant(call) }
        ),
        .init(
            "PATCH",
            "/v2/projects/{project}/tenants/{tenant}",
            .managingTenants { state, call throws(FirebaseError) in try state.updateTenant(call) }
        ),
        .init(
            "DELETE",
            "/v2/projects/{project}/tenants/{tenant}",
            .managingTenants { state, call throws(FirebaseError) in try state.deleteTenant(call) }
        ),
    ]
}
