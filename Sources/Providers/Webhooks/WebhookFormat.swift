package import Values

/// The facts about a provider's webhook that are the same for all events.
package struct WebhookFormat: Sendable {
    /// The member of a request body that contains the fields of the event; empty when the body
    /// itself contains them.
    ///
    /// The service adds new fields there.
    package let eventPointer: JSONPointer
    /// The member of a request body that contains the type of the event.
    package let typePointer: JSONPointer
    /// The types of the documented events.
    package let eventTypes: [String]
    /// Whether the service can add an `Authorization` header with a configured value.
    package let sendsAuthorization: Bool
    /// The path of the webhook in profiles that define none; nil: such profiles have no webhook for
    /// the events.
    package let defaultPath: String?
    /// The feature of a backend that receives the events; nil when every backend must receive them.
    package let feature: Feature?
    /// The feature of a backend that verifies the signature of the events.
    package let signatureFeature: Feature
    /// The members that decide what an event means, for descriptions of delivered events.
    package let fields: EventFields

    package init(
        eventPointer: JSONPointer,
        typePointer: JSONPointer,
        eventTypes: [String],
        sendsAuthorization: Bool,
        defaultPath: String?,
        feature: Feature?,
        signatureFeature: Feature,
        fields: EventFields = EventFields()
    ) {
        self.eventPointer = eventPointer
        self.typePointer = typePointer
        self.eventTypes = eventTypes
        self.sendsAuthorization = sendsAuthorization
        self.defaultPath = defaultPath
        self.feature = feature
        self.signatureFeature = signatureFeature
        self.fields = fields
    }
}
