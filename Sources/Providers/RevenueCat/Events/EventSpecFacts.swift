package import Redaction
package import Values

/// The parts of an event that all providers share.
extension EventSpec {
    package var typeName: String { type.rawValue }

    /// The summary of an event: its type, reason and important dates, such as "CANCELLATION
    /// CUSTOMER_SUPPORT until +20d".
    package var summary: String {
        let descriptionParts = [
            type.rawValue, reason, environment == "SANDBOX" ? environment : nil,
        ]
        let expirationText = isLifetime ? "forever" : expires.map { "until " + $0.contractText }
        return
            (descriptionParts + [expirationText, grace.map { "grace until " + $0.contractText }])
            .compactMap { $0 }.joined(separator: " ")
    }

    package var products: [String] {
        isTransfer ? [] : [product, newProduct, continuedProduct].compactMap(\.self)
    }

    package var isTransfer: Bool { !from.isEmpty || !to.isEmpty }

    package func requiredFeatures(editedValues: [JSONPointer: JSONValue]) -> [Feature] {
        func value(_ key: String, _ generated: String) -> JSONValue {
            editedValues[JSONPointer(tokens: ["event", key])] ?? .string(generated)
        }
        let hasUsualStore = value("store", store) == .string(Self.defaultStore)
        let isProduction = value("environment", environment) != "SANDBOX"
        let hasUsualUserID = ![.aliases, .originalAppUserID].contains(userIDLocation)
        let unlocked = entitlements ?? CatalogProduct.named(product)?.entitlements
        return (hasUsualStore ? [] : [.acceptsEveryStore])
            + (unlocked == .other ? [.separatesEntitlements] : [])
            + (isProduction ? [] : [.separatesSandbox]) + (hasUsualUserID ? [] : [.aliases])
    }

    package func redacted(by redaction: Redaction) -> EventSpec {
        var copy = self
        copy.type = RevenueCatEventType(rawValue: redaction.words(type.rawValue))
        copy.reason = reason.map(redaction.words)
        return copy
    }

    package func withUsualUserID() -> EventSpec {
        var copy = self
        copy.userIDLocation = .appUserID
        return copy
    }

    package func body(in context: EventContext, name: String) -> JSONValue {
        EventFactory(context).body(self, name: name)
    }
}

/// Subscription periods that contracts leave open, or that end while a case runs (`expires: soon`,
/// `grace: soon`).
extension EventSpec {
    package var hasPeriodEndingSoon: Bool { periodEndsSoon == true || graceEndsSoon == true }

    package var purchaseEnd: Duration? { [expires, grace].compactMap { $0 }.max() }

    package func endingPeriod(at end: Duration) -> EventSpec {
        var copy = self
        if periodEndsSoon == true { copy.expires = end }
        if graceEndsSoon == true { copy.grace = end }
        (copy.periodEndsSoon, copy.graceEndsSoon) = (nil, nil)
        return copy
    }

    package func fillingDates(from events: [EventSpec]) -> EventSpec {
        SubscriptionPeriods(of: events).fillingDates(self)
    }
}
