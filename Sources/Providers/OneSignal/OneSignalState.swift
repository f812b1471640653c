package import Conformance

/// The fake OneSignal: notifications, users, subscriptions, and the players of old.
///
/// Facts: OneSignal fact sheet. Every route is served at `/` and below `/api/v1`, as the legacy
/// host served them.
package struct OneSignalState: Hashable, Sendable {
    /// Results are kept for this long after the first request with a key (section 5).
    package static let replayWindow: Duration = .days(30)

    /// A call with its path taken apart.
    struct Call {
        let request: HTTPMessage.Request
        let path: [String]
        let operation: OneSignalOperation
        /// What stands in the place of the names of the operation's path.
        let values: PathValues
        let isLegacy: Bool
        let body: JSONObject
        let now: Instant
        /// What a plan says about this call.
        let planned: ProviderPlan.Answer

        func query(_ name: String) -> String? { request.query(name) }

        /// A value of the path.
        func named(_ name: String) -> String { values[name] ?? "" }
    }

    package var settings: OneSignalSettings
    /// A key that is not given is not demanded.
    package var key: Secret?
    var apps: [String: OneSignalApp] = [:]
    var notifications: [String: NotificationLog] = [:]
    /// What is kept about apps beside their users; none was asked for yet.
    var console: OneSignalConsole?
    var ids: IDSource
    /// Times of recent calls, by what is limited.
    private var recent: SharedTable<String, [Instant]> = [:]

    package init(key: Secret?, settings: OneSignalSettings = OneSignalSettings(), seed: UInt64 = 0)
    {
        self.key = key.flatMap { $0.isEmpty ? nil : $0 }
        self.settings = settings
        ids = IDSource(seed: seed, text: "onesignal")
    }

    /// Answers; a plan can make the answer to a notification an unlucky one.
    package mutating func respond(
        to request: HTTPMessage.Request,
        at now: Instant,
        planned: ProviderPlan.Answer
    ) -> Reply {
        var effects: [Effect] = []
        do throws(OneSignalError) {
            let call = try call(request, at: now, planned)
            let (response, confidence) = try answer(call, &effects)
            return Reply(response, confidence, of: "onesignal", effects: effects)
        } catch {
            return Reply(error.response, error.confidence, of: "onesignal")
        }
    }

    // MARK: The call

    private mutating func call(
        _ request: HTTPMessage.Request,
        at now: Instant,
        _ planned: ProviderPlan.Answer
    ) throws(OneSignalError) -> Call {
        guard let segments = request.pathSegments else {
            throw OneSignalError(400, "Bad request", confidence: .inferred)
        }
        let isLegacy = segments.starts(with: ["api", "v1"])
        var path = isLegacy ? Array(segments.dropFirst(2)) : segments
        // UUIDs are the same in any case.
        if path.count > 1 { path[1] = path[1].lowercased() }
        guard let (operation, values) = OneSignalOperation.table.find(request.method, path) else {
            throw .notFound
        }
        let (object, problem) =
            ["POST", "PUT", "PATCH"].contains(request.method)
            ? request.jsonObject() : (JSONObject(), "")
        // The path, the query and the body can name it; whose key it is must not depend on who looks.
        var app = values["app_id"]?.lowercased()
        for other in [request.query("app_id"), object?["app_id"]?.string] {
            guard let other = other?.lowercased() else { continue }
            guard app == nil || app == other else {
                throw OneSignalError(
                    400,
                    "app_id is not the same everywhere",
                    confidence: .inferred
                )
            }
            app = other
        }
        guard isAllowed(request, operation?.right ?? .organization, app: app) else {
            // Custom events alone have a 401 (API description).
            guard operation != .customEvents else { throw .keyMissing }
            throw settings.legacyAuthError && isLegacy ? .legacyAccess : .accessDenied
        }
        guard let operation else { throw .accessDenied }
        if let max = settings.callsPerSecondMax { try limit("all", max, at: now) }
        if let max = settings.viewsPerSecondMax, request.method == "GET" {
            try limit("views", max, at: now)
        }
        guard let body = object else {
            throw OneSignalError(400, "Invalid JSON: \(problem)", confidence: .inferred)
        }
        return Call(
            request: request,
            path: path,
            operation: operation,
            values: values,
            isLegacy: isLegacy,
            body: body,
            now: now,
            planned: planned
        )
    }

    /// Whether the caller shows a key that has the right; a key that is not given is not demanded,
    /// and another app's never does.
    private func isAllowed(
        _ request: HTTPMessage.Request,
        _ right: OneSignalOperation.Right,
        app: String?
    ) -> Bool {
        let shown = request.authorization.flatMap { scheme, credential in
            ["key", "basic", "bearer"].contains(scheme) ? credential : nil
        }
        switch right {
        case .anybody: return true
        case .players where !settings.playersNeedKey: return true
        case .users where settings.usersNeedNoKey == true: return true
        case .organization: return key.map { shown == $0.exposed } ?? true
        case .app, .players, .users: break
        }
        if let owner = shown.flatMap({ console?.owner(of: $0) }) { return owner == app }
        // An app that was made over the API has no key but its own.
        if let app, console?.records[app]?.isMade == true { return false }
        return key.map { shown == $0.exposed } ?? true
    }

    /// Refuses the call when there were too many of its kind within a second.
    mutating func limit(_ what: String, _ max: Int, at now: Instant) throws(OneSignalError) {
        let times = (recent[what] ?? []).filter { now - $0 < .seconds(1) }
        guard times.count < max else {
            recent[what] = times
            throw .rateLimit
        }
        recent[what] = times + [now]
    }

    // MARK: Routes

    typealias Answer = (HTTPMessage.Response, Reply.Confidence)

    private mutating func answer(
        _ call: Call,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> Answer {
        switch call.operation {
        case .createNotification: return try createNotification(call, &effects)
        case .listNotifications: return (try listNotifications(call), .documented)
        case .viewNotification: return (try viewNotification(call), .documented)
        case .cancelNotification: return (try cancelNotification(call, &effects), .documented)
        case .players: return try playerAnswer(call, &effects)
        case .createUser, .user, .subscription, .subscriptionByToken, .legacyTags:
            return try userAnswer(call, &effects)
        case .listApps, .createApp, .viewApp, .updateApp, .listTokens, .createToken, .deleteToken,
            .updateToken, .rotateToken:
            return (try appAnswer(call), .documented)
        case .listSegments, .createSegment, .deleteSegment, .viewSegment, .updateSegment:
            return (try segmentAnswer(call), .documented)
        case .listTemplates, .createTemplate, .deleteTemplate, .viewTemplate, .updateTemplate,
            .copyTemplate:
            return (try templateAnswer(call), .documented)
        case .notificationHistory, .exportEvents, .exportSubscriptions, .csvFile, .outcomes,
            .measureOutcome:
            return (try exportAnswer(call), .inferred)
        case .startActivity, .updateActivity, .keepActivityToken, .dropActivityToken,
            .customEvents, .unsubscribe, .listJourneys, .inAppMessages, .onSession, .onPurchase:
            return (try activityAnswer(call, &effects), .inferred)
        }
    }

    // MARK: Apps

    /// The app that a call names, to look at; empty when nothing was written to it yet.
    ///
    /// Who writes takes the id alone: what is held meanwhile is copied by the write.
    func app(_ id: String?) throws(OneSignalError) -> OneSignalApp {
        let id = try knownAppID(id)
        return apps[id] ?? OneSignalApp(appID: id)
    }

    /// The id of the app that a call names, in lower case.
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

    /// The tags of the user that a label and id name, in any app.
    package func tags(of label: String, _ id: String) -> JSONObject? {
        apps.values.lazy.compactMap { $0.user(label, id)?.tags }.first
    }
}

extension OneSignalState: Codable {
    /// Keys of the service stay outside: they are configuration, and secret.
    private enum CodingKeys: String, CodingKey {
        case settings, apps, notifications, console, ids, recent
    }
}
