internal import Values

/// A call of the fake Firebase: its caller, the project or tenant whose accounts it concerns, and
/// its fields.
struct FirebaseCall: Sendable {
    /// Whether an administrator makes the call.
    ///
    /// An administrator's call contains an OAuth token, and a user's call contains an API key.
    /// Different rules apply to administrators and to users.
    let isAdmin: Bool
    private(set) var projectID: String
    private(set) var tenantID: String?
    let fields: FirebaseFields
    let query: [(name: String, value: String)]
    /// The host name in the links that the response contains or that are sent by email.
    let host: String
    let now: Instant

    init(
        isAdmin: Bool,
        projectID: String,
        tenantID: String?,
        fields: FirebaseFields,
        request: HTTPMessage.Request,
        now: Instant
    ) {
        self.isAdmin = isAdmin
        self.projectID = projectID
        self.tenantID = tenantID
        self.fields = fields
        query = request.query
        host = request[field: "host"] ?? "localhost:9099"
        self.now = now
    }

    /// The key of the project or tenant in the state.
    ///
    /// A slash separates the two IDs of a tenant.
    var key: String { tenantID.map { projectID + "/" + $0 } ?? projectID }

    func query(_ name: String) -> String? { query.first { $0.name == name }?.value }

    /// Returns the same call for another project or tenant.
    func inProject(_ projectID: String, tenant tenantID: String?) -> FirebaseCall {
        var call = self
        (call.projectID, call.tenantID) = (projectID, tenantID)
        return call
    }
}
