internal import Grammar
internal import Values

extension OneSignalConsole {
    /// The data of an app that its owner sets: its name, settings, API keys, segments, templates
    /// and outcomes.
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

        /// Creates the record of an app that has only the default segments.
        init(name: String, appID: String, created: Instant, isMade: Bool) {
            self.name = name
            self.created = created
            self.updated = created
            self.isMade = isMade
            segments = Segment.defaultSegments(appID, created)
        }
    }

    /// An export of users that was requested, with the request's body.
    struct Export: Hashable, Codable, Sendable {
        let name: String
        let asked: JSONObject
    }

    struct Outcome: Hashable, Codable, Sendable {
        @JSONSafeInteger var count: Int64 = 0
        var sum = 0.0
    }
}

extension OneSignalConsole.AppRecord {
    private static let exportsMax = 20

    /// The members of an app that its owner can set and that every caller with permission can read.
    private static let settableMembers = [
        "gcm_key", "chrome_web_origin", "chrome_key", "chrome_web_default_notification_icon",
        "chrome_web_sub_domain", "apns_env", "apns_certificates", "apns_key_id", "apns_team_id",
        "apns_bundle_id", "safari_site_origin", "safari_push_id", "safari_icon_16_16",
        "safari_icon_32_32", "safari_icon_64_64", "safari_icon_128_128", "safari_icon_256_256",
        "site_name",
    ]

    /// Sets the name and the settings that the request body contains.
    mutating func updateDetails(_ body: JSONObject) throws(OneSignalError) {
        func badRequest(_ text: String) -> OneSignalError {
            OneSignalError(400, text, confidence: .inferred)
        }
        if let environment = body["apns_env"], !environment.isNull,
            !["sandbox", "production"].contains(environment.string)
        {
            throw badRequest("apns_env must be sandbox or production")
        }
        if let name = body["name"], !name.isNull {
            guard let text = name.string, !text.isEmpty else {
                throw badRequest("name must be text")
            }
            self.name = text
        }
        for key in Self.settableMembers {
            guard let value = body[key] else { continue }
            guard value.isNull || value.string != nil else {
                throw badRequest("\(key) must be text")
            }
            details[key] = value.isNull ? nil : value
        }
    }

    /// Adds an export of users, and removes the oldest ones beyond the limit.
    mutating func addExport(_ export: OneSignalConsole.Export) {
        exports = (exports ?? []).suffix(Self.exportsMax - 1) + [export]
    }

    /// Counts a measured outcome.
    ///
    /// A sum that is not finite is dropped, because JSON cannot represent it in the saved state.
    mutating func countOutcome(_ id: String, weight: Double) {
        outcomes[id, default: OneSignalConsole.Outcome()].count += 1
        let sum = (outcomes[id]?.sum ?? 0) + (weight.isFinite ? weight : 0)
        if sum.isFinite { outcomes[id]?.sum = sum }
    }

    /// Returns the app in the API's format, with the number of its devices.
    ///
    /// The record and `app` must have the given ID. An app without users is nil.
    func resourceJSON(_ id: String, _ app: OneSignalApp?) -> JSONObject {
        let reachable = app?.reachable.values.reduce(0, +) ?? 0
        var resourceJSON: JSONObject = [
            "id": .string(id), "name": .string(name),
            "players": .integer(Int64(app?.subscriptions.count ?? 0)),
            "messageable_players": .integer(reachable),
            "updated_at": .string(updated.preciseText),
            "created_at": .string(created.preciseText), "gcm_key": .null,
            "chrome_key": .null, "chrome_web_origin": .null,
            "chrome_web_default_notification_icon": .null, "chrome_web_sub_domain": .null,
            "apns_certificates": .null, "apns_key_id": .null,
            "apns_team_id": .null, "apns_bundle_id": .null, "safari_site_origin": .null,
            "safari_push_id": .null, "site_name": .null, "basic_auth_key": .null,
        ]
        for member in details.members { resourceJSON[member.key] = member.value }
        return resourceJSON
    }
}
