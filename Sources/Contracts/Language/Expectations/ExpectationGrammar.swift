package import Grammar
internal import Providers

extension Expectation {
    package static var grammar: Construct<Expectation> { grammarOfTable.value }

    private static let grammarOfTable = TableDerived { _ in makeGrammar() }

    private static func makeGrammar() -> Construct<Expectation> {
        Construct<Expectation>(
            "expect",
            "an expectation",
            "The expected outcome: fixed values, or a comparison with a baseline run (`like`).",
            makeEmptyOwner: { _ in Expectation(responses: .statuses([200])) }
        ) {
            Field<Expectation>.responses.definingExpectation.supportedByAllTargets
            Field<Expectation>.within.supportedByAllTargets
            Field<Expectation>.baselineRelation.definingExpectation
            Field<Expectation>.comparedStateParts.supportedByAllTargets
            Field<Expectation>.idsInResponses.definingExpectation
            Field<Expectation>.callsWithSameResponse
            Field<Expectation>.race.definingExpectation
            Field<Expectation>.concurrentRequestMinimum
            Field<Expectation>.extraObservationTime
            Field<Expectation>.secrets
            Field<Expectation>.keyFetchLimit
            Field<Expectation>.effects.definingExpectation
            Field<Expectation>.state.definingExpectation
            Field<Expectation>.deletedUsers.definingExpectation
            Field<Expectation>.app.definingExpectation.supportedByAllTargets
        }.companionKeys("compare", ["like"])
    }
}
