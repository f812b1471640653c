/// An effect that a call of the backend caused at a provider, such as a push, as the provider
/// interpreted the call.
package struct Effect: Hashable, Codable, Sendable {
    /// The recipient that the fakes report for a message to a segment.
    package static let everyoneRecipientID = "everyone"

    /// The kind of the effect: `onesignal.notification`, `onesignal.email` or `onesignal.sms`.
    ///
    /// A notification is a push that the provider accepted for delivery. Email and SMS are messages
    /// on other channels of the provider.
    package var kind: String
    /// The IDs of the users that the effect reaches, as the backend sent them to the provider.
    package var recipients: [String]
    /// The content of the message, without the IDs and keys that differ on every call.
    package var content: JSONValue
    /// The idempotency key by which the provider would drop a duplicate of the request.
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

    /// Returns whether the effect reaches a user with one of these IDs.
    package func reaches(_ ids: Set<ExactText>) -> Bool {
        recipients.contains { ids.contains(ExactText($0)) }
    }
}
