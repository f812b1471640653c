extension Expectation {
    package static let grammar = Construct<Expectation>(
        "expect",
        "an expectation",
        "The expected outcome: fixed values, or a comparison with a baseline run (`like`).",
        makeEmptyOwner: { _ in Expectation(answers: .statuses([200])) }
    ) {
        Field<Expectation>.answers.sufficientAlone.supportedByAllTargets
        Field<Expectation>.within.supportedByAllTargets
        Field<Expectation>.like.sufficientAlone
        Field<Expectation>.compare.supportedByAllTargets
        Field<Expectation>.ids.sufficientAlone
        Field<Expectation>.callsWithSameResponse
        Field<Expectation>.race.sufficientAlone
        Field<Expectation>.overlap
        Field<Expectation>.watchDuration
        Field<Expectation>.secrets
        Field<Expectation>.keyFetches
        Field<Expectation>.effects.sufficientAlone
        Field<Expectation>.state.sufficientAlone
        Field<Expectation>.forgets.sufficientAlone
        Field<Expectation>.app.sufficientAlone.supportedByAllTargets
    }.companionKeys("compare", ["like"])
}
