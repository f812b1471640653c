internal import Values

extension OneSignalConsole {
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

        /// Creates a key for an app.
        ///
        /// - Returns: The stored token, and the key that only the response contains.
        static func make(
            _ name: String,
            _ body: JSONObject,
            at now: Instant,
            _ ids: inout IDSource
        ) -> (token: Token, key: String) {
            // The key has the format of rich API keys (OneSignal fact sheet, section 1).
            let key = "os_v2_app_" + ids.drawString(52, from: "abcdefghijklmnopqrstuvwxyz234567")
            let token = Token(
                id: ids.uuid(),
                digest: digest(key),
                name: name,
                allowlistMode: body["ip_allowlist_mode"]?.string ?? "disabled",
                allowlist: (body["ip_allowlist"]?.array ?? []).compactMap(\.string),
                created: now,
                updated: now
            )
            return (token, key)
        }

        /// Sets the name and the allowlist that the request body contains.
        mutating func update(_ body: JSONObject, at now: Instant) {
            name = body["name"]?.string ?? name
            allowlistMode = body["ip_allowlist_mode"]?.string ?? allowlistMode
            allowlist = body["ip_allowlist"]?.array?.compactMap(\.string) ?? allowlist
            updated = now
        }

        /// The token in the API's format, without the key.
        var resourceJSON: JSONObject {
            [
                "token_id": .string(id), "name": .string(name),
                "created_at": .string(created.preciseText),
                "updated_at": .string(updated.preciseText),
                "ip_allowlist_mode": .string(allowlistMode),
                "ip_allowlist": .strings(allowlist),
            ]
        }

        /// Returns the response that contains a new key.
        ///
        /// It is the only response with the key.
        func response(with key: String) -> JSONObject {
            ["token_id": .string(id), "formatted_token": .string(key)]
        }
    }
}
