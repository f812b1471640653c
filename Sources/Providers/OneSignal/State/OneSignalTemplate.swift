internal import Grammar
internal import Values

extension OneSignalConsole {
    /// A template of messages (OneSignal's API description, *Templates*).
    struct Template: Hashable, Codable, Sendable {
        private static let contentMembers = [
            "contents", "headings", "subtitle", "isEmail", "email_subject", "email_body",
            "email_bcc", "isSMS", "dynamic_content",
        ]

        let id: String
        var name: String
        var content: JSONObject
        let created: Instant
        var updated: Instant

        var channel: String {
            content["isEmail"] == true ? "email" : content["isSMS"] == true ? "sms" : "push"
        }

        /// Sets the content that the request body contains.
        ///
        /// Throws when a required part is then missing.
        mutating func fillContent(_ body: JSONObject) throws(OneSignalError) {
            for key in Self.contentMembers {
                if let value = body[key] { content[key] = value.isNull ? nil : value }
            }
            let isText = channel != "email"
            guard !isText || content["contents"]?["en"]?.string?.isEmpty == false else {
                throw OneSignalError(
                    400,
                    "Message Notifications must have English language content"
                )
            }
            guard isText || content["email_subject"]?.string?.isEmpty == false else {
                throw OneSignalError(400, "email_subject is required", confidence: .inferred)
            }
        }

        var resourceJSON: JSONObject {
            [
                "id": .string(id), "name": .string(name),
                "created_at": .string(created.preciseText),
                "updated_at": .string(updated.preciseText),
                "channel": .string(channel), "content": .object(content),
            ]
        }
    }
}
