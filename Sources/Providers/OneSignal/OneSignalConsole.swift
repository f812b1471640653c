internal import Contracts
internal import Grammar
internal import Values

/// The data of a OneSignal organization about its apps, without their users: names, keys, segments,
/// templates and outcomes (OneSignal's API description).
package struct OneSignalConsole: Hashable, Codable, Sendable {
    /// An API key of an app.
    ///
    /// Only the digest of the key is stored.
    struct Token: Hashable, Codable, Sendable {
        let id: String
        var digest: String
        var name: String
        var allowlistMode: String
        var allowlist: [String]
        let created: Instant
        var updated: Instant

        static func digest(_ text: String) -> String { Digest.sha256(Array(text.utf8)) }
    }

    struct Segment: Hashable, Codable, Sendable {
        let id: String
        var name: String
        var filters: [JSONValue]
        let created: Instant
        var updated: Instant
        /// Whether this is one of the segments that every app has from the start.
        let isDefault: Bool
    }

    struct Template: Hashable, Codable, Sendable {
        let id: String
        var name: String
        var content: JSONObject
        let created: Instant
        var updated: Instant

        var channel: String {
            content["isEmail"] == true ? "email" : content["isSMS"] == true ? "sms" : "push"
        }
    }

    struct AppRecord: Hashable, Codable, Sendable {
        var name: String
        let created: Instant
        var updated: Instant
        /// Whether the app was created over the API.
        ///
        /// Such an app accepts only its own keys.
        let isMade: Bool
        /// The settings of the app that have no property here, in the format in which they were
        /// set.
        var details = JSONObject()
        var tokens: [Token] = []
        var segments: [Segment] = []
        /// Whether segments were created in this app over the API.
        ///
        /// If so, a segment name that is not in `segments` is unknown.
        var makesSegments: Bool?
        /// The latest exports of users that were requested, each with the name of its file.
        var exports: [Export]?
        var templates: [Template] = []
        /// The count and the sum of each outcome that the app measured, by the outcome's ID.
        var outcomes: [String: Outcome] = [:]
    }

    struct Export: Hashable, Codable, Sendable {
        let name: String
        let asked: JSONObject
    }

    struct Outcome: Hashable, Codable, Sendable {
        @JSONSafeInteger var count: Int64 = 0
        var sum = 0.0
    }

    /// The records of the organization's apps, by app ID.
    var records: [String: AppRecord] = [:]

    /// Returns the ID of the app to which an API key belongs; nil when the key was not created over
    /// the API.
    func ownerAppID(of key: String) -> String? {
        guard !records.isEmpty else { return nil }
        let digest = Token.digest(key)
        return records.first { $0.value.tokens.contains { $0.digest == digest } }?.key
    }
}

/// Operations on apps and their API keys (OneSignal's API description, *Apps* and *API keys*).
extension OneSignalState {
    /// The creation time of every app that was not created over the API: 2020-01-01.
    private static let defaultCreationTime = Instant(milliseconds: 1_577_836_800_000)

    /// Returns the record of an app; a default record when the app has none yet.
    func record(of appID: String) -> OneSignalConsole.AppRecord {
        if let known = console?.records[appID] { return known }
        var record = OneSignalConsole.AppRecord(
            name: "Assay",
            created: Self.defaultCreationTime,
            updated: Self.defaultCreationTime,
            isMade: false
        )
        record.segments = Self.defaultSegments(appID, Self.defaultCreationTime)
        return record
    }

    mutating func store(_ record: OneSignalConsole.AppRecord, of appID: String) {
        if console == nil { console = OneSignalConsole() }
        console?.records[appID] = record
    }

    // MARK: Apps

    func listApps() -> HTTPMessage.Response {
        let known = Set(console?.records.keys.map(\.self) ?? []).union(apps.keys)
            .union(settings.apps.map { $0.lowercased() })
        let ids = (known.isEmpty ? [Self.defaultAppID] : known).sorted()
        return HTTPMessage.Response(
            200,
            json: .array(ids.map { .object(resourceJSON(record(of: $0), $0)) })
        )
    }

