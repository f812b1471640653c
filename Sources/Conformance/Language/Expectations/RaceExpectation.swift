/// Several calls want what only some can have.
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
        "Several calls want what only some can have.",
        blank: { RaceExpectation(calls: [], winnerCount: 1, location: $0.location) }
    ) {
        Field.required("calls", \.calls, .list(Call.knownName), "The calls.")
        Field.value(
            "winners",
            \.winnerCount,
            .count(0...64),
            default: 1,
            "How many succeed; the others are denied below 500."
        )
    }
}

extension Field where Owner == Expectation {
    static var race: Field {
        .optional(
            "race",
            \.race,
            RaceExpectation.grammar.flow,
            "Calls of which only so many may succeed."
        )
    }
}
