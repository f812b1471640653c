extension Expectation {
    package static let grammar = Construct<Expectation>(
        "expect",
        "an expectation",
        "The expected outcome: fixed values, or a comparison with a baseline run (`like`).",
        blank: { _ in Expectation(answers: .statuses([200])) }
    ) {
        Field<Expectation>.answers.sufficient.forEverybody
        Field<Expectation>.within.forEverybody
        Field<Expectation>.like.sufficient
        Field<Expectation>.compare.forEverybody
        Field<Expectation>.ids.sufficient
        Field<Expectation>.alike
        Field<Expectation>.race.sufficient
        Field<Expectation>.overlap
        Field<Expectation>.watch
        Field<Expectation>.secrets
        Field<Expectation>.keyFetches
        Field<Expectation>.effects.sufficient
        Field<Expectation>.state.sufficient
        Field<Expectation>.forgets.sufficient
        Field<Expectation>.app.sufficient.forEverybody
    }.beside("compare", ["like"])
}
