internal import Values

/// The intended recipients of a message, as the request names them.
struct RequestedRecipients {
    /// The recipients that the request names by ID.
    ///
    /// `invalidIDsField` is the member of the response's `errors` that lists the unreachable ones.
    var explicitTargets: [(invalidIDsField: String, label: String, ids: [String])] = []
    var segments: [String] = []
    var filters: [JSONValue] = []
    var targetKindCount = 0
    let key: String?

    init(_ body: JSONObject) {
        for member in body["include_aliases"]?.object?.members ?? [] {
            let ids = member.value.array.map { $0.compactMap(\.scalarText) } ?? []
            explicitTargets.append(("invalid_aliases", member.key, ids))
        }
        targetKindCount += body["include_aliases"]?.object == nil ? 0 : 1
        let targetLists = [
            ("include_subscription_ids", "invalid_player_ids", "subscription"),
            ("include_player_ids", "invalid_player_ids", "subscription"),
            ("include_external_user_ids", "invalid_external_user_ids", "external_id"),
            ("email_to", "invalid_emails", "Email"),
            ("include_email_tokens", "invalid_emails", "Email"),
            ("include_phone_numbers", "invalid_phone_numbers", "SMS"),
        ]
        for (field, invalidIDsField, label) in targetLists {
            guard let list = body[field]?.array, !list.isEmpty else { continue }
            explicitTargets.append((invalidIDsField, label, list.compactMap(\.scalarText)))
            targetKindCount += 1
        }
        segments = (body["included_segments"]?.array ?? []).compactMap(\.string)
        targetKindCount += segments.isEmpty ? 0 : 1
        filters = body["filters"]?.array ?? []
        targetKindCount += filters.isEmpty ? 0 : 1
        key = OneSignalMessage(body).idempotencyKey
    }

    var ids: [String] { explicitTargets.flatMap(\.ids) }
    var filterValues: [String] { Self.values(of: filters) }

    static func values(of filters: [JSONValue]) -> [String] {
        filters.compactMap { $0["relation"] == "=" ? $0["value"]?.string : nil }
    }
    var isEmpty: Bool { ids.isEmpty && segments.isEmpty && filters.isEmpty }
}
