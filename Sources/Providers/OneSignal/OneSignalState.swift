package import Redaction
package import Values

/// The fake OneSignal: notifications, users, subscriptions, and the old players API.
///
/// Every path works at `/` and below `/api/v1`, as on the legacy host. Source: OneSignal fact
/// sheet.
///
/// The state is composed of values, each of which keeps its own invariants: the users and devices
/// of an app (`OneSignalApp`), its notifications (`NotificationLog`), the organization's data about
/// its apps (`OneSignalConsole`), and the recent calls (`OneSignalRateLimits`). A value also
/// renders its own JSON.
///
/// The state itself only finds the operation of a request, checks the request, and finds the app.
/// The operations are functions outside the state, in one namespace for each resource, for example
/// `OneSignalUserOperations`. They take the state and the call, and `OneSignalOperation.table`
/// lists them by their paths.
package struct OneSignalState: Hashable, Sendable {
    package var settings: OneSignalSettings
    /// The API key that callers must send; nil to accept every caller.
    package var key: Secret?
    var apps: [String: OneSignalApp] = [:]
    var notifications: [String: NotificationLog] = [:]
    /// The data about apps apart from their users, such as keys and segments.
    var console = OneSignalConsole()
    var ids: IDSource
    var rateLimits = OneSignalRateLimits()

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
            let response = try operation.handler.run(&self, call, &effects)
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
    ) throws(OneSignalError) -> OneSignalCall {
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
        let access = OneSignalAccess(key: key, settings: settings, console: console)
        guard access.isAllowed(request, operation?.requiredAccess ?? .organization, app: app) else {
            if let accessError = operation?.accessError { throw accessError }
            throw settings.legacyAuthError && isLegacy ? .legacyAccessDenied : .accessDenied
        }
        guard let operation else { throw .accessDenied }
        try rateLimits.countCall("all", max: settings.callsPerSecondMax, at: now)
        if request.method == "GET" {
            try rateLimits.countCall("views", max: settings.viewsPerSecondMax, at: now)
        }
        guard let body = object else {
            throw OneSignalError(400, "Invalid JSON: \(problem)", confidence: .inferred)
        }
        return OneSignalCall(
            request: request,
            operation: operation,
            values: values,
            body: body,
            now: now,
            plannedResponse: plannedResponse
        )
    }

    /// Counts a write to a user or a subscription; throws when the writes come too fast.
    mutating func countWrite(to id: String, _ call: OneSignalCall) throws(OneSignalError) {
        try rateLimits.countCall("user|" + id, max: settings.userWritesPerSecondMax, at: call.now)
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
        guard let id = id?.lowercased(), UUIDFormat.matches(id) else { throw .invalidApp }
        guard
            settings.apps.isEmpty || settings.apps.contains(where: { $0.lowercased() == id })
                || console.records[id]?.isMade == true
        else {
            throw OneSignalError(404, "App with id: \(id) does not exist", confidence: .captured)
        }
        return id
    }

    // MARK: For other fakes and reports

    /// Registers a device, as the SDK on a phone does, and assigns the device's external ID to its
    /// user.
    package mutating func register(
        _ device: DespiaOutbox.Registration,
        app id: String,
        at now: Instant
    ) {
        // The app is removed during the change, since a copy would make the change copy the app.
        var app = apps.removeValue(forKey: id) ?? OneSignalApp(appID: id)
        app.register(device, at: now, &ids)
        apps[id] = app
    }

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
        case settings, apps, notifications, console, ids, rateLimits
    }
}
