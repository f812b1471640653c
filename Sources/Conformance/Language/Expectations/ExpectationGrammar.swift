extension Expectation {
    package static let grammar = Construct<Expectation>(
        "expect",
        "an expectation",
        "The expected outcome: fixed values, or a comparison with a baseline run (`like`).",
        makeEmptyOwner: { _ in Expectation(answers: .statuses([200])) }
    ) {
        Field<Expectation>.answers.sufficientAlone.supportedByAllTargets
        Field<Expectation>.within.supportedByAllTargets
        Field<Expectation>.baselineRelation.sufficientAlone
        Field<Expectation>.comparedStateParts.supportedByAllTargets
        Field<Expectation>.idsInResponses.sufficientAlone
        Field<Expectation>.callsWithSameResponse
        Field<Expectation>.race.sufficientAlone
        Field<Expectation>.concurrentRequestMinimum
        Field<Expectation>.extraObservationTime
        Field<Expectation>.secrets
        Field<Expectation>.keyFetchLimit
        Field<Expectation>.effects.sufficientAlone
        Field<Expectation>.state.sufficientAlone
        Field<Expectation>.deletedUsers.sufficientAlone
        Field<Expectation>.app.sufficientAlone.supportedByAllTargets
    }.companionKeys("compare", ["like"])
}