    mutating func createApp(_ call: Call) throws(OneSignalError) -> HTTPMessage.Response {
        let name = try text("name", call)
        let id = ids.uuid()
        var record = OneSignalConsole.AppRecord(
            name: name,
            created: call.now,
            updated: call.now,
            isMade: true
        )
        record.segments = Self.defaultSegments(id, call.now)
        let (token, key) = newToken("Default", call)
        record.tokens = [token]
        try updateDetails(&record, call)
        store(record, of: id)
        var body = resourceJSON(record, id)
        // The API key is returned only in the response that creates it, like every new key.
        body["basic_auth_key"] = .string(key)
        return json(200, body)
    }

    func viewApp(_ call: Call) throws(OneSignalError) -> HTTPMessage.Response {
        let id = try knownAppID(call.pathParameter("app_id"))
        return json(200, resourceJSON(record(of: id), id))
    }

    mutating func updateApp(_ call: Call) throws(OneSignalError) -> HTTPMessage.Response {
        let id = try knownAppID(call.pathParameter("app_id"))
        var record = record(of: id)
        try updateDetails(&record, call)
        record.updated = call.now
        store(record, of: id)
        return json(200, resourceJSON(record, id))
    }

    /// The members of an app that its owner can set and that every caller with permission can read.
    private static let appMembers = [
        "gcm_key", "chrome_web_origin", "chrome_key", "chrome_web_default_notification_icon",
        "chrome_web_sub_domain", "apns_env", "apns_certificates", "apns_key_id", "apns_team_id",
        "apns_bundle_id", "safari_site_origin", "safari_push_id", "safari_icon_16_16",
        "safari_icon_32_32", "safari_icon_64_64", "safari_icon_128_128", "safari_icon_256_256",
        "site_name",
    ]

    private func updateDetails(
        _ record: inout OneSignalConsole.AppRecord,
        _ call: Call
    ) throws(OneSignalError) {
        func badRequest(_ text: String) -> OneSignalError {
            OneSignalError(400, text, confidence: .inferred)
        }
        if let environment = call.body["apns_env"], !environment.isNull,
            !["sandbox", "production"].contains(environment.string)
        {
            throw badRequest("apns_env must be sandbox or production")
        }
        if let name = call.body["name"], !name.isNull {
            guard let text = name.string, !text.isEmpty else {
                throw badRequest("name must be text")
            }
            record.name = text
        }
        for key in Self.appMembers {
            guard let value = call.body[key] else { continue }
            guard value.isNull || value.string != nil else {
                throw badRequest("\(key) must be text")
            }
            record.details[key] = value.isNull ? nil : value
        }
    }

    private func resourceJSON(_ record: OneSignalConsole.AppRecord, _ id: String) -> JSONObject {
        let app = apps[id]
        let reachable = app?.reachable.values.reduce(0, +) ?? 0
        var resourceJSON: JSONObject = [
            "id": .string(id), "name": .string(record.name),
            "players": .integer(Int64(app?.subscriptions.count ?? 0)),
            "messageable_players": .integer(reachable),
            "updated_at": .string(record.updated.preciseText),
            "created_at": .string(record.created.preciseText), "gcm_key": .null,
            "chrome_key": .null, "chrome_web_origin": .null,
            "chrome_web_default_notification_icon": .null, "chrome_web_sub_domain": .null,
            "apns_certificates": .null, "apns_key_id": .null,
            "apns_team_id": .null, "apns_bundle_id": .null, "safari_site_origin": .null,
            "safari_push_id": .null, "site_name": .null, "basic_auth_key": .null,
        ]
        for member in record.details.members { resourceJSON[member.key] = member.value }
        return resourceJSON
    }

    /// Returns a string member of the request body; throws when the member is missing or empty.
    func text(_ name: String, _ call: Call) throws(OneSignalError) -> String {
        guard let text = call.body[name]?.string, !text.isEmpty else {
            throw OneSignalError(400, "\(name) is required", confidence: .inferred)
        }
        return text
    }

    // MARK: Keys

