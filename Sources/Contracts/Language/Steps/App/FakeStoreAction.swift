package import Grammar

/// An action of the store that happens without the app, such as a renewal, by its name in the fake
/// store.
package struct FakeStoreAction: Hashable, Codable, Sendable {
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

extension FakeStoreAction {
    package static let grammar = Construct<FakeStoreAction>(
        "store",
        "a store action",
        "An action of the store on a user's purchase, without the app.",
        makeEmptyOwner: { _ in FakeStoreAction(name: "", user: "") }
    ) {
        Field.required(
            "store",
            \.name,
            .word("store action", among: names),
            "The action of the store."
        )
        Field.required("user", \.user, .name(.user, .mentions), "The user with the purchase.")
    }
}

extension StepForm {
    static let store = StepForm(
        FakeStoreAction.grammar,
        embed: { .phone(.store($0)) },
        extract: { if case .phone(.store(let act)) = $0 { act } else { nil } }
    )
}
