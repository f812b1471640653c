package import Redaction
package import Values

/// A webhook in RevenueCat's dashboard: the destination of events, and the filters that select them
/// (RevenueCat fact sheet, section 1.5, "Configurations").
package struct WebhookConfiguration: Hashable, Sendable {
    package var id: String
    package var url: String
    /// The complete value of the `Authorization` header that each webhook request carries.
    package var authorization: Secret?
    package var signingKey: Secret?
    /// The environment whose events are sent: `PRODUCTION` or `SANDBOX`.
    ///
    /// If nil, the events of both environments are sent.
    package var environment: String?
    /// The ID of the only app whose events are sent.
    ///
    /// If nil, the events of all apps are sent.
    package var app: String?
    /// The only types of events that are sent.
    ///
    /// If the list is empty, events of all types are sent.
    package var types: [String]
    package var sendsPaywallEvents: Bool
    package var sendsTemporaryGrants: Bool

    package init(
        id: String,
        url: String,
        authorization: Secret? = nil,
        signingKey: Secret? = nil,
        environment: String? = nil,
        app: String? = nil,
        types: [String] = [],
        sendsPaywallEvents: Bool = true,
        sendsTemporaryGrants: Bool = true
    ) {
        self.id = id
        self.url = url
        self.authorization = authorization
        self.signingKey = signingKey
        self.environment = environment
        self.app = app
        self.types = types
        self.sendsPaywallEvents = sendsPaywallEvents
        self.sendsTemporaryGrants = sendsTemporaryGrants
    }

    /// Whether an event passes the filters of this webhook.
    package func accepts(_ event: JSONObject) -> Bool {
        let type = RevenueCatEventType(rawValue: event["type"]?.string ?? "")
        let eventEnvironment = event["environment"]?.string ?? event["purchase_environment"]?.string
        if let environment, let eventEnvironment, eventEnvironment != environment { return false }
        if let app, let eventAppID = event["app_id"]?.string, eventAppID != app { return false }
        if !types.isEmpty, !types.contains(type.rawValue) { return false }
        // A project may choose the names of its paywall events, so the type does not show them.
        if event["paywall_id"] != nil, !sendsPaywallEvents { return false }
        return type.documented != .temporaryEntitlementGrant || sendsTemporaryGrants
    }
}

extension WebhookConfiguration: Codable {
    /// The members of the saved state.
    ///
    /// The secrets are not among them, because they are configuration.
    private enum CodingKeys: String, CodingKey {
        case id, url, environment, app, types, sendsPaywallEvents, sendsTemporaryGrants
    }
}
