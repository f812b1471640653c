internal import Contracts
package import Grammar
package import Providers
package import Redaction
package import Values

/// An event of the ferry company, as a contract describes it: `ferry: {type: PASS_SOLD, user: ada}`.
package struct FerryEvent: ProviderEvent {
    enum Kind: String, CaseIterable {
        case sold = "PASS_SOLD"
        case returned = "PASS_RETURNED"
        /// The pass was used, which changes nothing.
        case scanned = "PASS_SCANNED"
    }

    package static let types = Kind.allCases.map(\.rawValue)

    package var type: String
    package var user: String
    package var pass = "FERRY_WEEK"
    package var environment = "PRODUCTION"
    /// The end of the pass, relative to the run's base time; nil: a week after the event.
    package var end: Duration?
    package var time: Duration = .zero

    package init(type: String, user: String) {
        (self.type, self.user) = (type, user)
    }

    package static let grammar = Construct<FerryEvent>(
        "ferry",
        "a ferry event",
        "An event of the ferry company. Assay generates the rest of a realistic body.",
        makeEmptyOwner: { _ in FerryEvent(type: "", user: "") }
    ) {
        Field.required("type", \.type, .openWord("event type", among: types), "The event type.")
        Field.required("user", \.user, .name(.user, .mentions), "The passenger.")
        Field.value("pass", \.pass, .text("a pass"), default: "FERRY_WEEK", "The pass.")
        Field.value(
            "environment",
            \.environment,
            .word("environment", among: ["PRODUCTION", "SANDBOX"]),
            default: "PRODUCTION",
            "Whether the pass is real."
        )
        Field.value("time", \.time, .signedDuration, default: .zero, "The time of the event.")
        Field.optional("ends", \.end, .signedDuration, "The end of the pass.")
    }

    package var typeName: String { type }
    package var users: [String] { [user] }
    package var summary: String { "\(type) \(pass)" }
    package var products: [String] { [pass] }
    package var isTransfer: Bool { false }

    package func requiredFeatures(editedValues: [JSONPointer: JSONValue]) -> [Feature] {
        environment == "PRODUCTION" ? [] : [.separatesSandbox]
    }

    package func redacted(by redaction: Redaction) -> FerryEvent {
        var copy = self
        copy.type = redaction.words(type)
        return copy
    }

    package func withUsualUserID() -> FerryEvent { self }

    package func body(in context: EventContext, name: String) -> JSONValue {
        let end = context.base + (self.end ?? time + .seconds(7 * 86_400))
        return [
            "id": .string(context.namespace.eventID(of: name)), "type": .string(type),
            "user": .string(context.namespace.id(of: user)), "pass": .string(pass),
            "environment": .string(environment), "end": .string(end.preciseText),
            "time": .string((context.base + time).preciseText),
        ]
    }
}
