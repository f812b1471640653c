extension Expectation {
    package static let grammar = Construct<Expectation>(
        "expect",
        "an expectation",
        "What must follow: absolutes where a protocol fixes the value, relations everywhere else.",
        blank: { _ in Expectation(answers: .statuses([200])) }
    ) {
        Field<Expectation>.answers
        Field<Expectation>.within
        Field<Expectation>.like
        Field<Expectation>.compare
        Field<Expectation>.ids
        Field<Expectation>.alike
        Field<Expectation>.race
        Field<Expectation>.overlap
        Field<Expectation>.watch
        Field<Expectation>.secrets
        Field<Expectation>.keyFetches
        Field<Expectation>.effects
        Field<Expectation>.state
        Field<Expectation>.forgets
        Field<Expectation>.app
    }.beside("compare", ["like"])
}