    private mutating func newToken(
        _ name: String,
        _ call: Call
    ) -> (OneSignalConsole.Token, key: String) {
        // The key has the format of rich API keys (OneSignal fact sheet, section 1).
        let key = "os_v2_app_" + ids.drawString(52, from: "abcdefghijklmnopqrstuvwxyz234567")
        let token = OneSignalConsole.Token(
            id: ids.uuid(),
            digest: OneSignalConsole.Token.digest(key),
            name: name,
            allowlistMode: call.body["ip_allowlist_mode"]?.string ?? "disabled",
            allowlist: (call.body["ip_allowlist"]?.array ?? []).compactMap(\.string),
            created: call.now,
            updated: call.now
        )
        return (token, key)
    }

    private static func tokenResponse(_ token: OneSignalConsole.Token, _ key: String) -> JSONObject
    {
        ["token_id": .string(token.id), "formatted_token": .string(key)]
    }

    func listTokens(_ call: Call) throws(OneSignalError) -> HTTPMessage.Response {
        let record = record(of: try knownAppID(call.pathParameter("app_id")))
        let tokens = record.tokens.map { token -> JSONValue in
            [
                "token_id": .string(token.id), "name": .string(token.name),
                "created_at": .string(token.created.preciseText),
                "updated_at": .string(token.updated.preciseText),
                "ip_allowlist_mode": .string(token.allowlistMode),
                "ip_allowlist": .strings(token.allowlist),
            ]
        }
        return json(200, ["tokens": .array(tokens)])
    }

    mutating func createToken(_ call: Call) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try knownAppID(call.pathParameter("app_id"))
        var record = record(of: appID)
        try Self.checkAllowlistMode(call)
        let (token, key) = newToken(try text("name", call), call)
        record.tokens.append(token)
        store(record, of: appID)
        return json(200, Self.tokenResponse(token, key))
    }

    mutating func deleteToken(_ call: Call) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try knownAppID(call.pathParameter("app_id"))
        var record = record(of: appID)
        let index = try Self.tokenIndex(call, in: record)
        record.tokens.remove(at: index)
        store(record, of: appID)
        return json(200, JSONObject())
    }

    mutating func updateToken(_ call: Call) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try knownAppID(call.pathParameter("app_id"))
        var record = record(of: appID)
        try Self.checkAllowlistMode(call)
        let index = try Self.tokenIndex(call, in: record)
        var token = record.tokens[index]
        token.name = call.body["name"]?.string ?? token.name
        token.allowlistMode = call.body["ip_allowlist_mode"]?.string ?? token.allowlistMode
        token.allowlist = call.body["ip_allowlist"]?.array?.compactMap(\.string) ?? token.allowlist
        token.updated = call.now
        record.tokens[index] = token
        store(record, of: appID)
        return json(200, JSONObject())
    }

    mutating func rotateToken(_ call: Call) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try knownAppID(call.pathParameter("app_id"))
        var record = record(of: appID)
        try Self.checkAllowlistMode(call)
        let index = try Self.tokenIndex(call, in: record)
        let (token, key) = newToken(record.tokens[index].name, call)
        record.tokens[index].digest = token.digest
        record.tokens[index].updated = call.now
        store(record, of: appID)
        return json(200, Self.tokenResponse(record.tokens[index], key))
    }

    private static func checkAllowlistMode(_ call: Call) throws(OneSignalError) {
        guard let mode = call.body["ip_allowlist_mode"],
            !["disabled", "explicit"].contains(mode.string)
        else { return }
        throw OneSignalError(
            400,
            "ip_allowlist_mode must be disabled or explicit",
            confidence: .inferred
        )
    }

    /// Returns the position of the API key that a call addresses.
    private static func tokenIndex(
        _ call: Call,
        in record: OneSignalConsole.AppRecord
    ) throws(OneSignalError) -> Int {
        let tokenID = call.pathParameter("token_id")
        guard let index = record.tokens.firstIndex(where: { $0.id == tokenID }) else {
            throw OneSignalError(404, "API key not found", confidence: .inferred)
        }
        return index
    }
}
