package import Contracts
package import Redaction
package import Values

/// The fake OneSignal: notifications, users, subscriptions, and the old players API.
///
/// Every path works at `/` and below `/api/v1`, as on the legacy host. Source: OneSignal fact
/// sheet.
package struct OneSignalState: Hashable, Sendable {
    /// The time during which a request with a known idempotency key gets the first response again
    /// (OneSignal fact sheet, section 5).
    package static let replayWindow: Duration = .days(30)

    /// A request to the fake OneSignal, with its operation.
    struct Call {
        let request: HTTPMessage.Request
        let operation: OneSignalOperation
        /// The values of the parameters in the path of the request.
        let values: PathParameterValues
        let body: JSONObject
        let now: Instant
        /// The response to this call that a test has planned.
        let plannedResponse: ProviderPlan.PlannedResponse

        func query(_ name: String) -> String? { request.query(name) }

        /// Returns the value of a path parameter; an empty string when the path has no such
        /// parameter.
        func pathParameter(_ name: String) -> String { values[name] ?? "" }
    }

    package var settings: OneSignalSettings
    /// The API key that callers must send; nil to accept every caller.
    package var key: Secret?
    var apps: [String: OneSignalApp] = [:]
    var notifications: [String: NotificationLog] = [:]
    /// The data about apps apart from their users, such as keys and segments; nil until it is first
    /// needed.
    var console: OneSignalConsole?
    var ids: IDSource
    /// The times of recent calls, by the rate limit for which they count.
    private var recent: SharedTable<String, [Instant]> = [:]

    package init(key: Secret?, settings: OneSignalSettings = OneSignalSettings(), seed: UInt64 = 0)
    {
        self.key = key.flatMap { $0.isEmpty ? nil : $0 }
        self.settings = settings
        ids = IDSource(seed: seed, text: "onesignal")
    }

    /// Responds to a request to the fake OneSignal.
    ///
    /// A plan can replace the response to a new notification with a failure.
    package mutating func respond(
        to request: HTTPMessage.Request,
        at now: Instant,
        plannedResponse: ProviderPlan.PlannedResponse
    ) -> Reply {
        var effects: [Effect] = []
        do throws(OneSignalError) {
            let call = try call(request, at: now, plannedResponse)
            let operation = call.operation
            let response = try operation.handle(&self, call, &effects)
            return Reply(response, operation.confidence, of: "onesignal", effects: effects)
        } catch {
            return Reply(error.response, error.confidence, of: "onesignal")
        }
    }

    // MARK: The call

    private mutating func call(
        _ request: HTTPMessage.Request,
        at now: Instant,
        _ plannedResponse: ProviderPlan.PlannedResponse
    ) throws(OneSignalError) -> Call {
        guard let segments = request.pathSegments else {
            throw OneSignalError(400, "Bad request", confidence: .inferred)
        }
        let isLegacy = segments.starts(with: ["api", "v1"])
        var path = isLegacy ? Array(segments.dropFirst(2)) : segments
        // UUIDs are compared regardless of case.
        if path.count > 1 { path[1] = path[1].lowercased() }
        guard let (operation, values) = OneSignalOperation.table.findOperation(request.method, path)
        else {
            throw .notFound
        }
        let (object, problem) =
            ["POST", "PUT", "PATCH"].contains(request.method)
            ? request.jsonObject() : (JSONObject(), "")
        // The path, the query and the body can all name the app. Their app IDs must be equal, so
        // that every check concerns the same app.
        var app = values["app_id"]?.lowercased()
        for otherAppID in [request.query("app_id"), object?["app_id"]?.string] {
            guard let otherAppID = otherAppID?.lowercased() else { continue }
            guard app == nil || app == otherAppID else {
                throw OneSignalError(
                    400,
                    "app_id is not the same everywhere",
                    confidence: .inferred
                )
            }
            app = otherAppID
        }
        guard isAllowed(request, operation?.requiredAccess ?? .organization, app: app) else {
            if let accessError = operation?.accessError { throw accessError }
            throw settings.legacyAuthError && isLegacy ? .legacyAccessDenied : .accessDenied
        }
        guard let operation else { throw .accessDenied }
        if let callCountMax = settings.callsPerSecondMax {
            try checkRateLimit("all", callCountMax, at: now)
        }
        if let callCountMax = settings.viewsPerSecondMax, request.method == "GET" {
            try checkRateLimit("views", callCountMax, at: now)
        }
        guard let body = object else {
            throw OneSignalError(400, "Invalid JSON: \(problem)", confidence: .inferred)
        }
        return Call(
            request: request,
            operation: operation,
            values: values,
            body: body,
            now: now,
            plannedResponse: plannedResponse
        )
    }

    /// Whether the caller's API key has the permission for an operation.
    ///
    /// If the fake has no key, every caller has the permission. A caller with the key of another
    /// app never has the permission.
    private func isAllowed(
        _ request: HTTPMessage.Request,
        _ requiredAccess: OneSignalOperation.RequiredAccess,
        app: String?
    ) -> Bool {
        let apiKey = request.authorization.flatMap { scheme, credential in
            ["key", "basic", "bearer"].contains(scheme) ? credential : nil
        }
        switch requiredAccess {
        case .unauthenticated: return true
        case .players where !settings.playersNeedKey: return true
        case .users where settings.usersNeedNoKey == true: return true
        case .organization: return key.map { apiKey == $0.exposed } ?? true
        case .app, .players, .users: break
        }
        if let ownerAppID = apiKey.flatMap({ console?.ownerAppID(of: $0) }) {
            return ownerAppID == app
        }
        // An app that was created over the API accepts only its own keys.
        if let app, console?.records[app]?.isMade == true { return false }
        return key.map { apiKey == $0.exposed } ?? true
    }

    /// Counts a call against the rate limit that `callKey` names.
    ///
    /// Throws the rate limit error when `callCountMax` calls were already counted against this
    /// limit within the last second.
    mutating func checkRateLimit(_ callKey: String, _ callCountMax: Int, at now: Instant)
        throws(OneSignalError)
    {
        let recentCallTimes = (recent[callKey] ?? []).filter { now - $0 < .seconds(1) }
        guard recentCallTimes.count < callCountMax else {
            recent[callKey] = recentCallTimes
            throw .rateLimitExceeded
        }
        recent[callKey] = recentCallTimes + [now]
    }

    // MARK: Apps

    /// Returns a copy of the app that a call addresses.
    ///
    /// The copy is empty when no data of the app was written yet.
    ///
    /// A call that changes the app uses `knownAppID` instead: a copy held during a write would make
    /// the write copy the whole app.
    func app(_ id: String?) throws(OneSignalError) -> OneSignalApp {
        let id = try knownAppID(id)
        return apps[id] ?? OneSignalApp(appID: id)
    }

    /// Returns the ID of the app that a call addresses, in lower case; throws when the app does not
    /// exist.
    func knownAppID(_ id: String?) throws(OneSignalError) -> String {
        guard let id = id?.lowercased(), Self.isUUID(id) else { throw .invalidApp }
        guard
            settings.apps.isEmpty || settings.apps.contains(where: { $0.lowercased() == id })
                || console?.records[id]?.isMade == true
        else {
            throw OneSignalError(404, "App with id: \(id) does not exist", confidence: .captured)
        }
        return id
    }

    static func isUUID(_ text: String) -> Bool {
        var position = 0
        for byte in text.utf8 {
            switch (position, byte) {
            case (8, UInt8(ascii: "-")), (13, UInt8(ascii: "-")), (18, UInt8(ascii: "-")),
                (23, UInt8(ascii: "-")):
                break
            case (8, _), (13, _), (18, _), (23, _): return false
            case (_, UInt8(ascii: "0")...UInt8(ascii: "9")),
                (_, UInt8(ascii: "a")...UInt8(ascii: "f")),
                (_, UInt8(ascii: "A")...UInt8(ascii: "F")):
                break
            default: return false
            }
            position += 1
        }
        return position == 36
    }

    // MARK: For reports

    /// Returns the tags of the user with this alias (label and ID), in any app; nil when there is
    /// no such user.
    package func tags(of label: String, _ id: String) -> JSONObject? {
        apps.values.lazy.compactMap { $0.user(label, id)?.tags }.first
    }
}

extension OneSignalState: Codable {
    /// The members of the saved state.
    ///
    /// The API key is not among them, because it is configuration and secret.
    private enum CodingKeys: String, CodingKey {
        case settings, apps, notifications, console, ids, recent
    }
}
