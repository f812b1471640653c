/// Something the backend did to a provider, as the provider understood it.
package struct Effect: Hashable, Codable, Sendable {
    /// `onesignal.notification`: a push that the provider accepted for delivery; `onesignal.email` and
    /// `onesignal.sms` are messages of other channels.
    package var kind: String
    /// The people it reaches, by the ids the backend used.
    package var recipients: [String]
    /// What it says, without ids and keys that differ on every call.
    package var content: JSONValue
    /// The key under which the provider would suppress a second copy.
    package var idempotencyKey: String?

    package init(
        kind: String,
        recipients: [String],
        content: JSONValue,
        idempotencyKey: String? = nil
    ) {
        self.kind = kind
        self.recipients = recipients
        self.content = content
        self.idempotencyKey = idempotencyKey
    }
}
