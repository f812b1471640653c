package import Contracts
package import Grammar
internal import Providers
package import Values

/// A contract about the user Ada with fixed values everywhere, and its parts, for tests that change
/// one of them.
package enum SampleContract {
    /// The time at which its runs begin.
    package static let base = Instant(milliseconds: 1_790_000_000_000)

    package static let location = SourceLocation(
        path: "test.yaml",
        line: 3,
        column: 5,
        text: "  a: 1"
    )

    /// The names that a contract gives to its users, deliveries, calls, accounts and axes.
    package static var names: TemplateNames {
        var names = TemplateNames()
        names.users = ["ada", "bob"]
        names.deliveries = ["purchase"]
        names.calls = ["first"]
        names.accounts = ["home"]
        names.axes = [.init(name: "copies", values: ["2", "8"])]
        return names
    }

    /// Registers Ada and makes the deliveries.
    package static func contract(
        _ deliveries: [Delivery] = [purchase()],
        expectation: Contracts.Expectation
    ) -> Contract {
        Contract(
            id: "test/case",
            variant: "",
            title: "A case",
            clause: "S-03",
            level: .must,
            source: "a test",
            needs: [],
            given: [],
            steps: [.register(user: "ada")] + deliveries.map(Step.deliver),
            expectation: expectation,
            location: location
        )
    }

    /// Registers Ada and makes the deliveries, whose effects have a relation to a baseline.
    package static func contract(
        _ deliveries: [Delivery] = [purchase()],
        relation: Contracts.Expectation.BaselineRelation? = nil
    ) -> Contract {
        contract(deliveries, expectation: expectation(relation))
    }

    package static func purchase(_ name: String = "purchase") -> Delivery {
        Delivery(
            name: name,
            subject: .event(EventSpec(type: .documented(.initialPurchase), user: "ada"))
        )
    }

    /// Expects status 200 for each delivery.
    package static func expectation(
        _ relation: Contracts.Expectation.BaselineRelation? = nil
    ) -> Contracts.Expectation {
        var expectation = Contracts.Expectation(responses: .statuses([200]))
        expectation.relation = relation
        return expectation
    }

    package static func state(
        _ field: String,
        _ value: JSONValue,
        user: String = "ada"
    ) -> StateExpectation {
        StateExpectation(
            user: user,
            fields: [.init(name: field, value: value, location: location)]
        )
    }

    /// Expects a number of pushes; without a range, any number.
    package static func effect(
        user: String? = "ada",
        _ range: ClosedRange<Int>? = nil,
        _ change: (inout EffectExpectation) -> Void = { _ in }
    ) -> EffectExpectation {
        var effect = EffectExpectation(
            kind: "onesignal.notification",
            user: user,
            countMin: range?.lowerBound ?? 0,
            countMax: range?.upperBound,
            requiresSameIdempotencyKey: false,
            location: location
        )
        change(&effect)
        return effect
    }
}
