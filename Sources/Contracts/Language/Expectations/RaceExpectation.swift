internal import Grammar
package import Values

/// Competing calls, of which only a fixed number may succeed.
package struct RaceExpectation: Hashable, Codable, Sendable {
    package var calls: [String]
    package var winnerCount: Int
    package var location: SourceLocation

    package init(calls: [String], winnerCount: Int, location: SourceLocation) {
        self.calls = calls
        self.winnerCount = winnerCount
        self.location = location
    }
}

extension RaceExpectation {
    static let grammar = Construct<RaceExpectation>(
        "race",
        "a race",
        "Competing calls, of which only a fixed number may succeed.",
        makeEmptyOwner: { RaceExpectation(calls: [], winnerCount: 1, location: $0.location) }
    ) {
        Field.required("calls", \.calls, .list(Call.knownCallName), "The competing calls.")
        Field.value(
            "winners",
            \.winnerCount,
            .count(0...64),
            default: 1,
            "The number of calls that must succeed. The others must fail with a status below 500."
        )
    }
}

extension Field where Owner == Expectation {
    static var race: Field {
        .optional(
            "race",
            \.race,
            RaceExpectation.grammar.flow,
            "Competing calls, of which only a fixed number may succeed."
        )
    }
}
