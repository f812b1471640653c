package import Redaction
package import Values

/// The parts of an event that all providers share.
extension PurchaselySpec {
    package var typeName: String { name }

    package var summary: String {
        [
            name, environment == "SANDBOX" ? environment : nil,
            expires.map { "until " + $0.contractText },
        ].compactMap { $0 }.joined(separator: " ")
    }

    package var products: [String] { [plan, previousPlan].compactMap(\.self) }

    /// Two events, one for each user, report a transfer; neither is a transfer in itself.
    package var isTransfer: Bool { false }

    package func requiredFeatures(editedValues: [JSONPointer: JSONValue]) -> [Feature] {
        func value(_ key: String, _ generated: String) -> JSONValue {
            editedValues[JSONPointer(tokens: [key])] ?? .string(generated)
        }
        let hasUsualStore = value("store", store) == .string(Self.usualStore)
        let isProduction = value("environment", environment) != "SANDBOX"
        return (hasUsualStore ? [] : [.acceptsEveryStore])
            + (isProduction ? [] : [.separatesSandbox])
    }

    package func redacted(by redaction: Redaction) -> PurchaselySpec {
        var copy = self
        copy.name = redaction.words(name)
        return copy
    }

    package func withUsualUserID() -> PurchaselySpec { self }

    package func body(in context: EventContext, name: String) -> JSONValue {
        PurchaselyEventFactory(context).body(self, name: name)
    }
}
