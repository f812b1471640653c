package import Contracts
package import Values

/// Contracts as a session leaves them, no larger than a test of what they say needs.
package enum SmallContracts {
    /// Where each of their lines is said to stand.
    package static let place = SourceLocation(path: "r", line: 1, column: 1)

    /// A request of the app, answered with 200 and a small object.
    package static func request(
        _ name: String,
        _ change: (inout AppRequest) -> Void = { _ in }
    ) -> Step {
        var request = AppRequest(name: name, method: "GET", target: "/" + name)
        var pattern = ResponsePattern(status: 200, location: place)
        pattern.body = .json(["a": 1, "b": ["c": 2]])
        request.answer = pattern
        change(&request)
        return .request(request)
    }

    /// A delivery of an event.
    package static func event(
        _ name: String,
        _ subject: Delivery.Subject = .body(["event": ["type": "RENEWAL"]])
    ) -> Step {
        .deliver(Delivery(name: name, subject: subject))
    }

    /// A contract of those steps, each answered with 200.
    package static func contract(
        _ steps: [Step],
        effects: [EffectExpectation] = [],
        _ change: (inout Contract) -> Void = { _ in }
    ) -> Contract {
        var expectation = Expectation(responses: .statuses([200]))
        expectation.effects = effects
        var contract = Contract(
            id: "s",
            variant: "",
            title: "A session",
            clause: "G-01",
            level: .must,
            source: "r",
            needs: [],
            given: [],
            steps: steps,
            expectation: expectation,
            location: place
        )
        change(&contract)
        return contract
    }

    /// That many pushes to Ada.
    package static func effect(_ count: Int, expectedContent: JSONValue? = nil) -> EffectExpectation
    {
        var effect = EffectExpectation(
            kind: "onesignal.notification",
            user: "ada",
            countMin: count,
            countMax: count,
            requiresSameIdempotencyKey: false,
            location: place
        )
        effect.expectedContent = expectedContent
        return effect
    }
}
