/// Something that the store does by itself, by the name of the fake's action.
package struct StoreAct: Hashable, Codable, Sendable {
    package static let names = [
        "renew", "cancel", "uncancel", "refund", "expire", "billing-issue",
    ]

    package var name: String
    package var user: String

    package init(name: String, user: String) {
        self.name = name
        self.user = user
    }
}

extension StoreAct {
    package static let grammar = Construct<StoreAct>(
        "store",
        "an act of the store",
        "Something that the store does by itself with what a user has bought.",
        blank: { _ in StoreAct(name: "", user: "") }
    ) {
        Field.required(
            "store",
            \.name,
            .word("act of the store", among: names),
            "What it does."
        )
        Field.required("user", \.user, .name(.user, .mentions), "Who has bought.")
    }
}

extension StepForm {
    static let store = StepForm(
        StoreAct.grammar,
        embed: { .phone(.store($0)) },
        extract: { if case .phone(.store(let act)) = $0 { act } else { nil } }
    )
}
