internal import Values

/// The operations on tenants, which are separate groups of accounts in a project (Identity
/// Platform's reference, v2 *projects.tenants*).
///
/// The Firebase emulator creates a tenant on first use.
enum FirebaseTenants {
    /// Refuses a call that the settings of its tenant do not allow.
    static func check(
        _ state: FirebaseState,
        _ call: FirebaseCall,
        _ checkSettings: FirebaseOperation.TenantCheck? = nil
    ) throws(FirebaseError) {
        guard call.tenantID != nil else { return }
        guard let settings = state.project(call).tenantSettings else {
            return try checkKnown(state, call)
        }
        try settings.checkEnabled()
        guard !call.isAdmin, let checkSettings else { return }
        try checkSettings(settings)(call)
    }

    private static func checkKnown(
        _ state: FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) {
        guard state.settings.refusesUnknownTenants != true || state.projects[call.key] != nil else {
            throw FirebaseError("TENANT_NOT_FOUND")
        }
    }

    // MARK: Operations

    static func create(
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> JSONObject {
        let displayName = call.fields.nonEmptyText("displayName") ?? ""
        let id =
            (displayName.isEmpty ? "tenant" : displayName.lowercased()) + "-"
            + state.ids.drawString(5, from: "abcdefghijklmnopqrstuvwxyz0123456789")
        var settings = FirebaseTenantSettings.initial
        try settings.update(from: call.fields, nil)
        return state.editProject(call.inProject(call.projectID, tenant: id)) { tenant in
            tenant.tenantSettings = settings
            return tenant.tenantJSON
        }
    }

    static func view(
        _ state: FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> JSONObject {
        try checkKnown(state, call)
        return state.project(call).tenantJSON
    }

    static func list(_ state: FirebaseState, _ call: FirebaseCall) -> JSONObject {
        let requestedPageSize =
            (call.query("pageSize") ?? call.query("maxResults")).flatMap { Int($0) } ?? 20
        let pageSize = min(max(1, requestedPageSize), 1000)
        let pageToken = call.query("pageToken") ?? ""
        let knownTenants = state.projects.values.filter {
            $0.projectID == call.projectID && $0.tenantID != nil
        }
        .sorted { ($0.tenantID ?? "") < ($1.tenantID ?? "") }
        .filter { ($0.tenantID ?? "") > pageToken }
        let tenantPage = knownTenants.prefix(pageSize)
        return .present([
            ("tenants", .array(tenantPage.map { .object($0.tenantJSON) })),
            (
                "nextPageToken",
                knownTenants.count > pageSize
                    ? tenantPage.last?.tenantID.map(JSONValue.string) : nil
            ),
        ])
    }

    static func update(
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> JSONObject {
        try checkKnown(state, call)
        var settings = state.project(call).tenantSettings ?? .unrestricted
        let updateMask = call.query("updateMask")?.split(separator: ",").map(String.init)
        try settings.update(from: call.fields, updateMask)
        return state.editProject(call) { tenant in
            tenant.tenantSettings = settings
            return tenant.tenantJSON
        }
    }

    static func delete(
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> JSONObject {
        try checkKnown(state, call)
        state.projects[call.key] = nil
        return JSONObject()
    }
}

extension FirebaseOperation {
    static let tenantRows: [Row] = [
        .init("POST", "/v2/projects/{project}/tenants", .managingTenants(FirebaseTenants.create)),
        .init(
            "GET",
            "/v2/projects/{project}/tenants",
            .managingTenants(reading(FirebaseTenants.list))
        ),
        .init(
            "GET",
            "/v2/projects/{project}/tenants/{tenant}",
            .managingTenants(reading(FirebaseTenants.view))
        ),
        .init(
            "PATCH",
            "/v2/projects/{project}/tenants/{tenant}",
            .managingTenants(FirebaseTenants.update)
        ),
        .init(
            "DELETE",
            "/v2/projects/{project}/tenants/{tenant}",
            .managingTenants(FirebaseTenants.delete)
        ),
    ]
}
